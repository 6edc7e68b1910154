"""LargeTable: a table whose distinct records do not fit into memory, in blocks that are read when they are used."""

from __future__ import annotations

import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leafgate.errors import InconclusiveError
from leafgate.kernel.schema import Schema, bin_of
from leafgate.kernel.table import Table, TableFacts, cells_of
from leafgate.lazy_loading import lazy

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray
else:
    np, pd = lazy("numpy"), lazy("pandas")


class ScratchFolder:
    """A temporary folder for its owner only, deleted with this object or, at the latest, when the process ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="leafgate-records-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True)
class StoredBlock:
    """Some records in a folder, a file for each column.

    Attributes:
        folder: where the files are.
        name: of the block; the names of its files begin with it.
        columns: the position of each column, in the names of the files.
    """

    folder: Path
    name: str
    columns: Mapping[str, int]

    def __len__(self) -> int:
        """How many records there are."""
        return len(self.counts)

    def _file(self, position: int | str) -> Path:
        return self.folder / f"{self.name}-{position}.npy"

    def codes(self, name: str) -> NDArray[np.unsignedinteger[Any]]:
        """The number of each record's cell among the values of the column."""
        result: NDArray[np.unsignedinteger[Any]] = np.load(self._file(self.columns[name]))
        return result

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many rows of the data each record is."""
        return np.asarray(np.load(self._file("counts")), dtype=np.int64)

    @property
    def first(self) -> NDArray[np.int64] | None:
        """The number of the first row of each record; None where rows are not numbered."""
        return np.load(self._file("first")) if self._file("first").exists() else None

    def write(
        self,
        codes: Mapping[str, NDArray[np.integer[Any]]],
        counts: NDArray[np.int64],
        first: NDArray[np.int64] | None = None,
    ) -> None:
        """Write the records in the smallest integers that hold them; InconclusiveError where there is no room."""
        try:
            for name, column in codes.items():
                np.save(self._file(self.columns[name]), smallest_integers(column))
            np.save(self._file("counts"), smallest_integers(counts))
            if first is not None:
                np.save(self._file("first"), first)
        except OSError:
            message, remedy = "the temporary folder cannot hold the distinct records", "let TMPDIR name one with room"
            raise InconclusiveError(message, place=str(self.folder.parent), remedy=remedy) from None

    def delete(self) -> None:
        """Delete the files."""
        names: list[int | str] = [*self.columns.values(), "counts", "first"]
        for name in names:
            self._file(name).unlink(missing_ok=True)


def smallest_integers(numbers: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
    """These whole numbers, none below 0, in the smallest type that holds them."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


@dataclass(frozen=True)
class LargeTable(TableFacts):
    """A multiset of people whose distinct records are stored in blocks, outside of main memory.

    Every row of the data is one person; no column is a key, and no cell is protected by itself.

    Attributes:
        schema: the columns.
        blocks: the records. Different blocks may hold equal records where several texts mean one value.
        values: for each column, what the numbers in the blocks stand for: numbers, or positions in the domain, -1 for a
            missing cell.
        total_weight: how many people there are.
        distinct: how many distinct records; None where different records of the blocks may be equal.
        folder: the folder with the blocks.
        most_records: so many records may be loaded into memory together.
    """

    schema: Schema
    blocks: Sequence[StoredBlock]
    values: Mapping[str, NDArray[Any]]
    total_weight: int
    distinct: int | None
    folder: ScratchFolder | None = field(default=None, repr=False, compare=False, kw_only=True)
    most_records: int = field(default=sys.maxsize, kw_only=True)

    @property
    def facts(self) -> dict[str, Any]:
        """What is known besides the records, to be stated of another table of these people."""
        return {each.name: getattr(self, each.name) for each in fields(TableFacts)}

    def people_among(self) -> int:
        """How many people there are, as limits count them."""
        return self.total_weight

    def extremes(self, name: str) -> tuple[float, float]:
        """The lowest and the highest number in a column."""
        return float(np.nanmin(self.values[name])), float(np.nanmax(self.values[name]))

    def tables(self) -> Iterator[Table]:
        """Each block that has records as a Table, in which they are not sorted."""
        for block in filter(len, self.blocks):
            cells = {column.name: self.cells(column.name, block.codes(column.name)) for column in self.schema.columns}
            yield Table(self.schema, pd.DataFrame(cells), block.counts)

    def cells(self, name: str, codes: NDArray[np.integer[Any]]) -> pd.Series:
        """The cells of a column that these numbers stand for in the blocks."""
        return cells_of(self.schema[name], self.values[name][codes])

    def class_counts(self) -> NDArray[np.int64]:
        """People by class, in the order of the schema's classes."""
        name, size = self.schema.target.name, len(self.schema.classes)
        counts = np.zeros(size, dtype=np.int64)
        of_cell, edges = self.values[name], self.schema.target.edges
        of_cell = of_cell if edges is None else bin_of(of_cell, edges)
        for block in self.blocks:
            codes = of_cell[block.codes(name)]
            counts += np.bincount(codes, weights=block.counts, minlength=size).astype(np.int64)
        return counts

    @property
    def without_rows(self) -> Table:
        """The table of nobody, with the same columns."""
        nothing = np.zeros(0, dtype=np.int64)
        cells = {column.name: self.cells(column.name, nothing) for column in self.schema.columns}
        return Table(self.schema, pd.DataFrame(cells), nothing)
