"""Exact counting by dynamic programming over cells; states with the same future are merged.

A state is what the sums and blocks that are still open have come to. Each step gives one cell (group, class) all
numbers of people that its equalities leave; a sum or a constraint is checked when its last cell is filled,
and forgotten. A pass backward over the steps then gives every cell's expected people.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse as sp
from scipy.special import gammaln, logsumexp

from leafgate.api import Floats, Ids, Mask
from leafgate_plugins.maxent.counting.answer import Answer, no_consistent_data_set, out_of_time
from leafgate_plugins.maxent.counting.components import Component
from leafgate_plugins.maxent.counting.constraints import CellSums
from leafgate_plugins.maxent.problem.split_constraints import impurity


@dataclass(frozen=True)
class Constraint:
    """`coefficients @ impurity(t) >= -tolerance`: block i has t = base[i], or what `column[i, x]` has come to."""

    column: Ids
    base: Ids
    coefficients: Floats
    tolerance: float


@dataclass(frozen=True)
class SumColumns:
    """Cell i in filling order is `cells[i]` of the component; one person adds `numbers[i]` to the columns `touched[i]`.

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

    def good(self, cell: int, columns: Ids, totals: Ids) -> Mask:
        """Which states meet everything that is settled with a cell; equalities are met by the numbers tried."""
        good = np.ones(len(totals), dtype=bool)
        for column in self.ending[cell]:
            sum_ = totals[:, np.searchsorted(columns, column)]
            good &= (sum_ == self.bound[column]) if self.equal[column] else (sum_ >= self.bound[column])
        for constraint in self.constraints[cell]:
            good &= _holds(constraint, columns, totals, gini=self.gini)
        return good


def _holds(constraint: Constraint, columns: Ids, totals: Ids, *, gini: bool) -> Mask:
    block, x = np.nonzero(constraint.column >= 0)
    t = np.broadcast_to(constraint.base, (len(totals), *constraint.base.shape)).copy()
    t[:, block, x] = totals[:, np.searchsorted(columns, constraint.column[block, x])]
    slack = impurity(t.astype(np.float64), gini=gini) @ constraint.coefficients
    return np.asarray(slack >= -constraint.tolerance)


def sum_columns(component: Component) -> SumColumns:
    """Every group's people, every leaf's numbers, all further sums, and the classes of every block."""
    classes = component.free.shape[1]
    cells = np.flatnonzero(component.free)
    place = np.full(component.free.size, -1)
    place[cells] = np.arange(len(cells))
    sums = [_rows(component), _leaves(component), component.equal, component.least]
    spread = sp.csr_array(sp.kron(component.blocks, sp.eye_array(classes), format="csr"))
    every = sp.csr_array(sp.vstack([*(each.matrix for each in sums), spread], format="csr"))
    matrix = sp.csr_array(sp.csc_array(every)[:, cells])
    n_sums = sum(map(len, sums))
    filled = np.diff(matrix.indptr) > 0
    last = np.full(matrix.shape[0], -1)
    last[filled] = np.maximum.reduceat(matrix.indices, matrix.indptr[:-1][filled]) if filled.any() else last[filled]
    blocks = np.arange(n_sums, len(last)).reshape(-1, classes)
    checks: list[list[Constraint]] = [[] for _ in cells]
    forgotten = last.copy()
    for constraint, needed, at in _constraints(component, blocks, last):
        checks[at].append(constraint)
        forgotten[needed] = np.maximum(forgotten[needed], at)
    by_cell = sp.csc_array(matrix)
    by_cell.sort_indices()
    at = by_cell.indptr
    order = np.argsort(last[:n_sums], kind="stable")
    cuts = np.searchsorted(last[:n_sums][order], np.arange(len(cells) + 1))
    return SumColumns(
        cells,
        [by_cell.indices[at[i] : at[i + 1]].astype(np.int64) for i in range(len(cells))],
        [by_cell.data[at[i] : at[i + 1]].astype(np.int64) for i in range(len(cells))],
        np.concatenate([np.zeros(n_sums, dtype=np.int64), component.base.ravel()]),
        np.concatenate([*(each.bound for each in sums), np.zeros(blocks.size, dtype=np.int64)]),
        np.arange(len(last)) < len(sums[0]) + len(sums[1]) + len(sums[2]),
        [order[cuts[i] : cuts[i + 1]] for i in range(len(cells))],
        forgotten,
        checks,
        component.gini,
    )


def _rows(component: Component) -> CellSums:
    matrix = sp.csr_array(
        sp.kron(sp.eye_array(len(component.open)), np.ones((1, component.free.shape[1])), format="csr")
    )
    return CellSums(matrix, component.open, np.zeros(len(component.open), dtype=bool))


def _leaves(component: Component) -> CellSums:
    classes = component.free.shape[1]
    unit, x = np.nonzero(component.known_counts >= 0)
    number = np.full(component.known_counts.shape, -1)
    number[unit, x] = np.arange(len(unit))
    which = number[component.unit]
    group, at = np.nonzero((which >= 0) & component.free)
    matrix = sp.csr_array(
        (np.ones(len(group)), (which[group, at], group * classes + at)), shape=(len(unit), component.free.size)
    )
    return CellSums(matrix, component.known_counts[unit, x], np.zeros(len(unit), dtype=bool))


def _constraints(component: Component, blocks: Ids, last: Ids) -> Iterator[tuple[Constraint, Ids, int]]:
    """Each internal constraint, the columns it needs, and the cell that settles it."""
    coefficients = component.coefficients
    for i, tolerance in enumerate(component.tolerance.tolist()):
        part = slice(coefficients.indptr[i], coefficients.indptr[i + 1])
        mine = coefficients.indices[part]
        column = np.where(last[blocks[mine]] >= 0, blocks[mine], -1)
        needed = column[column >= 0]
        constraint = Constraint(column, component.base[mine], coefficients.data[part], tolerance)
        yield constraint, needed, int(last[needed].max())


@dataclass(frozen=True)
class Step:
    """All ways to fill one cell: from a state, with so many people, to a state of the next step."""

    before: Ids
    people: Ids
    after: Ids


@dataclass
class States:
    """What the open columns have come to, one row a state; `log_ways` to get there."""

    columns: Ids
    totals: Ids
    log_ways: Floats
    steps: list[Step] = field(default_factory=list)
    listed: int = 0


def enumerate_component(component: Component, most: int, deadline: float) -> Answer | None:
    """The exact answer; None when more than `most` fillings of a cell would have to be listed."""
    layout = sum_columns(component)
    states = States(np.zeros(0, dtype=np.int64), np.zeros((1, 0), dtype=np.int64), np.zeros(1))
    forward = [states.log_ways]
    for cell in range(len(layout.cells)):
        if time.monotonic() > deadline:
            raise out_of_time()
        if not _fill(states, layout, cell, most):
            return None
        forward.append(states.log_ways)
    log_ways = float(logsumexp(states.log_ways))
    people = np.zeros(component.free.shape)
    people.ravel()[layout.cells] = _expected(states, forward, log_ways)
    evidence = {"listed": states.listed}
    return Answer(people, log_ways + component.log_ways, evidence)


def _fill(states: States, layout: SumColumns, cell: int, most: int) -> bool:
    """Fill one cell in every way; False when that makes too many. Raises InconclusiveError when there is none."""
    _open(states, layout, cell)
    least, up_to = _limits(states, layout, cell)
    many = np.maximum(up_to - least + 1, 0)
    states.listed += int(many.sum())
    if states.listed > most:
        return False
    before = np.repeat(np.arange(len(many)), many)
    people = np.arange(len(before)) - np.repeat(many.cumsum() - many, many) + least[before]
    totals = states.totals[before]
    place = np.searchsorted(states.columns, layout.touched[cell])
    totals[:, place] += people[:, None] * layout.numbers[cell]
    good = np.flatnonzero(layout.good(cell, states.columns, totals))
    if not len(good):
        raise no_consistent_data_set()
    before, people, totals = before[good], people[good], totals[good]
    staying = layout.last[states.columns] > cell
    totals, after = _merge_states(totals[:, staying])
    states.steps.append(Step(before, people, after))
    states.columns, states.totals = states.columns[staying], totals
    states.log_ways = _log_sums(states.log_ways[before] - gammaln(people + 1), after, len(totals))
    return True


def _open(states: States, layout: SumColumns, cell: int) -> None:
    """Take in the columns that begin with this cell."""
    new = np.setdiff1d(layout.touched[cell], states.columns)
    if len(new):
        columns = np.concatenate([states.columns, new])
        totals = np.concatenate(
            [states.totals, np.broadcast_to(layout.base[new], (len(states.totals), len(new)))], axis=1
        )
        order = np.argsort(columns)
        states.columns, states.totals = columns[order], totals[:, order]


def _limits(states: States, layout: SumColumns, cell: int) -> tuple[Ids, Ids]:
    """At least and at most how many people can be in a cell, by its equalities."""
    touched = layout.touched[cell]
    equal = touched[layout.equal[touched]]
    left = layout.bound[equal] - states.totals[:, np.searchsorted(states.columns, equal)]
    ending = layout.last[equal] == cell
    return np.maximum(np.where(ending, left, 0).max(axis=1), 0), left.min(axis=1)


def _merge_states(totals: Ids) -> tuple[Ids, Ids]:
    """The distinct rows, and each row's number among them."""
    if not totals.shape[1]:
        return totals[:1], np.zeros(len(totals), dtype=np.int64)
    marks = np.random.default_rng(0).integers(1, 2**63, size=totals.shape[1], dtype=np.uint64) | np.uint64(1)
    mark = (totals.astype(np.uint64) * marks).sum(axis=1, dtype=np.uint64)
    _, first, after = np.unique(mark, return_index=True, return_inverse=True)
    if (totals[first][after] != totals).any():
        distinct, after = np.unique(totals, axis=0, return_inverse=True)
        return distinct, after.ravel()
    return totals[first], after


def _log_sums(logs: Floats, to: Ids, size: int) -> Floats:
    """For each of `size` places the logarithm of the sum of what goes there."""
    top = np.full(size, -np.inf)
    np.maximum.at(top, to, logs)
    held = np.where(np.isfinite(top), top, 0)
    total = np.bincount(to, weights=np.exp(logs - held[to]), minlength=size)
    return np.asarray(np.log(total, where=total > 0, out=np.full(size, -np.inf)) + held)


def _expected(states: States, forward: list[Floats], log_ways: float) -> Floats:
    """Each cell's expected people."""
    people = np.zeros(len(states.steps))
    backward = np.zeros(len(states.totals))
    for i in range(len(states.steps) - 1, -1, -1):
        step = states.steps[i]
        onward = backward[step.after] - gammaln(step.people + 1)
        people[i] = np.exp(forward[i][step.before] + onward - log_ways) @ step.people
        backward = _log_sums(onward, step.before, len(forward[i]))
    return people
