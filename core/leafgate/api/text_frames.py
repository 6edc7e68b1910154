"""Cells as texts: what a data source returns, each distinct text of a column held once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from leafgate.errors import DataError
from leafgate.lazy_loading import lazy

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray
else:
    np, pd = lazy("numpy"), lazy("pandas")

ROWS_AT_ONCE = 500
"""Rows that are held as text at once; of many more Python would search for cycles among them again and again."""


def text_frame(
    columns: Sequence[str] | Sequence[int], rows: Iterable[Sequence[object]], place: str = ""
) -> pd.DataFrame:
    """The result of `DataSource.read` for rows of plain values.

    Each distinct text of a column is held once: memory grows with the number of cells, and not with their length.

    Args:
        columns: the names of the columns, or numbers from 0 where the file has no names.
        rows: the rows, each with a value for each column: a text, a number, a bool or None for a missing cell. Numbers
            become texts as Python writes them, whole ones without a decimal point; bools become `true` and `false`.
        place: the name of the file, for errors.

    Returns:
        A column of texts for each name; a missing cell is the empty text.

    Raises:
        DataError: a row is longer or shorter than `columns`, or a value is of another kind.
    """
    texts = ([_text(value, column, place) for value, column in _paired(row, columns, place)] for row in rows)
    frame = pd.DataFrame(dict(enumerate(number_texts(texts, len(columns)))))
    return frame.set_axis(list(columns), axis=1)


def _paired(row: Sequence[object], columns: Sequence[str] | Sequence[int], place: str) -> Iterable[tuple[object, Any]]:
    if len(row) != len(columns):
        raise DataError(f"a row has {len(row)} cells, and there are {len(columns)} columns", place=place)
    return zip(row, columns, strict=True)


def _text(value: object, column: object, place: str) -> str:
    """A value as the text of a cell."""
    match value:
        case str():
            return value
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case float():
            return "" if value != value else repr(float(value)).removesuffix(".0")
    raise DataError(
        f"the column {column!r} has a {type(value).__name__}, which is neither text nor number",
        place=place,
        remedy="convert the column in the file, or leave it out",
    )


def number_texts(rows: Iterable[Sequence[str]], width: int) -> Iterator[pd.Series]:
    """Each column of rows of texts, as a categorical whose categories are in the order in which they first occur."""
    known = [_Numbering() for _ in range(width)]
    codes: list[list[NDArray[np.int32]]] = [[] for _ in range(width)]
    rest = iter(rows)
    while portion := list(islice(rest, ROWS_AT_ONCE)):
        for numbering, parts, cells in zip(known, codes, zip(*portion, strict=True), strict=True):
            parts.append(np.fromiter(map(numbering.__getitem__, cells), dtype=np.int32, count=len(cells)))
    for numbering, parts in zip(known, codes, strict=True):
        yield text_column(np.concatenate([np.zeros(0, dtype=np.int32), *parts]), list(numbering))


def text_column(codes: NDArray[np.integer[Any]], texts: Sequence[str]) -> pd.Series:
    """A column of text as a categorical: one code a row, each distinct text once."""
    categories: Any = pd.Index(np.array(texts, dtype=object), dtype=object)  # pandas' own texts are slow to iterate
    return pd.Series(pd.Categorical.from_codes(codes, categories=categories))


class _Numbering(dict[str, int]):
    """Texts and their numbers; a new one gets the next."""

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self)
        return number
