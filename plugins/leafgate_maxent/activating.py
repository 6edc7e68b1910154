"""Which inequalities are imposed: those that broke, once, when they were not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leafgate_maxent.linear import Linear
from leafgate_maxent.problem import Problem
from leafgate_maxent.reducing import Active
from leafgate_maxent.walk import Floats, Ids

BROKEN = 1e-8
"""A constraint that is missed by more people (or people x nats) than this is imposed."""


def nothing(problem: Problem) -> Active:
    none = np.zeros(0, dtype=np.int64)
    return Active([none for _ in problem.choices], [none for _ in problem.linear])


def broken(problem: Problem, people: Floats, active: Active) -> Active:
    """The inequalities that are broken and not yet imposed."""
    choices = [
        np.setdiff1d(np.flatnonzero(each.slack(people) < -BROKEN), had)
        for each, had in zip(problem.choices, active.choices, strict=True)
    ]
    linear = [
        had[:0] if each.equal else np.setdiff1d(_with_neighbours(each, each.violation(people) > BROKEN), had)
        for each, had in zip(problem.linear, active.linear, strict=True)
    ]
    return Active(choices, linear)


def _with_neighbours(linear: Linear, broken: NDArray[np.bool_]) -> Ids:
    """The broken rows; of labels all those of a leaf where one is, for the next would break then."""
    if linear.kind != "label":
        return np.flatnonzero(broken)
    return np.flatnonzero(np.isin(linear.about[:, 0], linear.about[broken, 0]))


def joined(one: Active, other: Active) -> Active:
    def both(a: Sequence[Ids], b: Sequence[Ids]) -> list[Ids]:
        return [np.union1d(x, y) for x, y in zip(a, b, strict=True)]

    return Active(both(one.choices, other.choices), both(one.linear, other.linear))
