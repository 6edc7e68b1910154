"""Distinct records that an engine counts where the data are: DuckDB, Polars, Spark, by way of narwhals."""

from __future__ import annotations

import glob
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from leafgate.api.data_engines import DataEngine, DataLocation
from leafgate.errors import DataError, InconclusiveError, LeafgateError
from leafgate.folders import content_digest
from leafgate.io.json import parse_number
from leafgate.io.tables.cells import BELOW, check_header, check_width, refuse_wide
from leafgate.io.tables.csv import first_record
from leafgate.io.tables.plain_csv import BLOCK_BYTES
from leafgate.io.tables.records import Records, store_records, text_cells
from leafgate.kernel.large_table import ScratchFolder
from leafgate.kernel.options import digest
from leafgate.kernel.policy import CsvOptions
from leafgate.lazy_loading import require_installed

if TYPE_CHECKING:
    import narwhals as nw
    import pyarrow as pa

PARQUET = (".parquet", ".pq")
JSON_LINES = (".json", ".jsonl", ".ndjson")
HEAD_BYTES = 2**20
"""The first record of a CSV file ends within so many bytes."""
WILDCARDS = re.compile(r"[*?\[]")


class EngineError(Exception):
    """An engine could not read the data; its text is the kind of the error alone, because its own may hold cells."""


FEWER_RECORDS = "give columns of many values `bins` or the role `ignored`, or raise `data.source.most_records`"


class TooManyRecordsError(InconclusiveError):
    """A table has more distinct records than the engine may load."""


@dataclass(frozen=True)
class EngineTable:
    """A table that an engine reads.

    Attributes:
        engine: the engine.
        paths: the files; empty where the engine's options name a table.
        csv: how CSV files are written.
        place: what errors call it.
    """

    engine: DataEngine
    paths: tuple[Path, ...]
    csv: CsvOptions
    place: str

    @property
    def format(self) -> Literal["csv", "parquet", "json"]:
        formats = {_format_of(path) for path in self.paths}
        if len(formats) > 1:
            raise DataError("are files of several formats", place=self.place, remedy="name files of one format")
        return formats.pop() if formats else "csv"

    @cached_property
    def headers(self) -> Mapping[str, tuple[str, ...] | None]:
        """The names of the columns of each file, by the file's name; None for CSV without a header."""
        if not self.paths:
            with self._opened(DataLocation()) as frame:
                return {self.place: tuple(frame.collect_schema().names())}
        if self.format == "csv":
            _require_plain_options(self.csv, self.engine)
            return {path.name: self._first_record(path) if self.csv.header else None for path in self.paths}
        if self.format == "parquet":
            return {path.name: _parquet_names(path) for path in self.paths}
        headers = {}
        for path in self.paths:
            with self._opened(DataLocation((path,), self.format)) as frame:
                headers[path.name] = tuple(frame.collect_schema().names())
        return headers

    def _first_record(self, path: Path) -> tuple[str, ...]:
        try:
            with path.open("rb") as file:
                head = file.read(HEAD_BYTES)
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}", place=path.name) from None
        return tuple(first_record(head, self.csv, path.name))

    def check(self, names: Sequence[str]) -> None:
        """DataError where a file has other columns than `names`; it names the file."""
        for place, header in self.headers.items():
            if header is not None:
                refuse_wide(len(header), place)
                check_header(header, names, place)
        if len({name.casefold() for name in names}) < len(names):
            raise EngineError("names of columns that differ in capital letters alone, which engines take for one")
        if self.paths and self.format == "csv":
            if len(names) < 2:
                raise EngineError("CSV of one column, whose empty lines engines take for rows")
            if not self.csv.header:
                for path in self.paths:
                    check_width(len(self._first_record(path)), names, path.name)
            elif len(orders := {header: place for place, header in self.headers.items()}) > 1:
                remedy = "write all files with one order of columns"
                raise DataError(
                    "has its columns in another order than the others", place=[*orders.values()][-1], remedy=remedy
                )

    def location(self, names: Sequence[str]) -> DataLocation:
        """Where the rows are, for files that have the columns `names`."""
        header = next(iter(self.headers.values()))
        columns = tuple(names) if header is None else header
        return DataLocation(
            self.paths,
            self.format,
            columns if self.format == "csv" else (),
            self.csv.header,
            self.csv.delimiter,
            self.csv.quote,
        )

    def records(
        self, names: Sequence[str], used: Sequence[str], most: int | None = None, *, number_rows: bool = False
    ) -> Records:
        """The distinct records of the columns `used`, and how many rows each is; the engine counts them.

        Args:
            names: the columns that the data have.
            used: the columns to count by.
            most: more records than these stay in a temporary folder, if the engine can write them there; None where
                all have to be in main memory.
            number_rows: should each record have the number of its first row?

        Raises:
            DataError: the data have other columns than `names`, or a column does not hold plain values.
            TooManyRecordsError: there are more distinct records in main memory than the engine's `most_records`.
            EngineError: the engine raised an error.
        """
        before = _state(self.paths)
        stored = None if most is None else self._stored_records(names, used, most, number_rows, before)
        if stored is not None:
            return stored if len(stored) > (most or 0) else stored.in_memory()
        with self._grouped(names, used, number_rows) as (grouped, plain):
            table = grouped.head(self.engine.most_records + 1).collect("pyarrow").to_native()
        if table.num_rows > self.engine.most_records:
            raise TooManyRecordsError(
                f"more than {self.engine.most_records:,} distinct records, which would not fit into memory",
                place=self.place,
                remedy=FEWER_RECORDS,
            )
        types, sha256 = self._times(), self._digest_since(before)
        cells = {
            name: text_cells(table.column(plain[name]), types.get(name), f"{self.place}, column {name!r}")
            for name in used
        }
        rows = table.column("rows").to_numpy().astype(np.int64)
        first = table.column("first").to_numpy().astype(np.int64) if number_rows else None
        return Records.of(pd.DataFrame(cells, range(len(rows))), rows, first, by_engine=True, sha256=sha256)

    def _stored_records(
        self, names: Sequence[str], used: Sequence[str], most: int, number_rows: bool, before: list[tuple[int, ...]]
    ) -> Records | None:
        """The distinct records on disk; None for `most` rows or fewer, and where the engine cannot write them."""
        import narwhals as nw

        if not self.engine.writes_files or self._rows_at_most(names) <= most:
            return None
        folder = ScratchFolder()
        path = folder.path / "records.parquet"
        with self._grouped(names, used, number_rows, folder.path) as (grouped, plain):
            if nw.Int128 in grouped.collect_schema().dtypes():  # which Parquet cannot hold
                return None
            if not self.engine.write_parquet(grouped.to_native(), path):
                return None
        columns = {name: plain[name] for name in used}
        return store_records(path, columns, self._times(), self.place, self._digest_since(before), folder)

    def _rows_at_most(self, names: Sequence[str]) -> float:
        """A bound on the number of rows that is quick to find; infinite for tables and queries of databases."""
        import narwhals as nw

        self.check(names)
        if not self.paths:
            return math.inf
        if self.format == "csv":
            return sum(path.stat().st_size for path in self.paths) / len(names)  # each cell ends in a sign
        with self._opened(self.location(names)) as frame:
            return float(frame.select(nw.len()).collect("pyarrow").to_native().column(0)[0].as_py())

    @contextmanager
    def _grouped(
        self, names: Sequence[str], used: Sequence[str], number_rows: bool, folder: Path | None = None
    ) -> Iterator[tuple[Any, dict[str, str]]]:
        """The distinct records as a lazy table, and the name of each column in it.

        Its column `rows` has how many rows each is, `first` the number of the first of these.
        """
        import narwhals as nw

        self.check(names)
        number = _free_name(names)
        location = replace(self.location(names), results=folder)
        with self._renamed(location, number if number_rows else None) as (frame, plain):
            columns = [nw.len().cast(nw.Int64).alias("rows")]
            columns += [nw.col(plain[number]).min().cast(nw.Int64).alias("first")] if number_rows else []
            yield frame.group_by(*(plain[name] for name in used)).agg(*columns), plain

    def _digest_since(self, before: list[tuple[int, ...]]) -> str:
        """The digest of the files' bytes; InconclusiveError if they are not what they were."""
        sha256 = _digest(self.paths)
        if _state(self.paths) != before:
            remedy = "audit a copy that nobody writes"
            raise InconclusiveError("changed while it was read", place=self.place, remedy=remedy)
        return sha256

    def is_repeated(self, name: str, names: Sequence[str], missing: Mapping[str, Sequence[str]]) -> bool:
        """Is a value of the column in several rows? Rows with one of the `missing` texts of a column are left out."""
        import narwhals as nw

        with self._renamed(self.location(names)) as (frame, plain):
            schema = frame.collect_schema()
            for column, texts in missing.items():
                cells = nw.col(plain[column])
                if schema[plain[column]].is_numeric():
                    numbers = [number for number in map(parse_number, texts) if math.isfinite(number)]
                    gaps = cells.cast(nw.Float64).is_in(numbers)
                else:
                    gaps = cells.cast(nw.String).is_in([*texts])
                frame = frame.filter(~cells.is_null() & ~gaps if "" in texts else cells.is_null() | ~gaps)
            several = frame.group_by(plain[name]).agg(nw.len().alias("rows")).filter(nw.col("rows") > 1)
            return bool(several.head(1).collect("pyarrow").to_native().num_rows)

    def _times(self) -> dict[str, pa.DataType]:
        """The types of the columns of Parquet files that hold times; engines may change their units."""
        if self.format != "parquet" or not self.paths:
            return {}
        import pyarrow as pa
        import pyarrow.parquet as pq

        fields = pq.read_schema(self.paths[0])
        return {field.name: field.type for field in fields if pa.types.is_temporal(field.type)}

    @contextmanager
    def _renamed(
        self, location: DataLocation, number_rows: str | None = None
    ) -> Iterator[tuple[nw.LazyFrame[Any], dict[str, str]]]:
        """The rows under names without dots, quotes and spaces, and the new name of each column."""
        import narwhals as nw

        with self._opened(location, number_rows) as frame:
            plain = {name: f"column{i}" for i, name in enumerate(frame.collect_schema().names())}
            yield nw.from_native(self.engine.rename(frame.to_native(), plain)).lazy(), plain

    @contextmanager
    def _opened(self, location: DataLocation, number_rows: str | None = None) -> Iterator[Any]:
        """The rows as a lazy table of narwhals; EngineError where the engine raises an error."""
        import narwhals as nw

        try:
            with self.engine.open(location, number_rows) as native:
                yield nw.from_native(native).lazy()
        except LeafgateError:
            raise
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise EngineError(type(error).__name__) from error


def open_engine_table(engine: DataEngine, path: Path | None, csv: CsvOptions, key: str) -> EngineTable:
    """The table that a policy names at `key`: a file, the files that a pattern with `*` names, or the engine's own.

    Raises DataError where there is no such file, or the engine is not installed.
    """
    for module in (*engine.modules, "narwhals", "pyarrow"):
        require_installed(module, f"the data source {engine.use!r}", module, engine.use)
    if path is None:
        return EngineTable(engine, (), csv, "data.source")
    paths = _files(path)
    if not paths:
        raise DataError("there is no such file", place=path.name, remedy=f"correct `{key}`, {BELOW}")
    return EngineTable(engine, paths, csv, path.name)


def _files(path: Path) -> tuple[Path, ...]:
    """The file, or those that a pattern names, in the order of their names; none outside the pattern's folder."""
    if path.is_file() or not WILDCARDS.search(str(path)):
        return (path,) if path.is_file() else ()
    fixed = next(folder for folder in path.parents if not WILDCARDS.search(str(folder)))
    every = sorted(Path(name) for name in glob.glob(str(path), recursive=True))
    return tuple(each for each in every if each.is_file() and each.resolve().is_relative_to(fixed.resolve()))


def _parquet_names(path: Path) -> tuple[str, ...]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return tuple(pq.read_schema(path).names)
    except (pa.ArrowException, OSError) as error:
        raise EngineError(type(error).__name__) from error


def _format_of(path: Path) -> Literal["csv", "parquet", "json"]:
    suffix = path.suffix.lower()
    return "parquet" if suffix in PARQUET else "json" if suffix in JSON_LINES else "csv"


def divides_alike(options: CsvOptions) -> bool:
    """Do engines divide such CSV as the core does?"""
    plain = options.comment is None and not options.skip_initial_space and options.delimiter != " "
    return plain and options.encoding.lower() in {"utf-8", "utf-8-sig"}


def _require_plain_options(options: CsvOptions, engine: DataEngine) -> None:
    if not divides_alike(options):
        raise DataError(
            f"the data source {engine.use!r} reads CSV in UTF-8 without comments and without spaces behind delimiters",
            place="data.csv",
            remedy="leave out `data.source`, or convert the file to Parquet",
        )


def _free_name(names: Sequence[str]) -> str:
    """A name for the number of a row that no column has, in whatever letters."""
    taken = {name.casefold() for name in names}
    return next(name for i in range(len(names) + 1) if (name := f"leafgate_row{i}") not in taken)


def _state(paths: Sequence[Path]) -> list[tuple[int, ...]]:
    """What changes when files are written."""
    return [(each.st_ino, each.st_size, each.st_mtime_ns) for each in map(os.stat, paths)]


def _digest(paths: Sequence[Path]) -> str:
    """The digest of a file's bytes; of several files, that of their digests, a line each; empty without files."""
    digests = [digest(path, DataError) for path in paths]
    return content_digest("\n".join(digests).encode()) if len(digests) > 1 else "".join(digests)


def blocks_of(path: Path) -> Iterator[bytes]:
    """The bytes of a file, block by block."""
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            yield block
