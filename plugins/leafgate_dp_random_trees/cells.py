"""Which cells a forest's tests tell apart in each column, and which of them each leaf holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leafgate.schema import Schema
from leafgate.tree import Cut, Fan, Leaf, Node, children, leaves
from leafgate_dp_random_trees.coins import Ids

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Cells = Mapping[str, Floats]
"""For each column the chance of its cells (rows) among the people of each class (columns)."""


def walk(tree: Node) -> Iterator[Node]:
    """Every node once, a parent before its children."""
    waiting = [tree]
    while waiting:
        yield (here := waiting.pop())
        waiting.extend(children(here))


@dataclass(frozen=True)
class Grid:
    """The cells into which a forest's tests divide each column: values, or intervals between neighbouring cuts."""

    schema: Schema
    cuts: Mapping[str, Floats]

    @classmethod
    def of(cls, trees: Sequence[Node], schema: Schema) -> Grid:
        """The coarsest cells that no test of these trees divides."""
        at: dict[str, set[float]] = {}
        for node in (node for tree in trees for node in walk(tree) if isinstance(node, Cut)):
            at.setdefault(node.column, set()).add(node.at)
        return cls(schema, {name: np.array(sorted(places)) for name, places in at.items()})

    def size(self, name: str) -> int:
        """How many cells a column has; a numeric one has a last cell for missing numbers."""
        return len(self.cuts[name]) + 2 if name in self.cuts else len(self.schema[name].domain)

    def ways(self, node: Cut | Fan) -> Ids:
        """For each cell of the node's column the child that takes it, -1 if none does."""
        if isinstance(node, Cut):
            low = np.arange(self.size(node.column)) <= np.searchsorted(self.cuts[node.column], node.at)
            low[-1] = node.missing == "low"
            return np.where(low, 0, 1).astype(np.int64)
        position = {value: i for i, branch in enumerate(node.branches) for value in branch.values}
        other = -1 if node.other is None else len(node.branches)
        return np.array([position.get(value, other) for value in self.schema[node.column].domain], dtype=np.int64)


@dataclass(frozen=True)
class Told:
    """What one tree released: counters (leaves by classes) and for each column asked the cells of each leaf."""

    tree: Node
    counts: Floats
    boxes: Mapping[str, Floats]

    @classmethod
    def of(cls, tree: Node, grid: Grid) -> Told:
        """The tree's counters, left to right."""
        names = grid.schema.classes
        counts = [[float((leaf.counts or {}).get(name, 0)) for name in names] for leaf in leaves(tree)]
        paths = list(_paths(tree, grid))
        asked = sorted({name for path in paths for name in path})
        boxes = {name: np.array([path.get(name, np.ones(grid.size(name))) for path in paths]) for name in asked}
        return cls(tree, np.array(counts), {name: box.astype(np.float64) for name, box in boxes.items()})

    @property
    def shown(self) -> float:
        """How much to trust its totals: less, the more of its counters are suppressed."""
        return float(1 / (1 + (self.counts == 0).sum()) ** 2)

    def expected(self, cells: Cells, total: Floats) -> Floats:
        """The counters if columns told nothing of each other within a class of `total` people."""
        told = np.tile(total, (len(self.counts), 1))
        for name, box in self.boxes.items():
            told = told * (box @ cells[name])
        return told

    def where(self, people: Mapping[str, Ids], size: int, grid: Grid) -> Ids:
        """The leaf of each of `size` people, the number of leaves for those who reach none."""
        found = np.full(size, len(self.counts), dtype=np.int64)
        waiting: list[tuple[Node, Ids]] = [(self.tree, np.arange(size))]
        leaf = 0
        while waiting:
            node, rows = waiting.pop()
            if isinstance(node, Leaf):
                found[rows], leaf = leaf, leaf + 1
                continue
            way = grid.ways(node)[people[node.column][rows]]
            waiting.extend((child, rows[way == i]) for i, child in reversed(list(enumerate(children(node)))))
        return found


def _paths(tree: Node, grid: Grid) -> Iterator[dict[str, Bools]]:
    """For each leaf, left to right, the columns on its path and which of their cells get there."""
    waiting: list[tuple[Node, dict[str, Bools]]] = [(tree, {})]
    while waiting:
        node, path = waiting.pop()
        if isinstance(node, Leaf):
            yield path
            continue
        way, name = grid.ways(node), node.column
        below = [(child, {**path, name: path.get(name, True) & (way == i)}) for i, child in enumerate(children(node))]
        waiting.extend(reversed(below))
