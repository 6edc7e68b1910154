"""The share of people in groups that give away something of their class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leafgate import Case, InconclusiveError
from leafgate.report import People, Private
from leafgate_structure.divisions import Division, divisions
from leafgate_structure.predictions import chances
from leafgate_structure.telling import worst_groups

if TYPE_CHECKING:
    from leafgate_structure import ClassDisclosure

NEAR = 1e-8
"""A share as small as this is none, as for numpy's `isclose`."""


@dataclass(frozen=True)
class Disclosed:
    """The share of people in such groups, and what is to be told of it."""

    share: float
    evidence: dict[str, Any]


def disclosed(metric: ClassDisclosure, case: Case) -> Disclosed:
    """Who is in a group of one class, in one that lacks a class, or in one with a few people of a class."""
    release, table = case.release, case.table
    if release.target not in table.schema:
        raise InconclusiveError("the table has no class")
    found = divisions(case, metric.groups, metric.by_public)
    marks = [flagged(_people(metric, case, division), metric.form, metric.k) for division in found]
    beyond = np.zeros(len(table), dtype=bool)
    for division, marked in zip(found, marks, strict=True):
        beyond |= marked[division.group]
    told: dict[str, Any] = {"groups": sum(len(division.sizes) for division in found)}
    people = int(table.persons[beyond].sum())
    told["people_beyond"] = Private(People(people))
    if people:
        told["worst"] = worst_groups(case, list(zip(found, marks, strict=True)), metric.by_public)
    return Disclosed(people / int(table.persons.sum()), told)


def flagged(people: NDArray[np.float64], form: str, k: int | None) -> NDArray[np.bool_]:
    """Which groups give their class away, `people` being each group's by class.

    `single`: nobody has another class than one; `ruled_out`: nobody has some class; `few`: somebody has some class,
    and fewer than k do.
    """
    size = people.sum(axis=1, keepdims=True)
    absent = people <= NEAR * size
    if form == "single":
        return np.asarray((~absent).sum(axis=1) == 1)
    if form == "ruled_out":
        return np.asarray(absent.any(axis=1))
    return np.asarray(((people > 0) & (people < (k or 0))).any(axis=1))


def _people(metric: ClassDisclosure, case: Case, division: Division) -> NDArray[np.float64]:
    """Each group's people by class: as they are, or as many as the release's shares make of them."""
    if not metric.told_by_release:
        target = case.release.target
        return division.counts(case.table.codes(target), len(case.release.classes))
    told = chances(case.release, case.table)[division.first]
    return np.asarray(np.where(np.isnan(told), 1 / told.shape[1], told) * division.sizes[:, None])
