"""Tests that no value can pass one after the other."""

from __future__ import annotations

import numpy as np

from leafgate.errors import ReleaseError
from leafgate.foreign.model import Flags, Floats, ForeignTree, Ids

MAX_LOOKS = 3_000_000
"""Tests above others that are looked at, and categories in their sets."""


def contradictory(tree: ForeignTree, parent: Ids, place: str = "tree") -> int | None:
    """A node to which no value of the feature asked just above it can come, None where there is none.

    Every way is held against the ways above it that ask about the same feature; a missing value, where all of them
    let it pass, is enough to come there. Sets of categories are held against sets, numbers against numbers.
    """
    asked_by_set = np.zeros(tree.nodes, dtype=bool)
    asked_by_set[list(tree.subsets)] = True
    cut = np.flatnonzero((parent != -1) & ~asked_by_set[parent])
    wrong = cut[_empty_intervals(tree, parent, asked_by_set, cut)]
    if len(wrong):
        return int(wrong[0])
    chosen = np.flatnonzero((parent != -1) & asked_by_set[parent])
    looks = 0
    for node in chosen.tolist():
        empty, looked = _empty_set(tree, parent, node)
        looks += looked
        if empty:
            return node
        if looks > MAX_LOOKS:
            raise ReleaseError("its tests by sets stand below one another too often to be checked", place=place)
    return None


def _empty_intervals(tree: ForeignTree, parent: Ids, asked_by_set: Flags, nodes: Ids) -> Flags:
    """Which of the nodes, each below a cut, no number can reach by the cuts above, nor a missing one."""
    top, missing_low = _tops(tree), tree.flag("missing_low")
    feature = tree.feature[parent[nodes]]
    least, most = np.full(len(nodes), -np.inf), np.full(len(nodes), np.inf)
    missing = np.ones(len(nodes), dtype=bool)
    left, below = np.arange(len(nodes)), nodes
    while len(left):
        above = parent[below]
        same = (tree.feature[above] == feature[left]) & ~asked_by_set[above]
        at, mine = above[same], left[same]
        low = tree.low[at] == below[same]
        most[mine] = np.where(low, np.minimum(most[mine], top[at]), most[mine])
        least[mine] = np.where(low, least[mine], np.maximum(least[mine], top[at]))
        missing[mine] &= missing_low[at] == low
        further = parent[above] != -1
        left, below = left[further], above[further]
    return (least >= most) & ~missing


def _tops(tree: ForeignTree) -> Floats:
    """The largest number that goes low at each node, up to float32's rounding."""
    return np.where(tree.flag("strict"), np.nextafter(tree.threshold, -np.inf), tree.threshold)


def _empty_set(tree: ForeignTree, parent: Ids, node: int) -> tuple[bool, int]:
    """Can no category, nor a missing one, come to the node by the sets asked above? And how much was looked at."""
    feature, missing_low = tree.feature[parent[node]], tree.flag("missing_low")
    within, outside = list[frozenset[str | float]](), list[frozenset[str | float]]()
    missing, looked, below = True, 0, node
    while (above := int(parent[below])) != -1:
        looked += 1
        if above in tree.subsets and tree.feature[above] == feature:
            low = bool(tree.low[above] == below)
            missing &= bool(missing_low[above]) == low
            (within if low else outside).append(tree.subsets[above])
        below = above
    if missing or not within:
        return False, looked
    for category in min(within, key=len):
        looked += len(within) + len(outside)
        if all(category in each for each in within) and not any(category in each for each in outside):
            return False, looked
    return True, looked
