"""Cells of published records: numbered, and held against the values they could mean."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.bins import bin_of, bins_between
from leafgate.release import Records
from leafgate.schema import Column

Mask = NDArray[np.bool_]
Ids = NDArray[np.int64]
Floats = NDArray[np.float64]


def numbered(records: Records, place: int) -> tuple[Ids, list[Any]]:
    """One column's cells: each record's as a number, and what the numbers mean."""
    cells = [row[place] for row in records.rows]
    if dict in set(map(type, cells)):
        cells = [_frozen(cell) for cell in cells]
    distinct = list(dict.fromkeys(cells))
    number = {cell: i for i, cell in enumerate(distinct)}
    return np.fromiter(map(number.__getitem__, cells), dtype=np.int64, count=len(cells)), distinct


def _frozen(cell: Any) -> Any:
    """A cell as a value that can be compared: records differ in few ways."""
    if isinstance(cell, dict):
        return tuple((key, tuple(told) if isinstance(told, list) else told) for key, told in sorted(cell.items()))
    return cell


def fits_value(cell: Any, value: Any) -> bool:
    told = dict(cell) if isinstance(cell, tuple) else {"in": [cell]}
    return "withheld" in told or value in told["in"]


def fits_domain(cell: Any, column: Column) -> Mask:
    """Which values of the column, or bins of its numbers, a cell can mean."""
    if column.bins is None:
        return np.array([fits_value(cell, value) for value in column.domain])
    told: dict[str, Any] = dict(cell) if isinstance(cell, tuple) else {"in": [cell]}
    if "withheld" in told:
        return np.ones(len(column.domain), dtype=bool)
    if "from" in told:
        return bins_between(column.bins, told["from"], told["to"])
    mine = bin_of(np.array(told["in"], dtype=np.float64), column.bins)
    return np.isin(np.arange(len(column.domain)), mine)


def fits_numbers(cell: Any, numbers: Floats) -> Mask:
    told = dict(cell) if isinstance(cell, tuple) else {"in": [cell]}
    if "withheld" in told:
        return np.ones(len(numbers), dtype=bool)
    if "from" in told:
        return (numbers >= told["from"]) & (numbers <= told["to"])
    fits = np.isin(numbers, [number for number in told["in"] if number is not None])
    return fits | (np.isnan(numbers) if None in told["in"] else False)
