"""The integer model of the counting estimator: certain and open people, sums, and splits that can be violated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse as sp
from scipy.special import gammaln

from leafgate.api import Floats, Ids, InconclusiveError, Mask
from leafgate_plugins.maxent.counting.answer import TIE_TOLERANCE, no_consistent_data_set, to_integers
from leafgate_plugins.maxent.presolve.fixed_cells import fixed_cells
from leafgate_plugins.maxent.problem.leaf_constraints import LinearConstraints
from leafgate_plugins.maxent.problem.problem import Problem
from leafgate_plugins.maxent.problem.split_constraints import SplitConstraints, impurity, x_log_x


@dataclass(frozen=True)
class IntegerModel:
    """`certain[s, x]` people have a class for sure; of row s `open[s]` more have one of its `free` classes.

    Rows of a leaf of the first tree are a unit (`unit[s]`), a row in no leaf is one of its own. Of a unit's
    open people, `known_counts[u, x]` have class x (-1: not published). `log_ways` is the logarithm of the number of
    ways to say who of a row is certain of what, and who is open.
    """

    certain: Ids
    free: Mask
    open: Ids
    unit: Ids
    known_counts: Ids
    log_ways: float


def integer_model(problem: Problem) -> IntegerModel:
    """Raises InconclusiveError where people would have to be divided, or nothing agrees with the equalities."""
    _refuse_unread(problem)
    cells = to_integers(fixed_cells(problem))
    free = np.isnan(cells).reshape(problem.allowed.shape)
    certain = np.where(free, 0, cells.reshape(free.shape)).astype(np.int64)
    open_ = problem.public.weight.astype(np.int64) - certain.sum(axis=1)
    if (certain < 0).any() or (open_ < 0).any() or (open_[~free.any(axis=1)] > 0).any():
        raise no_consistent_data_set()
    free &= open_[:, None] > 0
    log_ways = float(gammaln(certain.sum(axis=1) + open_ + 1).sum())
    log_ways -= float(gammaln(certain + 1).sum() + gammaln(open_ + 1).sum())
    unit = _units(problem)
    result = _known_counts(problem, certain, free, open_, unit)
    return IntegerModel(certain, free, open_, unit, result, log_ways)


def _refuse_unread(problem: Problem) -> None:
    strata, weight = problem.strata, problem.public.weight
    if len(strata) != len(weight) or strata.member is not None or (strata.share != 1).any():
        raise InconclusiveError(
            "counting reads only trees that ask public columns, of people who are all known to be in the table",
            remedy="use the attack `maxent`, or declare the columns public that the tree asks",
        )


def _units(problem: Problem) -> Ids:
    """Each row's leaf in the first tree; rows in no leaf get numbers of their own."""
    leaf = problem.strata.leaf[:, 0] if problem.trees else np.full(len(problem.strata), -1)
    n_leaves = len(problem.trees[0].leaves) if problem.trees else 0
    return np.where(leaf >= 0, leaf, n_leaves + np.arange(len(leaf)))


def _known_counts(problem: Problem, certain: Ids, free: Mask, open_: Ids, unit: Ids) -> Ids:
    """People of each class among the open ones of each unit; the remainder for a single class is known too."""
    values = np.full((int(unit.max(initial=-1)) + 1, problem.classes), -1)
    for linear in problem.linear:
        if linear.kind in ("leaf count", "leaf rate") and linear.equal and linear.tree == 0:
            left = to_integers(linear.bound - linear.matrix @ certain.ravel()).astype(np.int64)
            inside = linear.about[:, 0] < len(values)
            values[linear.about[inside, 0], linear.about[inside, 1]] = left[inside]
            if (left < 0).any() or (left[~inside] > 0).any():
                raise no_consistent_data_set()
    any_free = np.zeros(values.shape, dtype=bool)
    np.logical_or.at(any_free, unit, free)
    if (values[~any_free] > 0).any():
        raise no_consistent_data_set()
    values[~any_free] = 0
    left = np.bincount(unit, weights=open_, minlength=len(values)).astype(np.int64) - np.maximum(values, 0).sum(axis=1)
    missing = (values < 0).sum(axis=1)
    if (left < 0).any() or (left[missing == 0] != 0).any():
        raise no_consistent_data_set()
    u, x = np.nonzero((values < 0) & (missing == 1)[:, None])
    values[u, x] = left[u]
    return values


@dataclass(frozen=True)
class CellSums:
    """Sums over cells of the open people: the value (or least value) that each must have.

    `by_exchange` where it is enough that people exchange classes with each other for the sum to stay.
    """

    matrix: sp.csr_array
    bound: Ids
    by_exchange: Mask

    def __len__(self) -> int:
        return len(self.bound)


def sums_of(problem: Problem, model: IntegerModel) -> tuple[CellSums, CellSums]:
    """The equalities, and the inequalities, that the leaves of the first tree alone do not imply."""
    equal, least = [_none(model)], [_none(model)]
    for linear in problem.linear:
        if linear.kind != "row" and not (linear.equal and linear.kind.startswith("leaf") and linear.tree == 0):
            (equal if linear.equal else least).append(_varying(linear, model))
    return _stacked(equal), _stacked(least)


def _none(model: IntegerModel) -> CellSums:
    nothing = np.zeros(0, dtype=np.int64)
    return CellSums(sp.csr_array((0, model.free.size)), nothing, nothing.astype(bool))


def _stacked(sums: Sequence[CellSums]) -> CellSums:
    matrix = sp.csr_array(sp.vstack([each.matrix for each in sums], format="csr"))
    return CellSums(
        matrix, np.concatenate([each.bound for each in sums]), np.concatenate([each.by_exchange for each in sums])
    )


@dataclass(frozen=True)
class Pieces:
    """The sums cut up: all cells of one class in one unit are a piece.

    Piece i is of sum `row[i]`, its cells count `part[i]` each, and hold at most `most[i]` people;
    where it is all of its unit's and their number is known, it is `settled`. `of` has each entry's piece.
    """

    row: Ids
    part: Floats
    most: Floats
    settled: Mask
    of: Ids


def _varying(linear: LinearConstraints, model: IntegerModel) -> CellSums:
    """What is left of some sums without certain people and settled pieces; those that can still fail."""
    bound = linear.bound - linear.matrix @ model.certain.ravel()
    matrix = sp.coo_array(linear.matrix)
    inside = model.free.ravel()[matrix.col]
    row, cell, number = matrix.row[inside], matrix.col[inside], matrix.data[inside]
    pieces = _pieces(row, cell, number, model)
    known = pieces.settled
    np.subtract.at(bound, pieces.row[known], (pieces.part * pieces.most)[known])
    left = ~known[pieces.of]
    kept = sp.csr_array((number[left], (row[left], cell[left])), shape=linear.matrix.shape)
    if linear.equal:
        bound, open_ = to_integers(bound), np.diff(kept.indptr) > 0
        failed = bound != 0
    else:
        bound = np.ceil(bound - TIE_TOLERANCE * max(float(model.open.sum() + model.certain.sum()), 1))
        worst = np.minimum(pieces.part, 0) * pieces.most
        worst[known] = 0
        failed = bound > np.bincount(pieces.row, weights=worst, minlength=len(bound))
        open_ = failed & (np.diff(kept.indptr) > 0)
    if (failed & ~open_).any():
        raise no_consistent_data_set()
    chosen = np.flatnonzero(open_)
    rings = np.full(len(chosen), linear.kind == "distribution")
    return CellSums(sp.csr_array(kept[chosen]), bound[chosen].astype(np.int64), rings)


def _pieces(row: Ids, cell: Ids, number: Floats, model: IntegerModel) -> Pieces:
    classes, result = model.free.shape[1], model.known_counts
    size, people = np.zeros(result.shape, dtype=np.int64), np.zeros(result.shape, dtype=np.int64)
    np.add.at(size, model.unit, model.free)
    np.add.at(people, model.unit, model.free * model.open[:, None])
    untold = np.bincount(model.unit, weights=model.open, minlength=len(result)) - np.maximum(result, 0).sum(axis=1)
    most = np.where(result >= 0, result, np.minimum(people, untold[:, None])).ravel()
    key = model.unit[cell // classes] * classes + cell % classes
    pairs, of, many = np.unique(row * result.size + key, return_inverse=True, return_counts=True)
    where = pairs % result.size
    settled = (many == size.ravel()[where]) & (result.ravel()[where] >= 0)
    part = np.bincount(of, weights=number, minlength=len(pairs)) / many
    return Pieces(pairs // result.size, part, most[where].astype(np.float64), settled, of)


HALVINGS = 60


def least_impure(low: Floats, high: Floats, people: Floats, *, gini: bool) -> Floats:
    """A lower bound on the impurity of each block: `low <= t <= high`, and t sums to `people`.

    Each class's part of the impurity is concave in t, so never below its chord from `low` to `high`;
    the least sum of chords fills the classes up by slope.
    """
    width = high - low
    bottom, top = _part(low, people, gini=gini), _part(high, people, gini=gini)
    slope = np.divide(top - bottom, width, where=width > 0, out=np.zeros_like(width))
    order = np.argsort(np.where(width > 0, slope, np.inf), axis=1)
    room = np.take_along_axis(width, order, axis=1)
    left = np.maximum(people - low.sum(axis=1), 0)[:, None]
    filled = np.clip(left - (room.cumsum(axis=1) - room), 0, room)
    total = bottom.sum(axis=1) + (filled * np.take_along_axis(slope, order, axis=1)).sum(axis=1)
    return np.asarray(total + (people if gini else x_log_x(people)))


def most_impure(low: Floats, high: Floats, people: Floats, *, gini: bool) -> Floats:
    """The impurity of each block when its classes are as even as their bounds let them be."""
    floor, roof = np.zeros(len(people)), high.max(axis=1, initial=0)
    for _ in range(HALVINGS):
        level = (floor + roof) / 2
        over = np.clip(level[:, None], low, high).sum(axis=1) > people
        floor, roof = np.where(over, floor, level), np.where(over, level, roof)
    return impurity(np.clip(roof[:, None], low, high), gini=gini)


def _part(t: Floats, people: Floats, *, gini: bool) -> Floats:
    """What a class adds to its block's impurity, beside what depends on the block's size alone."""
    if not gini:
        return -x_log_x(t)
    n = people[:, None]
    return -np.divide(t**2, n, where=n > 0, out=np.zeros_like(t))


MAX_AT_ONCE = 2_000
"""Constraints bounded together, so that the blocks of all of them never have to be held."""


@dataclass(frozen=True)
class ViolatedSplits:
    """Constraint i is `coefficients[i] @ impurity(blocks @ people) >= -tolerance[i]`.

    `blocks` adds up rows; block b varies with the units `units[b]` (a row of a sparse matrix).
    """

    blocks: sp.csr_array
    units: sp.csr_array
    coefficients: sp.csr_array
    tolerance: Floats
    gini: bool

    def __len__(self) -> int:
        return len(self.tolerance)


def violated_splits(problem: Problem, model: IntegerModel) -> ViolatedSplits:
    """The constraints that the leaves alone do not already imply. Raises InconclusiveError if one is always broken."""
    n_rows, n_units = model.unit.size, len(model.known_counts)
    parts = [(sp.csr_array((0, n_rows)), sp.csr_array((0, n_units)), sp.csr_array((0, 0)), np.zeros(0))]
    for choices in problem.split_constraints:
        parts += [
            _breakable(problem, model, choices, np.arange(start, min(start + MAX_AT_ONCE, len(choices))))
            for start in range(0, len(choices), MAX_AT_ONCE)
        ]
    blocks, units, coefficients, tolerance = zip(*parts, strict=True)
    found = ViolatedSplits(
        sp.csr_array(sp.vstack(blocks, format="csr")),
        sp.csr_array(sp.vstack(units, format="csr")),
        sp.csr_array(sp.block_diag(coefficients, format="csr")),
        np.concatenate(tolerance),
        any(choices.gini for choices in problem.split_constraints),
    )
    if (np.diff((abs(found.coefficients) @ found.units).indptr) == 0).any():
        raise no_consistent_data_set()
    return found


def _breakable(
    problem: Problem, model: IntegerModel, choices: SplitConstraints, chosen: Ids
) -> tuple[sp.csr_array, sp.csr_array, sp.csr_array, Floats]:
    blocks, coefficients = choices.blocks(chosen)
    low, high, units = _ranges(model, blocks)
    people = blocks @ problem.weight
    least = least_impure(low, high, people, gini=choices.gini)
    most = most_impure(low, high, people, gini=choices.gini)
    slack = coefficients.maximum(0) @ least + coefficients.minimum(0) @ most
    tolerance = TIE_TOLERANCE * (choices.parents @ problem.weight)[choices.node[chosen]]
    kept = np.flatnonzero(slack < -tolerance)
    needed = np.unique(coefficients[kept].indices)
    narrowed = sp.csr_array(sp.csc_array(coefficients[kept])[:, needed])
    return sp.csr_array(blocks[needed]), sp.csr_array(units[needed]), narrowed, tolerance[kept]


def _ranges(model: IntegerModel, blocks: sp.csr_array) -> tuple[Floats, Floats, sp.csr_array]:
    """At least and at most how many people of each class are in each block, and the units it varies with."""
    pairs = sp.coo_array(blocks)
    n_units = len(model.known_counts)
    keys, which = np.unique(pairs.row * n_units + model.unit[pairs.col], return_inverse=True)
    block, unit = keys // n_units, keys % n_units
    adding = sp.csr_array((np.ones(len(which)), (which, pairs.col)), shape=(len(keys), len(model.unit)))
    open_ = model.open[:, None] * model.free
    inside = adding @ open_.astype(np.float64)
    size = np.zeros(model.known_counts.shape)
    np.add.at(size, model.unit, open_)
    result = model.known_counts[unit]
    least = np.where(result >= 0, np.maximum(result - (size[unit] - inside), 0), 0)
    most = np.where(result >= 0, np.minimum(result, inside), inside)
    varies = ((inside > 0) & ~((result >= 0) & (inside == size[unit]))).any(axis=1)
    summing = sp.csr_array((np.ones(len(keys)), (block, np.arange(len(keys)))), shape=(blocks.shape[0], len(keys)))
    certain = blocks @ model.certain.astype(np.float64)
    units = sp.csr_array((np.ones(int(varies.sum())), (block[varies], unit[varies])), shape=(blocks.shape[0], n_units))
    return certain + summing @ least, certain + summing @ most, units
