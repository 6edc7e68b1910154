"""The trees of ONNX's TreeEnsemble, from its lists of nodes and leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leafgate.errors import ReleaseError
from leafgate.foreign.model import LEAF, Floats, ForeignTree, Ids
from leafgate.foreign.onnx.five import GT, GTE, LT, NEQ, Lists
from leafgate.tree_file import MAX_DEPTH

MAX_SAYS = 20_000_000


def grown(lists: Lists, targets: int, place: str) -> list[ForeignTree]:
    """Every tree; each node and each leaf must belong to one."""
    owner = _owners(lists, place)
    order = np.argsort(owner, kind="stable")
    parts = np.split(order, np.searchsorted(owner[order], np.arange(1, len(lists.roots))))
    if targets > 1 and len(owner) * 2 * targets > MAX_SAYS:
        raise ReleaseError("has more leaves and classes than are read here", place=place)
    where = np.empty(len(owner), dtype=np.int64)
    made = []
    for root, rows in zip(lists.roots.tolist(), parts, strict=True):
        ids = np.concatenate([[root], rows[rows != root]])
        where[ids] = np.arange(len(ids))
        made.append(_tree(lists, ids, where, targets))
    return made


def _owners(lists: Lists, place: str) -> Ids:
    """The tree of each node; ReleaseError unless every node and leaf hangs on one root, on one way."""
    n, inner = len(lists.mode), [(~end) for end in lists.ends]
    below = np.concatenate([child[own] for child, own in zip(lists.child, inner, strict=True)])
    parents = np.bincount(below, minlength=n)
    if len(np.unique(lists.roots)) != len(lists.roots) or parents.max() > 1 or parents[lists.roots].any():
        raise ReleaseError("has a node in two places", place=place)
    owner = np.full(n, -1, dtype=np.int64)
    rows, mine = lists.roots, np.arange(len(lists.roots))
    for _ in range(MAX_DEPTH + 1):
        owner[rows] = mine
        both = [(child[rows[own[rows]]], mine[own[rows]]) for child, own in zip(lists.child, inner, strict=True)]
        rows, mine = (np.concatenate(parts) for parts in zip(*both, strict=True))
    if len(rows):
        raise ReleaseError(f"is deeper than {MAX_DEPTH} tests", place=place)
    led = np.concatenate([child[end] for child, end in zip(lists.child, lists.ends, strict=True)])
    if (owner < 0).any() or len(np.unique(led)) < len(lists.weight):
        raise ReleaseError("has nodes or leaves that no tree has", place=place)
    return owner


def _tree(lists: Lists, ids: Ids, where: Ids, targets: int) -> ForeignTree:
    """One tree: its nodes in this order, then its leaves."""
    alone, mode, n = lists.alone[ids], lists.mode[ids], len(ids)
    ended, led, next_ = [], [], n
    for child, end in zip(lists.child, lists.ends, strict=True):
        to, own = child[ids], end[ids] & ~alone
        new = next_ + np.cumsum(own) - 1
        ended.append(np.where(own, new, np.where(end[ids], LEAF, where[np.where(end[ids], 0, to)])))
        led.append(to[own])
        next_ += int(own.sum())
    of_leaf = np.concatenate([np.where(alone, lists.child[0][ids], LEAF), *led])
    turned = np.isin(mode, (GT, GTE, NEQ))
    low, high = (np.where(turned, ended[k], ended[1 - k]) for k in (1, 0))
    missing = np.where(mode == NEQ, False, lists.missing[ids] != turned)

    def leaves(of: Any, rest: Any) -> Any:
        return np.concatenate([np.where(alone, rest, of), np.full(next_ - n, rest)])

    says, output = _says(lists, of_leaf, targets)
    subsets = {i: lists.members[node] for i, node in enumerate(ids.tolist()) if node in lists.members and not alone[i]}
    return ForeignTree(
        feature=leaves(lists.feature[ids], LEAF),
        threshold=leaves(lists.at[ids], np.nan),
        low=leaves(low, LEAF),
        high=leaves(high, LEAF),
        says=says,
        strict=leaves(np.isin(mode, (LT, GTE)), False),
        missing_low=leaves(missing, False),
        subsets=subsets,
        output=output,
    )


def _says(lists: Lists, of_leaf: Ids, targets: int) -> tuple[Floats, int | None]:
    """A number for each node, where all leaves of the tree are about one target; else one for each target."""
    leaf = of_leaf != LEAF
    target, weight = lists.target[of_leaf], np.where(leaf, lists.weight[of_leaf], 0.0)
    about: Sequence[int] = np.unique(target[leaf]).tolist()
    if targets == 1 or len(about) == 1:
        return weight[:, None], None if targets == 1 else about[0]
    says = np.zeros((len(of_leaf), targets))
    says[np.flatnonzero(leaf), target[leaf]] = weight[leaf]
    return says, None
