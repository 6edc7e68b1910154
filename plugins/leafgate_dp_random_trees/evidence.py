"""Scores for the leaves of a forest of released counts: one additive model, fitted to all trees together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leafgate.schema import Schema
from leafgate.tree import Node
from leafgate_dp_random_trees.cells import Floats, Grid, Told
from leafgate_dp_random_trees.coins import Ids
from leafgate_dp_random_trees.simulated import TINY, People, simulate, totals

SWEEPS = 8
"""Newton steps for every tree; twice as many change nothing on Adult."""
RIDGE, OF = 1.0, 2_500
"""The ridge is one person a tree or, where that is more, one in so many: where few people are kept single ones are
noise, and where many are, what the simulation misses grows with them."""


def leaf_scores(trees: Sequence[Node], schema: Schema, k: int) -> tuple[Floats, list[Floats]]:
    """A constant per class, and for each tree an array of scores: leaves from left to right, by classes.

    A person's class scores are the constant plus the scores of the leaves reached; the largest decides, and their
    softmax estimates the classes' probabilities. It is logistic regression on the leaves: in every leaf the average
    probability shall be the released share. Which leaves go together is learned from the counts too, on simulated
    people. A ridge keeps the scores small, the more the fewer people are kept: without any evidence all are zero.
    """
    grid = Grid.of(trees, schema)
    told = [Told.of(tree, grid) for tree in trees]
    total = totals(told) if told else np.zeros(len(schema.classes))
    constant = np.log(total + 0.5) - np.log((total + 0.5).sum())
    if not total.any():
        return constant, [np.zeros_like(tree.counts) for tree in told]
    people = simulate(told, grid, k)
    return constant, _fitted(people, constant, ridge=RIDGE * len(trees) * max(1.0, total.sum() / OF))


def _fitted(people: People, constant: Floats, ridge: float) -> list[Floats]:
    scores = [np.zeros((len(full) + 1, len(constant))) for full in people.full]
    wanted = [_wanted(full, leaf, people.weight) for full, leaf in zip(people.full, people.where, strict=True)]
    summed = np.repeat(constant[:, None], len(people.weight), axis=1)  # classes by people: fast that way
    for tree in [i for _ in range(SWEEPS) for i in range(len(scores))]:
        leaf = people.where[tree]
        step = _step(_softmax(summed), leaf, people.weight, wanted[tree], scores[tree][:-1], ridge)
        scores[tree][:-1] += step
        for row, added in zip(summed, np.vstack([step, np.zeros(len(constant))]).T.copy(), strict=True):
            row += added[leaf]
    return [score[:-1] for score in scores]


def _wanted(full: Floats, leaf: Ids, weight: Floats) -> Floats:
    """How many simulated people of each class a leaf shall have: its people, divided as the released counts are."""
    reached = np.bincount(leaf, weights=weight, minlength=len(full) + 1)[:-1]
    return np.asarray(full / np.maximum(full.sum(axis=1, keepdims=True), TINY) * reached[:, None])


def _step(chance: Floats, leaf: Ids, weight: Floats, wanted: Floats, score: Floats, ridge: float) -> Floats:
    """A Newton step for the scores of one tree with a bound of the curvature, so that it never overshoots."""
    size = len(wanted) + 1
    expected = [np.bincount(leaf, weights=weight * one, minlength=size)[:-1] for one in chance]
    curved = [np.bincount(leaf, weights=weight * one * (1 - one), minlength=size)[:-1] for one in chance]
    step = (wanted - np.stack(expected, axis=1) - ridge * score) / (2 * np.stack(curved, axis=1) + ridge)
    return np.asarray(np.clip(step, -1, 1))


def _softmax(summed: Floats) -> Floats:
    raised = np.exp(summed - summed.max(axis=0))
    return np.asarray(raised / raised.sum(axis=0))
