"""Describe a group in words: the conditions that lead to it, and what is published there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leafgate.algorithms.equivalence import Reached
from leafgate.algorithms.feasible import Domain, Possible, conditions, intersect
from leafgate.types.arrays import Ids
from leafgate.types.release import Records
from leafgate.types.schema import Column, Schema

MAX_LEAVES = 4
"""Leaves of a group that its description lists."""


def group_words(reached: Sequence[Reached], schema: Schema) -> str:
    """The public conditions the group's people meet, then each leaf under its private ones."""
    if not reached:
        return "no leaf"
    shared = " and ".join(conditions(_met(reached, schema), schema)) or "everyone"
    if len(reached) == 1:
        return f"{shared} -> {reached[0].leaf.words}"
    items = []
    for each in reached[:MAX_LEAVES]:
        private = {name: rest for name, rest in each.possible.items() if not schema[name].public}
        items.append(f"({' and '.join(conditions(private, schema))}: {each.leaf.words})")
    more = f" or {len(reached) - MAX_LEAVES} more" if len(reached) > MAX_LEAVES else ""
    return f"{shared} -> {' or '.join(items)}{more}"


def record_words(records: Records, rows: Ids, schema: Schema) -> str:
    """The public cells of the first matching record, and how many records match."""
    if not len(rows):
        return "no record"
    cells = zip(records.columns, records.rows[int(rows[0])], strict=True)
    text = " and ".join(_cell(schema[name], cell) for name, cell in cells if schema[name].public)
    return ("1 record: " if len(rows) == 1 else f"{len(rows)} records, such as ") + (text or "anything")


def _cell(column: Column, cell: Any) -> str:
    """One published cell: a value, several, a range, or nothing."""
    if not isinstance(cell, dict):
        return f"{column.name} = {'missing' if cell is None else f'{cell:g}' if column.numeric else cell}"
    if "from" in cell:
        return f"{cell['from']:g} <= {column.name} <= {cell['to']:g}"
    if "in" in cell:
        return f"{column.name} in {{{', '.join('missing' if v is None else str(v) for v in cell['in'])}}}"
    return f"{column.name} withheld"


def _met(reached: Sequence[Reached], schema: Schema) -> Possible:
    """The values of each public column that lead to all of these leaves."""
    met: dict[str, Domain] = {}
    for each in reached:
        for name, rest in each.possible.items():
            if schema[name].public:
                met[name] = intersect(met[name], rest) if name in met else rest
    return met
