"""Columns that depend on each other within a class: several groups of people a class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leafgate_ppdtc45.axes import Axis, raised
from leafgate_ppdtc45.densities import Densities, by_class

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

STARTS, ROUNDS, APART = 4, 40, 10
"""Random beginnings, whose mean counts; rounds of EM for each, so many of them before people may change groups."""

STEEP = 1.5
"""How strongly people are parted at first, along a random direction of their standardised numbers (2 at most)."""

HELD_OUT = 1 / 3
SURE = 2.0
"""By so many standard errors several groups must predict held-out people better than one."""


def several(
    axes: Sequence[Axis],
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
    found = [_one(axes, numbers, classes, owner, rng) for _ in range(starts)]
    columns = range(len(axes))
    return Densities(
        np.concatenate([one.people for one in found]) / starts,
        np.tile(owner, starts),
        [np.concatenate([one.chances[column] for one in found]) for column in columns],
    )


def _one(axes: Sequence[Axis], numbers: Floats, classes: Codes, owner: Codes, rng: np.random.Generator) -> Densities:
    mine = owner[None, :] == classes[:, None]
    spread = numbers.std(axis=0)
    away = np.clip((numbers - numbers.mean(axis=0)) / np.where(spread > 0, spread, 1), -2, 2)
    share = _shares(np.where(mine, STEEP * away @ rng.normal(size=(numbers.shape[1], len(owner))), -np.inf))
    chances = [np.tile(axis.everyone, (len(owner), 1)) for axis in axes]
    for step in range(ROUNDS):
        if step > APART:
            logs = np.log(np.maximum(share.mean(axis=0), 1e-300)) + _logs(axes, chances)
            share = _shares(np.where(mine, logs, -np.inf))
        chances = [raised(of, axis.seen(share), axis.table, 1) for axis, of in zip(axes, chances, strict=True)]
    return Densities(share.sum(axis=0), owner, chances)


def _logs(axes: Sequence[Axis], chances: Sequence[Floats]) -> Floats:
    """For each person (rows) and group the log-likelihood of what the person shares."""
    told = (np.log(axis.table @ of.T)[axis.place] for axis, of in zip(axes, chances, strict=True))
    return np.asarray(sum(told))


def _shares(logs: Floats) -> Floats:
    """Chances from their logarithms, each row summing to 1."""
    found = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def depend(axes: Sequence[Axis], numbers: Floats, classes: Codes, n_classes: int, rng: np.random.Generator) -> bool:
    """Do two groups a class tell held-out people's class from their shared numbers better than one?

    Better by SURE standard errors of the mean log loss; nobody's original number is needed.
    """
    order = rng.permutation(len(classes))
    out, rest = np.split(order, [int(len(order) * HELD_OUT)])
    if len(out) < 2:
        return False
    mine, theirs = ([axis.taken(rows) for axis in axes] for rows in (rest, out))
    one = by_class(mine, classes[rest], n_classes)
    two = several(mine, numbers[rest], classes[rest], n_classes, 2, rng, starts=1)
    better = _losses(theirs, one, classes[out]) - _losses(theirs, two, classes[out])
    return bool(better.mean() > SURE * better.std() / len(out) ** 0.5)


def _losses(axes: Sequence[Axis], laws: Densities, classes: Codes) -> Floats:
    """-log P(class | shared numbers) of each person."""
    logs = _logs(axes, laws.chances) + np.log(np.maximum(laws.people, 1e-300))
    right = (_shares(logs) * (laws.owner[None, :] == classes[:, None])).sum(axis=1)
    return np.asarray(-np.log(np.maximum(right, 1e-300)))
