"""Conditioning: the frequencies among the records that agree on all that is visible, or on the most telling part."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leafgate_downgrading.grid import HIDDEN, Codes, Grid, Rows, Shares, hidden_in
from leafgate_downgrading.pairs import most_telling, pair_counts

WIDEST = 62
"""So many columns, the most telling ones, are compared: one bit each."""

AT_ONCE = 2**22
"""Pairs of records that are compared at once."""


class ConditioningLearned:
    """Beliefs by frequencies among matching records.

    Of the records that show the column, those count that agree with the record on every cell it shows. Are they
    fewer than `least` people, the least informative column is left out of the comparison, and so on. A
    withheld cell agrees with nothing (complete cases). A record is never its own witness.
    """

    def __init__(self, grid: Grid, least: float = 1.0, counts: Shares | None = None) -> None:
        self.grid, self.least = grid, least
        self.counts = pair_counts(grid) if counts is None else counts

    def told(self, records: Codes, own: Rows | None = None) -> dict[int, tuple[Rows, Shares]]:
        """For each column with hidden cells, the records that hide it and the belief about each.

        `own` says which row of the grid each record is, where it is one of them, so that it is not compared with it.
        """
        found = {}
        for column in range(records.shape[1]):
            rows = hidden_in(records, column)
            if len(rows):
                mine = None if own is None else own[rows]
                found[column] = rows, self._about(column, records[rows], mine)
        return found

    def _about(self, column: int, records: Codes, own: Rows | None) -> Shares:
        grid = self.grid
        order = most_telling(self.counts, grid, column)[:WIDEST]
        witnesses = np.flatnonzero(grid.codes[:, column] != HIDDEN)
        if not len(witnesses):
            return np.full((len(records), grid.sizes[column]), 1.0 / grid.sizes[column])
        values = np.zeros((len(witnesses), grid.sizes[column]))
        values[np.arange(len(witnesses)), grid.codes[witnesses, column]] = grid.weight[witnesses]
        step = max(1, AT_ONCE // len(witnesses))
        parts = []
        for first in range(0, len(records), step):
            some = records[first : first + step]
            same = None if own is None else own[first : first + step, None] == witnesses
            agreeing = _agreeing(some[:, order], grid.codes[np.ix_(witnesses, order)])
            if same is not None:
                agreeing[same] = -1
            parts.append(_frequencies(agreeing, values, len(order), self.least))
        return np.concatenate(parts)


def _agreeing(records: Codes, witnesses: Codes) -> NDArray[np.int8]:
    """How many of the columns, in order, come before the first on which a record shows what a witness does not."""
    differs = np.zeros((len(records), len(witnesses)), dtype=np.int64)
    for bit in range(records.shape[1]):
        cell = records[:, bit]
        differs |= ((cell[:, None] != witnesses[:, bit]) & (cell != HIDDEN)[:, None]).astype(np.int64) << bit
    first = differs & -differs
    agreeing = np.bitwise_count(first - 1).astype(np.int8)
    agreeing[differs == 0] = records.shape[1]
    return agreeing


def _frequencies(agreeing: NDArray[np.int8], values: Shares, columns: int, least: float) -> Shares:
    """The values' shares among the witnesses who agree the furthest, and enough of them."""
    weight = values.sum(axis=1)
    if least <= 1:
        furthest = agreeing.max(axis=1)
    else:
        level = np.arange(columns + 1)
        people = np.stack([(agreeing >= each) @ weight for each in level], axis=1)
        furthest = np.where(people >= least, level, 0).max(axis=1)
    near = (agreeing >= np.maximum(furthest, 0)[:, None]) @ values
    total = near.sum(axis=1, keepdims=True)
    everyone = np.full_like(near, 1.0 / near.shape[1])
    return np.asarray(np.divide(near, total, where=total > 0, out=everyone))
