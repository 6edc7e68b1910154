"""Quantile matching: C4.5 on the shared numbers, each cut moved to the original number of the same rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from leafgate.deconvolution import cells_between, reconstructed
from leafgate.tree import Cut, Fan, Leaf, Node
from leafgate_ppdtc45.shared import Shared

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

ENOUGH = 200
"""A node with fewer people has its columns' distributions from the nearest node above with more."""

CELLS = 256
"""A column's originals are taken to lie in so many even cells."""


class Ranks:
    """One column at one node: the originals reconstructed from what its people share, and what they share."""

    def __init__(self, shared: Shared, rows: Codes, column: int) -> None:
        numbers, noise = shared.numbers[rows, column], shared.laws[column]
        self.edges = cells_between(numbers, noise, shared.schema.features[column].bounds, CELLS)
        chances = reconstructed(numbers, np.ones(len(rows)), noise, self.edges)
        self.below = np.concatenate([[0.0], chances.cumsum()])
        self.numbers = np.sort(numbers)

    def original(self, cut: float) -> float:
        """t = F_X^-1(F_W(c)): the original number with as many people below as share a number up to `cut`."""
        rank = np.searchsorted(self.numbers, cut, side="right") / len(self.numbers)
        return float(np.interp(rank, self.below, self.edges))


def matched_tree(perturbed: Node, shared: Shared) -> Node:
    """The tree for original numbers: each cut c of the tree on shared ones at t = F_X^-1(F_W(c)).

    F_W and F_X, reconstructed, are those of the people at the node where a path first asks about the column, whom
    tests on other columns have chosen; further cuts of the column below are matched by the same ranks, so that the
    cuts of a path keep their order.

    Source: Agrawal, Srikant, SIGMOD 2000 (the reconstruction); the matching is ours, against the paper's constant
    shift, which is wrong away from the centre.
    """
    everyone = np.arange(len(shared.classes))
    return _matched(perturbed, shared, everyone, everyone, {})


def _matched(node: Node, shared: Shared, rows: Codes, many: Codes, ranks: Mapping[int, Ranks]) -> Node:
    match node:
        case Leaf() | Fan():
            return node
        case Cut():
            many = rows if len(rows) >= ENOUGH else many
            column = [feature.name for feature in shared.schema.features].index(node.column)
            mine = ranks.get(column) or Ranks(shared, many, column)
            low = shared.numbers[rows, column] <= node.at
            below = {**ranks, column: mine}
            return replace(
                node,
                at=mine.original(node.at),
                low=_matched(node.low, shared, rows[low], many, below),
                high=_matched(node.high, shared, rows[~low], many, below),
            )
