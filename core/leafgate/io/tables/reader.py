"""From a data file to a Table, exactly as the policy states; whatever does not fit is refused."""

from __future__ import annotations

import hashlib
import io
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from leafgate.algorithms.sampling import known_columns
from leafgate.api.data_engines import DataEngine
from leafgate.errors import DataError, InconclusiveError, LeafgateError, PolicyError, raising_line
from leafgate.io.tables.cells import (
    check_header,
    check_width,
    read_bytes,
    refuse_wide,
)
from leafgate.io.tables.csv import COMMENTED, below_header, read_cells, read_csv
from leafgate.io.tables.engines import EngineError, EngineTable, TooManyRecordsError, blocks_of, open_engine_table
from leafgate.io.tables.frames import FrameTable
from leafgate.io.tables.people import Counting, TypedRecords
from leafgate.io.tables.plain_csv import is_plain
from leafgate.io.tables.records import Records, text_cells
from leafgate.io.tables.typed_cells import missing
from leafgate.kernel.components import DataSource, SourceFile
from leafgate.kernel.large_table import LargeTable
from leafgate.kernel.policy import CsvOptions, Data
from leafgate.kernel.schema import Schema
from leafgate.kernel.table import CellCounts, Table, distinct_rows
from leafgate.lazy_loading import install_command
from leafgate.plugin_output import plugin_output_dropped

T = TypeVar("T")

TableInput = Path | FrameTable
"""What a table is read from: a file, or a table in memory that stands for one."""


def read_table(
    data: Data,
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
    return reading.table(reading.records(names, schema), names, schema, count_cells=count_cells)


MOST_IN_MEMORY = 4_000_000
"""Tables of more distinct records are stored in blocks, where everything that uses them can do with that."""


def read_any_table(
    data: Data,
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
    records = reading.records(names, schema, any_size=True)
    return reading.people(records, names, schema, count_cells=count_cells)


def read_population(data: Data, schema: Schema, path: Path, engine: DataEngine | None = None) -> Table:
    """The Table of the quasi-identifiers alone, from a file with just their columns, or with all of the table's.

    `schema` is that of the table whose people the population contains. The file is read like the
    table's; without a header its columns stand in the policy's order. Raises DataError as read_table does.
    """
    return read_columns(data, Schema(schema.public), path, "data.population", engine)


def read_columns(data: Data, schema: Schema, path: Path, key: str, engine: DataEngine | None = None) -> Table:
    """The Table of the columns in `schema`, from a file with just these, or with all of the table's.

    A column `weight` counts, and columns that number the people state whose the rows are, where the file has them all.
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


def read_columns_there(data: Data, schema: Schema, path: Path, key: str, engine: DataEngine | None = None) -> Table:
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

    data: Data
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
        and states what is wrong with it.
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
        cells = file_cells(self.content, self.data.csv, self.place, self.data.source)
        return None if _is_nameless(cells) else list(cells.columns)

    def records(
        self, names: Sequence[str], schema: Schema, *, any_size: bool = False, number_rows: bool = False
    ) -> Records:
        """The cells of a file that has the columns `names`; an engine returns each distinct record of the schema once.

        With `any_size` the engine may store them on disk; `number_rows` has it say where each record first is.
        """
        if self.frame is not None:
            return self.frame.records(names)
        counting = _counting_columns(self.data)
        used, most = [name for name in names if name in schema or name in counting], None
        if any_size and self.engine_table is not None:
            most = min(MOST_IN_MEMORY, self.engine_table.engine.most_records)
        counted = self._by_engine(lambda table: table.records(names, used, most, number_rows=number_rows))
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
        return Records.of(cells, sha256=sha256, commented=commented)

    def table(self, records: Records, names: Sequence[str], schema: Schema, *, count_cells: bool = False) -> Table:
        """The people of records in main memory, as a Table; raises as `people` does."""
        table = self.people(records, names, schema, count_cells=count_cells)
        assert isinstance(table, Table)
        return table

    def people(
        self, records: Records, names: Sequence[str], schema: Schema, *, count_cells: bool = False
    ) -> Table | LargeTable:
        """The people of these records; where a cell is wrong and an engine can tell its row, the error does."""
        try:
            return self._people(records, names, schema, count_cells=count_cells)
        except DataError:
            if self.engine_table is None or not self.engine_table.engine.numbers_rows:
                raise
        records = self.records(names, schema, any_size=records.folder is not None, number_rows=True)
        return self._people(records, names, schema, count_cells=count_cells)

    def _people(
        self, records: Records, names: Sequence[str], schema: Schema, *, count_cells: bool
    ) -> Table | LargeTable:
        people = TypedRecords.of(records, schema, self.data, self.place)
        repeated = self._repeated_identifiers(people, names)
        suspected = people.suspected(repeated)
        counts = self._cell_counts(people.counting, names) if count_cells else {}
        table = people.table(
            repeated_identifiers=repeated,
            suspected=suspected,
            cell_counts=counts,
            suspected_cells={
                name: self._cell_counts(people.counting_by(name), names)
                for name, rows in suspected.items()
                if count_cells and rows is not None and set(names) <= set(people.records.texts)
            },
        )
        if isinstance(table, LargeTable) and self.engine_table is not None:
            table = replace(table, most_records=self.engine_table.engine.most_records)
        return table

    def _cell_counts(self, counting: Counting, names: Sequence[str]) -> CellCounts:
        """How many people have each text of each of these columns, dropped columns and people among them.

        Missing cells are left out. The records of an engine lack dropped columns, so that it counts each column anew.
        """

        def counted(counting: Counting, name: str) -> pd.Series:
            return counting.of_texts(name, missing(counting.records, name, self.data))

        if set(names) <= set(counting.records.texts):
            return {name: counted(counting, name) for name in names}

        def counted_by(table: EngineTable, name: str) -> pd.Series | None:
            try:
                records = table.records(names, list(dict.fromkeys([name, *_counting_columns(self.data)])))
                return counted(Counting.of(records, self.data, self.place), name)
            except TooManyRecordsError:
                return None

        return self._by_engine_again(lambda table: {name: counted_by(table, name) for name in names})

    def _repeated_identifiers(self, people: TypedRecords, names: Sequence[str]) -> tuple[str, ...]:
        """The identifier columns with a value, other than a missing one, in several of the rows that stay."""
        identifiers = [name for name, spec in self.data.columns.items() if "identifier" in spec.role and name in names]
        texts = people.records.texts
        left_out = {name: [*itertools.compress(texts[name], marks)] for name, marks in people.marks.items()}

        def is_repeated(name: str) -> bool:
            if people.records.by_engine:
                gaps = {**left_out, name: self.data.missing}
                return self._by_engine_again(lambda table: table.is_repeated(name, names, gaps))
            rows = people.records.rows_of_texts(name, people.kept)
            return any(
                count > 1 for text, count in zip(texts[name], rows, strict=True) if text not in self.data.missing
            )

        return tuple(filter(is_repeated, identifiers))

    def _by_engine_again(self, read: Callable[[EngineTable], T]) -> T:
        """What the engine reads that counted the records; InconclusiveError where it fails this time."""
        found = self._by_engine(read)
        if found is None:
            raise InconclusiveError("could not be read twice alike", place=self.place, remedy="audit a copy")
        return found


def file_cells(content: bytes, options: CsvOptions, place: str, source: DataSource | None = None) -> pd.DataFrame:
    """Every column of a data file as a categorical of texts, under its name; numbered where the file has no names."""
    if source is not None and source.reads(place):
        return read_source(source, content, place)
    if is_parquet(Path(place)):
        return read_parquet(content, None, place)
    cells = read_cells(content, options, place)
    return below_header(cells) if options.header else cells


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
    cells = {name: text_cells(table.column(name), None, f"{place}, column {name!r}") for name in header}
    return pd.DataFrame(cells).loc[:, header if names is None else list(names)]


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


def _cells(content: bytes, data: Data, names: Sequence[str], path: Path) -> pd.DataFrame:
    """The columns `names` as text, whichever kind of file it is."""
    if data.source is not None and data.source.reads(path.name):
        return declared_columns(read_source(data.source, content, path.name), names, path.name)
    if is_parquet(path):
        return read_parquet(content, names, path.name)
    return read_csv(content, data.csv, names, path.name)


def _counting_columns(data: Data) -> list[str]:
    """The columns that number the people, and the weight."""
    return [*data.persons, *([] if data.weight is None else [data.weight[0]])]


def read_people(
    data: Data, table: Table, path: Path, place: str = "knows.people", engine: DataEngine | None = None
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
