"""Grid: a published table as integer codes, with a code for withheld cells."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.api import Codes, Column, Floats, Mask, Records, Schema, Table, bin_of
from leafgate.kernel.arrays import Rows

HIDDEN = -1
"""The code of a cell that cannot be seen."""


@dataclass(frozen=True)
class Grid:
    """What Low sees of a table.

    `codes` has a row a record and a column a column: the position of each cell in its column's domain,
    HIDDEN where it is withheld; `sizes` says how long the domains are, `ordered` which of them are
    numbers cut into ranges; `weight` how many people share each record.
    """

    codes: Codes
    sizes: tuple[int, ...]
    ordered: tuple[bool, ...]
    weight: Floats

    @cached_property
    def start(self) -> Codes:
        """Where each column's values begin when those of all columns are numbered through; the last is the total."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    def values_of(self, column: int) -> slice:
        """One column's values among all that are numbered through."""
        return slice(int(self.start[column]), int(self.start[column + 1]))

    def with_codes(self, codes: Codes) -> Grid:
        """The table with other codes, in which other cells may be hidden."""
        return replace(self, codes=codes)


def indicators(codes: Codes, grid: Grid) -> Floats:
    """For each record and value of any column 1 where the cell shows it, else 0; hidden cells show nothing."""
    shown = np.zeros((len(codes), int(grid.start[-1])))
    row, column = np.nonzero(codes != HIDDEN)
    shown[row, grid.start[column] + codes[row, column]] = 1.0
    return shown


def hidden_by_column(codes: Codes, wanted: Collection[int] | None = None) -> Iterator[tuple[int, Rows]]:
    """Each column (of those `wanted`) that some record hides, and the records that do."""
    for column in range(codes.shape[1]) if wanted is None else sorted(wanted):
        rows = np.flatnonzero(codes[:, column] == HIDDEN)
        if len(rows):
            yield column, rows


N_RANGES = 10
"""Into so many ranges numbers are cut, at quantiles of those that can be seen."""

WITHHELD = {"withheld": True}


@dataclass(frozen=True)
class Cells:
    """Typed cells: for each column positions in its domain or, if it is numeric, the numbers."""

    columns: tuple[Column, ...]
    cells: tuple[NDArray[Any], ...]
    weight: Floats

    def select(self, rows: Rows) -> Cells:
        """The records in these rows, in their order; a row may stand several times."""
        return Cells(self.columns, tuple(column[rows] for column in self.cells), self.weight[rows])


def table_cells(table: Table) -> Cells:
    """The cells of a table without key."""
    columns = table.schema.columns
    cells = (table.numbers(c.name) if c.numeric else table.codes(c.name) for c in columns)
    return Cells(columns, tuple(cells), table.weight.astype(np.float64))


def read_cells(records: Records, schema: Schema) -> tuple[Cells, Mask]:
    """The cells of published records, and which cannot be read as one value: withheld, or generalised."""
    columns = tuple(schema[name] for name in records.columns)
    items = [[row[place] for row in records.rows] for place in range(len(columns))]
    hidden = np.array([[isinstance(cell, dict) for cell in column] for column in items]).T
    cells = tuple(_typed(column, some) for column, some in zip(columns, items, strict=True))
    return Cells(columns, cells, np.array(records.weight, dtype=np.float64)), hidden


def _typed(column: Column, items: Sequence[Any]) -> NDArray[Any]:
    if column.numeric:
        low = np.nan if column.bins is None else column.bins[0]
        return np.array([low if cell is None or isinstance(cell, dict) else cell for cell in items], dtype=float)
    place = {value: i for i, value in enumerate(column.domain)}
    return np.array([0 if isinstance(cell, dict) else place[cell] for cell in items], dtype=np.int64)


def secret_cells(table: Table) -> Mask:
    """The secret cells of a table: all of its sensitive columns, and those that the policy protects."""
    marks = np.zeros((len(table), len(table.schema.columns)), dtype=np.bool_)
    for place, column in enumerate(table.schema.columns):
        marks[:, place] = True if "sensitive" in column.roles else table.protected.get(column.name, False)
    return marks


def encode_cells(cells: Cells, hidden: Mask) -> tuple[Grid, Codes]:
    """What can be seen as a Grid, and the codes of all cells, whether hidden or not.

    Numbers without bins are cut at quantiles of the visible ones, so that nothing hidden shows in the cuts.
    """
    return encode_with_ranges(quantile_ranges(cells, hidden), cells, hidden)


def quantile_ranges(cells: Cells, hidden: Mask) -> tuple[Floats | None, ...]:
    """Where the ranges of each column of numbers without bins end; None for other columns."""
    return tuple(
        None if column.countable else _edges(some, cells.weight, ~hidden[:, place])
        for place, (column, some) in enumerate(zip(cells.columns, cells.cells, strict=True))
    )


def encode_with_ranges(edges: Sequence[Floats | None], cells: Cells, hidden: Mask) -> tuple[Grid, Codes]:
    """The visible cells as a Grid, and the codes of all cells, where the ranges of numbers end at `edges`.

    A missing number has a code of its own, below all others.
    """
    codes = np.empty(hidden.shape, dtype=np.int64)
    sizes = []
    for place, (column, some, ends) in enumerate(zip(cells.columns, cells.cells, edges, strict=True)):
        if ends is None:
            codes[:, place] = some if column.bins is None else bin_of(some, column.bins)
            sizes.append(len(column.domain))
        else:
            first = int(column.missing)
            codes[:, place] = np.where(np.isnan(some), 0, np.searchsorted(ends, some) + first)
            sizes.append(len(ends) + 1 + first)
    ordered = tuple(column.numeric for column in cells.columns)
    return Grid(np.where(hidden, HIDDEN, codes), tuple(sizes), ordered, cells.weight), codes


def _edges(numbers: Floats, weight: Floats, visible: Mask) -> Floats:
    """Where the ranges end: quantiles, but for the highest number."""
    seen = visible & ~np.isnan(numbers)
    if not seen.any():
        return np.zeros(0)
    wanted = np.arange(1, N_RANGES) / N_RANGES
    edges = np.unique(np.quantile(numbers[seen], wanted, weights=weight[seen], method="inverted_cdf"))
    return np.asarray(edges[edges < numbers[seen].max()])
