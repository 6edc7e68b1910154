"""Limits: by how much a score may miss one, and which limits no score could break."""

from __future__ import annotations

from typing import Literal

import pandas as pd
import pytest
from pydantic import ValidationError

from components import new_metric
from leafgate.api import AtLeast, AtMost, Metric, Score, ScoringContext
from leafgate.app import Limit


@pytest.mark.parametrize("bound", [0.0, 0.9, 1.0, -1.0, 250.0, -4000.0])
def test_a_score_may_miss_its_limit_by_a_trillionth_as_floating_point_does_and_by_no_more(bound: float) -> None:
    trillionth = 1e-12 * max(1.0, abs(bound))
    for sign, limit in ((1, Limit("at_most", bound)), (-1, Limit("at_least", bound))):
        assert limit.is_kept(bound)
        assert limit.is_kept(bound + sign * 0.9 * trillionth)
        assert not limit.is_kept(bound + sign * 1.1 * trillionth)


class Share(AtMost):
    """A score from 0 to 1."""

    use: Literal["share"] = "share"
    score_range = (0, 1)

    def score(self, context: ScoringContext) -> Score:
        return Score(people=pd.Series(0.0, context.table.frame.index))


class Certainty(AtLeast):
    """A score from 0 to 1 where more is safer."""

    use: Literal["certainty"] = "certainty"
    score_range = (0, 1)

    def score(self, context: ScoringContext) -> Score:
        return Score(people=pd.Series(0.0, context.table.frame.index))


def test_a_limit_may_lie_outside_the_range_of_scores_by_a_millionth_and_no_more() -> None:
    assert Share(at_most=1 + 0.5e-6).bound > 1
    assert Certainty(at_least=-0.5e-6).bound < 0
    with pytest.raises(ValidationError, match="no score is above 1"):
        Share(at_most=1 + 2e-6)
    with pytest.raises(ValidationError, match="no score is below 0"):
        Certainty(at_least=-2e-6)


@pytest.mark.parametrize(
    ("metric", "can_be_broken"),
    [
        (new_metric("exposure", at_most=1), False),
        (new_metric("exposure", at_most=0), True),
        (new_metric("exposure", at_most=1 - 0.5e-6), False),
        (new_metric("exposure", at_most=1 - 2e-6), True),
        (new_metric("confidence", at_most=1, average=True), False),
        (new_metric("confidence", at_most=1, allow=0.5), False),
        (new_metric("confidence", at_most=0.999, average=True), True),
        (new_metric("confidence", at_most=0.999, allow=0.5), True),
        (new_metric("k_anonymity", at_least=0), False),
        (new_metric("k_anonymity", at_least=1), False),
        (new_metric("k_anonymity", at_least=2), True),
        (new_metric("k_anonymity", at_least=2, allow=0.5), True),
        (new_metric("alpha_k_anonymity", at_least=0, alpha=0.5), False),
        (new_metric("alpha_k_anonymity", at_least=1, alpha=0.5), True),  # it scores 0 where alpha is exceeded
        (new_metric("alpha_k_anonymity", at_least=1, alpha=1), False),
        (new_metric("alpha_k_anonymity", at_least=2, alpha=1), True),
        (Certainty(at_least=0), False),
        (Certainty(at_least=0.001), True),
        (new_metric("risky_settings", at_most=0.5), True),
    ],
    ids=repr,
)
def test_a_limit_can_be_broken_unless_it_is_at_the_end_of_the_range_of_scores(
    metric: Metric, can_be_broken: bool
) -> None:
    assert metric.can_be_broken is can_be_broken
