"""DuckDB: Parquet, CSV and JSON lines, and tables and queries of DuckDB files, with bounded memory."""

from __future__ import annotations

import atexit
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, model_validator

from leafgate.api import DataEngine, DataError, PeopleFile, PolicyError, PositiveFloat
from leafgate.api.data_engines import DataLocation

if TYPE_CHECKING:
    import duckdb

GIGABYTE = 10**9


class DuckDb(DataEngine):
    """DuckDB reads Parquet, CSV and JSON lines (`path`, also a pattern such as `people-*.parquet`), or a DuckDB file.

    It holds at most `memory` in main memory, and spills what is more into a temporary folder that only the owner can
    read and that is deleted at the end. It opens nothing but the named files, no extension and no network.
    """

    use: Literal["duckdb"] = "duckdb"
    database: PeopleFile | None = Field(None, description="A DuckDB file with the table; it is opened read-only.")
    table: str | None = Field(None, description="The table or view in `database` to read.")
    query: str | None = Field(None, description="A SELECT over `database` in place of `table`.")
    memory: PositiveFloat = Field(2.0, description="Gigabytes of main memory that DuckDB may use.")
    threads: int | None = Field(None, ge=1, description="Threads; as many as there are processors if left out.")

    keeps_rows = DataEngine.keeps_rows | {"database", "table", "memory", "threads"}
    modules = ("duckdb",)
    numbers_rows = True
    writes_files = True

    @model_validator(mode="after")
    def _names_one_table(self) -> Self:
        named = (self.table is not None) + (self.query is not None)
        if named != (self.database is not None):
            raise ValueError("`database` needs `table` or `query`, one of them, and these need `database`")
        return self

    @property
    def names_table(self) -> bool:
        return self.database is not None

    @classmethod
    def default(cls) -> Self | None:
        return cls() if cls.is_installed() else None

    @contextmanager
    def open(self, location: DataLocation, number_rows: str | None = None) -> Iterator[Any]:
        import duckdb

        _be_quiet_at_exit()
        with tempfile.TemporaryDirectory(prefix="leafgate-duckdb-", ignore_cleanup_errors=True) as folder:
            connection = duckdb.connect(
                config={
                    "memory_limit": f"{self.memory * GIGABYTE:.0f}B",
                    "temp_directory": folder,
                    "autoinstall_known_extensions": False,
                    "autoload_known_extensions": False,
                    "preserve_insertion_order": number_rows is not None,
                    **({} if self.threads is None else {"threads": self.threads}),
                }
            )
            try:
                rows = self._rows(connection, location)
                if number_rows is not None:
                    rows = rows.project(f"*, row_number() OVER () AS {_quoted(number_rows)}")
                yield rows
            except RuntimeError as error:
                if "interrupted" in str(error).lower():  # what DuckDB makes of Ctrl-C
                    raise KeyboardInterrupt from None
                raise
            finally:
                connection.close()

    def rename(self, rows: duckdb.DuckDBPyRelation, names: Mapping[str, str]) -> duckdb.DuckDBPyRelation:
        return rows.project(", ".join(f"{_quoted(old)} AS {new}" for old, new in names.items()))

    def _rows(self, connection: duckdb.DuckDBPyConnection, location: DataLocation) -> duckdb.DuckDBPyRelation:
        if self.database is not None and not location.paths:
            return self._rows_of_database(connection, self.database, location.results)
        _lock(connection, location.paths, location.results)
        files = [str(path) for path in location.paths]
        if location.format == "parquet":
            return connection.read_parquet(files, union_by_name=True)
        if location.format == "json":
            names = connection.sql(
                "SELECT * FROM read_json($files, format='newline_delimited', sample_size=-1)", params={"files": files}
            ).columns
            return connection.sql(
                "SELECT * FROM read_json($files, format='newline_delimited', columns=$columns)",
                params={"files": files, "columns": dict.fromkeys(names, "VARCHAR")},
            )
        return connection.sql(
            "SELECT * FROM read_csv($files, auto_detect=false, header=$header, delim=$delim, quote=$quote, "
            "escape=$quote, strict_mode=true, columns=$columns)",
            params={
                "files": files,
                "header": location.header,
                "delim": location.delimiter,
                "quote": location.quote,
                "columns": dict.fromkeys(location.columns, "VARCHAR"),
            },
        )

    def _rows_of_database(
        self, connection: duckdb.DuckDBPyConnection, database: Path, results: Path | None
    ) -> duckdb.DuckDBPyRelation:
        import duckdb

        if not database.is_file():
            raise DataError("there is no such file", place=database.name, remedy="correct `data.source.database`")
        name = str(database).replace("'", "''")
        try:
            connection.execute(f"ATTACH '{name}' AS people (READ_ONLY)")
        except duckdb.Error:
            remedy = "is it a DuckDB file that nobody else has open for writing?"
            raise DataError("cannot be opened by DuckDB", place=database.name, remedy=remedy) from None
        connection.execute("USE people")
        _lock(connection, (database,), results)
        if self.table is not None:
            tables = {row[0] for row in connection.execute("SHOW TABLES").fetchall()}
            if self.table not in tables:
                message = f"has no table {self.table!r}"
                raise DataError(message, place=database.name, remedy="correct `data.source.table`")
            return connection.table(_quoted(self.table))
        query = self.query or ""
        try:
            (statement,) = connection.extract_statements(query)
        except (duckdb.Error, ValueError):
            statement = None
        if statement is None or statement.type != duckdb.StatementType.SELECT:
            raise PolicyError("is not one SELECT", place="data.source.query", remedy="write one SELECT over the tables")
        try:
            return connection.sql(query)
        except duckdb.Error as error:
            kind = type(error).__name__
            remedy = "try it in DuckDB itself; it can read the tables of `database` alone"
            raise PolicyError(f"cannot be run ({kind})", place="data.source.query", remedy=remedy) from None


@cache
def _be_quiet_at_exit() -> None:
    """Keep DuckDB 2 from listing, when the process ends, objects of its own that narwhals and pyarrow still refer to.

    The list is written to stderr by C++, after everything else has ended, and means nothing to users.
    """
    atexit.register(lambda: os.dup2(os.open(os.devnull, os.O_WRONLY), 2))


def _lock(connection: duckdb.DuckDBPyConnection, files: tuple[Path, ...], results: Path | None) -> None:
    """Allow these files and the folder of results alone, and no change of that."""
    connection.execute(f"SET allowed_paths = [{_texts(*files)}]")
    if results is not None:
        connection.execute(f"SET allowed_directories = [{_texts(results)}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _texts(*paths: Path) -> str:
    """Paths as texts of SQL."""
    return ", ".join("'" + str(path).replace("'", "''") + "'" for path in paths)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
