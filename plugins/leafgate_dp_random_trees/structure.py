"""What a tree asks, drawn from the declared domains alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from leafgate.schema import Column, Schema
from leafgate.tree import Branch, Cut, Fan, Leaf, Node

Bounds = Mapping[str, tuple[float, float]]


def forest(schema: Schema, depth: int, trees: int, rng: np.random.Generator) -> Iterator[Node]:
    """Trees whose every node asks a column drawn anew."""
    return (drawn(schema, depth, rng) for _ in range(trees))


def drawn(schema: Schema, depth: int, rng: np.random.Generator) -> Node:
    """A tree of `depth` tests on every path, fewer where the columns run out; its leaves tell nothing.

    A column with values is asked once on a path, one branch a value; a number again and again, each time cut somewhere
    in what the cuts above leave of its bounds, all places being equally likely.

    Source: W. Fan, H. Wang, P. S. Yu, S. Ma, "Is Random Model Better? On Its Accuracy and Efficiency", ICDM 2003.
    """
    return _node(schema, depth, rng, {c.name: c.bounds or (0.0, 0.0) for c in schema.features if c.numeric}, ())


def _node(schema: Schema, depth: int, rng: np.random.Generator, bounds: Bounds, asked: tuple[str, ...]) -> Node:
    left = [column for column in schema.features if column.name not in asked]
    if not depth or not left:
        return Leaf()
    column = left[int(rng.integers(len(left)))]
    if column.numeric:
        return _cut(column, schema, depth, rng, bounds, asked)
    below = (_node(schema, depth - 1, rng, bounds, (*asked, column.name)) for _ in column.domain)
    return Fan(column.name, tuple(Branch((value,), node) for value, node in zip(column.domain, below, strict=True)))


def _cut(
    column: Column, schema: Schema, depth: int, rng: np.random.Generator, bounds: Bounds, asked: tuple[str, ...]
) -> Node:
    low, high = bounds[column.name]
    at = float(rng.uniform(low, high))
    sides = ({**bounds, column.name: side} for side in ((low, at), (at, high)))
    left, right = (_node(schema, depth - 1, rng, side, asked) for side in sides)
    return Cut(column.name, at, left, right)


def undrawn(trees: Sequence[Node], schema: Schema, depth: Any) -> Iterator[str]:
    """What about the trees cannot have been drawn from these domains with so many tests on a path."""
    whole = {column.name: column.bounds or (0.0, 0.0) for column in schema.features if column.numeric}
    if not all(_can_be_drawn(tree, schema, depth, whole, ()) for tree in trees):
        yield "a tree asks what is not drawn from the declared domains"


def _can_be_drawn(node: Node, schema: Schema, depth: Any, bounds: Bounds, asked: tuple[str, ...]) -> bool:
    left = [column.name for column in schema.features if column.name not in asked]
    if isinstance(node, Leaf):
        return not depth or not left
    if not isinstance(depth, int) or depth < 1 or node.column not in left:
        return False
    if isinstance(node, Fan):
        whole = [(value,) for value in schema[node.column].domain]
        below = (*asked, node.column)
        return (
            node.other is None
            and [branch.values for branch in node.branches] == whole
            and all(_can_be_drawn(branch.node, schema, depth - 1, bounds, below) for branch in node.branches)
        )
    if node.missing or node.strict or node.float32:
        return False
    low, high = bounds[node.column]
    sides = zip(((low, node.at), (node.at, high)), (node.low, node.high), strict=True)
    return low <= node.at <= high and all(
        _can_be_drawn(child, schema, depth - 1, {**bounds, node.column: side}, asked) for side, child in sides
    )
