"""Growing by probable sides: everyone goes down one side at random, or down both in part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leafgate.types.noise import Noise
from leafgate.types.tree import Node
from leafgate_ppdtc45.shared import Shared
from leafgate_ppdtc45.split_methods import GrowingNode, Learner, Split, best_split, finished, prune

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Sides = Literal["random", "both"]

DEEPEST = {"random": 100, "both": 9}
"""Where everyone goes down both sides a tree has all people on every level, and nothing ends it but its depth."""

LEAST = 1e-3
"""Whoever is at a node with a smaller chance is left out."""

EVERYTHING = (-np.inf, np.inf)


@dataclass(kw_only=True)
class Crowd(GrowingNode):
    """The people who may be at a node, each with their chance; `box` is what the tests above leave of each column."""

    rows: Codes
    weight: Floats
    box: Mapping[int, tuple[float, float]]


def grown(shared: Shared, learner: Learner, sides: Sides, rng: np.random.Generator) -> Node:
    """The tree for original numbers, probable people (rounded) counted on its leaves; pruned as C4.5 does.

    Source: Liu, Kantarcioglu, Thuraisingham, section 6.5 and Algorithm 3 (`random`).
    Departure: `both` is ours. There a person's chance at a node is that of the original number lying between the
    cuts above, not the product of the chances at each cut of one column.
    """
    everyone = np.arange(len(shared.classes))
    root = _crowd(shared, everyone, np.ones(len(everyone)), {}, None)
    waiting = [root]
    while waiting:
        here = waiting.pop()
        if (here.counts >= LEAST).sum() < 2 or here.depth >= DEEPEST[sides]:
            continue
        numbers, classes = shared.numbers[here.rows], shared.classes[here.rows]
        here.split = best_split(numbers, classes, here.weight, shared.laws, len(shared.schema.classes), learner)
        if here.split is not None:
            here.children = sons = _sons(shared, here, here.split, sides, rng)
            waiting.extend(sons)
    if learner.confidence is not None:
        prune(root, learner.confidence)
    return finished(root, shared.schema)


def below_chance(shared: Floats, at: float, law: Noise, box: tuple[float, float]) -> Floats:
    """The chance of an original up to `at`, if it lies in the box (above its low end, up to its high end)."""
    low, high = box
    over, under, top = (law.below(shared - end) for end in (low, at, high))
    there = over - top
    chance = np.divide(over - under, there, where=there > 0, out=np.full(len(shared), 0.5))
    return np.asarray(np.clip(chance, 0, 1))


def _sons(shared: Shared, here: Crowd, split: Split, sides: Sides, rng: np.random.Generator) -> tuple[Crowd, Crowd]:
    numbers, law = shared.numbers[here.rows, split.column], shared.laws[split.column]
    low, high = here.box.get(split.column, EVERYTHING)
    if sides == "random":
        below = (rng.random(len(numbers)) <= below_chance(numbers, split.at, law, EVERYTHING)).astype(np.float64)
    else:
        below = below_chance(numbers, split.at, law, (low, high))
    return (
        _son(shared, here, below, {**here.box, split.column: (low, min(high, split.at))}),
        _son(shared, here, 1 - below, {**here.box, split.column: (max(low, split.at), high)}),
    )


def _son(shared: Shared, here: Crowd, chance: Floats, box: Mapping[int, tuple[float, float]]) -> Crowd:
    weight = here.weight * chance
    there = weight >= LEAST
    return _crowd(shared, here.rows[there], weight[there], box, here)


def _crowd(
    shared: Shared, rows: Codes, weight: Floats, box: Mapping[int, tuple[float, float]], above: Crowd | None
) -> Crowd:
    counts = np.bincount(shared.classes[rows], weights=weight, minlength=len(shared.schema.classes)).astype(np.float64)
    label = int(counts.argmax()) if len(rows) or above is None else above.label
    depth = 0 if above is None else above.depth + 1
    return Crowd(counts=counts, label=label, depth=depth, rows=rows, weight=weight, box=box)
