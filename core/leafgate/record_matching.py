"""Are published records those of this table's people, and is the noise on them as much as the release says?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.noise import Noise
from leafgate.release import Records, Release
from leafgate.schema import Column
from leafgate.table import Table

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]

MAX_PAIRS = 300_000
"""Pairs of a record and a person it could be, up to which it is decided whether the records can be the people."""

CHUNK_CELLS = 4_000_000
"""Pairs of a record and a person that are compared at once."""

MAX_PEOPLE = 2**31
"""A maximum flow is computed in whole numbers of 32 bits."""

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
    keys = [(only, each) for each in columns if (only := each.only_cell) is not None]
    record_block, person_block = _blocks(
        [only for only, _ in keys], [each for _, each in keys], len(weight), len(people)
    )
    counted = np.bincount(record_block, weights=weight)
    there = np.bincount(person_block, weights=people.weight, minlength=len(counted))
    if not sample and len(there) > len(counted):
        return False
    there = there[: len(counted)]
    if (counted > there).any() or (not sample and (counted < there).any()):
        return False
    blurred = [each for each in columns if each.only_cell is None]
    return not blurred or _agree(blurred, weight, record_block, people.weight, person_block, sample=sample)


@dataclass(frozen=True)
class _Published:
    """A column as published: the cell of each record, the value of each person, and which values agree with a cell."""

    cell: Ids
    value: Ids
    agreeing: list[Ids]
    n_values: int

    @cached_property
    def only_cell(self) -> Ids | None:
        """The cell that each value agrees with, -1 where there is none; None where some value agrees with several."""
        values = np.concatenate(self.agreeing)
        if len(np.unique(values)) < len(values):
            return None
        found = np.full(self.n_values, -1, dtype=np.int64)
        found[values] = np.repeat(np.arange(len(self.agreeing)), [len(each) for each in self.agreeing])
        return found

    def agree(self, records: Ids, people: Ids) -> Mask:
        """Which of the records and people agree in this column: a row for each record."""
        cells, which = np.unique(self.cell[records], return_inverse=True)
        fits = np.zeros((len(cells), self.n_values), dtype=bool)
        for row, cell in enumerate(cells.tolist()):
            fits[row, self.agreeing[cell]] = True
        return np.asarray(fits[which.reshape(-1)][:, self.value[people]])


def _column(records: Records, name: str, people: Table) -> _Published:
    column, place = people.schema[name], records.columns.index(name)
    cells = [_hashable(row[place]) for row in records.rows]
    number = {cell: i for i, cell in enumerate(dict.fromkeys(cells))}
    values, value = _values(column, people)
    numbers = np.array([math.nan if one is None else one for one in values], dtype=float) if column.numeric else None
    position = {one: i for i, one in enumerate(values)}
    agreeing = [_agreeing(cell, position, numbers) for cell in number]
    return _Published(np.array([number[cell] for cell in cells]), value, agreeing, len(values))


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


def _agreeing(cell: Any, position: Mapping[Any, int], numbers: Floats | None) -> Ids:
    """The values that agree with a published cell: equal to it, in its set or range, or any if it is withheld."""
    parts = dict(cell) if isinstance(cell, tuple) else {"in": (cell,)}
    if "withheld" in parts:
        return np.arange(len(position))
    if "in" in parts:
        return np.array(sorted({position[one] for one in parts["in"] if one in position}), dtype=np.int64)
    inside = np.zeros(0) if numbers is None else (numbers >= parts["from"]) & (numbers <= parts["to"])
    return np.flatnonzero(inside)


def _blocks(keys: list[Ids], columns: list[_Published], n_records: int, n_people: int) -> tuple[Ids, Ids]:
    """The number of each record's key and each person's; those of people with a key that no record has come last."""
    record, person = np.zeros(n_records, dtype=np.int64), np.zeros(n_people, dtype=np.int64)
    for only, column in zip(keys, columns, strict=True):
        both = np.concatenate([record, person]) * (len(column.agreeing) + 1)
        both += np.concatenate([column.cell, only[column.value]]) + 1
        numbers = np.unique(both, return_inverse=True)[1].reshape(-1)
        record, person = numbers[:n_records], numbers[n_records:]
    found = {number: i for i, number in enumerate(dict.fromkeys(record.tolist()))}
    named = [found.setdefault(number, len(found)) for number in [*record.tolist(), *person.tolist()]]
    return np.array(named[:n_records]), np.array(named[n_records:])


def _agree(
    columns: list[_Published], weight: Ids, record_block: Ids, people: Ids, person_block: Ids, *, sample: bool
) -> bool:
    """The same of columns whose cells overlap, among records and people of one key."""
    records_of, people_of = np.zeros(len(people)), np.zeros(len(weight))
    pairs, n_pairs = [np.zeros((2, 0), dtype=np.int64)], 0
    for records, persons in _chunks(record_block, person_block):
        agree = np.ones((len(records), len(persons)), dtype=bool)
        for column in columns:
            agree &= column.agree(records, persons)
        mine, theirs = np.nonzero(agree)
        record, person = records[mine], persons[theirs]
        people_of += np.bincount(record, weights=people[person], minlength=len(weight))
        records_of += np.bincount(person, weights=weight[record], minlength=len(people))
        n_pairs += len(record)
        if n_pairs <= MAX_PAIRS:
            pairs.append(np.stack([record, person]))
    if (people_of < weight).any() or (not sample and (records_of < people).any()):
        return False
    if n_pairs > MAX_PAIRS or max(weight.sum(), people.sum()) >= MAX_PEOPLE:
        return True
    record, person = np.concatenate(pairs, axis=1)
    return bool(_flow(record, person, weight, people) == weight.sum())


def _chunks(record_block: Ids, person_block: Ids) -> Iterator[tuple[Ids, Ids]]:
    """Records and all people of one key, so many records at once that the pairs fit into memory."""
    by_record, by_person = np.argsort(record_block, kind="stable"), np.argsort(person_block, kind="stable")
    blocks = np.arange(int(record_block.max()) + 2)
    first = np.searchsorted(record_block[by_record], blocks)
    first_person = np.searchsorted(person_block[by_person], blocks)
    for block in blocks[:-1].tolist():
        people = by_person[first_person[block] : first_person[block + 1]]
        step = max(1, CHUNK_CELLS // max(1, len(people)))
        for start in range(first[block], first[block + 1], step):
            yield by_record[start : min(start + step, first[block + 1])], people


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
