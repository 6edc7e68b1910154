"""Routing: which leaf of a tree each row of a table reaches."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leafgate.types.arrays import Rows
from leafgate.types.release import Release
from leafgate.types.schema import Value
from leafgate.types.table import Table
from leafgate.types.tree import CategoricalSplit, Leaf, Node, NumericSplit, children, leaves

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
    where = np.full(len(table), NOWHERE, dtype=np.int64)
    tree_leaves: list[Leaf] = []
    waiting: list[tuple[Node, Rows]] = [(tree, np.arange(len(table)))]
    cells: Cells = {}
    children_of_codes: dict[_Fan, NDArray[np.int64]] = {}
    while waiting:
        node, rows = waiting.pop()
        if isinstance(node, Leaf):
            where[rows] = len(tree_leaves)
            tree_leaves.append(node)
        elif not len(rows):
            tree_leaves.extend(leaves(node))
        elif len(rows) > MAX_ROWS_BY_LEVEL:
            waiting.extend(reversed(list(split_rows(node, table, rows, cells))))
        else:
            flat = _flatten(node, table, children_of_codes)
            reached = _descend(flat, table, rows, cells)
            where[rows] = np.where(reached == NOWHERE, NOWHERE, reached + len(tree_leaves))
            tree_leaves.extend(flat.leaves)
    return Routed(tuple(tree_leaves), where)


_Fan = tuple[str, tuple[tuple[Value, ...], ...], bool]
"""What decides which child a code goes to: the column, the values of each branch, and whether others have a child."""


@dataclass(frozen=True)
class _FlatTree:
    """A tree as arrays over its inner nodes, the root first.

    Node i asks about the cells `columns[column[i]]` (a column's name and whether its numbers are in single precision;
    None for codes). A number x takes the child `child[slot[i]]` where x <= at[i], or where it is missing and
    `missing_low[i]`, else the next. A code c takes `child[slot_of_code[first_code[i] + c]]`; `first_code` is negative
    at numeric tests. A child is an inner node by its number, a leaf by the complement (`~`) of its own, or 0 where a
    code has none, for which the complement is NOWHERE.
    """

    columns: tuple[tuple[str, bool | None], ...]
    column: NDArray[np.int64]
    at: NDArray[np.float64]
    missing_low: NDArray[np.bool_]
    slot: NDArray[np.int64]
    first_code: NDArray[np.int64]
    slot_of_code: NDArray[np.int64]
    child: NDArray[np.int64]
    leaves: tuple[Leaf, ...]


def _flatten(tree: NumericSplit | CategoricalSplit, table: Table, known: dict[_Fan, NDArray[np.int64]]) -> _FlatTree:
    """The tree as arrays; `known` keeps what decides of codes, for nodes and trees that ask the same."""
    columns: dict[tuple[str, bool | None], int] = {}
    column, at, missing_low, slot, first_code = list[int](), list[float](), list[bool](), list[int](), list[int]()
    slots_of_codes = [np.zeros(0, dtype=np.int64)]
    child, tree_leaves, n_codes = [0], list[Leaf](), 0
    waiting: list[tuple[Node, int]] = [(tree, 0)]
    while waiting:
        node, own_slot = waiting.pop()
        if isinstance(node, Leaf):
            child[own_slot] = ~len(tree_leaves)
            tree_leaves.append(node)
            continue
        child[own_slot] = len(at)
        base = len(child)
        slot.append(base)
        if isinstance(node, NumericSplit):
            column.append(columns.setdefault((node.column, node.float32), len(columns)))
            at.append(_below(node.at) if node.strict else node.at)
            missing_low.append(node.missing == "low")
            first_code.append(NOWHERE)
            child += (0, 0)
            waiting += ((node.high, base + 1), (node.low, base))
            continue
        column.append(columns.setdefault((node.column, None), len(columns)))
        at.append(0.0)
        missing_low.append(False)
        first_code.append(n_codes)
        fan = node.column, tuple(branch.values for branch in node.branches), node.default is None
        if fan not in known:
            known[fan] = branch_of_code(node, table)
        slots_of_codes.append(np.where(known[fan] == NOWHERE, 0, base + known[fan]))
        n_codes += len(known[fan])
        below = children(node)
        child += [0] * len(below)
        waiting += zip(reversed(below), range(base + len(below) - 1, base - 1, -1), strict=True)
    return _FlatTree(
        tuple(columns),
        np.array(column),
        np.array(at),
        np.array(missing_low),
        np.array(slot),
        np.array(first_code),
        np.concatenate(slots_of_codes),
        np.array(child),
        tuple(tree_leaves),
    )


def _below(at: float) -> float:
    """The number for which x <= it is x < `at`; NaN where no x is."""
    return math.nan if at == -math.inf else math.nextafter(at, -math.inf)


def _descend(flat: _FlatTree, table: Table, rows: Rows, cells: Cells) -> NDArray[np.int64]:
    """The leaf of the tree that each of the rows reaches, NOWHERE if it reaches none."""
    asked = np.stack([_cells_of(table, name, single, cells).take(rows) for name, single in flat.columns])
    gaps, codes = bool(np.isnan(asked).any()), bool(len(flat.slot_of_code))
    first_cell, asked = flat.column * len(rows), asked.reshape(-1)
    reached = np.zeros(len(rows), dtype=np.int64)
    here, node = np.arange(len(rows)), np.zeros(len(rows), dtype=np.int64)
    while len(here):
        cell = asked.take(first_cell.take(node) + here)
        low = cell <= flat.at.take(node)
        if gaps:
            low |= np.isnan(cell) & flat.missing_low.take(node)
        slot = flat.slot.take(node) + ~low
        if codes:
            first = flat.first_code.take(node)
            by_code = np.flatnonzero(first >= 0)
            slot[by_code] = flat.slot_of_code.take(first.take(by_code) + cell.take(by_code).astype(np.int64))
        node = flat.child.take(slot)
        reached[here] = ~node
        inner = node > 0
        here, node = here.compress(inner), node.compress(inner)
    return reached


def _cells_of(table: Table, name: str, single: bool | None, cells: Cells) -> NDArray[np.float64]:
    """A column's numbers, in single precision or not, or with `single` None its codes; cached in `cells`."""
    if single is None:
        return table.codes(name).astype(np.float64)
    if (name, single) not in cells:
        numbers = table.numbers(name)
        cells[name, single] = _single(numbers) if single else numbers
    return cells[name, single]


def count_leaves(release: Release) -> int:
    """Return the number of leaves of all trees of the release."""
    return sum(1 for tree in release.trees for _ in leaves(tree))
