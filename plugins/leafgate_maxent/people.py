"""Whom the adversary knows of, and of whom he knows the secret already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from leafgate.errors import InconclusiveError
from leafgate.known import Known
from leafgate.table import Table, distinct_rows
from leafgate_maxent.walk import Ids


@dataclass(frozen=True)
class People:
    """The rows of the problem: people with the same public cells of whom the same is known.

    `public` has their public cells and how many they are; `owner` numbers, for each, the public record
    among those the adversary has, `position` that of each record of `Known.records`. `known` gives, for
    columns some people's values of which are known, each row's code, or -1.
    """

    public: Table
    owner: Ids
    position: Ids
    known: Mapping[str, Ids] = field(default_factory=dict)

    def one_of(self, record: int) -> int:
        """A row of a record's people."""
        return int(np.flatnonzero(self.owner == self.position[record])[0])


def people_of(known: Known, *, members: bool) -> People:
    """Everyone in the table or, unless `members`, in the population; those with a known secret apart."""
    public, position = _everyone(known, members)
    if known.people is None:
        return People(public, np.arange(len(public)), position)
    row = rows_among(known.people, public)
    left = public.weight - np.bincount(row[row >= 0], known.people.weight[row >= 0], len(public)).astype(np.int64)
    if (row < 0).any() or (left < 0).any():
        raise InconclusiveError(
            "more people are known than there are with the same public cells",
            place="knows.people",
            remedy="name people of the table, each once",
        )
    rest = np.flatnonzero(left > 0)
    owner = np.concatenate([rest, row])
    frame = public.frame.iloc[owner].reset_index(drop=True)
    weight = np.concatenate([left[rest], known.people.weight])
    names = [column.name for column in known.people.schema.columns if not column.public]
    unknown = np.full(len(rest), -1)
    codes = {name: np.concatenate([unknown, known.people.codes(name)]) for name in names}
    return People(Table(public.schema, frame, weight), owner, position, codes)


def _everyone(known: Known, members: bool) -> tuple[Table, Ids]:
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
