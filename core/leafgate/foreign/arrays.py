"""Arrays of a foreign file, checked: numbers of one kind, one for each node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from leafgate.errors import ReleaseError
from leafgate.foreign.model import Floats, Ids


def floats_at(told: Mapping[str, Any], key: str, place: str, length: int | None = None) -> Floats:
    """The finite numbers under a key."""
    found = _numbers(told, key, "iuf", place, length).astype(np.float64)
    if not np.isfinite(found).all():
        raise ReleaseError("must hold finite numbers", place=f"{place}.{key}")
    return found


def whole_at(told: Mapping[str, Any], key: str, place: str, length: int | None = None) -> Ids:
    """The whole numbers under a key; true and false are 1 and 0."""
    found = _numbers(told, key, "iub", place, length)
    if found.size and abs(found.astype(np.float64)).max() > 2**31:
        raise ReleaseError("holds numbers that are too large", place=f"{place}.{key}")
    return found.astype(np.int64)


def _numbers(told: Mapping[str, Any], key: str, kinds: str, place: str, length: int | None) -> np.ndarray:
    found = told.get(key)
    if not isinstance(found, list | np.ndarray):
        raise ReleaseError("must be a list of numbers", place=f"{place}.{key}")
    try:
        array = np.asarray(found) if len(found) else np.zeros(0, dtype=np.int64)
    except (ValueError, OverflowError):
        raise ReleaseError("must be a list of numbers", place=f"{place}.{key}") from None
    if array.ndim != 1 or array.dtype.kind not in kinds:
        raise ReleaseError("must be a list of numbers", place=f"{place}.{key}")
    if length is not None and len(array) != length:
        raise ReleaseError("must speak of every node", place=f"{place}.{key}")
    return array


def used(low: Ids, high: Ids, leaf: np.ndarray) -> Ids | None:
    """The nodes below the first, that first; None where they are no tree, which the check will say."""
    seen = np.zeros(len(leaf), dtype=bool)
    rows = np.zeros(min(1, len(leaf)), dtype=np.int64)
    while len(rows):
        if rows.min() < 0 or rows.max() >= len(leaf) or seen[rows].any():
            return None
        seen[rows] = True
        inner = rows[~leaf[rows]]
        rows = np.concatenate([low[inner], high[inner]])
    return np.flatnonzero(seen)
