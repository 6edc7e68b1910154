"""From the bytes of a data file to its cells as text; what is no table is refused."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.errors import DataError, Problem

if TYPE_CHECKING:
    from leafgate.policy import CsvOptions

Codes = NDArray[np.int64]
Cells = pd.Series
"""A column of text as a categorical: one code a row, each distinct text once."""

PORTION = 50_000
"""Rows that are held as text at once."""


def read_bytes(path: Path) -> bytes:
    """The file's bytes; DataError when it cannot be read or is empty."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataError("there is no such file", place=path.name, remedy="correct `data.path`, or give DATA") from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", place=path.name) from None
    if not content.strip():
        raise DataError("the file is empty", place=path.name)
    return content


def read_csv(content: bytes, options: CsvOptions, names: Sequence[str], place: str) -> pd.DataFrame:
    """Every declared column as text, in the policy's order."""
    raw = read_cells(content, options, place)
    if not options.header:
        return _without_header(raw, names, place)
    header = [str(name) for name in raw.iloc[0]]
    return _with_header(raw.iloc[1:].reset_index(drop=True), header, names, place)


def read_cells(content: bytes, options: CsvOptions, place: str) -> pd.DataFrame:
    """Every cell of a CSV file as text, the header among them; columns are numbered.

    RFC 4180 unless `options` say otherwise; any line ending; empty lines are skipped, and lines
    that start with `comment`. Raises DataError when rows differ in length or the text cannot be
    decoded. Each distinct text of a column is held once, so memory grows with rows x columns codes.
    """
    try:
        text = content.decode(options.encoding)
    except UnicodeDecodeError:
        raise DataError(f"is not {options.encoding} text", place=place, remedy="set `data.csv.encoding`") from None
    rows = _rows(text, options, place)
    first = next(rows, None)
    if first is None:
        raise DataError("the file holds no rows", place=place)
    known: list[dict[str, int]] = [{cell: 0} for cell in first]
    codes: list[list[Codes]] = [[np.zeros(1, dtype=np.int64)] for _ in first]
    while portion := list(islice(rows, PORTION)):
        for seen, parts, cells in zip(known, codes, zip(*portion, strict=True), strict=True):
            numbers = [seen.setdefault(cell, len(seen)) for cell in cells]
            parts.append(np.array(numbers, dtype=np.int64))
    columns = zip(known, codes, strict=True)
    return pd.DataFrame({i: _cells(np.concatenate(parts), list(seen)) for i, (seen, parts) in enumerate(columns)})


def _cells(codes: Codes, texts: Sequence[str]) -> Cells:
    categories: Any = pd.Index(np.array(texts, dtype=object))
    return pd.Series(pd.Categorical.from_codes(codes, categories=categories))


def parse_number(text: str) -> float:
    """The number a text is, as people and programs write numbers; NaN for anything else."""
    return float(text) if _NUMBER.fullmatch(text) else math.nan


def is_code(text: str) -> bool:
    """Is it no number, or one with a leading zero, which a number would lose?"""
    return not math.isfinite(parse_number(text)) or bool(_LEADING_ZERO.match(text))


_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]")


class _Lines:
    """Lines for a CSV reader; one that starts a record and starts with `comment` is left out."""

    def __init__(self, text: str, comment: str | None) -> None:
        self._lines = io.StringIO(text, newline="")
        self._comment = comment
        self.starts = True

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            if self._comment is None or not self.starts or not line.startswith(self._comment):
                self.starts = False
                yield line


def _rows(text: str, options: CsvOptions, place: str) -> Iterator[list[str]]:
    """The records, all as long as the first; DataError names the first that is not, and how many there are."""
    lines = _Lines(text, options.comment)
    reader = csv.reader(
        lines,
        delimiter=options.delimiter,
        quotechar=options.quote,
        skipinitialspace=options.skip_initial_space,
        strict=True,
    )
    width, number = 0, 0
    strange: list[int] = []
    while (row := _next(reader, lines, place)) is not None:
        if not row or (len(row) == 1 < width and not row[0].strip()):
            continue
        number += 1
        width = width or len(row)
        if len(row) == width and not strange:
            yield row
        elif len(row) != width:
            strange.append(number)
    if strange:
        raise DataError(
            f"{len(strange)} row(s) have another number of cells than the first ({width}), "
            f"the first is row {strange[0]}",
            place=place,
            remedy="check `data.csv.delimiter`, and the file's end",
        )


def _next(reader: Iterator[list[str]], lines: _Lines, place: str) -> list[str] | None:
    lines.starts = True
    try:
        return next(reader, None)
    except csv.Error as error:
        line = getattr(reader, "line_num", 0)
        raise DataError(f"not a table: {error}, line {line}", place=place, remedy="check `data.csv`") from None


def _without_header(raw: pd.DataFrame, names: Sequence[str], place: str) -> pd.DataFrame:
    if raw.shape[1] != len(names):
        raise DataError(
            f"the file has {raw.shape[1]} columns, the policy declares {len(names)}",
            place=place,
            remedy="without a header, `data.columns` lists every column in file order",
        )
    return raw.set_axis(list(names), axis=1)


def _refuse_twice(header: Sequence[str], place: str) -> None:
    twice = {name for name in header if header.count(name) > 1}
    if twice:
        raise DataError(f"{len(twice)} column name(s) stand twice in the header", place=place, remedy="rename them")


def _with_header(raw: pd.DataFrame, header: list[str], names: Sequence[str], place: str) -> pd.DataFrame:
    _refuse_twice(header, place)
    problems = [
        Problem(place, f"the header has no column {name!r}", "correct `data.columns`, or set `csv: {header: false}`")
        for name in names
        if name not in header
    ]
    extra = len(set(header) - set(names))
    if extra:
        problems.append(
            Problem(place, f"{extra} column(s) of the header are not in the policy", "declare them, if only `ignored`")
        )
    if problems:
        raise DataError.listing(problems)
    return raw.set_axis(header, axis=1).loc[:, list(names)]


def read_parquet(content: bytes, names: Sequence[str] | None, place: str) -> pd.DataFrame:
    """The declared columns of a Parquet file (None: all) as text; a null becomes an empty text."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DataError(
            "Parquet needs pyarrow", place=place, remedy='install it: pip install "leafgate[parquet]"'
        ) from None
    try:
        file = pyarrow.parquet.ParquetFile(io.BytesIO(content))
        header = list(file.schema_arrow.names)
        _refuse_twice(header, place)
        table = file.read()
    except (pyarrow.ArrowException, OSError):
        raise DataError("is not a Parquet file", place=place) from None
    cells = {}
    for i, name in enumerate(table.column_names):
        try:
            text = table.column(i).cast(pyarrow.string()).fill_null("").combine_chunks().dictionary_encode()
        except pyarrow.ArrowException:
            raise DataError("does not hold plain values", place=f"{place}, column {name!r}") from None
        cells[i] = _cells(text.indices.to_numpy(), text.dictionary.to_pylist())
    return _with_header(pd.DataFrame(cells), header, header if names is None else names, place)
