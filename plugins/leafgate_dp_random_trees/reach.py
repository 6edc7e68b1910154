"""Which forests reach a wanted (epsilon, delta): for each k and number of trees the largest sampling rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from leafgate_dp_random_trees.account import Forest
from leafgate_dp_random_trees.tight import Losses, Neighbours, upper

RATES = tuple(i / 100 for i in range(1, 51))
"""The sampling rates that are tried."""


@dataclass(frozen=True)
class Reached:
    """The largest rate at which so many trees with this k keep the promise; None where not even the smallest does."""

    k: int
    trees: int
    beta: float | None


def reached(
    epsilon: float, delta: float, ks: Sequence[int], trees: Sequence[int], neighbours: Neighbours = "add_remove"
) -> Iterator[Reached]:
    """One answer for each k and number of trees, by the tight account; no table is looked at.

    More sampling tells more, so the largest rate is found by halving.
    """

    @cache
    def losses(k: int, rate: float) -> Losses:
        return upper(k, rate, neighbours, every=4)

    def keeps(k: int, n: int, rate: float) -> bool:
        return Forest(k, rate, n).floor <= delta and losses(k, rate).delta(n, epsilon) <= delta

    for k in ks:
        for n in trees:
            low, high = -1, len(RATES)
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if keeps(k, n, RATES[middle]) else (low, middle)
            yield Reached(k, n, RATES[low] if low >= 0 else None)
