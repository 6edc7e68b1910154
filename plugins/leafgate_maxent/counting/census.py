"""The problem in whole numbers: who is certain, whose class is open, and what must add up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from leafgate.errors import InconclusiveError
from leafgate_maxent.counting.whole import impossible, whole
from leafgate_maxent.fixing import fixed_cells
from leafgate_maxent.problem import Problem
from leafgate_maxent.walk import Ids

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Census:
    """`certain[s, x]` people have a class for sure; of row s `open[s]` more have one of its `free` classes.

    Rows of a leaf of the first tree are a unit (`unit[s]`), a row in no leaf is one of its own. Of a unit's
    open people, `told[u, x]` have class x (-1: not told). `log_ways` is the logarithm of the number of ways
    to say who of a row is certain of what, and who is open.
    """

    certain: Ids
    free: Mask
    open: Ids
    unit: Ids
    told: Ids
    log_ways: float


def census_of(problem: Problem) -> Census:
    """Raises InconclusiveError where people would have to be divided, or nothing agrees with the equalities."""
    _refuse_unread(problem)
    cells = whole(fixed_cells(problem))
    free = np.isnan(cells).reshape(problem.allowed.shape)
    certain = np.where(free, 0, cells.reshape(free.shape)).astype(np.int64)
    open_ = problem.public.weight.astype(np.int64) - certain.sum(axis=1)
    if (certain < 0).any() or (open_ < 0).any() or (open_[~free.any(axis=1)] > 0).any():
        raise impossible()
    free &= open_[:, None] > 0
    log_ways = float(gammaln(certain.sum(axis=1) + open_ + 1).sum())
    log_ways -= float(gammaln(certain + 1).sum() + gammaln(open_ + 1).sum())
    unit = _units(problem)
    told = _told(problem, certain, free, open_, unit)
    return Census(certain, free, open_, unit, told, log_ways)


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


def _told(problem: Problem, certain: Ids, free: Mask, open_: Ids, unit: Ids) -> Ids:
    """People of each class among the open ones of each unit; what is left over for a single class is told too."""
    told = np.full((int(unit.max(initial=-1)) + 1, problem.classes), -1)
    for linear in problem.linear:
        if linear.kind in ("leaf count", "leaf rate") and linear.equal and linear.tree == 0:
            left = whole(linear.bound - linear.matrix @ certain.ravel()).astype(np.int64)
            inside = linear.about[:, 0] < len(told)
            told[linear.about[inside, 0], linear.about[inside, 1]] = left[inside]
            if (left < 0).any() or (left[~inside] > 0).any():
                raise impossible()
    any_free = np.zeros(told.shape, dtype=bool)
    np.logical_or.at(any_free, unit, free)
    if (told[~any_free] > 0).any():
        raise impossible()
    told[~any_free] = 0
    left = np.bincount(unit, weights=open_, minlength=len(told)).astype(np.int64) - np.maximum(told, 0).sum(axis=1)
    missing = (told < 0).sum(axis=1)
    if (left < 0).any() or (left[missing == 0] != 0).any():
        raise impossible()
    u, x = np.nonzero((told < 0) & (missing == 1)[:, None])
    told[u, x] = left[u]
    return told
