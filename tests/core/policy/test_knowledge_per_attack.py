"""What each attack of a policy knows: its own `knows`, or the policy's, and nothing that it does not declare."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from command_line import leafgate
from insider import FACT, INSIDER, knowing, refused
from leafgate.api import (
    AdversaryKnowledge,
    AttackModel,
    Belief,
    Policy,
    PolicyError,
    Release,
    SecretBelief,
    Table,
)
from leafgate.app import Tables, audit_policy, load_policy, open_session, policy_of
from leafgate.io.tables import reader
from leafgate.kernel.knowledge import NEEDS, limit_knowledge
from random_tables import table_of
from standins import ROWS, WEIGHT, attack_that, even, plugins_with, policy_with
from stranger import install
from survey import HEADER, PEOPLE, policy
from survey import ROWS as SURVEYED

FIVE = "\n".join([HEADER, *SURVEYED[:5]]) + "\n"


@pytest.fixture
def insider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, with an attack installed that takes known people and facts into account."""
    install(tmp_path, "leafgate_insider", INSIDER)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def twice(use: str, **own: Any) -> list[dict[str, Any]]:
    """The same attack under two names, the second with a `knows` of its own."""
    return [{"use": use, "name": "plain"}, {"use": use, "name": "informed", "knows": own}]


def values(path: Path) -> dict[str, float | None]:
    """The value of each attack's confidence."""
    report = open_session(path).audit().report
    assert all(finding.passed for finding in report.findings)
    return {str(finding.attack): finding.value for finding in report.findings if finding.metric == "confidence"}


# --- Beliefs follow each attack's own knowledge ---


@pytest.mark.parametrize(
    ("own", "more"),
    [
        ({}, 0),
        ({"people": "known.csv"}, 0.25 * 5 / 24),
        ({"sample": 0.5}, 0.125),
        ({"facts": [FACT]}, 0.125),
        ({"facts": [FACT, FACT | {"share": 1}], "facts_known": 1}, 0.125),
        ({"sample": 1, "facts": [FACT]}, 0.375),
    ],
)
def test_the_same_attack_believes_by_what_each_of_its_names_knows(
    insider: Path, own: dict[str, Any], more: float
) -> None:
    (insider / "known.csv").write_text(FIVE)
    found = values(knowing(insider, {"attacks": twice("insider", **own)}))
    assert found == {"plain": 0.5, "informed": pytest.approx(0.5 + more)}


def test_an_attacks_own_knowledge_replaces_the_policys(insider: Path) -> None:
    said = {"knows": {"sample": 0.5}, "attacks": twice("insider", facts=[FACT, FACT | {"share": 1}])}
    assert values(knowing(insider, said)) == {"plain": pytest.approx(0.625), "informed": pytest.approx(0.75)}


def test_maxent_with_known_people_is_surer_than_without(insider: Path) -> None:
    average = {"use": "confidence", "at_most": 0.999, "average": True, "scored": "derived"}
    said = {"build": {"use": "kadet", "k": 24}, "metrics": [average], "attacks": twice("maxent", sample=1)}
    found = values(knowing(insider, said))
    assert found["plain"] == pytest.approx(14 / 24)  # of one leaf with everybody, its more frequent class
    assert found["informed"] == pytest.approx(22 / 24)  # the more frequent of each public record, all being known


def test_a_single_attack_is_granted_its_own_knowledge(insider: Path) -> None:
    path = knowing(insider, {"attacks": twice("insider", facts=[FACT])})
    assert leafgate("build", path, "--out", insider / "release.json").code == 0
    for name, sure in (("plain", "0.5"), ("informed", "0.625"), ("insider", "0.5")):
        out = insider / f"{name}.csv"
        words = ("attack", path, "--release", insider / "release.json", "--use", name, "--out", out)
        assert leafgate(*words).code == 0
        assert out.read_text().splitlines()[1].endswith(f",{sure}")


# --- Nothing undeclared ---


GRANTED: dict[str, Any] = {
    "distribution": True,
    "sample": 1,
    "facts": [{"column": "ill", "in": ["flu"], "share": 0.5}],
}
EMPTY: dict[str, Any] = {
    "distribution": {},
    "people": None,
    "facts": (),
    "label_accuracies": None,
    "population": None,
    "mechanism": None,
    "candidates": None,
    "targets": {},
    "releases": None,
    "rows": None,
}


def heard_by(needs: frozenset[str], granted: Mapping[str, Any] = GRANTED, **said: Any) -> AdversaryKnowledge:
    """What an attack with these needs is handed of a release whose labels have an accuracy, and of a population.

    `granted` is the policy's `knows`, `said` are options of the attack.
    """
    heard: list[AdversaryKnowledge] = []

    def listen(release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
        heard.append(known)
        return [SecretBelief("ill", even(known), equivalence_class=np.arange(len(known.records)))]

    plugins = plugins_with(attack_that(listen, needs=needs))
    chosen = policy_with(plugins, attacks=[{"use": "nosy", **said}], publish={"leaves": "labels"}, knows=granted)
    table = table_of(chosen.data.meaning().columns, ROWS, WEIGHT)
    audit_policy(chosen, plugins, Tables(table, test=table, population=table.public[0]))
    return heard[0]


@pytest.mark.parametrize("said", [{}, {"knows": GRANTED}], ids=["the policy's", "its own"])
@pytest.mark.parametrize("need", [None, *sorted(NEEDS - {"targets", "releases", "rows"})])
def test_an_attack_gets_what_it_declares_and_nothing_else(need: str | None, said: dict[str, Any]) -> None:
    known = heard_by(frozenset() if need is None else frozenset({need}), **said)
    assert EMPTY.keys() == NEEDS
    for name, empty in EMPTY.items():
        granted = getattr(known, name)
        assert (
            (granted != empty if name == need else granted == empty)
            if empty is not None
            else ((granted is not None) == (name == need))
        ), name
    assert known.vote_accuracies is None


def test_the_accuracies_of_votes_are_granted_with_those_of_labels() -> None:
    known = replace(heard_by(NEEDS - {"candidates", "targets"}), vote_accuracies={"flu": 1.0})
    both = limit_knowledge(known, {"label_accuracies"})
    neither = limit_knowledge(known, NEEDS - {"label_accuracies"})
    assert both.vote_accuracies == {"flu": 1.0}
    assert neither.vote_accuracies is None


@pytest.mark.parametrize(
    ("granted", "said", "knows_accuracies"),
    [
        ({}, {}, True),
        ({"label_accuracies": True}, {}, True),
        ({"label_accuracies": False}, {}, False),
        ({}, {"knows": {"label_accuracies": False}}, False),
        ({"label_accuracies": False}, {"knows": {}}, True),  # its own `knows` replaces the policy's
    ],
)
def test_a_policy_or_an_attack_may_assume_that_nobody_knows_how_often_labels_are_right(
    granted: dict[str, Any], said: dict[str, Any], knows_accuracies: bool
) -> None:
    known = heard_by(frozenset({"label_accuracies"}), granted, **said)
    assert (known.label_accuracies is not None) is knows_accuracies
    assert known.vote_accuracies is None


@pytest.mark.parametrize("use", ["linking", "maxent"])
def test_without_accuracies_labels_alone_leave_every_value_equally_likely(tmp_path: Path, use: str) -> None:
    """One leaf holds everybody, and 14 of 24 people have its label."""
    said = {"build": {"use": "kadet", "k": 24}, "publish": {"leaves": "labels"}}
    found = values(knowing(tmp_path, {**said, "attacks": twice(use, label_accuracies=False)}))
    assert found == {"plain": pytest.approx(14 / 24), "informed": pytest.approx(1 / 2)}


def test_a_report_says_that_accuracies_of_labels_are_not_known(tmp_path: Path) -> None:
    withheld = {"knows": {"label_accuracies": False}, "publish": {"leaves": "labels"}}
    for said, of_all, of_attacks in (
        ({"attacks": twice("linking", label_accuracies=False)}, 0, {"plain": None, "informed": 1}),
        ({**withheld, "attacks": twice("linking")}, 1, {"plain": None, "informed": None}),
    ):
        ended = leafgate("audit", knowing(tmp_path, said), "--json")
        method = ended.document["method"]
        assert len(method.get("withheld", ())) == of_all
        counts = {each["name"]: each.get("withheld") and len(each["withheld"]) for each in method["attacks"]}
        assert counts == of_attacks
        (tmp_path / "report.json").write_text(ended.out)
        page = leafgate("report", tmp_path / "report.json", "--to", "markdown").out
        assert ("**It does not know**: smoker; how often each label is right" in page) is bool(of_all)
        assert ("It does not know how often each label is right" in page) is (not of_all)
    assert method["attacks"][1]["granted"] == ["how often each label is right, where no number of its leaf says so"]


def test_what_follows_without_accuracies_of_labels_is_public(tmp_path: Path) -> None:
    said = {"publish": {"leaves": "labels"}, "attacks": twice("linking", label_accuracies=False)}
    findings = public(knowing(tmp_path, said))["findings"]
    assert (findings["plain"]["value"], findings["informed"]["value"]) == (None, 0.5)


def test_an_attack_does_not_see_its_own_section_of_the_policy() -> None:
    """There it would find the facts, and the name of a file about people, that it does not declare."""
    seen: list[Any] = []

    class Curious(AttackModel):
        use: Literal["curious"] = "curious"

        def missing_requirements(self, policy: Policy) -> str:
            seen.append(self.knows)
            return ""

        def forecast(self, release: Release, known: AdversaryKnowledge) -> str:
            seen.append(self.knows)
            return ""

        def infer(self, release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
            seen.append(self.knows)
            return [SecretBelief("ill", even(known), equivalence_class=np.arange(len(known.records)))]

    plugins = plugins_with(Curious)
    chosen = policy_with(plugins, attacks=[{"use": "curious", "knows": GRANTED}])
    assert chosen.attacks[0].knows is not None
    audit_policy(chosen, plugins, Tables(table_of(chosen.data.meaning().columns, ROWS, WEIGHT)))
    chosen.attacks[0].without_knows.missing_requirements(chosen)
    assert seen == [None, None, None]


def public(path: Path) -> dict[str, Any]:
    """The public findings by their attacks, and the public guesses by theirs."""
    document = leafgate("audit", path, "--json").document
    return {
        "findings": {each["attack"]: each for each in document["findings"]},
        "guesses": {each["attack"]: each for each in document["guesses"]},
    }


@pytest.mark.parametrize("own", [{"facts": [FACT]}, {"sample": 0.5}, {"people": "known.csv"}])
def test_numbers_that_rest_on_one_attacks_own_knowledge_are_for_auditors(insider: Path, own: dict[str, Any]) -> None:
    (insider / "known.csv").write_text(FIVE)
    document = public(knowing(insider, {"attacks": twice("insider", **own)}))
    assert document["findings"]["plain"]["value"] == 0.5
    assert document["findings"]["informed"]["value"] is None
    assert "facts" in document["findings"]["plain"]["evidence"]
    assert "facts" not in document["findings"]["informed"]["evidence"]


@pytest.mark.parametrize("knows", [{"facts": [FACT]}, {"sample": 0.5}])
def test_an_attack_that_is_granted_less_than_the_policy_has_its_own_numbers(
    insider: Path, knows: dict[str, Any]
) -> None:
    document = public(knowing(insider, {"knows": knows, "attacks": twice("insider")}))
    assert document["findings"]["plain"]["value"] is None
    assert document["findings"]["informed"]["value"] == 0.5


@pytest.mark.parametrize("own", [{}, {"facts": [{"column": "ill", "in": ["yes"], "share": {"to": 1}}]}])
@pytest.mark.thorough
def test_how_often_an_attack_is_right_is_public_only_where_that_attack_is_granted_nothing(
    tmp_path: Path, own: dict[str, Any]
) -> None:
    """The fact says nothing, so that both attacks believe what follows from the leaves; granted it is all the same."""
    said = {"data.columns.smoker.role": "quasi_identifier", "attacks": twice("maxent", **own)}
    assert public(knowing(tmp_path, said))["guesses"].keys() == ({"plain"} if own else {"plain", "informed"})


@pytest.mark.parametrize(
    "over",
    [
        "attacks[1].knows.people=five.csv",
        "attacks[1].knows.facts[0].share=0,0.5",
        "attacks[1].knows={}",
        "attacks[1]={use: insider, knows: {sample: 1}}",
        "attacks=[{use: insider, knows: {sample: 1}}]",
    ],
)
def test_the_public_sees_no_sweep_over_what_one_attack_knows(insider: Path, over: str) -> None:
    path = knowing(insider, {"attacks": twice("insider", facts=[FACT])})
    ended = leafgate("sweep", path, "--over", over, "--out", insider / "o", "--json")
    assert ended.code == 2
    assert "--audience auditor" in ended.problems[0]["remedy"]


def test_a_report_says_what_an_attack_alone_is_granted(insider: Path) -> None:
    same = {"use": "insider", "name": "same", "knows": {"sample": 0.5}}
    said = {"knows": {"sample": 0.5}, "attacks": [*twice("insider", facts=[FACT]), same]}
    ended = leafgate("audit", knowing(insider, said), "--json")
    granted = {each["name"]: each.get("granted") for each in ended.document["method"]["attacks"]}
    assert granted == {"plain": None, "informed": ["1 rule about people"], "same": None}
    (insider / "report.json").write_text(ended.out)
    page = leafgate("report", insider / "report.json", "--to", "markdown").out
    assert page.count("This attack alone is granted: 1 rule about people.") == 1


def test_an_auditor_sees_the_digest_of_each_file_of_known_people(insider: Path) -> None:
    (insider / "few.csv").write_text("\n".join([HEADER, *SURVEYED[:2]]) + "\n")
    (insider / "many.csv").write_text(FIVE)
    few, many = ({"use": "insider", "name": name, "knows": {"people": f"{name}.csv"}} for name in ("few", "many"))
    out = insider / "out"
    path = knowing(insider, {"attacks": [few, many]})
    assert leafgate("audit", path, "--out", out, "--audience", "auditor").code == 0
    files = json.loads((out / "report.json").read_text())["data"]["files"]
    assert files.keys() == {"people@few", "people@many"}
    assert len(set(files.values())) == 2
    assert "people@" not in leafgate("audit", path, "--json").out


# --- The policy ---


def test_a_file_that_several_attacks_name_is_read_once(insider: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    original = reader.read_people

    def counted(*given: Any) -> Table:
        read.append(given[2].name)
        return original(*given)

    monkeypatch.setattr(reader, "read_people", counted)
    (insider / "known.csv").write_text(FIVE)
    (insider / "others.csv").write_text(PEOPLE)
    own = [
        {"use": "insider", "name": f"a{i}", "knows": {"people": name}}
        for i, name in enumerate(["known.csv", "known.csv", "others.csv"])
    ]
    said = {"knows": {"people": "known.csv"}, "attacks": [{"use": "insider"}, *own]}
    assert open_session(knowing(insider, said)).tables.known_by_attack.keys() == {"a0", "a1", "a2"}
    assert sorted(read) == ["known.csv", "others.csv"]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"facts": [FACT, FACT | {"where": {"agee": {"to": 17}}}]}, "facts[1].where.agee"),
    ({"facts": [FACT | {"share": 1.5}]}, "facts[0].share"),
    ({"facts": [FACT], "facts_known": 2}, "facts_known"),
    ({"sample": 2}, "sample"),
    ({"sampel": 0.2}, "sampel"),
    ({"people": "../known.csv"}, "people"),
    ({"people": "known.csv", "sample": 0.1}, "sample"),
    ({"distribution": True}, "distribution"),  # this attack does not use it
    ({"label_accuracies": False}, "label_accuracies"),  # nor this
    ({"label_accuracies": None}, "label_accuracies"),
]


@pytest.mark.parametrize(("own", "place"), BAD, ids=[place for _, place in BAD])
def test_a_mistake_in_an_attacks_knowledge_is_told_once_with_its_place(
    insider: Path, own: dict[str, Any], place: str
) -> None:
    assert refused(insider, {"attacks": twice("insider", **own)}) == [f"attacks[1].knows.{place}"]


def test_a_file_that_does_not_fit_the_table_is_told_by_its_place_in_the_attack(insider: Path) -> None:
    (insider / "known.csv").write_text("age,sex,ill\n99,f,no\n")
    path = knowing(insider, {"attacks": twice("insider", people="known.csv")})
    ended = leafgate("audit", path, "--json")
    assert (ended.code, [each["place"] for each in ended.problems]) == (2, ["attacks[1].knows.people"])


def test_a_fact_about_nobody_is_told_by_its_place_in_the_attack(insider: Path) -> None:
    nobody = FACT | {"where": {"age": {"from": 21, "to": 29}}}
    ended = leafgate("audit", knowing(insider, {"attacks": twice("insider", facts=[FACT, nobody])}), "--json")
    assert (ended.code, [each["place"] for each in ended.problems]) == (2, ["attacks[1].knows.facts[1].where"])


def test_facts_that_contradict_the_release_are_told_by_their_place_in_the_attack(tmp_path: Path) -> None:
    contradiction = {"column": "ill", "in": ["yes"], "share": 0.3}  # of 24 people 7.2, and counts are whole
    said = {"knows": {"facts": [contradiction | {"share": {"to": 1}}]}, "build": {"use": "kadet", "k": 24}}
    attacks = twice("counting", facts=[contradiction])
    report = open_session(knowing(tmp_path, {**said, "attacks": attacks})).audit().report
    (failed,) = (finding for finding in report.findings if finding.id.startswith("attack:"))
    assert failed.id == "attack:informed"
    assert failed.evidence["problem"].startswith("attacks[1].knows.facts[0].share: ")


def test_without_a_secret_no_attack_knows_anybodys(insider: Path) -> None:
    changes = {"attacks": twice("insider", sample=0.5), "data.columns.ill.role": "class"}
    assert refused(insider, changes) == ["attacks[1].knows.sample"]


def test_the_policys_knowledge_is_unused_where_each_attack_has_its_own(insider: Path) -> None:
    attacks = twice("insider", sample=0.5)[1:]
    assert refused(insider, {"knows": {"facts": [FACT]}, "attacks": attacks}) == ["knows.facts"]
    assert load_policy(knowing(insider, {"knows": {"facts": [FACT]}, "attacks": [*attacks, {"use": "insider"}]}))


def test_missing_requirements_are_told_for_the_attack_that_lacks_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacks = "'' if policy.knows.granted_facts else 'grant it a fact'"
    asks = f"    def missing_requirements(self, policy):\n        return {lacks}\n\n    def infer"
    demanding = INSIDER.replace("    def infer", asks).replace("insider", "demanding")
    install(tmp_path, "leafgate_demanding", demanding)
    monkeypatch.syspath_prepend(tmp_path)
    assert refused(tmp_path, {"attacks": twice("demanding", facts=[FACT])}) == ["attacks[0]"]
    assert refused(tmp_path, {"knows": {"facts": [FACT]}, "attacks": twice("demanding")}) == ["attacks[1]"]


def test_what_an_attack_knows_is_part_of_the_policys_digest(insider: Path) -> None:
    digests = {
        load_policy(knowing(insider, {"attacks": attacks})).policy.sha256
        for attacks in (
            [{"use": "insider"}],
            [{"use": "insider", "knows": {}}],
            [{"use": "insider", "knows": {"sample": 0.5}}],
            [{"use": "insider", "knows": {"people": "known.csv"}}],
            [{"use": "insider", "knows": {"facts": [FACT]}}],
        )
    }
    assert len(digests) == 5
    own = [{"use": "linking", "knows": {"label_accuracies": stated}} for stated in (True, False)] + [
        {"use": "linking", "knows": {}}
    ]
    said, unsaid, default = (load_policy(knowing(insider, {"attacks": [each]})).policy.sha256 for each in own)
    assert said == default != unsaid


def test_a_builders_adversaries_are_granted_nothing(tmp_path: Path) -> None:
    against = [{"use": "conditioning", "knows": {"sample": 0.5}}]
    with pytest.raises(PolicyError, match="granted nothing"):
        policy_of(policy({"build": {"use": "downgrading", "tau": 0.5, "against": against}}), tmp_path)
