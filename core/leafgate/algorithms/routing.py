"""Routing: which leaf of a tree each row of a table reaches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.kernel.arrays import CompactIds, Floats, Ids, Mask, Rows
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.release import Release
from leafgate.kernel.table import Table
from leafgate.kernel.tree import NO_FAN, CategoricalSplit, Fan, Node, NumericSplit, TreeArrays, tree_arrays

NOWHERE = -1

ROWS_AT_ONCE = 8_192
"""Rows that go down a tree at once: their cells and positions fit into the processor's cache."""

LEVELS_AT_ONCE = 4
"""Rows that have reached a leaf are set aside after so many levels, which costs about as much as one level."""

EXACT_IN_SINGLE = 2**24
"""Whole numbers below this are the same in single precision, so codes of smaller domains are."""


def goes_low(cut: NumericSplit, numbers: NDArray[np.floating[Any]]) -> Mask:
    """Return which numbers take the low branch; missing ones (NaN) take the branch that the split names, else high.

    The numbers are in any precision, and the threshold is rounded to none.
    """
    with np.errstate(over="ignore"):
        numbers = numbers.astype(np.float32) if cut.float32 else numbers
    at = np.float64(cut.at)
    low = numbers < at if cut.strict else numbers <= at
    return np.asarray(low | np.isnan(numbers) if cut.missing == "low" else low)


def split_rows(node: NumericSplit | CategoricalSplit, table: Table, rows: Rows) -> Iterator[tuple[Node, Rows]]:
    """Yield each child with the rows that take its branch; rows that no branch names are in none."""
    if isinstance(node, NumericSplit):
        low = goes_low(node, _cells_of(table, node.column, node.float32).take(rows))
        yield node.low, rows.compress(low)
        yield node.high, rows.compress(~low)
        return
    taken = branch_of_code(node.fan, table).take(table.codes(node.column).take(rows))
    for i, branch in enumerate(node.branches):
        yield branch.node, rows.compress(taken == i)
    if node.default is not None:
        yield node.default, rows.compress(taken == len(node.branches))


@dataclass(frozen=True)
class Routed:
    """One tree, and each row's leaf in it (NOWHERE if it has none)."""

    arrays: TreeArrays
    leaf: NDArray[np.int64]

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves of the tree from left to right."""
        return self.arrays.leaves

    @property
    def n_leaves(self) -> int:
        """How many leaves the tree has."""
        return self.arrays.n_leaves


def route(tree: Node, table: Table) -> Routed:
    """Send every row of the table down the tree."""
    return Routed(tree_arrays(tree), leaf_numbers(tree, table).astype(np.int64))


def leaf_numbers(tree: Node, table: Table) -> CompactIds:
    """The leaf that each row reaches, NOWHERE if it reaches none; one array for all who ask, not to be written to."""
    if isinstance(tree, Leaf) or not len(table):
        return np.zeros(len(table), dtype=np.int8)
    return _reached(tree_arrays(tree), table)


def _reached(arrays: TreeArrays, table: Table) -> CompactIds:
    """The leaf that each row reaches, kept with the table as long as the tree is; NOWHERE if it reaches none.

    People with equal public cells reach the same leaf of a tree that tests no other column, so what such a tree does
    with the public records is kept for whoever asks about them or about the people.
    """
    public = table.kept_public
    if public is not None and all(name in public[0].schema for name in arrays.columns_asked):
        return _reached(arrays, public[0]).take(public[1])
    kept = table.reached.of(arrays)
    if kept is None:
        leaf = Router(arrays, table).leaf_of(0, np.arange(len(table)))
        kept = _compact(leaf, arrays)
        table.reached.keep(arrays, kept)
    return kept


def _compact(leaf: CompactIds, arrays: TreeArrays) -> CompactIds:
    """Leaves of a tree in the smallest integers that hold them."""
    return leaf.astype(np.min_scalar_type(-arrays.n_leaves))


def keep_merged(tree: Node, merged: Node, leaf_of_merged: Ids, table: Table) -> None:
    """Keep with the table which leaf of a tree with merged leaves each row reaches, if that of the tree is kept.

    Args:
        tree: a tree, whose tests other than those above merged leaves are in `merged`.
        merged: the same with some subtrees replaced by one leaf each.
        leaf_of_merged: for each leaf of `tree` the leaf of `merged` that stands in its place.
        table: the rows; nothing is kept where some of them reach no leaf of `tree`, for they may reach one of `merged`.
    """
    arrays, public = tree_arrays(tree), table.kept_public
    if isinstance(merged, Leaf):
        return
    if public is not None and all(name in public[0].schema for name in arrays.columns_asked):
        table = public[0]
    leaf = table.reached.of(arrays)
    if leaf is not None and len(leaf) and leaf.min() > NOWHERE:
        below = tree_arrays(merged)
        table.reached.keep(below, _compact(leaf_of_merged, below).take(leaf))


class Router:
    """Sends rows of one table down one tree, from any of its inner nodes.

    `branch` has for each fan of the tree the branch of every code, from `first_code` of the fan on; none for columns
    that the table does not have, whose tests no row may come to.
    """

    def __init__(self, arrays: TreeArrays, table: Table) -> None:
        self.arrays, self.table = arrays, table
        nothing = np.zeros(0, dtype=np.int64)
        branches = [branch_of_code(fan, table) if fan.column in table.schema else nothing for fan in arrays.fans]
        self.branch = np.concatenate([*branches, nothing])
        self.first_code = np.cumsum([0, *map(len, branches)])
        self.cells = [_cells_of(table, *column) if column[0] in table.schema else None for column in arrays.columns]
        """The numbers, or the codes, of each column that the tree tests."""

    def leaf_of(self, node: int, rows: Rows) -> Ids:
        """The leaf that each of the rows reaches from a node, NOWHERE if it reaches none; shape of `rows`."""
        if node < 0:
            return np.full(len(rows), ~node)
        reached = np.empty(len(rows), dtype=np.int64)
        for start in range(0, len(rows), ROWS_AT_ONCE):
            block = slice(start, start + ROWS_AT_ONCE)
            self._descend(node, rows[block], reached[block])
        return reached

    def divide(self, node: int, rows: Rows) -> Iterator[tuple[int, Mask]]:
        """Each child of an inner node, with which of the rows go there."""
        arrays = self.arrays
        first, fan, column = int(arrays.first_child[node]), int(arrays.fan[node]), self.cells[arrays.column[node]]
        cell = np.full(len(rows), np.nan) if column is None else column.take(rows)
        if fan == NO_FAN:
            low = cell <= arrays.at[node]
            if arrays.missing_low[node]:
                low |= np.isnan(cell)
            yield int(arrays.child[first]), low
            yield int(arrays.child[first + 1]), ~low
            return
        taken = self.branch[self.first_code[fan] : self.first_code[fan + 1]].take(cell)
        each = arrays.fans[fan]
        for i in range(len(each.branches) + each.has_default):
            yield int(arrays.child[first + i]), taken == i

    def _descend(self, root: int, rows: Rows, reached: Ids) -> None:
        """Write into `reached` the leaf that each of the rows reaches from an inner node, NOWHERE if it reaches none.

        All rows go down together, a level at a time; those that have reached a leaf stay there.
        """
        states, width = self._states, len(self.cells)
        asked: NDArray[Any] = np.empty((len(rows), width), dtype=states.at.dtype)
        for i, column in enumerate(self.cells):
            asked[:, i] = np.nan if column is None else column.take(rows)
        gaps = states.missing_low is not None and bool(np.isnan(asked).any())
        cells, here = asked.reshape(-1), np.arange(len(rows))
        first_cell, state = here * width, np.full(len(rows), self.arrays.first_child[root])
        for level in range(1, self.arrays.depth + 1):
            cell = cells.take(first_cell + states.column.take(state))
            low = cell <= states.at.take(state)
            if gaps and states.missing_low is not None:
                low |= np.isnan(cell) & states.missing_low.take(state)
            position = state + low
            if states.first_code is not None:
                first_code = states.first_code.take(state)
                by_code = np.flatnonzero(first_code >= 0)
                code = first_code.take(by_code) + cell.take(by_code).astype(np.int64)
                position[by_code] += states.branch.take(code)
            state = states.following.take(position, mode="clip")
            if level % LEVELS_AT_ONCE == 0 and level < self.arrays.depth:
                inner = state < states.first_end
                ends = ~inner
                reached[here.compress(ends)] = state.compress(ends) - states.first_end
                here, state, first_cell = here.compress(inner), state.compress(inner), first_cell.compress(inner)
        reached[here] = state - states.first_end
        reached[reached == self.arrays.n_leaves] = NOWHERE

    @cached_property
    def _states(self) -> _States:
        schema = self.table.schema
        held = (
            len(schema[name].domain) < EXACT_IN_SINGLE if single is None and name in schema else single is not False
            for name, single in self.arrays.columns
        )
        return _States.of(self, np.float32 if all(held) else np.float64)


@dataclass(frozen=True)
class _States:
    """A tree for rows that all take a step at once: a row is at an inner node, or stays at the end it has reached.

    An inner node's state is the position of its first child. From it a row goes on to `following` of that position,
    one more where the cell is low, or as many more as `branch` says of the cell's code, counted from the node's
    `first_code`, which is -1 at numeric tests. Positions below 0 stand for 0, which leads to the end of those who reach
    no leaf. From `first_end` on there is one state for each leaf, and this one. `missing_low` and `first_code` are None
    where no node has any.
    """

    column: Ids
    at: NDArray[np.floating[Any]]
    missing_low: Mask | None
    first_code: Ids | None
    branch: Ids
    following: Ids
    first_end: int

    @classmethod
    def of(cls, router: Router, precision: type[np.float32 | np.float64]) -> _States:
        arrays = router.arrays
        first_end = len(arrays.child)
        size = first_end + arrays.n_leaves + 1
        column, first_code = np.zeros(size, dtype=np.int64), np.full(size, -1)
        at, missing_low = np.full(size, np.nan, dtype=precision), np.zeros(size, dtype=bool)
        state, numeric = arrays.first_child, arrays.fan == NO_FAN
        column[state], missing_low[state] = arrays.column, arrays.missing_low
        first_code[state[~numeric]] = router.first_code[arrays.fan[~numeric]]
        at[state[numeric]] = _exact_thresholds(arrays)[numeric]
        following = np.where(arrays.child >= 0, state[np.maximum(arrays.child, 0)], first_end + ~arrays.child)
        low, high = state[numeric], state[numeric] + 1
        following[low], following[high] = following[high], following[low]
        following[0] = size - 1
        return cls(
            column,
            at,
            missing_low if missing_low.any() else None,
            None if numeric.all() else first_code,
            np.where(router.branch == NOWHERE, -size, router.branch),
            np.append(following, np.arange(first_end, size)),
            first_end,
        )


def _exact_thresholds(arrays: TreeArrays) -> Floats:
    """The thresholds, those of numbers in single precision rounded down to it, which changes no answer."""
    single = np.array([precision is True for _, precision in arrays.columns], dtype=bool)[arrays.column]
    with np.errstate(all="ignore"):
        rounded = arrays.at.astype(np.float32)
        below = np.nextafter(rounded, np.float32(-np.inf))
    return np.where(single, np.where(rounded > arrays.at, below, rounded), arrays.at)


def branch_of_code(fan: Fan, table: Table) -> Ids:
    """For each code of the column's domain the branch of a fan that takes it, NOWHERE if none does."""
    position = {value: i for i, values in enumerate(fan.branches) for value in values}
    elsewhere = len(fan.branches) if fan.has_default else NOWHERE
    return np.array([position.get(value, elsewhere) for value in table.schema[fan.column].domain], dtype=np.int64)


def _cells_of(table: Table, name: str, single: bool | None) -> NDArray[Any]:
    """A column's numbers, in single precision or not, or with `single` None its codes."""
    if single is None:
        return table.codes(name)
    return table.single_precision(name) if single else table.numbers(name)


def count_leaves(release: Release) -> int:
    """Return the number of leaves of all trees of the release."""
    return sum(tree_arrays(tree).n_leaves for tree in release.trees)
