"""What a metric returns for a case, as a number for each person or one for the release."""

from __future__ import annotations

import pandas as pd

from leafgate.api import Metric, ScoringContext


def scores_of_people(metric: Metric, case: ScoringContext) -> pd.Series:
    """The scores of people."""
    scores = metric.score(case).people
    assert scores is not None
    return pd.Series(scores)


def score_of_release(metric: Metric, case: ScoringContext) -> float:
    """The score of the release."""
    score = metric.score(case).value
    assert score is not None
    return score
