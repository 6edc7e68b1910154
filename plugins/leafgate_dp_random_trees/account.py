"""What a forest of sampled and thresholded trees promises: one account, with the bound nobody can beat beside it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from leafgate.errors import PolicyError
from leafgate_dp_random_trees import theorem
from leafgate_dp_random_trees.tight import Losses, Neighbours, lower, upper

Method = Literal["theorem", "tight"]
PAIRS = 16
"""So many pairs of tables the lower bound tries: from k people in a counter to half as many again as are needed to
keep k of them, on average, each time more by the same factor."""


@dataclass(frozen=True)
class Forest:
    """How the trees are made: each keeps a person with probability `beta` and shows counters from `k` up."""

    k: int
    beta: float
    trees: int

    def __post_init__(self) -> None:
        for name, fine, wanted in (
            ("k", self.k >= 1, "a whole number of people, 1 or more"),
            ("beta", 0 < self.beta < 1, "a probability between 0 and 1"),
            ("trees", self.trees >= 1, "1 or more"),
        ):
            if not fine:
                raise PolicyError("is out of range", place=name, remedy=f"give {wanted}")

    @property
    def floor(self) -> float:
        """The delta that no epsilon can go below: the chance that some counter of k people shows all of them."""
        return -math.expm1(self.trees * math.log1p(-(self.beta**self.k)))


@dataclass(frozen=True)
class Account:
    """(epsilon, delta)-differential privacy of a forest; `epsilon_lower` is what no account can be below."""

    k: int
    beta: float
    trees: int
    neighbours: Neighbours
    method: Method
    delta: float
    epsilon: float
    epsilon_lower: float

    def document(self) -> dict[str, Any]:
        """As JSON; an epsilon that is infinite is null."""
        return {name: None if told == math.inf else told for name, told in asdict(self).items()}


def at_delta(forest: Forest, delta: float, method: Method = "tight", neighbours: Neighbours = "add_remove") -> Account:
    """The account with the smallest epsilon at `delta` (between 0 and 1).

    Raises InvalidError where no epsilon is enough, with the reason.
    """
    if not 0 < delta < 1:
        raise PolicyError("is out of range", place="delta", remedy="give a probability between 0 and 1")
    if delta < forest.floor:
        raise PolicyError(
            f"no epsilon is enough: with chance {forest.floor:.3g} a counter of k people shows all of them",
            place="delta",
            remedy="raise k, lower beta, or grow fewer trees",
        )
    if method == "theorem":
        epsilon = _theorem_epsilon(forest, delta, neighbours)
    else:
        epsilon = upper(forest.k, forest.beta, neighbours).epsilon(forest.trees, delta)
    return _account(forest, delta, epsilon, method, neighbours)


def at_epsilon(
    forest: Forest, epsilon: float, method: Method = "tight", neighbours: Neighbours = "add_remove"
) -> Account:
    """The account with the smallest delta at a total `epsilon` (above 0, in nats)."""
    if not 0 < epsilon < math.inf:
        raise PolicyError("is out of range", place="epsilon", remedy="give a number above 0")
    if method == "theorem":
        delta = _theorem_delta(forest, epsilon, neighbours)
    else:
        delta = upper(forest.k, forest.beta, neighbours).delta(forest.trees, epsilon)
        delta = min(delta, _theorem_delta(forest, epsilon, neighbours))  # below 1e-14 the library's rounding tells
    return _account(forest, delta, epsilon, method, neighbours)


def _account(forest: Forest, delta: float, epsilon: float, method: Method, neighbours: Neighbours) -> Account:
    least = 0.0 if delta >= 1 else max(each.epsilon(forest.trees, delta) for each in _pairs(forest, neighbours))
    return Account(forest.k, forest.beta, forest.trees, neighbours, method, delta, epsilon, min(least, epsilon))


def _pairs(forest: Forest, neighbours: Neighbours) -> list[Losses]:
    most = 1.5 / forest.beta
    people = {round(forest.k * most ** (i / (PAIRS - 1))) for i in range(PAIRS)}
    return [lower(forest.k, forest.beta, n, neighbours) for n in sorted(people)]


def _theorem_delta(forest: Forest, epsilon: float, neighbours: Neighbours) -> float:
    """Theorem 5 tree by tree; to replace a person is to remove one and add one."""
    if neighbours == "add_remove":
        return theorem.delta_of(forest.k, forest.beta, forest.trees, epsilon)
    once = theorem.delta_of(forest.k, forest.beta, forest.trees, epsilon / 2)
    return min((1 + math.exp(min(epsilon / 2, 700))) * once, 1.0)


def _theorem_epsilon(forest: Forest, delta: float, neighbours: Neighbours) -> float:
    if neighbours == "add_remove":
        return theorem.epsilon_of(forest.k, forest.beta, forest.trees, delta)
    low = 2 * forest.trees * -math.log1p(-forest.beta)
    high = 1.05 * low
    while _theorem_delta(forest, high, neighbours) > delta:  # falls, and rises again
        low, high = high, 1.05 * high
        if high > 100 * forest.trees:
            return math.inf
    while high - low > 1e-7:
        middle = (low + high) / 2
        low, high = (low, middle) if _theorem_delta(forest, middle, neighbours) <= delta else (middle, high)
    return high
