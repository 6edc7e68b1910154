"""Scores of leaves: logistic regression on people simulated from the released counts alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import pdtr

from leafgate.api import Floats, Ids, Leaf, Node, Schema
from leafgate.kernel.tree import map_leaves
from leafgate_plugins.dp_random_trees.distinguish.features import Cells, Grid, TreeCounters

SIMULATED_PEOPLE = 30_000
"""People to simulate; 15,000 lose about 0.0015 of accuracy on Adult, 100,000 gain next to nothing."""
WEIGHTING_ROUNDS = 3
"""Passes over all trees that adjust the weights; more passes improve nothing."""
PSEUDO_PEOPLE = 20.0
"""Added to both counts of a ratio, in people, so that leaves of few people hardly change the weights."""
STEP_EXPONENT = 0.4
"""Exponent of the ratio: one tree moves the weights only part of the way, because the trees disagree."""
TINY = 1e-12
"""Smallest divisor; it only keeps 0 / 0 from occurring."""


def impute_suppressed(counts: Floats, expected: Floats, k: int) -> Floats:
    """The counters with each suppressed one replaced by what a counter below k with that expectation holds."""
    below, almost = pdtr(k - 1, expected), pdtr(k - 2, expected) if k > 1 else np.zeros_like(expected)
    mean = np.where(below > TINY, expected * almost / np.maximum(below, TINY), k - 1)
    return np.where(counts > 0, counts, mean)


def class_totals(trees: Sequence[TreeCounters]) -> Floats:
    """People kept of each class, an average over trees; those that suppress least say most."""
    trust = np.array([tree.unsuppressed_share for tree in trees])
    return np.asarray(trust @ np.array([tree.counts.sum(axis=0) for tree in trees]) / trust.sum())


def class_marginals(trees: Sequence[TreeCounters], grid: Grid, total: Floats, k: int, rounds: int = 15) -> Cells:
    """What each column contains within each class: expectation-maximisation, starting from nothing known."""
    sizes = {name: grid.size(name) for tree in trees for name in tree.boxes}
    cells = {name: np.full((size, len(total)), 1 / size) for name, size in sizes.items()}
    for _ in range(rounds):
        seen = {name: np.full_like(chance, 1e-3) for name, chance in cells.items()}
        for tree in trees:
            full = impute_suppressed(tree.counts, tree.expected(cells, total), k)
            trust = 1 / (1 + np.mean(tree.counts == 0))
            for name, box in tree.boxes.items():
                seen[name] += trust * cells[name] * (box.T @ (full / np.maximum(box @ cells[name], TINY)))
        cells = {name: chance / chance.sum(axis=0) for name, chance in seen.items()}
    return cells


@dataclass(frozen=True)
class SimulatedPeople:
    """Simulated people: class, weight, and per tree the leaf and the released counters, completed."""

    classes: Ids
    weight: Floats
    where: tuple[Ids, ...]
    full: tuple[Floats, ...]

    def counted(self, tree: int) -> Floats:
        """The counters of that tree, were these people the table."""
        leaf, shape = self.where[tree], self.full[tree].shape
        size = shape[0] * shape[1]
        values = np.bincount(leaf * shape[1] + self.classes, weights=self.weight, minlength=size)
        return np.asarray(values[:size].reshape(shape), dtype=np.float64)


def simulate(trees: Sequence[TreeCounters], grid: Grid, k: int) -> SimulatedPeople:
    """People with the columns' marginals in each class, weighted until the trees count what they released."""
    total = class_totals(trees)
    cells = class_marginals(trees, grid, total, k)
    classes = np.arange(SIMULATED_PEOPLE) % len(total)
    weight = (total / np.bincount(classes))[classes]
    drawn = _drawn(cells, classes)
    where = tuple(tree.where(drawn, SIMULATED_PEOPLE, grid) for tree in trees)
    full = tuple(impute_suppressed(tree.counts, tree.expected(cells, total), k) for tree in trees)
    people = SimulatedPeople(classes, weight, where, full)
    for _ in range(WEIGHTING_ROUNDS):
        people = _weighted(_refilled(people, trees, k), total)
    return _refilled(people, trees, k)


def _drawn(cells: Cells, classes: Ids) -> dict[str, Ids]:
    """Each column's cells, within a class independently of each other and in exact proportion."""
    rng, drawn = np.random.default_rng(0), {}
    for name, chance in cells.items():
        drawn[name] = np.empty(len(classes), dtype=np.int64)
        for label in range(chance.shape[1]):
            rows = np.flatnonzero(classes == label)
            place = (rng.permutation(len(rows)) + 0.5) / len(rows)
            drawn[name][rows] = np.minimum(np.searchsorted(np.cumsum(chance[:, label]), place), len(chance) - 1)
    return drawn


def _refilled(people: SimulatedPeople, items: Sequence[TreeCounters], k: int) -> SimulatedPeople:
    full = [impute_suppressed(tree.counts, people.counted(i) + 0.01, k) for i, tree in enumerate(items)]
    return replace(people, full=tuple(full))


def _weighted(people: SimulatedPeople, total: Floats) -> SimulatedPeople:
    """The same people, weighted so that they agree better with every tree; the classes keep their totals."""
    for tree, full in enumerate(people.full):
        ratio = ((full + PSEUDO_PEOPLE) / (people.counted(tree) + PSEUDO_PEOPLE)) ** STEP_EXPONENT
        ratio = np.vstack([ratio, np.ones(len(total))])
        weight = people.weight * ratio[people.where[tree], people.classes]
        reached = np.bincount(people.classes, weights=weight, minlength=len(total))
        people = replace(people, weight=weight * (total / np.maximum(reached, TINY))[people.classes])
    return people


NEWTON_SWEEPS = 8
"""Newton steps for every tree; twice as many change nothing on Adult."""
RIDGE = 1.0
"""Ridge penalty in people per tree: where few people are kept, single people are noise."""
PEOPLE_PER_RIDGE = 2_500
"""The penalty grows by RIDGE for every so many kept people, as the error of the simulation does."""


def leaf_scores(trees: Sequence[Node], schema: Schema, k: int) -> tuple[Floats, list[Floats]]:
    """A constant per class, and for each tree an array of scores: leaves from left to right, by classes.

    A person's class scores are the constant plus the scores of the leaves reached; the largest decides, and their
    softmax estimates the classes' probabilities. It is logistic regression on the leaves: in every leaf the average
    probability shall be the released share. Which leaves go together is learned from the counts too, on simulated
    people. A ridge keeps the scores small, the more the fewer people are kept: without any evidence all are zero.
    """
    grid = Grid.of(trees, schema)
    items = [TreeCounters.of(tree, grid) for tree in trees]
    total = class_totals(items) if items else np.zeros(len(schema.classes))
    constant = np.log(total + 0.5) - np.log((total + 0.5).sum())
    if not total.any():
        return constant, [np.zeros_like(tree.counts) for tree in items]
    people = simulate(items, grid, k)
    return constant, _fitted(people, constant, ridge=RIDGE * len(trees) * max(1.0, total.sum() / PEOPLE_PER_RIDGE))


def _fitted(people: SimulatedPeople, constant: Floats, ridge: float) -> list[Floats]:
    scores = [np.zeros((len(full) + 1, len(constant))) for full in people.full]
    wanted = [_target_counts(full, leaf, people.weight) for full, leaf in zip(people.full, people.where, strict=True)]
    summed = np.repeat(constant[:, None], len(people.weight), axis=1)  # classes by people: fast that way
    for tree in [i for _ in range(NEWTON_SWEEPS) for i in range(len(scores))]:
        leaf = people.where[tree]
        step = _step(_softmax(summed), leaf, people.weight, wanted[tree], scores[tree][:-1], ridge)
        scores[tree][:-1] += step
        for row, added in zip(summed, np.vstack([step, np.zeros(len(constant))]).T.copy(), strict=True):
            row += added[leaf]
    return [score[:-1] for score in scores]


def _target_counts(full: Floats, leaf: Ids, weight: Floats) -> Floats:
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


DECIMALS = 4
"""Decimals of scores; more would add no accuracy and could carry hidden information."""


def with_statistics(trees: Sequence[tuple[Node, Ids]], schema: Schema, *, scored: bool, k: int = 1) -> Iterator[Node]:
    """The trees with their numbers on the leaves, and with scores if `scored`.

    A leaf's label is its most frequent class, the first of equals; it has none where it shows nobody.
    """
    counted = [_with_counts(tree, numbers, schema.classes) for tree, numbers in trees]
    if not scored:
        yield from counted
        return
    for tree, scores in zip(counted, summed_scores(counted, schema, k), strict=True):
        yield _with_scores(tree, scores, schema.classes)


def summed_scores(trees: Sequence[Node], schema: Schema, k: int) -> list[Floats]:
    """The scores of each tree's leaves, which need only be added: the first tree's have the constant in them."""
    constant, scores = leaf_scores(trees, schema, k)
    return [np.round(each + constant if not i else each, DECIMALS) + 0.0 for i, each in enumerate(scores)]


def _with_counts(tree: Node, numbers: Ids, classes: Sequence[str]) -> Node:
    labels = np.where(numbers.any(axis=1), numbers.argmax(axis=1), len(classes)).tolist()
    rows = zip(labels, numbers.tolist(), strict=True)
    names = (*classes, None)

    def leaf(_: Leaf) -> Leaf:
        label, row = next(rows)
        return Leaf(names[label], dict(zip(classes, row, strict=True)))

    return map_leaves(tree, leaf)


def _with_scores(tree: Node, scores: Floats, classes: Sequence[str]) -> Node:
    rows = iter(scores)

    def leaf(counted: Leaf) -> Leaf:
        result = dict(zip(classes, next(rows).tolist(), strict=True))
        return Leaf(counted.label, counted.counts, scores=result)

    return map_leaves(tree, leaf)
