"""From a data file to a Table, exactly as the policy says; whatever does not fit is refused."""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.algorithms.sampling import known_columns
from leafgate.api.data_engines import DataEngine
from leafgate.api.text_frames import text_column
from leafgate.errors import DataError, InconclusiveError, LeafgateError, PolicyError, Problem, raising_line
from leafgate.io.tables.cells import (
    check_header,
    check_width,
    read_bytes,
    refuse_wide,
)
from leafgate.io.tables.csv import COMMENTED, read_cells, read_csv
from leafgate.io.tables.engines import EngineError, EngineTable, TooManyRecordsError, blocks_of, open_engine_table
from leafgate.io.tables.frames import FrameTable
from leafgate.io.tables.plain_csv import is_plain
from leafgate.io.tables.raw_records import RawRecords
from leafgate.io.tables.stored_records import StoredRecords
from leafgate.io.tables.typed_cells import (
    TableSource,
    cells_among,
    complete_rows,
    missing_among,
    missing_cells,
    missing_texts,
    people_of_rows,
    persons_of_rows,
    typed_cells,
    typed_column,
    without_class,
)
from leafgate.kernel.components import DataSource, SourceFile
from leafgate.kernel.large_table import LargeTable
from leafgate.kernel.person_columns import may_number_people, suspected_persons
from leafgate.kernel.persons import PersonRows, person_rows
from leafgate.kernel.schema import Column, Schema
from leafgate.kernel.table import CellCounts, Table, distinct_rows, make_table
from leafgate.lazy_loading import install_command
from leafgate.plugin_output import plugin_output_dropped

T = TypeVar("T")

TableInput = Path | FrameTable
"""What a table is read from: a file, or a table in memory that stands for one."""


def read_table(
    data: TableSource,
    schema: Schema,
    path: TableInput | None,
    key: str = "data.path",
    engine: DataEngine | None = None,
    *,
    count_cells: bool = False,
) -> Table:
    """The Table in a data file, under the policy's `data` section.

    Args:
        data: the columns and how they are read.
        schema: has a column for each that the policy declares and does not drop.
        path: the file, or a table in memory; None where the data source names the table.
        key: where the policy names the file.
        engine: reads large CSV and Parquet files where the policy names no data source; None: the core does.
        count_cells: fill in `cell_counts`: a column that an engine finds too many texts in is None there.

    Columns without a declared domain get the one that occurs (numbers where every cell is one), so that the schema of
    the Table read from training data can read test data. Raises DataError listing every column that does not fit; its
    text never holds a cell.
    """
    reading, names = _Reading(data, path, key, engine), list(data.columns)
    records = reading.records(names, schema)
    table = reading.table(records, names, schema)
    return replace(table, cell_counts=reading.cell_counts(names, records)) if count_cells else table


MOST_IN_MEMORY = 4_000_000
"""Tables of more distinct records are stored in blocks, where everything that uses them can do with that."""

MOST_INCOMPLETE = 5_000_000
"""Of a table in blocks so many people who are left out for missing cells are loaded; of more of them, nobody."""


def read_any_table(
    data: TableSource,
    schema: Schema,
    path: TableInput | None,
    engine: DataEngine | None = None,
    *,
    count_cells: bool = False,
) -> Table | LargeTable:
    """The Table as `read_table` reads it, or a LargeTable where an engine counts very many distinct records.

    No column may be a key, hold weights or number the people.
    """
    reading, names = _Reading(data, path, "data.path", engine), list(data.columns)
    stored = reading.stored_records(names, schema)
    if stored is not None and stored.records > reading.most_in_memory:
        large = reading.large_table(stored, names, schema)
        return replace(large, cell_counts=reading.cell_counts(names)) if count_cells else large
    records = reading.records(names, schema) if stored is None else stored.in_memory()
    table = reading.table(records, names, schema)
    return replace(table, cell_counts=reading.cell_counts(names, records)) if count_cells else table


def read_population(data: TableSource, schema: Schema, path: Path, engine: DataEngine | None = None) -> Table:
    """The Table of the quasi-identifiers alone, from a file with just their columns, or with all of the table's.

    `schema` is that of the table whose people the population holds. The file is read like the
    table's; without a header its columns stand in the policy's order. Raises DataError as read_table does.
    """
    return read_columns(data, Schema(schema.public), path, "data.population", engine)


def read_columns(data: TableSource, schema: Schema, path: Path, key: str, engine: DataEngine | None = None) -> Table:
    """The Table of the columns in `schema`, from a file with just these, or with all of the table's.

    A column `weight` counts, and columns that number the people say whose the rows are, where the file has them all.
    Raises DataError as read_table does.
    """
    reading = _Reading(data, path, key, engine)
    wanted = [column.name for column in schema.columns]
    counting = _counting_columns(data)
    problem = None
    with_counting = [name for name in data.columns if name in {*wanted, *counting}]
    for names in (wanted, with_counting, list(data.columns)):
        try:
            records = reading.records(names, schema)
        except DataError as error:
            problem = problem or error
        else:
            return reading.table(records, names, schema)
    raise problem or DataError("has other columns than the table", place=reading.place)


def read_columns_there(
    data: TableSource, schema: Schema, path: Path, key: str, engine: DataEngine | None = None
) -> Table:
    """The Table of those columns in `schema` that a file has; without a header, of all of them.

    Raises DataError as read_table does, and where the file has none of these columns.
    """
    header = _Reading(data, path, key, engine).header()
    there = tuple(column for column in schema.columns if header is None or column.name in header)
    if not there:
        raise DataError("has no column of the policy", place=path.name, remedy="name a file with some of its columns")
    return read_columns(data, Schema(there, dropped=schema.dropped), path, key, engine)


ENGINE_BYTES = 2**23
"""CSV and Parquet files of so many bytes are read by an engine where one is installed."""


def is_large(path: Path) -> bool:
    """Is it a file that an engine would read, for its size?"""
    return path.is_file() and path.stat().st_size >= ENGINE_BYTES


@dataclass(eq=False)
class _Reading:
    """The reading of one data file: by the core, by a data source or by an engine.

    Attributes:
        data: how the policy has it read.
        path: the file, or a table in memory; None where the data source names the table.
        key: where the policy names it.
        engine: what reads large files where the policy names no data source.
    """

    data: TableSource
    path: TableInput | None
    key: str
    engine: DataEngine | None

    @property
    def frame(self) -> FrameTable | None:
        """The table in memory; None where a file is read."""
        return self.path if isinstance(self.path, FrameTable) else None

    @property
    def place(self) -> str:
        """What errors call the file."""
        if isinstance(self.path, FrameTable):
            return self.path.place
        return "data.source" if self.path is None else self.path.name

    @cached_property
    def content(self) -> bytes:
        """The bytes of the file."""
        return read_bytes(self.path if isinstance(self.path, Path) else Path(), self.key)

    @cached_property
    def engine_table(self) -> EngineTable | None:
        """The table as an engine reads it; None where the core or a data source reads it, or it is in memory."""
        source = self.data.source
        if isinstance(self.path, FrameTable):
            return None
        if self.path is None and not (isinstance(source, DataEngine) and source.names_table):
            raise PolicyError("says not where the table is", place=self.key, remedy="name it there, or give DATA")
        if isinstance(source, DataEngine):
            return open_engine_table(source, self.path, self.data.csv, self.key)
        if self.engine is None or self.path is None or not self._is_for_engine(self.path):
            return None
        return open_engine_table(self.engine, self.path, self.data.csv, self.key)

    def _is_for_engine(self, path: Path) -> bool:
        """May an engine read the file in place of the core, because it is large and cannot be misread?"""
        read_otherwise = self.data.source is not None and self.data.source.reads(path.name)
        return is_large(path) and not read_otherwise and (is_parquet(path) or is_plain(blocks_of(path), self.data.csv))

    def _by_engine(self, read: Callable[[EngineTable], T]) -> T | None:
        """What the engine reads; None where the core or a data source reads the file.

        Where the policy names the engine, its failure ends the audit; otherwise the core reads the file in its place,
        and says what is wrong with it.
        """
        table = self.engine_table
        if table is None:
            return None
        try:
            return read(table)
        except EngineError as error:
            if self.data.source is None:
                self.engine_table = None
                return None
            raise InconclusiveError(
                f"{table.engine.use} could not read the data ({error})",
                place=self.place,
                remedy="is it whole, and is there room in the temporary folder? CSV errors name the row without "
                "`data.source`",
            ) from None

    def header(self) -> list[str] | None:
        """The names of the file's columns; None when it does not tell them."""
        if self.frame is not None:
            return self.frame.names
        headers = self._by_engine(lambda table: table.headers)
        if headers is not None:
            first = next(iter(headers.values()))
            return None if first is None else list(first)
        path, source = Path(self.place), self.data.source
        if source is not None and source.reads(path.name):
            frame = read_source(source, self.content, path.name)
            return None if _is_nameless(frame) else list(frame.columns)
        if is_parquet(path):
            return [str(name) for name in read_parquet(self.content, None, path.name).columns]
        if not self.data.csv.header:
            return None
        return [str(cell) for cell in read_cells(self.content, self.data.csv, path.name).iloc[0]]

    def records(self, names: Sequence[str], schema: Schema, *, number_rows: bool = False) -> RawRecords:
        """The cells of a file that has the columns `names`; an engine returns each distinct record of the schema once.

        `number_rows` has an engine say where each record first is.
        """
        if self.frame is not None:
            return self.frame.records(names)
        counting = _counting_columns(self.data)
        used = [name for name in names if name in schema or name in counting]
        counted = self._by_engine(lambda table: table.count_records(names, used, number_rows=number_rows))
        if counted is not None:
            return counted.expanded() if schema.having("key") else counted
        cells = _cells(self.content, self.data, names, Path(self.place))
        sha256, commented = hashlib.sha256(self.content).hexdigest(), cells.attrs.get(COMMENTED, 0)
        if commented and ("data", "csv", "comment") in self.data.file_checks:
            raise DataError(
                "`data.csv.comment` skips lines with as many cells as the table, which what the policy extends does "
                "not allow",
                place=self.place,
                remedy="leave them out of the file, or state `csv` in the policy that is extended",
            )
        return RawRecords(cells, sha256=sha256, commented=commented)

    @property
    def most_in_memory(self) -> int:
        """A table of more distinct records is a LargeTable, where that is possible."""
        engine = None if self.engine_table is None else self.engine_table.engine
        return MOST_IN_MEMORY if engine is None else min(MOST_IN_MEMORY, engine.most_records)

    def stored_records(
        self, names: Sequence[str], schema: Schema, *, number_rows: bool = False
    ) -> StoredRecords | None:
        """The distinct records of the schema, stored by an engine; None where they fit into memory for sure."""
        used, most = [name for name in names if name in schema], self.most_in_memory
        return self._by_engine(lambda table: table.store_records(names, used, most, number_rows=number_rows))

    def large_table(self, stored: StoredRecords, names: Sequence[str], schema: Schema) -> LargeTable:
        """The LargeTable of these records; where a cell is wrong and an engine can tell its row, the error does."""
        try:
            return _large_table(stored, schema, self, names)
        except DataError:
            engine = None if self.engine_table is None else self.engine_table.engine
            numbered = None
            if engine is not None and engine.numbers_rows:
                numbered = self.stored_records(names, schema, number_rows=True)
            if numbered is None:
                raise
        return _large_table(numbered, schema, self, names)

    def table(self, records: RawRecords, names: Sequence[str], schema: Schema) -> Table:
        """The Table of these records; where a cell is wrong and an engine can tell its row, the error does."""
        try:
            return _table(records, schema, self, names)
        except DataError:
            engine = None if self.engine_table is None else self.engine_table.engine
            if engine is None or not engine.numbers_rows:
                raise
        return _table(self.records(names, schema, number_rows=True), schema, self, names)

    def cell_counts(self, names: Sequence[str], records: RawRecords | None = None) -> CellCounts:
        """How many people have each text of each of these columns, dropped columns and people among them.

        Missing cells are left out, and people are counted as limits count them. The `records` were read before; those
        of an engine lack dropped columns, so that it counts each column anew.
        """
        if records is not None and set(names) <= set(records.cells):
            person = persons_of_rows(records, self.data, self.place)[0]
            return {name: self._counted(records, name, person) for name in names}
        counting = _counting_columns(self.data)

        def counted(table: EngineTable, name: str) -> pd.Series | None:
            try:
                records = table.count_records(names, list(dict.fromkeys([name, *counting])))
                return self._counted(records, name, persons_of_rows(records, self.data, self.place)[0])
            except TooManyRecordsError:
                return None

        counts = self._by_engine(lambda table: {name: counted(table, name) for name in names})
        if counts is None:  # the engine failed after it had counted the records
            raise InconclusiveError("could not be read twice alike", place=self.place, remedy="audit a copy")
        return counts

    def _counted(self, records: RawRecords, name: str, person: NDArray[np.int64] | None) -> pd.Series:
        weight, counts_people = people_of_rows(records, self.data, self.place)
        people = records.rows if counts_people is False else weight
        cells = records.cells[name].cat
        if person is None:
            sums = np.bincount(cells.codes, weights=people, minlength=len(cells.categories))
        else:
            codes, size = cells.codes.to_numpy().astype(np.int64), len(cells.categories)
            sums = person_rows(codes, person, people).counted_by(np.arange(size), size)
        counts = pd.Series(sums, index=cells.categories)
        return counts[(counts > 0) & ~counts.index.isin(missing_texts(records.cells[name], name, self.data))]

    def repeated_identifiers(
        self, records: RawRecords, names: Sequence[str], keep: NDArray[np.bool_], missing: Mapping[str, Sequence[str]]
    ) -> tuple[str, ...]:
        """The identifier columns with a value, other than a missing one, in several rows.

        Args:
            records: the records of the file.
            names: the columns of the file.
            keep: which of the records stay.
            missing: the missing texts of each column for which rows are left out.
        """
        identifiers = [name for name, spec in self.data.columns.items() if "identifier" in spec.role and name in names]
        if records.counts is None and not records.by_engine:
            cells = records.cells.loc[keep]
            return tuple(n for n in identifiers if cells.loc[~cells[n].isin(self.data.missing), n].duplicated().any())

        def is_repeated(name: str) -> bool:
            left_out = {**missing, name: self.data.missing}
            repeated = self._by_engine(lambda table: table.is_repeated(name, names, left_out))
            if repeated is None:  # the engine failed after it had counted the records
                raise InconclusiveError("could not be read twice alike", place=self.place, remedy="audit a copy")
            return repeated

        return tuple(filter(is_repeated, identifiers))


def is_parquet(path: Path) -> bool:
    """Is the file Parquet by its suffix? Every other file is read as CSV."""
    return path.suffix in {".parquet", ".pq"}


def read_parquet(content: bytes, names: Sequence[str] | None, place: str) -> pd.DataFrame:
    """The declared columns of a Parquet file (None: all) as text; a null becomes an empty text."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        remedy = f"install it: {install_command('parquet')}"
        raise DataError("Parquet needs pyarrow", place=place, remedy=remedy) from None
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
        with plugin_output_dropped():
            frame: object = source.read(SourceFile(name, content))
    except LeafgateError as error:
        problems = [problem if problem.location else replace(problem, location=name) for problem in error.problems]
        raise type(error).listing(problems) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _failed(source, f"raised {type(error).__name__}{raising_line(error)}") from None
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


def _cells(content: bytes, data: TableSource, names: Sequence[str], path: Path) -> pd.DataFrame:
    """The columns `names` as text, whichever kind of file it is."""
    if data.source is not None and data.source.reads(path.name):
        return declared_columns(read_source(data.source, content, path.name), names, path.name)
    if is_parquet(path):
        return read_parquet(content, names, path.name)
    return read_csv(content, data.csv, names, path.name)


def _table(records: RawRecords, schema: Schema, reading: _Reading, names: Sequence[str]) -> Table:
    raw, data, place = records.cells, reading.data, reading.place
    if raw.shape[0] == 0:
        raise DataError("the file holds no rows", place=place)
    gaps = {column.name: missing_cells(raw[column.name], column, data) for column in schema.columns}
    no_class = _without_class(schema, data, {str(name): raw[name].cat.categories for name in raw})
    unlabelled = np.zeros(len(raw), dtype=np.bool_)
    for name, texts in no_class.items():
        unlabelled |= cells_among(raw[name], texts)
    incomplete = np.logical_or.reduce([unlabelled, *gaps.values()])
    dropped = unlabelled | (incomplete & (data.on_missing == "drop"))
    typed, schema = typed_cells(records, schema, data, dropped, place)
    weight, counts_people = people_of_rows(records, data, place)
    person, ids = persons_of_rows(records, data, place)
    gaps = {name: gap & ~unlabelled for name, gap in gaps.items()}
    complete = complete_rows(gaps, schema, data, records, place)
    keep = complete & ~unlabelled
    if not keep.any():
        raise DataError("every row has a missing cell or no class, none is left", place=place)
    missing = {
        name: missing_texts(raw[name], name, data) for name, gap in gaps.items() if (gap & ~keep).any()
    } | no_class
    whose = None if person is None else person[keep]
    table = make_table(
        schema, typed[keep], weight[keep], counts_people=counts_people, rows=records.rows[keep], person=whose, ids=ids
    )
    if table.person_rows is not None:
        table = replace(table, person_rows=replace(table.person_rows, rows_at_most=data.rows_at_most))
    left_out, suspected = None, dict[str, PersonRows | None]()
    repeated = reading.repeated_identifiers(records, names, keep, missing)
    if not _says_what_rows_are(data):
        suspected |= {name: None for name in repeated if may_number_people(name) and name not in raw}
        for name, whose_then in _suspected(raw, data, keep, records.rows[keep]).items():
            suspected[name] = make_table(schema, typed[keep], weight[keep], person=whose_then).person_rows
    if not complete.all():
        left_out = _incomplete(schema, typed, ~complete, weight, counts_people, records.rows, person)
    people = records.rows if counts_people is False else weight
    return replace(
        table,
        dropped=_people_dropped(people, ~complete, person),
        without_class=_people_dropped(people, unlabelled, person),
        left_out_rows={} if person is None else _left_out_rows(people, person, ~complete, unlabelled),
        commented=records.commented,
        repeated_identifiers=repeated,
        sha256=records.sha256,
        incomplete=left_out,
        suspected=suspected,
    )


def _counting_columns(data: TableSource) -> list[str]:
    """The columns that number the people, and the weight."""
    return [*data.persons, *([] if data.weight is None else [data.weight[0]])]


def _says_what_rows_are(data: TableSource) -> bool:
    """Does the policy say whose each row is, how many people it stands for, or that it is a person?"""
    return bool(data.persons) or data.weight is not None or data.rows is not None


def _suspected(
    raw: pd.DataFrame, data: TableSource, keep: NDArray[np.bool_], rows: NDArray[np.int64]
) -> dict[str, NDArray[np.int64]]:
    """For each column that may number the people the number of its text in each record that stays; -1 where missing.

    `rows` are those of each record that stays.
    """
    identifiers = frozenset(name for name in raw.columns if "identifier" in data.columns[name].role)
    codes, rows_of_text = {}, {}
    for name in _may_number_people(raw.columns, data):
        cells = raw[name].cat
        absent = np.flatnonzero(cells.categories.isin(list(missing_texts(raw[name], name, data))))
        own = cells.codes.to_numpy()[keep].astype(np.int64)
        codes[name] = np.where(np.isin(own, absent), -1, own)
        there = codes[name] >= 0
        counts = np.bincount(codes[name][there], weights=rows[there], minlength=len(cells.categories))
        rows_of_text[name] = pd.Series(counts.astype(np.int64), cells.categories)
    return {name: codes[name] for name in suspected_persons(rows_of_text, identifiers)}


def _may_number_people(names: Iterable[str], data: TableSource) -> list[str]:
    """The columns that are looked at as such that may number the people, by their names and roles alone."""
    roles = {name: {*data.columns[name].role} for name in names}
    others = [name for name in roles if not {"class", "sensitive", "key"} & roles[name]]
    return [name for name in others if "identifier" in roles[name] or may_number_people(name)]


def _suspected_beyond_memory(stored: StoredRecords, data: TableSource) -> list[str]:
    """The columns that may number the people of records in blocks; identifiers are not among these."""
    rows = {}
    for name in _may_number_people(stored.texts, data):
        texts = stored.texts[name]
        missing = np.isin(texts, missing_among(texts, name, data))
        rows[name] = pd.Series(np.where(missing, 0, stored.counts_of(name, {})), pd.Index(texts))
    return [*suspected_persons(rows, frozenset())]


def _people_dropped(people: NDArray[np.int64], dropped: NDArray[np.bool_], person: NDArray[np.int64] | None) -> int:
    """How many people rows of whom are dropped; rows that do not say whose they are count by themselves."""
    if person is None:
        return int(people[dropped].sum())
    return len(np.unique(person[dropped & (person >= 0)])) + int(people[dropped & (person < 0)].sum())


def _left_out_rows(
    rows: NDArray[np.int64], person: NDArray[np.int64], dropped: NDArray[np.bool_], unlabelled: NDArray[np.bool_]
) -> dict[str, tuple[int, int]]:
    """`Table.left_out_rows`; who has rows that were left out for either reason counts for missing cells."""
    gone, found = ~np.isin(person, person[~dropped & ~unlabelled]), {}
    for key, which in (("dropped", dropped), ("without_class", unlabelled)):
        found[key] = int(rows[which].sum()), _people_dropped(rows, which & (gone | (person < 0)), person)
        gone &= ~np.isin(person, person[which])
    return found


def _without_class(schema: Schema, data: TableSource, texts: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """The texts of the class that say that somebody has none, by its name; empty where no cell says so."""
    found = {each.name: without_class(texts[each.name], each.name, data) for each in schema.having("class")}
    return {name: marks for name, marks in found.items() if marks}


def _incomplete(
    schema: Schema,
    typed: pd.DataFrame,
    left_out: NDArray[np.bool_],
    weight: NDArray[np.int64],
    counts_people: bool | None,
    rows: NDArray[np.int64],
    person: NDArray[np.int64] | None = None,
) -> Table:
    """The people who are left out, but for those whose class or secrets are no values of these columns."""
    for column in schema.columns:
        if column.roles & {"class", "sensitive"}:
            left_out = left_out & typed[column.name].notna().to_numpy()
    kept = typed[left_out].reset_index(drop=True)
    some = schema.with_missing_cells
    whose = None if person is None else person[left_out]
    return make_table(some, kept, weight[left_out], counts_people=counts_people, rows=rows[left_out], person=whose)


def _large_table(stored: StoredRecords, schema: Schema, reading: _Reading, names: Sequence[str]) -> LargeTable:
    """What `_table` does, for records in blocks: each column's texts stand for its cells."""
    data, place = reading.data, reading.place
    no_class, unlabelled = _without_class(schema, data, stored.texts), 0
    for name, texts in no_class.items():
        marked = np.isin(stored.texts[name], texts)
        unlabelled = int(stored.counts_of(name, {})[marked].sum())
        stored = stored.kept({name: marked})
    gaps = {
        column.name: np.isin(stored.texts[column.name], missing_among(stored.texts[column.name], column.name, data))
        for column in schema.columns
    }
    dropping = gaps if data.on_missing == "drop" else {}
    columns: list[Column] = []
    values: dict[str, dict[str, Any]] = {}
    problems: list[Problem] = []
    for column in schema.columns:
        records = stored.column(column.name, dropping)
        try:
            known, cells = typed_column(records, column, data, records.rows == 0, place)
        except DataError as error:
            problems.extend(error.problems)
        else:
            columns.append(known)
            numbers = cells.to_numpy() if known.holds_numbers else cells.cat.codes.to_numpy().astype(np.int64)
            values[column.name] = dict(zip(stored.texts[column.name], numbers.tolist(), strict=True))
    if problems:
        raise DataError.listing(problems)
    patterns, incomplete = stored.gap_patterns(gaps)
    keep = complete_rows(incomplete, schema, data, patterns, place)
    if not keep.any():
        raise DataError("every row has a missing cell, none is left", place=place)
    missing = {
        name: missing_among(stored.texts[name], name, data) for name, gap in incomplete.items() if (gap & ~keep).any()
    } | no_class
    repeated = reading.repeated_identifiers(patterns, names, keep, missing)
    schema, incomplete_people = Schema(tuple(columns), dropped=schema.dropped), None
    if not keep.all():
        fits = int(patterns.rows[~keep].sum()) <= MOST_INCOMPLETE
        left_out = stored.in_memory(gaps if fits else {})
        typed = {each.name: _cells_of_texts(each, left_out.cells[each.name], values[each.name]) for each in columns}
        all_of_them = np.ones(len(left_out.rows), dtype=np.bool_)
        incomplete_people = _incomplete(schema, pd.DataFrame(typed), all_of_them, left_out.rows, None, left_out.rows)
        stored = stored.kept(gaps)
    suspected = []
    if not _says_what_rows_are(data):
        suspected = [*filter(may_number_people, repeated), *_suspected_beyond_memory(stored, data)]
    found = {name: np.array([of_text[text] for text in stored.texts[name]]) for name, of_text in values.items()}
    alike = any(len(np.unique(numbers)) < len(numbers) for numbers in found.values())
    return LargeTable(
        schema,
        stored.blocks,
        found,
        people=int(patterns.rows[keep].sum()),
        distinct=None if alike else stored.records,
        dropped=int(patterns.rows[~keep].sum()),
        without_class=unlabelled,
        repeated_identifiers=repeated,
        suspected=dict.fromkeys(suspected),
        sha256=stored.sha256,
        folder=stored.folder,
        most_records=sys.maxsize if reading.engine_table is None else reading.engine_table.engine.most_records,
        incomplete=incomplete_people,
    )


def _cells_of_texts(column: Column, texts: pd.Series, meaning: Mapping[str, Any]) -> pd.Series:
    """A column's cells, from its texts and the number or the position in the domain that each text stands for."""
    numbers = np.array([meaning[text] for text in texts.cat.categories])[texts.cat.codes.to_numpy()]
    if column.values is None or column.holds_numbers:
        return pd.Series(numbers)
    return pd.Series(pd.Categorical.from_codes(numbers, categories=pd.Index(column.values)))


def read_people(
    data: TableSource, table: Table, path: Path, place: str = "knows.people", engine: DataEngine | None = None
) -> Table:
    """The known people of `table`: its public columns, and those of its secrets that the file has.

    The file is read as a population is; with neither a header nor all of the table's columns it has every
    secret. `place` is where the policy names the file, for errors. Raises DataError for people who are not in the
    table, telling none of them.
    """
    header = _Reading(data, path, place, engine).header()
    named = [c for c in known_columns(table.schema).columns if c.public or header is None or c.name in header]
    if all(column.public for column in named):
        raise DataError("has no column of a secret", place=path.name, remedy="name a column with the role `sensitive`")
    people = read_columns(data, Schema(tuple(named)), path, place, engine)
    _refuse_strangers(people, table, place)
    return people


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
