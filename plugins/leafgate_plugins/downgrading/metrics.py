"""The cost of downgrading: withheld cells, and the loss of accuracy of models learned from the records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from leafgate.api import Floats, InconclusiveError, Mask, Records, ScoringContext
from leafgate_plugins.downgrading import grid
from leafgate_plugins.downgrading.adversaries import TreeAdversary, TreeCache
from leafgate_plugins.downgrading.c45_missing import TreeOptions, class_posterior

READER = TreeOptions()
"""How a reader of the table learns: C4.5 as it is."""


def class_errors(published: grid.Grid, original: grid.Grid, kept: TreeCache | None = None) -> Floats:
    """For each column as the class, the share of the table's people whom a tree learned from `published` gets wrong."""
    trees = TreeAdversary(published, READER, kept)
    shown, nothing = grid.indicators(original.codes, original), np.zeros(original.codes.shape, dtype=np.bool_)
    return np.array([_error(trees, column, original, shown, nothing) for column in range(len(original.sizes))])


def _error(trees: TreeAdversary, column: int, whole: grid.Grid, shown: Floats, nothing: Mask) -> float:
    result = class_posterior(trees.tree(column), whole, shown, nothing).argmax(axis=1)
    return float(whole.weight[result != whole.codes[:, column]].sum() / whole.weight.sum())


class UtilityLoss:
    """What a table lets a reader learn, held against the whole table."""

    def __init__(self, original: grid.Grid, weights: Floats, kept: TreeCache) -> None:
        self.whole, self.weights, self.kept = original, weights / weights.sum(), kept
        self.before = class_errors(original, original, kept)

    def loss(self, hidden: Mask) -> float:
        """F: the rise of the error with these cells hidden, the mean over the columns by the owner's weights.

        Source: Chang 2003, section 4 (F, a function of the error on the data to be released).
        Departure: judged on the whole table, so that withholding difficult cells is no gain; resubstitution, for
        the table is the population the release describes.
        """
        seen = self.whole.with_codes(np.where(hidden, grid.HIDDEN, self.whole.codes))
        rise = class_errors(seen, self.whole, self.kept) - self.before
        return float(self.weights @ rise)


def cells_withheld(case: ScoringContext, among: Literal["threatened", "all", "count"]) -> float:
    """How many cells the records withhold besides the secret ones, or which share of the other cells."""
    records, table = _records(case), case.table.without_key
    secret = grid.secret_cells(table)
    further = float(sum(_further(case, records, secret)))
    if among == "count":
        return further
    rows = secret.any(axis=1) if among == "threatened" else np.ones(len(table), dtype=np.bool_)
    visible = float((~secret[rows] * table.weight[rows, None]).sum())
    return further / visible if visible else 0.0


def _further(case: ScoringContext, records: Records, secret: Mask) -> Iterator[int]:
    """Of each record the people whose cells it withholds though they are not secret."""
    if case.origins is None and not any(grid.WITHHELD in row for row in records.rows):
        return
    if case.origins is None:
        raise InconclusiveError(
            "the origin of the records is not known, so secret and other withheld cells cannot be distinguished"
        )
    places = [[column.name for column in case.table.without_key.schema.columns].index(name) for name in records.columns]
    for row, weight, origin in zip(records.rows, records.weight, case.origins, strict=True):
        hidden = [place for cell, place in zip(row, places, strict=True) if cell == grid.WITHHELD]
        yield weight * sum(not secret[origin, place] for place in hidden)


def functionality(case: ScoringContext, classes: Sequence[str] | None) -> Mapping[str, float]:
    """For each class column the rise of the error of a tree learned from the records instead of the table.

    Both trees are judged on the table. InconclusiveError for a class the records do not have.
    """
    records = _records(case)
    table, _ = case.table.project(records.columns)
    strange = [name for name in classes or () if name not in records.columns]
    if strange:
        raise InconclusiveError(f"the records have no column {strange[0]!r}")
    whole = grid.table_cells(table)
    visible = np.zeros((len(table), len(records.columns)), dtype=np.bool_)
    edges = grid.quantile_ranges(whole, visible)
    before, _ = grid.encode_with_ranges(edges, whole, visible)
    after, _ = grid.encode_with_ranges(edges, *grid.read_cells(records, table.schema))
    rise = class_errors(after, before) - class_errors(before, before)
    wanted = classes or records.columns
    return {name: float(rise[records.columns.index(name)]) for name in wanted}


def _records(case: ScoringContext) -> Records:
    if case.release.records is None:
        raise InconclusiveError("the release has no records")
    return case.release.records
