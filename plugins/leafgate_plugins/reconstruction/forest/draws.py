"""The likeliest numbers of people in the cells of several trees, each of which counts a bootstrap of its own.

A bootstrap draws each person once on average, so that a leaf counts about as many draws as people. Nothing is proved by
such counts but that somebody is there; what is found is the table under which the counts of all leaves are likeliest.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from leafgate.algorithms import routing
from leafgate.api import Floats, Ids, InconclusiveError, Release, Schema, Table, typed_column
from leafgate_plugins.reconstruction.forest.assignment import NO_LEAF, Assignment
from leafgate_plugins.reconstruction.forest.cell_bounds import largest_cells
from leafgate_plugins.reconstruction.forest.regions import Forest, positions

MAX_CELLS = 300_000
"""Combinations of parts of all columns are looked at where there are so many at most."""
MAX_JOINED = 30_000
"""So many cells are looked at together at most; where there are more, fewer trees are."""
ROUNDS = 500
"""Rounds of the iteration for the likeliest numbers of people."""
RARE = 1e-6
"""The chance below which it is not thought of that so many bootstraps drew a person not at all."""
NEARLY_NOBODY = 1e-8
"""Cells with fewer people than this are left out of further rounds."""
LEAST = 1e-12
"""Fewer people than this count as this many, so that no round divides by zero."""


def drawn_people(forest: Forest, release: Release, deadline: float) -> tuple[list[Assignment | None], int]:
    """A leaf of each tree for as many people as each tree draws, and how many trees were looked at together.

    Args:
        forest: whose trees count bootstraps.
        release: the release of which it is.
        deadline: by `time.monotonic`, after which no further round is done.

    Returns:
        The people of each class, None where nobody is; with NO_LEAF in the trees that were left out.

    Raises:
        InconclusiveError: each tree alone has too many leaves.

    Source: W. H. Richardson, JOSA 62, 1972, and L. A. Shepp, Y. Vardi, IEEE Transactions on Medical Imaging 1, 1982,
    doi:10.1109/TMI.1982.4307558: the numbers under which sums that are Poisson distributed are likeliest.
    Departure: draws of one bootstrap are multinomial, which for many people is nearly Poisson; numbers are rounded to
    whole people by their largest remainders.
    """
    cells, numbers, likely = likely_people(forest, release, deadline)
    return people_in_cells(forest, cells, numbers, whole_people(likely)), len(numbers)


def likely_people(forest: Forest, release: Release, deadline: float) -> tuple[Ids, Sequence[int], Floats]:
    """The cells, the trees that are looked at, and the likeliest numbers of people.

    Returns:
        The leaves of each cell, shape (n_cells, n_trees); the positions of these trees in the forest; and how many
        people of each class are likely in each cell, shape (n_classes, n_cells).

    Raises:
        InconclusiveError: each tree alone has too many leaves.
    """
    cells, numbers = _cells(forest, release)
    used = [forest.trees[number].people for number in numbers]
    start, likely = time.monotonic(), []
    for label in range(len(forest.classes)):
        share = (label + 1) / len(forest.classes)
        until = start + share * (deadline - start) if np.isfinite(deadline) else deadline
        likely.append(likeliest(cells, [each[:, label] for each in used], until))
    return cells, numbers, np.array(likely)


def people_in_cells(forest: Forest, cells: Ids, numbers: Sequence[int], people: Ids) -> list[Assignment | None]:
    """The people of each class by their leaves, None where nobody is; NO_LEAF in the trees that were left out.

    Args:
        forest: of which the cells are.
        cells: shape (n_cells, n_trees), the leaves of each cell.
        numbers: the positions of these trees in the forest.
        people: shape (n_classes, n_cells), how many people are in each cell.
    """
    found: list[Assignment | None] = []
    for n in people:
        leaf = np.full((int(n.sum()), len(forest.trees)), NO_LEAF, dtype=np.int64)
        leaf[:, list(numbers)] = np.repeat(cells, n, axis=0)
        found.append(Assignment(leaf=leaf, missed=0) if len(leaf) else None)
    return found


def _cells(forest: Forest, release: Release) -> tuple[Ids, Sequence[int]]:
    """The leaves of each cell, shape (n_cells, n_trees), and the trees that are looked at.

    Where the columns have few combinations of parts, these are the cells, of all trees.
    """
    if not forest.columns:
        return np.zeros((1, len(forest.trees)), dtype=np.int64), range(len(forest.trees))
    n_parts = [parts.n_parts for parts in forest.columns]
    if math.prod(n_parts) > MAX_CELLS:
        everywhere = [replace(tree, people=np.ones_like(tree.people)) for tree in forest.trees]  # also who is not drawn
        found = largest_cells(everywhere, 0, MAX_JOINED)
        if found is None:
            raise InconclusiveError(f"a tree of a bootstrap has more than {MAX_JOINED:,} leaves")
        return found.leaf, found.numbers
    part = np.indices(n_parts).reshape(len(n_parts), -1)
    cells = {parts.column.name: parts.numbers_or_values(part[j]) for j, parts in enumerate(forest.columns)}
    columns = tuple(parts.column for parts in forest.columns)
    frame = pd.DataFrame({column.name: typed_column(column, cells[column.name]) for column in columns})
    points = Table(Schema(columns), frame, np.ones(len(frame), dtype=np.int64))
    leaves = [
        positions(tree.leaf, routing.leaf_numbers(release.trees[number], points).astype(np.int64))
        for number, tree in zip(forest.numbers, forest.trees, strict=True)
    ]
    return np.column_stack(leaves), range(len(forest.trees))


def likeliest(leaf: Ids, counts: Sequence[Ids], deadline: float) -> Floats:
    """The numbers of people in cells under which the draws that leaves count are likeliest.

    Args:
        leaf: shape (n_cells, n_trees), the leaf of each tree that a cell is in.
        counts: for each tree shape (n_leaves,), the draws that its leaves count.
        deadline: by `time.monotonic`.

    Returns:
        Shape (n_cells,), their sum is the mean number of draws of a tree.

    >>> likeliest(np.array([[0, 0], [0, 1], [1, 1]]), [np.array([3, 1]), np.array([2, 2])], float("inf")).round(3)
    array([2., 1., 1.])
    """
    by_tree = np.ascontiguousarray(leaf.T)
    empty = sum((count == 0)[each].astype(np.int64) for each, count in zip(by_tree, counts, strict=True))
    used = np.flatnonzero(empty <= _most_empty(len(counts)))
    by_tree, people = by_tree[:, used], np.zeros(len(leaf))
    people[used] = sum(each.sum() for each in counts) / len(counts) / max(len(used), 1)
    for number in range(ROUNDS):
        if time.monotonic() > deadline:
            break
        if number % 10 == 0:
            kept = people[used] > NEARLY_NOBODY
            used, by_tree = used[kept], by_tree[:, kept]
        own, factor = people[used], np.zeros(len(used))
        for each, count in zip(by_tree, counts, strict=True):
            inside = np.bincount(each, weights=own, minlength=len(count))
            factor += (count / np.maximum(inside, LEAST))[each]
        people[used] = own * factor / len(counts)
    return people


def _most_empty(trees: int) -> int:
    """In how many trees a person's leaf counts nobody at most: those that did not draw her, but for a rare chance."""
    from scipy.stats import binom

    return int(binom.ppf(1 - RARE, trees, np.exp(-1.0)))


def whole_people(people: Floats) -> Ids:
    """Whole numbers of people, as many in all, by the largest remainders; of the same shape."""
    whole = np.floor(people).astype(np.int64)
    left = round(float(people.sum())) - int(whole.sum())
    whole.reshape(-1)[np.argsort((whole - people).reshape(-1), kind="stable")[: max(left, 0)]] += 1
    return whole
