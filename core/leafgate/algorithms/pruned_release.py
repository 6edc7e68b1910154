"""A release whose trees are cut back, so that every leaf holds at least so many people of the table.

It stands in for the model that the same learner would fit with a larger smallest leaf: the tests that remain are the
same, and those that would part fewer people are gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from leafgate.algorithms.routing import split_rows
from leafgate.types.tree import Branch, Leaf, Node, NumericSplit, leaves

if TYPE_CHECKING:
    from leafgate.types.arrays import Rows
    from leafgate.types.release import Release
    from leafgate.types.table import Table


def pruned_release(release: Release, table: Table, smallest: int) -> Release:
    """The release; each test of its trees that sends fewer than `smallest` people of the table to a child is gone.

    What was below such a test becomes one leaf. Its counts are the sums of theirs, its shares, scores and numbers their
    means, weighted by the people who reach them.

    Args:
        release: a release of trees.
        table: all people, with the columns that the trees test.
        smallest: from 1.
    """
    pruning = _Pruning(release, table, smallest)
    return replace(
        release,
        trees=tuple(map(pruning.tree, release.trees)),
        alternatives={name: pruning.tree(tree) for name, tree in release.alternatives.items()},
    )


@dataclass(frozen=True)
class _Pruning:
    release: Release
    table: Table
    smallest: int

    def tree(self, root: Node) -> Node:
        return self._pruned(root, np.arange(len(self.table)))

    def _people(self, rows: Rows) -> int:
        return int(self.table.persons[rows].sum())

    def _pruned(self, node: Node, rows: Rows) -> Node:
        if isinstance(node, Leaf):
            return node
        below = list(split_rows(node, self.table, rows))
        if any(self._people(some) < self.smallest for _, some in below):
            return self._merged(node, rows)
        children = [self._pruned(child, some) for child, some in below]
        if isinstance(node, NumericSplit):
            return replace(node, low=children[0], high=children[1])
        branches = tuple(Branch(each.values, child) for each, child in zip(node.branches, children, strict=False))
        return replace(node, branches=branches, default=None if node.default is None else children[-1])

    def _merged(self, node: Node, rows: Rows) -> Leaf:
        """One leaf in the place of all below a node."""
        reached = list(self._leaves(node, rows))
        weights = np.array([self.table.weight[some].sum() for _, some in reached], dtype=float)
        weights = weights / weights.sum() if weights.sum() else np.full(len(reached), 1 / len(reached))
        parts = [leaf for leaf, _ in reached]
        counts = _sums([leaf.counts for leaf in parts])
        shares = _means([leaf.shares for leaf in parts], weights)
        numbers = [leaf.value for leaf in parts]
        value = None if None in numbers else float(np.dot(weights, np.array(numbers, dtype=float)))
        label, error = self._label(rows, counts or shares)
        return Leaf(
            label=label if any(leaf.label is not None for leaf in parts) else None,
            counts=counts,
            shares=shares,
            error_rate=error if any(leaf.error_rate is not None for leaf in parts) else None,
            value=value,
            scores=_means([leaf.scores for leaf in parts], weights),
        )

    def _leaves(self, node: Node, rows: Rows) -> list[tuple[Leaf, Rows]]:
        """Every leaf below a node with the rows that reach it."""
        if isinstance(node, Leaf):
            return [(node, rows)]
        return [pair for child, some in split_rows(node, self.table, rows) for pair in self._leaves(child, some)]

    def _label(self, rows: Rows, published: Mapping[str, float] | None) -> tuple[str | None, float | None]:
        """The commonest class, by what the leaf publishes, else by its people; and the share of people with another."""
        classes = self.release.classes
        if not classes:
            return None, None
        codes = self.table.codes(self.release.target)[rows]
        people = np.bincount(codes[codes >= 0], weights=self.table.weight[rows][codes >= 0], minlength=len(classes))
        label = max(published, key=lambda name: published[name]) if published else classes[int(people.argmax())]
        total = people.sum()
        return label, float(1 - people[classes.index(label)] / total) if total else None


def _sums(parts: Sequence[Mapping[str, int | float] | None]) -> dict[str, int | float] | None:
    """The sums of published counts; None where a leaf publishes none."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    names = dict.fromkeys(name for part in known for name in part)
    return {name: sum(part.get(name, 0) for part in known) for name in names}


def _means(parts: Sequence[Mapping[str, float] | None], weights: np.ndarray) -> dict[str, float] | None:
    """The weighted means of the parts that are there; None where there are none."""
    known = [(part, weight) for part, weight in zip(parts, weights, strict=True) if part is not None]
    if not known:
        return None
    total = sum(weight for _, weight in known) or 1.0
    names = dict.fromkeys(name for part, _ in known for name in part)
    return {name: float(sum(part.get(name, 0.0) * weight for part, weight in known) / total) for name in names}


def largest_leaf_count(release: Release) -> int:
    """How many leaves the largest tree has."""
    return max((sum(1 for _ in leaves(tree)) for tree in release.trees), default=0)
