"""Accuracy at equal (epsilon, delta): our forests with their ways to combine trees, noise, and other libraries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

from dp_account import DELTA
from dp_data import Data, Split
from dp_peers import peers
from dp_scores import Mean, Score, measured
from leafgate_plugins.dp_random_trees.accounting import choose_forest, noise_epsilon
from leafgate_plugins.dp_random_trees.builder import COMBINE_RULES
from leafgate_plugins.dp_random_trees.options import DpLaplaceTrees, DpRandomTrees, RandomTrees

EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)
RUNS = 5
FEWER = {2.0: 3, 4.0: 3}
"""Runs of the largest sampled forests."""
NOISY = (8, 16, 32, 64)
"""Numbers of trees with noise: all are reported, none is chosen."""
NOISY_RUNS = 3
NO_PROMISE = float("inf")
SCRIPTS = {"DP-EBM": "dp_peer_ebm", "diffprivlib": "dp_peer_diffprivlib"}


@dataclass(frozen=True)
class Point:
    """One way at one epsilon on one data set; `scale` is the noise's, or the sampling rate."""

    data: str
    way: str
    epsilon: float
    trees: int | None
    scale: float | None
    runs: int
    accuracy: float
    accuracy_error: float | None
    area: float | None
    area_error: float | None


Told = tuple[str, float, int | None, float | None]
"""Way, epsilon, trees, scale."""


def points(data: Data, pythons: dict[str, Path]) -> Iterator[Point]:
    """Every way on one data set; `pythons` has those of the other libraries."""
    found: dict[Told, list[Score]] = {}
    for result, score in (*_ours(data), *_others(data, pythons)):
        found.setdefault(result, []).append(score)
    for (way, epsilon, trees, scale), scores in found.items():
        yield Point(data.name, way, epsilon, trees, scale, len(scores), *summary(scores))


def summary(scores: Iterable[Score]) -> tuple[float, float | None, float | None, float | None]:
    """Accuracy and area under the curve, each with its standard error."""
    items = list(scores)
    accuracy = Mean.of([score.accuracy for score in items])
    areas = [score.area for score in items if score.area is not None]
    area = Mean.of(areas) if areas else None
    return accuracy.value, accuracy.error, area.value if area else None, area.error if area else None


def _ours(data: Data) -> Iterator[tuple[Told, Score]]:
    for run in range(RUNS):
        split = data.split(run)
        yield from _plain(split, run)
        for epsilon in EPSILONS:
            if run < FEWER.get(epsilon, RUNS):
                yield from _sampled(split, epsilon, run)
        for epsilon, trees in product(EPSILONS, NOISY):
            if run < NOISY_RUNS:
                yield from _noisy(split, epsilon, trees, run)


def _sampled(split: Split, epsilon: float, run: int) -> Iterator[tuple[Told, Score]]:
    """The builder as it is, but for epsilon; the ways to combine share a forest."""
    options = DpRandomTrees(epsilon=epsilon, delta=DELTA, rehearsal=True)
    release, chosen = options.build(split[0], np.random.default_rng(run)), choose_forest(options)
    for combine, name in COMBINE_RULES.items():
        score = measured(replace(release, combine=name), split[1])
        yield (f"sampled, {combine}", epsilon, chosen.trees, chosen.beta), score


def _noisy(split: Split, epsilon: float, trees: int, run: int) -> Iterator[tuple[Told, Score]]:
    scale = scale_of(trees, epsilon)
    options = DpLaplaceTrees(trees=trees, scale=scale, delta=DELTA, rehearsal=True)
    release = options.build(split[0], np.random.default_rng(run))
    for combine, name in COMBINE_RULES.items():
        yield (
            (f"noise, {trees} trees, {combine}", epsilon, trees, scale),
            measured(replace(release, combine=name), split[1]),
        )


@cache
def scale_of(trees: int, epsilon: float) -> float:
    """The least noise, to a hundredth, with which so many trees keep epsilon; no table is looked at."""
    low, high = 0, round(100 * trees / epsilon)  # by plain addition `high` is enough
    while high - low > 1:
        middle = (low + high) // 2
        keeps = noise_epsilon(trees, middle / 100, DELTA, "add_remove") <= epsilon
        low, high = (low, middle) if keeps else (middle, high)
    return high / 100


def _plain(split: Split, run: int) -> Iterator[tuple[Told, Score]]:
    """What the same trees would do without any promise."""
    release = RandomTrees().build(split[0], np.random.default_rng(run))
    yield ("no privacy, evidence", NO_PROMISE, len(release.trees), None), measured(release, split[1])


def _others(data: Data, pythons: dict[str, Path]) -> Iterator[tuple[Told, Score]]:
    for name, python in pythons.items():
        for way, epsilon, score in peers(python, SCRIPTS[name], data, EPSILONS, DELTA, RUNS):
            yield (way, epsilon, None, None), score
