"""C4.5 with fractional cases: trees learned from, and applied to, records with withheld cells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from leafgate.algorithms.induction.pruning import SLACK, pessimistic_errors
from leafgate.algorithms.induction.splits import x_log_x
from leafgate.api import Floats, Mask
from leafgate.kernel.arrays import Rows
from leafgate_plugins.downgrading.grid import HIDDEN, Grid

TINY = 1e-9


@dataclass(frozen=True)
class ChosenTest:
    """A test: its column, which value leads to which child, and the share of the people each child gets."""

    column: int
    child_of: Floats
    share: Floats


@dataclass(frozen=True)
class _Tests:
    """One test for each column: its gain, the information of the split itself, and for numbers where it cuts."""

    gain: Floats
    split: Floats
    cut: dict[int, int]


def best_split(grid: Grid, target: int, rows: Rows, weight: Floats, least: float, barred: Mask) -> ChosenTest | None:
    """The test with the best gain ratio among those with at least the mean gain; None where none gains.

    Gain is over the people who show the cell, times their share; the split's own information counts those who
    hide it as a branch of their own (Quinlan 1993, chapter 3). Two branches need `least` people. Columns that
    are `barred` are not asked about.
    """
    people = float(weight.sum())
    if people < 2 * least - TINY:
        return None
    counts = _class_counts(grid, target, rows, weight)
    tests = _tests(grid, counts, people, least)
    gain = np.where(barred, -np.inf, tests.gain)
    gain[target] = -np.inf
    gaining = gain > TINY
    if not gaining.any():
        return None
    worthy = gaining & (gain >= gain[gaining].mean() - TINY)
    ratio = np.where(worthy, gain / np.where(tests.split > TINY, tests.split, 1.0), -np.inf)
    best = int(np.lexsort((-np.where(worthy, gain, -np.inf), -np.round(ratio, 12)))[0])
    return _chosen(grid, best, tests.cut.get(best), counts[grid.values_of(best)].sum(axis=1))


def _class_counts(grid: Grid, target: int, rows: Rows, weight: Floats) -> Floats:
    """People of each class (columns) who show each value of any column (rows)."""
    codes, size = grid.codes[rows], grid.sizes[target]
    cell = (codes + grid.start[:-1]) * size + codes[:, [target]]
    seen = codes != HIDDEN
    every = np.broadcast_to(weight[:, None], codes.shape)
    counts = np.bincount(cell[seen], weights=every[seen], minlength=int(grid.start[-1]) * size)
    return counts.astype(np.float64).reshape(-1, size)


def _tests(grid: Grid, counts: Floats, people: float, least: float) -> _Tests:
    first = grid.start[:-1]
    size, known = counts.sum(axis=1), np.add.reduceat(counts, first, axis=0)
    whole = _neg_entropy(known)
    gain = (np.add.reduceat(_neg_entropy(counts), first) - whole) / people
    gain[np.add.reduceat((size >= least - TINY).astype(np.int64), first) < 2] = -np.inf
    parts = np.add.reduceat(x_log_x(size / people), first)
    hiding = x_log_x(np.maximum(people - known.sum(axis=1), 0.0) / people)
    tests = _Tests(gain, -(parts + hiding), {})
    for column in np.flatnonzero(grid.ordered):
        mine = counts[grid.values_of(int(column))]
        cut, tests.gain[column], parts[column] = _best_cut(mine, float(whole[column]), people, least)
        tests.cut[int(column)] = cut
        tests.split[column] = -(parts[column] + hiding[column])
    return tests


def _best_cut(counts: Floats, whole: float, people: float, least: float) -> tuple[int, float, float]:
    """The cut of a number with the most gain: up to which range it goes, its gain and minus its own information."""
    low = np.cumsum(counts, axis=0)[:-1]
    high = counts.sum(axis=0) - low
    few, many = low.sum(axis=1), high.sum(axis=1)
    fit = (few >= least - TINY) & (many >= least - TINY)
    if not fit.any():
        return 0, -np.inf, 0.0
    gains = np.where(fit, _neg_entropy(low) + _neg_entropy(high) - whole, -np.inf)
    cut = int(gains.argmax())
    return cut, float(gains[cut]) / people, float(x_log_x(np.array([few[cut], many[cut]]) / people).sum())


def _neg_entropy(counts: Floats) -> Floats:
    """Minus people times entropy, for each row of counts."""
    return np.asarray(x_log_x(counts).sum(axis=1) - x_log_x(counts.sum(axis=1)))


def _chosen(grid: Grid, column: int, cut: int | None, sizes: Floats) -> ChosenTest:
    n = grid.sizes[column]
    child = np.arange(n) if cut is None else (np.arange(n) > cut).astype(np.int64)
    child_of = np.zeros((n, int(child.max()) + 1))
    child_of[np.arange(n), child] = 1.0
    share = sizes @ child_of
    return ChosenTest(column, child_of, share / share.sum())


@dataclass(eq=False)
class Node:
    """A node: people per class and, where it asks about a column, the child of each value and each child's share.

    `child_of` has a row for each value of the column and a column for each child, 1 where the value leads there.
    """

    counts: Floats
    column: int = -1
    child_of: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    share: Floats = field(default_factory=lambda: np.zeros(0))
    children: list[Node] = field(default_factory=list)

    @property
    def errors(self) -> float:
        """People who are not of the most frequent class."""
        return float(self.counts.sum() - self.counts.max())


@dataclass(frozen=True)
class TreeOptions:
    """How a tree is grown: people on two branches at least, confidence of pruning, complete records only?"""

    least: float = 2.0
    confidence: float | None = 0.25
    complete: bool = False


def grow_tree(grid: Grid, target: int, how: TreeOptions, without: Iterable[int] = ()) -> Node:
    """The pruned tree that predicts one column from the others, learned where it is visible.

    A case with a hidden cell goes down every branch, with the share of the people who show they belong there.
    Without any case to learn from every value is as likely. It asks no column of `without`.

    Source: Quinlan, "C4.5: Programs for Machine Learning", 1993, chapters 2 to 4.
    Departure: no penalty for many cuts; branches without people take the shares of the node above; a hidden
    cell, not an absent value, is what counts as unknown. With `complete`, cases with a hidden cell are left
    out, as the example of Chang 2003 has it.
    """
    taught = grid.codes[:, target] != HIDDEN
    if how.complete:
        taught &= (grid.codes != HIDDEN).all(axis=1)
    rows = np.flatnonzero(taught)
    if not len(rows):
        return Node(np.ones(grid.sizes[target]))
    barred = np.isin(np.arange(len(grid.sizes)), list(without))
    root = _grow(grid, target, rows, grid.weight[rows], how.least, barred)
    if how.confidence is not None:
        _prune(root, how.confidence)
    return root


def _grow(grid: Grid, target: int, rows: Rows, weight: Floats, least: float, barred: Mask) -> Node:
    counts = np.bincount(grid.codes[rows, target], weights=weight, minlength=grid.sizes[target]).astype(np.float64)
    node = Node(counts)
    chosen = best_split(grid, target, rows, weight, least, barred) if (counts > 0).sum() > 1 else None
    if chosen is None:
        return node
    node.column, node.child_of, node.share = chosen.column, chosen.child_of, chosen.share
    for child in range(len(chosen.share)):
        mine, heavy = _branch_cases(grid, chosen, child, rows, weight)
        node.children.append(Node(counts) if not len(mine) else _grow(grid, target, mine, heavy, least, barred))
    return node


def _branch_cases(grid: Grid, chosen: ChosenTest, child: int, rows: Rows, weight: Floats) -> tuple[Rows, Floats]:
    """The cases of one branch: those whose cell leads there, and a part of those whose cell is hidden."""
    cell = grid.codes[rows, chosen.column]
    part = np.where(cell == HIDDEN, chosen.share[child], chosen.child_of[cell, child]) * weight
    kept = part > 1e-9
    return rows[kept], part[kept]


def _prune(node: Node, confidence: float) -> float:
    """Replace subtrees by leaves where that is expected to err no more; the errors expected of what is left."""
    as_leaf = pessimistic_errors(float(node.counts.sum()), node.errors, confidence)
    if not node.children:
        return as_leaf
    as_tree = sum(_prune(child, confidence) for child, part in zip(node.children, node.share, strict=True) if part > 0)
    if as_leaf <= as_tree + SLACK:
        node.column, node.children = -1, []
        return as_leaf
    return as_tree


def class_posterior(root: Node, grid: Grid, known_cells: Floats, hidden: Mask) -> Floats:
    """Chances of each class for each record, the leaves it can reach mixed by how likely they are.

    `known_cells` has the chance of every value of every column (0 or 1 where the cell is visible), `hidden` is true
    where nothing is known: there each branch has its share of the people of whom it was known.
    """
    found = np.zeros((len(known_cells), len(root.counts)))
    waiting = [(root, np.arange(len(known_cells)), np.ones(len(known_cells)))]
    while waiting:
        node, rows, weight = waiting.pop()
        if not node.children:
            found[rows] += weight[:, None] * (node.counts / node.counts.sum())
            continue
        side = known_cells[rows, grid.values_of(node.column)] @ node.child_of
        side[hidden[rows, node.column]] = node.share
        for place, child in enumerate(node.children):
            going = weight * side[:, place]
            kept = going > 1e-9
            if kept.any():
                waiting.append((child, rows[kept], going[kept]))
    return np.asarray(found / found.sum(axis=1, keepdims=True))
