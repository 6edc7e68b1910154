"""Are published records those of this table's people, and is the noise on them as much as the release says?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.noise import Noise
from leafgate.release import Records, Release
from leafgate.schema import Column
from leafgate.table import Table

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]

MAX_PAIRS = 300_000
"""Pairs of a record and a person it could be, up to which it is decided whether the records can be the people."""

CHUNK_CELLS = 20_000_000
"""Pairs of a record and a person that are compared at once."""

STANDARD_DEVIATIONS = 5.0
"""So far below its expectation the variance of shared numbers happens to lie once in three million honest releases."""


def strange_records(release: Release, table: Table) -> str:
    """What is wrong with published records that claim to be the table's people; empty where nothing is.

    `exact` records must be the people, each once; so must those labelled `unknown` if no noise is on them, for
    nothing else can be learned from them. Of a sample somebody must match each record.
    """
    if release.records is None:
        return ""
    if release.counted in {"exact", "unknown"} and not release.noise and not records_fit(release.records, table):
        return "the records cannot be this table's people: are they other people's?"
    if release.counted == "sampled" and not records_fit(release.records, table, sample=True):
        return "some records match nobody in this table: are they other people's?"
    if any(_has_less_noise(name, noise, release.records, table) for name, noise in release.noise.items()):
        return "numbers that are said to have noise on them have less than is said"
    return ""


def records_fit(records: Records, table: Table, *, sample: bool = False) -> bool:
    """Can each of the table's people be exactly one of the records, all published cells agreeing?

    Columns in which every value agrees with one cell alone are joined like keys, and the people of each key counted.
    Where cells overlap (`in`, `from` and `to`, withheld), each record must have as many people as it counts among
    those who agree with it, and each person a record; up to MAX_PAIRS pairs a maximum flow decides it. Of a `sample`
    people may be left out.
    """
    names = [name for name in records.columns if name in table.schema]
    people, _ = table.project(names)
    weight = np.array(records.weight, dtype=np.int64)
    if weight.sum() > people.people or (weight.sum() < people.people and not sample):
        return False
    columns = [_column(records, name, people) for name in names]
    record_block, person_block = _blocks([each for each in columns if each.is_key], len(weight), len(people))
    counted = np.bincount(record_block, weights=weight)
    there = np.bincount(person_block, weights=people.weight, minlength=len(counted))
    if len(there) > len(counted) or (counted > there).any() or (not sample and (counted < there).any()):
        return False
    blurred = [each for each in columns if not each.is_key]
    return not blurred or _agree(blurred, weight, record_block, people.weight, person_block, sample=sample)


@dataclass(frozen=True)
class _Published:
    """A column as published: each record's cell, each person's value, and which cells agree with which values."""

    cell: Ids
    value: Ids
    fits: Mask

    @property
    def is_key(self) -> bool:
        """Does no value agree with two cells?"""
        return bool((self.fits.sum(axis=0) <= 1).all())


def _column(records: Records, name: str, people: Table) -> _Published:
    column, place = people.schema[name], records.columns.index(name)
    cells = [_hashable(row[place]) for row in records.rows]
    number = {cell: i for i, cell in enumerate(dict.fromkeys(cells))}
    values, value = _values(column, people)
    fits = np.array([[_agrees(cell, each) for each in values] for cell in number], dtype=bool)
    return _Published(np.array([number[cell] for cell in cells]), value, fits.reshape(len(number), len(values)))


def _values(column: Column, people: Table) -> tuple[list[Any], Ids]:
    """The different values there are, None for a missing one, and which of them each row has."""
    cells = people.frame[column.name].astype(object).to_numpy()
    plain = [None if isinstance(cell, float) and math.isnan(cell) else cell for cell in cells]
    number = {cell: i for i, cell in enumerate(dict.fromkeys(plain))}
    return list(number), np.array([number[cell] for cell in plain], dtype=np.int64)


def _hashable(cell: Any) -> Any:
    if not isinstance(cell, dict):
        return cell
    return tuple((key, tuple(told) if isinstance(told, list) else told) for key, told in sorted(cell.items()))


def _agrees(cell: Any, value: Any) -> bool:
    """Does a published cell agree with a value: is it equal, in its set or range, or is the cell withheld?"""
    if not isinstance(cell, tuple):
        return bool(cell == value)
    parts = dict(cell)
    if "withheld" in parts:
        return True
    if "in" in parts:
        return value in parts["in"]
    return value is not None and bool(parts["from"] <= value <= parts["to"])


def _blocks(keys: list[_Published], n_records: int, n_people: int) -> tuple[Ids, Ids]:
    """The number of each record's key and each person's; those of people with a key that no record has come last."""
    record, person = np.zeros(n_records, dtype=np.int64), np.zeros(n_people, dtype=np.int64)
    for column in keys:
        only = np.where(column.fits.any(axis=0), column.fits.argmax(axis=0), len(column.fits))
        both = np.concatenate([record, person]) * (len(column.fits) + 1)
        both += np.concatenate([column.cell, only[column.value]])
        numbers = np.unique(both, return_inverse=True)[1].reshape(-1)
        record, person = numbers[:n_records], numbers[n_records:]
    found = {number: i for i, number in enumerate(dict.fromkeys(record.tolist()))}
    named = [found.setdefault(number, len(found)) for number in [*record.tolist(), *person.tolist()]]
    return np.array(named[:n_records]), np.array(named[n_records:])


def _agree(
    columns: list[_Published], weight: Ids, record_block: Ids, people: Ids, person_block: Ids, *, sample: bool
) -> bool:
    """The same of columns whose cells overlap, among records and people of one key."""
    pairs: list[tuple[Ids, Ids]] = []
    records_of, people_of = np.zeros(len(people), dtype=np.int64), np.zeros(len(weight), dtype=np.int64)
    for record, person in _pairs(columns, record_block, person_block):
        np.add.at(records_of, person, weight[record])
        np.add.at(people_of, record, people[person])
        if sum(len(each) for each, _ in pairs) <= MAX_PAIRS:
            pairs.append((record, person))
    if (people_of < weight).any() or (not sample and (records_of < people).any()):
        return False
    record, person = (np.concatenate(each) for each in zip(*pairs, strict=True))
    if len(record) > MAX_PAIRS or max(weight.sum(), people.sum()) >= 2**31:
        return True
    return bool(_flow(record, person, weight, people) == weight.sum())


def _pairs(columns: list[_Published], record_block: Ids, person_block: Ids) -> Iterator[tuple[Ids, Ids]]:
    """Records and people that agree in all columns, chunk by chunk."""
    for block in range(int(record_block.max()) + 1):
        records, people = np.flatnonzero(record_block == block), np.flatnonzero(person_block == block)
        step = max(1, CHUNK_CELLS // max(1, len(people)))
        for start in range(0, len(records), step):
            some = records[start : start + step]
            agree = np.ones((len(some), len(people)), dtype=bool)
            for column in columns:
                agree &= column.fits[column.cell[some]][:, column.value[people]]
            mine, theirs = np.nonzero(agree)
            yield some[mine], people[theirs]


def _flow(record: Ids, person: Ids, weight: Ids, people: Ids) -> int:
    """How many people can be given a record that agrees with them, no record to more than it counts.

    Source: Ford, Fulkerson, "Maximal Flow Through a Network", Canadian Journal of Mathematics 8, 1956.
    """
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import maximum_flow

    n, m = len(weight), len(people)
    begin = np.concatenate([np.full(n, n + m), record, n + np.arange(m)])
    end = np.concatenate([np.arange(n), n + person, np.full(m, n + m + 1)])
    capacity = np.concatenate([weight, weight[record], people]).astype(np.int32)
    graph = csr_array(coo_array((capacity, (begin, end)), shape=(n + m + 2, n + m + 2)))
    return int(maximum_flow(graph, n + m, n + m + 1).flow_value)


def _has_less_noise(name: str, noise: Noise, records: Records, table: Table) -> bool:
    """Do shared numbers vary by less than the table's numbers under such noise could?

    The variance of x + R is that of x, and 2 cov(x, R) + var(R) more, whatever the numbers x are: of standard
    deviation sqrt(4 var(x) s^2 / n + (kurtosis - 1) s^4 / n) around s^2, s^2 the variance of the noise. Numbers of
    few people, or under little noise, are never said to have less.
    """
    if name not in records.columns or name not in table.schema or not table.schema[name].numeric:
        return False
    place, cells = records.columns.index(name), table.numbers(name)
    told = [(row[place], n) for row, n in zip(records.rows, records.weight, strict=True) if _is_number(row[place])]
    there = ~np.isnan(cells)
    n = int(table.weight[there].sum())
    if not told or sum(weight for _, weight in told) != n:
        return False
    original = np.repeat(cells[there], table.weight[there])
    shared = np.repeat([float(number) for number, _ in told], [weight for _, weight in told])
    if np.array_equal(np.sort(original), np.sort(shared)):
        return True
    kurtosis = 3.0 if noise.law == "gaussian" else 1.8
    spread = math.sqrt((4 * original.var() * noise.variance + (kurtosis - 1) * noise.variance**2) / n)
    return bool(shared.var() - original.var() < noise.variance - STANDARD_DEVIATIONS * spread)


def _is_number(cell: Any) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)
