"""Tables in memory, of pandas, Polars, Arrow and NumPy, as cells of text: the same people give the same CSV bytes."""

from __future__ import annotations

import codecs
import csv
import hashlib
import math
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.api.text_frames import text_column
from leafgate.errors import DataError
from leafgate.io.tables.cells import check_header
from leafgate.io.tables.records import Records
from leafgate.kernel.policy import CsvOptions
from leafgate.lazy_loading import install_command

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

    @cached_property
    def has_missing(self) -> bool:
        return bool((self.codes < 0).any())

    @cached_property
    def people(self) -> NDArray[np.int64]:
        """Shape (n_texts,), how many rows have each text."""
        return np.bincount(self.codes + 1, minlength=len(self.texts) + 1)[1:]

    @cached_property
    def occurring(self) -> tuple[str, ...]:
        """The texts that some row has."""
        return tuple(self.texts[code] for code in np.flatnonzero(self.people).tolist())

    def equals(self, other: FrameColumn) -> bool:
        """Has each row the same text as the other column's, or none?"""
        if len(self.codes) != len(other.codes):
            return False
        place = {text: code for code, text in enumerate(other.texts)}
        own = np.array([*(place.get(text, -2) for text in self.texts), -1], dtype=np.intp)
        return bool((own[self.codes] == other.codes).all())


@dataclass(frozen=True, eq=False)
class FrameTable:
    """A table in memory as a data file of it would be read.

    Attributes:
        place: what errors call it.
        columns: its columns, at least one.
        missing: the text that stands for missing cells, and for cells with this text.
        csv: how its file is written.
        quote_all: are all cells of the file quoted, needed or not?
    """

    place: str
    columns: tuple[FrameColumn, ...]
    missing: str
    csv: CsvOptions
    quote_all: bool = False

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    def records(self, names: Sequence[str]) -> Records:
        """The cells of the columns `names`, a row each; DataError where the table has others."""
        check_header(self.names, names, self.place)
        by_name = {column.name: column for column in self.columns}
        cells = pd.DataFrame({name: self._cells(by_name[name]) for name in names})
        return Records.of(cells, sha256=self.sha256)

    def _cells(self, column: FrameColumn) -> pd.Series:
        texts = [*dict.fromkeys((*column.texts, self.missing))]
        return text_column(np.where(column.codes < 0, texts.index(self.missing), column.codes), texts)

    def csv_blocks(self) -> Iterator[bytes]:
        """The table as a CSV file, block by block; DataError where a cell has signs that the encoding does not have."""
        return csv_blocks(self.columns, self.missing, self.csv, quote_all=self.quote_all)

    @cached_property
    def sha256(self) -> str:
        """The digest of the CSV file, by which a table in memory and its file are known to be the same."""
        digest = hashlib.sha256()
        for block in self.csv_blocks():
            digest.update(block)
        return digest.hexdigest()


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


ROWS_IN_BLOCK = 100_000
"""So many rows of a CSV file are written at once."""
LINE_END = "\r\n"
WITHOUT_MARK = {"utf-8-sig": "utf-8"}
"""The encoding that files are written in which are read with a byte order mark or without one."""


def csv_blocks(
    columns: Sequence[FrameColumn], missing: str, options: CsvOptions, *, quote_all: bool = False
) -> Iterator[bytes]:
    """The columns as a CSV file, block by block.

    Args:
        columns: at least one, all of the same length.
        missing: the text of missing cells; no column has it as a text of its own.
        options: how the file is to be read.
        quote_all: whether every cell is quoted, needed or not.

    Raises:
        DataError: a cell has signs that the encoding does not have.
    """
    cells = [_csv_cells([*column.texts, missing], options, len(columns), quote_all=quote_all) for column in columns]
    header = _csv_cells([column.name for column in columns], options, len(columns), quote_all=quote_all)
    encoder = codecs.getincrementalencoder(WITHOUT_MARK.get(options.encoding, options.encoding))()
    try:
        if options.header:
            yield encoder.encode(options.delimiter.join(header.tolist()) + LINE_END)
        for start in range(0, len(columns[0].codes), ROWS_IN_BLOCK):
            rows = slice(start, start + ROWS_IN_BLOCK)
            listed = (texts[column.codes[rows]].tolist() for texts, column in zip(cells, columns, strict=True))
            lines = map(options.delimiter.join, zip(*listed, strict=True))
            yield encoder.encode(LINE_END.join(lines) + LINE_END)
    except UnicodeError:
        raise DataError(f"has texts that cannot be written as {options.encoding}", place="X") from None


def _csv_cells(texts: Sequence[str], options: CsvOptions, width: int, *, quote_all: bool) -> NDArray[np.object_]:
    """Each text as a cell of a CSV file of so many columns, quoted where it has to be."""
    written: list[str] = []
    writer = csv.writer(
        SimpleNamespace(write=written.append),
        delimiter=options.delimiter,
        quotechar=options.quote,
        quoting=csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL,
        lineterminator=LINE_END,
    )
    writer.writerows([text] for text in texts)
    cells = np.empty(len(written), dtype=object)
    cells[:] = [line.removesuffix(LINE_END) for line in written]
    if width > 1 and not quote_all:  # the only cell of a row is quoted where it is empty
        cells[[not text for text in texts]] = ""
    return cells


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
            frame = _frame_from_arrow(table)
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
        remedy = f"install it: {install_command('parquet')}; or give a pandas DataFrame"
        raise DataError("is a table of Arrow, which needs pyarrow", place=place, remedy=remedy)


def _frame_from_arrow(table: Any) -> pd.DataFrame:
    """`DataFrame.from_arrow` of pandas 3, for pandas 2 too, and for versions of pyarrow that refuse unsigned codes."""
    import pyarrow as pa

    arrow = pa.table(table)
    fields = [
        field.with_type(pa.dictionary(pa.int64(), field.type.value_type, field.type.ordered))
        if pa.types.is_dictionary(field.type)
        else field
        for field in arrow.schema
    ]
    frame: pd.DataFrame = arrow.cast(pa.schema(fields, metadata=arrow.schema.metadata)).to_pandas()
    return frame


def _series_from_arrow(values: Any) -> pd.Series:
    import pyarrow as pa

    column = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.chunked_array(values)
    return _frame_from_arrow(pa.table({"values": column}))["values"]


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
            return _series_from_arrow(values)
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
        different = uniques.tolist()
    kind = _common_kind(different, here)
    texts = tuple(_time_texts(different) if kind == "time" else _texts(different, here))
    if len(set(texts)) != len(texts):
        raise DataError("has different cells that are the same as texts", place=here, remedy="convert them to texts")
    return FrameColumn(name, kind, texts, codes, isinstance(series.dtype, pd.CategoricalDtype))


def _common_kind(values: Sequence[Any], place: str) -> Kind:
    """What these values are; DataError where they are of several kinds, or of another one."""
    kinds = {type_: _kind(type_) for type_ in set(map(type, values))}
    strange = [type_.__name__ for type_, kind in kinds.items() if kind is None]
    if strange:
        raise DataError(f"has cells of the type {strange[0]}", place=place, remedy=PLAIN)
    several = {kind for kind in kinds.values() if kind is not None}
    if len(several) > 1:
        listed = " and ".join(sorted(WORDS[kind] for kind in several))
        raise DataError(f"has {listed} in one column", place=place, remedy="convert them to one type")
    return next(iter(several), "text")


PLAIN = "convert them to texts, numbers, truth values or days"
WORDS: Mapping[Kind, str] = {"text": "texts", "number": "numbers", "truth": "truth values", "time": "days or times"}


def _kind(type_: type) -> Kind | None:
    if issubclass(type_, str | pd.Interval | pd.Period):
        return "text"
    if issubclass(type_, bool | np.bool_):
        return "truth"
    if issubclass(type_, int | float | Decimal | np.integer | np.floating):
        return "number"
    return "time" if issubclass(type_, date | time | datetime | np.datetime64) else None


def _texts(values: Sequence[Any], place: str) -> list[str]:
    """Cells as texts: numbers so that reading them gives the same numbers, whatever their type."""
    types = set(map(type, values))
    if types <= {int}:
        if any(abs(value) > sys.float_info.max for value in values):
            raise _too_large(place)
        return list(map(str, values))
    if types <= {float}:
        if not np.isfinite(values).all():
            raise _infinite(place)
        return list(map(cell_text, values))
    return [_text(value, place) for value in values]


def _text(value: Any, place: str) -> str:
    if isinstance(value, str | bool | np.bool_ | pd.Interval | pd.Period):
        text = str(value)
        if len(text) > MAX_CELL or not _is_encodable(text):
            raise DataError("has texts that are too long, or not Unicode", place=place, remedy="leave the column out")
        return text
    if isinstance(value, int | np.integer):
        if abs(int(value)) > sys.float_info.max:
            raise _too_large(place)
        return str(int(value))
    number = float(value)
    if not math.isfinite(number):
        raise _infinite(place)
    return cell_text(number)


def _infinite(place: str) -> DataError:
    return DataError("has infinite numbers", place=place, remedy="replace them by finite or missing ones")


def _too_large(place: str) -> DataError:
    return DataError("has whole numbers that no double can hold", place=place, remedy="convert them to texts")


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
