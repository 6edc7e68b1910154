"""The least and the most impure that blocks of people can be, whose classes are known within bounds."""

from __future__ import annotations

import numpy as np

from leafgate_maxent.impurity import impurity, x_log_x
from leafgate_maxent.walk import Floats

HALVINGS = 60


def least_impure(low: Floats, high: Floats, people: Floats, *, gini: bool) -> Floats:
    """A lower bound on the impurity of each block: `low <= t <= high`, and t sums to `people`.

    Each class's part of the impurity is concave in t, so never below its chord from `low` to `high`;
    the least sum of chords fills the classes up by slope.
    """
    width = high - low
    bottom, top = _part(low, people, gini=gini), _part(high, people, gini=gini)
    slope = np.divide(top - bottom, width, where=width > 0, out=np.zeros_like(width))
    order = np.argsort(np.where(width > 0, slope, np.inf), axis=1)
    room = np.take_along_axis(width, order, axis=1)
    left = np.maximum(people - low.sum(axis=1), 0)[:, None]
    filled = np.clip(left - (room.cumsum(axis=1) - room), 0, room)
    total = bottom.sum(axis=1) + (filled * np.take_along_axis(slope, order, axis=1)).sum(axis=1)
    return np.asarray(total + (people if gini else x_log_x(people)))


def most_impure(low: Floats, high: Floats, people: Floats, *, gini: bool) -> Floats:
    """The impurity of each block when its classes are as even as their bounds let them be."""
    floor, roof = np.zeros(len(people)), high.max(axis=1, initial=0)
    for _ in range(HALVINGS):
        level = (floor + roof) / 2
        over = np.clip(level[:, None], low, high).sum(axis=1) > people
        floor, roof = np.where(over, floor, level), np.where(over, level, roof)
    return impurity(np.clip(roof[:, None], low, high), gini=gini)


def _part(t: Floats, people: Floats, *, gini: bool) -> Floats:
    """What a class adds to its block's impurity, beside what depends on the block's size alone."""
    if not gini:
        return -x_log_x(t)
    n = people[:, None]
    return -np.divide(t**2, n, where=n > 0, out=np.zeros_like(t))
