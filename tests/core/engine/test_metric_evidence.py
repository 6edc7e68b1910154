"""What a metric discloses beside its scores, and metrics whose scores the public may not see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leafgate.api import (
    AdversaryKnowledge,
    AuditorOnly,
    Belief,
    InconclusiveError,
    MechanismBelief,
    Metric,
    PeopleCount,
    Release,
    Score,
    ScoringContext,
    SecretBelief,
)
from leafgate.app import Finding, Report, VisibleTo, document, readable, summary
from standins import ORIGIN, attack_that, audited, even, finding, metric_that, release_metric_that

SIZES = {"use": "sizes", "at_least": 4}
Tells = Callable[..., Any]

TO_AUTHORS = "(report it to the authors of the plugin)"


def telling(tells: Tells, **facts: Any) -> type[Metric]:
    """A metric of people's weights that tells something more."""

    def score(case: ScoringContext) -> Score:
        return Score(people=case.weight, evidence=tells(case, case.weight.copy()))

    return metric_that(score, **facts)


def told_by(odd: type[Metric], **said: Any) -> Report:
    return audited(odd, metrics=[SIZES, {"use": "odd", "at_least": 1, "secret": "ill"} | said])


def of(report: Report) -> Finding:
    return finding(report, "odd@calm#ill")


def shown(report: Report) -> list[dict[str, Any]]:
    """The metric's finding as the public and as auditors see it."""
    documents = [document(report, audience) for audience in ("public", "auditor")]
    return [result for each in documents for result in each["findings"] if result["id"] == "odd@calm#ill"]


@pytest.mark.parametrize("said", [{}, {"average": True}, {"at_least": 9}])
def test_what_a_metric_tells_stands_in_its_finding(said: dict[str, Any]) -> None:
    report = told_by(telling(lambda case, scores: {"most": PeopleCount(12), "sum": float(scores.sum())}), **said)
    assert of(report).evidence["most"] == PeopleCount(12)
    assert of(report).evidence["sum"] == 8
    assert "sum" not in finding(report, "sizes@calm#ill").evidence


GROUPS: Mapping[str, Any] = {
    "no list": {"people": PeopleCount(3)},
    "no group": [3],
    "a number that is no count": [{"people": 3}],
    "nobody": [{"path": AuditorOnly("a = b")}],
    "an open path": [{"people": PeopleCount(3), "path": "a = b"}],
    "an open truth": [{"people": PeopleCount(3), "true": {"flu": PeopleCount(3)}}],
    "no truth": [{"people": PeopleCount(3), "true": AuditorOnly(3)}],
}


@pytest.mark.parametrize("worst", GROUPS.values(), ids=GROUPS)
def test_groups_that_a_metric_of_the_release_tells_are_such_as_the_core_tells(worst: Any) -> None:
    kind = release_metric_that(lambda case: Score(2, evidence={"worst": worst}))
    result = finding(audited(kind, metrics=[{"use": "whole", "at_least": 1}]), "whole")
    assert result.passed is None
    assert result.evidence["problem"].startswith(f"whole ({ORIGIN}): its evidence has ")


@pytest.mark.parametrize("hidden", [True, False])
def test_a_metric_may_hide_its_score_in_some_cases(hidden: bool) -> None:
    kind = release_metric_that(lambda case: 2, public_in=lambda self, case: "verdict" if hidden else "coarse")
    report = audited(kind, metrics=[{"use": "whole", "at_least": 1}])
    assert (finding(report, "whole").audience == VisibleTo.AUDITORS) is hidden


RANGES: dict[str, tuple[tuple[float, float], bool | None]] = {
    "all of it keeps the limit": ((0.5, 0.7), True),
    "none of it keeps the limit": ((0.2, 0.4), False),
    "it ends outside the limit": ((0.4, 0.6), None),
    "its safe end is at the limit": ((0.3, 0.5), None),
    "it has no lower bound": ((-np.inf, 0.9), None),
}


@pytest.mark.parametrize(("interval", "passed"), RANGES.values(), ids=RANGES)
def test_a_limit_is_judged_by_the_interval_of_an_estimate(interval: tuple[float, float], passed: bool | None) -> None:
    low, high = interval
    kind = release_metric_that(lambda case: Score(min(max(0.5, low), high), interval=interval))
    report = audited(kind, metrics=[{"use": "whole", "at_least": 0.5}])
    assert finding(report, "whole").passed is passed
    (public,), (auditor,) = (document(report, audience)["findings"] for audience in ("public", "auditor"))
    assert "interval" not in public["evidence"]
    assert auditor["evidence"]["interval"] == {"low": None if low == -np.inf else low, "high": high}
    assert ("within the interval" in str(auditor["evidence"].get("problem"))) is (passed is None)


NO_SCORES: Mapping[str, Any] = {
    "an interval that does not enclose the score": Score(0.5, interval=(0.6, 0.7)),
    "an interval of NaN": Score(0.5, interval=(0.1, np.nan)),
    "an interval upside down": Score(0.5, interval=(0.7, 0.1)),
    "people's scores of the release": Score(people=pd.Series([1.0])),
    "both": Score(0.5, people=pd.Series([1.0])),
    "neither": Score(),
}


@pytest.mark.parametrize("score", NO_SCORES.values(), ids=NO_SCORES)
def test_what_is_no_score_of_a_release_is_inconclusive(score: Score) -> None:
    report = audited(release_metric_that(lambda case: score), metrics=[{"use": "whole", "at_least": 0}])
    assert finding(report, "whole").passed is None
    assert finding(report, "whole").evidence["problem"].startswith(f"whole ({ORIGIN}): returned ")


def test_an_interval_of_people_is_inconclusive() -> None:
    kind = metric_that(lambda case: Score(people=case.weight, interval=(0, 9)))
    assert of(audited(kind, metrics=[{"use": "odd", "at_least": 1, "secret": "ill"}])).passed is None


def whole_of(kind: type[Belief], score: Callable[[ScoringContext], Any]) -> type[Metric]:
    return release_metric_that(score, judges=frozenset({kind}))


def test_a_metric_of_the_release_may_judge_each_attack() -> None:
    kind = whole_of(SecretBelief, lambda case: float(case.posterior.to_numpy().max()))
    report = audited(kind, metrics=[{"use": "whole", "at_least": 0.5}])
    assert {found.id: found.value for found in report.findings} == {"whole@calm#ill": 0.5, "whole@calm#rich": 0.5}
    assert {found.attack for found in report.findings} == {"calm"}


def test_a_metric_of_the_release_judges_the_attack_that_of_names() -> None:
    def shows(release: Release, known: AdversaryKnowledge) -> list[Belief]:
        return [MechanismBelief(tries=("epsilon",), evidence={"at_least": 0.7})]

    def estimate(case: ScoringContext) -> float:
        return float(case.require_belief(MechanismBelief).evidence["at_least"])

    kind = whole_of(MechanismBelief, estimate)
    attacks = [{"use": "calm"}, {"use": "nosy"}, {"use": "nosy", "name": "again"}]
    again = {"use": "whole", "of": "again", "at_least": 0.5}
    nothing = {"use": "whole", "name": "nothing", "of": "calm", "at_least": 0}
    report = audited(attack_that(shows), kind, attacks=attacks, metrics=[again, nothing])
    found = finding(report, "whole@again")
    assert (found.value, found.passed, found.evidence["at_least"]) == (0.7, True, 0.7)
    assert finding(report, "nothing@calm").evidence["problem"] == "there is no belief this metric can read"


def test_a_metric_of_the_release_that_judges_no_attack_takes_no_of() -> None:
    kind = release_metric_that(lambda case: 1)
    with pytest.raises(ValueError, match="leave `of` out"):
        kind.model_validate({"use": "whole", "at_least": 0, "of": "calm"})
    assert "of" not in kind.model_json_schema()["properties"]
    judging = whole_of(MechanismBelief, lambda case: 1)
    assert judging.model_validate({"use": "whole", "at_least": 0, "of": "calm"}).model_dump()["of"] == "calm"


def test_what_is_about_somebody_is_for_auditors() -> None:
    report = told_by(
        telling(lambda case, scores: {"who": AuditorOnly(["planted-zip"]), "few": PeopleCount(3), "fine": 1})
    )
    public, auditor = shown(report)
    assert public["evidence"] == {"few": {"fewer_than": 10}, "fine": 1}
    assert auditor["evidence"] == {"who": ["planted-zip"], "few": 3, "fine": 1}
    assert b"planted" not in readable(document(report, "public"))


NONSENSE: Mapping[str, Tells] = {
    "nothing": lambda case, scores: None,
    "a list": lambda case, scores: [1],
    "an object": lambda case, scores: {"that": object()},
    "NaN": lambda case, scores: {"that": np.nan},
    "an array": lambda case, scores: {"that": np.ones(2)},
    "a key that is no text": lambda case, scores: {1: 1},
    **{
        f"the core's {key}": lambda case, scores, key=key: {key: 1}
        for key in ("worst", "problem", "unbounded", "derived", "composition", "claim", "refutes", "reason", "remedy")
    },
}


@pytest.mark.parametrize("tells", NONSENSE.values(), ids=NONSENSE)
@pytest.mark.parametrize("facts", [{}, {"public": "verdict"}])
def test_nonsense_in_evidence_is_inconclusive_and_the_metrics_own(tells: Tells, facts: dict[str, Any]) -> None:
    report = told_by(telling(tells, **facts))
    assert finding(report, "sizes@calm#ill").passed is True
    assert (of(report).passed, of(report).plugin, report.exit_code) == (None, ORIGIN, 3)
    assert of(report).evidence["problem"].startswith(f"odd ({ORIGIN}): its evidence ")
    assert readable(document(report, "auditor"))


def test_a_metric_may_not_speak_for_the_attack() -> None:
    nosy = attack_that(
        lambda release, known: [SecretBelief("ill", even(known), equivalence_class=np.arange(2), evidence={"gap": 0.5})]
    )
    said = {"use": "odd", "at_least": 1}
    report = audited(nosy, telling(lambda case, scores: {"gap": 0}), attacks=[{"use": "nosy"}], metrics=[said])
    problem = f"odd ({ORIGIN}): its evidence has a key of the attack's own {TO_AUTHORS}"
    assert report.findings[0].evidence == {"problem": problem}


@pytest.mark.parametrize("trouble", [KeyError, SystemExit, InconclusiveError])
def test_trouble_in_evidence_is_inconclusive(trouble: type[BaseException]) -> None:
    def tells(case: ScoringContext, scores: pd.Series) -> Any:
        raise trouble("planted")

    report = told_by(telling(tells))
    assert (of(report).passed, report.exit_code) == (None, 3)
    if not issubclass(trouble, InconclusiveError):
        assert "planted" not in of(report).evidence["problem"]


@pytest.mark.parametrize("said", [{}, {"average": True}, {"at_least": 2}, {"at_least": 2, "allow": 0.5}])
@pytest.mark.parametrize("scored", ["derived", "composition"])
def test_of_a_private_metric_the_public_hears_whether_the_limit_holds(said: dict[str, Any], scored: str) -> None:
    kind = telling(lambda case, scores: {"loud": 1}, public="verdict")
    report = told_by(kind, scored=scored, **said)
    public, auditor = shown(report)
    assert (public["value"], public["beyond"], public["evidence"]) == (None, None, {})
    assert public["passed"] == auditor["passed"] is of(report).passed
    assert auditor["value"] == of(report).value
    assert auditor["evidence"]["loud"] == 1
    word = "holds" if public["passed"] else "is broken"
    assert f"odd@calm#ill {word} (wanted" in summary(document(report, "public"))


@pytest.mark.parametrize("smallest", [1, 10])
@pytest.mark.parametrize("scored", ["derived", "composition"])
def test_the_other_score_of_a_private_metric_is_not_told_either(scored: str, smallest: int) -> None:
    kind = metric_that(lambda case: 0.123 + case.posterior["flu"], public="verdict")
    report = audited(
        kind, metrics=[{"use": "odd", "at_least": 0, "scored": scored}], report={"smallest_cell": smallest}
    )
    public, auditor = (readable(document(report, audience)).decode() for audience in ("public", "auditor"))
    assert "0.623" not in public
    assert "0.623" in auditor


def test_a_private_metric_of_the_release_tells_no_number_either() -> None:
    kind = release_metric_that(lambda case: 0.623, public="verdict")
    report = audited(kind, metrics=[{"use": "whole", "at_least": 0.5}])
    public = document(report, "public")
    assert public["findings"][0]["value"] is None
    assert "whole holds (wanted at least 0.5)" in summary(public)


def test_a_claim_checked_by_a_private_metric_tells_no_number_either() -> None:
    kind = metric_that(lambda case: 0.623 * case.weight, public="verdict", checks="calm", checked_by="calm")
    report = audited(kind, build={"use": "stump", "claims": {"calm": 0.5}})
    result = document(report, "public")["findings"][-1]
    assert (result["value"], result["passed"], result["evidence"]) == (None, True, {"claim": 0.5})


def test_a_baseline_is_laid_out_over_the_tables_rows() -> None:
    def infer(release: Release, known: AdversaryKnowledge) -> list[Belief]:
        frame = pd.DataFrame({"flu": [0.1, 0.3], "cold": [0.9, 0.7]})
        return [SecretBelief("ill", even(known), equivalence_class=np.arange(2), prior=frame)]

    seen: list[Any] = []

    def score(case: ScoringContext) -> pd.Series:
        seen.append(case.prior)
        return case.prior["flu"]

    said = {"use": "odd", "at_least": 0}
    report = audited(attack_that(infer), metric_that(score), attacks=[{"use": "nosy"}], metrics=[said])
    assert seen[0]["flu"].tolist() == [0.1, 0.1, 0.3, 0.3]
    assert seen[0].index.tolist() == [0, 1, 2, 3]
    assert report.findings[0].value == 0.1


def test_a_metric_of_the_baseline_skips_attacks_that_tell_none() -> None:
    odd = metric_that(lambda case: case.prior["flu"])
    report = audited(odd, metrics=[{"use": "odd", "at_least": 0}])
    assert (report.findings[0].id, report.findings[0].passed) == ("odd@any", None)


@pytest.mark.parametrize(("rows", "held"), [(50_000, True), (400_000, False)])
def test_a_finding_states_no_more_than_a_report_can_hold(rows: int, held: bool) -> None:
    report = told_by(telling(lambda case, scores: {"rows": [AuditorOnly([123] * rows)]}))
    problem = of(report).evidence.get("problem", "")
    assert ("characters; a report holds 1,000,000 of it" in problem) == (not held)
    assert of(report).passed == (True if held else None)
