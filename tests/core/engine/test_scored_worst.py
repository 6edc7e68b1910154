"""`scored: worst`, the default: for each person the worse of what is derived and the group's true composition."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leafgate import PolicyError
from leafgate.api import (
    ONLY_DERIVED,
    AdversaryKnowledge,
    AttackModel,
    AuditorOnly,
    Belief,
    InconclusiveError,
    PeopleCount,
    PersonMetric,
    Release,
    ScoringContext,
    SecretBelief,
)
from leafgate.app import (
    Finding,
    Limit,
    Masking,
    Report,
    ScoredPeople,
    SecondaryScore,
    VisibleTo,
    document,
    load_plugins,
    load_policy,
    open_session,
    summary,
)
from leafgate.engine.checks import verified
from leafgate.kernel.waivers import Waiver
from leafgate.policy.sources import PolicyDocument
from leafgate.policy.strictness import compare_policies
from standins import attack_that, audited, finding, metric_that, plugins_with, policy_with, release_metric_that

POLICY = {"name": "p", "sha256": "0" * 64}
PLUGINS = load_plugins(["leafgate"])

# Eight people of two zip codes. Zip 1: three have flu, one a cold; nobody is rich. Zip 2: two and two; two are rich.


def doubt(case: ScoringContext) -> pd.Series:
    """The chance of all values but the likeliest."""
    return 1 - case.posterior.max(axis=1)


def believing(*flu: float, **more: Any) -> type[AttackModel]:
    """An attack that tells both zip codes apart and believes so much of flu in either."""

    def infer(release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
        chances = pd.DataFrame({"flu": flu, "cold": [1 - each for each in flu]})
        return [SecretBelief("ill", chances, equivalence_class=np.arange(2), **more)]

    return attack_that(infer)


def judged(
    *flu: float, score: Callable[[ScoringContext], Any] = doubt, belief: Mapping[str, Any] | None = None, **said: Any
) -> Finding:
    """The finding of a limit of 0.1, or another, on `doubt`, or another score, about who is ill."""
    asked = {"use": "odd", "at_least": 0.1, **said}
    report = audited(believing(*flu, **(belief or {})), metric_that(score), attacks=[{"use": "nosy"}], metrics=[asked])
    return finding(report, "odd@nosy#ill")


def judged_by(found: Finding) -> str | None:
    """The distribution that the finding's limit judges."""
    assert found.limit is not None
    return found.limit.scored


def values(found: Finding) -> dict[str, Any]:
    """The scores beside the judged one."""
    fields = {key: found.evidence.get(key) for key in ("derived", "composition")}
    bare = {key: score.content if isinstance(score, AuditorOnly) else score for key, score in fields.items()}
    return {key: score.value for key, score in bare.items() if isinstance(score, SecondaryScore)}


@pytest.mark.parametrize(
    ("said", "value", "beyond", "passed"),
    [
        ({}, 0.1, 0, True),  # zip 1: .5 derived and .25 in truth; zip 2: .1 and .5
        ({"at_least": 0.2}, 0.1, 4, False),
        ({"at_least": 0.2, "allow": 0.5}, 0.1, 4, True),
        ({"at_least": 0.3, "allow": 0.5}, 0.1, 8, False),
        ({"average": True, "at_least": 0.175}, 0.175, None, True),  # (4 * .25 + 4 * .1) / 8
        ({"average": True, "at_least": 0.2}, 0.175, None, False),
        ({"scored": "derived", "average": True}, 0.3, None, True),
        ({"scored": "composition", "average": True}, 0.375, None, True),
    ],
)
def test_of_each_person_the_worse_score_counts_and_then_the_mean_or_those_beyond(
    said: dict[str, Any], value: float, beyond: int | None, passed: bool
) -> None:
    found = judged(0.5, 0.9, **said)
    assert found.value == pytest.approx(value)
    assert (found.violations, found.passed) == (beyond, passed)
    assert judged_by(found) == said.get("scored", "worst")
    if judged_by(found) == "worst":
        average = said.get("average", False)
        expected = {"derived": 0.3, "composition": 0.375} if average else {"derived": 0.1, "composition": 0.25}
        assert values(found) == pytest.approx(expected)


def test_pictures_and_worst_groups_are_of_the_worse_scores() -> None:
    found = judged(0.5, 0.9, at_least=0.3)
    assert found.scored_people is not None
    assert found.scored_people.scores.tolist() == pytest.approx([0.25, 0.25, 0.1, 0.1])
    assert found.scored_people.violates.all()
    assert [group["people"].count for group in found.evidence["worst"]] == [4, 4]
    assert found.masking.score_range == pytest.approx(0.15)


def test_where_less_is_safer_the_higher_score_is_the_worse() -> None:
    asked = {"use": "confidence", "at_most": 0.7}
    folderless = audited(believing(0.5, 0.9), PLUGINS.by_name["confidence"], attacks=[{"use": "nosy"}], metrics=[asked])
    found = finding(folderless, "confidence@nosy#ill")
    assert (found.value, found.violations, found.passed) == (0.9, 8, False)  # .75 of four in truth
    assert values(found) == {"derived": 0.9, "composition": 0.75}


@pytest.mark.parametrize(("apart", "is_scored_twice"), [(5e-13, False), (2e-12, True)])
def test_two_distributions_are_one_where_only_floating_point_tells_them_apart(
    apart: float, is_scored_twice: bool
) -> None:
    found = judged(0.75 - apart, 0.5, at_least=0.2)
    assert bool(values(found)) is is_scored_twice


@pytest.mark.parametrize(("apart", "right"), [(1e-10, 4.0), (1e-8, 5.0)])
def test_values_that_floating_point_alone_tells_apart_are_guessed_half_of_the_time(apart: float, right: float) -> None:
    """Three of four people of zip 1 have flu, two of four of zip 2."""
    chances = 0.5 + apart
    report = audited(
        believing(chances, chances),
        metric_that(doubt),
        attacks=[{"use": "nosy"}],
        metrics=[{"use": "odd", "at_least": 0}],
    )
    [guess] = [each for each in report.guesses if each.secret == "ill"]
    assert guess.correct == right


def with_a_pure_leaf(folder: Path, *metrics: Mapping[str, Any], leaves: str = "labels", **more: Any) -> Path:
    """A policy on 20 people of town a, who are all sick, and 20 of town b, of whom every second one is."""
    (folder / "people.csv").write_text("town,ill\n" + "a,yes\n" * 20 + "b,yes\n" * 10 + "b,no\n" * 10)
    fields = {
        "leafgate": 1,
        "name": "towns",
        "data": {
            "path": "people.csv",
            "columns": {
                "town": {"role": "quasi_identifier", "values": ["a", "b"]},
                "ill": {"role": ["class", "sensitive"], "values": ["yes", "no"]},
            },
        },
        "build": {"use": "kadet", "k": 5, "prune": False},
        "publish": {"leaves": leaves},
        "attacks": [{"use": "linking"}],
        "metrics": list(metrics),
        **more,
    }
    path = folder / "policy.yaml"
    path.write_text(json.dumps(fields))
    return path


EXPOSING: list[dict[str, Any]] = [
    {"use": "confidence", "at_most": 0.9},
    {"use": "exposure", "at_most": 0},
    {"use": "l_diversity", "form": "distinct", "at_least": 2},
]


@pytest.mark.parametrize("metric", EXPOSING, ids=lambda metric: str(metric["use"]))
def test_a_pure_group_fails_though_labels_alone_are_published(tmp_path: Path, metric: dict[str, Any]) -> None:
    report = open_session(with_a_pure_leaf(tmp_path, metric)).audit().report
    (found,) = (found for found in report.findings if found.metric == metric["use"])
    assert (found.passed, found.violations, judged_by(found)) == (False, 20, "worst")
    public, auditor = (document(report, audience) for audience in ("public", "auditor"))
    (shown,) = (result for result in public["findings"] if result["metric"] == metric["use"])
    assert (shown["value"], shown["beyond"]) == (None, None)
    assert shown["evidence"] == {}  # what is derived rests on how often the labels are right, which nobody published
    assert "compared with the stricter of what an outsider can derive and the groups' true composition" in summary(
        auditor
    )
    assert "the groups' true composition is 1" in summary(auditor)
    assert "composition is" not in summary(public)
    assert "town = a" in summary(auditor)
    assert "town = a" not in summary(public)


@pytest.mark.parametrize("metric", EXPOSING, ids=lambda metric: str(metric["use"]))
def test_the_same_tree_with_counts_fails_in_public_with_its_number(tmp_path: Path, metric: dict[str, Any]) -> None:
    report = open_session(with_a_pure_leaf(tmp_path, metric, leaves="counts")).audit().report
    (shown,) = (result for result in document(report, "public")["findings"] if result["metric"] == metric["use"])
    assert (shown["passed"], shown["value"], shown["limit"]["scored"]) == (False, 1, "worst")
    assert not {"derived", "composition"} & set(shown["evidence"])


def test_a_column_that_the_release_says_nothing_of_is_judged_by_what_is_derived() -> None:
    # The tree predicts who is ill and asks the zip code alone; nobody of zip 1 is rich.
    report = audited(metric_that(doubt), metrics=[{"use": "odd", "at_least": 0.5}])
    rich, ill = finding(report, "odd@calm#rich"), finding(report, "odd@calm#ill")
    assert (rich.passed, judged_by(rich)) == (True, "derived")
    assert rich.evidence["scored_because"] == "the release neither predicts nor tests nor publishes this column"
    assert (ill.passed, judged_by(ill)) == (False, "worst")
    assert f"compared with what an outsider can derive: {rich.evidence['scored_because']}" in summary(
        document(report, "public")
    )


CLAIM: dict[str, Any] = {"build": {"use": "stump", "claims": {"epsilon": 1}}}


@pytest.mark.parametrize(("score", "scored"), [(1, "derived"), (-1, "worst"), (float("nan"), "worst")])
def test_a_verified_claim_of_differential_privacy_keeps_a_limit_on_what_is_derived(score: float, scored: str) -> None:
    kept = release_metric_that(lambda case: score, checks="epsilon")  # a claim of 1 is kept by a score of 1 or more
    asked = [{"use": "odd", "at_least": 0.3, "secret": "ill"}]
    report = audited(kept, metric_that(doubt), metrics=asked, **CLAIM)
    found = finding(report, "odd@calm#ill")
    assert (judged_by(found), found.passed) == (scored, scored == "derived")
    assert ("scored_because" in found.evidence) == (scored == "derived")
    assert [each.id for each in report.findings] == ["odd@calm#ill", "guarantee:epsilon"]
    (shown,) = (each for each in document(report, "public")["findings"] if each["id"] == found.id)
    assert shown["evidence"] == (
        {"scored_because": "the release's claim of differential privacy was verified"} if scored == "derived" else {}
    )


@pytest.mark.parametrize(
    ("claim", "bounds"),
    [
        (10, True),
        (10.5, False),
        ({"at_most": 1, "delta": 1e-3}, True),
        ({"at_most": 1, "delta": 0.01}, False),
        ([{"at_most": 20, "delta": 0}, {"at_most": 1}], True),
    ],
)
def test_a_promise_that_nearly_everything_keeps_bounds_no_belief(claim: Any, bounds: bool) -> None:
    kept = Finding("guarantee:epsilon", "epsilon", passed=True, evidence={"claim": claim})
    assert verified([kept]) == (frozenset({"epsilon"}) if bounds else frozenset())
    assert verified([replace(kept, passed=None)]) == frozenset()


def test_a_claim_of_differential_privacy_that_nobody_can_check_is_none() -> None:
    report = audited(metric_that(doubt), metrics=[{"use": "odd", "at_least": 0.3, "secret": "ill"}], **CLAIM)
    assert judged_by(finding(report, "odd@calm#ill")) == "worst"
    assert report.exit_code == 1


def test_a_metric_of_what_is_derived_alone_refuses_any_other_scored() -> None:
    kind = metric_that(doubt, scorable=ONLY_DERIVED)
    found = finding(audited(kind, metrics=[{"use": "odd", "at_least": 0.3, "secret": "ill"}]), "odd@calm#ill")
    assert (found.passed, judged_by(found), values(found)) == (True, "derived", {})
    assert found.evidence["scored_because"] == "the metric can only score what is derived"
    for scored in ("worst", "composition"):
        with pytest.raises(Exception, match=f"it cannot score `{scored}`; leave `scored` out, or choose derived"):
            audited(kind, metrics=[{"use": "odd", "at_least": 0.3, "scored": scored}])


@pytest.mark.parametrize(("use", "limit"), [("divergence", "at_least"), ("gain", "at_most")])
def test_what_compares_a_belief_with_the_truth_is_judged_by_what_is_derived(use: str, limit: str) -> None:
    assert PLUGINS.by_name[use].model_validate({"use": use, limit: 1}).scored == "derived"  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="it cannot score `composition`"):
        PLUGINS.by_name[use].model_validate({"use": use, limit: 1, "scored": "composition"})


@pytest.mark.parametrize("use", ["k_anonymity", "uniques", "reidentification_risk", "k_map", "normalised_rmse"])
def test_metrics_of_groups_alone_are_judged_as_before_and_say_why(tmp_path: Path, use: str) -> None:
    kind = PLUGINS.by_name[use]
    assert issubclass(kind, PersonMetric)
    limit = {"use": use, kind.direction: 1}
    assert kind.model_validate(limit).scored == "derived"
    assert kind.model_validate({**limit, "scored": "derived"}).scored == "derived"
    with pytest.raises(ValueError, match="it scores groups alone, so `scored` changes nothing; leave it out"):
        kind.model_validate({**limit, "scored": "worst"})


def test_a_claimed_number_is_about_the_worse_of_both_a_mapping_about_composition() -> None:
    # Everything is equally likely for all that is derived: 1/2. Of zip 1 three of four have flu: 1/4.
    kind = metric_that(doubt, checks="calm", checked_by="calm")

    def passed(claim: Any) -> bool | None:
        report = audited(kind, build={"use": "stump", "claims": {"calm": claim}})
        return finding(report, "guarantee:calm").passed

    assert passed([{"at_least": 0.25, "secret": "ill"}]) is True
    assert passed([{"at_least": 0.3, "secret": "ill"}]) is False
    assert passed(0.25) is True  # of the rich, of whom the tree says nothing, what is derived
    assert passed(0.3) is False


def only(distribution: str) -> Callable[[ScoringContext], Any]:
    """A score that works out for one distribution alone."""

    def score(case: ScoringContext) -> Any:
        chances = case.posterior
        if case.scored != distribution:
            raise InconclusiveError("this one has no score")
        return 1 - chances.max(axis=1)

    return score


@pytest.mark.parametrize(
    ("scored", "limit", "passed"),
    [
        ("derived", 0.1, None),
        ("derived", 0.2, False),
        ("composition", 0.25, None),
        ("composition", 0.3, False),
    ],
)
def test_on_half_of_the_evidence_a_limit_fails_or_is_inconclusive_and_never_holds(
    scored: str, limit: float, passed: bool | None
) -> None:
    found = judged(0.5, 0.9, score=only(scored), at_least=limit)
    assert (found.passed, judged_by(found)) == (passed, "worst")
    other = {"derived": "the group's true composition", "composition": "what the adversary derives"}[scored]
    assert found.evidence["problem"] == f"{other} could not be scored: this one has no score"


def test_a_composition_that_breaks_a_limit_fails_where_the_attack_cannot_decide() -> None:
    # Two beliefs, of which one keeps a limit of .2; of zip 1 only .25 is in doubt in truth.
    beliefs = {"alternative_posteriors": (pd.DataFrame({"flu": [0.5, 0.9], "cold": [0.5, 0.1]}),)}
    undecided = judged(0.5, 0.5, belief=beliefs, at_least=0.2, scored="derived")
    assert undecided.passed is None
    assert undecided.evidence["problem"].startswith("several beliefs of the adversary agree equally well")
    assert judged(0.5, 0.5, belief=beliefs, at_least=0.2).passed is None
    assert judged(0.5, 0.5, belief=beliefs, at_least=0.3).passed is False
    assert judged(0.5, 0.5, belief={"incomplete": True}, at_least=0.3).passed is False
    assert judged(0.5, 0.5, belief={"incomplete": True}, at_least=0.2).passed is None


def average(value: float, secondary: SecondaryScore, *, scores: Sequence[float] = (0.5, 0.6)) -> dict[str, Any]:
    people = ScoredPeople(np.array(scores), np.array([600, 400]), np.array([False, False]), everyone=True)
    limit = Limit("at_most", 0.9, average=True, scored="worst")
    found = Finding(
        "confidence@a", "confidence", True, value=value, attack="a", secret="ill", limit=limit, people=1000,
        scored_people=people, masking=Masking(score_range=0.1, smallest_group=400), audience=VisibleTo.AUDITORS,
        evidence={"derived": secondary},
    )  # fmt: skip
    report = Report(POLICY, {"people": PeopleCount(1000)}, None, [found], {}, 10)
    [result] = document(report, "public")["findings"]
    return dict(result["evidence"])


def spread(score_range: float) -> Masking:
    return Masking(score_range=score_range, smallest_group=400)


def test_fewer_people_than_the_smallest_cell_cannot_move_a_secondary_average_by_a_step() -> None:
    # Ten of 1,000 people move an average of scores that are .5 apart by .005: it is told to two places.
    items = [average(0.7, SecondaryScore(0.612345 + i * 0.0004, spread(0.5)))["derived"] for i in range(10)]
    assert set(items) == {0.61, 0.62}
    assert average(0.7, SecondaryScore(0.612345, spread(0.5)))["derived"] == 0.61


def test_a_secondary_average_is_rounded_by_its_own_scores_and_exact_for_auditors() -> None:
    wide, narrow = (average(0.7, SecondaryScore(0.612345, spread(width)))["derived"] for width in (0.5, 0.05))
    assert (wide, narrow) == (0.61, 0.612)
    report = Report(POLICY, {}, None, [judged(0.5, 0.9, average=True)], {}, 10)
    assert document(report, "auditor")["findings"][0]["evidence"]["derived"] == pytest.approx(0.3)


def option(scored: str | None, use: str = "confidence", limit: str = "at_most") -> dict[str, Any]:
    return {"metrics": [{"use": use, limit: 0.9, **({} if scored is None else {"scored": scored})}]}


def written(document: dict[str, Any]) -> PolicyDocument:
    return PolicyDocument(document, "policy.yaml", {})


@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        ("derived", "worst", ["tighter"]),
        ("composition", "worst", ["tighter"]),
        ("derived", None, ["tighter"]),
        ("composition", None, ["tighter"]),
        ("worst", "derived", ["looser"]),
        ("worst", "composition", ["looser"]),
        (None, "derived", ["looser"]),
        (None, "composition", ["looser"]),
        ("derived", "composition", ["different"]),
        ("composition", "derived", ["different"]),
        (None, "worst", []),
        ("worst", None, []),
    ],
)
def test_worst_is_tighter_than_either_and_these_are_in_no_order(
    tmp_path: Path, old: str | None, new: str | None, kinds: list[str]
) -> None:
    changes = compare_policies(written(option(old)), written(option(new)), PLUGINS)
    assert [(change.kind, change.place) for change in changes] == [(kind, "metrics[0].scored") for kind in kinds]
    for metric in (option(old)["metrics"][0], option(new)["metrics"][0]):
        assert policy_of_metrics(tmp_path, metric)
    parent, child = tmp_path / "parent.yaml", tmp_path / "policy.yaml"
    with_a_pure_leaf(tmp_path, *option(old)["metrics"]).rename(parent)
    child.write_text(json.dumps({"leafgate": 1, "extends": parent.name, **option(new)}))
    if new is None or kinds in ([], ["tighter"]):
        assert load_policy(child).policy.metrics  # what is left out is the parent's
    else:
        with pytest.raises(PolicyError, match=r"metrics\[0\].scored"):
            load_policy(child)


def policy_of_metrics(folder: Path, *metrics: Mapping[str, Any]) -> bool:
    return bool(load_policy(with_a_pure_leaf(folder, *metrics)).policy.metrics)


def test_the_digest_of_a_policy_tells_which_distribution_is_judged() -> None:
    digests = {
        policy_with(plugins_with(metric_that(doubt)), metrics=[{"use": "odd", "at_least": 0, **said}]).sha256
        for said in ({}, {"scored": "worst"}, {"scored": "derived"}, {"scored": "composition"})
    }
    assert len(digests) == 3


def test_a_waiver_with_a_limit_of_its_own_is_judged_by_the_same_distribution() -> None:
    said = {
        "id": "w", "finding": "odd@calm", "release": "0" * 64, "owner": "Ada", "approved_by": "Bob", "reason": "so",
        "issued": "2026-01-01", "expires": "2026-02-01", "limit": {"at_least": 0.2},
    }  # fmt: skip
    metric = metric_that(doubt).model_validate({"use": "odd", "at_least": 0.3, "scored": "composition"})
    weaker = Waiver.model_validate_json(json.dumps(said)).weaker(metric)
    assert isinstance(weaker, PersonMetric)
    assert (weaker.bound, weaker.scored) == (0.2, "composition")
