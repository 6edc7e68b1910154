"""Does what everybody may read say something of a person?"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from leafgate.report import People, Private
from leafgate.table import Table
from leafgate.testing.checks import NonConformance

SIGN = "q7x"
"""A text that nobody writes who does not copy it from a row."""
MARK = 0.738291
"""What no number of a row has behind its point by chance."""
SHORTEST = 4
"""Cells of fewer characters stand in other texts by chance."""


def public(told: Any) -> Any:
    """Evidence as the public may come to read it: without what is private, and without counts of people."""
    if isinstance(told, Mapping):
        return {key: public(value) for key, value in told.items() if not isinstance(value, Private | People)}
    if isinstance(told, list | tuple):
        return [public(value) for value in told if not isinstance(value, Private | People)]
    return told


def cells(table: Table) -> set[str]:
    """What rows say that could not stand somewhere by chance: long texts no secret has, and numbers with decimals."""
    found: set[str] = set()
    for column in table.schema.columns:
        if column.numeric:
            found |= {str(number) for number in table.frame[column.name].tolist() if len(str(number)) > SHORTEST}
        elif not column.roles & {"class", "sensitive"}:
            found |= {str(value) for value in table.frame[column.name].dropna().unique()}
    return {cell for cell in found if len(cell) >= SHORTEST}


def refuse_cells(told: Any, table_cells: Collection[str], options: Any, remedy: str) -> None:
    """NonConformance where one of these cells stands in it, and in no option."""
    text, chosen = _written(told), _written(options)
    for cell in table_cells:
        if cell not in chosen and re.search(rf"(?<![\w.]){re.escape(cell)}(?![\w.])", text):
            raise NonConformance("what it publishes says what stands in a row of the table", remedy)


def _written(told: Any) -> str:
    return json.dumps(told, default=str, ensure_ascii=False)


def numbers_in(told: Any, place: str = "") -> Iterator[tuple[str, float]]:
    """Every number of some evidence, with its place."""
    if isinstance(told, Mapping):
        for key, value in told.items():
            yield from numbers_in(value, f"{place}.{key}".strip("."))
    elif isinstance(told, list | tuple):
        for number, value in enumerate(told):
            yield from numbers_in(value, f"{place}[{number}]")
    elif isinstance(told, int | float) and not isinstance(told, bool):
        yield place, told
