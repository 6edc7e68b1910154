"""A release whose trees are cut back, so that every leaf contains at least so many people of the table.

It stands in for the model that the same learner would fit with a larger smallest leaf: the tests that remain are the
same, and those that would part fewer people are gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from leafgate.algorithms.routing import NOWHERE, Router, keep_merged, route
from leafgate.kernel.arrays import Floats, Ids, Mask
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.release import Release
from leafgate.kernel.table import Table
from leafgate.kernel.tree import Branch, Node, NumericSplit, TreeArrays, children, leaves, tree_arrays


@dataclass(frozen=True, eq=False)
class Pruning:
    """The trees of a release, with how many people of a table come to each node, to be cut back to leaves of any size.

    Args:
        release: a release of trees.
        table: all people, with the columns that the trees test.
    """

    release: Release
    table: Table

    def cut_back(self, smallest: int) -> Release:
        """The release; each test that sends fewer than `smallest` people of the table to a child is gone.

        What was below such a test becomes one leaf. Its counts are the sums of theirs, its shares, scores and numbers
        their means, weighted by the people who reach them.

        Args:
            smallest: from 1.
        """
        return replace(
            self.release,
            trees=tuple(tree.cut_back(smallest) for tree in self._trees),
            alternatives={name: tree.cut_back(smallest) for name, tree in self._alternatives.items()},
        )

    @cached_property
    def _trees(self) -> list[_CountedTree]:
        return [_CountedTree(tree, self.release, self.table) for tree in self.release.trees]

    @cached_property
    def _alternatives(self) -> dict[str, _CountedTree]:
        return {name: _CountedTree(tree, self.release, self.table) for name, tree in self.release.alternatives.items()}


@dataclass(frozen=True, eq=False)
class _CountedTree:
    """One tree of a release. What counts people has an entry for each position in `arrays.child`, the root's first."""

    root: Node
    release: Release
    table: Table

    def cut_back(self, smallest: int) -> Node:
        if isinstance(self.root, Leaf):
            return self.root
        fewest = np.minimum.reduceat(self._persons, self.arrays.first_child)
        cut = fewest < smallest
        if not cut.any():
            return self.root
        merged = self._cut(self.root, 0, cut.tolist())
        keep_merged(self.root, merged, self._merged_leaves(cut), self.table)
        return merged

    def _merged_leaves(self, cut: Mask) -> Ids:
        """For each leaf the one that stands in its place where the tests in `cut` are gone."""
        first, last = self.arrays.leaf_spans
        joins = np.zeros(self.arrays.n_leaves + 1, dtype=np.int64)
        np.add.at(joins, first[cut] + 1, 1)
        np.add.at(joins, last[cut], -1)
        return np.cumsum(np.cumsum(joins[:-1]) == 0) - 1

    def _cut(self, node: Node, number: int, cut: Sequence[bool]) -> Node:
        """The tree below a node; `number` is the node's own in `arrays`, `cut` states which tests are gone."""
        if isinstance(node, Leaf):
            return node
        if cut[number]:
            return self._merged(number)
        given, first = children(node), int(self.arrays.first_child[number])
        below = [self._cut(child, int(self.arrays.child[first + i]), cut) for i, child in enumerate(given)]
        if all(new is old for new, old in zip(below, given, strict=True)):
            return node
        if isinstance(node, NumericSplit):
            return replace(node, low=below[0], high=below[1])
        branches = tuple(Branch(each.values, child) for each, child in zip(node.branches, below, strict=False))
        return replace(node, branches=branches, default=None if node.default is None else below[-1])

    def _merged(self, number: int) -> Leaf:
        """One leaf in the place of all below a node."""
        first, last = (int(ends[number]) for ends in self.arrays.leaf_spans)
        weights = self._weight_of_leaves[first:last]
        weights = weights / weights.sum() if weights.sum() else np.full(len(weights), 1 / len(weights))
        parts = self.arrays.leaves[first:last]
        counts = self._sums(first, last)
        shares = _means([leaf.shares for leaf in parts], weights)
        numbers = [leaf.value for leaf in parts]
        value = None if None in numbers else float(np.dot(weights, np.array(numbers, dtype=float)))
        label, error = self._label(int(self.arrays.position[0][number]), counts or shares)
        return Leaf(
            label=label if any(leaf.label is not None for leaf in parts) else None,
            counts=counts,
            shares=shares,
            error_rate=error if any(leaf.error_rate is not None for leaf in parts) else None,
            value=value,
            scores=_means([leaf.scores for leaf in parts], weights),
        )

    @cached_property
    def arrays(self) -> TreeArrays:
        return tree_arrays(self.root)

    @property
    def _leaf(self) -> Ids:
        """The leaf that each row of the table reaches; it is not kept, because a forest has many such trees."""
        return route(self.root, self.table).leaf

    @cached_property
    def _persons(self) -> Floats:
        """How many people come to each node, as limits count them."""
        return self._per_node(self.table.persons.astype(np.float64))

    @cached_property
    def _people_of_class(self) -> Floats:
        """How many people of each class come to each node, by weight: shape (n_positions, n_classes)."""
        codes, classes = self.table.codes(self.release.target), range(len(self.release.classes))
        return np.column_stack([self._per_node(self.table.weight * (codes == code)) for code in classes])

    @cached_property
    def _weight_of_leaves(self) -> Floats:
        return self._per_leaf(self.table.weight.astype(np.float64))

    def _per_leaf(self, amounts: Floats) -> Floats:
        leaf = self._leaf
        reached = leaf != NOWHERE
        people = np.bincount(leaf[reached], weights=amounts[reached], minlength=self.arrays.n_leaves)
        return people.astype(np.float64)

    def _per_node(self, amounts: Floats) -> Floats:
        """The sum of the rows' amounts, whole numbers, at each node."""
        arrays, of_leaf = self.arrays, self._per_leaf(amounts)
        upto = np.append(0.0, np.cumsum(of_leaf))
        first, last = arrays.leaf_spans
        at_node, at_leaf = arrays.position
        total = np.zeros(len(arrays.child))
        total[at_leaf], total[at_node] = of_leaf, upto[last] - upto[first]
        for position, rows in self._lost:
            total[position] += amounts[rows].sum()
        return total

    @cached_property
    def _lost(self) -> list[tuple[int, Ids]]:
        """The rows that reach no leaf, at each node on their way."""
        router, at_node = Router(self.arrays, self.table), self.arrays.position[0]
        found, waiting = list[tuple[int, Ids]](), [(0, np.flatnonzero(self._leaf == NOWHERE))]
        while waiting:
            node, rows = waiting.pop()
            if len(rows):
                found.append((int(at_node[node]), rows))
                waiting.extend((child, rows[takes]) for child, takes in router.divide(node, rows) if child > 0)
        return found

    def _sums(self, first: int, last: int) -> dict[str, int | float] | None:
        """The sums of the counts of some leaves; None where a leaf publishes none."""
        if self._counts is None:
            return _sums([leaf.counts for leaf in self.arrays.leaves[first:last]])
        return dict(zip(self.release.classes, (self._counts[last] - self._counts[first]).tolist(), strict=True))

    @cached_property
    def _counts(self) -> Ids | None:
        """The counts of all leaves before each; None where some are not whole, or not of each class in turn."""
        names = self.release.classes
        counts = [leaf.counts for leaf in self.arrays.leaves]
        if not all(each is not None and tuple(each) == names for each in counts):
            return None
        rows = [tuple(each.values()) for each in counts if each is not None]
        if not all(type(number) is int for row in rows for number in row):
            return None
        return np.concatenate([np.zeros((1, len(names)), dtype=np.int64), np.cumsum(rows, axis=0)])

    def _label(self, position: int, published: Mapping[str, float] | None) -> tuple[str | None, float | None]:
        """The commonest class, by what the leaf publishes, else by its people; and the share of people with another."""
        classes = self.release.classes
        if not classes:
            return None, None
        people = self._people_of_class[position]
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


def is_constant(release: Release) -> bool:
    """Does the release predict the same for everybody, by whatever it publishes?

    Its trees are single leaves, or labels decide alone and all leaves have the same.
    """
    if largest_leaf_count(release) == 1:
        return True
    if not release.trees or release.predicts_numbers or not _labels_alone(release):
        return False
    return len({leaf.label for tree in release.trees for leaf in leaves(tree)}) == 1


def _labels_alone(release: Release) -> bool:
    """Are the labels of its leaves all that a prediction follows from?"""
    return release.combine == "vote" or release.publish.leaves in {"labels", "error_rates"}
