"""Trees grown by the probability of each side of a cut: people take one side at random, or both with weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from leafgate.api import Codes, Floats, Node, Noise
from leafgate_plugins.ppdtc45.shared import SharedRecords
from leafgate_plugins.ppdtc45.split_methods import ExpectedNode, Learner, Split, best_split, prune_expected, to_tree

Sides = Literal["random", "both"]

MAX_DEPTH = {"random": 100, "both": 9}
"""Where everyone goes down both sides a tree has all people on every level, and nothing ends it but its depth."""

MIN_WEIGHT = 1e-3
"""Whoever is at a node with a smaller chance is left out."""

EVERYTHING = (-np.inf, np.inf)


@dataclass(kw_only=True)
class WeightedNode(ExpectedNode):
    """The people who may be at a node, each with their chance; `box` is what the tests above leave of each column."""

    rows: Codes
    weight: Floats
    box: Mapping[int, tuple[float, float]]


def grow_by_probability(shared: SharedRecords, learner: Learner, sides: Sides, rng: np.random.Generator) -> Node:
    """The tree for original numbers, probable people (rounded) counted on its leaves; pruned as C4.5 does.

    Source: Liu, Kantarcioglu, Thuraisingham, section 6.5 and Algorithm 3 (`random`).
    Departure: `both` is ours. There a person's chance at a node is that of the original number lying between the
    cuts above, not the product of the chances at each cut of one column.
    """
    everyone = np.arange(len(shared.classes))
    root = _weighted_node(shared, everyone, np.ones(len(everyone)), {}, None)
    waiting = [root]
    while waiting:
        here = waiting.pop()
        if (here.counts >= MIN_WEIGHT).sum() < 2 or here.depth >= MAX_DEPTH[sides]:
            continue
        numbers, classes = shared.numbers[here.rows], shared.classes[here.rows]
        here.split = best_split(numbers, classes, here.weight, shared.laws, len(shared.schema.classes), learner)
        if here.split is not None:
            here.children = children = _children(shared, here, here.split, sides, rng)
            waiting.extend(children)
    if learner.confidence is not None:
        prune_expected(root, learner.confidence)
    return to_tree(root, shared.schema)


def probability_below(shared: Floats, at: float, law: Noise, box: tuple[float, float]) -> Floats:
    """The chance of an original up to `at`, if it lies in the box (above its low end, up to its high end)."""
    low, high = box
    over, under, top = (law.below(shared - end) for end in (low, at, high))
    there = over - top
    chance = np.divide(over - under, there, where=there > 0, out=np.full(len(shared), 0.5))
    return np.asarray(np.clip(chance, 0, 1))


def _children(
    shared: SharedRecords, here: WeightedNode, split: Split, sides: Sides, rng: np.random.Generator
) -> tuple[WeightedNode, WeightedNode]:
    numbers, law = shared.numbers[here.rows, split.column], shared.laws[split.column]
    low, high = here.box.get(split.column, EVERYTHING)
    if sides == "random":
        below = (rng.random(len(numbers)) <= probability_below(numbers, split.at, law, EVERYTHING)).astype(np.float64)
    else:
        below = probability_below(numbers, split.at, law, (low, high))
    return (
        _child(shared, here, below, {**here.box, split.column: (low, min(high, split.at))}),
        _child(shared, here, 1 - below, {**here.box, split.column: (max(low, split.at), high)}),
    )


def _child(
    shared: SharedRecords, here: WeightedNode, chance: Floats, box: Mapping[int, tuple[float, float]]
) -> WeightedNode:
    weight = here.weight * chance
    there = weight >= MIN_WEIGHT
    return _weighted_node(shared, here.rows[there], weight[there], box, here)


def _weighted_node(
    shared: SharedRecords,
    rows: Codes,
    weight: Floats,
    box: Mapping[int, tuple[float, float]],
    above: WeightedNode | None,
) -> WeightedNode:
    counts = np.bincount(shared.classes[rows], weights=weight, minlength=len(shared.schema.classes)).astype(np.float64)
    label = int(counts.argmax()) if len(rows) or above is None else above.label
    depth = 0 if above is None else above.depth + 1
    return WeightedNode(counts=counts, label=label, depth=depth, rows=rows, weight=weight, box=box)
