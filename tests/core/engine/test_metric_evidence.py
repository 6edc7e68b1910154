"""What a metric tells beside its scores, and metrics whose scores the public may not see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leafgate.api import (
    AdversaryKnowledge,
    AtLeast,
    Belief,
    InconclusiveError,
    Metric,
    Release,
    ReleaseAtLeast,
    ScoringContext,
    SecretBelief,
)
from leafgate.disclosure.document import document
from leafgate.disclosure.text import summary
from leafgate.errors import UnreadableError
from leafgate.io.json import readable
from leafgate.types.evidence import AuditorOnly, PeopleCount
from leafgate.types.report import Finding, Report
from standins import ORIGIN, attack_that, audited, even, finding, metric_that, release_metric_that

SIZES = {"use": "sizes", "at_least": 4}
Tells = Callable[..., Any]


def telling(tells: Tells, **facts: Any) -> type[Metric]:
    """A metric of people's weights that tells something more."""
    return metric_that(lambda case: case.weight, evidence=lambda self, case, scores: tells(case, scores), **facts)


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


def test_a_metric_of_the_release_may_tell_something_too() -> None:
    kind = release_metric_that(lambda case: 2, evidence=lambda self, case, scores: {"twice": 2 * scores})
    report = audited(kind, metrics=[{"use": "whole", "at_least": 1}])
    assert finding(report, "whole").evidence == {"twice": 4.0}


GROUPS: Mapping[str, Any] = {
    "no list": {"people": PeopleCount(3)},
    "no group": [3],
    "a number that is no count": [{"people": 3}],
    "nobody": [{"path": AuditorOnly("a = b")}],
    "an open path": [{"people": PeopleCount(3), "path": "a = b"}],
    "an open truth": [{"people": PeopleCount(3), "true": {"flu": PeopleCount(3)}}],
    "no truth": [{"people": PeopleCount(3), "true": AuditorOnly(3)}],
    "more": [{"people": PeopleCount(3), "more": 1}],
}


@pytest.mark.parametrize("worst", GROUPS.values(), ids=GROUPS)
def test_groups_that_a_metric_of_the_release_tells_are_such_as_the_core_tells(worst: Any) -> None:
    kind = release_metric_that(lambda case: 2, evidence=lambda self, case, scores: {"worst": worst})
    result = finding(audited(kind, metrics=[{"use": "whole", "at_least": 1}]), "whole")
    assert (result.passed, result.evidence) == (
        None,
        {"problem": "whole: its `worst` are no groups, each with its people"},
    )


def test_the_worst_groups_of_a_metric_of_the_release_are_told_in_words() -> None:
    group = {
        "people": PeopleCount(3),
        "path": AuditorOnly("zip = 1"),
        "true": AuditorOnly({"flu": PeopleCount(2), "cold": PeopleCount(1)}),
    }
    kind = release_metric_that(lambda case: 2, evidence=lambda self, case, scores: {"worst": [group]})
    report = audited(kind, metrics=[{"use": "whole", "at_least": 4}])
    result = summary(document(report, "auditor"))
    assert "3 people share one path; in truth the secret is flu for 2, cold for 1: zip = 1" in result
    assert "fewer than 10 people share one path\n" in summary(document(report, "public"))


@pytest.mark.parametrize("hidden", [True, False])
def test_a_metric_may_hide_its_score_in_some_cases(hidden: bool) -> None:
    kind = release_metric_that(lambda case: 2, must_hide=lambda self, case: hidden)
    report = audited(kind, metrics=[{"use": "whole", "at_least": 1}])
    assert finding(report, "whole").private is hidden


@pytest.mark.parametrize("kind", [AtLeast, ReleaseAtLeast])
def test_a_metric_that_tells_nothing_adds_nothing(kind: type[Metric]) -> None:
    assert kind.model_validate({"use": "any", "at_least": 1}).evidence(None, 1.0) == {}  # type: ignore[arg-type]


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
@pytest.mark.parametrize("facts", [{}, {"private": True}])
def test_nonsense_in_evidence_is_inconclusive_and_the_metrics_own(tells: Tells, facts: dict[str, Any]) -> None:
    report = told_by(telling(tells, **facts))
    assert finding(report, "sizes@calm#ill").passed is True
    assert (of(report).passed, of(report).plugin, report.exit_code) == (None, ORIGIN, 3)
    assert of(report).evidence["problem"].startswith("odd: its evidence ")
    assert readable(document(report, "auditor"))


def test_a_metric_may_not_speak_for_the_attack() -> None:
    nosy = attack_that(
        lambda release, known: [SecretBelief("ill", even(known), equivalence_class=np.arange(2), evidence={"gap": 0.5})]
    )
    said = {"use": "odd", "at_least": 1}
    report = audited(nosy, telling(lambda case, scores: {"gap": 0}), attacks=[{"use": "nosy"}], metrics=[said])
    assert report.findings[0].evidence == {"problem": "odd: its evidence has a key of the attack's own"}


@pytest.mark.parametrize("trouble", [KeyError, SystemExit, UnreadableError, InconclusiveError])
def test_trouble_in_evidence_is_inconclusive_and_never_skips_a_belief(trouble: type[BaseException]) -> None:
    def tells(case: ScoringContext, scores: pd.Series) -> Any:
        raise trouble("planted")

    report = told_by(telling(tells))
    assert (of(report).passed, report.exit_code) == (None, 3)
    if not issubclass(trouble, InconclusiveError):
        assert "planted" not in of(report).evidence["problem"]


def test_what_is_written_into_the_scores_changes_no_finding() -> None:
    def tells(case: ScoringContext, scores: pd.Series) -> Any:
        scores[:] = 100
        return {}

    assert of(told_by(telling(tells))).value == 1


@pytest.mark.parametrize("said", [{}, {"average": True}, {"at_least": 2}, {"at_least": 2, "allow": 0.5}])
@pytest.mark.parametrize("scored", ["derived", "composition"])
def test_of_a_private_metric_the_public_hears_whether_the_limit_holds(said: dict[str, Any], scored: str) -> None:
    kind = telling(lambda case, scores: {"loud": 1}, private=True)
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
    kind = metric_that(lambda case: 0.123 + case.posterior["flu"], private=True)
    report = audited(
        kind, metrics=[{"use": "odd", "at_least": 0, "scored": scored}], report={"smallest_cell": smallest}
    )
    public, auditor = (readable(document(report, audience)).decode() for audience in ("public", "auditor"))
    assert "0.623" not in public
    assert "0.623" in auditor


def test_a_private_metric_of_the_release_tells_no_number_either() -> None:
    kind = release_metric_that(lambda case: 0.623, private=True)
    report = audited(kind, metrics=[{"use": "whole", "at_least": 0.5}])
    public = document(report, "public")
    assert public["findings"][0]["value"] is None
    assert "whole holds (wanted at least 0.5)" in summary(public)


def test_a_claim_checked_by_a_private_metric_tells_no_number_either() -> None:
    kind = metric_that(lambda case: 0.623 * case.weight, private=True, checks="calm", checked_by="calm")
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
