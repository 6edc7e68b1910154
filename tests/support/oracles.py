"""Definition 4 by brute force: walk everyone down the trees with every private value they could have.

Friedman, Schuster, Wolff, "k-Anonymous Decision Tree Induction", PKDD 2006: a person's span is the set of
bins (leaf and class) they could land in when private cells vary and public ones stay.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from leafgate import Table
from leafgate.api import AdversaryKnowledge, CategoricalSplit, Column, Leaf, Node, NumericSplit, Schema, children

Cell = str | float | None
Person = dict[str, Cell]
People = list[tuple[Person, int]]
Path = tuple[int, ...] | None
"""Which child was taken at every step; None for those who end nowhere."""

Bins = frozenset[tuple[tuple[Path, ...], Cell]]


def persons(frame: pd.DataFrame) -> list[Person]:
    """The rows of a frame as dicts, None where a cell is missing."""
    items = [[None if cell != cell else cell for cell in frame[name].tolist()] for name in frame]  # NaN is not itself
    return [dict(zip(map(str, frame), row, strict=True)) for row in zip(*items, strict=True)]


def people_of(table: Table) -> People:
    """Each distinct record and how many people share it."""
    return list(zip(persons(table.frame), table.weight.tolist(), strict=True))


def way(node: NumericSplit | CategoricalSplit, cell: Cell) -> int | None:
    """Which child a cell leads to; None if none takes it."""
    if isinstance(node, CategoricalSplit):
        for i, branch in enumerate(node.branches):
            if cell in branch.values:
                return i
        return None if node.default is None else len(node.branches)
    if cell is None:
        return 0 if node.missing == "low" else 1
    number = float(np.float32(cell)) if node.float32 else float(cell)
    return 0 if number < node.at or (number == node.at and not node.strict) else 1


def ways(node: NumericSplit | CategoricalSplit, people: People) -> Iterator[tuple[Node, People]]:
    """Each child with the people who go there."""
    for i, child in enumerate(children(node)):
        yield child, [(person, n) for person, n in people if way(node, person[node.column]) == i]


def path_of(tree: Node, person: Person) -> Path:
    """The way one person takes down a tree."""
    path: list[int] = []
    node = tree
    while not isinstance(node, Leaf):
        step = way(node, person[node.column])
        if step is None:
            return None
        path.append(step)
        node = children(node)[step]
    return tuple(path)


def leaf_at(tree: Node, path: Path) -> Leaf | None:
    """The leaf at the end of a path."""
    node = tree
    for step in path or ():
        node = children(node)[step]
    return node if isinstance(node, Leaf) and path is not None else None


def leaf_number(tree: Node, person: Person) -> int:
    """The position of the leaf that a person reaches, among all leaves from left to right; -1 where no branch does."""
    number, node = 0, tree
    while not isinstance(node, Leaf):
        step = way(node, person[node.column])
        if step is None:
            return -1
        number += sum(isinstance(each, Leaf) for child in children(node)[:step] for each in nodes(child))
        node = children(node)[step]
    return number


def class_counts(tree: Node, people: People, target: str, classes: Sequence[str]) -> list[dict[str, int]]:
    """How many people of each class reach each leaf, from left to right."""
    counts = [dict.fromkeys(classes, 0) for each in nodes(tree) if isinstance(each, Leaf)]
    for person, n in people:
        if (number := leaf_number(tree, person)) >= 0:
            counts[number][str(person[target])] += n
    return counts


def filled(tree: Node, leaves: Iterator[Leaf]) -> Node:
    """The tree with these leaves, from left to right, in place of its own."""
    if isinstance(tree, Leaf):
        return next(leaves)
    below = [filled(child, leaves) for child in children(tree)]
    if isinstance(tree, NumericSplit):
        return replace(tree, low=below[0], high=below[1])
    branches = tuple(replace(branch, node=node) for branch, node in zip(tree.branches, below, strict=False))
    return replace(tree, branches=branches, default=None if tree.default is None else below[-1])


def nodes(tree: Node) -> Iterator[Node]:
    """Every node of a tree."""
    yield tree
    for child in children(tree):
        yield from nodes(child)


def cells_to_try(column: Column, trees: Sequence[Node]) -> list[Cell]:
    """Every value, or enough numbers within the bounds to fall on either side of every threshold."""
    if column.values is not None:
        return list(column.domain)
    low, high = column.bounds or (-math.inf, math.inf)
    at = {n.at for tree in trees for n in nodes(tree) if isinstance(n, NumericSplit) and n.column == column.name}
    near = {number for t in at for number in (math.nextafter(t, -math.inf), t, math.nextafter(t, math.inf))}
    found: list[Cell] = [number for number in sorted(near | {low, high}) if low <= number <= high]
    return [*found, None] if column.missing else found


def lives(public: Person, trees: Sequence[Node], schema: Schema) -> Iterator[Person]:
    """One person with every combination of values in the unknown columns that the trees ask about."""
    asked = {n.column for tree in trees for n in nodes(tree) if isinstance(n, NumericSplit | CategoricalSplit)}
    unknown = [column for column in schema.features if not column.public and column.name in asked]
    for chosen in product(*(cells_to_try(column, trees) for column in unknown)):
        yield public | dict(zip((column.name for column in unknown), chosen, strict=True))


def span(public: Person, trees: Sequence[Node], schema: Schema) -> Bins:
    """The bins of Definition 4; for several trees a bin is one leaf of each."""
    target = schema.target
    classes: Iterable[Cell] = [public[target.name]] if target.public else schema.classes
    ends = {tuple(path_of(tree, life) for tree in trees) for life in lives(public, trees, schema)}
    return frozenset(product(ends, classes))


def spans(trees: Sequence[Node], known: AdversaryKnowledge) -> list[Bins]:
    """The span of each public record."""
    return [span(public, trees, known.schema) for public in persons(known.records)]


def numbered(keys: Iterable[Hashable]) -> list[int]:
    """A partition in one way of writing: groups numbered in the order they appear."""
    seen: dict[Hashable, int] = {}
    return [seen.setdefault(key, len(seen)) for key in keys]


def group_sizes(groups: Sequence[int], weight: Iterable[int]) -> dict[int, int]:
    """People in each group."""
    sizes = dict.fromkeys(groups, 0)
    for group, people in zip(groups, weight, strict=True):
        sizes[group] += int(people)
    return sizes
