"""Cells as text, before the policy says what they mean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class RawRecords:
    """Cells as text, before the policy says what they mean.

    Attributes:
        cells: a categorical of texts for each column; a row for each row of the data, or for each distinct one.
        counts: shape (n,), how many rows of the data each is; None where each is one row.
        first: shape (n,), the number of the first of these, from 1; None where the rows are not numbered.
        by_engine: did an engine count them? `cells` then lack the columns that the policy drops.
        sha256: the digest of the bytes that were read; empty where there are none.
        commented: lines that were left out as comments, as wide as the table.
    """

    cells: pd.DataFrame
    counts: NDArray[np.int64] | None = None
    first: NDArray[np.int64] | None = None
    by_engine: bool = False
    sha256: str = ""
    commented: int = 0

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """How many rows of the data each is."""
        return np.ones(len(self.cells), dtype=np.int64) if self.counts is None else self.counts

    def expanded(self) -> RawRecords:
        """The same with a row for each row of the data."""
        if self.counts is None:
            return self
        where = np.repeat(np.arange(len(self.cells)), self.counts)
        first = None if self.first is None else self.first[where]
        return replace(self, cells=self.cells.iloc[where].reset_index(drop=True), counts=None, first=first)

    def first_row(self, wrong: NDArray[np.bool_]) -> int | None:
        """The number of the first row among these; None where the rows are not numbered."""
        if self.first is not None:
            return int(self.first[wrong].min())
        return None if self.counts is not None else int(wrong.argmax()) + 1


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
        if not pa.types.is_primitive(column.type) and not pa.types.is_decimal(column.type):
            column = column.cast(pa.large_string())
        encoded = pc.dictionary_encode(column).unify_dictionaries()
        parts = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in encoded.chunks]
        values = encoded.chunk(0).dictionary.cast(pa.string()).to_pylist() if parts else []
    except pa.ArrowException:
        raise DataError("does not hold plain values", place=place) from None
    codes = np.concatenate([np.zeros(0, dtype=np.int32), *parts])
    numbers: dict[str, int] = {}
    positions = [numbers.setdefault("" if text is None else text, len(numbers)) for text in values]
    missing = numbers.setdefault("", len(numbers)) if (codes < 0).any() else -1
    return np.array([*positions, missing], dtype=np.int32)[codes], list(numbers)
