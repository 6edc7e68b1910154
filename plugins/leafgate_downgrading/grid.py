"""Grid: a published table as small whole numbers, with a mark where a cell is withheld."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Rows = NDArray[np.int64]
Shares = NDArray[np.float64]
Mask = NDArray[np.bool_]

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
    weight: Shares

    @cached_property
    def start(self) -> Codes:
        """Where each column's values begin when those of all columns are numbered through; the last is the total."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    def values_of(self, column: int) -> slice:
        """One column's values among all that are numbered through."""
        return slice(int(self.start[column]), int(self.start[column + 1]))

    def showing(self, codes: Codes) -> Grid:
        """The same table with other cells to be seen."""
        return replace(self, codes=codes)


def indicators(codes: Codes, grid: Grid) -> Shares:
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
