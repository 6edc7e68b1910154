import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from command_line import leafgate
from leafgate.api import (
    ABOUT_GROUPS,
    AdversaryKnowledge,
    AttackModel,
    Belief,
    Branch,
    CategoricalSplit,
    GroupBelief,
    Leaf,
    MechanismBelief,
    Release,
    ScoringContext,
    SecretBelief,
)
from leafgate.app import Report, Tables, audit_policy, document, policy_of, serialize, summary
from random_tables import table_of
from standins import ORIGIN, attack_that, audited, even, finding, metric_that, release_metric_that

POLICY = {
    "leafgate": 1,
    "name": "claims",
    "data": {
        "path": "people.csv",
        "columns": {
            "zip": {"role": "quasi_identifier", "values": ["1", "2"]},
            "ill": {"role": ["class", "sensitive"], "values": ["flu", "cold"]},
        },
    },
    "build": {"use": "published", "path": "release.json"},
    "attacks": [{"use": "linking"}],
    "metrics": [{"use": "k_anonymity", "at_least": 2}],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A policy, four people with flu in zip 1, two with a cold in zip 2, and a tree that tells them apart."""
    (tmp_path / "people.csv").write_text("zip,ill\n" + "1,flu\n" * 4 + "2,cold\n" * 2)
    (tmp_path / "policy.yaml").write_text(json.dumps(POLICY))
    leaves = {"1": Leaf("flu", {"flu": 4, "cold": 0}), "2": Leaf("cold", {"flu": 0, "cold": 2})}
    tree = CategoricalSplit("zip", tuple(Branch((zip_code,), leaf) for zip_code, leaf in leaves.items()))
    schema = policy_of(POLICY, tmp_path).policy.data.meaning()
    draft = Release({"use": "somebody's"}, schema, (tree,))
    (tmp_path / "release.json").write_bytes(serialize(draft).content)
    return tmp_path


def claiming(folder: Path, **claims: Any) -> Report:
    """The report on the same release with claims written into its file."""
    file = folder / "release.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"guarantee": claims}))
    loaded = policy_of(POLICY, folder)
    columns = loaded.policy.data.meaning().columns
    return audit_policy(
        loaded.policy, loaded.plugins, Tables(table_of(columns, [("1", "flu"), ("2", "cold")], (4, 2)))
    ).report


def test_a_release_that_claims_nothing_is_judged_by_the_policy_alone(folder: Path) -> None:
    assert [found.id for found in claiming(folder).findings] == ["k_anonymity@linking#ill"]


def test_a_k_the_release_does_not_have_is_refuted_though_the_policy_is_content(folder: Path) -> None:
    report = claiming(folder, k=3)
    assert finding(report, "k_anonymity@linking#ill").passed is True
    found = finding(report, "guarantee:k")
    assert (found.passed, found.value, found.evidence["claim"]) == (False, 2, 3)
    assert (report.verdict, report.exit_code) == ("fail", 1)
    assert leafgate("audit", folder / "policy.yaml").code == 1


def test_a_k_the_release_has_is_confirmed(folder: Path) -> None:
    assert finding(claiming(folder, k=2), "guarantee:k").passed is True
    assert leafgate("audit", folder / "policy.yaml").code == 0


@pytest.mark.parametrize("k", ["many", None, True, [3], {"at_least": 3}, 0, -1, 2.5])
def test_a_claim_that_cannot_be_read_is_inconclusive(folder: Path, k: Any) -> None:
    report = claiming(folder, k=k)
    assert (finding(report, "guarantee:k").passed, report.exit_code) == (None, 3)


def test_a_claim_nobody_can_check_is_inconclusive(folder: Path) -> None:
    report = claiming(folder, invisibility=True)
    assert (finding(report, "guarantee:invisibility").passed, report.exit_code) == (None, 3)


def test_every_claim_has_its_own_finding(folder: Path) -> None:
    passed = {found.id: found.passed for found in claiming(folder, k=3, invisibility=True).findings[1:]}
    assert passed == {"guarantee:k": False, "guarantee:invisibility": None}


CLAIMS: dict[str, Any] = {"build": {"use": "stump", "claims": {"calm": 3}}}


def groups_only(release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
    return [GroupBelief(np.zeros(len(known.records), dtype=int))]


def test_an_attack_refutes_a_claim_by_its_evidence() -> None:
    def refutes(release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
        return [*groups_only(release, known), MechanismBelief(refutes=("calm", "never claimed"))]

    report = audited(attack_that(refutes), attacks=[{"use": "calm"}, {"use": "nosy"}], **CLAIMS)
    found = finding(report, "guarantee:calm")
    assert (found.passed, found.attack, found.plugin) == (False, "nosy", ORIGIN)
    assert report.exit_code == 1


def test_what_an_attack_tried_in_vain_stands_beside_the_claim() -> None:
    def tries(release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
        return [MechanismBelief(tries=("calm",), evidence={"says": "at least 1: this proves nothing"})]

    calm = release_metric_that(lambda case: 3, checks="calm")
    report = audited(attack_that(tries), calm, attacks=[{"use": "nosy"}], **CLAIMS)
    found = finding(report, "guarantee:calm")
    assert found.passed is True
    assert found.evidence["tried"]["nosy"] == {"tries": ["calm"], "says": "at least 1: this proves nothing"}
    assert "nosy: at least 1: this proves nothing" in summary(document(report, "public"))


@pytest.mark.parametrize(("score", "passed"), [(3, True), (2, False), (float("nan"), None)])
def test_a_claim_is_checked_by_a_metric_of_the_release(score: float, passed: bool | None) -> None:
    report = audited(release_metric_that(lambda case: score, checks="calm"), **CLAIMS)
    found = finding(report, "guarantee:calm")
    assert (found.passed, found.plugin, found.evidence["claim"]) == (passed, ORIGIN, 3)


def test_a_claim_is_checked_with_the_attack_its_metric_names_tried_or_not() -> None:
    sizes = metric_that(
        lambda case: case.weight.groupby(case.equivalence_class).transform("sum"),
        judges=ABOUT_GROUPS,
        checks="calm",
        checked_by="nosy",
    )
    report = audited(attack_that(groups_only), sizes, **CLAIMS)
    assert finding(report, "guarantee:calm").value == 8


def test_a_claim_must_hold_for_every_secret() -> None:
    def rich(case: ScoringContext) -> Any:
        return [9 if getattr(case.belief, "secret", None) == "ill" else 1] * len(case.table)

    report = audited(metric_that(rich, checks="calm", checked_by="calm"), **CLAIMS)
    assert (finding(report, "guarantee:calm").passed, report.verdict) == (False, "fail")


def test_two_metrics_that_check_one_claim_make_one_finding_the_worse_one() -> None:
    whole = release_metric_that(lambda case: 9, checks="calm")
    odd = metric_that(lambda case: [1] * len(case.table), checks="calm", checked_by="calm")
    for offers in ((whole, odd), (odd, whole)):
        assert finding(audited(*offers, **CLAIMS), "guarantee:calm").passed is False


def sure(case: ScoringContext) -> Any:
    return case.posterior.max(axis=1)


def unsure(release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
    return [SecretBelief("ill", even(known), equivalence_class=np.arange(2))]


class Picky(AttackModel):
    """An attack that does not go without an option."""

    use: Literal["nosy"] = "nosy"
    word: str


NO_HELP: dict[str, Sequence[type[AttackModel]]] = {
    "cannot be read": [attack_that(groups_only)],
    "says nothing": [attack_that(lambda release, known: [])],
    "fails": [attack_that(lambda release, known: 1 / 0)],
    "cannot read the release": [attack_that(unsure, reads=frozenset({"noisy"}))],
    "is not offered": [],
    "needs options": [Picky],
}


@pytest.mark.parametrize("offers", NO_HELP.values(), ids=NO_HELP)
def test_a_claim_whose_attack_is_no_help_is_inconclusive_and_the_rest_stands(offers: list[type[AttackModel]]) -> None:
    report = audited(*offers, metric_that(sure, checks="calm", checked_by="nosy"), **CLAIMS)
    found = finding(report, "guarantee:calm")
    assert (found.passed, found.plugin, report.verdict) == (None, ORIGIN, "inconclusive")
    assert finding(report, "sizes@calm#ill").passed is True


def test_a_metric_that_cannot_make_sense_of_a_claim_is_inconclusive() -> None:
    def from_claim(claim: Any) -> Any:
        raise KeyError("depth")

    odd = metric_that(sure, checks="calm", from_claim=from_claim)
    assert finding(audited(odd, **CLAIMS), "guarantee:calm").passed is None


def test_leaves_that_count_other_people_make_the_audit_inconclusive(folder: Path) -> None:
    file = folder / "release.json"
    document = json.loads(file.read_text())
    document["trees"][0]["branches"][0]["node"]["counts"] = {"flu": 3, "cold": 1}
    file.write_text(json.dumps(document))
    report = claiming(folder)
    assert "leaves have numbers" in finding(report, "counted").evidence["problem"]
    assert report.exit_code == 3
    file.write_text(json.dumps(document | {"counted": "noisy"}))
    assert "counted" not in [found.id for found in claiming(folder).findings]
