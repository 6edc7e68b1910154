"""The table itself as a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leafgate.errors import PolicyError
from leafgate.release import Release
from leafgate.schema import Column
from leafgate.table import Table
from leafgate_tables.records import Told, records_of

if TYPE_CHECKING:
    from leafgate_tables import PublishedTable


def build(options: PublishedTable, table: Table) -> Release:
    """The release that is the table's chosen columns; PolicyError for a column it does not have."""
    wanted = options.columns or tuple(column.name for column in table.schema.columns)
    for i, name in enumerate(wanted):
        if name not in table.schema or wanted.index(name) < i:
            remedy = "name each column of the policy once; dropped ones are not in the table"
            raise PolicyError("no such column, or named twice", place=f"build.columns[{i}]", remedy=remedy)
    told = [_told(table, table.schema[name]) for name in wanted]
    return Release(
        builder=options.described(), schema=table.schema, model="none", records=records_of(told, table.weight)
    )


def _told(table: Table, column: Column) -> Told:
    if column.values is not None:
        return Told(column, column.domain, table.codes(column.name))
    numbers, which = np.unique(table.numbers(column.name), return_inverse=True)
    cells = [None if np.isnan(number) else float(number) for number in numbers]
    return Told(column, cells, which.reshape(-1).astype(np.int64))
