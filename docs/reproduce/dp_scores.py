"""How good predictions are: accuracy, and for two classes the area under the curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray

from leafgate.algorithms.prediction import class_votes
from leafgate.kernel.release import Release
from leafgate.kernel.table import Table

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Score:
    """Of one release on one test table; no area where there are not two classes."""

    accuracy: float
    area: float | None


@dataclass(frozen=True)
class Mean:
    """Of several runs, with the standard error; none of one run."""

    value: float
    error: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        return cls(fmean(values), stdev(values) / sqrt(len(values)) if len(values) > 1 else None)


def measured(release: Release, test: Table) -> Score:
    """What the release predicts of the people of a test table."""
    return of_votes(class_votes(release, test), test, added=release.combine == "boost")


def of_votes(votes: Floats, test: Table, *, added: bool = False) -> Score:
    """The most votes decide, the first of equals; a person nobody speaks about (NaN, or no vote) is an error.

    People are ranked by the second class's share of the votes or, where they are logarithms (`added`), the difference.
    """
    codes, weight = test.codes(test.schema.target.name), test.weight.astype(np.float64)
    votes = np.nan_to_num(votes)
    spoken = np.ones(len(votes), dtype=bool) if added else votes.sum(axis=1) > 0
    right = (votes.argmax(axis=1) == codes) & spoken
    accuracy = float(weight[right].sum() / weight.sum())
    if votes.shape[1] != 2:
        return Score(accuracy, None)
    total = np.maximum(votes.sum(axis=1), 1e-300)
    ranked = votes[:, 1] - votes[:, 0] if added else np.where(spoken, votes[:, 1] / total, 0.5)
    return Score(accuracy, area(ranked, codes == 1, weight))


def area(ranked: Floats, second: NDArray[np.bool_], weight: Floats) -> float:
    """How likely a person of the second class is ranked above one of the first, ties counting one half."""
    place = np.unique(ranked, return_inverse=True)[1]
    mine, others = (np.bincount(place, weights=weight * each) for each in (second, ~second))
    return float((mine * (np.cumsum(others) - others / 2)).sum() / (mine.sum() * others.sum()))
