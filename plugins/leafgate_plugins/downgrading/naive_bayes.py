"""Counts of pairs of values, mutual information between columns, and the naive Bayes adversary."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from leafgate.algorithms.induction.splits import x_log_x
from leafgate.api import Codes, Floats
from leafgate.kernel.arrays import Rows
from leafgate_plugins.downgrading.grid import Grid, hidden_by_column, indicators


def pair_counts(grid: Grid) -> Floats:
    """People who show both of two values, for all values of all columns numbered through: a square matrix."""
    shown = indicators(grid.codes, grid)
    return np.asarray(shown.T @ (shown * grid.weight[:, None]))


def update_pair_counts(counts: Floats, before: Grid, after: Grid) -> Floats:
    """The pair counts of `after` from those of `before`: only records that differ are counted again."""
    changed = np.flatnonzero((before.codes != after.codes).any(axis=1))
    if not len(changed):
        return counts
    old, new = (indicators(grid.codes[changed], grid) for grid in (before, after))
    weight = before.weight[changed][:, None]
    return np.asarray(counts - old.T @ (old * weight) + new.T @ (new * weight))


def mutual_information(counts: Floats, grid: Grid, column: int) -> Floats:
    """Mutual information with `column`, in bits, of each column, corrected for chance; at least 0.

    Infinite for the column itself.

    Source: Shannon's mutual information; G. Miller, "Note on the bias of information estimates", 1955, for
    what chance adds: (rows - 1)(columns - 1) / (2 n ln 2).
    """
    values = np.full(len(grid.sizes), np.inf)
    for other in range(len(grid.sizes)):
        if other != column:
            values[other] = _shared_bits(counts[grid.values_of(column), grid.values_of(other)])
    return values


def _shared_bits(table: Floats) -> float:
    people = float(table.sum())
    if people <= 0:
        return 0.0
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    bits = x_log_x(table).sum() - x_log_x(rows).sum() - x_log_x(columns).sum() + x_log_x(np.array([people])).sum()
    by_chance = ((rows > 0).sum() - 1) * ((columns > 0).sum() - 1) / (2 * np.log(2))
    return max(float(bits - by_chance) / people, 0.0)


def columns_by_information(counts: Floats, grid: Grid, column: int) -> Codes:
    """The other columns, the most informative about `column` first, equals in the table's order."""
    order = np.argsort(-mutual_information(counts, grid, column), kind="stable")
    return np.asarray(order[order != column])


class NaiveBayesAdversary:
    """Beliefs about every column from the pair counts of the visible cells, one added to each count."""

    def __init__(self, grid: Grid, counts: Floats | None = None) -> None:
        self.grid = grid
        self.counts = pair_counts(grid) if counts is None else counts

    def posterior(
        self, records: Codes, own: Rows, wanted: Collection[int] | None = None
    ) -> dict[int, tuple[Rows, Floats]]:
        """For each column with hidden cells, the records that hide it and the belief about each."""
        shown = indicators(records, self.grid)
        found = {}
        for column, rows in hidden_by_column(records, wanted):
            prior, evidence = log_table(self.counts, self.grid, column)
            found[column] = rows, normalised(prior + shown[rows] @ evidence)
        return found


def log_table(counts: Floats, grid: Grid, column: int) -> tuple[Floats, Floats]:
    """Log chances of a column's values, and of each value of any column given them (rows: all values).

    Source: naive Bayes with Laplace's rule of succession; cells that are not seen are left out, in
    learning and in believing.
    """
    mine = grid.values_of(column)
    prior = np.log(np.diag(counts)[mine] + 1.0)
    evidence = np.zeros((len(counts), grid.sizes[column]))
    for other, size in enumerate(grid.sizes):
        if other != column:
            both = counts[grid.values_of(other), mine]
            evidence[grid.values_of(other)] = np.log((both + 1.0) / (both.sum(axis=0) + size))
    return prior, evidence


def normalised(logs: Floats) -> Floats:
    """Probabilities from their logarithms, up to a constant for each row."""
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))
