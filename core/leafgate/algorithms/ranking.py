"""How well a release ranks people by their class: the area under the ROC curve, and its standard error."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from leafgate.algorithms.prediction import class_votes
from leafgate.kernel.arrays import Floats
from leafgate.kernel.release import Release
from leafgate.kernel.table import Table

TIE_DECIMALS = 12
"""Numbers that agree to so many decimals are a tie."""


@dataclass(frozen=True)
class Area:
    """The area under a ROC curve, from 0 to 1, and its standard error over samples of people."""

    value: float
    error: float


def area_under_curve(ranking: Floats, second: NDArray[np.int64], first: NDArray[np.int64]) -> Area:
    """How likely a person of the second class is ranked above one of the first, ties counting one half.

    Args:
        ranking: A number for each record; numbers that agree to 12 decimals are a tie.
        second: How many people of the second class each record stands for, at least 1 in all.
        first: The same for the first class.

    Returns:
        The area with its standard error, which is infinite where a class has one person alone.

    Source: DeLong, DeLong, Clarke-Pearson, "Comparing the Areas under Two or More Correlated Receiver Operating
    Characteristic Curves", Biometrics 44(3), 1988: the variances of the placements of both classes.

    >>> area_under_curve(np.array([0.2, 0.5, 0.9]), np.array([0, 1, 1]), np.array([1, 1, 0])).value
    0.875
    """
    rank = np.unique(np.round(ranking, TIE_DECIMALS), return_inverse=True)[1]
    people_second, people_first = (np.bincount(rank, weights=people).astype(np.float64) for people in (second, first))
    n_second, n_first = people_second.sum(), people_first.sum()
    below = (np.cumsum(people_first) - people_first / 2) / n_first
    above = (n_second - np.cumsum(people_second) + people_second / 2) / n_second
    value = float((people_second * below).sum() / n_second)
    variance = _variance_of_mean(below, people_second) + _variance_of_mean(above, people_first)
    return Area(value, math.sqrt(variance))


def _variance_of_mean(placements: Floats, people: Floats) -> float:
    """The variance of the mean placement of so many people at each rank."""
    n = people.sum()
    if n < 2:
        return math.inf
    mean = (people * placements).sum() / n
    return float((people * (placements - mean) ** 2).sum() / (n - 1) / n)


def second_class_ranking(release: Release, table: Table) -> Floats:
    """Return how a release of two classes ranks people: its votes for the second class against the first.

    One tree, or trees that vote, rank by their leaves' shares where these are published. People for whom no leaf
    predicts a class are in the middle.

    Returns:
        Shape (n_records,); larger is more of the second class.
    """
    graded = release.publish.leaves in {"counts", "shares"} and release.combine in {"one", "vote"}
    votes = class_votes(replace(release, combine="mean_per_tree") if graded else release, table)
    if release.combine == "boost":
        return np.asarray(np.nan_to_num(votes[:, 1] - votes[:, 0]))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nan_to_num(votes[:, 1] / votes.sum(axis=1), nan=0.5))
