"""Routing: which leaf of a tree each row of a table reaches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leafgate.types.arrays import Rows
from leafgate.types.release import Release
from leafgate.types.table import Table
from leafgate.types.tree import CategoricalSplit, Leaf, Node, NumericSplit, leaves

NOWHERE = -1


def goes_low(cut: NumericSplit, numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which numbers take the low branch; missing ones (NaN) take the branch that the split names, else high."""
    return _low(cut, _single(numbers) if cut.float32 else numbers)


def _single(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        return numbers.astype(np.float32).astype(np.float64)


def _low(cut: NumericSplit, numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """The same for numbers that are already in the precision of the test."""
    low = numbers < cut.at if cut.strict else numbers <= cut.at
    return low | np.isnan(numbers) if cut.missing == "low" else low


def branch_of_code(fan: CategoricalSplit, table: Table) -> NDArray[np.int64]:
    """Return for each code of the column's domain the position of the child that takes it, NOWHERE if none does."""
    position = {value: i for i, branch in enumerate(fan.branches) for value in branch.values}
    elsewhere = NOWHERE if fan.default is None else len(fan.branches)
    return np.array([position.get(value, elsewhere) for value in table.schema[fan.column].domain])


Cells = dict[tuple[str, bool], NDArray[np.float64]]
"""Numeric columns, in single precision or not, cached over the nodes of a tree."""


def split_rows(
    node: NumericSplit | CategoricalSplit, table: Table, rows: Rows, cells: Cells | None = None
) -> Iterator[tuple[Node, Rows]]:
    """Yield each child with the rows that take its branch; rows that no branch names are in none."""
    if isinstance(node, NumericSplit):
        cells = {} if cells is None else cells
        key = node.column, node.float32
        if key not in cells:
            numbers = table.numbers(node.column)
            cells[key] = _single(numbers) if node.float32 else numbers
        low = _low(node, cells[key].take(rows))
        yield node.low, rows.compress(low)
        yield node.high, rows.compress(~low)
        return
    taken = branch_of_code(node, table).take(table.codes(node.column).take(rows))
    for i, branch in enumerate(node.branches):
        yield branch.node, rows.compress(taken == i)
    if node.default is not None:
        yield node.default, rows.compress(taken == len(node.branches))


@dataclass(frozen=True)
class Routed:
    """The leaves of one tree from left to right, and each row's leaf (NOWHERE if it has none)."""

    leaves: tuple[Leaf, ...]
    leaf: NDArray[np.int64]


def route(tree: Node, table: Table) -> Routed:
    """Send every row of the table down the tree."""
    where = np.full(len(table), NOWHERE, dtype=np.int64)
    tree_leaves: list[Leaf] = []
    waiting: list[tuple[Node, Rows]] = [(tree, np.arange(len(table)))]
    cells: Cells = {}
    while waiting:
        node, rows = waiting.pop()
        if isinstance(node, Leaf):
            where[rows] = len(tree_leaves)
            tree_leaves.append(node)
        elif not len(rows):
            tree_leaves.extend(leaves(node))
        else:
            waiting.extend(reversed(list(split_rows(node, table, rows, cells))))
    return Routed(tuple(tree_leaves), where)


def count_leaves(release: Release) -> int:
    """Return the number of leaves of all trees of the release."""
    return sum(1 for tree in release.trees for _ in leaves(tree))
