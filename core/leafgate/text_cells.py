"""From the bytes of a data file to its cells as text; what is no table is refused."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from leafgate.errors import DataError, Problem

if TYPE_CHECKING:
    from leafgate.policy import CsvOptions

Cells = pd.Series
"""A column of text as a categorical: one code a row, each distinct text once."""


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

    RFC 4180 unless `options` say otherwise. Lines that start with `comment` are skipped. Raises
    DataError when rows differ in length or the text cannot be decoded.
    """
    try:
        skipped = _comment_lines(content, options.comment)
        _refuse_short_rows(content, options, skipped, place)
        return pd.read_csv(
            io.BytesIO(content),
            header=None,
            dtype="category",
            sep=options.delimiter,
            quotechar=options.quote,
            skipinitialspace=options.skip_initial_space,
            skiprows=skipped,
            keep_default_na=False,
            na_filter=False,
            encoding=options.encoding,
            compression=None,
            low_memory=False,
        )
    except pd.errors.ParserError as error:
        where = str(error).rpartition("C error: ")[2].strip()
        raise DataError(f"not a table: {where}", place=place, remedy="check `data.csv`") from None
    except (UnicodeDecodeError, LookupError):
        raise DataError(f"is not {options.encoding} text", place=place, remedy="set `data.csv.encoding`") from None
    except pd.errors.EmptyDataError:
        raise DataError("the file holds no rows", place=place) from None


def _comment_lines(content: bytes, comment: str | None) -> list[int]:
    if comment is None:
        return []
    mark = comment.encode()
    return [number for number, line in enumerate(content.splitlines()) if line.startswith(mark)]


def _refuse_short_rows(content: bytes, options: CsvOptions, skipped: Collection[int], place: str) -> None:
    """pandas fills short rows up in silence; count cells ourselves (long rows it refuses)."""
    text = content.decode(options.encoding)
    if options.quote in text:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=options.delimiter, quotechar=options.quote)
        widths = [len(row) for number, row in enumerate(rows) if row and number not in skipped]
    else:
        lines = enumerate(text.splitlines())
        widths = [line.count(options.delimiter) for number, line in lines if line.strip() and number not in skipped]
    short = [number for number, width in enumerate(widths, 1) if width < widths[0]]
    if short:
        raise DataError(
            f"{len(short)} row(s) have fewer cells than the first, the first of them is row {short[0]}",
            place=place,
            remedy="check `data.csv.delimiter` and the file's end",
        )


def _without_header(raw: pd.DataFrame, names: Sequence[str], place: str) -> pd.DataFrame:
    if raw.shape[1] != len(names):
        raise DataError(
            f"the file has {raw.shape[1]} columns, the policy declares {len(names)}",
            place=place,
            remedy="without a header, `data.columns` lists every column in file order",
        )
    raw.columns = pd.Index(names)
    return raw


def _with_header(raw: pd.DataFrame, header: list[str], names: Sequence[str], place: str) -> pd.DataFrame:
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise DataError(f"{len(twice)} column name(s) stand twice in the header", place=place, remedy="rename them")
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
    raw.columns = pd.Index(header)
    return raw.loc[:, list(names)]


def read_parquet(content: bytes, names: Sequence[str] | None, place: str) -> pd.DataFrame:
    """The declared columns of a Parquet file (None: all) as text; a null becomes an empty text."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise DataError(
            "Parquet needs pyarrow", place=place, remedy='install it: pip install "leafgate[parquet]"'
        ) from None
    try:
        table = pyarrow.parquet.read_table(io.BytesIO(content))
    except (pyarrow.ArrowException, OSError):
        raise DataError("is not a Parquet file", place=place) from None
    frame = table.to_pandas(ignore_metadata=True)
    text = pd.DataFrame({i: _as_text(frame.iloc[:, i]) for i in range(frame.shape[1])})
    header = [str(name) for name in frame.columns]
    return _with_header(text, header, header if names is None else names, place)


def _as_text(series: pd.Series) -> Cells:
    codes, distinct = pd.factorize(series, use_na_sentinel=True)
    texts = [_cell_text(value) for value in distinct]
    categories = list(dict.fromkeys(["", *texts]))
    position = np.array([categories.index(text) for text in texts] + [0], dtype=np.int64)
    return pd.Series(pd.Categorical.from_codes(position[codes], categories=pd.Index(categories)))


def _cell_text(value: object) -> str:
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)
