"""A tree while it grows: nodes with their records, splitting, and the finished value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leafgate.algorithms.induction.encoding import EncodedTable
from leafgate.algorithms.induction.histograms import PIECE_ROWS
from leafgate.algorithms.induction.selection import Choice
from leafgate.kernel.arrays import CompactIds, Floats
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.schema import Schema
from leafgate.kernel.tree import MAX_DEPTH, Branch, CategoricalSplit, Node, NumericSplit


@dataclass(eq=False)
class GrowingNode:
    """A node that may still be split.

    `counts` are people per class, `label` the most frequent class (an empty node's parent's);
    `possible` the codes a categorical feature can have here, where a test above limits them.
    """

    rows: CompactIds
    counts: Floats
    label: int
    parent: GrowingNode | None = None
    depth: int = 0
    possible: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    choice: Choice | None = None
    children: list[GrowingNode] = field(default_factory=list)

    @property
    def people(self) -> float:
        return float(self.counts.sum())

    def surviving_ancestor(self) -> GrowingNode:
        """This leaf, or the leaf that pruning put in its place."""
        path = [self]
        while path[-1].parent is not None:
            path.append(path[-1].parent)
        return next(node for node in reversed(path) if not node.children)

    def below(self) -> Iterator[GrowingNode]:
        """This node and all below it, sons after their parents."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(node.children)


def class_counts(coded: EncodedTable, rows: CompactIds) -> Floats:
    """People per class among some records."""
    counts = np.zeros(coded.n_classes)
    for start in range(0, len(rows), PIECE_ROWS):
        piece = rows[start : start + PIECE_ROWS]
        counts += np.bincount(coded.classes[piece], weights=coded.weight[piece], minlength=coded.n_classes)
    return counts


def growing_node(coded: EncodedTable, rows: CompactIds, above: GrowingNode | None = None) -> GrowingNode:
    """A node that holds `rows`."""
    counts = class_counts(coded, rows)
    label = int(counts.argmax()) if len(rows) or above is None else above.label
    if above is None:
        return GrowingNode(rows, counts, label)
    return GrowingNode(rows, counts, label, above, above.depth + 1, dict(above.possible))


def recount(coded: EncodedTable, root: GrowingNode) -> None:
    """Give every node of a tree that was grown by other classes the people and the label of these ones."""
    for node in root.below():
        node.counts = class_counts(coded, node.rows)
        node.label = int(node.counts.argmax()) if len(node.rows) or node.parent is None else node.parent.label


def sides(coded: EncodedTable, choice: Choice, codes: CompactIds) -> CompactIds:
    """For each code of the chosen feature the son it goes to: 0 and 1 for a cut, else its group. In small integers."""
    feature = coded.features[choice.feature]
    if feature.numeric:
        return (codes > choice.code).astype(np.uint8)
    return np.asarray(feature.small_levels[choice.level][codes])


def son_groups(coded: EncodedTable, node: GrowingNode, choice: Choice) -> NDArray[np.int64]:
    """The sides that exist at this node, in order; each becomes one son, empty or not."""
    feature = coded.features[choice.feature]
    if feature.numeric:
        return np.array([0, 1])
    possible = node.possible.get(choice.feature, np.arange(feature.size))
    return np.unique(feature.levels[choice.level][possible])


def split(coded: EncodedTable, node: GrowingNode, choice: Choice) -> list[GrowingNode]:
    """Split the node, one son for each value that is possible here; returns the sons."""
    node.choice, node.children = choice, children_of(coded, node, choice)
    return node.children


def children_of(coded: EncodedTable, node: GrowingNode, choice: Choice) -> list[GrowingNode]:
    """The sons that a split would give the node, which stays as it is."""
    feature, groups = coded.features[choice.feature], son_groups(coded, node, choice)
    side = sides(coded, choice, coded.codes[:, choice.feature][node.rows])
    order = np.argsort(side, kind="stable")
    side, wanted = side[order], groups.astype(side.dtype)  # of one type, so that neither is copied
    starts, ends = np.searchsorted(side, wanted, side="left"), np.searchsorted(side, wanted, side="right")
    children = []
    for group, start, end in zip(groups, starts, ends, strict=True):
        son = growing_node(coded, node.rows[order[start:end]], node)
        if not feature.numeric:
            possible = node.possible.get(choice.feature, np.arange(feature.size))
            son.possible[choice.feature] = possible[feature.levels[choice.level][possible] == group]
        children.append(son)
    return children


def may_split(node: GrowingNode, min_split: float = 0) -> bool:
    """Is it worth looking for a test: more than one class, enough people, and not absurdly deep?"""
    if node.depth >= MAX_DEPTH or np.count_nonzero(node.counts > 0) < 2:
        return False
    return min_split <= 0 or node.people >= min_split


def finished(coded: EncodedTable, node: GrowingNode, schema: Schema) -> Node:
    """The grown tree as a value, exact counts on its leaves."""
    if not node.children or node.choice is None:
        counts = dict(zip(schema.classes, map(int, node.counts), strict=True))
        return Leaf(schema.classes[node.label], counts)
    feature = coded.features[node.choice.feature]
    below = [finished(coded, son, schema) for son in node.children]
    if feature.numeric:
        missing: Literal["low"] | None = "low" if feature.column.missing else None
        return NumericSplit(feature.column.name, feature.threshold(node.choice.code), below[0], below[1], missing)
    branches = (
        Branch(tuple(feature.values[code] for code in son.possible[node.choice.feature]), tree)
        for son, tree in zip(node.children, below, strict=True)
    )
    return CategoricalSplit(feature.column.name, tuple(branches))
