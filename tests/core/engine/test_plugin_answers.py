"""Answers of a plugin that are no answers leave its limit inconclusive, and no unmasked number reaches the public."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leafgate.api import (
    AdversaryKnowledge,
    AuditorOnly,
    Belief,
    PeopleCount,
    Release,
    Score,
    ScoringContext,
    SecretBelief,
)
from leafgate.app import Report, document
from standins import attack_that, audited, even, finding, metric_that, release_metric_that

ODD = [{"use": "odd", "at_least": 1, "secret": "ill"}]
WHOLE = [{"use": "whole", "at_least": 1}]
NOSY = [{"use": "sizes", "at_least": 1, "of": "nosy"}]


def published(report: Report, id: str) -> dict[str, Any]:
    """The finding as the public sees it; the auditor's document can be written as well."""
    documents = [document(report, audience) for audience in ("auditor", "public")]
    return next(found for found in documents[1]["findings"] if found["id"] == id)


def scored(numbers: Callable[[int], object], **facts: Any) -> Report:
    return audited(metric_that(lambda case: numbers(len(case.table)), **facts), metrics=ODD)


def believed(make: Callable[[AdversaryKnowledge], Belief]) -> Report:
    def infer(release: Release, known: AdversaryKnowledge) -> list[Belief]:
        return [make(known)]

    return audited(attack_that(infer), attacks=[{"use": "nosy"}], metrics=NOSY)


def a_belief(known: AdversaryKnowledge, posterior: Any = None, **fields: Any) -> Belief:
    classes = fields.pop("classes", np.zeros(len(known.records), dtype=int))
    return SecretBelief("ill", even(known) if posterior is None else posterior, equivalence_class=classes, **fields)


NO_SCORES: dict[str, Callable[[int], object]] = {
    "texts": lambda n: ["5"] * n,
    "complex numbers": lambda n: np.full(n, 2 + 5j),
    "masked numbers": lambda n: np.ma.MaskedArray([5.0] * n, mask=True),
    "dates": lambda n: pd.Series(pd.to_datetime(["2020-01-01"] * n)),
    "rows in another order": lambda n: pd.Series(5.0, index=range(n))[::-1],
}


@pytest.mark.parametrize("case", NO_SCORES)
def test_scores_that_are_no_numbers_of_the_rows_are_inconclusive(case: str) -> None:
    assert finding(scored(NO_SCORES[case]), "odd@calm#ill").passed is None


@pytest.mark.parametrize("number", [True, 2, np.int64(2), np.float32(2), Decimal(2)])
def test_scores_of_any_kind_of_real_number_are_judged(number: object) -> None:
    assert finding(scored(lambda n: [number] * n), "odd@calm#ill").passed is True


NO_BELIEFS: dict[str, Callable[[AdversaryKnowledge], Belief]] = {
    "texts": lambda known: a_belief(known, even(known).astype(str)),
    "complex numbers": lambda known: a_belief(known, even(known).astype(complex) + 1j),
    "rows in another order": lambda known: a_belief(known, even(known)[::-1]),
    "a prior in another order": lambda known: a_belief(known, prior=even(known)[::-1]),
    "classes in another order": lambda known: a_belief(known, classes=pd.Series([0, 1], index=[1, 0])),
    "a certainty of its own": lambda known: a_belief(known, certainty="sure"),
    "a derived score": lambda known: a_belief(known, evidence={"derived": 0.5}),
    "a claim": lambda known: a_belief(known, evidence={"claim": 0.1}),
    "a reason that is no text": lambda known: a_belief(known, evidence={"reason": {"a": 1}}),
}


@pytest.mark.parametrize("case", NO_BELIEFS)
def test_a_belief_that_cannot_be_read_row_by_row_is_the_attacks_failure(case: str) -> None:
    report = believed(NO_BELIEFS[case])
    assert published(report, "attack:nosy")["passed"] is None
    assert report.exit_code == 3


def test_probabilities_of_any_kind_of_real_number_reach_metrics_as_floats() -> None:
    report = believed(lambda known: a_belief(known, even(known).map(lambda share: Decimal(str(share)))))
    assert finding(report, "sizes@nosy#ill").passed is True


def worst(**group: Any) -> dict[str, Any]:
    return {"worst": [{"people": PeopleCount(5), **group}]}


def curve(rates: list[float]) -> dict[str, list[float]]:
    return dict.fromkeys(("fpr", "tpr", "low", "high"), rates)


NO_EVIDENCE: dict[str, dict[str, Any]] = {
    "a path that is no text": worst(path=AuditorOnly(5)),
    "true values that are no counts": worst(true=AuditorOnly({"flu": "many"})),
    "fewer than no people of a value": worst(true=AuditorOnly({"flu": -1})),
    "fewer than no possible values": worst(possible_values=-1),
    "fewer than no people": {"worst": [{"people": PeopleCount(-5)}]},
    "a count that no report can hold": {"most": PeopleCount(2**53)},
    "a switch for a count": {"most": PeopleCount(True)},
    "disclosures that are no list": {"discloses": 5},
    "disclosures of an unknown severity": {"discloses": [{"severity": "x", "says": "y"}]},
    "a curve for everybody": {"roc": curve([0.0, 1.0])},
    "a curve without ends": {"roc": AuditorOnly({"fpr": [0.0, 1.0], "tpr": [0.0, 1.0]})},
    "a curve of one point": {"roc": AuditorOnly(curve([1.0]))},
    "a curve of no rates": {"roc": AuditorOnly(curve([0.0, 2.0]))},
    "a curve that runs back": {"roc": AuditorOnly(curve([1.0, 0.5]))},
    "a curve with fewer rates": {"roc": AuditorOnly({"fpr": [0, 1], "tpr": [0, 1], "low": [0, 1], "high": [1]})},
}


@pytest.mark.parametrize("case", NO_EVIDENCE)
def test_evidence_that_no_report_can_hold_is_inconclusive(case: str) -> None:
    kind = release_metric_that(lambda _: Score(2.0, evidence=NO_EVIDENCE[case]))
    assert published(audited(kind, metrics=WHOLE), "whole")["passed"] is None


@pytest.mark.parametrize("moved", [float("nan"), float("inf"), -1.0, None, "0.1"])
def test_a_sensitivity_that_bounds_nothing_publishes_no_number(moved: Any) -> None:
    kind = release_metric_that(lambda _: Score(5.123456, sensitivity=moved))
    found = published(audited(kind, metrics=WHOLE), "whole")
    assert (found["passed"], found["value"]) == (None, None)


def test_a_sensitivity_of_peoples_scores_publishes_no_number() -> None:
    kind = metric_that(lambda case: Score(people=case.weight * 5, sensitivity=0.1))
    found = published(audited(kind, metrics=ODD), "odd@calm#ill")
    assert (found["passed"], found["value"]) == (None, None)
    assert "only the score of a release" in found["evidence"]["problem"]


ILL: dict[str, Callable[[ScoringContext], Any]] = {
    "the table": lambda case: case.table.codes("ill") @ case.table.weight,
    "a copy": lambda case: replace(case).table.codes("ill") @ case.table.weight,
    "what the adversary knows": lambda case: case.known.public.weight.max(),
}


@pytest.mark.parametrize("read", ILL)
@pytest.mark.parametrize("facts", [{}, {"public": "number"}, {"unit": "table"}], ids=str)
def test_a_number_of_people_from_a_metric_of_the_release_is_published_by_its_verdict_alone(
    read: str, facts: dict[str, Any]
) -> None:
    def score(case: ScoringContext) -> Score:
        return Score(2.0 + ILL[read](case) / 7, evidence={"ill": float(ILL[read](case))})

    found = published(audited(release_metric_that(score, **facts), metrics=WHOLE), "whole")
    assert (found["passed"], found["value"], found["evidence"]) == (True, None, {})


def test_a_number_of_people_with_a_sensitivity_is_published_rounded() -> None:
    kind = release_metric_that(lambda case: Score(2.0 + ILL["the table"](case) / 7, sensitivity=0.004))
    value = published(audited(kind, metrics=WHOLE), "whole")["value"]
    assert value == round(value, 1)


@pytest.mark.parametrize("facts", [{}, {"public": "number"}], ids=str)
def test_a_metric_that_reads_the_release_alone_publishes_its_number(facts: dict[str, Any]) -> None:
    kind = release_metric_that(lambda case: 2.0 + len(case.release.schema.columns) / 7, **facts)
    found = published(audited(kind, metrics=WHOLE), "whole")
    assert found["value"] == 2.0 + 3 / 7


def fails(self: object, case: ScoringContext) -> bool:
    raise ValueError("somebody's illness is flu")


@pytest.mark.parametrize("answer", [fails, lambda self, case: None, lambda self, case: np.array([True, False])])
def test_a_guard_that_does_not_answer_publishes_no_number(answer: Any) -> None:
    for report, name in [
        (audited(metric_that(lambda case: case.weight * 5, public_in=answer), metrics=ODD), "odd@calm#ill"),
        (audited(release_metric_that(lambda _: 2.0, public_in=answer), metrics=WHOLE), "whole"),
    ]:
        found = published(report, name)
        assert (found["passed"], found["value"]) == (None, None)
        assert "flu" not in str(found["evidence"])


@pytest.mark.parametrize("unit", ["", "share", "table", "people left"])
def test_one_persons_fraction_is_masked_whatever_the_metrics_unit(unit: str) -> None:
    kind = metric_that(lambda case: case.weight * 0 + 11 / 13, unit=unit)
    report = audited(kind, metrics=[{"use": "odd", "at_least": 0.5, "secret": "ill"}], weight=(30, 10, 20, 20))
    found = published(report, "odd@calm#ill")
    assert found["value"] == {"from": 0.8, "to": 0.85}
    assert all(bar["from"] in {None, 0.5, 0.8} for bar in found["distribution"])
    small = published(audited(kind, metrics=[{"use": "odd", "at_least": 0.5, "secret": "ill"}]), "odd@calm#ill")
    assert small["value"] is None


def test_less_than_one_person_is_fewer_than_the_smallest_cell() -> None:
    report = audited(metric_that(lambda case: case.weight * 0 + 11 / 13, unit="people"), metrics=ODD)
    assert published(report, "odd@calm#ill")["value"] == {"fewer_than": 10}


@pytest.mark.parametrize(("unit", "hidden"), [("", True), ("table", True), ("people", False)])
def test_sizes_of_groups_are_shown_by_a_unit_that_masks_them_or_not_at_all(unit: str, hidden: bool) -> None:
    kind = metric_that(lambda case: case.sizes, unit=unit)
    report = audited(kind, metrics=[{"use": "odd", "at_least": 2}])
    found = published(report, "odd@calm#ill")
    assert (found["value"] is None) is hidden
    assert found["passed"] is not None
