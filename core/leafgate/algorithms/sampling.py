"""Sample: some of the people, drawn so that a larger sample holds every smaller one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leafgate.errors import DataError
from leafgate.types.schema import Schema
from leafgate.types.table import Table

MOST = 10**9
"""numpy draws from fewer people than this."""


def sampled(table: Table, share: float, seed: int) -> Table | None:
    """The public columns and the secrets of a share of the people, everyone equally likely; None of nobody."""
    if table.people >= MOST:
        raise DataError(f"draws from fewer than {MOST:,} people", place="knows.sample", remedy="name a file of people")
    people = table.project([column.name for column in known_columns(table.schema).columns])[0]
    taken = nested_sample(people.weight, round(share * people.people), seed)
    there = taken > 0
    if not there.any():
        return None
    return Table(people.schema, people.frame[there].reset_index(drop=True), taken[there])


def known_columns(schema: Schema) -> Schema:
    """The public columns, and the secrets."""
    return Schema(tuple(column for column in schema.columns if column.public or "sensitive" in column.roles))


def nested_sample(weight: NDArray[np.int64], first: int, seed: int) -> NDArray[np.int64]:
    """How many people of each record are among the `first`, when all queue up in a random order.

    The queue is the seed's, whatever `first` is, and never written out: it is halved, and how many of
    each record stand in the first half follows a multivariate hypergeometric distribution; then the half
    in which the `first` end is halved in turn. So the cost grows with the records times the logarithm of the people.
    """
    taken, part, number = np.zeros_like(weight), weight, 1
    while 0 < first < (size := int(part.sum())):
        rng = np.random.default_rng([seed, number])
        front = rng.multivariate_hypergeometric(part, size // 2, method="marginals").astype(np.int64)
        within = first < size // 2
        if not within:
            taken, part, first = taken + front, part - front, first - size // 2
        else:
            part = front
        number = 2 * number + (not within)
    return taken + part if first else taken
