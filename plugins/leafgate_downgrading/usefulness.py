"""The loss of function: how much worse models are that are learned from what is left of a table."""

from __future__ import annotations

import numpy as np

from leafgate_downgrading.grid import HIDDEN, Grid, Mask, Shares, indicators
from leafgate_downgrading.missing_tree import Growing, believed
from leafgate_downgrading.trees import Kept, TreesLearned

READER = Growing()
"""How a reader of the table learns: C4.5 as it is."""


def errors(seen: Grid, whole: Grid, kept: Kept | None = None) -> Shares:
    """For each column as the class the share of the whole table's people that a tree learned from `seen` gets wrong."""
    trees = TreesLearned(seen, READER, kept)
    shown, nothing = indicators(whole.codes, whole), np.zeros(whole.codes.shape, dtype=np.bool_)
    return np.array([_error(trees, column, whole, shown, nothing) for column in range(len(whole.sizes))])


def _error(trees: TreesLearned, column: int, whole: Grid, shown: Shares, nothing: Mask) -> float:
    told = believed(trees.tree(column), whole, shown, nothing).argmax(axis=1)
    return float(whole.weight[told != whole.codes[:, column]].sum() / whole.weight.sum())


class Usefulness:
    """What a table lets a reader learn, held against the whole table."""

    def __init__(self, whole: Grid, weights: Shares, kept: Kept) -> None:
        self.whole, self.weights, self.kept = whole, weights / weights.sum(), kept
        self.before = errors(whole, whole, kept)

    def loss(self, hidden: Mask) -> float:
        """F: the rise of the error with these cells hidden, the mean over the columns by the owner's weights.

        Source: Chang 2003, section 4 (F, a function of the error on the data to be released).
        Departure: judged on the whole table, so that withholding difficult cells is no gain; resubstitution, for
        the table is the population the release describes.
        """
        seen = self.whole.showing(np.where(hidden, HIDDEN, self.whole.codes))
        rise = errors(seen, self.whole, self.kept) - self.before
        return float(self.weights @ rise)
