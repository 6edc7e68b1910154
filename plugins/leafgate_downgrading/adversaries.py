"""Adversaries fitted to a table, and the ensemble that gives the largest posterior of each hidden cell."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from leafgate.types.arrays import Codes, Floats, Mask, Rows
from leafgate_downgrading.grid import Grid
from leafgate_downgrading.tree_adversaries import TreeCache


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


# --- How sure several adversaries are of hidden cells, and by how much too sure ---

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
