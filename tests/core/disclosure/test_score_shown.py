"""How the public sees scores that count nothing: on a grid, and of few people not at all."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate.api import PeopleCount, Unit
from leafgate.app import Finding, Masking, Report, ScoredPeople, SecondaryScore, document
from standins import people_limit

POLICY = {"name": "p", "sha256": "0" * 64}
CELL = 10


def sure(sizes: list[int], scores: list[float], limit: float) -> Finding:
    """How sure an adversary is of groups of these sizes."""
    weight, numbers = np.array(sizes), np.array(scores)
    past = numbers > limit
    worst = float(numbers.max())
    fewest = int(weight[numbers == worst].min())
    return Finding(
        "confidence@a", "confidence", not past.any(), "a", "ill", worst, people_limit(at_most=limit), int(weight.sum()),
        int(weight[past].sum()), scored_people=ScoredPeople(numbers, weight, past, everyone=True),
        masking=Masking(people_at_value=fewest, smallest_group=int(weight.min())),
    )  # fmt: skip


def public(finding: Finding, **evidence: Any) -> dict[str, Any]:
    found = replace(finding, evidence=evidence)
    report = Report(POLICY, {"people": PeopleCount(found.people or 0)}, None, [found], {}, CELL)
    [result] = document(report, "public")["findings"]
    return dict(result)


@pytest.mark.parametrize("unit", [Unit.SHARE, Unit.TABLE, Unit.PEOPLE_LEFT])
def test_a_fraction_of_one_person_is_masked_in_every_unit_that_is_no_count(unit: Unit) -> None:
    finding = replace(sure([30, 7], [1 / 2, 6 / 7], 0.9), unit=unit)
    result = public(finding)
    assert result["value"] is None
    assert result["distribution"] == []
    assert result == public(replace(finding, unit=Unit.NONE))


@pytest.mark.parametrize("unit", [Unit.SHARE, Unit.TABLE])
def test_scores_of_0_or_1_are_shown_in_every_unit(unit: Unit) -> None:
    result = public(replace(sure([30, 27], [0.0, 1.0], 0.5), unit=unit))
    assert result["value"] == 1
    assert result["distribution"]


@given(st.floats(-1e6, 1e6, allow_nan=False))
def test_a_step_holds_the_score_and_others_of_its_size(value: float) -> None:
    result = public(replace(sure([50], [0.5], 1), value=value))["value"]
    if isinstance(result, dict):
        assert result["from"] - 1e-6 <= value <= result["to"] + 1e-6
        assert result["to"] - result["from"] >= 0.05 - 1e-9
    else:
        assert result == value
        assert value.is_integer()


def test_equal_steps_are_told_of_all_scores_in_them() -> None:
    items = [public(replace(sure([50], [0.5], 1), value=i / 1000))["value"] for i in range(701, 749)]
    assert all(item == {"from": 0.7, "to": 0.75} for item in items)


@pytest.mark.parametrize("size", range(1, 21))
def test_no_fraction_tells_how_many_fewer_than_the_smallest_cell_there_are(size: int) -> None:
    """Whatever is shown, its bars and its verdict: of groups below the cell each size fits as well as another."""
    finding = sure([100, size], [0.8, 1 - 1 / (size + 1)], 0.83)
    beside = {key: SecondaryScore(0.456, finding.masking) for key in ("composition", "derived")}
    result = public(finding, **beside)
    fewest = finding.masking.people_at_value
    if fewest is not None and fewest < CELL:
        assert result["value"] is None
        assert not {"composition", "derived"} & set(result["evidence"])
    edges = {edge for bar in result["distribution"] for edge in (bar["from"], bar["to"])}
    assert edges <= {None, 0.83} if size < CELL else all(
        edge == 0.83 or Fraction(str(edge)) % Fraction("0.05") == 0 for edge in edges
    )  # fmt: skip


@pytest.mark.parametrize("sizes", [[100, 7, 40], [100, 40]])
def test_what_three_groups_are_sure_of_does_not_tell_of_the_fourth(sizes: list[int]) -> None:
    scores = [0.7, 4 / 7, 0.5] if len(sizes) == 3 else [0.7, 0.5]
    result = public(sure(sizes, scores, 0.9))
    assert result["value"] == {"from": 0.7, "to": 0.75}


def test_certainty_is_told_as_it_is() -> None:
    assert public(sure([100, 4], [0.8, 1.0], 0.9))["value"] == 1.0


def test_the_auditor_sees_every_digit() -> None:
    finding = sure([100, 7], [0.8, 6 / 7], 0.83)
    report = Report(POLICY, {"people": PeopleCount(107)}, None, [finding], {}, CELL)
    [result] = document(report, "auditor")["findings"]
    assert result["value"] == 6 / 7
    assert len(result["distribution"]) > 2
