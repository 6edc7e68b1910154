"""One round of downgrading: who sees what, what worries, and when a row is given up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leafgate_downgrading.adversaries import learned
from leafgate_downgrading.coding import Cells, coded
from leafgate_downgrading.grid import Grid, Mask, Rows, Shares
from leafgate_downgrading.jury import CLOSE, Jury
from leafgate_downgrading.searching import Aim, Search

FEW = 64
"""With no more visible cells than this in all threatened rows, other rows are drawn in before one is given up."""


@dataclass(frozen=True)
class View:
    """One round: what is seen, by whom, each cell's limit, and how sure the surest is of each hidden cell of `rows`."""

    grid: Grid
    counts: Shares
    jury: Jury
    limits: Shares
    rows: Rows
    sure: Shares
    worrying: Mask


def viewed(cells: Cells, protected: Mask, aim: Aim, search: Search) -> View:
    grid, truth = coded(cells, search.hidden)
    counts = search.counts(grid)
    jury = Jury([learned(each, grid, search.kept, counts) for each in aim.against], truth if aim.truth else None)
    limits = np.where(protected, aim.tau, restoration_limits(counts, grid, aim.rho))
    rows = np.flatnonzero(search.hidden.any(axis=1))
    sure = jury.strongest(grid.codes[rows], rows)
    worrying = (sure > limits[rows] + CLOSE) & ~np.isin(rows, list(search.given_up)).reshape(-1, 1)
    worrying = _not_stuck(worrying, rows, aim, search)
    return View(grid, counts, jury, limits, rows, sure, worrying)


def restoration_limits(counts: Shares, grid: Grid, rho: float) -> Shares:
    """For each column with how much a cell that was withheld for others may be believed.

    That is rho where no value has more than half of the visible cells. Where one has a share b > 1/2, a guess is
    right so often without any inference; there the same reduction of its error is allowed: 1 - 2 (1 - rho)(1 - b).

    Departure: Chang 2003 has one threshold; below b it could not be kept by withholding anything.
    """
    people = np.diag(counts)
    shown = [people[grid.values_of(column)] for column in range(len(grid.sizes))]
    most = np.array([one.max() / one.sum() if one.sum() else 0.0 for one in shown])
    return np.maximum(rho, 1 - 2 * (1 - rho) * (1 - most))


def _not_stuck(worrying: Mask, rows: Rows, aim: Aim, search: Search) -> Mask:
    """What worries in rows for which something may be done; where only stuck ones are left they are tried once more.

    If nothing has changed since, it takes a last resort.
    """
    free = worrying & ~np.isin(rows, list(search.stuck))[:, None]
    if free.any() or not worrying.any():
        return free
    if not search.moved:
        worrying = _last_resort(worrying, rows, aim, search)
    search.stuck, search.moved = set(), False
    return worrying


def _last_resort(worrying: Mask, rows: Rows, aim: Aim, search: Search) -> Mask:
    """What still worries once one more cell of each such row is to go, whether or not it seems to help.

    Rows that have none left are given up; but where there are few cells in all, another threatened row loses one first,
    for what it shows may teach the adversary.
    """
    free = ~search.hidden[rows] & aim.allowed
    worries, some = worrying.any(axis=1), np.asarray(free.any(axis=1))
    search.desperate = set(rows[worries & some].tolist())
    others = rows[~worries & some & ~np.isin(rows, list(search.given_up))]
    if (worries & ~some).any() and len(others) and free.sum() <= FEW:
        search.desperate.add(int(others[0]))
        return worrying
    search.given_up |= dict.fromkeys(rows[worries & ~some].tolist(), "nothing left to withhold")
    return worrying & some.reshape(-1, 1)
