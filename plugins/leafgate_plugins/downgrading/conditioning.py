"""Conditioning: the frequencies among the records that agree on all that is visible, or on the most telling part."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.api import Codes, Floats, Mask
from leafgate.kernel.arrays import Rows
from leafgate_plugins.downgrading.grid import HIDDEN, Grid, hidden_by_column
from leafgate_plugins.downgrading.naive_bayes import columns_by_information, pair_counts

MAX_COLUMNS = 62
"""So many columns, the most telling ones, are compared: one bit each."""

MAX_PAIRS_AT_ONCE = 2**22
"""Pairs of records that are compared at once."""

Bits = NDArray[Any]
"""For each record and witness the columns on which they differ, the most telling the lowest bit."""


class ConditioningAdversary:
    """Beliefs by frequencies among matching records.

    Of the records that show the column, those count that agree with the record on every cell it shows. Are they
    fewer than `least` people, the least informative column is left out of the comparison, and so on. A
    withheld cell agrees with nothing (complete cases). A record is never its own witness.
    """

    def __init__(self, grid: Grid, least: float = 1.0, counts: Floats | None = None) -> None:
        self.grid, self.least = grid, least
        self.counts = pair_counts(grid) if counts is None else counts

    def posterior(
        self, records: Codes, own: Rows, wanted: Collection[int] | None = None
    ) -> dict[int, tuple[Rows, Floats]]:
        """For each column with hidden cells, the records that hide it and the belief about each."""
        return {
            column: (rows, self._posterior_of_column(column, records[rows], own[rows]))
            for column, rows in hidden_by_column(records, wanted)
        }

    def _posterior_of_column(self, column: int, records: Codes, own: Rows) -> Floats:
        grid = self.grid
        order = columns_by_information(self.counts, grid, column)[:MAX_COLUMNS]
        witnesses = np.flatnonzero(grid.codes[:, column] != HIDDEN)
        if not len(witnesses):
            return np.full((len(records), grid.sizes[column]), 1.0 / grid.sizes[column])
        values = np.zeros((len(witnesses), grid.sizes[column]))
        values[np.arange(len(witnesses)), grid.codes[witnesses, column]] = grid.weight[witnesses]
        shown = _as_bits(records[:, order] != HIDDEN)
        step = max(1, MAX_PAIRS_AT_ONCE // len(witnesses))
        parts = []
        for first in range(0, len(records), step):
            people, which = np.unique(own[first : first + step], return_inverse=True)
            differs = _differing(grid.codes[np.ix_(people, order)], grid.codes[np.ix_(witnesses, order)])
            same = people[which][:, None] == witnesses
            mine = differs[which] & shown[first : first + step, None]
            parts.append(_frequencies(mine, same, values, len(order), self.least))
        return np.concatenate(parts)


def _kind(bits: int) -> np.dtype[Any]:
    """Numbers with room for so many bits and one more; narrow ones where they will do, for they are faster."""
    return np.dtype(np.int32 if bits < 31 else np.int64)


def _as_bits(marks: Mask) -> Bits:
    """Each row's marks as one number, the first the lowest bit."""
    kind = _kind(marks.shape[1])
    return np.asarray(marks.astype(kind) @ np.left_shift(1, np.arange(marks.shape[1]), dtype=kind), dtype=kind)


def _differing(records: Codes, witnesses: Codes) -> Bits:
    """On which columns a witness does not show what a record has, or would have."""
    kind = _kind(records.shape[1])
    differs = np.zeros((len(records), len(witnesses)), dtype=kind)
    for bit in range(records.shape[1]):
        differs |= (records[:, bit, None] != witnesses[:, bit]).astype(kind) << bit
    return differs


def _frequencies(differs: Bits, same: Mask, values: Floats, columns: int, least: float) -> Floats:
    """The values' shares among the witnesses who agree the furthest, and enough of them; none is the record itself.

    The lowest differing bit gives how far two records agree.
    """
    first = differs & -differs
    every = first.dtype.type(1) << first.dtype.type(columns)
    first[differs == 0] = every
    first[same] = 0
    if least <= 1:
        furthest = first.max(axis=1)
    else:
        levels = first.dtype.type(1) << np.arange(columns + 1, dtype=first.dtype)
        weight = values.sum(axis=1)
        people = np.stack([(first >= level) @ weight for level in levels], axis=1)
        furthest = np.where(people >= least, levels, 1).max(axis=1)
    near = (first >= np.maximum(furthest, 1)[:, None]) @ values
    total = near.sum(axis=1, keepdims=True)
    even = np.full_like(near, 1.0 / near.shape[1])
    return np.asarray(np.divide(near, total, where=total > 0, out=even))
