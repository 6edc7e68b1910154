"""Tables, and values of training rows, that a model's file contains besides its model, compared with the table."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from leafgate.ir.content import HeldVector
from leafgate.kernel.large_table import LargeTable
from leafgate.kernel.release import TABLE_HELD, FileDisclosure
from leafgate.kernel.table import Table
from leafgate.models.exposure.cells import ColumnCells, column_cells
from leafgate.models.lowering.encoding import as_number

WHOLE_TABLE = f"{TABLE_HELD}: {{people}} of {{all}} people, {{columns}} column(s)"
COLUMNS = "vectors that hold the cells of {columns} column(s) of the table"
ROWS = "vectors with a value of each training row that are no column of the table: {vectors}"
VARIABLES = "variables of functions by their names and sizes: {variables}"
MAX_LISTED = 8
ROUNDING = 10
PLAIN_NAME = re.compile(r"[A-Za-z.][\w.]{0,30}")
LEAST_EQUAL = 0.5
"""A vector with the name of a column is that column if so many of its cells are."""


MANY_VALUES = 20
"""So many different values are no other column's by accident."""


def held_disclosed(
    held: Sequence[HeldVector], table: Table | LargeTable, smallest_cell: int
) -> tuple[FileDisclosure, ...]:
    """What the vectors in a file disclose of the people in a table, a whole table first.

    Args:
        held: the vectors.
        table: the people.
        smallest_cell: a text that so many people share is nobody's, and may be printed as a name.
    """
    if not held or isinstance(table, LargeTable):
        return ()
    cells = {name: each for name, each in column_cells(table, smallest_cell).items() if each is not None}
    return tuple(_disclosures(held, table, cells))


def _disclosures(
    held: Sequence[HeldVector], table: Table, cells: Mapping[str, ColumnCells]
) -> Iterator[FileDisclosure]:
    names = _Names(cells)
    found = [(vector, *_column_of(vector, cells)) for vector in held]
    by_table = defaultdict[str, list[tuple[HeldVector, str]]](list)
    for vector, column, _ in found:
        if vector.table and column:
            by_table[vector.table].append((vector, column))
    for location, columns in by_table.items():
        people = _people(columns, table)
        if people:
            shown = _rounded(people, table.total_weight)
            says = WHOLE_TABLE.format(people=shown, all=table.total_weight, columns=len({name for _, name in columns}))
            yield FileDisclosure("training_table", "high", f"{says} ({names.printed(location)})")
    equal = [
        f"{names.printed(vector.location)} is {column!r} in {_rounded(equal_cells, len(vector.cells))} of "
        f"{len(vector.cells)} cells"
        for vector, column, equal_cells in found
        if column
    ]
    if equal:
        columns_held = len({column for _, column, _ in found if column})
        yield FileDisclosure("training_rows", "high", f"{COLUMNS.format(columns=columns_held)} ({_listed(equal)})")
    others = [names.printed(vector.location) for vector, column, _ in found if vector.per_row and not column]
    if others:
        listed = _listed(list(dict.fromkeys(others)))
        yield FileDisclosure("training_rows", "high", f"{ROWS.format(vectors=len(others))} ({listed})")
    variables = [
        f"{names.printed(vector.location)}: {len(vector.cells):,} value(s)"
        for vector, column, _ in found
        if not vector.per_row and not vector.table and not column
    ]
    if variables:
        yield FileDisclosure(
            "variables",
            "medium",
            f"{VARIABLES.format(variables=len(variables))} ({_listed(list(dict.fromkeys(variables)))})",
        )


def _rounded(number: int, of_all: int) -> int:
    """The number, rounded down unless it is all, so that nobody learns of the few that are left."""
    return number if number == of_all else number // ROUNDING * ROUNDING


def _listed(items: Sequence[str]) -> str:
    more = f", and {len(items) - MAX_LISTED} more" if len(items) > MAX_LISTED else ""
    return ", ".join(items[:MAX_LISTED]) + more


class _Names:
    """Which parts of a location may be printed: names of columns, and plain words that are no cell of a few people."""

    def __init__(self, cells: Mapping[str, ColumnCells]) -> None:
        self.cells = cells

    def printed(self, location: str) -> str:
        return "$".join(part if self._is_plain(part) else "..." for part in location.split("$"))

    def _is_plain(self, part: str) -> bool:
        if part in self.cells:
            return True
        return PLAIN_NAME.fullmatch(part) is not None and not any(each.has_few(part) for each in self.cells.values())


def _column_of(vector: HeldVector, cells: Mapping[str, ColumnCells]) -> tuple[str, int]:
    """The column whose cells a vector has, and how many of its cells are; no name where it is none.

    A column of the same name needs half of them, any other one all, and many different ones where it has more cells.
    """
    name = vector.location.rpartition("$")[2]
    counted = _counts(vector)
    own = _equal(counted, cells[name]) if name in cells else 0
    if own >= LEAST_EQUAL * len(vector.cells):
        return (name, own) if own else ("", 0)
    if not (vector.table or vector.per_row) or len(counted) < 2:
        return "", 0
    size = len(vector.cells)
    for other, each in cells.items():
        same_size = int(each.counts.sum()) == size
        if (same_size or len(counted) >= MANY_VALUES) and _equal(counted, each) == size:
            return other, size
    return "", 0


def _counts(vector: HeldVector) -> pd.Series:
    """How often each cell is there, missing ones left out."""
    return pd.Series(vector.cells).dropna().value_counts()


def _equal(counted: pd.Series, column: ColumnCells) -> int:
    """How many cells a vector and a column have in common."""
    if counted.empty:
        return 0
    theirs = column.by_number if counted.index.dtype.kind == "f" else column.counts
    if counted.index.dtype.kind != "f" and not set(map(str, counted.index)) & set(map(str, theirs.index)):
        numbers = np.array([as_number(str(text)) for text in counted.index])
        counted, theirs = pd.Series(counted.to_numpy(), index=numbers).groupby(level=0).sum(), column.by_number
    both = theirs.reindex(counted.index).fillna(0).to_numpy()
    return int(np.minimum(counted.to_numpy(), both).sum())


def _people(columns: Collection[tuple[HeldVector, str]], table: Table) -> int:
    """How many people of the table have a row among these columns, by those that the table keeps."""
    kept = {name: vector for vector, name in columns if name in table.frame.columns}
    if not kept:
        return min(int(_counts(vector).sum()) for vector, _ in columns)
    mine, theirs = dict[str, pd.Series](), dict[str, pd.Series]()
    for name, vector in kept.items():
        column = table.frame[name].astype(object).map(_as_text)
        mine[name], theirs[name] = pd.Series(vector.cells).astype(object).map(_as_text), column
    names = list(kept)
    held = pd.DataFrame(mine).groupby(names, observed=True).size()
    there = pd.DataFrame(theirs).assign(people=table.weight).groupby(names, observed=True)["people"].sum()
    both = held.to_frame("held").join(there.to_frame("there"), how="inner")
    return int(both.min(axis=1).sum())


def _as_text(cell: object) -> str:
    """A cell as a text; numbers by their value."""
    if cell is None or cell != cell:
        return ""
    number = as_number(str(cell))
    return repr(number) if np.isfinite(number) else str(cell)
