"""What a metric says, as checked numbers: one a record or one for the release, and the one that is judged."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.attacking import plugin_trouble
from leafgate.case import Case
from leafgate.errors import InconclusiveError
from leafgate.interfaces import Metric, RecordMetric
from leafgate.plugins import Plugins
from leafgate.table import Table

Scores = NDArray[np.float64]
Counts = NDArray[np.int64]


def scores_of(metric: Metric, plugins: Plugins, case: Case) -> Any:
    """The metric's score of every record, or of the release; InconclusiveError where it is nonsense."""
    with plugin_trouble(metric, plugins):
        return _checked(metric.score(case), metric, case)


def _checked(scores: object, metric: Metric, case: Case) -> Any:
    """Numbers, one a record or one for the release, infinite on the unsafe side only; else the plugin's nonsense."""
    wanted = (len(case.table),) if isinstance(metric, RecordMetric) else ()
    try:
        numbers = np.asarray(scores, dtype=float)
    except (TypeError, ValueError):
        raise InconclusiveError(f"{metric.use} returned no numbers") from None
    if numbers.shape != wanted:
        raise InconclusiveError(f"{metric.use} returned numbers of shape {numbers.shape}, wanted {wanted}")
    unsafe = np.inf if metric.direction == "at_most" else -np.inf
    if not (np.isfinite(numbers) | (numbers == unsafe)).all():
        raise InconclusiveError(f"{metric.use} returned a number that is not finite")
    return numbers


def value_of(metric: RecordMetric, scores: Scores, case: Case) -> float:
    """What the policy judges: the mean over people, or the worst-off person's score."""
    if metric.average:
        return _mean(metric, scores, case)
    return float(scores.min() if metric.direction == "at_least" else scores.max())


def _mean(metric: RecordMetric, scores: Scores, case: Case) -> float:
    """The mean over people, to the last digit the same however many rows these people share.

    Where weights count no people, the worse of the means over rows and by weights.
    """
    values, which = np.unique(scores, return_inverse=True)
    means = [
        math.fsum(values * np.bincount(which, weights=weight)) / int(weight.sum()) for weight in counted_by(case.table)
    ]
    return min(means) if metric.direction == "at_least" else max(means)


def counted_by(table: Table) -> list[Counts]:
    """The people who share each record; where rows are people, then also the weights, by which limits must hold too."""
    return [table.persons, table.weight] if table.weighted else [table.persons]


def finite(value: float) -> float | None:
    """The score as a report may hold it; None where it has no bound."""
    return value if np.isfinite(value) else None


def unbounded(value: float) -> dict[str, Any]:
    """The evidence of a score without bound."""
    return {} if np.isfinite(value) else {"unbounded": True}
