"""Tables of SQLite files."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from leafgate.api import DataError, DataSource, SourceFile, text_frame

if TYPE_CHECKING:
    import pandas as pd

WAL = b"\x02"


class Sqlite(DataSource):
    """One table of a SQLite file."""

    use: Literal["sqlite"] = "sqlite"
    table: str = Field(description="The table to read. Views are not read: a query of the file's own may never end.")

    suffixes = frozenset({".sqlite", ".sqlite3", ".db"})

    def read(self, file: SourceFile) -> pd.DataFrame:
        if WAL in (file.content[18:19], file.content[19:20]):
            # What was written last may stand in another file, FILE-wal, which is not audited.
            raise DataError(
                "is a SQLite file with a write-ahead log",
                place=file.name,
                remedy="run `PRAGMA journal_mode=DELETE` on it",
            )
        with closing(sqlite3.connect(":memory:")) as database:
            try:
                database.deserialize(file.content)
                database.execute("PRAGMA query_only=1")
                found = database.execute("SELECT 1 FROM sqlite_master WHERE type='table' AND name=?", [self.table])
                if found.fetchone() is None:
                    raise DataError(
                        f"has no table {self.table!r}", place=file.name, remedy="correct `data.source.table`"
                    )
                name = self.table.replace('"', '""')
                rows = database.execute(f'SELECT * FROM "{name}"')
                return text_frame([column[0] for column in rows.description], rows, file.name)
            except (sqlite3.Error, UnicodeDecodeError):
                raise DataError(
                    "is no SQLite file, or a damaged one", place=file.name, remedy="write it again"
                ) from None
