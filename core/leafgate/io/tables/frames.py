"""Tables in memory, of pandas, Polars, Arrow and NumPy, as cells of text: the same people give the same CSV bytes."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.errors import DataError

_PANDAS: Any = pd
"""pandas with what its stubs do not have yet: `from_arrow` of pandas 3."""

Kind = Literal["text", "number", "truth", "time"]
"""What the cells of a column are: texts (and intervals), numbers, truth values, or days and times."""

MAX_CELL = 100_000
"""Signs of the longest text that a cell may have; Python's CSV reader refuses somewhat longer ones."""

LARGEST_EXACT = 2**53
"""Whole numbers below it are written without a decimal point, whatever the type of their column."""


@dataclass(frozen=True, eq=False)
class FrameColumn:
    """One column of a table in memory.

    Attributes:
        name: its name.
        kind: what its cells are.
        texts: each different cell as text, in the order in which they occur, or that of the column's categories.
        codes: shape (n_rows,), the position of each row's text in `texts`; -1 where the cell is missing.
        is_categorical: does the column itself list its categories?
        is_numbered: is it a categorical of pandas, whose categories libraries number in the order of `texts`?
    """

    name: str
    kind: Kind
    texts: tuple[str, ...]
    codes: NDArray[np.intp]
    is_categorical: bool = False
    is_numbered: bool = False

    @property
    def has_missing(self) -> bool:
        return bool((self.codes < 0).any())

    @property
    def occurring(self) -> tuple[str, ...]:
        """The texts that some row has."""
        return tuple(self.texts[code] for code in np.unique(self.codes[self.codes >= 0]).tolist())

    def cells(self, missing: str) -> list[str]:
        """Every row's text, `missing` where the cell is missing."""
        listed = (*self.texts, missing)
        return [listed[code] for code in self.codes.tolist()]


def table_columns(table: Any, place: str, names: Sequence[str] | None = None) -> tuple[FrameColumn, ...]:
    """The columns of a table of pandas, Polars, Arrow or NumPy.

    Args:
        table: a pandas DataFrame, anything with `__arrow_c_stream__`, or an array of two dimensions.
        place: what errors call it.
        names: the columns' names where the table has numbers in their place; `x0`, `x1` and so on if None.

    Raises:
        DataError: it is no such table, its names are no texts or stand twice, or a column has other cells than texts,
            finite numbers, truth values, days and times; no cell is printed.
    """
    frame = pandas_frame(table, place)
    header = _header(frame, place, names)
    columns = (_column(frame.iloc[:, i], name, place) for i, name in enumerate(header))
    own = isinstance(table, pd.DataFrame)
    return tuple(replace(column, is_numbered=own and column.is_categorical) for column in columns)


def has_names(table: Any) -> bool:
    """Has a table names of columns, and not numbers in their place? Of what is no table the answer is yes."""
    return not isinstance(table, np.ndarray) and not (isinstance(table, pd.DataFrame) and _is_numbered(table))


def single_column(values: Any, name: str, place: str) -> FrameColumn:
    """A column in memory: a Series of pandas or Polars, an Arrow array, an array of NumPy, or a list.

    Its name is its own where it has one, else `name`. Raises DataError as `table_columns` does.
    """
    if isinstance(values, pd.DataFrame) or hasattr(values, "columns") or hasattr(values, "column_names"):
        columns = table_columns(values, place)
        if len(columns) != 1:
            raise DataError(f"has {len(columns)} columns, and one is needed", place=place)
        return columns[0]
    own = getattr(values, "name", None)
    series = _series(values, place)
    own = series.name if own is None else own
    return _column(series, own if isinstance(own, str) and _is_name(own) else name, place)


def csv_bytes(
    columns: Sequence[FrameColumn],
    missing: str,
    *,
    delimiter: str = ",",
    quote: str = '"',
    header: bool = True,
    encoding: str = "utf-8",
    quote_all: bool = False,
) -> bytes:
    """The columns as a CSV file.

    Args:
        columns: at least one, all of the same length.
        missing: the text of missing cells; no column has it as a text of its own.
        delimiter: the sign between two cells.
        quote: the sign around a cell that needs it.
        header: is the first line names?
        encoding: of the text.
        quote_all: whether every cell is quoted, needed or not.

    Raises:
        DataError: a cell has signs that the encoding does not have.
    """
    text = io.StringIO()
    writer = csv.writer(
        text,
        delimiter=delimiter,
        quotechar=quote,
        quoting=csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL,
        lineterminator="\r\n",
    )
    if header:
        writer.writerow([column.name for column in columns])
    writer.writerows(zip(*(column.cells(missing) for column in columns), strict=True))
    try:
        return text.getvalue().encode(encoding)
    except UnicodeError:
        raise DataError(f"has texts that cannot be written as {encoding}", place="X") from None


def cell_text(cell: str | bool | int | float) -> str:
    """A cell as a data file has it: True, 1, 2.5; a whole number without a decimal point.

    >>> cell_text(True), cell_text(3.0), cell_text(0.1)
    ('True', '3', '0.1')
    """
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < LARGEST_EXACT else repr(cell)
    return str(cell)


def word_for_missing(columns: Sequence[FrameColumn], taken: Collection[str] = ()) -> str:
    """A word for missing cells that no cell has: empty where that is possible."""
    texts = {text for column in columns for text in column.texts} | set(taken)
    words = ["", "NA", "missing", *(f"missing {number}" for number in range(len(texts) + 1))]
    return next(word for word in words if word not in texts)


def pandas_frame(table: Any, place: str) -> pd.DataFrame:
    """A table of pandas, Polars, Arrow or NumPy as pandas has it; raises DataError as `table_columns` does."""
    if isinstance(table, pd.DataFrame):
        frame = table
    elif isinstance(table, np.ndarray):
        if table.ndim != 2:
            remedy = "give a table with a row for each person"
            raise DataError(f"is an array of {table.ndim} dimension(s), not of 2", place=place, remedy=remedy)
        if table.dtype.names is not None:
            raise DataError("is an array of records", place=place, remedy="give pandas.DataFrame(...) of it")
        frame = pd.DataFrame(table)
    elif hasattr(table, "__arrow_c_stream__"):
        _require_arrow(place)
        try:
            frame = _PANDAS.DataFrame.from_arrow(table)
        except Exception as error:
            kind = type(error).__name__
            raise DataError(f"is no table that Arrow can hand over ({kind})", place=place) from None
    else:
        kind = type(table).__name__
        remedy = "give a table of pandas, Polars, Arrow or NumPy"
        remedy = f"call its `collect()`; {remedy}" if hasattr(table, "collect") else remedy
        if hasattr(table, "toarray"):
            absent = "of a model of XGBoost, to which absent entries are missing, put NaN in place of its zeros"
            remedy = f"call its `toarray()`; {absent}; or {remedy}"
        raise DataError(f"is of the type {kind}, which is no table", place=place, remedy=remedy)
    if not frame.shape[1] or not len(frame):
        raise DataError("has no rows or no columns", place=place)
    return frame


def _require_arrow(place: str) -> None:
    from importlib.util import find_spec

    if find_spec("pyarrow") is None:
        remedy = 'install it: pip install "leafgate[parquet]"; or give a pandas DataFrame'
        raise DataError("is a table of Arrow, which needs pyarrow", place=place, remedy=remedy)


def _is_numbered(frame: pd.DataFrame) -> bool:
    """Are the columns numbered from 0?"""
    names: list[Any] = list(frame.columns)
    return names == [*range(len(names))]


def _header(frame: pd.DataFrame, place: str, names: Sequence[str] | None) -> list[str]:
    if _is_numbered(frame):
        if names is not None and len(names) != frame.shape[1]:
            raise DataError(f"has {frame.shape[1]} columns without names, and {len(names)} are needed", place=place)
        return [f"x{i}" for i in range(frame.shape[1])] if names is None else list(names)
    header: list[Any] = list(frame.columns)
    if not all(isinstance(name, str) for name in header):
        remedy = "name them by texts, for example X.columns = X.columns.map(str)"
        raise DataError("has names of columns that are no texts", place=place, remedy=remedy)
    if not all(map(_is_name, header)):
        raise DataError("has a name of a column that is empty, or has signs that cannot be printed", place=place)
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        raise DataError(f"the column {twice[0]!r} stands twice", place=place, remedy="rename one, or leave it out")
    return header


def _is_name(name: str) -> bool:
    return bool(name.strip()) and name.isprintable()


def _series(values: Any, place: str) -> pd.Series:
    if isinstance(values, pd.Series):
        return values
    if isinstance(values, pd.Index | pd.api.extensions.ExtensionArray):
        return pd.Series(values)
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        _require_arrow(place)
        try:
            return pd.Series(_PANDAS.Series.from_arrow(values))
        except Exception as error:
            raise DataError(f"is no column that Arrow can hand over ({type(error).__name__})", place=place) from None
    if isinstance(values, list | tuple):
        array: NDArray[Any] = np.empty(len(values), dtype=object)
        array[:] = values
        return pd.Series(array, dtype=object)
    if isinstance(values, np.ndarray):
        flat = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
        if flat.ndim != 1:
            raise DataError(f"is an array of {values.ndim} dimensions, and one column is needed", place=place)
        return pd.Series(flat, dtype=flat.dtype if flat.dtype.kind != "U" else object)
    kind = type(values).__name__
    raise DataError(
        f"is of the type {kind}, which is no column", place=place, remedy="give a Series, an array or a list"
    )


def _column(series: pd.Series, name: str, place: str) -> FrameColumn:
    here = f"{place}, column {name!r}"
    if isinstance(series.dtype, pd.CategoricalDtype):
        codes = series.cat.codes.to_numpy().astype(np.intp)
        different: list[Any] = series.cat.categories.tolist()
    else:
        try:
            codes, uniques = pd.factorize(series, use_na_sentinel=True)
        except TypeError:
            raise DataError("has cells that are no plain values", place=here, remedy=PLAIN) from None
        different = list(uniques)
    kinds = {_kind(value) for value in different}
    if None in kinds:
        strange = next(type(value).__name__ for value in different if _kind(value) is None)
        raise DataError(f"has cells of the type {strange}", place=here, remedy=PLAIN)
    if len(kinds) > 1:
        listed = " and ".join(sorted(WORDS[kind] for kind in kinds if kind is not None))
        raise DataError(f"has {listed} in one column", place=here, remedy="convert them to one type")
    kind: Kind = next((kind for kind in kinds if kind is not None), "text")
    texts = tuple(_time_texts(different) if kind == "time" else (_text(value, here) for value in different))
    if len(set(texts)) != len(texts):
        raise DataError("has different cells that are the same as texts", place=here, remedy="convert them to texts")
    return FrameColumn(name, kind, texts, codes, isinstance(series.dtype, pd.CategoricalDtype))


PLAIN = "convert them to texts, numbers, truth values or days"
WORDS: Mapping[Kind, str] = {"text": "texts", "number": "numbers", "truth": "truth values", "time": "days or times"}


def _kind(value: Any) -> Kind | None:
    if isinstance(value, str | pd.Interval | pd.Period):
        return "text"
    if isinstance(value, bool | np.bool_):
        return "truth"
    if isinstance(value, int | float | Decimal | np.integer | np.floating):
        return "number"
    return "time" if isinstance(value, date | time | datetime | np.datetime64) else None


def _text(value: Any, place: str) -> str:
    """One cell as text: a number so that reading it gives the same number, whatever its type."""
    if isinstance(value, str | bool | np.bool_ | pd.Interval | pd.Period):
        text = str(value)
        if len(text) > MAX_CELL or not _is_encodable(text):
            raise DataError("has texts that are too long, or not Unicode", place=place, remedy="leave the column out")
        return text
    if isinstance(value, int | np.integer):
        return str(int(value))
    number = float(value)
    if not math.isfinite(number):
        raise DataError("has infinite numbers", place=place, remedy="replace them by finite or missing ones")
    return cell_text(number)


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeError:
        return False
    return True


def _time_texts(values: Sequence[Any]) -> list[str]:
    """Days, or days with times, in the order year, month, day; without times where all are midnight."""
    written = [value if isinstance(value, date | time) else pd.Timestamp(value) for value in values]
    texts = [value.isoformat() for value in written]
    midnight = "T00:00:00"
    if all(text.endswith(midnight) or "T" not in text for text in texts):
        return [text.removesuffix(midnight) for text in texts]
    return texts
