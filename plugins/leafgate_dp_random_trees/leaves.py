"""Leaves that tell numbers of each class, and what follows from these alone: a label, and scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from leafgate.release import map_leaves
from leafgate.schema import Schema
from leafgate.tree import Leaf, Node
from leafgate_dp_random_trees.cells import Floats
from leafgate_dp_random_trees.coins import Ids
from leafgate_dp_random_trees.evidence import leaf_scores

DECIMALS = 4
"""Of scores: more would tell nothing, and leave room to tell something else."""


def told(trees: Sequence[tuple[Node, Ids]], schema: Schema, *, scored: bool, k: int = 1) -> Iterator[Node]:
    """The trees with their numbers on the leaves, and with scores if `scored`.

    A leaf's label is its most frequent class, the first of equals; it has none where it shows nobody.
    """
    counted = [_with_counts(tree, numbers, schema.classes) for tree, numbers in trees]
    if not scored:
        yield from counted
        return
    for tree, scores in zip(counted, summed_scores(counted, schema, k), strict=True):
        yield _with_scores(tree, scores, schema.classes)


def summed_scores(trees: Sequence[Node], schema: Schema, k: int) -> list[Floats]:
    """The scores of each tree's leaves, which need only be added: the first tree's have the constant in them."""
    constant, scores = leaf_scores(trees, schema, k)
    return [np.round(each + constant if not i else each, DECIMALS) + 0.0 for i, each in enumerate(scores)]


def _with_counts(tree: Node, numbers: Ids, classes: Sequence[str]) -> Node:
    labels = np.where(numbers.any(axis=1), numbers.argmax(axis=1), len(classes)).tolist()
    rows = zip(labels, numbers.tolist(), strict=True)
    names = (*classes, None)

    def leaf(_: Leaf) -> Leaf:
        label, row = next(rows)
        return Leaf(names[label], dict(zip(classes, row, strict=True)))

    return map_leaves(tree, leaf)


def _with_scores(tree: Node, scores: Floats, classes: Sequence[str]) -> Node:
    rows = iter(scores)

    def leaf(counted: Leaf) -> Leaf:
        told = dict(zip(classes, next(rows).tolist(), strict=True))
        return Leaf(counted.label, counted.counts, scores=told)

    return map_leaves(tree, leaf)
