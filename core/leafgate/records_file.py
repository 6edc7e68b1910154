"""The published records of a release file, and the noise on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leafgate.errors import ReleaseError
from leafgate.json_parts import are_numbers, are_texts, list_at, object_at
from leafgate.noise import LAWS, Noise
from leafgate.release import Records
from leafgate.schema import Column, Schema
from leafgate.strict_json import is_number, refuse_unknown


def records_document(records: Records) -> dict[str, Any]:
    """The records as a release file holds them."""
    return {
        "columns": list(records.columns),
        "rows": [list(row) for row in records.rows],
        "weight": list(records.weight),
    }


def read_records(told: Any, schema: Schema, noise: Mapping[str, Noise], place: str) -> Records | None:
    """The published records, if there are any; numbers under noise may lie outside their column's bounds."""
    if told is None:
        return None
    told = object_at(told, place)
    refuse_unknown(told, ("columns", "rows", "weight"), ReleaseError, place)
    columns, rows, weight = (list_at(told, key, place) for key in ("columns", "rows", "weight"))
    if not are_texts(columns) or any(name not in schema for name in columns):
        raise ReleaseError("names a column the schema does not have", place=f"{place}.columns")
    if len(set(columns)) != len(columns) or not rows:
        raise ReleaseError("needs rows, and each column once", place=place)
    if len(rows) != len(weight) or any(not isinstance(row, list) or len(row) != len(columns) for row in rows):
        raise ReleaseError("every row needs one cell a column, and one weight", place=f"{place}.rows")
    if any(not isinstance(people, int) or isinstance(people, bool) or people < 1 for people in weight):
        raise ReleaseError("weights are whole numbers of people, 1 or more", place=f"{place}.weight")
    for number, row in enumerate(rows):
        for name, cell in zip(columns, row, strict=True):
            if name not in noise or not is_number(cell):  # noise leads out of the bounds
                _check_cell(cell, schema[name], f"{place}.rows[{number}].{name}")
    return Records(tuple(columns), tuple(tuple(row) for row in rows), tuple(weight))


def _check_cell(cell: Any, column: Column, place: str) -> None:
    if cell == {"withheld": True} or _is_value(cell, column):
        return
    if isinstance(cell, dict) and set(cell) == {"from", "to"} and column.numeric and are_numbers([*cell.values()]):
        return
    several = cell["in"] if isinstance(cell, dict) and set(cell) == {"in"} else None
    if isinstance(several, list) and several and all(_is_value(item, column) for item in several):
        return
    raise ReleaseError("is no cell, or outside the column's domain", place=place)


def _is_value(cell: Any, column: Column) -> bool:
    if cell is None:
        return column.missing
    if column.values is not None:
        return isinstance(cell, str) and cell in column.domain_set
    low, high = column.bounds or (cell, cell)
    return is_number(cell) and bool(low <= cell <= high)


def read_noise(told: Any, schema: Schema, place: str) -> dict[str, Noise]:
    """Each noisy column's law."""
    found = {}
    for name, law in object_at(told, place).items():
        law = object_at(law, f"{place}.{name}")
        refuse_unknown(law, ("law", "scale"), ReleaseError, f"{place}.{name}")
        if name not in schema or not schema[name].numeric:
            raise ReleaseError("is about no column of numbers", place=f"{place}.{name}")
        if law.get("law") not in LAWS or not is_number(law.get("scale")) or law["scale"] <= 0:
            remedy = f"`law` is one of {', '.join(LAWS)}, `scale` a number above 0"
            raise ReleaseError("is no law of noise", place=f"{place}.{name}", remedy=remedy)
        found[name] = Noise(law["law"], float(law["scale"]))
    return found
