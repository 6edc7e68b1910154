"""Keyed digests of the people of a table, the same whatever they were read from."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.io.json import canonical
from leafgate.kernel.large_table import LargeTable, ScratchFolder, StoredBlock
from leafgate.kernel.table import Table

PART_RECORDS = 2_000_000
"""About so many records of a large table are sorted together."""
SAMPLED_RECORDS = 1000
"""So many records of each block say where the parts begin."""
MAX_WORD = 2**62
"""A word of several codes is smaller than this."""


def digest_records(table: Table | LargeTable, key: bytes) -> str:
    """HMAC-SHA256 of the people of a table: the same for the same people in any order, from any file or engine.

    It covers the names of the columns, every record, and how many people share it; the order of the columns and of
    their values does not matter. The records of a LargeTable are sorted in parts, in a temporary folder.
    """
    names = sorted(column.name for column in table.schema.columns)
    if isinstance(table, LargeTable):
        ordered = _SortedBlocks(table, names)
        values, numbers, count_columns = ordered.values, ordered.numbers(), 1
    else:
        values, codes = zip(*(_values_and_codes(table.frame[name]) for name in names), strict=True)
        counts = [table.weight, *([] if table.rows is None else [table.rows])]
        order = np.lexsort([*reversed(codes)])
        numbers, count_columns = (each[order] for each in (*codes, *counts)), len(counts)
    result = hmac.new(key, canonical([names, *values, count_columns]), hashlib.sha256)
    for part in numbers:
        result.update(part.astype("<i8").tobytes())
    return result.hexdigest()


def _values_and_codes(cells: pd.Series) -> tuple[list[Any], NDArray[np.int64]]:
    """The values that occur, sorted, and the position of every cell's; -1 where it is missing."""
    numeric = pd.api.types.is_numeric_dtype(cells)
    codes, values = pd.factorize(cells + 0.0 if numeric else cells.astype(object), sort=True)
    return [float(value) if numeric else str(value) for value in values], codes.astype(np.int64)


@dataclass(eq=False)
class _SortedBlocks:
    """The distinct records of a large table in the order of their codes.

    A record is kept as a few words, whole numbers that hold the codes of several columns each, and its people.

    Attributes:
        large: the table.
        names: its columns, in the order in which records are compared.
    """

    large: LargeTable
    names: Sequence[str]

    @cached_property
    def _columns(self) -> list[tuple[list[Any], NDArray[np.int64]]]:
        """For each column the values that occur, sorted, and the position among them of each number in the blocks."""
        result = []
        for name in self.names:
            occurs = np.zeros(len(self.large.values[name]), dtype=np.bool_)
            for block in self.large.blocks:
                occurs[block.codes(name)] = True
            values, codes = _values_and_codes(self.large.cells(name, np.flatnonzero(occurs)))
            position = np.zeros(len(occurs), dtype=np.int64)
            position[occurs] = codes
            result.append((values, position))
        return result

    @property
    def values(self) -> list[list[Any]]:
        """The values of each column that occur, sorted."""
        return [values for values, _ in self._columns]

    @cached_property
    def _places(self) -> list[tuple[int, int, int]]:
        """For each column the word that has its code, what it is multiplied by there, and how many codes there are."""
        sizes = [len(values) + 1 for values in self.values]  # one more for a missing cell
        words, product = [0], 1
        for size in sizes:
            product *= size
            if product > MAX_WORD:
                words.append(words[-1] + 1)
                product = size
            else:
                words.append(words[-1])
        del words[0]
        factors = [math.prod(sizes[i + 1 : bisect_right(words, word)]) for i, word in enumerate(words)]
        return list(zip(words, factors, sizes, strict=True))

    def numbers(self) -> Iterator[NDArray[np.int64]]:
        """The code of each record in the first column, part by part, then in the next; last the people of each."""
        folder = ScratchFolder()
        parts = [*self._sorted_parts(folder)]
        for word, factor, size in self._places:
            for part in parts:
                yield part.codes(str(word)).astype(np.int64) // factor % size - 1
        for part in parts:
            yield part.counts

    def _words(self, block: StoredBlock) -> list[NDArray[np.int64]]:
        words = [np.zeros(len(block), dtype=np.int64) for _ in range(self._places[-1][0] + 1)]
        for name, (_, position), (word, factor, _) in zip(self.names, self._columns, self._places, strict=True):
            words[word] += (position[block.codes(name)] + 1) * factor
        return words

    def _sorted_parts(self, folder: ScratchFolder) -> Iterator[StoredBlock]:
        """The distinct records by their words, in blocks that follow each other in their order."""
        columns = {str(word): word for word in range(self._places[-1][0] + 1)}
        ends = self._ends()
        pieces: list[list[StoredBlock]] = [[] for _ in range(len(ends) + 1)]
        for block in self.large.blocks:
            words, counts = self._words(block), block.counts
            part = np.searchsorted(ends, words[0], side="right")
            order = np.argsort(part, kind="stable")
            limits = np.searchsorted(part[order], np.arange(len(pieces) + 1))
            for number, rows in enumerate(itertools.starmap(slice, itertools.pairwise(limits))):
                if rows.start < rows.stop:
                    piece = StoredBlock(folder.path, f"{number}-{block.name}", columns)
                    piece.write(_named(words, order[rows]), counts[order[rows]])
                    pieces[number].append(piece)
        for number, its in enumerate(filter(None, pieces)):
            words = [np.concatenate([piece.codes(name).astype(np.int64) for piece in its]) for name in columns]
            counts = np.concatenate([piece.counts for piece in its])
            order = np.lexsort(words[::-1])
            differs = np.logical_or.reduce([np.diff(word[order]) != 0 for word in words])
            first = np.flatnonzero(np.append(True, differs))
            result = StoredBlock(folder.path, f"sorted-{number}", columns)
            result.write(_named(words, order[first]), np.add.reduceat(counts[order], first))
            for piece in its:
                piece.delete()
            yield result

    def _ends(self) -> NDArray[np.int64]:
        """The first words before which parts end, so that these have about `PART_RECORDS` records each."""
        sizes = [len(block) for block in self.large.blocks]
        samples = [
            self._words(block)[0][:: max(1, size // SAMPLED_RECORDS)]
            for block, size in zip(self.large.blocks, sizes, strict=True)
        ]
        sample = np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *samples]))
        parts = 1 + sum(sizes) // PART_RECORDS
        return np.unique(sample[[len(sample) * i // parts for i in range(1, parts)]])


def _named(words: Sequence[NDArray[np.int64]], rows: NDArray[np.int64]) -> Mapping[str, NDArray[np.int64]]:
    return {str(number): word[rows] for number, word in enumerate(words)}
