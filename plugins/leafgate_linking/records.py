"""Published records: which of them could be a given person's, by the public cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.release import Records
from leafgate.schema import Column, Schema
from leafgate.table import Table

Mask = NDArray[np.bool_]
Ids = NDArray[np.int64]


def matches(records: Records, public: Table, schema: Schema) -> tuple[Ids, list[Ids]]:
    """For each public row the number of its set of matching records, and those sets.

    A record matches a person when every public cell agrees: is equal, lies in the set or the range
    (both ends included), or is withheld.
    """
    shown = [(i, schema[name]) for i, name in enumerate(records.columns) if schema[name].public]
    told = [tuple(_frozen(row[i]) for i, _ in shown) for row in records.rows]
    kinds = list(dict.fromkeys(told))
    fits = np.stack([_fits(kind, [column for _, column in shown], public) for kind in kinds], axis=1)
    packed = np.packbits(fits, axis=1)
    _, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    kind_of = np.array([kinds.index(kind) for kind in told])
    return which.reshape(-1), [np.flatnonzero(fits[row][kind_of]) for row in first]


def _frozen(cell: Any) -> Any:
    """A cell as a value that can be compared: records differ in few ways."""
    if isinstance(cell, dict):
        return tuple((key, tuple(told) if isinstance(told, list) else told) for key, told in sorted(cell.items()))
    return cell


def _fits(kind: tuple[Any, ...], columns: list[Column], public: Table) -> Mask:
    fits = np.ones(len(public), dtype=bool)
    for cell, column in zip(kind, columns, strict=True):
        fits &= _cell_fits(cell, column, public)
    return fits


def _cell_fits(cell: Any, column: Column, public: Table) -> Mask:
    told = dict(cell) if isinstance(cell, tuple) else {"in": [cell]}
    if "withheld" in told:
        return np.ones(len(public), dtype=bool)
    if column.numeric:
        numbers = public.numbers(column.name)
        if "from" in told:
            return (numbers >= told["from"]) & (numbers <= told["to"])
        return np.isnan(numbers) if cell is None else numbers == cell
    member = np.array([value in told["in"] for value in column.domain])
    return member[public.codes(column.name)]


def told_of(records: Records, column: Column, rows: Ids, prior: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The shares of a secret among some records, over its domain; None if they do not show it.

    Withheld and generalised cells are spread over what they can be, in the prior's proportions.
    """
    if column.name not in records.columns or not len(rows):
        return None
    place = records.columns.index(column.name)
    shares = np.zeros(len(column.domain))
    for row in rows.tolist():
        cell = records.rows[row][place]
        can_be = column.domain if cell == {"withheld": True} else cell["in"] if isinstance(cell, dict) else [cell]
        possible = np.array([value in can_be for value in column.domain]) * prior
        total = possible.sum()
        shares += records.weight[row] * (possible / total if total > 0 else prior)
    return np.asarray(shares / shares.sum())
