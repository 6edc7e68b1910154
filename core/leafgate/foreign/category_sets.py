"""Sets of categories that tests ask for, and how many of them a file may come to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leafgate.errors import ReleaseError

MAX_CATEGORIES = 2_000_000
"""So many categories all tests of a model may name, each counted wherever it stands: a set takes 60 bytes for each."""


def refuse_many(categories: int, place: str) -> None:
    """ReleaseError where tests name too many categories to be kept in memory."""
    if categories > MAX_CATEGORIES:
        raise ReleaseError(f"its tests name more than {MAX_CATEGORIES:,} categories in all", place=place)


class Budget:
    """How many categories the tests of one file have named so far."""

    def __init__(self, place: str) -> None:
        self.place, self.named = place, 0

    def spend(self, categories: int) -> None:
        """Count more; ReleaseError where it becomes too many."""
        self.named += categories
        refuse_many(self.named, self.place)


class BitSets:
    """One tree's sets, written as bits of 32-bit words; each is unpacked once, and counted wherever it is asked for."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.known: dict[int, tuple[int, ...]] = {}
        self.sets: dict[tuple[int, int | None], frozenset[str | float]] = {}

    def codes(self, number: int, words: np.ndarray) -> tuple[int, ...]:
        """The places of the bits of set `number`."""
        if number not in self.known:
            bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
            refuse_many(int(np.count_nonzero(bits)), self.budget.place)
            self.known[number] = tuple(np.flatnonzero(bits).tolist())
        return self.known[number]

    def of_codes(self, number: int, words: np.ndarray) -> frozenset[str | float]:
        """The set as numbers."""
        return self._made(number, None, self.codes(number, words), None)

    def of_texts(self, number: int, words: np.ndarray, feature: int, texts: Sequence[str]) -> frozenset[str | float]:
        """The set as the feature's texts; IndexError where it has not so many."""
        return self._made(number, feature, self.codes(number, words), texts)

    def _made(
        self, number: int, feature: int | None, codes: Sequence[int], texts: Sequence[str] | None
    ) -> frozenset[str | float]:
        self.budget.spend(len(codes))
        if (number, feature) not in self.sets:
            named = map(float, codes) if texts is None else (texts[code] for code in codes)
            self.sets[number, feature] = frozenset[str | float](named)
        return self.sets[number, feature]
