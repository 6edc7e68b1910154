"""Match published records with people by their public cells."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from leafgate.api import Column, Floats, Ids, Mask, Records, Schema, Table, bin_of
from leafgate.kernel.schema import bins_between


def numbered(records: Records, place: int) -> tuple[Ids, list[Any]]:
    """One column's cells: each record's as a number, and what the numbers mean."""
    cells = [row[place] for row in records.rows]
    if dict in set(map(type, cells)):
        cells = [_frozen(cell) for cell in cells]
    distinct = list(dict.fromkeys(cells))
    number = {cell: i for i, cell in enumerate(distinct)}
    return np.fromiter(map(number.__getitem__, cells), dtype=np.int64, count=len(cells)), distinct


def _frozen(cell: Any) -> Any:
    """A cell as a value that can be hashed and compared."""
    if isinstance(cell, dict):
        return tuple(
            (key, tuple(result) if isinstance(result, list) else result) for key, result in sorted(cell.items())
        )
    return cell


def _content(cell: Any) -> dict[str, Any]:
    """What a published cell says: `withheld`, the values `in` it, or the ends `from` and `to` of a range."""
    return dict(cell) if isinstance(cell, tuple) else {"in": [cell]}


def fits_value(cell: Any, value: Any) -> bool:
    """Can a cell of a categorical column mean this value?"""
    content = _content(cell)
    return "withheld" in content or value in content["in"]


def fits_domain(cell: Any, column: Column) -> Mask:
    """Which values of the column, or bins of its numbers, a cell can mean."""
    if column.bins is None:
        return np.array([fits_value(cell, value) for value in column.domain])
    content = _content(cell)
    if "withheld" in content:
        return np.ones(len(column.domain), dtype=bool)
    if "from" in content:
        return bins_between(column.bins, content["from"], content["to"])
    bins = bin_of(np.array(content["in"], dtype=np.float64), column.bins)
    return np.isin(np.arange(len(column.domain)), bins)


def fits_numbers(cell: Any, numbers: Floats) -> Mask:
    """Which numbers a cell can mean, shape of `numbers`; NaN is a missing number."""
    content = _content(cell)
    if "withheld" in content:
        return np.ones(len(numbers), dtype=bool)
    if "from" in content:
        return np.asarray((numbers >= content["from"]) & (numbers <= content["to"]))
    fits = np.isin(numbers, [number for number in content["in"] if number is not None])
    return fits | (np.isnan(numbers) if None in content["in"] else False)


@dataclass(frozen=True)
class Matches:
    """For each public row the number of its set of matching records, and those sets one after another.

    The records of set s are `records[start[s]:start[s + 1]]`.
    """

    which: Ids
    start: Ids
    records: Ids

    def set_of(self, number: int) -> Ids:
        return self.records[self.start[number] : self.start[number + 1]]


@dataclass(frozen=True)
class _PublishedColumn:
    """A public column as published: each record's cell, each person's value, and which cells fit which values.

    Where no value fits two cells, `only` is the one that fits each value (-1: none) and `fits` is None.
    """

    cell: Ids
    value: Ids
    only: Ids | None
    fits: Mask | None = None


def matches(records: Records, public: Table, schema: Schema, noisy: Container[str] = ()) -> Matches:
    """Which records match each public row: all its public cells agree.

    A cell agrees when it is equal, when the value lies in its set or its range (both ends included),
    or when it is withheld. Columns whose cells do not overlap are joined like keys; only the others
    are compared pair by pair, within equal keys. A `noisy` column's cells agree with any value.
    """
    items = [(i, schema[name]) for i, name in enumerate(records.columns) if schema[name].public and name not in noisy]
    published = [_published_column(records, i, column, public) for i, column in items]
    sharp = [(column.cell, column.only[column.value]) for column in published if column.only is not None]
    blurred = [(column, column.fits) for column in published if column.fits is not None]
    block, where = _blocks(sharp, len(records.rows), len(public))
    if not blurred:
        return _by_block(block, where)
    return _pairwise(blurred, block, where)


def _blocks(sharp: Sequence[tuple[Ids, Ids]], n_records: int, n_people: int) -> tuple[Ids, Ids]:
    """Records with the same cells form a block: each record's, and each person's, -1 where none has their cells."""
    record_key, person_key = np.zeros(n_records, dtype=np.int64), np.zeros(n_people, dtype=np.int64)
    for record, person in sharp:
        size = int(record.max()) + 2
        both = np.concatenate([record_key * size + record + 1, person_key * size + person + 1])
        together = np.unique(both, return_inverse=True)[1].reshape(-1)
        record_key, person_key = together[:n_records], together[n_records:]
    keys, block = np.unique(record_key, return_inverse=True)
    where = np.minimum(np.searchsorted(keys, person_key), len(keys) - 1)
    return block.reshape(-1), np.where(keys[where] == person_key, where, -1)


def _by_block(block: Ids, where: Ids) -> Matches:
    """Matches in which every block is one set; people who match nothing share an empty set."""
    size = int(block.max()) + 1
    order = np.argsort(block, kind="stable")
    start = np.searchsorted(block[order], np.arange(size + 2))
    return Matches(np.where(where < 0, size, where), start, order)


def _pairwise(blurred: Sequence[tuple[_PublishedColumn, Mask]], block: Ids, where: Ids) -> Matches:
    """Find everyone's set within their block by comparing cell by cell; equal sets are stored once."""
    numbers: dict[bytes, int] = {}
    sets: list[Ids] = []
    which = np.empty(len(where), dtype=np.int64)
    alike = {i: _patterns(fits)[column.value] for i, (column, fits) in enumerate(blurred)}
    people = pd.DataFrame({"block": where} | alike)
    order = np.argsort(block, kind="stable")
    start = np.searchsorted(block[order], np.arange(int(block.max()) + 2))
    for rows in people.groupby(list(people.columns), sort=False).indices.values():
        person = int(rows[0])
        matching = order[:0] if where[person] < 0 else order[start[where[person]] : start[where[person] + 1]]
        for column, fits in blurred:
            matching = matching[fits[column.cell[matching], column.value[person]]]
        number = numbers.setdefault(matching.tobytes(), len(sets))
        if number == len(sets):
            sets.append(matching)
        which[rows] = number
    return Matches(which, np.cumsum([0, *(len(each) for each in sets)]), np.concatenate(sets))


def _patterns(fits: Mask) -> Ids:
    """Number the values so that values that fit the same cells have the same number."""
    return np.unique(fits, axis=1, return_inverse=True)[1].reshape(-1)


def _published_column(records: Records, place: int, column: Column, public: Table) -> _PublishedColumn:
    cell, cells = numbered(records, place)
    if column.numeric:
        distinct, value = np.unique(public.numbers(column.name), return_inverse=True)
        value = value.reshape(-1)
        values: Sequence[Any] = [None if np.isnan(number) else number for number in distinct.tolist()]
    else:
        distinct, value, values = np.zeros(0), public.codes(column.name), column.domain
    if not any(isinstance(result, tuple) for result in cells):
        place_of = {outcome: i for i, outcome in enumerate(cells)}
        return _PublishedColumn(cell, value, np.array([place_of.get(each, -1) for each in values]))
    rows = [fits_numbers(t, distinct) if column.numeric else [fits_value(t, v) for v in values] for t in cells]
    fits = np.array(rows, dtype=bool)
    if (fits.sum(axis=0) > 1).any():
        return _PublishedColumn(cell, value, None, fits)
    return _PublishedColumn(cell, value, np.where(fits.any(axis=0), fits.argmax(axis=0), -1))
