"""Nested sampling: samples of the people in which every larger sample contains each smaller one."""

from __future__ import annotations

import hashlib
import json

import numpy as np
from numpy.typing import NDArray

from leafgate.errors import DataError
from leafgate.kernel.schema import Schema
from leafgate.kernel.table import Table

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
    if table.total_weight >= MAX_PEOPLE:
        raise DataError(
            f"draws from fewer than {MAX_PEOPLE:,} people", place=f"{section}.sample", remedy="name a file of people"
        )
    people = table.project([column.name for column in known_columns(table.schema).columns])[0]
    taken = nested_sample(people.weight, round(share * people.total_weight), seed)
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


def record_hashes(table: Table) -> NDArray[np.uint64]:
    """Hash the cells of each row, so that what depends on order can go by what a row says instead.

    Rows with equal cells have equal hashes, whatever the order of rows, of columns and of declared values. The hash is
    for sorting: whoever knows a hash can find the row by trying.

    Returns:
        Shape (n_rows,).
    """
    hashes = np.zeros(len(table), dtype=np.uint64)
    for column in table.schema.columns:
        if column.holds_numbers:
            numbers = table.numbers(column.name) + 0.0  # minus zero is zero
            of_column = _mixed(np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64) ^ _word(column.name))
        else:
            words = [_word(column.name, value) for value in (*(column.values or ()), None)]
            of_column = np.array(words, dtype=np.uint64)[table.frame[column.name].cat.codes.to_numpy()]
        hashes += of_column
    return hashes


def has_same_records(table: Table, other: Table) -> bool:
    """Do both tables have the same records, each for as many people?"""

    def sorted_records(each: Table) -> list[tuple[int, int]]:
        return sorted(zip(record_hashes(each).tolist(), each.weight.tolist(), strict=True))

    return len(table) == len(other) and sorted_records(table) == sorted_records(other)


def _word(*texts: str | None) -> np.uint64:
    """64 bits of the digest of texts."""
    digest = hashlib.sha256(json.dumps(texts).encode()).digest()
    return np.uint64(int.from_bytes(digest[:8], "little"))


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Each word, mixed so that words that differ in one bit differ in half of them.

    Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014 (SplitMix64).
    doi:10.1145/2660193.2660195
    """
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
