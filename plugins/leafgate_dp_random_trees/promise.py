"""Which forest keeps a wanted promise, and what a forest claims."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

from leafgate.errors import PolicyError
from leafgate_dp_random_trees.account import Account, Forest, Method, at_delta
from leafgate_dp_random_trees.reach import reached
from leafgate_dp_random_trees.tight import Losses, Neighbours, noisy, upper

if TYPE_CHECKING:
    from leafgate_dp_random_trees import DpLaplaceTrees, DpRandomTrees

TREES, RATE, MOST = 128, 0.075, 1_000
"""Without a wish: trees, and the rate; and the most trees that are looked at."""
FEW, MANY = 64, 256
"""With fewer trees most pairs of columns are never asked; with more, only the fitting takes longer."""

DIGITS = 1e6
"""A claim is rounded up to one over this."""


def settled(options: DpRandomTrees) -> Forest:
    """The forest of these options or, by the tight account, one that keeps the promise they want.

    Raises PolicyError where the promise cannot be kept. Looks at no table.
    """
    if options.epsilon is None:
        return Forest(options.k, options.beta or RATE, options.trees or TREES)
    wanted = options.epsilon, options.delta, options.neighbours
    if options.trees is None and options.beta is None:
        return _chosen(options.k, *wanted)
    if options.beta is None:
        return _with_trees(options.k, options.trees or TREES, *wanted)
    allowed = _most(options.k, options.beta, *wanted)
    if (options.trees or 1) > allowed:
        raise _refusal(f"so many trees cannot keep it: {allowed} can" if allowed else "not even one tree keeps it")
    return Forest(options.k, options.beta, options.trees or allowed)


def _chosen(k: int, epsilon: float, delta: float, neighbours: Neighbours) -> Forest:
    """As many trees as the usual rate allows; with FEW or MANY of them, where that is fewer or more, another rate."""
    trees = _most(k, RATE, epsilon, delta, neighbours)
    if FEW <= trees <= MANY:
        return Forest(k, RATE, trees)
    return _with_trees(k, FEW if trees < FEW else MANY, epsilon, delta, neighbours)


@cache
def _with_trees(k: int, trees: int, epsilon: float, delta: float, neighbours: Neighbours) -> Forest:
    """So many trees with the largest rate, to a hundredth, that keeps the promise."""
    rate = next(reached(epsilon, delta, (k,), (trees,), neighbours)).beta
    if rate is None:
        raise _refusal(f"no rate lets {trees} trees keep it")
    return Forest(k, rate, trees)


def _refusal(why: str) -> PolicyError:
    return PolicyError(why, place="build.epsilon", remedy="raise k, lower beta, or grow fewer trees")


@cache
def _most(k: int, beta: float, epsilon: float, delta: float, neighbours: Neighbours) -> int:
    """The most trees, up to MOST, that keep the promise; found by halving, for more trees tell more."""
    losses = upper(k, beta, neighbours)
    low, high = 0, MOST + 1
    while high - low > 1:
        middle = (low + high) // 2
        keeps = Forest(k, beta, middle).floor <= delta and losses.delta(middle, epsilon) <= delta
        low, high = (middle, high) if keeps else (low, middle)
    return low


def of_samples(options: DpRandomTrees, forest: Forest) -> dict[str, Any]:
    """The claim of a sampled forest: its tight epsilon, and the printed theorem's beside it."""
    delta = options.delta
    epsilon, theorem = (account(forest, delta, method, options.neighbours).epsilon for method in ("tight", "theorem"))
    if math.isinf(epsilon):
        raise _refusal("no epsilon is enough at this delta")
    claim = {"at_most": claimed(epsilon), "delta": delta, "neighbours": options.neighbours}
    return claim | {"theorem": claimed(theorem) if math.isfinite(theorem) else None}


@cache
def account(forest: Forest, delta: float, method: Method, neighbours: Neighbours) -> Account:
    """The account of a forest, made once: it depends on no data."""
    return at_delta(forest, delta, method, neighbours)


def of_noise(options: DpLaplaceTrees) -> dict[str, Any]:
    """The claim of a noisy forest."""
    epsilon = noise_epsilon(options.trees, options.scale, options.delta, options.neighbours)
    return {"at_most": claimed(epsilon), "delta": options.delta, "neighbours": options.neighbours}


@cache
def noise_epsilon(trees: int, scale: float, delta: float, neighbours: Neighbours) -> float:
    """The epsilon at `delta` of numbers with discrete Laplace noise in each of so many trees; at 0 they add up."""
    pure = trees / scale * (2 if neighbours == "replace_one" else 1)
    if delta == 0:
        return pure
    return min(pure, Losses((noisy(scale, neighbours),)).epsilon(trees, delta))


def claimed(epsilon: float) -> float:
    """Rounded up, so that what is claimed can be read."""
    return math.ceil(epsilon * DIGITS) / DIGITS
