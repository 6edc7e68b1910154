"""Distinct records that an engine wrote as Parquet because they may not fit into memory, read block by block."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.api.text_frames import text_column
from leafgate.io.tables.raw_records import RawRecords, text_categories
from leafgate.kernel.large_table import ScratchFolder, StoredBlock

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_RECORDS = 1_000_000
"""So many records are in main memory together."""


@dataclass(frozen=True)
class StoredRecords:
    """Cells as text, before the policy says what they mean, in blocks on disk.

    Attributes:
        texts: the different texts of each column; the numbers in the blocks are positions in these.
        blocks: the records.
        sha256: the digest of the bytes that were read; empty where there are none.
        folder: holds the blocks.
        numbered: do the blocks have the number of the first row of each record?
    """

    texts: Mapping[str, Sequence[str]]
    blocks: Sequence[StoredBlock]
    sha256: str
    folder: ScratchFolder
    numbered: bool = False

    def in_memory(self, gaps: Mapping[str, NDArray[np.bool_]] | None = None) -> RawRecords:
        """The records of all blocks; with `gaps` those that have a cell whose text is marked."""
        rows = [slice(None) if gaps is None else _any_marked(block, gaps) for block in self.blocks]
        chosen = list(zip(self.blocks, rows, strict=True))
        cells = {}
        for name, texts in self.texts.items():
            codes = [block.codes(name)[these].astype(np.int32) for block, these in chosen]
            cells[name] = text_column(np.concatenate([np.zeros(0, dtype=np.int32), *codes]), texts)
        counts = np.concatenate([np.zeros(0, dtype=np.int64), *(block.counts[these] for block, these in chosen)])
        firsts = [block.first[these] for block, these in chosen if block.first is not None]
        first = np.concatenate(firsts) if self.numbered and firsts else None
        return RawRecords(pd.DataFrame(cells), counts, first, True, self.sha256)

    def kept(self, gaps: Mapping[str, NDArray[np.bool_]]) -> StoredRecords:
        """The records without those that have a cell whose text is marked; the blocks then hold no others."""
        for block in self.blocks:
            keep = ~_any_marked(block, gaps)
            if not keep.all():
                block.keep(keep)
        used = {name: self.counts_of(name, {}) > 0 for name in self.texts}
        for block in self.blocks:
            codes = {name: (np.cumsum(used[name]) - 1)[block.codes(name)] for name in used}
            block.write(codes, block.counts, block.first)
        texts = {name: list(itertools.compress(self.texts[name], there)) for name, there in used.items()}
        return replace(self, texts=texts)

    def counts_of(self, name: str, gaps: Mapping[str, NDArray[np.bool_]]) -> NDArray[np.int64]:
        """How many rows of the data have each text of the column, without rows that have a marked text."""
        counts = np.zeros(len(self.texts[name]), dtype=np.int64)
        for block in self.blocks:
            weights = np.where(_any_marked(block, gaps), 0, block.counts)
            counts += np.bincount(block.codes(name), weights=weights, minlength=len(counts)).astype(np.int64)
        return counts

    def column(self, name: str, gaps: Mapping[str, NDArray[np.bool_]]) -> RawRecords:
        """The texts of one column, a record each, with the rows that have it, without rows that have a marked text."""
        texts = self.texts[name]
        first = np.full(len(texts), np.iinfo(np.int64).max)
        for block in self.blocks:
            if block.first is not None:
                rows = ~_any_marked(block, gaps)
                np.minimum.at(first, block.codes(name)[rows], block.first[rows])
        cells = pd.DataFrame({name: text_column(np.arange(len(texts)), texts)})
        return RawRecords(cells, self.counts_of(name, gaps), first if self.numbered else None, True)

    def gap_patterns(self, gaps: Mapping[str, NDArray[np.bool_]]) -> tuple[RawRecords, dict[str, NDArray[np.bool_]]]:
        """The different sets of columns that have a marked text, a record each, and by column which have it marked."""
        names = [name for name, texts in gaps.items() if texts.any()]
        found: dict[tuple[bool, ...], int] = {}
        for block in self.blocks:
            counts = block.counts
            which, marked = np.zeros(len(counts), dtype=np.int64), np.zeros((1, 0), dtype=np.bool_)
            for name in names:
                different, which = np.unique(2 * which + gaps[name][block.codes(name)], return_inverse=True)
                marked = np.column_stack([marked[different // 2], different % 2 == 1])
            rows = np.bincount(which, weights=counts, minlength=len(marked)).astype(np.int64)
            for pattern, its in zip(map(tuple, marked.tolist()), rows.tolist(), strict=True):
                found[pattern] = found.get(pattern, 0) + its
        patterns = np.array([*found], dtype=np.bool_).reshape(len(found), len(names))
        nowhere = np.zeros(len(found), dtype=np.bool_)
        by_column = {name: patterns[:, names.index(name)] if name in names else nowhere for name in gaps}
        return RawRecords(pd.DataFrame(index=range(len(found))), np.array([*found.values()]), None, True), by_column

    @property
    def records(self) -> int:
        """How many there are."""
        return sum(len(block) for block in self.blocks)


def _any_marked(block: StoredBlock, gaps: Mapping[str, NDArray[np.bool_]]) -> NDArray[np.bool_]:
    marked = np.zeros(len(block.counts), dtype=np.bool_)
    for name, texts in gaps.items():
        if texts.any():
            marked |= texts[block.codes(name)]
    return marked


def store_records(
    path: Path,
    columns: Mapping[str, str],
    types: Mapping[str, pa.DataType],
    place: str,
    sha256: str,
    folder: ScratchFolder,
) -> StoredRecords:
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
    return StoredRecords(texts_of, blocks, sha256, folder, numbered)
