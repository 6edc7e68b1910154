"""Naive Bayes: every visible cell counts as evidence of its own."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from leafgate_downgrading.grid import Codes, Grid, Rows, Shares, hidden_by_column, indicators
from leafgate_downgrading.pairs import pair_counts


class NaiveBayesLearned:
    """Beliefs about every column from the pair counts of the visible cells, one added to each count."""

    def __init__(self, grid: Grid, counts: Shares | None = None) -> None:
        self.grid = grid
        self.counts = pair_counts(grid) if counts is None else counts

    def told(self, records: Codes, own: Rows, wanted: Collection[int] | None = None) -> dict[int, tuple[Rows, Shares]]:
        """For each column with hidden cells, the records that hide it and the belief about each."""
        shown = indicators(records, self.grid)
        found = {}
        for column, rows in hidden_by_column(records, wanted):
            prior, evidence = log_table(self.counts, self.grid, column)
            found[column] = rows, normalised(prior + shown[rows] @ evidence)
        return found


def log_table(counts: Shares, grid: Grid, column: int) -> tuple[Shares, Shares]:
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


def normalised(logs: Shares) -> Shares:
    """Probabilities from their logarithms, up to a constant for each row."""
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))
