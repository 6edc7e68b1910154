"""Random forests as the paper grows them, for many settings at once: Tables 6 and 7.

Structures and samples come from the plugin. Its builder would refuse some settings, which promise nothing at all; and
here one structure, and one sample, serve every k. `same` holds the result against the builder's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from dp_account import epsilon_of
from dp_data import Data, Split
from dp_scores import Floats, Mean, Score, measured, of_votes
from leafgate.algorithms.routing import route
from leafgate.kernel.release import BuildResult
from leafgate.kernel.tree import Node
from leafgate_plugins.dp_random_trees.mechanisms import Key, sample_counts
from leafgate_plugins.dp_random_trees.options import DpRandomTrees, RandomTrees
from leafgate_plugins.dp_random_trees.structure import draw_random_trees

TREES = (8, 32)
KS = (0, 5, 10, 20, 50)
"""0 is none: everybody is counted, nothing is sampled."""
BETAS = (0.01, 0.05, 0.1, 0.2, 0.4)
DEPTHS = (2, 3, 4, 5, 6)


@dataclass(frozen=True)
class Cell:
    """One setting of Table 6 or 7; accuracy and area with their standard errors over `runs`."""

    data: str
    depth: int
    trees: int
    k: int
    beta: float
    runs: int
    accuracy: float
    accuracy_error: float | None
    area: float | None
    area_error: float | None


Setting = tuple[int, int, float]
"""Trees, k, beta."""


def settings() -> list[Setting]:
    sampled = [(trees, k, beta) for trees, k, beta in product(TREES, KS, BETAS) if k]
    return [*((trees, 0, 1.0) for trees in TREES), *sampled]


def cells(data: Data, depth: int, runs: int) -> Iterator[Cell]:
    """Every setting at one depth; run r has its own split, structure and samples."""
    found = [scores(data.split(run), depth, run) for run in range(runs)]
    for setting in settings():
        items = [each[setting] for each in found]
        areas = [score.area for score in items if score.area is not None]
        accuracy, area = Mean.of([score.accuracy for score in items]), Mean.of(areas) if areas else Mean(0, None)
        trees, k, beta = setting
        second = (area.value, area.error) if areas else (None, None)
        yield Cell(data.name, depth, trees, k, beta, runs, accuracy.value, accuracy.error, *second)


def scores(split: Split, depth: int, run: int) -> dict[Setting, Score]:
    """All settings on one split: the first 8 of the 32 trees are the smaller forest."""
    table, test = split
    rng = np.random.default_rng(run)
    votes = {(k, beta): np.zeros((len(test), len(test.schema.classes))) for _, k, beta in settings()}
    found: dict[Setting, Score] = {}
    for number, tree in enumerate(list(draw_random_trees(table.schema, depth, max(TREES), rng)), start=1):
        for key, result in _told(tree, split, rng):
            votes[key] += result
        if number in TREES:
            found |= {(number, *key): of_votes(each, test) for key, each in votes.items()}
    return found


def _told(tree: Node, split: Split, rng: np.random.Generator) -> Iterator[tuple[tuple[int, float], Floats]]:
    """What one tree says of each person to test, for every k and beta."""
    table, test = split
    classes = len(table.schema.classes)
    routed, reached = route(tree, table), route(tree, test).leaf
    counter = routed.leaf * classes + table.codes(table.schema.target.name)
    for beta in (1.0, *BETAS):
        weight = table.weight if beta == 1 else sample_counts(table.weight, beta, Key.drawn(rng))
        counts = np.bincount(counter, weights=weight, minlength=len(routed.leaves) * classes).reshape(-1, classes)
        for k in KS:
            if (k == 0) == (beta == 1):
                yield (k, beta), np.where(counts >= k, counts, 0)[reached]


def same(split: Split, depth: int, seeds: int = 20) -> tuple[Mean, Mean, Mean, Mean]:
    """Accuracy here and by the builders, without and with k: their difference is that of the samples' coins."""
    mine = [scores(split, depth, seed) for seed in range(seeds)]
    plain = RandomTrees(trees=8, depth=depth, structure="random", combine="sum")
    private = DpRandomTrees(trees=8, depth=depth, structure="random", combine="sum", k=20, beta=0.1, rehearsal=True)
    built: list[list[float]] = [[], []]
    for seed in range(seeds):
        for builder, result in zip((plain, private), built, strict=True):
            release = BuildResult.of(builder.build(split[0], np.random.default_rng(seed))).release
            result.append(measured(release, split[1]).accuracy)
    ours = ([each[setting].accuracy for each in mine] for setting in ((8, 0, 1.0), (8, 20, 0.1)))
    (one, two), (three, four) = map(Mean.of, ours), map(Mean.of, built)
    return one, two, three, four


@dataclass(frozen=True)
class Rate:
    """The tight epsilon of a forest of Table 7 at the one delta; None where no epsilon is enough."""

    k: int
    beta: float
    trees: int
    epsilon: float | None


def sampling_rates(trees: int = 32) -> Iterator[Rate]:
    """Of the page's forests by k and sampling rate, on any data."""
    for k, beta in product(KS[1:], BETAS):
        yield Rate(k, beta, trees, epsilon_of(k, beta, trees))
