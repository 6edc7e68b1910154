"""Requirements on a population's secret: l-diversity, confidence, t-closeness, delta-disclosure.

Each is a convex set of distributions, and a union of two populations has a mixture of theirs; so a
union of populations that satisfy it satisfies it. They are computed otherwise than the metrics of
the same names, which check them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leafgate.errors import PolicyError
from leafgate.hierarchy import Hierarchy
from leafgate.induction.measures import Floats, x_log_x
from leafgate.induction.splits import Mask
from leafgate.interfaces import lenient
from leafgate.schema import Column
from leafgate_kadet.admissibility import Requirement
from leafgate_kadet.required import (
    ConfidenceRequired,
    DeltaDisclosureRequired,
    LDiversityRequired,
    Required,
    TClosenessRequired,
)

DECIMALS = 12
"""Scores are compared when rounded to so many, like the metrics that check them."""


@dataclass(frozen=True)
class Diverse:
    """Entropy or distinct l-diversity.

    Source: Friedman, Schuster, Wolff 2006, section 4.2: H(secret | population) >= log2 l.
    Convex: entropy is concave; a mixture has every value that a part has.
    """

    column: str
    form: str
    least: float

    def holds(self, counts: Floats) -> Mask:
        if self.form == "distinct":
            return np.asarray((counts > 0).sum(axis=-1) >= self.least)
        n = counts.sum(axis=-1)
        bits = np.log2(n) - x_log_x(counts).sum(axis=-1) / n
        return np.asarray(np.round(np.exp2(bits), DECIMALS) >= lenient(self.least, -1))

    def why_not(self) -> str:
        return f"{self.column!r} is not {self.form} {self.least:g}-diverse in it"


@dataclass(frozen=True)
class RecursivelyDiverse:
    """Recursive (c, l)-diversity: r_1 < c (r_l + ... + r_m).

    Convex: the largest share is convex, a sum of the smallest ones concave.
    """

    column: str
    c: float
    least: float

    def holds(self, counts: Floats) -> Mask:
        rising = np.sort(counts / counts.sum(axis=-1, keepdims=True), axis=-1)
        rank = int(np.ceil(self.least))
        tail = rising[..., : max(counts.shape[-1] - rank + 1, 0)].sum(axis=-1)
        return np.asarray(np.round(rising[..., -1], DECIMALS) < np.round(self.c * tail, DECIMALS))

    def why_not(self) -> str:
        return f"{self.column!r} is not recursively ({self.c:g}, {self.least:g})-diverse in it"


@dataclass(frozen=True)
class Unsure:
    """A confidence limit: no value has more than a share of the people. Convex: the largest share is."""

    column: str
    most: float

    def holds(self, counts: Floats) -> Mask:
        return np.asarray(counts.max(axis=-1) / counts.sum(axis=-1) <= lenient(self.most))

    def why_not(self) -> str:
        return f"a value of {self.column!r} has more than {100 * self.most:g} % of it"


@dataclass(frozen=True)
class Close:
    """t-closeness: the earth mover's distance to everyone's shares. Convex: a distance is.

    The distance is a sum over sets of values (each value alone; the values up to each one; the
    groups of the hierarchy): how much more or less of the people have a value in the set, times
    `height`, what moving everybody into or out of it costs.
    """

    column: str
    distance: str
    most: float
    overall: Floats
    sets: Floats
    height: float

    def holds(self, counts: Floats) -> Mask:
        p = counts / counts.sum(axis=-1, keepdims=True)
        moved = np.abs((p - self.overall) @ self.sets).sum(axis=-1) * self.height
        return np.asarray(np.round(moved, DECIMALS) <= lenient(self.most))

    def why_not(self) -> str:
        return f"{self.column!r} is more than {self.most:g} away ({self.distance} distance) from everyone's"


@dataclass(frozen=True)
class Undisclosing:
    """delta-disclosure: every share within a factor of e^delta of everyone's. Convex: an interval for each value."""

    column: str
    most: float
    overall: Floats

    def holds(self, counts: Floats) -> Mask:
        held = self.overall > 0
        p = counts[..., held] / counts.sum(axis=-1, keepdims=True)
        with np.errstate(divide="ignore"):
            away = np.abs(np.log(p) - np.log(self.overall[held])).max(axis=-1)
        return np.asarray(np.round(away, DECIMALS) <= lenient(self.most))

    def why_not(self) -> str:
        return f"a share of {self.column!r} in it is beyond a factor of e^{self.most:g} from everyone's"


def requirement(wanted: Required, column: Column, counts: Floats, place: str = "build.require") -> Requirement:
    """What the policy wants, at `place`, of one secret; `counts` are everyone's people by its values."""
    overall = counts / counts.sum()
    if isinstance(wanted, LDiversityRequired):
        if wanted.c is not None:
            return RecursivelyDiverse(column.name, wanted.c, wanted.at_least)
        return Diverse(column.name, wanted.form, wanted.at_least)
    if isinstance(wanted, ConfidenceRequired):
        return Unsure(column.name, wanted.at_most)
    if isinstance(wanted, TClosenessRequired):
        sets, height = _sets(wanted.distance, column, place)
        return Close(column.name, wanted.distance, wanted.at_most, overall, sets, height)
    assert isinstance(wanted, DeltaDisclosureRequired)
    return Undisclosing(column.name, wanted.at_most, overall)


def _sets(distance: str, column: Column, place: str) -> tuple[Floats, float]:
    """The sets of values that a distance compares, one a column, and what a difference in one counts."""
    size = len(column.domain)
    if distance == "equal":
        return np.eye(size), 0.5
    if distance == "ordered":
        if not column.ordered:
            raise _unsuited(column, place, "have no declared order", "list `values` in order and say `ordered: true`")
        return np.triu(np.ones((size, size)))[:, :-1], 1 / max(size - 1, 1)
    if column.hierarchy is None:
        raise _unsuited(column, place, "have no hierarchy", "name one with `hierarchy:`")
    return _groups(column.hierarchy, column.domain), 1 / (2 * (column.hierarchy.depth + 1))


def _groups(hierarchy: Hierarchy, domain: Sequence[str | None]) -> Floats:
    levels = [np.eye(len(domain))]
    for level in range(hierarchy.depth):
        names = [hierarchy.groups[value][level] for value in domain]
        levels.append(np.array([[name == group for group in dict.fromkeys(names)] for name in names], dtype=float))
    return np.concatenate(levels, axis=1)


def _unsuited(column: Column, place: str, why: str, remedy: str) -> PolicyError:
    return PolicyError(f"the values of {column.name!r} {why}", place=place, remedy=remedy)
