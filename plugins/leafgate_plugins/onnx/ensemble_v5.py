"""The lists of ONNX's TreeEnsemble (ai.onnx.ml, version 5): nodes and leaves apart, every leaf of one target."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leafgate.api import Floats, Ids, Mask, ReleaseError
from leafgate.kernel.tree import MAX_DEPTH
from leafgate.readers import LEAF, TreeIR
from leafgate_plugins.onnx.graph import Operator
from leafgate_plugins.onnx.wire import UINT8, Tensor

LEQ, LT, GTE, GT, EQ, NEQ, MEMBER = range(7)
WIDE, LONG = 100_000, "its lists of nodes or leaves are not of one length"


@dataclass(frozen=True)
class Lists:
    """All nodes and leaves of all trees; a child is a node's number, or a leaf's where it is said to be one."""

    roots: Ids
    feature: Ids
    at: Floats
    mode: Ids
    child: tuple[Ids, Ids]
    """Where it goes when the test is true, and when it is false."""
    ends: tuple[Mask, Mask]
    missing: Mask
    target: Ids
    weight: Floats
    members: dict[int, frozenset[str | float]]

    @property
    def alone(self) -> Mask:
        """Nodes that lead to one leaf whatever the test says: a tree of one leaf is written down so."""
        return np.asarray(self.ends[0] & self.ends[1] & (self.child[0] == self.child[1]))


def lists_of(ensemble: Operator, place: str) -> Lists:
    """The lists, each of its length and with nothing in it that there cannot be."""
    modes = ensemble.attributes.get("nodes_modes")
    mode = np.asarray(modes.values) if isinstance(modes, Tensor) and modes.kind == UINT8 else np.zeros(0, np.int64)
    n = len(mode)
    feature = _whole_numbers(ensemble, "nodes_featureids", n, WIDE, place)
    at = _numbers(ensemble, "nodes_splits", place, endless=True)
    weight = _numbers(ensemble, "leaf_weights", place)
    ends = [_whole_numbers(ensemble, f"nodes_{key}leafs", n, 2, place) == 1 for key in ("true", "false")]
    child = [
        _whole_numbers(ensemble, f"nodes_{key}nodeids", n, np.where(end, len(weight), n), place)
        for key, end in zip(("true", "false"), ends, strict=True)
    ]
    result = ensemble.attributes.get("nodes_missing_value_tracks_true")
    tracks = (
        _whole_numbers(ensemble, "nodes_missing_value_tracks_true", n, 2, place)
        if result is not None and len(result)
        else 0
    )
    target = _whole_numbers(ensemble, "leaf_targetids", len(weight), max(targets_of(ensemble), 1), place)
    roots = _whole_numbers(ensemble, "tree_roots", None, n, place)
    if not n or len(at) != n or not len(roots) or mode.max() > MEMBER:
        raise ReleaseError(LONG, place=place)
    if np.isinf(at[np.isin(mode, (EQ, NEQ))]).any():
        raise ReleaseError("asks whether a number is infinite", place=place)
    members = _members(ensemble, mode, place) | {i: frozenset({float(at[i])}) for i in _where(mode, EQ, NEQ)}
    missing = np.broadcast_to(np.asarray(tracks) == 1, (n,))
    return Lists(roots, feature, at, mode, (child[0], child[1]), (ends[0], ends[1]), missing, target, weight, members)


def _where(mode: Ids, *wanted: int) -> list[int]:
    return [int(i) for i in np.flatnonzero(np.isin(mode, wanted))]


def targets_of(ensemble: Operator) -> int:
    """How many numbers it predicts; 0 where it does not say, or too many."""
    result = ensemble.attributes.get("n_targets")
    return result if isinstance(result, int) and 0 < result <= 1_000 else 0


def _whole_numbers(ensemble: Operator, name: str, length: int | None, below: Any, place: str) -> Ids:
    """A list of whole numbers from 0 to below a limit."""
    found = ensemble.attributes.get(name)
    if not isinstance(found, np.ndarray) or found.dtype != np.int64 or (length is not None and len(found) != length):
        raise ReleaseError(f"{LONG}: `{name}`", place=place)
    if ((found < 0) | (found >= below)).any():
        raise ReleaseError(f"`{name}` names what there is not", place=place)
    return found


def _numbers(ensemble: Operator, name: str, place: str, *, endless: bool = False) -> Floats:
    """A list of finite numbers, or of `endless` ones too."""
    found = ensemble.attributes.get(name)
    if not isinstance(found, Tensor) or not found.numeric or np.isnan(found.values).any():
        raise ReleaseError(f"`{name}` must be a tensor of numbers", place=place)
    if not endless and np.isinf(found.values).any():
        raise ReleaseError(f"`{name}` must be a tensor of numbers", place=place)
    return np.asarray(found.values)


def finite_thresholds(at: Floats, strict: Mask, by_set: Mask) -> tuple[Floats, Mask]:
    """Thresholds, and whether their tests are strict, with the largest number in place of infinity.

    All numbers are below it: scikit-learn writes infinity where it parts missing cells from all numbers. Nodes that
    test `by_set`, and other thresholds, stay as they are.
    """
    endless = (at == np.inf) & ~by_set
    return np.where(endless, sys.float_info.max, at), strict & ~endless


def _members(ensemble: Operator, mode: Ids, place: str) -> dict[int, frozenset[str | float]]:
    """For each node that asks whether a number is in a set: the sets stand one after another, each ended by NaN."""
    result, wanted = ensemble.attributes.get("membership_values"), _where(mode, MEMBER)
    values = result.values if isinstance(result, Tensor) and result.numeric else np.zeros(0)
    ends = np.flatnonzero(np.isnan(values))
    sets = np.split(values, ends + 1)
    if len(ends) and len(sets[-1]) == 0:
        sets = sets[:-1]
    if len(sets if len(values) else []) != len(wanted):
        raise ReleaseError("has not one set for each node that asks for one", place=place)
    found = {node: frozenset(float(x) for x in each[~np.isnan(each)]) for node, each in zip(wanted, sets, strict=False)}
    if not all(found.values()):
        raise ReleaseError("asks for a number of no set", place=place)
    return dict(found)


MAX_SAYS = 20_000_000


def grown(lists: Lists, targets: int, place: str) -> list[TreeIR]:
    """Every tree; each node and each leaf must belong to one."""
    owner = _owners(lists, place)
    order = np.argsort(owner, kind="stable")
    parts = np.split(order, np.searchsorted(owner[order], np.arange(1, len(lists.roots))))
    if targets > 1 and len(owner) * 2 * targets > MAX_SAYS:
        raise ReleaseError("has more leaves and classes than are read here", place=place)
    where = np.empty(len(owner), dtype=np.int64)
    built = []
    for root, rows in zip(lists.roots.tolist(), parts, strict=True):
        ids = np.concatenate([[root], rows[rows != root]])
        where[ids] = np.arange(len(ids))
        built.append(_tree(lists, ids, where, targets))
    return built


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


def _tree(lists: Lists, ids: Ids, where: Ids, targets: int) -> TreeIR:
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
    at, strict = finite_thresholds(lists.at[ids], np.isin(mode, (LT, GTE)), np.isin(mode, (EQ, NEQ, MEMBER)))
    subsets = {i: lists.members[node] for i, node in enumerate(ids.tolist()) if node in lists.members and not alone[i]}
    return TreeIR(
        feature=leaves(lists.feature[ids], LEAF),
        threshold=leaves(at, np.nan),
        low=leaves(low, LEAF),
        high=leaves(high, LEAF),
        values=says,
        strict=leaves(strict, False),
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
