"""The tight guarantee: the privacy-loss distribution of one tree, composed once for each tree.

A person is in one counter of a tree and in no other, so one counter's profile is a tree's; trees toss their own coins,
so they compose. The composition is that of the dp-accounting library, pessimistic (connect the dots: every profile
between two epsilons is drawn as the chord, which is above it).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from leafgate.errors import PolicyError
from leafgate_dp_random_trees.counter import Floats, Profile, chances_of, profile

Neighbours = Literal["add_remove", "replace_one"]
STEP = 1e-3
"""Of the epsilons a tree's loss is rounded to, in nats."""

FINE, FAR, COARSE = 1.0, 14.0, 20
"""Up to the first every step is used, up to the second every twentieth; a loss beyond counts as certain."""


@dataclass(frozen=True)
class Losses:
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


def upper(k: int, beta: float, neighbours: Neighbours = "add_remove", *, every: int = 1) -> Losses:
    """Losses that are nowhere smaller than one tree's: what they promise holds.

    With `every` above 1 only every so many steps are looked at: faster, a little larger, as true.
    """
    steps, found = _profile(k, beta, every)
    removed = _pessimistic(steps, found, found.removed, found.added)
    added = _pessimistic(steps, found, found.added, found.removed)
    if neighbours == "replace_one":
        return Losses((removed.compose(added),))
    return Losses((removed, added))


@lru_cache(maxsize=128)
def _profile(k: int, beta: float, every: int) -> tuple[NDArray[np.int64], Profile]:
    """Some steps, and the profile there; the trees of one promise and of its account ask for the same."""
    fine, end = round(FINE / STEP), round(FAR / STEP)
    parts = np.arange(0, fine, every), np.arange(fine, end + 1, COARSE * every)
    steps = np.concatenate(parts)
    found = profile(k, beta, np.asarray(steps * STEP, dtype=np.float64))
    for one in (steps, found.epsilons, found.removed, found.added):
        one.setflags(write=False)
    return steps, found


def lower(k: int, beta: float, n: int, neighbours: Neighbours = "add_remove") -> Losses:
    """Losses of one pair of tables, `n` people in a counter against n - 1, rounded down: no promise can be better."""
    with_person, without = chances_of(n, beta, k), chances_of(n - 1, beta, k)
    removed = _optimistic(with_person, np.append(without, 0.0))
    added = _optimistic(np.append(without, 0.0), with_person)
    if neighbours == "replace_one":
        return Losses((removed.compose(added),))
    return Losses((removed, added))


def _pessimistic(steps: NDArray[np.int64], found: Profile, mine: Floats, other: Floats) -> Any:
    """The distribution with profile `mine` at epsilons from 0 and, below, what the other direction's implies.

    H_a(P||Q) = 1 - a + a H_{1/a}(Q||P).
    """
    a = np.exp(-found.epsilons[:0:-1])
    below = 1 - a + a * other[:0:-1]
    deltas = np.concatenate([below, mine])
    rounded = np.concatenate([-steps[:0:-1], steps])
    deltas = np.minimum(np.maximum.accumulate(deltas[::-1])[::-1], 1.0)
    return _library().create_pmf_pessimistic_connect_dots(STEP, rounded, deltas)


def _optimistic(p: Floats, q: Floats) -> Any:
    """The losses ln(p / q) under p, each rounded down to a step; what q cannot give is lost for certain."""
    held = p > 0
    with np.errstate(divide="ignore"):
        loss = np.log(p[held]) - np.log(q[held])
    certain = float(p[held][np.isinf(loss)].sum())
    finite = np.isfinite(loss)
    steps = np.floor(loss[finite] / STEP).astype(int)
    values, which = np.unique(steps, return_inverse=True)
    chances = np.bincount(which.reshape(-1), weights=p[held][finite])
    told = dict(zip(values.tolist(), chances.tolist(), strict=True))
    return _library().create_pmf(told, STEP, certain, pessimistic_estimate=False)


def _library() -> Any:
    try:
        from dp_accounting.pld import pld_pmf
    except ImportError:
        raise PolicyError(
            "the tight account needs dp-accounting", remedy='install it: pip install "leafgate[privacy]"'
        ) from None
    return pld_pmf


def noisy(scale: float, neighbours: Neighbours = "add_remove") -> Any:
    """The loss of one tree whose every number has discrete Laplace noise of this scale.

    A person is in one number of a tree; who is replaced leaves one and enters another, or changes nothing.
    """
    library = _privacy_loss()
    one = library.from_discrete_laplace_mechanism(1 / scale, 1, value_discretization_interval=STEP)
    return one.compose(one) if neighbours == "replace_one" else one


def _privacy_loss() -> Any:
    _library()
    from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution
