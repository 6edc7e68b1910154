"""A tree as a recursive value: Leaf, NumericSplit, CategoricalSplit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from leafgate.kernel.schema import Value

if TYPE_CHECKING:
    from leafgate.kernel.tree_arrays import TreeArrays


@dataclass(frozen=True, slots=True)
class Leaf:
    """The end of a path: the class it predicts and the statistics that are published about it.

    `counts` are people per class, `shares` fractions per class, `error_rate` the fraction of
    the leaf's people that have another class than `label`. A leaf nobody reaches has neither
    shares nor an error rate. `value` is a predicted number, or its part of a sum or a mean.
    `scores` are what it adds to each class where several trees are added up.
    """

    label: str | None = None
    counts: Mapping[str, int | float] | None = None
    shares: Mapping[str, float] | None = None
    error_rate: float | None = None
    value: float | None = None
    scores: Mapping[str, float] | None = None

    @property
    def has_no_statistic(self) -> bool:
        """Does it publish no statistic of its people's classes?"""
        return self.counts is None and self.shares is None and self.error_rate is None

    @property
    def size(self) -> float | None:
        """People in the leaf, where the counts are published."""
        return None if self.counts is None else sum(self.counts.values())

    @property
    def words(self) -> str:
        """Its statistic as text."""
        if self.counts is not None:
            return ", ".join(f"{count} {name}" for name, count in self.counts.items() if count) or "nobody"
        if self.value is not None and self.label is None:
            return f"{self.value:.6g}"
        if self.shares is not None:
            return ", ".join(f"{share:.3g} {name}" for name, share in self.shares.items() if share)
        return f"{self.label}" + (f", error rate {self.error_rate:.3g}" if self.error_rate is not None else "")


class _Split:
    """A node with children."""

    @cached_property
    def arrays(self) -> TreeArrays:
        """The tree below as arrays; only those who need them load NumPy."""
        from leafgate.kernel.tree_arrays import arrays_of

        assert isinstance(self, NumericSplit | CategoricalSplit)
        return arrays_of(self)

    @property
    def kept_arrays(self) -> TreeArrays | None:
        """The same if they were computed before, so that what needs a few of them need not walk the tree."""
        return self.__dict__.get("arrays")


@dataclass(frozen=True)
class NumericSplit(_Split):
    """A numeric test: `column <= at` goes low, unless `strict`, which sends `< at` low."""

    column: str
    at: float
    low: Node
    high: Node
    missing: Literal["low", "high"] | None = None
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
    default: Node | None = None


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


def leaves(node: Node) -> Iterator[Leaf]:
    """Every leaf once, from left to right; deep trees need no recursion."""
    if not isinstance(node, Leaf) and node.kept_arrays is not None:
        yield from node.kept_arrays.leaves
        return
    waiting = [node]
    while waiting:
        here = waiting.pop()
        if isinstance(here, Leaf):
            yield here
        waiting.extend(reversed(children(here)))


def map_leaves(node: Node, change: Callable[[Leaf], Leaf]) -> Node:
    """The same tree with every leaf replaced by `change(leaf)`."""
    match node:
        case Leaf():
            return change(node)
        case NumericSplit():
            return replace(node, low=map_leaves(node.low, change), high=map_leaves(node.high, change))
        case CategoricalSplit():
            branches = tuple(Branch(b.values, map_leaves(b.node, change)) for b in node.branches)
            other = None if node.default is None else map_leaves(node.default, change)
            return replace(node, branches=branches, default=other)


def columns_asked(node: Node) -> frozenset[str]:
    """The columns that the tests of the tree read."""
    if not isinstance(node, Leaf) and node.kept_arrays is not None:
        return node.kept_arrays.columns_asked
    asked: set[str] = set()
    waiting = [node]
    while waiting:
        here = waiting.pop()
        if not isinstance(here, Leaf):
            asked.add(here.column)
        waiting.extend(children(here))
    return frozenset(asked)


MAX_DEPTH = 200
"""Deeper trees are refused: nothing people publish comes near it, and JSON readers give up beyond."""

MAX_TREES = 20_000
"""Files of more trees are refused: the largest ensembles that people fit have a few thousand, and each tree has a cost
of its own in every attack, however small it is."""
