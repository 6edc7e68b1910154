"""Table 5: delta against epsilon, by the printed theorem and by the tight account."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

from leafgate_plugins.dp_random_trees.accounting import Forest, theorem
from leafgate_plugins.dp_random_trees.accounting.pld import PrivacyLosses, pessimistic_losses

KS, BETAS, TREES = (5, 10, 20), (0.1, 0.2, 0.4), (1, 8, 32)
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
DELTA = 1e-6


@dataclass(frozen=True)
class Deltas:
    """A forest's delta at a total epsilon by both accounts; 1 where the theorem says nothing. As text: so tiny."""

    k: int
    beta: float
    trees: int
    epsilon: float
    theorem: str
    tight: str


@dataclass(frozen=True)
class Epsilons:
    """The other way round: a forest's total epsilon at one delta, none where no epsilon is enough."""

    k: int
    beta: float
    trees: int
    floor: str
    theorem: float | None
    tight: float | None


def deltas() -> Iterator[Deltas]:
    for k, beta, trees, epsilon in product(KS, BETAS, TREES, EPSILONS):
        printed, tight = delta(k, beta, trees, epsilon)
        yield Deltas(k, beta, trees, epsilon, f"{printed:.3g}", f"{tight:.3g}")


def delta(k: int, beta: float, trees: int, epsilon: float) -> tuple[float, float]:
    """By the theorem, and tight."""
    return theorem.delta_of(k, beta, trees, epsilon), losses(k, beta).delta(trees, epsilon)


def epsilons() -> Iterator[Epsilons]:
    for k, beta, trees in product(KS, BETAS, TREES):
        floor = Forest(k, beta, trees).floor
        printed = theorem.epsilon_of(k, beta, trees, DELTA)
        yield Epsilons(k, beta, trees, f"{floor:.3g}", _finite(printed), epsilon_of(k, beta, trees))


@cache
def epsilon_of(k: int, beta: float, trees: int) -> float | None:
    """The tight epsilon of a forest at the one delta."""
    if Forest(k, beta, trees).floor > DELTA:
        return None
    return _finite(losses(k, beta).epsilon(trees, DELTA))


@cache
def losses(k: int, beta: float) -> PrivacyLosses:
    return pessimistic_losses(k, beta)


def _finite(epsilon: float) -> float | None:
    return epsilon if math.isfinite(epsilon) else None
