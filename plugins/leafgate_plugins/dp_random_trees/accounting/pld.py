"""The privacy-loss distribution of one counter, and its composition over the trees of a forest.

A counter of n people is kept by each with probability beta, and shown as 0 when fewer than k are kept: T(Bin(n,
beta)). Its privacy profile is the largest hockey-stick divergence H_a(P||Q) = sum max(P - a Q, 0), a = e^epsilon,
over all n, of n people against n - 1 (a person is removed) and the other way round (added).

Both divergences are differences of tail probabilities, for the likelihood ratio rises with the count: of n against n
- 1 it is n (1 - beta) / (n - j) at count j, and at most 1 where 0 is shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.api import Floats, PolicyError
from leafgate.kernel.components import Neighbours
from leafgate.lazy_loading import install_command

TRUNCATED_PROBABILITY = 1e-60
"""Probabilities below this at the upper end of a distribution are dropped; there are at most 10^9 counts."""
TRUNCATION_BOUND = 1e-50
"""Added to every divergence: more than the sum of all dropped probabilities, so the result stays an upper bound."""


@dataclass(frozen=True)
class Profile:
    """The largest divergences at some epsilons (0 or more, rising): a person removed, and added."""

    epsilons: Floats
    removed: Floats
    added: Floats


def profile(k: int, beta: float, epsilons: Floats) -> Profile:
    """The privacy profile of one counter, the supremum over every n.

    Ends rigorously: showing 0 below k is post-processing, and without it the divergence falls with n;
    once that is at or below the largest found so far, at some epsilon, no larger n can have more there.
    Chances below TRUNCATED_PROBABILITY at the upper end are left out, and more than their sum is added to the result.
    """
    a = np.exp(epsilons)
    removed, added = Supremum.over(a), Supremum.over(a)
    before = TailSums(np.ones(1))
    n = 0
    while removed.open or added.open:
        n += 1
        chances = _add_person(before.chances, beta)
        now = TailSums(chances[:-1] if chances[-1] < TRUNCATED_PROBABILITY else chances)
        if n >= k:
            pair = NeighbouringCounters(n, beta, now, before)
            for largest, divergence in ((removed, pair.removed), (added, pair.added)):
                if largest.open:
                    largest.raise_to(divergence(k, largest.open_a))
                    if n % 16 == 0:
                        largest.close(divergence(0, largest.open_a))
        before = now
    return Profile(epsilons, removed.bound(), added.bound())


@dataclass
class Supremum:
    """The largest divergences so far at every `a`, and the range of `a` that larger numbers of people may raise."""

    a: Floats
    largest: Floats
    first: int
    last: int

    @classmethod
    def over(cls, a: Floats) -> Supremum:
        return cls(a, np.zeros(len(a)), 0, len(a))

    @property
    def open(self) -> bool:
        return self.first < self.last

    @property
    def open_a(self) -> Floats:
        return self.a[self.first : self.last]

    def raise_to(self, divergences: Floats) -> None:
        """Take the larger of each of the open range; behind its last a divergence is 0."""
        part = self.largest[self.first : self.first + len(divergences)]
        np.maximum(part, divergences, out=part)

    def close(self, limits: Floats) -> None:
        """Narrow the range to where a limit, of this number of people and all larger ones, exceeds the largest."""
        above = np.flatnonzero(limits > self.largest[self.first : self.first + len(limits)])
        start = self.first
        self.first, self.last = (start + int(above[0]), start + int(above[-1]) + 1) if len(above) else (start, start)

    def bound(self) -> Floats:
        return np.asarray(np.minimum(self.largest + TRUNCATION_BOUND, 1))


def counter_distribution(n: int, beta: float, k: int) -> Floats:
    """The distribution of one counter of n people as it is shown: over 0 to n, nothing from 1 to k - 1."""
    chances = np.ones(1)
    for _ in range(n):
        chances = _add_person(chances, beta)
    shown = chances.copy()
    shown[0], shown[1:k] = chances[:k].sum(), 0.0
    return shown


def _add_person(chances: Floats, beta: float) -> Floats:
    """The distribution of Bin(n + 1, beta) from that of Bin(n, beta)."""
    more = np.zeros(len(chances) + 1)
    more[:-1] = (1 - beta) * chances
    more[1:] += beta * chances
    return more


@dataclass(frozen=True)
class TailSums:
    """The chances of the counts from 0; for each count, and one more, those of it and all above, and of all below."""

    chances: Floats

    @cached_property
    def above(self) -> Floats:
        above = np.zeros(len(self.chances) + 1)
        np.add.accumulate(self.chances[::-1], out=above[-2::-1])
        return above

    @cached_property
    def below(self) -> Floats:
        below = np.zeros(len(self.chances) + 1)
        np.add.accumulate(self.chances, out=below[1:])
        return below


@dataclass(frozen=True)
class NeighbouringCounters:
    """A counter of `n` people against one of n - 1, whose counts may end one earlier.

    A divergence falls as a rises: only the first of the rising `a` are answered for, behind them it is 0.
    """

    n: int
    beta: float
    now: TailSums
    before: TailSums

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


DISCRETISATION_STEP = 1e-3
"""Of the epsilons a tree's loss is rounded to, in nats."""

FINE_EPSILON = 1.0
"""Up to this epsilon, in nats, the profile is evaluated at every discretisation step."""
MAX_EPSILON = 14.0
"""Up to this epsilon, in nats, it is evaluated at every COARSE_STRIDE-th step; a larger loss counts as certain."""
COARSE_STRIDE = 20
"""Steps between two evaluations above FINE_EPSILON."""


@dataclass(frozen=True)
class PrivacyLosses:
    """Privacy-loss distributions of one tree: in which direction the worse is, composition decides."""

    directions: tuple[Any, ...]

    def _composed(self, trees: int) -> tuple[Any, ...]:
        with np.errstate(all="ignore"):  # the library divides by chances that underflow
            return tuple(one.self_compose(trees) for one in self.directions)

    def delta(self, trees: int, epsilon: float) -> float:
        """The total delta of `trees` trees at a total `epsilon`."""
        return max(float(one.get_delta_for_epsilon(epsilon)) for one in self._composed(trees))

    def epsilon(self, trees: int, delta: float) -> float:
        """The total epsilon of `trees` trees at `delta`; infinite where none is enough."""
        return max(float(one.get_epsilon_for_delta(delta)) for one in self._composed(trees))

    def group_epsilon(self, trees: int, delta: float, rows: int) -> float:
        """The total epsilon at `delta` of tables that differ by so many rows; infinite where none was found.

        Of all epsilons e of one row whose deltas become no more than `delta` for the group, the least one of a grid,
        made more exact by bisection, times `rows`.
        """
        composed = self._composed(trees)

        def is_enough(epsilon: float) -> bool:
            of_one = max(float(one.get_delta_for_epsilon(epsilon)) for one in composed)
            return group_delta(rows, epsilon, max(of_one, ROUNDING)) <= delta

        high = next((each for each in GROUP_EPSILONS if is_enough(each)), math.inf)
        low = max((each for each in GROUP_EPSILONS if each < high), default=0.0)
        while math.isfinite(high) and high - low > GROUP_PRECISION:
            middle = (low + high) / 2
            low, high = (low, middle) if is_enough(middle) else (middle, high)
        return rows * high


ROUNDING = 1e-13
"""A delta of one row below it is taken for it: the library's rounding dominates there."""
GROUP_EPSILONS = tuple(0.001 * 1.1**i for i in range(100))
"""The epsilons of one row that are tried, up to 12.5."""
GROUP_PRECISION = 1e-9


def group_delta(rows: int, epsilon: float, delta: float) -> float:
    """The delta at `rows` times `epsilon` of tables that differ by so many rows.

    With P_i the chance of an outcome of the i-th of `rows` + 1 tables, each of which differs from the next by a row,
    P_0 <= e^epsilon P_1 + delta <= ... <= e^(rows epsilon) P_rows + delta (e^0 + ... + e^((rows - 1) epsilon)).

    Args:
        rows: 1 or more.
        epsilon: of one row, in nats, from 0.
        delta: of one row at this epsilon, from 0 to 1.

    Source: Vadhan, "The Complexity of Differential Privacy", 2017, Lemma 2.2. doi:10.1007/978-3-319-57048-8_7
    Departure: the sum itself in the place of its bound rows e^(rows epsilon).

    >>> group_delta(1, 2.0, 1e-6), group_delta(3, 0.0, 1e-6)
    (1e-06, 3e-06)
    """
    if rows == 1 or delta == 0:
        return delta
    if rows * epsilon > MAX_EXPONENT:
        return math.inf
    return delta * math.fsum(math.exp(i * epsilon) for i in range(rows))


MAX_EXPONENT = 700.0
"""Powers of e above it are no floats."""


def pessimistic_losses(k: int, beta: float, neighbours: Neighbours = "add_remove", *, every: int = 1) -> PrivacyLosses:
    """Losses that are nowhere smaller than one tree's: what they promise holds.

    With `every` above 1 only every so many steps are looked at: faster, a little larger, as true.
    """
    steps, found = _profile(k, beta, every)
    removed = _pessimistic(steps, found, found.removed, found.added)
    added = _pessimistic(steps, found, found.added, found.removed)
    if neighbours == "replace_one":
        return PrivacyLosses((removed.compose(added),))
    return PrivacyLosses((removed, added))


@lru_cache(maxsize=128)
def _profile(k: int, beta: float, every: int) -> tuple[NDArray[np.int64], Profile]:
    """Some steps, and the profile there; the trees of one promise and of its account ask for the same."""
    fine, end = round(FINE_EPSILON / DISCRETISATION_STEP), round(MAX_EPSILON / DISCRETISATION_STEP)
    parts = np.arange(0, fine, every), np.arange(fine, end + 1, COARSE_STRIDE * every)
    steps = np.concatenate(parts)
    found = profile(k, beta, np.asarray(steps * DISCRETISATION_STEP, dtype=np.float64))
    for one in (steps, found.epsilons, found.removed, found.added):
        one.setflags(write=False)
    return steps, found


def optimistic_losses(k: int, beta: float, n: int, neighbours: Neighbours = "add_remove") -> PrivacyLosses:
    """Losses of one pair of tables, `n` people in a counter against n - 1, rounded down: no promise can be better."""
    with_person, without = counter_distribution(n, beta, k), counter_distribution(n - 1, beta, k)
    removed = _optimistic(with_person, np.append(without, 0.0))
    added = _optimistic(np.append(without, 0.0), with_person)
    if neighbours == "replace_one":
        return PrivacyLosses((removed.compose(added),))
    return PrivacyLosses((removed, added))


def _pessimistic(steps: NDArray[np.int64], found: Profile, mine: Floats, other: Floats) -> Any:
    """The distribution with profile `mine` at epsilons from 0 and, below, what the other direction's implies.

    H_a(P||Q) = 1 - a + a H_{1/a}(Q||P).
    """
    a = np.exp(-found.epsilons[:0:-1])
    below = 1 - a + a * other[:0:-1]
    deltas = np.concatenate([below, mine])
    rounded = np.concatenate([-steps[:0:-1], steps])
    deltas = np.minimum(np.maximum.accumulate(deltas[::-1])[::-1], 1.0)
    return _library().create_pmf_pessimistic_connect_dots(DISCRETISATION_STEP, rounded, deltas)


def _optimistic(p: Floats, q: Floats) -> Any:
    """The losses ln(p / q) under p, each rounded down to a step; what q cannot give is lost for certain."""
    held = p > 0
    with np.errstate(divide="ignore"):
        loss = np.log(p[held]) - np.log(q[held])
    certain = float(p[held][np.isinf(loss)].sum())
    finite = np.isfinite(loss)
    steps = np.floor(loss[finite] / DISCRETISATION_STEP).astype(int)
    values, which = np.unique(steps, return_inverse=True)
    chances = np.bincount(which.reshape(-1), weights=p[held][finite])
    result = dict(zip(values.tolist(), chances.tolist(), strict=True))
    return _library().create_pmf(result, DISCRETISATION_STEP, certain, pessimistic_estimate=False)


def _library() -> Any:
    try:
        from dp_accounting.pld import pld_pmf
    except ImportError:
        remedy = f"install it: {install_command('privacy')}"
        raise PolicyError("the tight account needs dp-accounting", remedy=remedy) from None
    return pld_pmf


def discrete_laplace_loss(scale: float, neighbours: Neighbours = "add_remove") -> Any:
    """The loss of one tree whose every number has discrete Laplace noise of this scale.

    A person is in one number of a tree; who is replaced leaves one and enters another, or changes nothing.
    """
    library = _privacy_loss()
    one = library.from_discrete_laplace_mechanism(1 / scale, 1, value_discretization_interval=DISCRETISATION_STEP)
    return one.compose(one) if neighbours == "replace_one" else one


def _privacy_loss() -> Any:
    _library()
    from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution
