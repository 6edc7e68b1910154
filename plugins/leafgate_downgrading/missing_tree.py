"""C4.5 with fractional cases: a tree learned from, and asked about, records with withheld cells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from leafgate.induction.pruning import SLACK, pessimistic_errors
from leafgate_downgrading.grid import HIDDEN, Grid, Mask, Rows, Shares
from leafgate_downgrading.splitting import Chosen, best_split


@dataclass(eq=False)
class Node:
    """A node: people per class and, where it asks about a column, the son of each value and each son's share.

    `son_of` has a row for each value of the column and a column for each son, 1 where the value leads there.
    """

    counts: Shares
    column: int = -1
    son_of: Shares = field(default_factory=lambda: np.zeros((0, 0)))
    share: Shares = field(default_factory=lambda: np.zeros(0))
    sons: list[Node] = field(default_factory=list)

    @property
    def errors(self) -> float:
        """People who are not of the most frequent class."""
        return float(self.counts.sum() - self.counts.max())


@dataclass(frozen=True)
class Growing:
    """How a tree is grown: people on two branches at least, confidence of pruning, complete records only?"""

    least: float = 2.0
    confidence: float | None = 0.25
    complete: bool = False


def grown(grid: Grid, target: int, how: Growing, without: Iterable[int] = ()) -> Node:
    """The pruned tree that predicts one column from the others, learned where it is visible.

    A case with a hidden cell goes down every branch, with the share of the people who show they belong there.
    Without any case to learn from every value is as likely. It asks no column of `without`.

    Source: Quinlan, "C4.5: Programs for Machine Learning", 1993, chapters 2 to 4.
    Departure: no penalty for many cuts; branches without people take the shares of the node above; a hidden
    cell, not an absent value, is what counts as unknown. With `complete`, cases with a hidden cell are left
    out, as the example of Chang 2003 has it.
    """
    taught = grid.codes[:, target] != HIDDEN
    if how.complete:
        taught &= (grid.codes != HIDDEN).all(axis=1)
    rows = np.flatnonzero(taught)
    if not len(rows):
        return Node(np.ones(grid.sizes[target]))
    barred = np.isin(np.arange(len(grid.sizes)), list(without))
    root = _grow(grid, target, rows, grid.weight[rows], how.least, barred)
    if how.confidence is not None:
        _prune(root, how.confidence)
    return root


def _grow(grid: Grid, target: int, rows: Rows, weight: Shares, least: float, barred: Mask) -> Node:
    counts = np.bincount(grid.codes[rows, target], weights=weight, minlength=grid.sizes[target]).astype(np.float64)
    node = Node(counts)
    chosen = best_split(grid, target, rows, weight, least, barred) if (counts > 0).sum() > 1 else None
    if chosen is None:
        return node
    node.column, node.son_of, node.share = chosen.column, chosen.son_of, chosen.share
    for son in range(len(chosen.share)):
        mine, heavy = _going(grid, chosen, son, rows, weight)
        node.sons.append(Node(counts) if not len(mine) else _grow(grid, target, mine, heavy, least, barred))
    return node


def _going(grid: Grid, chosen: Chosen, son: int, rows: Rows, weight: Shares) -> tuple[Rows, Shares]:
    """The cases of one branch: those whose cell leads there, and a part of those whose cell is hidden."""
    cell = grid.codes[rows, chosen.column]
    part = np.where(cell == HIDDEN, chosen.share[son], chosen.son_of[cell, son]) * weight
    kept = part > 1e-9
    return rows[kept], part[kept]


def _prune(node: Node, confidence: float) -> float:
    """Replace subtrees by leaves where that is expected to err no more; the errors expected of what is left."""
    as_leaf = pessimistic_errors(float(node.counts.sum()), node.errors, confidence)
    if not node.sons:
        return as_leaf
    as_tree = sum(_prune(son, confidence) for son, part in zip(node.sons, node.share, strict=True) if part > 0)
    if as_leaf <= as_tree + SLACK:
        node.column, node.sons = -1, []
        return as_leaf
    return as_tree


def believed(root: Node, grid: Grid, shown: Shares, hidden: Mask) -> Shares:
    """Chances of each class for each record, the leaves it can reach mixed by how likely they are.

    `shown` has the chance of every value of every column (0 or 1 where the cell is visible), `hidden` is true
    where nothing is known: there each branch has its share of the people of whom it was known.
    """
    found = np.zeros((len(shown), len(root.counts)))
    waiting = [(root, np.arange(len(shown)), np.ones(len(shown)))]
    while waiting:
        node, rows, weight = waiting.pop()
        if not node.sons:
            found[rows] += weight[:, None] * (node.counts / node.counts.sum())
            continue
        side = shown[rows, grid.values_of(node.column)] @ node.son_of
        side[hidden[rows, node.column]] = node.share
        for place, son in enumerate(node.sons):
            going = weight * side[:, place]
            kept = going > 1e-9
            if kept.any():
                waiting.append((son, rows[kept], going[kept]))
    return np.asarray(found / found.sum(axis=1, keepdims=True))
