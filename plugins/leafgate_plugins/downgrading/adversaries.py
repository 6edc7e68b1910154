"""Adversaries fitted to a table: by trees, by restoration, and the ensemble that takes the largest posterior."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from leafgate.api import Codes, Floats, Mask
from leafgate.kernel.arrays import Rows
from leafgate_plugins.downgrading.c45_missing import Node, TreeOptions, class_posterior, grow_tree
from leafgate_plugins.downgrading.grid import HIDDEN, Grid, hidden_by_column, indicators

TreeCache = MutableMapping[tuple[object, ...], Node]
"""Trees by all that they were learned from."""


class TreeAdversary:
    """Beliefs by a C4.5 tree for each column, grown when first asked for, or taken from `kept`."""

    def __init__(self, grid: Grid, how: TreeOptions, kept: TreeCache | None = None) -> None:
        self.grid, self.how = grid, how
        self.kept: TreeCache = {} if kept is None else kept
        self._mine: dict[tuple[int, frozenset[int]], Node] = {}

    def tree(self, column: int, without: frozenset[int] = frozenset()) -> Node:
        """The tree that predicts a column, learned from the records that show it, asking none of `without`."""
        if (column, without) not in self._mine:
            taught = self.grid.codes[:, column] != HIDDEN
            key = (self.how, column, without, _digest(self.grid, taught))
            if key not in self.kept:
                self.kept[key] = grow_tree(self.grid, column, self.how, without)
            self._mine[column, without] = self.kept[key]
        return self._mine[column, without]

    def posterior(
        self, records: Codes, own: Rows, wanted: Collection[int] | None = None
    ) -> dict[int, tuple[Rows, Floats]]:
        """For each column with hidden cells, the records that hide it and the belief about each."""
        return self.from_known_cells(records, indicators(records, self.grid), records == HIDDEN, {}, wanted)

    def from_known_cells(
        self,
        records: Codes,
        known_cells: Floats,
        unknown: Mask,
        without: Mapping[int, frozenset[int]],
        wanted: Collection[int] | None = None,
    ) -> dict[int, tuple[Rows, Floats]]:
        """Posteriors of hidden cells where other hidden cells may have been filled in with probabilities.

        Args:
            records: codes, shape (n_records, n_columns); HIDDEN where a cell is withheld.
            known_cells: probability of each value of each column, shape (n_records, n_values of all columns).
            unknown: cells of which `known_cells` holds no probability, shape of `records`.
            without: for some columns, the columns that their trees may not test.
            wanted: the columns asked for; all when left out.
        """
        found = {}
        for column, rows in hidden_by_column(records, wanted):
            tree = self.tree(column, without.get(column, frozenset()))
            found[column] = rows, class_posterior(tree, self.grid, known_cells[rows], unknown[rows])
        return found


class RestorationAdversary:
    """Beliefs after restoring what is hidden.

    Each hidden cell is posted as the class and filled in with what its tree believes, `rounds` times, each time
    from what was filled in before; then every one is attacked with all the others filled in. So the most
    informative column is always among those restored, whichever column is attacked. The trees that fill in
    do not ask what most of the records to be filled in hide: the column attacked, above all.

    Source: Chang 2003, section 7 (the restoration attack).
    Departure: the paper fills in one value; here the whole belief is, so that a guess weighs no more than it is worth.
    """

    def __init__(self, trees: TreeAdversary, rounds: int) -> None:
        self.trees, self.rounds = trees, rounds
        self.without = {column: _mostly_hidden(trees.grid, column) for column in range(len(trees.grid.sizes))}

    def posterior(
        self, records: Codes, own: Rows, wanted: Collection[int] | None = None
    ) -> dict[int, tuple[Rows, Floats]]:
        """For each column with hidden cells, the records that hide it and the belief about each."""
        grid = self.trees.grid
        shown, unknown = indicators(records, grid), records == HIDDEN
        for _ in range(self.rounds):
            found = self.trees.from_known_cells(records, shown, unknown, self.without)
            for column, (rows, chances) in found.items():
                shown[rows, grid.values_of(column)] = chances
            unknown = np.zeros_like(unknown)
        return self.trees.from_known_cells(records, shown, unknown, {}, wanted)


def _mostly_hidden(grid: Grid, column: int) -> frozenset[int]:
    """The other columns that more than half of the records hide which hide this one (or, if none does, any)."""
    hidden = grid.codes == HIDDEN
    filled = hidden[:, column] if hidden[:, column].any() else hidden.any(axis=1)
    share = grid.weight[filled] @ hidden[filled]
    return frozenset(np.flatnonzero(share * 2 > grid.weight[filled].sum()).tolist()) - {column}


def _digest(grid: Grid, taught: Mask) -> bytes:
    """Of all that a tree is learned from."""
    result = hashlib.sha256(repr((grid.sizes, grid.ordered)).encode())
    for part in (grid.codes[taught], grid.weight[taught]):
        result.update(np.ascontiguousarray(part).tobytes())
    return result.digest()


class FittedAdversary(Protocol):
    """An adversary that was fitted to a table."""

    def posterior(
        self, records: Codes, own: Rows, wanted: Collection[int] | None = None
    ) -> Mapping[int, tuple[Rows, Floats]]:
        """For each column (of those `wanted`) with hidden cells, the records that hide it and the belief about each.

        Each record is a row of the studied table, `own` says which, and hides what that hides, or more.
        """


class AdversaryModel(Protocol):
    """The options of an adversary, which can study a table."""

    def fit(self, grid: Grid, cache: TreeCache | None = None, counts: Floats | None = None) -> FittedAdversary:
        """The adversary after studying `grid`; `cache` and `counts` only save time."""


LIMIT_TOLERANCE = 5e-13
"""By so much a belief may pass its limit, for floating point does; less than an audit allows."""

PROBABILITY_CLIP = 1e-9
"""Beliefs nearer to 1 than this are as good as certain."""


@dataclass(frozen=True)
class AdversaryEnsemble:
    """Adversaries who have studied the same table.

    `truth` holds the table's true codes where only belief in the true value counts; None where
    belief in any value does, which an owner can judge without knowing, and so without telling, the truth.
    """

    adversaries: Sequence[FittedAdversary]
    truth: Codes | None

    def beliefs(self, records: Codes, own: Rows, wanted: Collection[int] | None = None) -> list[Floats]:
        """For each adversary how sure it is of each hidden cell (of columns `wanted`); 0 for all others."""
        every = []
        for adversary in self.adversaries:
            sure = np.zeros(records.shape)
            for column, (rows, chances) in adversary.posterior(records, own, wanted).items():
                sure[rows, column] = self._sureness(chances, column, own[rows])
            every.append(sure)
        return every

    def strongest(self, records: Codes, own: Rows) -> Floats:
        """How sure the surest adversary is of each hidden cell."""
        return np.asarray(np.maximum.reduce(self.beliefs(records, own)))

    def excess(self, records: Codes, own: Rows, limits: Floats) -> tuple[Mask, Floats]:
        """For each record which hidden cells are believed beyond their limits, and by how much in all.

        How much is in log odds, over all adversaries, so that evidence counts even where belief is all but certain.
        """
        beyond, much = np.zeros(records.shape, dtype=np.bool_), np.zeros(len(records))
        limited = np.flatnonzero((limits < 1).any(axis=0)).tolist()
        for sure in self.beliefs(records, own, limited):
            beyond |= sure > limits + LIMIT_TOLERANCE
            much += np.maximum(_log_odds(sure) - _log_odds(limits), 0).sum(axis=1, where=limits < 1)
        return beyond, much

    def _sureness(self, chances: Floats, column: int, own: Rows) -> Floats:
        if self.truth is None:
            return np.asarray(chances.max(axis=1))
        return np.asarray(chances[np.arange(len(chances)), self.truth[own, column]])


def _log_odds(chance: Floats) -> Floats:
    inside = np.clip(chance, PROBABILITY_CLIP, 1 - PROBABILITY_CLIP)
    return np.asarray(np.log(inside) - np.log1p(-inside))
