"""Tree structures drawn from the declared domains alone, and the checks that a structure was drawn so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from leafgate.api import Branch, CategoricalSplit, Column, Floats, Leaf, Node, NumericSplit, Schema, columns_asked
from leafgate.kernel.tree import map_leaves

Bounds = Mapping[str, tuple[float, float]]


def draw_random_trees(schema: Schema, depth: int, trees: int, rng: np.random.Generator) -> Iterator[Node]:
    """Trees in which every node tests a column drawn at random."""
    return (draw_random_tree(schema, depth, rng) for _ in range(trees))


def draw_random_tree(schema: Schema, depth: int, rng: np.random.Generator) -> Node:
    """A tree of `depth` tests on every path, fewer where the columns run out; its leaves are empty.

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
    return CategoricalSplit(
        column.name, tuple(Branch((value,), node) for value, node in zip(column.domain, below, strict=True))
    )


def _cut(
    column: Column, schema: Schema, depth: int, rng: np.random.Generator, bounds: Bounds, asked: tuple[str, ...]
) -> Node:
    low, high = bounds[column.name]
    at = float(rng.uniform(low, high))
    sides = ({**bounds, column.name: side} for side in ((low, at), (at, high)))
    left, right = (_node(schema, depth - 1, rng, side, asked) for side in sides)
    return NumericSplit(column.name, at, left, right)


def random_structure_violations(trees: Sequence[Node], schema: Schema, depth: Any) -> Iterator[str]:
    """Violations: trees that `draw_random_tree` cannot draw from these domains at this depth."""
    whole = {column.name: column.bounds or (0.0, 0.0) for column in schema.features if column.numeric}
    if not all(_is_random(tree, schema, depth, whole, ()) for tree in trees):
        yield "a tree asks what is not drawn from the declared domains"


def _is_random(node: Node, schema: Schema, depth: Any, bounds: Bounds, asked: tuple[str, ...]) -> bool:
    left = [column.name for column in schema.features if column.name not in asked]
    if isinstance(node, Leaf):
        return not depth or not left
    if not isinstance(depth, int) or depth < 1 or node.column not in left:
        return False
    if isinstance(node, CategoricalSplit):
        whole = [(value,) for value in schema[node.column].domain]
        below = (*asked, node.column)
        return (
            node.default is None
            and [branch.values for branch in node.branches] == whole
            and all(_is_random(branch.node, schema, depth - 1, bounds, below) for branch in node.branches)
        )
    if node.missing or node.strict or node.float32:
        return False
    low, high = bounds[node.column]
    sides = zip(((low, node.at), (node.at, high)), (node.low, node.high), strict=True)
    return low <= node.at <= high and all(
        _is_random(child, schema, depth - 1, {**bounds, node.column: side}, asked) for side, child in sides
    )


CUTS = 7
"""Cuts of a numeric column in one tree: eight cells, a binary tree of depth three."""
SKEW = 3.0
"""Half of the trees crowd their cuts at the low end (a uniform number to this power): amounts are mostly small."""


def usable_columns(schema: Schema) -> tuple[Column, ...]:
    """The columns worth a test: declared by values or bounds, and more than one value."""
    return tuple(c for c in schema.features if (c.bounds is not None if c.values is None else len(c.domain) > 1))


def draw_balanced_trees(schema: Schema, depth: int, trees: int, rng: np.random.Generator) -> Iterator[Node]:
    """Trees that each ask up to `depth` whole columns, one after the other; their leaves are empty.

    A categorical column branches into each of its values, a numeric one into CUTS + 1 intervals, the same ones in the
    whole tree: then every leaf is a cell of a table, and cells are comparable.
    """
    for names in assign_columns(schema, depth, trees, rng):
        node: Node = Leaf()
        for name in reversed(names):
            node = _split_on(schema[name], node, rng)
        yield node


def _split_on(column: Column, below: Node, rng: np.random.Generator) -> Node:
    if column.values is None:
        return _halved(column.name, draw_cuts(column, rng), below)
    return CategoricalSplit(column.name, tuple(Branch((value,), below) for value in column.domain))


def draw_cuts(column: Column, rng: np.random.Generator) -> Floats:
    """Ascending places to cut a numeric column at, one in each of CUTS equal parts of its bounds, or of its low end.

    One in each part, since cuts that fall close together are wasted.
    """
    low, high = column.bounds or (0.0, 1.0)
    power = SKEW if rng.random() < 0.5 else 1.0
    return np.unique(low + (high - low) * ((np.arange(CUTS) + rng.random(CUTS)) / CUTS) ** power)


def _halved(name: str, at: Floats, below: Node) -> Node:
    if not len(at):
        return below
    middle = len(at) // 2
    low, high = (_halved(name, part, below) for part in (at[:middle], at[middle + 1 :]))
    return NumericSplit(name, float(at[middle]), low, high)


def assign_columns(schema: Schema, depth: int, trees: int, rng: np.random.Generator) -> list[tuple[str, ...]]:
    """The columns each tree asks: first none, then each column alone, then `depth` at a time.

    The first ones have the fewest suppressed counters: they show how many people there are and what each column
    says, where all cells of deeper trees are too small. After that every column is asked equally often and, at
    depth 2, every pair too, up to one tree: dealt as in a tournament where each plays everybody. Chance would leave
    some pairs out, and what is known of two columns together keeps their evidence from being counted twice.
    """
    names = [column.name for column in usable_columns(schema)] if depth else []
    if not names:
        return [()] * trees
    dealt: list[tuple[str, ...]] = [(), *((name,) for name in names)]
    while len(dealt) < trees:
        deck = [names[i] for i in rng.permutation(len(names))]
        dealt += _tournament(deck) if depth == 2 and len(deck) > 2 else _groups_of_columns(deck, depth, rng)
    return dealt[:trees]


def _tournament(deck: Sequence[str]) -> list[tuple[str, ...]]:
    circle: list[str | None] = [*deck, *([None] if len(deck) % 2 else [])]
    pairs: list[tuple[str, ...]] = []
    for _ in range(len(circle) - 1):
        for one, other in zip(circle[: len(circle) // 2], reversed(circle[len(circle) // 2 :]), strict=True):
            if one is not None and other is not None:
                pairs.append((one, other))
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return pairs


def _groups_of_columns(deck: Sequence[str], depth: int, rng: np.random.Generator) -> list[tuple[str, ...]]:
    size = min(depth, len(deck))
    row = [*deck, *(deck[i] for i in rng.permutation(len(deck)))]
    hands = [tuple(row[i : i + size]) for i in range(0, len(deck), size)]
    return [hand for hand in hands if len(set(hand)) == size]


def balanced_structure_violations(trees: Sequence[Node], schema: Schema, depth: int) -> Iterator[str]:
    """Violations: trees that `draw_balanced_trees` cannot draw from these domains at this depth."""
    known = {column.name for column in usable_columns(schema)}
    bare = [map_leaves(tree, lambda leaf: Leaf()) for tree in trees]
    first = [(), *((column.name,) for column in usable_columns(schema))] if depth else []
    begun = all(columns_asked(tree) == frozenset(names) for tree, names in zip(bare, first, strict=False))
    if not begun or not all(_is_balanced(tree, schema, depth, known) for tree in bare):
        yield "a tree asks what is not dealt from the declared domains"


def _is_balanced(node: Node, schema: Schema, depth: int, left: set[str]) -> bool:
    """Is it a whole column, with one and the same of such trees below every answer?"""
    if isinstance(node, Leaf):
        return True
    if not depth or node.column not in left:
        return False
    name = node.column
    if isinstance(node, CategoricalSplit):
        whole = [(value,) for value in schema[name].domain]
        if node.default is not None or [branch.values for branch in node.branches] != whole:
            return False
        below = [branch.node for branch in node.branches]
    else:
        at, below = _cut_at(node, name)
        if not at:
            return False
        low, high = schema[name].bounds or (0.0, 0.0)
        if len(at) > CUTS or at != sorted(set(at)) or not low <= at[0] <= at[-1] <= high:
            return False
    same = all(each == below[0] for each in below[1:])
    return same and _is_balanced(below[0], schema, depth - 1, left - {name})


def _cut_at(node: Node, name: str) -> tuple[list[float], list[Node]]:
    """Where a column is cut, from left to right, and what is below."""
    if not isinstance(node, NumericSplit) or node.column != name or node.missing or node.strict or node.float32:
        return [], [node]
    (low, left), (high, right) = _cut_at(node.low, name), _cut_at(node.high, name)
    return [*low, node.at, *high], [*left, *right]
