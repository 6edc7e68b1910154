"""Routing: which leaf of a tree each row of a table reaches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leafgate.types.arrays import Ids, Mask, Rows
from leafgate.types.release import Release
from leafgate.types.table import Table
from leafgate.types.tree import CategoricalSplit, Leaf, Node, NumericSplit
from leafgate.types.tree_arrays import NO_FAN, Fan, TreeArrays, tree_arrays

NOWHERE = -1

MAX_ROWS_BY_LEVEL = 8192
"""Up to so many rows go down a tree together, a level at a time; more are divided at each node, which is faster where
nodes are few and rows are many."""


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
    values = tuple(branch.values for branch in fan.branches)
    return _branch_of_code(Fan(fan.column, values, fan.default is not None), table)


Cells = dict[tuple[str, bool | None], NDArray[np.float64]]
"""Numeric columns, in single precision or not, and codes (None), cached over the nodes of a tree."""


def split_rows(
    node: NumericSplit | CategoricalSplit, table: Table, rows: Rows, cells: Cells | None = None
) -> Iterator[tuple[Node, Rows]]:
    """Yield each child with the rows that take its branch; rows that no branch names are in none."""
    if isinstance(node, NumericSplit):
        low = _low(node, _cells_of(table, node.column, node.float32, {} if cells is None else cells).take(rows))
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
    arrays, rows = tree_arrays(tree), np.arange(len(table))
    if isinstance(tree, Leaf) or not len(rows):
        return Routed(arrays.leaves, np.zeros(len(table), dtype=np.int64))
    return Routed(arrays.leaves, Router(arrays, table).leaf_of(0, rows))


class Router:
    """Sends rows of one table down one tree, from any of its inner nodes.

    `branch` has for each fan of the tree the branch of every code, from `first_code` of the fan on; none for columns
    that the table does not have, whose tests no row may come to.
    """

    def __init__(self, arrays: TreeArrays, table: Table) -> None:
        self.arrays, self.table = arrays, table
        self.cells: Cells = {}
        nothing = np.zeros(0, dtype=np.int64)
        branches = [_branch_of_code(fan, table) if fan.column in table.schema else nothing for fan in arrays.fans]
        self.branch = np.concatenate([*branches, nothing])
        self.first_code = np.cumsum([0, *map(len, branches)])

    def leaf_of(self, node: int, rows: Rows) -> Ids:
        """The leaf that each of the rows reaches from a node, NOWHERE if it reaches none; shape of `rows`."""
        where = np.full(len(rows), NOWHERE, dtype=np.int64)
        waiting: list[tuple[int, Ids]] = [(node, np.arange(len(rows)))]
        while waiting:
            node, places = waiting.pop()
            if node < 0:
                where[places] = ~node
            elif len(places) > MAX_ROWS_BY_LEVEL:
                waiting.extend((child, places.compress(takes)) for child, takes in self.divide(node, rows.take(places)))
            elif len(places):
                where[places] = self._descend(node, rows.take(places))
        return where

    def divide(self, node: int, rows: Rows) -> Iterator[tuple[int, Mask]]:
        """Each child of an inner node, with which of the rows go there."""
        arrays = self.arrays
        first, fan = int(arrays.first_child[node]), int(arrays.fan[node])
        cell = self._cells(int(arrays.column[node])).take(rows)
        if fan == NO_FAN:
            low = cell <= arrays.at[node]
            if arrays.missing_low[node]:
                low |= np.isnan(cell)
            yield int(arrays.child[first]), low
            yield int(arrays.child[first + 1]), ~low
            return
        taken = self.branch[self.first_code[fan] : self.first_code[fan + 1]].take(cell.astype(np.int64))
        each = arrays.fans[fan]
        for i in range(len(each.branches) + each.has_default):
            yield int(arrays.child[first + i]), taken == i

    def _descend(self, root: int, rows: Rows) -> Ids:
        """The leaf that each of the rows reaches from an inner node, NOWHERE if it reaches none: level by level."""
        arrays = self.arrays
        nobody = np.full(len(rows), np.nan)
        asked = np.stack(
            [
                self._cells(i).take(rows) if name in self.table.schema else nobody
                for i, (name, _) in enumerate(arrays.columns)
            ]
        )
        gaps, codes = bool(np.isnan(asked).any()), bool(len(arrays.fans))
        asked, n_rows = asked.reshape(-1), len(rows)
        reached = np.zeros(n_rows, dtype=np.int64)
        here, node = np.arange(n_rows), np.full(n_rows, root, dtype=np.int64)
        while len(here):
            cell = asked.take(arrays.column.take(node) * n_rows + here)
            low = cell <= arrays.at.take(node)
            if gaps:
                low |= np.isnan(cell) & arrays.missing_low.take(node)
            first = arrays.first_child.take(node)
            position = first + ~low
            if codes:
                fan = arrays.fan.take(node)
                by_code = np.flatnonzero(fan != NO_FAN)
                code = self.first_code.take(fan.take(by_code)) + cell.take(by_code).astype(np.int64)
                branch = self.branch.take(code)
                position[by_code] = np.where(branch == NOWHERE, 0, first.take(by_code) + branch)
            node = arrays.child.take(position)
            reached[here] = ~node
            inner = node > 0
            here, node = here.compress(inner), node.compress(inner)
        return reached

    def _cells(self, number: int) -> NDArray[np.float64]:
        """The numbers, or the codes, of one of the columns that the tree tests."""
        name, single = self.arrays.columns[number]
        return _cells_of(self.table, name, single, self.cells)


def _branch_of_code(fan: Fan, table: Table) -> Ids:
    """For each code of the column's domain the branch of a fan that takes it, NOWHERE if none does."""
    position = {value: i for i, values in enumerate(fan.branches) for value in values}
    elsewhere = len(fan.branches) if fan.has_default else NOWHERE
    return np.array([position.get(value, elsewhere) for value in table.schema[fan.column].domain], dtype=np.int64)


def _cells_of(table: Table, name: str, single: bool | None, cells: Cells) -> NDArray[np.float64]:
    """A column's numbers, in single precision or not, or with `single` None its codes; cached in `cells`."""
    if (name, single) not in cells:
        numbers = table.codes(name).astype(np.float64) if single is None else table.numbers(name)
        cells[name, single] = _single(numbers) if single else numbers
    return cells[name, single]


def count_leaves(release: Release) -> int:
    """Return the number of leaves of all trees of the release."""
    return sum(len(tree_arrays(tree).leaves) for tree in release.trees)
