"""What must add up besides rows and leaves: labels, distributions, background knowledge, further trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from leafgate_maxent.counting.census import Census, Mask
from leafgate_maxent.counting.whole import TIE, impossible, whole
from leafgate_maxent.linear import Linear
from leafgate_maxent.problem import Problem
from leafgate_maxent.walk import Floats, Ids


@dataclass(frozen=True)
class Sums:
    """Sums over cells of the open people of a census: of each, how many there must be (at least).

    `rings` where it is enough that people exchange classes with each other for the sum to stay.
    """

    matrix: sp.csr_array
    bound: Ids
    rings: Mask

    def __len__(self) -> int:
        return len(self.bound)


def sums_of(problem: Problem, census: Census) -> tuple[Sums, Sums]:
    """The equalities, and the inequalities, that the leaves of the first tree alone do not imply."""
    equal, least = [_none(census)], [_none(census)]
    for linear in problem.linear:
        if linear.kind != "row" and not (linear.equal and linear.kind.startswith("leaf") and linear.tree == 0):
            (equal if linear.equal else least).append(_varying(linear, census))
    return _stacked(equal), _stacked(least)


def _none(census: Census) -> Sums:
    nothing = np.zeros(0, dtype=np.int64)
    return Sums(sp.csr_array((0, census.free.size)), nothing, nothing.astype(bool))


def _stacked(sums: Sequence[Sums]) -> Sums:
    matrix = sp.csr_array(sp.vstack([each.matrix for each in sums], format="csr"))
    return Sums(matrix, np.concatenate([each.bound for each in sums]), np.concatenate([each.rings for each in sums]))


@dataclass(frozen=True)
class Pieces:
    """The sums cut up: all cells of one class in one unit are a piece.

    Piece i is of sum `row[i]`, its cells count `part[i]` each, and hold at most `most[i]` people;
    where it is all of its unit's and their number is told, it is `settled`. `of` has each entry's piece.
    """

    row: Ids
    part: Floats
    most: Floats
    settled: Mask
    of: Ids


def _varying(linear: Linear, census: Census) -> Sums:
    """What is left of some sums without certain people and settled pieces; those that can still fail."""
    bound = linear.bound - linear.matrix @ census.certain.ravel()
    matrix = sp.coo_array(linear.matrix)
    inside = census.free.ravel()[matrix.col]
    row, cell, number = matrix.row[inside], matrix.col[inside], matrix.data[inside]
    pieces = _pieces(row, cell, number, census)
    known = pieces.settled
    np.subtract.at(bound, pieces.row[known], (pieces.part * pieces.most)[known])
    left = ~known[pieces.of]
    kept = sp.csr_array((number[left], (row[left], cell[left])), shape=linear.matrix.shape)
    if linear.equal:
        bound, open_ = whole(bound), np.diff(kept.indptr) > 0
        failed = bound != 0
    else:
        bound = np.ceil(bound - TIE * max(float(census.open.sum() + census.certain.sum()), 1))
        worst = np.minimum(pieces.part, 0) * pieces.most
        worst[known] = 0
        failed = bound > np.bincount(pieces.row, weights=worst, minlength=len(bound))
        open_ = failed & (np.diff(kept.indptr) > 0)
    if (failed & ~open_).any():
        raise impossible()
    chosen = np.flatnonzero(open_)
    rings = np.full(len(chosen), linear.kind == "distribution")
    return Sums(sp.csr_array(kept[chosen]), bound[chosen].astype(np.int64), rings)


def _pieces(row: Ids, cell: Ids, number: Floats, census: Census) -> Pieces:
    classes, told = census.free.shape[1], census.told
    size, people = np.zeros(told.shape, dtype=np.int64), np.zeros(told.shape, dtype=np.int64)
    np.add.at(size, census.unit, census.free)
    np.add.at(people, census.unit, census.free * census.open[:, None])
    untold = np.bincount(census.unit, weights=census.open, minlength=len(told)) - np.maximum(told, 0).sum(axis=1)
    most = np.where(told >= 0, told, np.minimum(people, untold[:, None])).ravel()
    key = census.unit[cell // classes] * classes + cell % classes
    pairs, of, many = np.unique(row * told.size + key, return_inverse=True, return_counts=True)
    where = pairs % told.size
    settled = (many == size.ravel()[where]) & (told.ravel()[where] >= 0)
    part = np.bincount(of, weights=number, minlength=len(pairs)) / many
    return Pieces(pairs // told.size, part, most[where].astype(np.float64), settled, of)
