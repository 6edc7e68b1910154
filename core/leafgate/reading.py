"""From a data file to a Table, exactly as the policy says; whatever does not fit is refused."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.errors import DataError, Problem
from leafgate.schema import Column, Schema
from leafgate.table import Table, make_table

if TYPE_CHECKING:
    from leafgate.policy import CsvOptions, Data

Cells = pd.Series  # categorical of strings: one code a row, each distinct text once


def read_table(data: Data, schema: Schema, path: Path) -> Table:
    """The Table in a CSV or Parquet file, under the policy's `data` section.

    `schema` has a column for each the policy declares and does not drop. Columns without a
    declared domain get the one that occurs (numbers where every cell is one), so that the schema of
    the Table read from training data can read test data. Raises DataError
    listing every column that does not fit; its text never holds a cell.
    """
    content = read_bytes(path)
    names = list(data.columns)
    if path.suffix in {".parquet", ".pq"}:
        raw = read_parquet(content, names, path.name)
    else:
        raw = read_csv(content, data.csv, names, path.name)
    if raw.shape[0] == 0:
        raise DataError("the file holds no rows", place=path.name)
    typed, schema = _typed(raw, schema, data, path.name)
    weight = _weights(raw, data, path.name)
    keep = _complete(typed, schema, data, path.name)
    if not keep.any():
        raise DataError("every row has a missing cell, none is left", place=path.name)
    return make_table(
        schema,
        typed[keep],
        weight[keep],
        dropped=int(weight[~keep].sum()),
        sha256=hashlib.sha256(content).hexdigest(),
    )


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


def _typed(raw: pd.DataFrame, schema: Schema, data: Data, place: str) -> tuple[pd.DataFrame, Schema]:
    typed: dict[str, pd.Series] = {}
    columns: list[Column] = []
    problems: list[Problem] = []
    for column in schema.columns:
        try:
            known, series = _typed_column(raw[column.name].cat.remove_unused_categories(), column, data, place)
        except DataError as error:
            problems.extend(error.problems)
        else:
            columns.append(known)
            typed[column.name] = series
    if problems:
        raise DataError.listing(problems)
    return pd.DataFrame(typed), Schema(tuple(columns))


def _typed_column(cells: Cells, column: Column, data: Data, place: str) -> tuple[Column, pd.Series]:
    """The column, its domain filled in where the policy left it open, and its cells as typed values."""
    if "key" in column.roles:
        return column, cells.astype(object)
    place = f"{place}, column {column.name!r}"
    spec = data.columns[column.name]
    texts = [spec.aliases.get(text, text) for text in cells.cat.categories]
    missing = np.array([text in data.missing for text in texts])
    if missing.all():
        raise DataError("every cell is missing", place=place, remedy="give it the role `ignored`")
    if column.values is None and column.bounds is None:
        column = _domain_that_occurs(column, [t for t, gone in zip(texts, missing, strict=True) if not gone])
    if column.values is None:
        return column, _numbers(cells, texts, missing, column, place)
    position = {value: code for code, value in enumerate(column.values)}
    codes = np.array([-1 if gone else position.get(t, -2) for t, gone in zip(texts, missing, strict=True)])
    row_codes = codes[cells.cat.codes.to_numpy()]
    _refuse_rows(row_codes == -2, "outside the `values` the policy declares", place)
    return column, pd.Series(pd.Categorical.from_codes(row_codes, categories=pd.Index(column.values)))


def _numbers(cells: Cells, texts: Sequence[str], missing: NDArray[np.bool_], column: Column, place: str) -> pd.Series:
    numbers = np.array([np.nan if gone else _number(t) for t, gone in zip(texts, missing, strict=True)])
    codes = cells.cat.codes.to_numpy()
    strange = ~missing & ~np.isfinite(numbers)
    _refuse_rows(strange[codes], "not a finite number", place)
    if column.declared and column.bounds is not None:
        outside = (numbers < column.bounds[0]) | (numbers > column.bounds[1])
        _refuse_rows(outside[codes], "outside the `bounds` the policy declares", place)
    return pd.Series(numbers[codes])


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.inf


def _domain_that_occurs(column: Column, texts: Sequence[str]) -> Column:
    """Numbers when every text is one and none has a leading zero, else the sorted values."""
    numeric = all(np.isfinite(_number(t)) and (t.lstrip("+-")[:1] != "0" or float(t) < 1) for t in texts)
    if numeric and "class" not in column.roles:
        numbers = [float(text) for text in texts]
        return replace(column, bounds=(min(numbers), max(numbers)))
    return replace(column, values=tuple(sorted(set(texts))))


def _refuse_rows(wrong: NDArray[np.bool_], why: str, place: str) -> None:
    if wrong.any():
        raise DataError(
            f"{int(wrong.sum())} cell(s) {why}, the first in record {int(wrong.argmax()) + 1}",
            place=place,
            remedy="correct the policy or the data",
        )


def _weights(raw: pd.DataFrame, data: Data, place: str) -> NDArray[np.int64]:
    name = next((name for name, spec in data.columns.items() if "weight" in spec.role), None)
    if name is None:
        return np.ones(len(raw), dtype=np.int64)
    numbers = np.array([_number(text) for text in raw[name].cat.categories])
    strange = ~(np.isfinite(numbers) & (numbers >= 1) & (numbers == np.floor(numbers)) & (numbers < 2**53))
    codes = raw[name].cat.codes.to_numpy()
    _refuse_rows(strange[codes], "not a whole number of people, 1 or more", f"{place}, column {name!r}")
    return numbers.astype(np.int64)[codes]


def _complete(typed: pd.DataFrame, schema: Schema, data: Data, place: str) -> NDArray[np.bool_]:
    """Which rows stay: all of them, or those without a missing cell, as `on_missing` says."""
    gaps = {c.name: typed[c.name].isna().to_numpy() for c in schema.columns}
    for column in schema.columns:
        if column.roles & {"class", "sensitive"} and gaps[column.name].any():
            raise DataError(
                f"{int(gaps[column.name].sum())} cell(s) of the class or of a secret are missing",
                place=f"{place}, column {column.name!r}",
                remedy="leave those rows out, or take `?` and the like from `data.missing` to make them a value",
            )
    incomplete = np.logical_or.reduce(list(gaps.values()))
    if incomplete.any() and data.on_missing is None:
        raise DataError(
            f"{int(incomplete.sum())} row(s) have missing cells",
            place=f"{place}, column(s) {', '.join(repr(n) for n, gap in gaps.items() if gap.any())}",
            remedy="say `on_missing: drop` or `on_missing: keep` under `data`",
        )
    return ~incomplete if data.on_missing == "drop" else np.ones(len(typed), dtype=np.bool_)
