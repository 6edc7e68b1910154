"""Which leaves somebody's original numbers may reach, where only shared ones are seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leafgate.deconvolution import cells_between, posterior, reconstructed
from leafgate.tree import Cut, Fan, Leaf, Node
from leafgate_ppdtc45.shared import Shared

Floats = NDArray[np.float64]
Box = Mapping[str, tuple[float, float]]
"""For each column that was asked, what it is above and what it is up to."""


def boxes(tree: Node) -> Iterator[tuple[Leaf, Box]]:
    """Every leaf of a tree of cuts with the numbers that reach it."""
    waiting: list[tuple[Node, Box]] = [(tree, {})]
    while waiting:
        node, box = waiting.pop()
        match node:
            case Leaf():
                yield node, box
            case Cut():
                low, high = box.get(node.column, (-np.inf, np.inf))
                waiting.append((node.high, {**box, node.column: (max(low, node.at), high)}))
                waiting.append((node.low, {**box, node.column: (low, min(high, node.at))}))
            case Fan():
                raise TypeError("a tree of cuts has no fans")


@dataclass(frozen=True)
class Judges:
    """People whose original numbers are known by chance.

    For each column the edges of its cells, and for each person (rows) the chance of lying below each edge.
    """

    shared: Shared
    edges: Mapping[str, Floats]
    below: Mapping[str, Floats]

    def chance_below(self, column: str, at: float) -> Floats:
        """Everybody's chance that the original number is not above `at`."""
        edges, below = self.edges[column], self.below[column]
        cell = int(np.clip(np.searchsorted(edges, at, side="right") - 1, 0, len(edges) - 2))
        part = np.clip((at - edges[cell]) / (edges[cell + 1] - edges[cell]), 0, 1)
        return np.asarray((1 - part) * below[:, cell] + part * below[:, cell + 1])


def judges_of(shared: Shared) -> Judges:
    """What the noise laws and each column's distribution within each class, reconstructed, tell of everybody."""
    edges: dict[str, Floats] = {}
    below: dict[str, Floats] = {}
    for i, column in enumerate(shared.schema.features):
        numbers, noise = shared.numbers[:, i], shared.noise[column.name]
        ends = edges[column.name] = cells_between(numbers, noise, column.bounds)
        told = below[column.name] = np.zeros((len(numbers), len(ends)))
        for code in np.unique(shared.classes):
            rows = np.flatnonzero(shared.classes == code)
            prior = reconstructed(numbers[rows], np.ones(len(rows)), noise, ends)
            for part, chances in posterior(numbers[rows], noise, ends, prior):
                told[rows[part], 1:] = chances.cumsum(axis=1)
    return Judges(shared, edges, below)


def expected_accuracy(tree: Node, judges: Judges) -> float:
    """How many of the judges, in expectation, a tree for original numbers says the class of: 0 to 1.

    Departure: the columns of one person are taken as independent given class and shared numbers.
    """
    classes = judges.shared.classes
    right = np.zeros(len(classes))
    for leaf, box in boxes(tree):
        there = (classes == judges.shared.schema.classes.index(str(leaf.label))).astype(np.float64)
        for name, (low, high) in box.items():
            there *= np.maximum(judges.chance_below(name, high) - judges.chance_below(name, low), 0)
        right += there
    return float(right.mean())
