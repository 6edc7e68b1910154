"""Pareto fronts of prunings: the least loss for each number of people beyond the limits that allow some.

A pruning of a subtree counts as a point: how many of its people are beyond each limit that allows a share of people
(`beyond`), and what it loses (`loss`). Prunings of two siblings are chosen independently, so a point
of their parent is a sum of a point of each, or the point of the parent as a leaf.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leafgate.api import Ids, Mask

MAX_POINTS = 128
"""So many points of a front are kept where several limits allow people beyond them."""

MIN_POINTS = 32
"""So many at least, however large the tree is."""

POINTS_OF_ALL_NODES = 60_000
"""So many on all nodes of a tree together, about."""

BLOCK = 512
"""So many points are compared with one another at a time."""

AS_LEAF = -1
"""In place of the positions of two points: the node itself becomes a leaf."""


@dataclass(frozen=True, eq=False)
class Front:
    """The prunings of one subtree that no other beats, by loss.

    Attributes:
        beyond: shape (n_points, n_limits), people beyond each limit, within the budgets.
        loss: shape (n_points,), what is lost.
        low: shape (n_points,), the point of the front of the low child that is part of it; AS_LEAF for a leaf.
        high: shape (n_points,), the point of the front of the high child.
        complete: Are these all such prunings? False where too many were left out.
    """

    beyond: Ids
    loss: Ids
    low: Ids
    high: Ids
    complete: bool = True

    def __len__(self) -> int:
        return len(self.loss)

    def beats(self, loss: int) -> bool:
        """Is there a pruning with nobody beyond any limit and no larger loss than these?"""
        return bool(((self.beyond == 0).all(axis=1) & (self.loss <= loss)).any())


def leaf_front(beyond: Ids, loss: int, budgets: Ids, *, allowed: bool = True) -> Front:
    """The front of a leaf: one point, none where its people are too many beyond a limit, or it is not `allowed`."""
    kept = np.array([allowed and bool((beyond <= budgets).all())])
    own = np.full(1, AS_LEAF, dtype=np.int64)[kept]
    return Front(beyond[None, :][kept], np.array([loss], dtype=np.int64)[kept], own, own)


def points_kept(nodes: int) -> int:
    """How many points of a front are kept in a tree of so many nodes, where several limits allow people beyond them."""
    return min(max(POINTS_OF_ALL_NODES // nodes, MIN_POINTS), MAX_POINTS)


def joined(low: Front, high: Front, budgets: Ids, most: int = MAX_POINTS) -> Front:
    """The front of the prunings in which neither child's parent is a leaf; by several limits at most so many."""
    complete = low.complete and high.complete
    if len(budgets) == 1 and len(low) * len(high) > BLOCK:
        return _joined_by_one(low, high, int(budgets[0]), complete=complete)
    first, second = (each.ravel() for each in np.indices((len(low), len(high))))
    beyond = low.beyond[first] + high.beyond[second]
    within = (beyond <= budgets).all(axis=1)
    first, second = first[within], second[within]
    loss = low.loss[first] + high.loss[second]
    return _front(beyond[within], loss, first, second, complete=complete, most=most)


def with_leaf(front: Front, leaf: Front, most: int = MAX_POINTS) -> Front:
    """The front with the node itself as a leaf; a pruning that keeps more of the tree goes first among equals."""
    if not len(leaf):
        return front
    return _front(
        np.concatenate([front.beyond, leaf.beyond]),
        np.concatenate([front.loss, leaf.loss]),
        np.concatenate([front.low, leaf.low]),
        np.concatenate([front.high, leaf.high]),
        complete=front.complete,
        most=most,
    )


def _joined_by_one(low: Front, high: Front, budget: int, *, complete: bool) -> Front:
    """The front by one limit: for each number of people beyond it the pair with the least loss."""
    few, many = (low, high) if len(low) <= len(high) else (high, low)
    most = min(budget, int(few.beyond.max() + many.beyond.max()))
    never = np.iinfo(np.int64).max // 4
    loss, pair = np.full(most + 1, never, dtype=np.int64), np.zeros((most + 1, 2), dtype=np.int64)
    for i in range(len(few)):
        at = many.beyond[:, 0] + few.beyond[i, 0]
        there = np.flatnonzero(at <= most)
        total = many.loss[there] + few.loss[i]
        better = total < loss[at[there]]
        chosen = there[better]
        loss[at[chosen]] = total[better]
        pair[at[chosen]] = np.column_stack([np.full(len(chosen), i), chosen])
    found = np.flatnonzero(loss < never)
    first, second = pair[found].T
    if few is high:
        first, second = second, first
    return _front(found[:, None].astype(np.int64), loss[found], first, second, complete=complete)


def _front(beyond: Ids, loss: Ids, low: Ids, high: Ids, *, complete: bool, most: int = MAX_POINTS) -> Front:
    """The points that no other beats, by several limits at most so many; of equal ones the first."""
    n, limits = beyond.shape
    order = np.lexsort((np.arange(n), *beyond.T[::-1], loss))
    beyond, loss = beyond[order], loss[order]
    kept = np.flatnonzero(_unbeaten(beyond, loss, limits))
    if limits > 1 and len(kept) > most:
        kept = kept[_spread(beyond[kept], most)]
        complete = False
    at = order[kept]
    return Front(beyond[kept], loss[kept], low[at], high[at], complete)


def _unbeaten(beyond: Ids, loss: Ids, limits: int) -> Mask:
    """Which points, sorted by loss and then by people beyond, no earlier one beats in all numbers."""
    n = len(loss)
    if limits == 0:
        return np.asarray(np.arange(n) == 0)
    if limits == 1:
        least = np.minimum.accumulate(beyond[:, 0])
        return np.append(True, beyond[1:, 0] < least[:-1])[:n]
    kept = np.zeros(n, dtype=bool)
    front = np.zeros((0, limits), dtype=np.int64)
    for start in range(0, n, BLOCK):
        block = beyond[start : start + BLOCK]
        alive = ~_are_within(front, block).any(axis=1)
        rows = np.flatnonzero(alive)
        among = _are_within(block[rows], block[rows])
        earlier = np.arange(len(rows))[:, None] > np.arange(len(rows))
        rows = rows[~(among & earlier).any(axis=1)]
        kept[start + rows] = True
        front = np.concatenate([front, block[rows]])
    return kept


def _are_within(points: Ids, others: Ids) -> Mask:
    """Whether each of `points` (columns) has nowhere more people beyond a limit than each of `others` (rows)."""
    return np.asarray((points[None, :, :] <= others[:, None, :]).all(axis=2), dtype=np.bool_)


def _spread(beyond: Ids, most: int) -> Ids:
    """Positions of `most` points at most, among them the first and those with the fewest people beyond each limit."""
    least = [int(column.argmin()) for column in beyond.T] + [int(beyond.sum(axis=1).argmin())]
    even = np.linspace(0, len(beyond) - 1, most - len(least)).astype(np.int64)
    return np.unique(np.concatenate([even, np.array(least, dtype=np.int64)]))
