"""Counting: every data set that agrees with all that is known, each as likely as any other. For tiny tables.

People with one public record are alike, so per record the ways to share its people out among the values are
listed, each with the number of assignments of single people it stands for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray

from literal_candidates import Comparison, Parts
from literal_maxent import Floats, Model

Whole = NDArray[np.int64]

TOO_MANY = 1_000_000
TIE = 1e-9
"""Gains (a person) and people no further apart are equal; a test may have been chosen among equals."""


@dataclass(frozen=True)
class Counted:
    """Each record's expected share of every value, exactly, and the number of data sets."""

    shares: tuple[tuple[Fraction, ...], ...]
    data_sets: int

    @property
    def p(self) -> Floats:
        return np.array([[float(share) for share in row] for row in self.shares])


def count(model: Model) -> Counted | None:
    """The posterior under the uniform distribution over data sets; None when no data set agrees.

    Raises ValueError where there are too many to list.
    """
    tables, ways = _possible(model)
    chosen = _agrees(model, tables)
    tables, ways = tables[chosen], ways[chosen]
    data_sets = int(ways.sum())
    if not data_sets:
        return None
    people = (tables * ways[:, None, None]).sum(axis=0)
    shares = (
        tuple(Fraction(int(n), data_sets * int(weight)) for n in row)
        for row, weight in zip(people, model.weight, strict=True)
    )
    return Counted(tuple(shares), data_sets)


def _possible(model: Model) -> tuple[Whole, Whole]:
    """Tables (records x values) of people that overshoot no equation, and the assignments each stands for."""
    records, values = model.shape
    tables = np.zeros((1, records, values), dtype=np.int64)
    ways = np.ones(1, dtype=np.int64)
    for row, weight in enumerate(model.weight.astype(int).tolist()):
        options = np.array(list(_shared_out(weight, values)))
        if len(tables) * len(options) > TOO_MANY:
            raise ValueError("too many data sets to list")
        alike = np.array([factorial(weight) // prod(factorial(n) for n in each) for each in options.tolist()])
        tables = np.repeat(tables, len(options), axis=0)
        tables[:, row] = np.tile(options, (len(ways), 1))
        ways = np.outer(ways, alike).ravel()
        fits = _short_of(model, tables, row)
        tables, ways = tables[fits], ways[fits]
    return tables, ways


def _shared_out(people: int, values: int) -> Iterator[tuple[int, ...]]:
    """Every way to give people one of the values each, as numbers of people."""
    if values == 1:
        yield (people,)
        return
    for first in range(people + 1):
        for rest in _shared_out(people - first, values - 1):
            yield (first, *rest)


def _short_of(model: Model, tables: Whole, row: int) -> NDArray[np.bool_]:
    """Which tables, filled up to `row`, have not by that row more people than an equation allows."""
    fits = np.ones(len(tables), dtype=bool)
    for each in model.linear:
        if each.sense == "=" and each.coefficients[row].any() and (each.coefficients >= 0).all():
            fits &= _told(model, each.coefficients, tables) <= each.people + TIE * model.weight.sum()
    return fits


def _told(model: Model, coefficients: Floats, tables: Whole) -> Floats:
    """The left side of a linear constraint, for every table."""
    a_person = (coefficients / model.weight[:, None]).ravel()
    asked = np.flatnonzero(a_person)
    return np.asarray(tables.reshape(len(tables), -1)[:, asked] @ a_person[asked])


def _agrees(model: Model, tables: Whole) -> Whole:
    """The places of the tables that meet every constraint."""
    left = np.arange(len(tables))
    for each in model.linear:
        off = _told(model, each.coefficients, tables[left]) - each.people
        left = left[(np.abs(off) if each.sense == "=" else -off) <= TIE * model.weight.sum()]
    for one in model.comparisons:
        people = model.weight[list(one.rows)].sum()
        here = tables[left]
        candidate = _gain(one, one.candidate.parts, here)
        left = left[one.factor * candidate <= _gain(one, one.asked, here) + TIE * people]
    return left


def _gain(one: Comparison, parts: Parts, tables: Whole) -> Floats:
    """What a test gains, in people x nats (gini: people), for every table."""
    sons = sum((_purity(one, tables[:, list(part)].sum(axis=1)) for part in parts), np.zeros(len(tables)))
    return np.asarray(sons - _purity(one, tables[:, list(one.rows)].sum(axis=1)))


def _purity(one: Comparison, counts: Whole) -> Floats:
    total = counts.sum(axis=1, keepdims=True)
    if one.measure == "gini":
        return np.asarray((counts**2 / total).sum(axis=1))
    shares = counts / total
    return np.asarray((counts * np.log(shares, where=shares > 0, out=np.zeros_like(shares))).sum(axis=1))
