"""A tree: arrays over its tests and leaves, which algorithms read, and nodes, which are views of them for who walks it.

A builder puts nodes together (`NumericSplit(column, at, low, high)`), and `tree_arrays` gives the arrays of any tree. A
tree that was read is arrays alone; its nodes are made when somebody asks for its children.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from leafgate.kernel.leaf import OF_CLASSES, Leaf, LeafStatistics, Statistic
from leafgate.kernel.schema import Value
from leafgate.lazy_loading import lazy

if TYPE_CHECKING:
    import numpy as np

    from leafgate.kernel.arrays import CompactIds, Floats, Ids, Mask
else:
    np = lazy("numpy")

MAX_DEPTH = 200
"""Deeper trees are refused: nothing people publish comes near it, and JSON readers give up beyond."""

MAX_TREES = 20_000
"""Files of more trees are refused: the largest ensembles that people fit have a few thousand, and each tree has a cost
of its own in every attack, however small it is."""

Missing = Literal["low", "high"] | None
WAYS_OF_MISSING: tuple[Missing, ...] = (None, "low", "high")
"""Where a numeric test sends missing cells; `TreeArrays.missing` has positions in this list."""
NUMBER_OF_WAY = {way: number for number, way in enumerate(WAYS_OF_MISSING)}


class _Split:
    """A node with children; that of a tree which was read gets its children when they are first asked for."""

    @cached_property
    def arrays(self) -> TreeArrays:
        """The tree below as arrays."""
        assert isinstance(self, NumericSplit | CategoricalSplit)
        return arrays_of(self)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Only called for what is not there yet: the children of a view."""
            if name not in type(self).__dataclass_fields__ or "arrays" not in self.__dict__:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            self.arrays.give_children(self)
            return self.__dict__[name]


@dataclass(frozen=True)
class NumericSplit(_Split):
    """A numeric test: `column <= at` goes low, unless `strict`, which sends `< at` low."""

    column: str
    at: float
    low: Node
    high: Node
    missing: Missing = None
    strict: bool = False
    float32: bool = False


@dataclass(frozen=True)
class Branch:
    """One child of a CategoricalSplit, and the values that go to it."""

    values: tuple[Value, ...]
    node: Node


@dataclass(frozen=True)
class CategoricalSplit(_Split):
    """A categorical test; `default` takes the values that no branch names."""

    column: str
    branches: tuple[Branch, ...]
    default: Node | None = field(default_factory=lambda: None)  # a default would stand in for a view's child

    @property
    def fan(self) -> Fan:
        """What is asked, without the children."""
        return Fan(self.column, tuple([branch.values for branch in self.branches]), self.default is not None)


Node = Leaf | NumericSplit | CategoricalSplit


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below, in the order they are written."""
    match node:
        case NumericSplit():
            return (node.low, node.high)
        case CategoricalSplit():
            below = tuple(branch.node for branch in node.branches)
            return below if node.default is None else (*below, node.default)
        case Leaf():
            return ()


def iterate_nodes(*trees: Node) -> Iterator[Node]:
    """Every node of some trees once, a parent before its children."""
    waiting = [*trees]
    while waiting:
        yield (here := waiting.pop())
        waiting.extend(children(here))


def leaves(node: Node) -> Iterator[Leaf]:
    """Every leaf once, from left to right."""
    yield from (node,) if isinstance(node, Leaf) else node.arrays.leaves


def map_leaves(node: Node, change: Callable[[Leaf], Leaf]) -> Node:
    """The same tree with every leaf replaced by `change(leaf)`."""
    if isinstance(node, Leaf):
        return change(node)
    return replace(node.arrays, content=tuple(map(change, node.arrays.leaves)), _numbers={}).root


def columns_asked(node: Node) -> frozenset[str]:
    """The columns that the tests of the tree read."""
    return frozenset() if isinstance(node, Leaf) else node.arrays.columns_asked


NO_FAN = -1
"""The fan of a numeric test."""


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
    first where x <= at[i] (`threshold[i]`, or where `strict[i]` the largest number below it), or where it is missing
    and `missing_low[i]`, else to the second. A value goes to the child of its branch in `fans[fan[i]]`; `fan[i]` is
    NO_FAN at numeric tests.

    A child is an inner node by its number or a leaf by the complement (`~`) of its own. `child[0]` is 0, whose
    complement is no leaf: where a value without a branch goes.

    `whole` says which thresholds are written as whole numbers, `missing` what a test states of missing cells, as a
    position in WAYS_OF_MISSING. `content` has the leaves themselves, or their statistics as arrays.
    """

    columns: tuple[tuple[str, bool | None], ...]
    column: Ids
    threshold: Floats
    whole: Mask
    strict: Mask
    missing: CompactIds
    first_child: Ids
    fan: Ids
    fans: tuple[Fan, ...]
    child: Ids
    content: tuple[Leaf, ...] | LeafStatistics
    _numbers: dict[tuple[Statistic, tuple[str, ...]], Floats] = field(default_factory=dict, repr=False)

    @property
    def n_leaves(self) -> int:
        """How many leaves it has."""
        return len(self.content)

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """Each leaf, from left to right."""
        return self.content if isinstance(self.content, tuple) else self.content.leaves()

    @cached_property
    def statistics(self) -> LeafStatistics:
        """What the leaves publish, as arrays."""
        return LeafStatistics.of(self.content) if isinstance(self.content, tuple) else self.content

    @cached_property
    def at(self) -> Floats:
        """The largest number that goes low at each numeric test; NaN where none does."""
        if not self.strict.any():
            return self.threshold
        below = np.where(self.threshold == -math.inf, math.nan, np.nextafter(self.threshold, -math.inf))
        return np.where(self.strict, below, self.threshold)

    @cached_property
    def missing_low(self) -> Mask:
        """Which numeric tests send missing cells low."""
        return np.asarray(self.missing == WAYS_OF_MISSING.index("low"))

    @cached_property
    def columns_asked(self) -> frozenset[str]:
        """The columns that its tests read."""
        return frozenset(name for name, _ in self.columns)

    @cached_property
    def tests_digest(self) -> bytes:
        """A digest of the tests and of where they lead: trees with equal ones send everybody to the same leaf."""
        digest = hashlib.blake2b(repr((self.columns, self.fans, self.n_leaves)).encode("utf-8", "surrogatepass"))
        for array in (self.column, self.at, self.missing_low, self.first_child, self.fan, self.child):
            digest.update(str(len(array)).encode())
            digest.update(array.tobytes())
        return digest.digest()

    @cached_property
    def labels(self) -> tuple[str | None, ...]:
        """The label of each leaf."""
        labels = (*self.statistics.labels, None)
        return tuple([labels[i] for i in self.statistics.label.tolist()])

    @property
    def values(self) -> Floats:
        """The number that each leaf predicts, NaN where it predicts none."""
        found = self.statistics.numbers.get("value")
        return np.full(self.n_leaves, math.nan) if found is None else found.values[:, 0]

    def label_positions(self, classes: Sequence[str]) -> Ids:
        """The position of each leaf's label among the classes, -1 for a leaf without one of them."""
        position = {name: i for i, name in enumerate(classes)}
        of_label = [position.get(label, -1) for label in self.statistics.labels]
        return np.array([*of_label, -1], dtype=np.int64)[self.statistics.label]

    def numbers_per_class(self, statistic: Statistic, classes: tuple[str, ...]) -> Floats:
        """What each leaf publishes of each class.

        Returns:
            Shape (n_leaves, n_classes), not to be written to; a row of NaN where a leaf does not publish the statistic,
            0 for a class that it leaves out.
        """
        assert statistic in OF_CLASSES
        if (statistic, classes) not in self._numbers:
            self._numbers[statistic, classes] = self.statistics.per_class(statistic, classes)
        return self._numbers[statistic, classes]

    @cached_property
    def position(self) -> tuple[Ids, Ids]:
        """Where each inner node, and each leaf, is in `child`; 0 for the root."""
        of_node, of_leaf = np.zeros(len(self.column), dtype=np.int64), np.zeros(self.n_leaves, dtype=np.int64)
        is_node, is_leaf = np.flatnonzero(self.child > 0), np.flatnonzero(self.child < 0)
        of_node[self.child[is_node]] = is_node
        of_leaf[~self.child[is_leaf]] = is_leaf
        return of_node, of_leaf

    @cached_property
    def parent(self) -> Ids:
        """The inner node that each position in `child` belongs to, -1 for the root's."""
        n_children = np.diff(np.append(self.first_child, len(self.child)))
        return np.append(-1, np.repeat(np.arange(len(self.column)), n_children))

    @cached_property
    def depth(self) -> int:
        """How many tests are above the deepest leaf."""
        depth, nodes = 0, np.arange(min(len(self.column), 1))
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
        spans: list[Ids] = []
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

    @property
    def root(self) -> Node:
        """The tree as a node."""
        return self._view(0) if len(self.column) else self.leaves[0]

    def _view(self, number: int) -> NumericSplit | CategoricalSplit:
        """An inner node without its children, which `_Split` gives it when they are asked for."""
        fan, (column, float32) = int(self.fan[number]), self.columns[self.column[number]]
        if fan != NO_FAN:
            view: NumericSplit | CategoricalSplit = object.__new__(CategoricalSplit)
            view.__dict__.update(column=column)
        else:
            view = object.__new__(NumericSplit)
            at: int | float = float(self.threshold[number])
            at = int(at) if self.whole[number] else at
            missing = WAYS_OF_MISSING[self.missing[number]]
            view.__dict__.update(
                column=column, at=at, missing=missing, strict=bool(self.strict[number]), float32=float32
            )
        if number == 0:
            view.__dict__["arrays"] = self
        return view

    def give_children(self, root: _Split) -> None:
        """Make all nodes of the tree, below its root."""
        nodes: list[Any] = [root, *map(self._view, range(1, len(self.column)))]
        ends = [*self.first_child[1:].tolist(), len(self.child)]
        child = self.child.tolist()
        for node, first, end, fan in zip(nodes, self.first_child.tolist(), ends, self.fan.tolist(), strict=True):
            below = [nodes[each] if each > 0 else self.leaves[~each] for each in child[first:end]]
            if fan == NO_FAN:
                node.__dict__.update(low=below[0], high=below[1])
                continue
            branches = tuple(map(Branch, self.fans[fan].branches, below))
            node.__dict__.update(branches=branches, default=below[-1] if self.fans[fan].has_default else None)


def split_trees(together: TreeArrays, contents: Sequence[LeafStatistics], n_tests: Ids) -> list[TreeArrays]:
    """Several trees, from arrays in which they stand one after another and which they share.

    Args:
        together: their tests and leaves are counted through; `child` has no positions of roots, and `first_child` is
            not read.
        contents: the leaves of each tree.
        n_tests: how many tests each has.
    """
    n_leaves = np.array([len(content) for content in contents])
    n_children = np.array([len(fan.branches) + fan.has_default for fan in together.fans] + [2])[together.fan]
    first_child, first_test, first_leaf = (np.cumsum(each) - each for each in (n_children, n_tests, n_leaves))
    n_below = n_tests + n_leaves - 1
    first_below = np.cumsum(n_below) - n_below
    of_leaf, of_test = np.repeat(first_leaf, n_below), np.repeat(first_test, n_below)
    child = np.where(together.child < 0, together.child + of_leaf, together.child - of_test)
    child = np.insert(child, first_below, 0)
    first_child += 1 - np.repeat(first_below, n_tests)
    columns, column = _of_each_tree(together.columns, together.column, n_tests)
    fans, fan = _of_each_tree(together.fans, together.fan, n_tests)
    for each in (
        *(column, together.threshold, together.whole, together.strict, together.missing),
        *(first_child, fan, child),
    ):
        each.setflags(write=False)
    trees = list[TreeArrays]()
    ends = (first_test + n_tests).tolist(), (first_below + np.arange(len(n_below)) + n_below + 1).tolist()
    test = position = 0
    for content, own_columns, own_fans, test_end, child_end in zip(contents, columns, fans, *ends, strict=True):
        here = slice(test, test_end)
        trees.append(
            TreeArrays(
                own_columns,
                column[here],
                together.threshold[here],
                together.whole[here],
                together.strict[here],
                together.missing[here],
                first_child[here],
                fan[here],
                own_fans,
                child[position:child_end],
                content,
            )
        )
        test, position = test_end, child_end
    return trees


def _of_each_tree(things: Sequence[Any], number: Ids, n_tests: Ids) -> tuple[list[tuple[Any, ...]], Ids]:
    """For each tree the things that its tests have, and which of these each test has; -1 stays as it is."""
    n_trees, n_things = len(n_tests), max(1, len(things))
    there = np.flatnonzero(number >= 0)
    own, which = np.unique(
        np.repeat(np.arange(n_trees), n_tests)[there] * n_things + number[there], return_inverse=True
    )
    ends = np.searchsorted(own, np.arange(1, n_trees + 1) * n_things)
    renumbered = number.copy()
    renumbered[there] = which - np.append(0, ends)[own[which] // n_things]
    listed = [things[i] for i in (own % n_things).tolist()]
    starts = [0, *ends.tolist()]
    return [tuple(listed[start:end]) for start, end in pairwise(starts)], renumbered


def tree_arrays(tree: Node) -> TreeArrays:
    """The tree as arrays; of a tree that tests anything they are computed once and kept as long as it is."""
    return arrays_of(tree) if isinstance(tree, Leaf) else tree.arrays


def arrays_of(tree: Node) -> TreeArrays:
    """The tree as arrays, from its nodes."""
    tests, found = list[NumericSplit | CategoricalSplit](), list[Leaf]()
    first_child, child = list[int](), [0]
    waiting: list[tuple[Node, int]] = [(tree, 0)]
    while waiting:
        node, position = waiting.pop()
        if isinstance(node, Leaf):
            child[position] = ~len(found)
            found.append(node)
            continue
        child[position] = len(tests)
        tests.append(node)
        first_child.append(len(child))
        below = children(node)
        waiting += [*zip(below, range(len(child), len(child) + len(below)), strict=True)][::-1]
        child += [0] * len(below)
    child[0] = 0  # the root's own position, which no test leads to
    return _arrays(tests, first_child, child, tuple(found))


def _arrays(
    tests: Sequence[NumericSplit | CategoricalSplit],
    first_child: Sequence[int],
    child: Sequence[int],
    leaves: tuple[Leaf, ...],
) -> TreeArrays:
    """A tree from its tests, as TreeArrays has them in order, the positions of their children, and its leaves."""
    columns, fans = dict[tuple[str, bool | None], int](), dict[Fan, int]()
    column, fan = list[int](), list[int]()
    at, strict, missing = list[int | float](), list[bool](), list[int]()
    for test in tests:
        if isinstance(test, NumericSplit):
            asked: tuple[str, bool | None] = test.column, test.float32
            fan.append(NO_FAN)
            at.append(test.at)
            strict.append(test.strict)
            missing.append(NUMBER_OF_WAY[test.missing])
        else:
            asked = test.column, None
            fan.append(fans.setdefault(test.fan, len(fans)))
            at.append(0.0)
            strict.append(False)
            missing.append(0)
        column.append(columns.setdefault(asked, len(columns)))
    arrays = TreeArrays(
        tuple(columns),
        np.array(column, dtype=np.int64),
        np.array(at, dtype=np.float64),
        np.array([not isinstance(number, float) for number in at], dtype=np.bool_),
        np.array(strict, dtype=np.bool_),
        np.array(missing, dtype=np.int8),
        np.array(first_child, dtype=np.int64),
        np.array(fan, dtype=np.int64),
        tuple(fans),
        np.array(child, dtype=np.int64),
        leaves,
    )
    for each in vars(arrays).values():
        if isinstance(each, np.ndarray):
            each.setflags(write=False)
    return arrays
