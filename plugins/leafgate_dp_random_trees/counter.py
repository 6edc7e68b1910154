"""One counter of one tree: how far its distributions with and without a person are apart.

A counter of n people is kept by each with probability beta, and shown as 0 when fewer than k are kept: T(Bin(n,
beta)). Its privacy profile is the largest hockey-stick divergence H_a(P||Q) = sum max(P - a Q, 0), a = e^epsilon,
over all n, of n people against n - 1 (a person is removed) and the other way round (added).

Both divergences are differences of tail probabilities, for the likelihood ratio rises with the count: of n against n
- 1 it is n (1 - beta) / (n - j) at count j, and at most 1 where 0 is shown.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


TINY, LEFT_OUT = 1e-60, 1e-50
"""Chances below the first are left out, of at most 10^9 counts; the second is more than all of them together."""


@dataclass(frozen=True)
class Profile:
    """The largest divergences at some epsilons (0 or more, rising): a person removed, and added."""

    epsilons: Floats
    removed: Floats
    added: Floats


def profile(k: int, beta: float, epsilons: Floats) -> Profile:
    """The privacy profile of one counter, the supremum over every n.

    Ends rigorously: showing 0 below k is post-processing, and without it the divergence falls with n;
    once that is at or below the largest found so far, for every epsilon, no larger n can have more.
    Chances below TINY at the upper end are left out, and more than their sum is added to the result.
    """
    a = np.exp(epsilons)
    removed, added = np.zeros(len(a)), np.zeros(len(a))
    before = Sums.of(np.ones(1))
    n = 0
    while True:
        n += 1
        chances = _one_more(before.chances, beta)
        now = Sums.of(chances[:-1] if chances[-1] < TINY else chances)
        if n >= k:
            pair = Pair(n, beta, now, before)
            _raise_to(removed, pair.removed(k, a))
            _raise_to(added, pair.added(k, a))
            if n % 16 == 0 and _within(pair.removed(0, a), removed) and _within(pair.added(0, a), added):
                return Profile(epsilons, np.minimum(removed + LEFT_OUT, 1), np.minimum(added + LEFT_OUT, 1))
        before = now


def _raise_to(largest: Floats, first: Floats) -> None:
    """Take the larger of each; behind its `first` a divergence is 0."""
    np.maximum(largest[: len(first)], first, out=largest[: len(first)])


def _within(first: Floats, largest: Floats) -> bool:
    return bool((first <= largest[: len(first)]).all())


def chances_of(n: int, beta: float, k: int) -> Floats:
    """The distribution of one counter of n people as it is shown: over 0 to n, nothing from 1 to k - 1."""
    chances = np.ones(1)
    for _ in range(n):
        chances = _one_more(chances, beta)
    shown = chances.copy()
    shown[0], shown[1:k] = chances[:k].sum(), 0.0
    return shown


def _one_more(chances: Floats, beta: float) -> Floats:
    """The distribution of Bin(n + 1, beta) from that of Bin(n, beta)."""
    more = np.zeros(len(chances) + 1)
    more[:-1] = (1 - beta) * chances
    more[1:] += beta * chances
    return more


@dataclass(frozen=True)
class Sums:
    """The chances of the counts from 0; for each count, and one more, those of it and all above, and of all below."""

    chances: Floats
    above: Floats
    below: Floats

    @classmethod
    def of(cls, chances: Floats) -> Sums:
        above, below = np.zeros(len(chances) + 1), np.zeros(len(chances) + 1)
        np.add.accumulate(chances[::-1], out=above[-2::-1])
        np.add.accumulate(chances, out=below[1:])
        return cls(chances, above, below)


@dataclass(frozen=True)
class Pair:
    """A counter of `n` people against one of n - 1, whose counts may end one earlier.

    A divergence falls as a rises: only the first of the rising `a` are answered for, behind them it is 0.
    """

    n: int
    beta: float
    now: Sums
    before: Sums

    def removed(self, k: int, a: Floats) -> Floats:
        """H_a(P_n || P_{n-1}) for a >= 1: the counts from `k` up whose ratio is above a."""
        last = len(self.now.chances)
        most = (1 - self.beta) / (1 - (last - 1) / self.n) if last <= self.n else np.inf
        a = _up_to(a, most)
        first = np.floor(self.n * (1 - (1 - self.beta) / a)).astype(np.int64) + 1
        first = np.minimum(np.maximum(first, k), last)
        without = self.before.above[np.minimum(first, len(self.before.chances))]
        return np.asarray(np.maximum(self.now.above[first] - a * without, 0))

    def added(self, k: int, a: Floats) -> Floats:
        """H_a(P_{n-1} || P_n) for a >= 1: what is shown as 0, and the counts whose ratio is above a."""
        last, earlier = len(self.now.chances), len(self.before.chances)
        shown = min(k, last)
        hidden, still = self.now.below[shown], self.before.below[min(shown, earlier)]
        ratio = still / hidden if hidden > 0 else np.inf if still > 0 else 0.0
        a = _up_to(a, max((1 - k / self.n) / (1 - self.beta), ratio))
        end = np.ceil(self.n * (1 - a * (1 - self.beta))).astype(np.int64)
        end = np.minimum(np.maximum(end, k), last)
        without = self.before.below[np.minimum(end, earlier)]
        return np.asarray(np.maximum(without - a * self.now.below[end], 0))


def _up_to(a: Floats, most: float) -> Floats:
    """The numbers up to `most`, or a little above."""
    return a[: np.searchsorted(a, most * (1 + 1e-9), side="right")]
