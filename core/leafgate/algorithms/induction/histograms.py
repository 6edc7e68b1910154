"""Counting: how many people of each class share a value of a feature, for many sets of records at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.algorithms.induction.encoding import EncodedTable
from leafgate.kernel.arrays import Codes, CompactIds

FEW_CELLS = 2**13
"""So many counts are always held in a table; more only where there is that much to count, else by sorting."""

PIECE_ROWS = 2_000_000
"""So many rows are counted at once where counting makes large temporary arrays."""

ROWS_A_CELL = 4
"""With so many rows for each count, columns are counted one after the other, in half the time."""


@dataclass(frozen=True)
class Histograms:
    """The non-empty (set, feature, code) triples, sorted in that order, with people per class."""

    group: Codes
    feature: Codes
    code: Codes
    counts: NDArray[np.float64]


def count_histograms(coded: EncodedTable, sets: Sequence[CompactIds]) -> Histograms:
    """Count every feature's codes in every set of records.

    Costs one pass over the records of the sets, whatever the number of features' values.
    """
    if coded.compact and sum(map(len, sets)) > PIECE_ROWS:
        pieces = (count_histograms(coded, piece) for piece in _pieces(sets, PIECE_ROWS))
        return reduce(added, pieces)
    rows = np.concatenate(sets) if sets else np.zeros(0, dtype=np.int64)
    group = np.repeat(np.arange(len(sets)), [len(s) for s in sets])
    parts = [_count(coded, rows, group, len(sets), chosen) for chosen in coded.counted_together]
    if not parts:
        empty = np.zeros(0, dtype=np.int64)
        return Histograms(empty, empty, empty, np.zeros((0, coded.n_classes)))
    if len(parts) == 1:
        return parts[0]
    together = Histograms(*(np.concatenate([getattr(p, name) for p in parts]) for name in _FIELDS))
    order = np.lexsort((together.feature, together.group))
    return Histograms(*(getattr(together, name)[order] for name in _FIELDS))


_FIELDS = ("group", "feature", "code", "counts")


def added(total: Histograms, more: Histograms) -> Histograms:
    """The sum of two histograms of the same sets."""
    if not len(total.code) or not len(more.code):
        return total if len(total.code) else more
    both = [np.concatenate([getattr(each, name) for each in (total, more)]) for name in _FIELDS]
    order = np.lexsort(both[2::-1])
    group, feature, code, counts = (each[order] for each in both)
    first = np.flatnonzero(np.append(True, (np.diff(group) != 0) | (np.diff(feature) != 0) | (np.diff(code) != 0)))
    return Histograms(group[first], feature[first], code[first], np.add.reduceat(counts, first, axis=0))


def _pieces(sets: Sequence[CompactIds], size: int) -> Iterator[list[CompactIds]]:
    """All sets in pieces of so many rows, one set after the other; each piece has its part of each set, often none."""
    first = np.cumsum([0, *map(len, sets)]).tolist()
    for start in range(0, first.pop(), size):
        yield [
            each[max(start - before, 0) : max(start + size - before, 0)]
            for each, before in zip(sets, first, strict=True)
        ]


def _count(coded: EncodedTable, rows: CompactIds, group: Codes, n_sets: int, chosen: tuple[int, ...]) -> Histograms:
    sizes = coded.sizes[list(chosen)]
    total = int(sizes.sum())
    first_key = group * (total * coded.n_classes)
    weight = None if coded.unit_weights else coded.weight[rows]
    if ROWS_A_CELL * n_sets * total * coded.n_classes <= len(rows):
        dense = np.zeros(n_sets * total * coded.n_classes)
        for column in coded.cell_columns(chosen, rows):
            dense += np.bincount(column + first_key, weights=weight, minlength=len(dense))
        cell, counts = _occurring(dense.reshape(n_sets * total, coded.n_classes))
    else:
        keys = coded.cell_numbers(chosen, rows)
        keys += first_key[:, None]
        weight = None if weight is None else np.repeat(weight, len(chosen))
        cell, counts = _tally(keys.ravel(), weight, n_sets * total, coded.n_classes)
    place = cell % total
    feature = np.repeat(np.arange(len(chosen)), sizes)[place]
    return Histograms(cell // total, np.asarray(chosen)[feature], place - (np.cumsum(sizes) - sizes)[feature], counts)


def _occurring(dense: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The rows of a table of counts that are not all zero: their numbers, and the counts."""
    cell = np.flatnonzero(np.logical_or.reduce([column != 0 for column in dense.T]))  # faster than any() by rows
    return cell, dense[cell].astype(np.float64)


def _tally(
    keys: NDArray[np.int64], weight: NDArray[np.number[Any]] | None, n_cells: int, n_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The cells that occur, in order, and their counts per class: by table if small, else by sorting."""
    if n_cells * n_classes <= max(FEW_CELLS, 4 * len(keys)):
        dense = np.bincount(keys, weights=weight, minlength=n_cells * n_classes).reshape(n_cells, n_classes)
        return _occurring(dense)
    present, where = np.unique(keys, return_inverse=True)
    sums = np.bincount(where, weights=weight, minlength=len(present))
    cell, row = np.unique(present // n_classes, return_inverse=True)
    counts = np.zeros((len(cell), n_classes))
    counts[row, present % n_classes] = sums
    return cell, counts
