"""What the miner sees: the noisy columns of the published records, and what is known of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leafgate.errors import InconclusiveError
from leafgate.types.arrays import Floats, Ids
from leafgate.types.noise import Noise
from leafgate.types.release import Records, Release
from leafgate.types.schema import Column, Schema


@dataclass(frozen=True)
class Shared:
    """Shared numbers (a row a record, a column each of `columns`; NaN where missing) and the people of each record.

    `noise` is the law on each column. `records` is the whole of what is published.
    """

    columns: tuple[Column, ...]
    numbers: Floats
    weight: Floats
    noise: tuple[Noise, ...]
    records: Records

    @property
    def targets(self) -> tuple[tuple[int, Column, Sequence[float]], ...]:
        """The secrets among the columns: the place, the column and its bins."""
        found = ((i, column, column.bins) for i, column in enumerate(self.columns) if "sensitive" in column.roles)
        return tuple((i, column, bins) for i, column, bins in found if bins is not None)

    @property
    def scales(self) -> Floats:
        """The standard deviation of each column's noise."""
        return np.sqrt([noise.variance for noise in self.noise])


def shared_of(release: Release, schema: Schema) -> Shared:
    """The noisy columns that show any number; InconclusiveError where no secret number is among them."""
    records = release.records
    if records is None:
        raise InconclusiveError("no records are published that could be reconstructed")
    shown = [(schema[n], _numbers(records, i)) for i, n in enumerate(records.columns) if n in release.noise]
    items = [(column, numbers) for column, numbers in shown if column.numeric and not np.isnan(numbers).all()]
    shared = Shared(
        tuple(column for column, _ in items),
        np.column_stack([numbers for _, numbers in items]) if items else np.zeros((len(records.rows), 0)),
        np.array(records.weight, dtype=np.float64),
        tuple(release.noise[column.name] for column, _ in items),
        records,
    )
    if not shared.targets:
        raise InconclusiveError(
            "the records show no secret number with noise on it, so there is nothing to reconstruct",
            remedy="give such a column the role `sensitive` and `bins`",
        )
    return shared


def _numbers(records: Records, place: int) -> Floats:
    cells = (row[place] for row in records.rows)
    return np.array([cell if _is_number(cell) else np.nan for cell in cells], dtype=np.float64)


def _is_number(cell: Any) -> bool:
    return isinstance(cell, int | float)


def classes_of(shared: Shared, schema: Schema) -> Ids:
    """The number of each record's class where that is published in the clear; else all are of one."""
    names = [column.name for column in schema.having("class") if column.name in shared.records.columns]
    if not names:
        return np.zeros(len(shared.numbers), dtype=np.int64)
    place = shared.records.columns.index(names[0])
    cells = [repr(row[place]) for row in shared.records.rows]
    return np.unique(cells, return_inverse=True)[1].astype(np.int64)
