"""Checked arrays of model files, sets of categories within a budget, and trees that are built node by node."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leafgate.errors import ReleaseError
from leafgate.ir.model import LEAF, TreeIR
from leafgate.ir.node_numbers import NodeNumbers
from leafgate.kernel.arrays import Floats, Ids

MAX_CATEGORIES = 2_000_000
"""So many categories all tests of a model may name, each counted wherever it stands: a set takes 60 bytes for each."""


def refuse_many_categories(categories: int, place: str, remedy: str = "") -> None:
    """ReleaseError where tests name too many categories to be kept in memory."""
    if categories > MAX_CATEGORIES:
        raise ReleaseError(f"its tests name more than {MAX_CATEGORIES:,} categories in all", place=place, remedy=remedy)


class CategoryBudget:
    """How many categories the tests of one file have named so far."""

    def __init__(self, place: str, remedy: str = "") -> None:
        self.place, self.remedy, self.named = place, remedy, 0

    def spend(self, categories: int) -> None:
        """Count more; ReleaseError where it becomes too many."""
        self.named += categories
        refuse_many_categories(self.named, self.place, self.remedy)


class BitSets:
    """One tree's sets, written as bits of 32-bit words; each is unpacked once, and counted wherever it is asked for."""

    def __init__(self, budget: CategoryBudget) -> None:
        self.budget = budget
        self.known: dict[int, tuple[int, ...]] = {}
        self.sets: dict[tuple[int, int | None], frozenset[str | float]] = {}

    def codes(self, number: int, words: np.ndarray) -> tuple[int, ...]:
        """The places of the bits of set `number`."""
        if number not in self.known:
            bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
            refuse_many_categories(int(np.count_nonzero(bits)), self.budget.place)
            self.known[number] = tuple(np.flatnonzero(bits).tolist())
        return self.known[number]

    def of_codes(self, number: int, words: np.ndarray) -> frozenset[str | float]:
        """The set as numbers."""
        return self._decoded(number, None, self.codes(number, words), None)

    def of_texts(self, number: int, words: np.ndarray, feature: int, texts: Sequence[str]) -> frozenset[str | float]:
        """The set as the feature's texts; IndexError where it has not so many."""
        return self._decoded(number, feature, self.codes(number, words), texts)

    def _decoded(
        self, number: int, feature: int | None, codes: Sequence[int], texts: Sequence[str] | None
    ) -> frozenset[str | float]:
        self.budget.spend(len(codes))
        if (number, feature) not in self.sets:
            named = map(float, codes) if texts is None else (texts[code] for code in codes)
            self.sets[number, feature] = frozenset[str | float](named)
        return self.sets[number, feature]


def floats_at(fields: Mapping[str, Any], key: str, place: str, length: int | None = None) -> Floats:
    """The finite numbers under a key."""
    found = _numbers(fields, key, "iuf", place, length).astype(np.float64)
    if not np.isfinite(found).all():
        raise ReleaseError("must hold finite numbers", place=f"{place}.{key}")
    return found


def integers_at(fields: Mapping[str, Any], key: str, place: str, length: int | None = None) -> Ids:
    """The whole numbers under a key; true and false are 1 and 0."""
    found = _numbers(fields, key, "iub", place, length)
    if found.size and abs(found.astype(np.float64)).max() > 2**31:
        raise ReleaseError("holds numbers that are too large", place=f"{place}.{key}")
    return found.astype(np.int64)


def _numbers(document: Mapping[str, Any], key: str, kinds: str, place: str, length: int | None) -> np.ndarray:
    found = document.get(key)
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


def reachable_nodes(low: Ids, high: Ids, leaf: np.ndarray) -> Ids | None:
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


@dataclass
class TreeIRBuilder:
    """Nodes in the order they are added; the two children of a test are set once they are added."""

    feature: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    flags: list[tuple[bool, bool, bool]] = field(default_factory=list)
    children: list[list[int]] = field(default_factory=list)
    subsets: dict[int, frozenset[str | float]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.feature)

    def add(
        self,
        feature: int = LEAF,
        threshold: float = np.nan,
        *,
        strict: bool = False,
        float32: bool = False,
        missing_low: bool = False,
        subset: Collection[str | float] | None = None,
    ) -> int:
        """Add a test of a number, or of a `subset` of categories or their codes; without a feature a leaf.

        Returns:
            Its position.
        """
        node = len(self)
        self.feature.append(feature)
        self.threshold.append(threshold)
        self.flags.append((strict, float32, missing_low))
        self.children.append([LEAF, LEAF])
        if subset is not None:
            self.subsets[node] = frozenset[str | float](subset)
        return node

    def build(
        self,
        values: Floats,
        counts: Floats | None = None,
        size: Floats | None = None,
        numbers: Sequence[NodeNumbers] = (),
    ) -> TreeIR:
        """The tree, with a row of `values` for each node."""
        strict, float32, missing_low = np.array(self.flags, dtype=bool).T
        low, high = np.array(self.children, dtype=np.int64).T
        return TreeIR(
            feature=np.array(self.feature),
            threshold=np.array(self.threshold),
            low=low,
            high=high,
            values=values,
            strict=strict,
            float32=float32,
            missing_low=missing_low,
            subsets=self.subsets,
            counts=counts,
            size=size,
            numbers=tuple(numbers),
        )
