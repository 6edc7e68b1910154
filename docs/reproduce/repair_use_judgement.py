"""Whether repairs are of use: the differences of repair_use.py with their intervals, and which cells fail."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from repair_use_methods import ANY, CONSTANT, GIVEN, KADET, REFIT, REPAIR, Row

MARGIN = 0.01
"""By so much of the area a repair may be worse."""
ERROR = 0.05
"""How often some interval of a family misses its mean at most."""
METHODS = (GIVEN, REPAIR, KADET, REFIT, CONSTANT)
OTHERS = (KADET, REFIT, CONSTANT)
"""What repairs are compared with."""


@dataclass(frozen=True)
class Difference:
    """The mean over splits of a repair's area less that of another method, with its interval.

    Where there are fewer than two splits, the interval is everything.
    """

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, differences: Sequence[float], error: float) -> Difference:
        """The mean, with Student's interval that misses it with this probability, one half on each side."""
        mean, number = float(np.mean(differences)), len(differences)
        if number < 2:
            return cls(mean, -math.inf, math.inf)
        width = float(student.ppf(1 - error / 2, number - 1) * np.std(differences, ddof=1) / math.sqrt(number))
        return cls(mean, mean - width, mean + width)


@dataclass(frozen=True)
class Cell:
    """A kind of models on a data set under a policy, in all splits in which every method was measured.

    Attributes:
        rows: by method, the rows in the order of the splits.
        differences: by the other method, that of the repairs to it.
    """

    data: str
    policy: str
    kind: str
    rows: Mapping[str, Sequence[Row]]
    differences: Mapping[str, Difference]

    @property
    def is_judged(self) -> bool:
        """Are there two splits or more, so that noise can be told apart?"""
        return len(self.rows[REPAIR]) > 1

    @property
    def fails(self) -> bool:
        """Is the repair worse than kADET or a refit by more than the margin, or than a constant, and not by noise?"""
        least = {KADET: -MARGIN, REFIT: -MARGIN, CONSTANT: 0.0}
        return any(each.mean < least[other] and each.high < 0 for other, each in self.differences.items())


@dataclass(frozen=True)
class OverCells:
    """The mean difference over the cells of a data set to one other method, with the lower bound of the mean."""

    data: str
    other: str
    difference: Difference

    @property
    def fails(self) -> bool:
        """Is the lower bound not above the margin?"""
        return self.difference.low <= -MARGIN


def judged(rows: Sequence[Row]) -> tuple[list[Cell], list[OverCells]]:
    """The cells in the order of the rows, and the means over the cells of each data set.

    The intervals of all cells hold together with a probability of 95 % (Bonferroni over all comparisons), and so do the
    lower bounds of the data sets.
    """
    found = {(row.data, row.policy, row.kind, row.method, row.split): row for row in rows}
    keys = list(dict.fromkeys((row.data, row.policy, row.kind) for row in rows if row.kind != ANY))
    complete = {key: some for key in keys if (some := _complete(found, *key))}
    error = ERROR / max(len(complete) * len(OTHERS), 1)
    cells = [
        Cell(*key, rows=some, differences={other: Difference.of(_differences(some, other), error) for other in OTHERS})
        for key, some in complete.items()
    ]
    return cells, _over_cells(cells)


def _complete(
    found: Mapping[tuple[str, str, str, str, int], Row], data: str, policy: str, kind: str
) -> dict[str, list[Row]]:
    """By method the rows of the splits in which every method was measured; empty where there is no such split."""
    places = {method: (data, policy, ANY if method in {KADET, CONSTANT} else kind, method) for method in METHODS}
    splits = sorted({place[4] for place in found if place[:4] == places[REPAIR]})
    splits = [split for split in splits if all((*place, split) in found for place in places.values())]
    return {method: [found[(*place, split)] for split in splits] for method, place in places.items()} if splits else {}


def _differences(rows: Mapping[str, Sequence[Row]], other: str) -> list[float]:
    return [own.auc - beside.auc for own, beside in zip(rows[REPAIR], rows[other], strict=True)]


def _over_cells(cells: Sequence[Cell]) -> list[OverCells]:
    """Of each data set the mean over its cells in each split that all of them have, and over these splits."""
    names, others = list(dict.fromkeys(cell.data for cell in cells)), (KADET, REFIT)
    result = []
    for data in names:
        here = [cell for cell in cells if cell.data == data]
        splits = set.intersection(*({row.split for row in cell.rows[REPAIR]} for cell in here))
        for other in others:
            means = [
                float(np.mean([_at(cell, REPAIR, split).auc - _at(cell, other, split).auc for cell in here]))
                for split in sorted(splits)
            ]
            if means:  # a lower bound alone: the whole error is on one side
                result.append(OverCells(data, other, Difference.of(means, 2 * ERROR / (len(names) * len(others)))))
    return result


def _at(cell: Cell, method: str, split: int) -> Row:
    return next(row for row in cell.rows[method] if row.split == split)
