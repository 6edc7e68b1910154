"""Neighbouring tables: worst-case pairs that differ in one person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np
import pandas as pd

from leafgate.api import Schema, Table, make_table, typed_column

MAX_SUBSETS = 1_000
"""At most so many kinds of people are made up."""

Row = Mapping[str, Any]
Rows = Sequence[tuple[Row, int]]


@dataclass(frozen=True)
class NeighbouringTables:
    """Two neighbouring tables, and the person who is in the second one only."""

    name: str
    without_person: Table
    with_person: Table
    person: Table


def neighbouring_tables(
    schema: Schema, k: int, beta: float, depth: int, *, replaced: bool, tied: bool = False
) -> Iterator[NeighbouringTables]:
    """Everybody else is like the person; or is like them in a few columns; or is unlike them.

    The first comes twice, with such numbers that a sample of a fixed part would be one larger with the person,
    rounded down and to the nearest. If `replaced`, somebody unlike them is there while they are not. If `tied`, there
    are also as many of two classes who are all alike, so that the person decides which class is the commonest.
    """
    here, there = _extreme_record(schema, first=True), _extreme_record(schema, first=False)
    # so many people that one more makes the kept part, rounded down or to the nearest, one more
    n, more = max(round((k + 1) / beta) - 1, 1), max(int((k + 0.5) / beta), 1)
    subsets = [{**there, **{name: here[name] for name in names}} for names in _subsets(schema, depth)]
    last = {**here, schema.target.name: schema.classes[-1]}
    stories: list[tuple[str, Rows, Row]] = [
        ("alike", [(here, n)], here),
        ("alike, a few more", [(here, more)], here),
        ("alike in part", [(row, n) for row in subsets], here),
        ("unlike", [(there, n)], last),
    ]
    stories += [("alike, two classes", [(here, n), (last, n)], last)] if tied else []
    for name, others, person in stories:
        instead = [(there, 1)] if replaced else []
        tables = (_make_table(schema, rows) for rows in ([*others, *instead], [*others, (person, 1)], [(person, 1)]))
        yield NeighbouringTables(name, *tables)


def _extreme_record(schema: Schema, *, first: bool) -> dict[str, Any]:
    """Somebody at one end of every domain, of the first class."""
    row: dict[str, Any] = {}
    for column in schema.columns:
        ends = (column.bounds or (0.0, 1.0)) if column.numeric else (column.domain[0], column.domain[-1])
        row[column.name] = ends[0] if first else ends[-1]
    return row | {schema.target.name: schema.classes[0]}


def _subsets(schema: Schema, depth: int) -> Iterator[Sequence[str]]:
    names = [column.name for column in schema.features]
    return islice(combinations(names, min(depth, max(len(names) - 1, 0))), MAX_SUBSETS)


def _make_table(schema: Schema, rows: Rows) -> Table:
    columns = {c.name: typed_column(c, [row[c.name] for row, _ in rows]) for c in schema.columns}
    return make_table(schema, pd.DataFrame(columns), np.array([n for _, n in rows], dtype=np.int64))
