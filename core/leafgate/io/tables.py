"""From a data file to a Table, exactly as the policy says; whatever does not fit is refused."""

from __future__ import annotations

import hashlib
import io
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.algorithms.sampling import known_columns
from leafgate.api.components import DataSource, SourceFile
from leafgate.errors import DataError, InconclusiveError, LeafgateError, Problem
from leafgate.io.cells import (
    DECIMAL_POINTS,
    Cells,
    are_decimal_commas,
    check_header,
    check_width,
    is_code,
    read_bytes,
    refuse_wide,
)
from leafgate.io.csv import COMMENTED, CsvOptions, read_cells, read_csv
from leafgate.io.json import parse_number
from leafgate.types.schema import Column, Role, Schema, bin_of
from leafgate.types.table import Table, distinct_rows, make_table, text_column


class SourceColumn(Protocol):
    """What reading a file needs to know of one column."""

    @property
    def role(self) -> tuple[Role, ...]: ...
    @property
    def aliases(self) -> Mapping[str, str]: ...
    @property
    def counts(self) -> str | None: ...


class TableSource(Protocol):
    """The columns of a file and how they are read, as the section `data` of a policy states it."""

    @property
    def columns(self) -> Mapping[str, SourceColumn]: ...
    @property
    def csv(self) -> CsvOptions: ...
    @property
    def missing(self) -> Sequence[str]: ...
    @property
    def on_missing(self) -> str | None: ...
    @property
    def weight(self) -> tuple[str, SourceColumn] | None: ...
    @property
    def source(self) -> DataSource | None: ...


def read_table(data: TableSource, schema: Schema, path: Path, key: str = "data.path") -> Table:
    """The Table in a data file, under the policy's `data` section.

    `schema` has a column for each the policy declares and does not drop. Columns without a
    declared domain get the one that occurs (numbers where every cell is one), so that the schema of
    the Table read from training data can read test data. Raises DataError
    listing every column that does not fit; its text never holds a cell.
    """
    content = read_bytes(path, key)
    return _table(_cells(content, data, list(data.columns), path), schema, data, content, path.name)


def read_population(data: TableSource, schema: Schema, path: Path) -> Table:
    """The Table of the quasi-identifiers alone, from a file with just their columns, or with all of the table's.

    `schema` is that of the table whose people the population holds. The file is read like the
    table's; without a header its columns stand in the policy's order. Raises DataError as read_table does.
    """
    return read_columns(data, Schema(schema.public), path, "data.population")


def read_columns(data: TableSource, schema: Schema, path: Path, key: str) -> Table:
    """The Table of the columns in `schema`, from a file with just these, or with all of the table's.

    A column `weight` counts, if there is one. Raises DataError as read_table does.
    """
    content = read_bytes(path, key)
    wanted = [column.name for column in schema.columns]
    weights = [] if data.weight is None else [data.weight[0]]
    problem = None
    with_weight = [name for name in data.columns if name in {*wanted, *weights}]
    for names in (wanted, with_weight, list(data.columns)):
        try:
            raw = _cells(content, data, names, path)
        except DataError as error:
            problem = problem or error
        else:
            return _table(raw, schema, data, content, path.name)
    raise problem or DataError("has other columns than the table", place=path.name)


def read_columns_there(data: TableSource, schema: Schema, path: Path, key: str) -> Table:
    """The Table of those columns in `schema` that a file has; without a header, of all of them.

    Raises DataError as read_table does, and where the file has none of these columns.
    """
    header = _header(data, path, key)
    there = tuple(column for column in schema.columns if header is None or column.name in header)
    if not there:
        raise DataError("has no column of the policy", place=path.name, remedy="name a file with some of its columns")
    return read_columns(data, Schema(there, dropped=schema.dropped), path, key)


def is_parquet(path: Path) -> bool:
    """Is the file Parquet by its suffix? Every other file is read as CSV."""
    return path.suffix in {".parquet", ".pq"}


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
        refuse_wide(len(header), place)
        check_header(header, header if names is None else names, place)
        table = file.read()
    except (pyarrow.ArrowException, OSError):
        raise DataError("is not a Parquet file", place=place) from None
    cells = {}
    for i, name in enumerate(table.column_names):
        try:
            text = table.column(i).cast(pyarrow.string()).fill_null("").combine_chunks().dictionary_encode()
        except pyarrow.ArrowException:
            raise DataError("does not hold plain values", place=f"{place}, column {name!r}") from None
        cells[i] = text_column(text.indices.to_numpy(), text.dictionary.to_pylist())
    return pd.DataFrame(cells).set_axis(header, axis=1).loc[:, header if names is None else list(names)]


def read_source(source: DataSource, content: bytes, name: str) -> pd.DataFrame:
    """Every column of a file as a categorical of texts, under its name or, where the file has none, its number.

    Raises:
        DataError: the source refuses the file.
        InconclusiveError: the source failed, or returned something else than texts. Of its error only the kind and the
            line are reported, because its text may hold data.
    """
    try:
        frame: object = source.read(SourceFile(name, content))
    except LeafgateError as error:
        problems = [problem if problem.location else replace(problem, location=name) for problem in error.problems]
        raise type(error).listing(problems) from None
    except (Exception, SystemExit) as error:
        raise _failed(source, f"raised {type(error).__name__}{_line(error)}") from None
    return source_cells(frame, source, name)


def source_cells(frame: object, source: DataSource, name: str) -> pd.DataFrame:
    """What a source returned, as categoricals; InconclusiveError where it is something else than columns of texts."""
    if not isinstance(frame, pd.DataFrame):
        raise _failed(source, f"returned {type(frame).__name__}, and no DataFrame")
    if not _is_nameless(frame) and not all(isinstance(column, str) for column in frame.columns):
        raise _failed(source, "returned names of columns that are no texts")
    refuse_wide(frame.shape[1], name)
    cells = {i: _texts(frame.iloc[:, i], source) for i in range(frame.shape[1])}
    return pd.DataFrame(cells).set_axis(frame.columns, axis=1)


def declared_columns(frame: pd.DataFrame, names: Sequence[str], place: str) -> pd.DataFrame:
    """The columns `names` of a file; DataError where it has others."""
    if _is_nameless(frame):
        check_width(frame.shape[1], names, place)
        return frame.set_axis(list(names), axis=1)
    check_header(list(frame.columns), names, place)
    return frame.loc[:, list(names)]


def _is_nameless(frame: pd.DataFrame) -> bool:
    """Are the columns numbered, because the file has no names?"""
    names: list[Any] = list(frame.columns)
    return names == [*range(len(names))]


def _texts(column: pd.Series, source: DataSource) -> pd.Series:
    """A column as a categorical of texts."""
    cells = column.reset_index(drop=True).astype("category")
    if cells.isna().any() or not all(isinstance(text, str) for text in cells.cat.categories):
        raise _failed(source, "returned cells that are no texts")
    return cells.cat.set_categories(pd.Index(cells.cat.categories, dtype=object))


def _failed(source: DataSource, how: str) -> InconclusiveError:
    return InconclusiveError(
        f"the data source {source.use!r} {how}",
        place="data.source",
        remedy="report this to the authors of the plugin; or export the table as CSV",
    )


def _line(error: BaseException) -> str:
    """The function and the line that raised an error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f" in {trace.tb_frame.f_code.co_name}, line {trace.tb_lineno}"


def _cells(content: bytes, data: TableSource, names: Sequence[str], path: Path) -> pd.DataFrame:
    """The columns `names` as text, whichever kind of file it is."""
    if data.source is not None and data.source.reads(path.name):
        return declared_columns(read_source(data.source, content, path.name), names, path.name)
    if is_parquet(path):
        return read_parquet(content, names, path.name)
    return read_csv(content, data.csv, names, path.name)


def _table(raw: pd.DataFrame, schema: Schema, data: TableSource, content: bytes, place: str) -> Table:
    if raw.shape[0] == 0:
        raise DataError("the file holds no rows", place=place)
    gaps = {column.name: _gaps(raw[column.name], column, data) for column in schema.columns}
    incomplete = np.logical_or.reduce([np.zeros(len(raw), dtype=np.bool_), *gaps.values()])
    dropped = incomplete & (data.on_missing == "drop")
    typed, schema = _typed(raw, schema, data, dropped, place)
    weight, counts_people = _weights(raw, data, place)
    keep = _complete(gaps, schema, data, place)
    if not keep.any():
        raise DataError("every row has a missing cell, none is left", place=place)
    return make_table(
        schema,
        typed[keep],
        weight[keep],
        dropped=int((~keep).sum() if counts_people is False else weight[~keep].sum()),
        commented=raw.attrs.get(COMMENTED, 0),
        repeated_identifiers=_repeated_identifiers(raw.loc[keep], data),
        sha256=hashlib.sha256(content).hexdigest(),
        counts_people=counts_people,
    )


def _gaps(cells: Cells, column: Column, data: TableSource) -> NDArray[np.bool_]:
    """Which cells of a column are missing; keys never are."""
    if "key" in column.roles:
        return np.zeros(len(cells), dtype=np.bool_)
    aliases = data.columns[column.name].aliases
    missing = np.array([aliases.get(text, text) in data.missing for text in cells.cat.categories], dtype=np.bool_)
    return missing[cells.cat.codes.to_numpy()]


def _typed(
    raw: pd.DataFrame, schema: Schema, data: TableSource, dropped: NDArray[np.bool_], place: str
) -> tuple[pd.DataFrame, Schema]:
    """The cells as typed values, and the columns with their domains; whatever stands in `dropped` rows is accepted."""
    typed: dict[str, pd.Series] = {}
    columns: list[Column] = []
    problems: list[Problem] = []
    for column in schema.columns:
        try:
            known, series = _typed_column(raw[column.name].cat.remove_unused_categories(), column, data, dropped, place)
        except DataError as error:
            problems.extend(error.problems)
        else:
            columns.append(known)
            typed[column.name] = series
    if problems:
        raise DataError.listing(problems)
    return pd.DataFrame(typed), Schema(tuple(columns), dropped=schema.dropped)


def _typed_column(
    cells: Cells, column: Column, data: TableSource, dropped: NDArray[np.bool_], place: str
) -> tuple[Column, pd.Series]:
    """The column, its domain filled in where the policy left it open, and its cells as typed values.

    Cells that are no value of the column raise DataError, except in `dropped` rows, where they are missing ones.
    """
    place = f"{place}, column {column.name!r}"
    if "key" in column.roles:
        _refuse_rows(cells.duplicated().to_numpy(), "the same as an earlier key", place)
        return column, cells.astype(object)
    spec = data.columns[column.name]
    texts = [spec.aliases.get(text, text) for text in cells.cat.categories]
    missing = np.array([text in data.missing for text in texts])
    if missing.all():
        raise DataError("every cell is missing", place=place, remedy="give it the role `ignored`")
    if column.values is None and column.bounds is None:
        there = [text for text, gone in zip(texts, missing, strict=True) if not gone]
        if "class" not in column.roles and are_decimal_commas(there):
            remedy = f"{DECIMAL_POINTS}; or declare `values`, if they are none"
            raise DataError("numbers with decimal commas would be categories", place=place, remedy=remedy)
        column = _domain_that_occurs(column, there)
        if column.numeric and "sensitive" in column.roles and column.bins is None:
            remedy = "declare its `bins`, the edges of the intervals it is believed to lie in"
            raise DataError("a secret of numbers", place=place, remedy=remedy)
    if column.edges is not None:
        return column, _in_intervals(cells, texts, missing, column, dropped, place)
    if column.values is None:
        return column, _numbers(cells, texts, missing, column, dropped, place)
    position = {value: code for code, value in enumerate(column.values)}
    codes = np.array([-1 if gone else position.get(t, -2) for t, gone in zip(texts, missing, strict=True)])
    row_codes = codes[cells.cat.codes.to_numpy()]
    _refuse_rows((row_codes == -2) & ~dropped, "outside the `values` the policy declares", place)
    row_codes = np.maximum(row_codes, -1)
    return column, pd.Series(pd.Categorical.from_codes(row_codes, categories=pd.Index(column.values)))


def _numbers(
    cells: Cells,
    texts: Sequence[str],
    missing: NDArray[np.bool_],
    column: Column,
    dropped: NDArray[np.bool_],
    place: str,
) -> pd.Series:
    numbers = np.array([np.nan if gone else parse_number(t) for t, gone in zip(texts, missing, strict=True)])
    codes = cells.cat.codes.to_numpy()
    strange = ~missing & ~np.isfinite(numbers)
    with_commas = are_decimal_commas(itertools.compress(texts, strange))
    _refuse_rows(strange[codes] & ~dropped, "not a finite number", place, DECIMAL_POINTS if with_commas else CORRECT)
    if column.declared and column.bounds is not None:
        outside = (numbers < column.bounds[0]) | (numbers > column.bounds[1])
        what = "bins" if column.bins or column.edges else "bounds"
        _refuse_rows(outside[codes] & ~dropped, f"outside the `{what}` the policy declares", place)
    return pd.Series(np.where(strange, np.nan, numbers)[codes])


def _in_intervals(
    cells: Cells,
    texts: Sequence[str],
    missing: NDArray[np.bool_],
    column: Column,
    dropped: NDArray[np.bool_],
    place: str,
) -> pd.Series:
    """A class of numbers: the interval each cell lies in."""
    edges = column.edges or ()
    numbers = _numbers(cells, texts, missing, replace(column, bounds=(edges[0], edges[-1])), dropped, place)
    codes = np.where(np.isnan(numbers), -1, bin_of(numbers.to_numpy(), edges))
    return pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index(column.values or ())))


def _domain_that_occurs(column: Column, texts: Sequence[str]) -> Column:
    """Numbers when every text is one and none has a leading zero, else the sorted values."""
    numeric = not any(map(is_code, texts))
    if numeric and "class" not in column.roles:
        numbers = [float(text) for text in texts]
        return replace(column, bounds=(min(numbers), max(numbers)))
    return replace(column, values=tuple(sorted(set(texts))))


CORRECT = "correct the policy or the data"


def _refuse_rows(wrong: NDArray[np.bool_], why: str, place: str, remedy: str = CORRECT) -> None:
    if wrong.any():
        raise DataError(
            f"{int(wrong.sum())} cell(s) {why}, the first in record {int(wrong.argmax()) + 1}",
            place=place,
            remedy=remedy,
        )


def _repeated_identifiers(raw: pd.DataFrame, data: TableSource) -> tuple[str, ...]:
    """The identifier columns with a value, other than a missing one, in several rows."""
    names = [name for name, spec in data.columns.items() if "identifier" in spec.role and name in raw]
    return tuple(name for name in names if raw.loc[~raw[name].isin(data.missing), name].duplicated().any())


def _weights(raw: pd.DataFrame, data: TableSource, place: str) -> tuple[NDArray[np.int64], bool | None]:
    """How many people each row stands for, and whether they count as people of the table; None: every row is one."""
    if data.weight is None or data.weight[0] not in raw:
        return np.ones(len(raw), dtype=np.int64), None
    name, spec = data.weight
    numbers = np.array([parse_number(text) for text in raw[name].cat.categories])
    strange = ~(np.isfinite(numbers) & (numbers >= 1) & (numbers == np.floor(numbers)) & (numbers < 2**53))
    codes = raw[name].cat.codes.to_numpy()
    _refuse_rows(strange[codes], "not a whole number of people, 1 or more", f"{place}, column {name!r}")
    return np.where(strange, 1, numbers).astype(np.int64)[codes], spec.counts == "people"


def _complete(
    gaps: Mapping[str, NDArray[np.bool_]], schema: Schema, data: TableSource, place: str
) -> NDArray[np.bool_]:
    """Which rows stay: all of them, or those without a missing cell, as `on_missing` says.

    `gaps` are the missing cells of each column.
    """
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
    return ~incomplete if data.on_missing == "drop" else np.ones(len(incomplete), dtype=np.bool_)


def read_people(data: TableSource, table: Table, path: Path, place: str = "knows.people") -> Table:
    """The known people of `table`: its public columns, and those of its secrets that the file has.

    The file is read as a population is; with neither a header nor all of the table's columns it has every
    secret. `place` is where the policy names the file, for errors. Raises DataError for people who are not in the
    table, telling none of them.
    """
    header = _header(data, path, place)
    named = [c for c in known_columns(table.schema).columns if c.public or header is None or c.name in header]
    if all(column.public for column in named):
        raise DataError("has no column of a secret", place=path.name, remedy="name a column with the role `sensitive`")
    people = read_columns(data, Schema(tuple(named)), path, place)
    _refuse_strangers(people, table, place)
    return people


def _header(data: TableSource, path: Path, place: str) -> list[str] | None:
    """The names of the file's columns; None when it does not tell them."""
    content = read_bytes(path, place)
    if data.source is not None and data.source.reads(path.name):
        frame = read_source(data.source, content, path.name)
        return None if _is_nameless(frame) else list(frame.columns)
    if is_parquet(path):
        return [str(name) for name in read_parquet(content, None, path.name).columns]
    return [str(cell) for cell in read_cells(content, data.csv, path.name).iloc[0]] if data.csv.header else None


def _refuse_strangers(people: Table, table: Table, place: str) -> None:
    """DataError when more people have a record among the known people than in the table; not how many are strange."""
    own = table.project([column.name for column in people.schema.columns])[0]
    first, record = distinct_rows(pd.concat([own.frame, people.frame], ignore_index=True), people.schema)
    there = np.bincount(record[: len(own)], weights=own.weight, minlength=len(first))
    known = np.bincount(record[len(own) :], weights=people.weight, minlength=len(first))
    if (known > there).any():
        raise DataError(
            "some of them are not in the table, or not so often",
            place=place,
            remedy="name people of the table, each once",
        )
