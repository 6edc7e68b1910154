"""How many people have a part of a column at least and at most, by the counts of all trees on that column alone.

Each tree divides the people of a class among its leaves, and each leaf has a set of the column's parts. What other
columns exclude is left out, so that the limits hold and may not be the best: they are those of a relaxation.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leafgate.algorithms.joint_bounds import most_people, system_of_one_class
from leafgate.algorithms.joint_classes import JointSystem
from leafgate.algorithms.leaf_statements import NO_LIMIT
from leafgate.api import Ids, InconclusiveError, Mask
from leafgate_plugins.reconstruction.forest.regions import ColumnParts, CountedTree, Spans, Subsets

MAX_INTERVALS = 600
"""A column of numbers with more intervals is looked at in this many neighbourhoods of intervals."""
FEW_VALUES = 8
"""Of a column with so many values every set of values is a constraint."""
MAX_SETS = 2_000
"""Of so many sets of parts that leaves have the people are limited; leaving others out leaves limits wider."""
CONTRADICTION = "the trees state numbers that no people can have together: are they of different tables?"


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnBounds:
    """How many people of each class have each part of a column.

    Attributes:
        parts: of the column.
        block: shape (n_parts,), the position in `low` and `high` of the neighbourhood of parts that each part is in;
            nearly always of this part alone.
        low: shape (n_blocks, n_classes), at least so many.
        high: shape (n_blocks, n_classes), at most so many.
        is_near: shape (n_blocks,), which are one value, or an interval no longer than asked.
        proved_near: shape (n_classes,), how many people certainly have a cell in one of some intervals, each no longer
            than asked, or one of the values.
    """

    parts: ColumnParts
    block: Ids
    low: Ids
    high: Ids
    is_near: Mask
    proved_near: Ids


def column_bounds(
    parts: ColumnParts, place: int, trees: Sequence[CountedTree], near: float, deadline: float = float("inf")
) -> ColumnBounds:
    """The limits of one column.

    Args:
        parts: of the column.
        place: of the column among those of the forest.
        trees: of the forest; all have as many people of each class.
        near: the length up to which an interval counts for `proved_near`.
        deadline: by `time.monotonic`, after which no further tree is looked at: the limits hold and are wider.

    Raises:
        InconclusiveError: no numbers of people agree with all trees.

    Source: the people of a set of parts are at least those of the leaves within it (P. Hall, Journal of the London
    Mathematical Society 10, 1935); R. Bellman, Quarterly of Applied Mathematics 16, 1958 (longest paths).
    Departure: a leaf has an interval of a column of numbers without missing cells, so that the limits are the longest
    paths between the ends of intervals, in which each step is an interval and the tree with the most people within it.
    """
    if parts.values or parts.column.missing:
        return _of_sets(parts, place, trees, near, deadline)
    spans = [tree.regions.columns[place] for tree in trees]
    block = np.arange(parts.n_intervals) * min(parts.n_intervals, MAX_INTERVALS) // parts.n_intervals
    n_blocks = int(block[-1]) + 1
    starts = parts.starts[np.flatnonzero(np.diff(block, prepend=-1))]
    ends = parts.ends[np.flatnonzero(np.diff(block, append=n_blocks))]
    is_near = ends[None, :] - starts[:, None] <= near
    n_classes = trees[0].people.shape[1]
    low, high = (np.zeros((n_blocks, n_classes), dtype=np.int64) for _ in range(2))
    proved = np.zeros(n_classes, dtype=np.int64)
    for label in range(n_classes):
        people = int(trees[0].people[:, label].sum())
        least = np.zeros((n_blocks, n_blocks), dtype=np.int64)
        for span, tree in _in_time(spans, trees, deadline):
            assert isinstance(span, Spans)
            within = people_within(block[span.first], block[span.last], tree.people[:, label], n_blocks)
            least = np.maximum(least, within)
        run_low, run_high = run_bounds(least, people)
        low[:, label], high[:, label] = np.diagonal(run_low), np.diagonal(run_high)
        proved[label] = longest_path(np.where(is_near, run_low, 0))[-1]
    return ColumnBounds(parts=parts, block=block, low=low, high=high, is_near=np.diagonal(is_near), proved_near=proved)


def _in_time(
    reached: Sequence[Spans | Subsets] | Sequence[Mask], trees: Sequence[CountedTree], deadline: float
) -> Iterator[tuple[Any, CountedTree]]:
    """The trees one after another, the first in any case, until the time is over."""
    for number, (own, tree) in enumerate(zip(reached, trees, strict=True)):
        if number and time.monotonic() > deadline:
            return
        yield own, tree


def people_within(first: Ids, last: Ids, people: Ids, n: int) -> Ids:
    """How many people the leaves within each run of intervals count: shape (n, n), by its first and last interval.

    Args:
        first: shape (n_leaves,), the first interval of each leaf.
        last: shape (n_leaves,), its last interval.
        people: shape (n_leaves,).
        n: how many intervals there are.

    >>> people_within(np.array([0, 1, 0]), np.array([0, 1, 1]), np.array([3, 4, 5]), 2).tolist()
    [[3, 12], [0, 4]]
    """
    found = np.zeros((n, n), dtype=np.int64)
    np.add.at(found, (first, last), people)
    return np.asarray(np.triu(found[::-1].cumsum(axis=0)[::-1].cumsum(axis=1)))


def longest_path(least: Ids) -> Ids:
    """How many people have the first 0, 1, ... intervals at least: shape (n_intervals + 1,).

    Args:
        least: shape (n_intervals, n_intervals), how many people at least have each run of intervals, by its ends.

    >>> longest_path(np.array([[3, 4], [0, 2]])).tolist()
    [0, 3, 5]
    """
    path = np.zeros(len(least) + 1, dtype=np.int64)
    for end in range(len(least)):
        path[end + 1] = (path[: end + 1] + least[: end + 1, end]).max()
    return path


def run_bounds(least: Ids, people: int) -> tuple[Ids, Ids]:
    """How many people have each run of intervals at least and at most, given a number that each run has at least.

    Args:
        least: as in `longest_path`.
        people: of all intervals.

    Returns:
        Both of shape (n_intervals, n_intervals), by the ends of the run; 0 where the end is before the beginning. For
        single intervals no limits are narrower; the lower ones of longer runs hold.

    Raises:
        InconclusiveError: no numbers of people agree with this.

    >>> run_bounds(np.array([[1, 4], [0, 0]]), 5)[0].tolist()
    [[1, 4], [0, 0]]
    >>> run_bounds(np.array([[1, 4], [0, 0]]), 5)[1].tolist()
    [[5, 5], [0, 4]]
    """
    before = longest_path(least)
    after = longest_path(least[::-1, ::-1].T)[::-1]
    if before[-1] > people:
        raise InconclusiveError(CONTRADICTION)
    both = before[None, 1:] + after[:-1, None] - people  # what the first intervals and the last ones have in common
    rest = people - before[:-1, None] - after[None, 1:]
    return np.triu(np.maximum(least, np.maximum(both, 0))), np.triu(rest)


def _of_sets(
    parts: ColumnParts, place: int, trees: Sequence[CountedTree], near: float, deadline: float
) -> ColumnBounds:
    """The limits where leaves have any sets of parts, by a linear program over the parts with sets as constraints."""
    reach = [tree.regions.columns[place].reach for tree in trees]
    block = np.arange(parts.n_parts)
    if parts.n_parts > MAX_INTERVALS:
        block = block * MAX_INTERVALS // parts.n_parts
        joined = np.zeros((parts.n_parts, MAX_INTERVALS), dtype=np.float32)
        joined[np.arange(parts.n_parts), block] = 1
        reach = [np.asarray(each.astype(np.float32) @ joined > 0) for each in reach]
    sets = _sets(reach)
    n_classes, n_blocks = trees[0].people.shape[1], reach[0].shape[1]
    low, high = (np.zeros((n_blocks, n_classes), dtype=np.int64) for _ in range(2))
    for label in range(n_classes):
        least = np.zeros(len(sets), dtype=np.int64)
        for each, tree in _in_time(reach, trees, deadline):
            counted = tree.people[:, label] > 0
            within = ~(each[counted].astype(np.float32) @ (~sets).T.astype(np.float32) > 0)
            least = np.maximum(least, within.T @ tree.people[counted, label])
        people = int(trees[0].people[:, label].sum())
        system = _system_of_sets(sets, least, people)
        alone = sets.sum(axis=1) == 1
        low[sets[alone].argmax(axis=1), label] = least[alone]
        high[:, label] = people
        for part in range(n_blocks):
            if time.monotonic() > deadline:
                break
            inside = np.arange(n_blocks) == part
            high[part, label] = most_people(system, inside, whole=False).people
            low[part, label] = int(system.size[0]) - most_people(system, ~inside, whole=False).people
    lengths = np.zeros(parts.n_parts) if parts.values else np.append(parts.ends - parts.starts, 0.0)
    is_near = (np.bincount(block) == 1) & (np.bincount(block, weights=lengths) <= near)
    low = np.maximum(low, 0)
    proved = low[is_near].sum(axis=0)
    return ColumnBounds(parts=parts, block=block, low=low, high=high, is_near=is_near, proved_near=proved)


def _sets(reach: Sequence[Mask]) -> Mask:
    """The sets of parts whose people are limited: all of few parts; else leaves, single parts and the rest."""
    n = reach[0].shape[1]
    if n <= FEW_VALUES:
        numbers = np.arange(1, 2**n)
        return np.asarray((numbers[:, None] >> np.arange(n)) & 1, dtype=bool)
    single = np.eye(n, dtype=bool)
    found = np.unique(np.concatenate(reach), axis=0)[:MAX_SETS]
    return np.unique(np.concatenate([single, ~single, found, ~found]), axis=0)


def _system_of_sets(sets: Mask, least: Ids, people: int) -> JointSystem:
    """The people of each part as cells of one class; at least so many are in each set."""
    from scipy.sparse import csr_array

    n = sets.shape[1]
    is_used = least > 0
    matrix = csr_array(np.concatenate([np.ones((1, n)), sets[is_used]]).astype(np.int64))
    high = np.append(people, np.full(int(is_used.sum()), NO_LIMIT))
    return system_of_one_class(matrix, np.append(people, least[is_used]), high)
