"""From a release and what the adversary knows to the problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.errors import InconclusiveError
from leafgate.known import Known
from leafgate.release import Release
from leafgate.schema import Column
from leafgate.table import Table, distinct_rows
from leafgate.tree import columns_asked
from leafgate_maxent.competing import choices_of
from leafgate_maxent.leaves import leaf_constraints
from leafgate_maxent.linear import Linear, at_least, everyone_is_somewhere
from leafgate_maxent.problem import Problem
from leafgate_maxent.provable import rules_of
from leafgate_maxent.strata import Strata, strata_of
from leafgate_maxent.walk import Ids, walk


@dataclass(frozen=True)
class Model:
    """The problem, and where the rows of `Known.records` are in it."""

    problem: Problem
    position: Ids
    target: Column


def model_of(release: Release, known: Known, *, internal: bool, members: bool = True) -> Model:
    """The problem of who has which class, and which unknown cells, given everything the adversary has.

    Unless `members`, the adversary knows `Known.population` and not who of it is in the table.
    Raises InconclusiveError where there are too many cases to tell apart.
    """
    public, position = _people(known, members)
    target = known.schema.target
    strata = strata_of(release.trees, public, known.schema, _told(release, known), members=members)
    trees = [walk(tree) for tree in release.trees]
    weight = public.weight[strata.row].astype(np.float64)
    linear = [
        everyone_is_somewhere(strata.row, public.weight.astype(np.float64), len(target.domain)),
        *leaf_constraints(release, trees, strata, weight, target),
        *_background(known, public, strata, target, members=members),
    ]
    rules, why = rules_of(release, known.schema, members=members) if internal else (None, "not asked for")
    left_out: dict[str, int | str] = {} if rules else {"internal": why}
    choices = []
    if rules is not None and release.counted == "exact":
        found = (choices_of(tree, strata, i, public, known.schema, weight, rules) for i, tree in enumerate(trees))
        choices = [each for each in found if each is not None and len(each)]
    elif rules is not None:
        left_out = {"internal": f"the numbers count other people than the table's: {release.counted}"}
    if release.records is not None:
        left_out["records"] = "published records are not read"
    allowed = _allowed(public, strata, target)
    settled = release.publish.leaves in ("counts", "shares") or (
        release.publish.leaves == "error_rates" and len(target.domain) == 2
    )
    problem = Problem(public, strata, len(target.domain), allowed, trees, linear, choices, left_out, settled)
    return Model(problem, position, target)


def _people(known: Known, members: bool) -> tuple[Table, Ids]:
    """Those the adversary knows of, and where the records of the table are among them."""
    if members:
        return known.public, np.arange(len(known.public))
    if known.population is None:
        raise InconclusiveError(
            "an adversary who knows not who is in the table must know of whom it was taken",
            place="data.population",
            remedy="name a file of them, or say `members: all`",
        )
    position = rows_among(known.public, known.population)
    if (position < 0).any():
        raise InconclusiveError(
            "somebody in the table is not in the population",
            place="data.population",
            remedy="name a population that holds everyone in the table",
        )
    return known.population, position


def rows_among(people: Table, others: Table) -> Ids:
    """For each row of `people` the row of `others` with the same cells in the columns of `others`; -1 for none."""
    names = [column.name for column in others.schema.columns]
    frame = pd.concat([people.frame.loc[:, names], others.frame.loc[:, names]], ignore_index=True)
    number = distinct_rows(frame, others.schema)[1]
    found = np.full(int(number.max(initial=-1)) + 1, -1)
    found[number[len(people) :]] = np.arange(len(others))
    return np.asarray(found[number[: len(people)]])


def _told(release: Release, known: Known) -> list[str]:
    """Unknown columns, besides the class, whose values must be told apart."""
    asked = frozenset[str]().union(*(columns_asked(tree) for tree in release.trees))
    about = {fact.column for fact in known.facts}
    if known.people is not None:
        about |= {column.name for column in known.people.schema.columns}
    secrets = {column.name for column in known.schema.secrets if column.values is not None}
    wanted = (asked & secrets) | about
    return [
        column.name
        for column in known.schema.columns
        if column.name in wanted and not column.public and column.name != known.schema.target.name
    ]


def _background(known: Known, public: Table, strata: Strata, target: Column, *, members: bool) -> Iterator[Linear]:
    """What is known of some people, of all, and of groups of them."""
    weight = public.weight.astype(np.float64)
    for name, shares in known.distribution.items():
        if members and (name == target.name or name in strata.value):
            domain = known.schema[name].domain
            masks = [_having(strata, target, name, [code]) for code in range(len(domain))]
            bounds = [shares[str(value)] * weight.sum() for value in domain]
            yield at_least("distribution", masks, bounds, equal=True)
    if known.people is not None:
        yield from _known_people(known.people, public, strata, target)
    masks, bounds, about = [], [], []
    for number, fact in enumerate(known.facts):
        inside = fact.holds_for(public)
        domain = known.schema[fact.column].domain
        having = _having(strata, target, fact.column, [domain.index(value) for value in fact.values])
        there = inside[strata.row][:, None]
        people = weight[inside].sum()
        masks += [having & there, ~having & there]
        bounds += [fact.low * people, (1 - fact.high) * people]
        about += [number, number]
    if masks:
        yield at_least("background", masks, bounds, about=about)


def _known_people(people: Table, public: Table, strata: Strata, target: Column) -> Iterator[Linear]:
    """So many people at least, of a public row, have what is known of them."""
    row = rows_among(people, public)
    masks, bounds, about = [], [], []
    for name in (column.name for column in people.schema.columns if not column.public):
        code = people.codes(name)
        pairs = np.stack([row, code], axis=1)
        distinct, which = np.unique(pairs, axis=0, return_inverse=True)
        counts = np.bincount(which.ravel(), weights=people.weight)
        for (mine, value), count in zip(distinct.tolist(), counts.tolist(), strict=True):
            masks.append(_having(strata, target, name, [value]) & (strata.row == mine)[:, None])
            bounds.append(count)
            about.append(-1 - mine)
    yield at_least("background", masks, bounds, about=about)


def _having(strata: Strata, target: Column, name: str, codes: Sequence[int]) -> NDArray[np.bool_]:
    """The cells of people who have one of some values of an unknown column."""
    classes = len(target.domain)
    if name == target.name:
        return np.broadcast_to(np.isin(np.arange(classes), codes), (len(strata), classes))
    return np.broadcast_to(np.isin(strata.value[name], codes)[:, None], (len(strata), classes))


def _allowed(public: Table, strata: Strata, target: Column) -> NDArray[np.bool_]:
    """Which cells can hold anybody: everyone's own class where that is public, else all."""
    shape = (len(strata), len(target.domain))
    if not target.public:
        return np.ones(shape, dtype=bool)
    own = public.codes(target.name)[strata.row]
    return np.asarray(own[:, None] == np.arange(shape[1]))
