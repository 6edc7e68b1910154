"""How many people show each pair of values, and what one column tells of another."""

from __future__ import annotations

import numpy as np

from leafgate.induction.measures import x_log_x
from leafgate_downgrading.grid import Codes, Grid, Shares, indicators


def pair_counts(grid: Grid) -> Shares:
    """People who show both of two values, for all values of all columns numbered through: a square matrix."""
    shown = indicators(grid.codes, grid)
    return np.asarray(shown.T @ (shown * grid.weight[:, None]))


def recounted(counts: Shares, before: Grid, after: Grid) -> Shares:
    """The pair counts of `after` from those of `before`: only records that differ are counted again."""
    changed = np.flatnonzero((before.codes != after.codes).any(axis=1))
    if not len(changed):
        return counts
    old, new = (indicators(grid.codes[changed], grid) for grid in (before, after))
    weight = before.weight[changed][:, None]
    return np.asarray(counts - old.T @ (old * weight) + new.T @ (new * weight))


def information(counts: Shares, grid: Grid, column: int) -> Shares:
    """Bits each column tells of `column` among people who show both, less what chance alone would; at least 0.

    Infinite for the column itself.

    Source: Shannon's mutual information; G. Miller, "Note on the bias of information estimates", 1955, for
    what chance adds: (rows - 1)(columns - 1) / (2 n ln 2).
    """
    told = np.full(len(grid.sizes), np.inf)
    for other in range(len(grid.sizes)):
        if other != column:
            told[other] = _shared_bits(counts[grid.values_of(column), grid.values_of(other)])
    return told


def _shared_bits(table: Shares) -> float:
    people = float(table.sum())
    if people <= 0:
        return 0.0
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    bits = x_log_x(table).sum() - x_log_x(rows).sum() - x_log_x(columns).sum() + x_log_x(np.array([people])).sum()
    by_chance = ((rows > 0).sum() - 1) * ((columns > 0).sum() - 1) / (2 * np.log(2))
    return max(float(bits - by_chance) / people, 0.0)


def most_telling(counts: Shares, grid: Grid, column: int) -> Codes:
    """The other columns, the most informative about `column` first, equals in the table's order."""
    order = np.argsort(-information(counts, grid, column), kind="stable")
    return np.asarray(order[order != column])
