"""The lists of ONNX's TreeEnsemble (ai.onnx.ml, version 5): nodes and leaves apart, every leaf of one target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from leafgate.errors import ReleaseError
from leafgate.foreign.model import Flags, Floats, Ids
from leafgate.foreign.onnx.parts import Operator
from leafgate.foreign.onnx.tensors import UINT8, Tensor

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
    ends: tuple[Flags, Flags]
    missing: Flags
    target: Ids
    weight: Floats
    members: dict[int, frozenset[str | float]]

    @property
    def alone(self) -> Flags:
        """Nodes that lead to one leaf whatever the test says: a tree of one leaf is written down so."""
        return np.asarray(self.ends[0] & self.ends[1] & (self.child[0] == self.child[1]))


def lists_of(ensemble: Operator, place: str) -> Lists:
    """The lists, each of its length and with nothing in it that there cannot be."""
    modes = ensemble.attributes.get("nodes_modes")
    mode = np.asarray(modes.values) if isinstance(modes, Tensor) and modes.kind == UINT8 else np.zeros(0, np.int64)
    n = len(mode)
    feature = _whole(ensemble, "nodes_featureids", n, WIDE, place)
    at, weight = (_numbers(ensemble, name, place) for name in ("nodes_splits", "leaf_weights"))
    ends = [_whole(ensemble, f"nodes_{key}leafs", n, 2, place) == 1 for key in ("true", "false")]
    child = [
        _whole(ensemble, f"nodes_{key}nodeids", n, np.where(end, len(weight), n), place)
        for key, end in zip(("true", "false"), ends, strict=True)
    ]
    told = ensemble.attributes.get("nodes_missing_value_tracks_true")
    tracks = _whole(ensemble, "nodes_missing_value_tracks_true", n, 2, place) if told is not None and len(told) else 0
    target = _whole(ensemble, "leaf_targetids", len(weight), max(targets_of(ensemble), 1), place)
    roots = _whole(ensemble, "tree_roots", None, n, place)
    if not n or len(at) != n or not len(roots) or mode.max() > MEMBER:
        raise ReleaseError(LONG, place=place)
    members = _members(ensemble, mode, place) | {i: frozenset({float(at[i])}) for i in _where(mode, EQ, NEQ)}
    missing = np.broadcast_to(np.asarray(tracks) == 1, (n,))
    return Lists(roots, feature, at, mode, (child[0], child[1]), (ends[0], ends[1]), missing, target, weight, members)


def _where(mode: Ids, *wanted: int) -> list[int]:
    return [int(i) for i in np.flatnonzero(np.isin(mode, wanted))]


def targets_of(ensemble: Operator) -> int:
    """How many numbers it predicts; 0 where it does not say, or too many."""
    told = ensemble.attributes.get("n_targets")
    return told if isinstance(told, int) and 0 < told <= 1_000 else 0


def _whole(ensemble: Operator, name: str, length: int | None, below: Any, place: str) -> Ids:
    """A list of whole numbers from 0 to below a limit."""
    found = ensemble.attributes.get(name)
    if not isinstance(found, np.ndarray) or found.dtype != np.int64 or (length is not None and len(found) != length):
        raise ReleaseError(f"{LONG}: `{name}`", place=place)
    if ((found < 0) | (found >= below)).any():
        raise ReleaseError(f"`{name}` names what there is not", place=place)
    return found


def _numbers(ensemble: Operator, name: str, place: str) -> Floats:
    found = ensemble.attributes.get(name)
    if not isinstance(found, Tensor) or not found.numeric or not np.isfinite(found.values).all():
        raise ReleaseError(f"`{name}` must be a tensor of numbers", place=place)
    return np.asarray(found.values)


def _members(ensemble: Operator, mode: Ids, place: str) -> dict[int, frozenset[str | float]]:
    """For each node that asks whether a number is in a set: the sets stand one after another, each ended by NaN."""
    told, wanted = ensemble.attributes.get("membership_values"), _where(mode, MEMBER)
    values = told.values if isinstance(told, Tensor) and told.numeric else np.zeros(0)
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
