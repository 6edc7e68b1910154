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
    before = np.ones(1)
    n = 0
    while True:
        n += 1
        now = _one_more(before, beta)
        if now[-1] < TINY:
            now = now[:-1]
        if n >= k:
            pair = Pair(n, beta, now, np.append(before, np.zeros(len(now) - len(before))))
            np.maximum(removed, pair.removed(k, a), out=removed)
            np.maximum(added, pair.added(k, a), out=added)
            if n % 16 == 0 and (pair.removed(0, a) <= removed).all() and (pair.added(0, a) <= added).all():
                return Profile(epsilons, np.minimum(removed + LEFT_OUT, 1), np.minimum(added + LEFT_OUT, 1))
        before = now


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
class Pair:
    """A counter of `n` people against one of n - 1: both distributions, over counts from 0, of one length."""

    n: int
    beta: float
    now: Floats
    before: Floats

    def removed(self, k: int, a: Floats) -> Floats:
        """H_a(P_n || P_{n-1}) for a >= 1: the counts from `k` up whose ratio is above a."""
        first = np.floor(self.n * (1 - (1 - self.beta) / a)).astype(np.int64) + 1
        first = np.clip(first, k, len(self.now))
        with_person, without = (np.append(np.cumsum(p[::-1])[::-1], 0.0) for p in (self.now, self.before))
        return np.asarray(np.maximum(with_person[first] - a * without[first], 0))

    def added(self, k: int, a: Floats) -> Floats:
        """H_a(P_{n-1} || P_n) for a >= 1: what is shown as 0, and the counts whose ratio is above a."""
        end = np.ceil(self.n * (1 - a * (1 - self.beta))).astype(np.int64)
        end = np.clip(np.maximum(end, k), 0, len(self.now))
        with_person, without = (np.append(0.0, np.cumsum(p)) for p in (self.now, self.before))
        return np.asarray(np.maximum(without[end] - a * with_person[end], 0))
