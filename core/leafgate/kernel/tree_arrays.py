"""A tree as arrays over its inner nodes, which algorithms walk without touching a node."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from leafgate.kernel.arrays import Floats, Ids, Mask
from leafgate.kernel.schema import Value
from leafgate.kernel.tree import CategoricalSplit, Leaf, Node, NumericSplit, children

NO_FAN = -1
"""The fan of a numeric test."""

Statistic = Literal["counts", "shares", "scores"]
"""What a leaf can hold a number for each class of."""


@dataclass(frozen=True)
class Fan:
    """How a categorical test parts a column: the values of each branch, and whether all others have one after them."""

    column: str
    branches: tuple[tuple[Value, ...], ...]
    has_default: bool


@dataclass(frozen=True, eq=False)
class TreeArrays:
    """A tree as arrays over its inner nodes in depth-first order, the root first.

    Node i tests the cells `columns[column[i]]`: a column's name and whether its numbers are rounded to single
    precision, None for codes. Its children are `child[first_child[i]]` and those that follow. A number x goes to the
    first where x <= at[i], or where it is missing and `missing_low[i]`, else to the second. A value goes to the child
    of its branch in `fans[fan[i]]`; `fan[i]` is NO_FAN at numeric tests.

    A child is an inner node by its number or a leaf by the complement (`~`) of its own. `child[0]` is 0, whose
    complement is no leaf: where a value without a branch goes.
    """

    columns: tuple[tuple[str, bool | None], ...]
    column: Ids
    at: Floats
    missing_low: Mask
    first_child: Ids
    fan: Ids
    fans: tuple[Fan, ...]
    child: Ids
    leaves: tuple[Leaf, ...]
    _numbers: dict[tuple[Statistic, tuple[str, ...]], Floats] = field(default_factory=dict, repr=False)

    @cached_property
    def columns_asked(self) -> frozenset[str]:
        """The columns that its tests read."""
        return frozenset(name for name, _ in self.columns)

    @cached_property
    def tests_digest(self) -> bytes:
        """A digest of the tests and of where they lead: trees with equal ones send everybody to the same leaf."""
        digest = hashlib.blake2b(repr((self.columns, self.fans, len(self.leaves))).encode("utf-8", "surrogatepass"))
        for array in (self.column, self.at, self.missing_low, self.first_child, self.fan, self.child):
            digest.update(str(len(array)).encode())
            digest.update(array.tobytes())
        return digest.digest()

    @cached_property
    def labels(self) -> tuple[str | None, ...]:
        """The label of each leaf."""
        return tuple([leaf.label for leaf in self.leaves])

    @cached_property
    def values(self) -> Floats:
        """The number that each leaf predicts, NaN where it predicts none."""
        return np.array([math.nan if leaf.value is None else leaf.value for leaf in self.leaves], dtype=np.float64)

    def label_positions(self, classes: Sequence[str]) -> Ids:
        """The position of each leaf's label among the classes, -1 for a leaf without one of them."""
        position: dict[str | None, int] = {name: i for i, name in enumerate(classes)}
        return np.array([position.get(label, -1) for label in self.labels], dtype=np.int64)

    def numbers_per_class(self, statistic: Statistic, classes: tuple[str, ...]) -> Floats:
        """What each leaf publishes of each class.

        Returns:
            Shape (n_leaves, n_classes), not to be written to; a row of NaN where a leaf does not publish the statistic,
            0 for a class that it leaves out.
        """
        if (statistic, classes) not in self._numbers:
            silent = [math.nan] * len(classes)
            published = [getattr(leaf, statistic) for leaf in self.leaves]
            rows = [silent if each is None else [float(each.get(name, 0)) for name in classes] for each in published]
            numbers = np.array(rows, dtype=np.float64).reshape(len(self.leaves), len(classes))
            numbers.setflags(write=False)
            self._numbers[statistic, classes] = numbers
        return self._numbers[statistic, classes]

    @cached_property
    def position(self) -> tuple[Ids, Ids]:
        """Where each inner node, and each leaf, is in `child`; 0 for the root."""
        of_node, of_leaf = np.zeros(len(self.at), dtype=np.int64), np.zeros(len(self.leaves), dtype=np.int64)
        is_node, is_leaf = np.flatnonzero(self.child > 0), np.flatnonzero(self.child < 0)
        of_node[self.child[is_node]] = is_node
        of_leaf[~self.child[is_leaf]] = is_leaf
        return of_node, of_leaf

    @cached_property
    def parent(self) -> Ids:
        """The inner node that each position in `child` belongs to, -1 for the root's."""
        n_children = np.diff(np.append(self.first_child, len(self.child)))
        return np.append(-1, np.repeat(np.arange(len(self.at)), n_children))

    @cached_property
    def depth(self) -> int:
        """How many tests are above the deepest leaf."""
        depth, nodes = 0, np.arange(min(len(self.at), 1))
        end = np.append(self.first_child, len(self.child))
        while len(nodes):
            n_children = end[nodes + 1] - end[nodes]
            below = np.repeat(end[nodes] - np.cumsum(n_children) + n_children, n_children) + np.arange(n_children.sum())
            nodes = self.child[below]
            depth, nodes = depth + 1, nodes[nodes > 0]
        return depth

    @cached_property
    def leaf_spans(self) -> tuple[Ids, Ids]:
        """The first leaf below each inner node, and the one after the last."""
        ends = np.append(self.first_child[1:], len(self.child))
        spans = list[Ids]()
        for outermost in (self.first_child, ends - 1):
            below = self.child[outermost]
            while (inner := below > 0).any():
                below[inner] = self.child[outermost[below[inner]]]
            spans.append(~below)
        return spans[0], spans[1] + 1

    def path(self, leaf: int) -> list[int]:
        """Which child leads on to a leaf at each test above it, from the root down."""
        of_node, of_leaf = self.position
        path, position = list[int](), int(of_leaf[leaf])
        while position:
            node = int(self.parent[position])
            path.append(position - int(self.first_child[node]))
            position = int(of_node[node])
        return path[::-1]


def tree_arrays(tree: Node) -> TreeArrays:
    """The tree as arrays; of a tree that tests anything they are computed once and kept as long as it is."""
    return arrays_of(tree) if isinstance(tree, Leaf) else tree.arrays


def leaf_arrays(leaves: Sequence[Leaf]) -> TreeArrays:
    """Leaves without a tree above them, for what only asks about leaves."""
    nothing = np.zeros(0, dtype=np.int64)
    no_flags = np.zeros(0, dtype=np.bool_)
    return TreeArrays((), nothing, nothing.astype(np.float64), no_flags, nothing, nothing, (), nothing, tuple(leaves))


def arrays_of(tree: Node) -> TreeArrays:
    """The tree as arrays, from its nodes."""
    columns: dict[tuple[str, bool | None], int] = {}
    fans: dict[tuple[str, tuple[tuple[Value, ...], ...], bool], int] = {}
    column, at, missing_low, first_child, fan = list[int](), list[float](), list[bool](), list[int](), list[int]()
    child, leaves = [0], list[Leaf]()
    waiting: list[tuple[Node, int]] = [(tree, 0)]
    while waiting:
        node, position = waiting.pop()
        if isinstance(node, Leaf):
            child[position] = ~len(leaves)
            leaves.append(node)
            continue
        child[position] = len(at)
        first = len(child)
        first_child.append(first)
        if isinstance(node, NumericSplit):
            column.append(columns.setdefault((node.column, node.float32), len(columns)))
            at.append(_largest_below(node.at) if node.strict else node.at)
            missing_low.append(node.missing == "low")
            fan.append(NO_FAN)
            child += (0, 0)
            waiting += ((node.high, first + 1), (node.low, first))
            continue
        column.append(columns.setdefault((node.column, None), len(columns)))
        at.append(0.0)
        missing_low.append(False)
        fan.append(fans.setdefault(_fan_of(node), len(fans)))
        below = children(node)
        child += [0] * len(below)
        waiting += zip(reversed(below), range(first + len(below) - 1, first - 1, -1), strict=True)
    child[0] = 0  # the root's own position, which no test leads to
    arrays = TreeArrays(
        tuple(columns),
        np.array(column, dtype=np.int64),
        np.array(at, dtype=np.float64),
        np.array(missing_low, dtype=np.bool_),
        np.array(first_child, dtype=np.int64),
        np.array(fan, dtype=np.int64),
        tuple(Fan(*each) for each in fans),
        np.array(child, dtype=np.int64),
        tuple(leaves),
    )
    for each in (arrays.column, arrays.at, arrays.missing_low, arrays.first_child, arrays.fan, arrays.child):
        each.setflags(write=False)
    return arrays


def _fan_of(node: CategoricalSplit) -> tuple[str, tuple[tuple[Value, ...], ...], bool]:
    return node.column, tuple([branch.values for branch in node.branches]), node.default is not None


def _largest_below(at: float) -> float:
    """The number for which x <= it is x < `at`; NaN where no x is."""
    return math.nan if at == -math.inf else math.nextafter(at, -math.inf)
