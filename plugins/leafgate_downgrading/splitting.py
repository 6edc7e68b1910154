"""The best test of a node whose cases may hide what it asks about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leafgate.induction.measures import x_log_x
from leafgate_downgrading.grid import HIDDEN, Grid, Mask, Rows, Shares

TINY = 1e-9


@dataclass(frozen=True)
class Chosen:
    """A test: its column, which value leads to which son, and the share of the people each son gets."""

    column: int
    son_of: Shares
    share: Shares


@dataclass(frozen=True)
class _Tests:
    """One test for each column: its gain, the information of the split itself, and for numbers where it cuts."""

    gain: Shares
    split: Shares
    cut: dict[int, int]


def best_split(grid: Grid, target: int, rows: Rows, weight: Shares, least: float, barred: Mask) -> Chosen | None:
    """The test with the best gain ratio among those with at least the mean gain; None where none gains.

    Gain is over the people who show the cell, times their share; the split's own information counts those who
    hide it as a branch of their own (Quinlan 1993, chapter 3). Two branches need `least` people. Columns that
    are `barred` are not asked about.
    """
    people = float(weight.sum())
    if people < 2 * least - TINY:
        return None
    counts = _counted(grid, target, rows, weight)
    tests = _tests(grid, counts, people, least)
    gain = np.where(barred, -np.inf, tests.gain)
    gain[target] = -np.inf
    gaining = gain > TINY
    if not gaining.any():
        return None
    worthy = gaining & (gain >= gain[gaining].mean() - TINY)
    ratio = np.where(worthy, gain / np.where(tests.split > TINY, tests.split, 1.0), -np.inf)
    best = int(np.lexsort((-np.where(worthy, gain, -np.inf), -np.round(ratio, 12)))[0])
    return _chosen(grid, best, tests.cut.get(best), counts[grid.values_of(best)].sum(axis=1))


def _counted(grid: Grid, target: int, rows: Rows, weight: Shares) -> Shares:
    """People of each class (columns) who show each value of any column (rows)."""
    codes, size = grid.codes[rows], grid.sizes[target]
    cell = (codes + grid.start[:-1]) * size + codes[:, [target]]
    seen = codes != HIDDEN
    every = np.broadcast_to(weight[:, None], codes.shape)
    counts = np.bincount(cell[seen], weights=every[seen], minlength=int(grid.start[-1]) * size)
    return counts.astype(np.float64).reshape(-1, size)


def _tests(grid: Grid, counts: Shares, people: float, least: float) -> _Tests:
    first = grid.start[:-1]
    size, known = counts.sum(axis=1), np.add.reduceat(counts, first, axis=0)
    whole = _purity(known)
    gain = (np.add.reduceat(_purity(counts), first) - whole) / people
    gain[np.add.reduceat((size >= least - TINY).astype(np.int64), first) < 2] = -np.inf
    parts = np.add.reduceat(x_log_x(size / people), first)
    hiding = x_log_x(np.maximum(people - known.sum(axis=1), 0.0) / people)
    tests = _Tests(gain, -(parts + hiding), {})
    for column in np.flatnonzero(grid.ordered):
        mine = counts[grid.values_of(int(column))]
        cut, tests.gain[column], parts[column] = _best_cut(mine, float(whole[column]), people, least)
        tests.cut[int(column)] = cut
        tests.split[column] = -(parts[column] + hiding[column])
    return tests


def _best_cut(counts: Shares, whole: float, people: float, least: float) -> tuple[int, float, float]:
    """The cut of a number with the most gain: up to which range it goes, its gain and minus its own information."""
    low = np.cumsum(counts, axis=0)[:-1]
    high = counts.sum(axis=0) - low
    few, many = low.sum(axis=1), high.sum(axis=1)
    fit = (few >= least - TINY) & (many >= least - TINY)
    if not fit.any():
        return 0, -np.inf, 0.0
    gains = np.where(fit, _purity(low) + _purity(high) - whole, -np.inf)
    cut = int(gains.argmax())
    return cut, float(gains[cut]) / people, float(x_log_x(np.array([few[cut], many[cut]]) / people).sum())


def _purity(counts: Shares) -> Shares:
    """Minus people times entropy, for each row of counts."""
    return np.asarray(x_log_x(counts).sum(axis=1) - x_log_x(counts.sum(axis=1)))


def _chosen(grid: Grid, column: int, cut: int | None, sizes: Shares) -> Chosen:
    n = grid.sizes[column]
    son = np.arange(n) if cut is None else (np.arange(n) > cut).astype(np.int64)
    son_of = np.zeros((n, int(son.max()) + 1))
    son_of[np.arange(n), son] = 1.0
    share = sizes @ son_of
    return Chosen(column, son_of, share / share.sum())
