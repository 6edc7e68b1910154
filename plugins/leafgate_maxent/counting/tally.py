"""The columns of a state: every sum of an island over its cells, in the order in which these are filled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from leafgate_maxent.counting.census import Mask
from leafgate_maxent.counting.island import Island
from leafgate_maxent.counting.sums import Sums
from leafgate_maxent.impurity import impurity
from leafgate_maxent.walk import Floats, Ids


@dataclass(frozen=True)
class Constraint:
    """`coefficients @ impurity(t) >= -tolerance`: block i has t = base[i], or what `column[i, x]` has come to."""

    column: Ids
    base: Ids
    coefficients: Floats
    tolerance: float


@dataclass(frozen=True)
class Tally:
    """Cell i in filling order is `cells[i]` of the island; it adds to the columns `touched[i]`, `numbers[i]` a person.

    A column begins at its `base` and can be forgotten after cell `last`. Those that are `equal` must then
    have come to their bound, those that are `least` to no less.
    """

    cells: Ids
    touched: Sequence[Ids]
    numbers: Sequence[Ids]
    base: Ids
    bound: Ids
    equal: Mask
    ending: Sequence[Ids]
    last: Ids
    constraints: Sequence[Sequence[Constraint]]
    gini: bool

    def good(self, cell: int, columns: Ids, come: Ids) -> Mask:
        """Which states meet everything that is settled with a cell; equalities are met by the numbers tried."""
        good = np.ones(len(come), dtype=bool)
        for column in self.ending[cell]:
            sum_ = come[:, np.searchsorted(columns, column)]
            good &= (sum_ == self.bound[column]) if self.equal[column] else (sum_ >= self.bound[column])
        for constraint in self.constraints[cell]:
            good &= _holds(constraint, columns, come, gini=self.gini)
        return good


def _holds(constraint: Constraint, columns: Ids, come: Ids, *, gini: bool) -> Mask:
    block, x = np.nonzero(constraint.column >= 0)
    t = np.broadcast_to(constraint.base, (len(come), *constraint.base.shape)).copy()
    t[:, block, x] = come[:, np.searchsorted(columns, constraint.column[block, x])]
    slack = impurity(t.astype(np.float64), gini=gini) @ constraint.coefficients
    return np.asarray(slack >= -constraint.tolerance)


def tally_of(island: Island) -> Tally:
    """Every group's people, every leaf's numbers, all further sums, and the classes of every block."""
    classes = island.free.shape[1]
    cells = np.flatnonzero(island.free)
    place = np.full(island.free.size, -1)
    place[cells] = np.arange(len(cells))
    sums = [_rows(island), _leaves(island), island.equal, island.least]
    spread = sp.csr_array(sp.kron(island.blocks, sp.eye_array(classes), format="csr"))
    every = sp.csr_array(sp.vstack([*(each.matrix for each in sums), spread], format="csr"))
    matrix = sp.csr_array(sp.csc_array(every)[:, cells])
    n_sums = sum(map(len, sums))
    filled = np.diff(matrix.indptr) > 0
    last = np.full(matrix.shape[0], -1)
    last[filled] = np.maximum.reduceat(matrix.indices, matrix.indptr[:-1][filled]) if filled.any() else last[filled]
    blocks = np.arange(n_sums, len(last)).reshape(-1, classes)
    checks: list[list[Constraint]] = [[] for _ in cells]
    forgotten = last.copy()
    for constraint, needed, at in _constraints(island, blocks, last):
        checks[at].append(constraint)
        forgotten[needed] = np.maximum(forgotten[needed], at)
    by_cell = sp.csc_array(matrix)
    by_cell.sort_indices()
    at = by_cell.indptr
    order = np.argsort(last[:n_sums], kind="stable")
    cuts = np.searchsorted(last[:n_sums][order], np.arange(len(cells) + 1))
    return Tally(
        cells,
        [by_cell.indices[at[i] : at[i + 1]].astype(np.int64) for i in range(len(cells))],
        [by_cell.data[at[i] : at[i + 1]].astype(np.int64) for i in range(len(cells))],
        np.concatenate([np.zeros(n_sums, dtype=np.int64), island.base.ravel()]),
        np.concatenate([*(each.bound for each in sums), np.zeros(blocks.size, dtype=np.int64)]),
        np.arange(len(last)) < len(sums[0]) + len(sums[1]) + len(sums[2]),
        [order[cuts[i] : cuts[i + 1]] for i in range(len(cells))],
        forgotten,
        checks,
        island.gini,
    )


def _rows(island: Island) -> Sums:
    matrix = sp.csr_array(sp.kron(sp.eye_array(len(island.open)), np.ones((1, island.free.shape[1])), format="csr"))
    return Sums(matrix, island.open, np.zeros(len(island.open), dtype=bool))


def _leaves(island: Island) -> Sums:
    classes = island.free.shape[1]
    unit, x = np.nonzero(island.told >= 0)
    number = np.full(island.told.shape, -1)
    number[unit, x] = np.arange(len(unit))
    which = number[island.unit]
    group, at = np.nonzero((which >= 0) & island.free)
    matrix = sp.csr_array(
        (np.ones(len(group)), (which[group, at], group * classes + at)), shape=(len(unit), island.free.size)
    )
    return Sums(matrix, island.told[unit, x], np.zeros(len(unit), dtype=bool))


def _constraints(island: Island, blocks: Ids, last: Ids) -> Iterator[tuple[Constraint, Ids, int]]:
    """Each internal constraint, the columns it needs, and the cell that settles it."""
    coefficients = island.coefficients
    for i, tolerance in enumerate(island.tolerance.tolist()):
        part = slice(coefficients.indptr[i], coefficients.indptr[i + 1])
        mine = coefficients.indices[part]
        column = np.where(last[blocks[mine]] >= 0, blocks[mine], -1)
        needed = column[column >= 0]
        constraint = Constraint(column, island.base[mine], coefficients.data[part], tolerance)
        yield constraint, needed, int(last[needed].max())
