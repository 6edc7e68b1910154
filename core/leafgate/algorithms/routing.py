"""Where the rows of a table end up in a tree, and what the trees then predict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leafgate.types.release import Release
from leafgate.types.table import Table
from leafgate.types.tree import CategoricalSplit, Leaf, Node, NumericSplit, leaves

Rows = NDArray[np.int64]
NOWHERE = -1


def goes_low(cut: NumericSplit, numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which numbers take the low side; missing ones (NaN) go where the cut says, else high."""
    return _low(cut, _single(numbers) if cut.float32 else numbers)


def _single(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        return numbers.astype(np.float32).astype(np.float64)


def _low(cut: NumericSplit, seen: NDArray[np.float64]) -> NDArray[np.bool_]:
    """The same of numbers as the test sees them; what is missing is not smaller than anything."""
    low = seen < cut.at if cut.strict else seen <= cut.at
    return low | np.isnan(seen) if cut.missing == "low" else low


def branch_of_code(fan: CategoricalSplit, table: Table) -> NDArray[np.int64]:
    """For each code of the column's domain the child that takes it, NOWHERE if none does."""
    position = {value: i for i, branch in enumerate(fan.branches) for value in branch.values}
    elsewhere = NOWHERE if fan.default is None else len(fan.branches)
    return np.array([position.get(value, elsewhere) for value in table.schema[fan.column].domain])


Cells = dict[tuple[str, bool], NDArray[np.float64]]
"""Columns of numbers, in single precision or not, that were looked up before: who asks many nodes keeps them."""


def split_rows(
    node: NumericSplit | CategoricalSplit, table: Table, rows: Rows, cells: Cells | None = None
) -> Iterator[tuple[Node, Rows]]:
    """Each child with the rows that go there; rows that no branch names go nowhere."""
    if isinstance(node, NumericSplit):
        cells = {} if cells is None else cells
        seen = node.column, node.float32
        if seen not in cells:
            numbers = table.numbers(node.column)
            cells[seen] = _single(numbers) if node.float32 else numbers
        low = _low(node, cells[seen].take(rows))
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
    found: list[Leaf] = []
    waiting: list[tuple[Node, Rows]] = [(tree, np.arange(len(table)))]
    cells: Cells = {}
    while waiting:
        node, rows = waiting.pop()
        if isinstance(node, Leaf):
            where[rows] = len(found)
            found.append(node)
        elif not len(rows):
            found.extend(leaves(node))
        else:
            waiting.extend(reversed(list(split_rows(node, table, rows, cells))))
    return Routed(tuple(found), where)


def count_leaves(release: Release) -> int:
    """How many leaves the release has over all its trees."""
    return sum(1 for tree in release.trees for _ in leaves(tree))
