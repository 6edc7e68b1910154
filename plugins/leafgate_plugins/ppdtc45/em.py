"""EM reconstruction of original distributions: one column, one class, and mixtures of groups per class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from leafgate.algorithms.deconvolution import cells_between, even_chances, likelihood
from leafgate.api import Codes, Floats, Noise
from leafgate_plugins.ppdtc45.shared import SharedRecords

CELLS = 128
"""Equal cells into which the range of a column's original numbers is divided."""

BINS_PER_SCALE = 8
"""Bins of shared numbers per scale of the noise; finer bins carry no more information."""
BINS = 1024
"""The largest number of bins, for columns whose range is long against the noise."""

POOLED_ROUNDS = 200
"""EM rounds for the distribution of all people together."""

FLOOR = 1e-12
"""Smallest relative likelihood and smallest divisor, so that no bin becomes impossible."""


@dataclass(frozen=True)
class NoisyColumn:
    """A column: edges of its originals' cells, each person's bin, the chance of each bin (rows) by the original's cell.

    `everyone` is the chance of each cell for all people together.
    """

    edges: Floats
    place: Codes
    table: Floats
    everyone: Floats

    def select(self, rows: Codes) -> NoisyColumn:
        """The column of the people in these rows, with the cells and distribution of the whole column."""
        return replace(self, place=self.place[rows])

    def expected_shared(self, share: Floats) -> Floats:
        """For each group (columns of `share`, a chance for each person) how many of it share a number in each bin."""
        return np.stack([np.bincount(self.place, weights=of, minlength=len(self.table)) for of in share.T])


def noisy_column(numbers: Floats, noise: Noise, bounds: tuple[float, float] | None) -> NoisyColumn:
    """The column of these shared numbers, over the declared bounds or the numbers' range."""
    edges = cells_between(numbers, noise, bounds, CELLS)
    step = max(noise.scale / BINS_PER_SCALE, float(np.ptp(numbers)) / BINS)
    bins, place = np.unique(np.floor(numbers / step), return_inverse=True)
    table = likelihood((bins + 0.5) * step, noise, edges)
    table = np.maximum(table / np.maximum(table.max(axis=1, keepdims=True), FLOOR), FLOOR)
    people = np.bincount(place.reshape(-1)).astype(np.float64)[None]
    everyone = em_rounds(even_chances(edges)[None], people, table, POOLED_ROUNDS)[0]
    return NoisyColumn(edges, place.reshape(-1), table, everyone)


def em_rounds(chances: Floats, observed: Floats, table: Floats, rounds: int) -> Floats:
    """So many rounds of EM for each group (rows): chances of cells, towards the largest likelihood of what is seen.

    A group of nobody stays as it is. Source: Agrawal, Aggarwal, PODS 2001, Theorem 3.1.
    """
    somebody = observed.sum(axis=1, keepdims=True) > 0
    for _ in range(rounds):
        found = chances * ((observed / (chances @ table.T)) @ table)
        chances = np.where(somebody, found / np.maximum(found.sum(axis=1, keepdims=True), FLOOR), chances)
    return chances


CLASS_ROUNDS = 20
"""Rounds of EM for each class.

Going on to the largest likelihood would make spikes of every class's chance bumps; a few rounds take from a class's
own people what they surely differ by.
"""


@dataclass(frozen=True)
class Densities:
    """Groups of people of one class each, within which columns are independent.

    `people` and `owner` (the class, by code) for each group; for each column the chance of each cell (columns) within
    each group (rows).
    """

    people: Floats
    owner: Codes
    chances: Sequence[Floats]


def noisy_columns(shared: SharedRecords) -> list[NoisyColumn]:
    """The columns that a tree may test, in the order of the schema's features."""
    columns = enumerate(shared.schema.features)
    return [noisy_column(shared.numbers[:, i], shared.laws[i], column.bounds) for i, column in columns]


def class_densities(axes: Sequence[NoisyColumn], classes: Codes, n_classes: int) -> Densities:
    """Each class as one group.

    Source: Agrawal, Srikant, SIGMOD 2000, section 4 ("ByClass"), with Agrawal and Aggarwal's EM (PODS 2001).
    Departure: each class begins with everyone's distribution, and its rounds are few.
    """
    share = np.eye(n_classes)[classes]
    chances = []
    for axis in axes:
        everyone = np.tile(axis.everyone, (n_classes, 1))
        chances.append(em_rounds(everyone, axis.expected_shared(share), axis.table, CLASS_ROUNDS))
    return Densities(share.sum(axis=0), np.arange(n_classes), chances)


STARTS = 4
"""Random starts whose mixtures are averaged."""
ROUNDS = 40
"""EM rounds of each start."""
FIXED_ROUNDS = 10
"""First rounds in which the shares of people in groups stay fixed, so that the groups separate."""

START_SLOPE = 1.5
"""How strongly people are parted at first, along a random direction of their standardised numbers (2 at most)."""

HELD_OUT_SHARE = 1 / 3
REQUIRED_STANDARD_ERRORS = 2.0
"""By so many standard errors several groups must predict held-out people better than one."""


def mixture_densities(
    axes: Sequence[NoisyColumn],
    numbers: Floats,
    classes: Codes,
    n_classes: int,
    groups: int,
    rng: np.random.Generator,
    starts: int = STARTS,
) -> Densities:
    """So many groups a class, by EM over who is in which and how its columns are distributed.

    The mean of several random beginnings, as the groups of all of them, each with its part of the people.

    Source: Dempster, Laird, Rubin, JRSS B 39, 1977 (mixtures); Agrawal, Aggarwal, PODS 2001 (the columns).
    """
    owner = np.repeat(np.arange(n_classes), groups)
    found = [_mixture_from_random_start(axes, numbers, classes, owner, rng) for _ in range(starts)]
    columns = range(len(axes))
    return Densities(
        np.concatenate([one.people for one in found]) / starts,
        np.tile(owner, starts),
        [np.concatenate([one.chances[column] for one in found]) for column in columns],
    )


def _mixture_from_random_start(
    axes: Sequence[NoisyColumn], numbers: Floats, classes: Codes, owner: Codes, rng: np.random.Generator
) -> Densities:
    mine = owner[None, :] == classes[:, None]
    spread = numbers.std(axis=0)
    away = np.clip((numbers - numbers.mean(axis=0)) / np.where(spread > 0, spread, 1), -2, 2)
    share = _shares(np.where(mine, START_SLOPE * away @ rng.normal(size=(numbers.shape[1], len(owner))), -np.inf))
    chances = [np.tile(axis.everyone, (len(owner), 1)) for axis in axes]
    for step in range(ROUNDS):
        if step > FIXED_ROUNDS:
            logs = np.log(np.maximum(share.mean(axis=0), 1e-300)) + _logs(axes, chances)
            share = _shares(np.where(mine, logs, -np.inf))
        chances = [
            em_rounds(of, axis.expected_shared(share), axis.table, 1) for axis, of in zip(axes, chances, strict=True)
        ]
    return Densities(share.sum(axis=0), owner, chances)


def _logs(axes: Sequence[NoisyColumn], chances: Sequence[Floats]) -> Floats:
    """For each person (rows) and group the log-likelihood of what the person shares."""
    items = (np.log(axis.table @ of.T)[axis.place] for axis, of in zip(axes, chances, strict=True))
    return np.asarray(sum(items))


def _shares(logs: Floats) -> Floats:
    """Chances from their logarithms, each row summing to 1."""
    found = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def mixture_predicts_better(
    axes: Sequence[NoisyColumn], numbers: Floats, classes: Codes, n_classes: int, rng: np.random.Generator
) -> bool:
    """Do mixtures of two groups per class predict the class of held-out people better than one group?

    Better by SURE standard errors of the mean log loss; nobody's original number is needed.
    """
    order = rng.permutation(len(classes))
    out, rest = np.split(order, [int(len(order) * HELD_OUT_SHARE)])
    if len(out) < 2:
        return False
    mine, theirs = ([axis.select(rows) for axis in axes] for rows in (rest, out))
    one = class_densities(mine, classes[rest], n_classes)
    two = mixture_densities(mine, numbers[rest], classes[rest], n_classes, 2, rng, starts=1)
    better = _losses(theirs, one, classes[out]) - _losses(theirs, two, classes[out])
    return bool(better.mean() > REQUIRED_STANDARD_ERRORS * better.std() / len(out) ** 0.5)


def _losses(axes: Sequence[NoisyColumn], laws: Densities, classes: Codes) -> Floats:
    """-log P(class | shared numbers) of each person."""
    logs = _logs(axes, laws.chances) + np.log(np.maximum(laws.people, 1e-300))
    right = (_shares(logs) * (laws.owner[None, :] == classes[:, None])).sum(axis=1)
    return np.asarray(-np.log(np.maximum(right, 1e-300)))
