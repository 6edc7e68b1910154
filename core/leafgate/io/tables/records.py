"""Cells as text, before the policy says what they mean: each text of a column once, and records as numbers of texts."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.api.text_frames import text_column
from leafgate.errors import DataError
from leafgate.kernel.large_table import ScratchFolder, StoredBlock

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_RECORDS = 1_000_000
"""So many of the records on disk are in main memory together."""

NOTHING = np.zeros(0, dtype=np.uint8)

Marks = Mapping[str, NDArray[np.bool_]]
"""By the name of a column which of its texts are meant."""
Rows = Sequence[NDArray[np.bool_]]
"""For each block which of its records are meant."""


@dataclass(frozen=True, eq=False)
class MemoryBlock:
    """Records in main memory, as a StoredBlock has them on disk.

    Attributes:
        cells: for each column the number of each record's cell among the texts of the column.
        size: how many records there are.
        rows: shape (size,), how many rows of the data each is; None where each is one row.
        numbers: shape (size,), the number of the first of these, from 1; None where the rows are not numbered, or each
            record is one, in their order.
    """

    cells: Mapping[str, NDArray[np.integer[Any]]]
    size: int
    rows: NDArray[np.int64] | None = None
    numbers: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return self.size

    def codes(self, name: str) -> NDArray[np.integer[Any]]:
        """The number of each record's cell among the texts of the column."""
        return self.cells[name]

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many rows of the data each record is."""
        return np.ones(self.size, dtype=np.int64) if self.rows is None else self.rows

    @property
    def first(self) -> NDArray[np.int64] | None:
        """The number of the first row of each record; None where rows are not numbered."""
        return np.arange(1, self.size + 1) if self.rows is None and self.numbers is None else self.numbers


@dataclass(frozen=True, eq=False)
class Records:
    """Cells as text, before the policy states what they mean, in main memory or, where they are very many, on disk.

    Attributes:
        texts: the different texts of each column; the numbers in the blocks are positions in these.
        blocks: the records: a row of the data each, or the distinct ones. Those in main memory are one block.
        by_engine: did an engine count them? Columns that the policy drops are then not among them.
        sha256: the digest of the bytes that were read; empty where there are none.
        commented: lines that were left out as comments, as wide as the table.
        folder: holds the blocks; None where they are in main memory.
    """

    texts: Mapping[str, Sequence[str]]
    blocks: Sequence[MemoryBlock | StoredBlock]
    by_engine: bool = False
    sha256: str = ""
    commented: int = 0
    folder: ScratchFolder | None = None

    @classmethod
    def of(
        cls,
        cells: pd.DataFrame,
        rows: NDArray[np.int64] | None = None,
        numbers: NDArray[np.int64] | None = None,
        *,
        by_engine: bool = False,
        sha256: str = "",
        commented: int = 0,
    ) -> Records:
        """Records in main memory, of a categorical of texts for each column; `rows` and `numbers` as of a block."""
        columns = {str(name): _without_unused(cells[name]).cat for name in cells}
        texts = {name: column.categories.tolist() for name, column in columns.items()}
        codes = {name: column.codes.to_numpy() for name, column in columns.items()}
        return cls(texts, [MemoryBlock(codes, len(cells), rows, numbers)], by_engine, sha256, commented)

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    @property
    def stored(self) -> list[StoredBlock]:
        """The blocks on disk."""
        return [block for block in self.blocks if isinstance(block, StoredBlock)]

    @property
    def loaded(self) -> MemoryBlock | StoredBlock:
        """The records that are in main memory."""
        (block,) = self.blocks
        return block

    def marked(self, marks: Marks) -> Rows:
        """The records that have a cell whose text is marked."""
        found = [np.zeros(len(block), dtype=np.bool_) for block in self.blocks]
        for name, texts in marks.items():
            for block, rows in zip(self.blocks if texts.any() else (), found, strict=False):
                rows |= texts[block.codes(name)]
        return found

    def rows_among(self, rows: Rows) -> int:
        """How many rows of the data these records are."""
        return sum(int(block.counts[chosen].sum()) for block, chosen in zip(self.blocks, rows, strict=True))

    def rows_of_texts(self, name: str, among: Rows | None = None) -> NDArray[np.int64]:
        """How many rows of the data have each text of a column; if records are named, of these alone."""
        counts = np.zeros(len(self.texts[name]), dtype=np.int64)
        for block, chosen in self._chosen(among):
            codes, rows = block.codes(name)[chosen], block.counts[chosen]
            counts += np.bincount(codes, weights=rows, minlength=len(counts)).astype(np.int64)
        return counts

    def first_row(self, name: str, texts: NDArray[np.bool_], among: Rows | None = None) -> int | None:
        """The number of the first row that has a marked text; None where rows are not numbered."""
        found: list[int] = []
        for block, chosen in self._chosen(among):
            first = block.first
            if first is None:
                return None
            found += first[chosen][texts[block.codes(name)[chosen]]].tolist()
        return min(found)

    def _chosen(self, among: Rows | None) -> Iterator[tuple[MemoryBlock | StoredBlock, Any]]:
        return zip(self.blocks, itertools.repeat(slice(None)) if among is None else among, strict=False)

    def expanded(self) -> Records:
        """The records of main memory, one for each row of the data."""
        block = self.loaded
        where = np.repeat(np.arange(len(block)), block.counts)
        cells = {name: block.codes(name)[where] for name in self.texts}
        numbers = None if block.first is None else block.first[where]
        return replace(self, blocks=[MemoryBlock(cells, len(where), None, numbers)])

    def in_memory(self, among: Rows | None = None) -> Records:
        """The records, or some of them, in main memory; their cells are numbers of the same texts."""
        if self.folder is None and (among is None or among[0].all()):
            return self

        def joined(part: Callable[[MemoryBlock | StoredBlock], NDArray[Any]]) -> NDArray[Any]:
            return np.concatenate([NOTHING, *(part(block)[rows] for block, rows in self._chosen(among))])

        cells = {name: joined(operator.methodcaller("codes", name)) for name in self.texts}
        counts = joined(operator.attrgetter("counts")).astype(np.int64)
        numbered = among is None and all(block.first is not None for block in self.blocks)
        first = joined(operator.attrgetter("first")).astype(np.int64) if numbered else None
        return replace(self, blocks=[MemoryBlock(cells, len(counts), counts, first)], folder=None)

    def kept(self, rows: Rows) -> tuple[Records, Marks]:
        """Some of the records, which their files then hold alone, and the texts that occur among these."""
        used = {name: self.rows_of_texts(name, rows) > 0 for name in self.texts}
        for block, chosen in zip(self.stored, rows, strict=True):
            codes = {name: (np.cumsum(used[name]) - 1)[block.codes(name)[chosen]] for name in used}
            block.write(codes, block.counts[chosen])
        texts = {name: list(itertools.compress(self.texts[name], there)) for name, there in used.items()}
        return replace(self, texts=texts), used


def _without_unused(column: pd.Series) -> pd.Series:
    """The categorical with no other categories than those that occur; itself where all do."""
    counts = np.bincount(column.cat.codes, minlength=len(column.cat.categories))
    return column if counts.all() else column.cat.remove_unused_categories()


def text_cells(column: pa.ChunkedArray, type_: pa.DataType | None, place: str) -> pd.Series:
    """A column as a categorical of texts; `type_` and errors are as those of `text_categories`."""
    return text_column(*text_categories(column, type_, place))


def text_categories(
    column: pa.ChunkedArray, type_: pa.DataType | None, place: str
) -> tuple[NDArray[np.int32], list[str]]:
    """The texts of a column, of this type if one is given, and the number of each cell's; a null is the empty text.

    Raises DataError where the column does not hold plain values.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        if type_ is not None:
            column = column.cast(type_)
        if not pa.types.is_dictionary(column.type):
            plain = pa.types.is_primitive(column.type) or pa.types.is_decimal(column.type)
            column = pc.dictionary_encode(column if plain else column.cast(pa.large_string()))
        encoded = column.unify_dictionaries()
        parts = [chunk.indices.cast(pa.int32()).fill_null(-1).to_numpy() for chunk in encoded.chunks]
        values = encoded.chunk(0).dictionary.cast(pa.string()).to_pylist() if parts else []
    except pa.ArrowException:
        raise DataError("does not hold plain values", place=place) from None
    codes = np.concatenate([np.zeros(0, dtype=np.int32), *parts])
    codes[codes < 0] = len(values)
    used = np.bincount(codes, minlength=len(values) + 1) > 0
    numbers: dict[str, int] = {}
    positions = [
        numbers.setdefault(text or "", len(numbers)) if there else -1
        for text, there in zip([*values, None], used, strict=True)
    ]
    return np.array(positions, dtype=np.int32)[codes], list(numbers)


def store_records(
    path: Path,
    columns: Mapping[str, str],
    types: Mapping[str, pa.DataType],
    place: str,
    sha256: str,
    folder: ScratchFolder,
) -> Records:
    """The records of a Parquet file in blocks, which are written into the folder; the file is deleted.

    Args:
        path: the file. Its column `rows` has how many rows each record is, `first`, if there is one, the number of the
            first of these.
        columns: the name in the file of each column of the data.
        types: of columns whose types the engine changed.
        place: what errors call the data.
        sha256: the digest of the bytes of the data.
        folder: where the blocks go.

    Raises DataError where a column does not hold plain values.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    numbers: dict[str, dict[str, int]] = {name: {} for name in columns}
    positions = {name: i for i, name in enumerate(columns)}
    blocks = []
    with pq.ParquetFile(path) as file:
        numbered = "first" in file.schema_arrow.names
        for number, batch in enumerate(file.iter_batches(BLOCK_RECORDS)):
            codes = {}
            for name, stored in columns.items():
                column = pa.chunked_array([batch.column(stored)])
                of_batch, texts = text_categories(column, types.get(name), f"{place}, column {name!r}")
                known = numbers[name]
                codes[name] = np.array([known.setdefault(text, len(known)) for text in texts])[of_batch]
            block = StoredBlock(folder.path, str(number), positions)
            first = batch.column("first").to_numpy().astype(np.int64) if numbered else None
            block.write(codes, batch.column("rows").to_numpy().astype(np.int64), first)
            blocks.append(block)
    path.unlink()
    texts_of = {name: list(known) for name, known in numbers.items()}
    return Records(texts_of, blocks, True, sha256, folder=folder)
