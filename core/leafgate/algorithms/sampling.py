"""Nested sampling: samples of the people in which every larger sample contains each smaller one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leafgate.errors import DataError
from leafgate.types.schema import Schema
from leafgate.types.table import Table

MAX_PEOPLE = 10**9
"""numpy draws samples only from fewer people."""


def sampled(table: Table, share: float, seed: int, section: str = "knows") -> Table | None:
    """Draw a share of the people, everyone equally likely, with their public columns and secrets.

    Args:
        table: all people, fewer than MAX_PEOPLE.
        share: from 0 to 1; the number of people is rounded.
        seed: with the same seed a larger share contains every smaller one.
        section: where the policy grants the sample, for the error.

    Returns:
        The table of the sample; None where it is empty.

    Raises:
        DataError: the table has too many people.
    """
    if table.people >= MAX_PEOPLE:
        raise DataError(
            f"draws from fewer than {MAX_PEOPLE:,} people", place=f"{section}.sample", remedy="name a file of people"
        )
    people = table.project([column.name for column in known_columns(table.schema).columns])[0]
    taken = nested_sample(people.weight, round(share * people.people), seed)
    there = taken > 0
    if not there.any():
        return None
    return Table(people.schema, people.frame[there].reset_index(drop=True), taken[there])


def known_columns(schema: Schema) -> Schema:
    """Return the schema of the public columns and the secrets."""
    return Schema(tuple(column for column in schema.columns if column.public or "sensitive" in column.roles))


def nested_sample(weight: NDArray[np.int64], first: int, seed: int) -> NDArray[np.int64]:
    """Return how many people of each record are among the first in a random order of all people.

    The order depends on the seed only and is never written out. It is halved: the number of each record's people in the
    first half follows a multivariate hypergeometric distribution. Then the half in which the sample ends is halved in
    turn, so the cost grows with the number of records times the logarithm of the number of people.

    Args:
        weight: people of each record, shape (n_records,).
        first: size of the sample, from 0 to the number of people.
        seed: fixes the order.

    Returns:
        People of each record in the sample, shape (n_records,).
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
