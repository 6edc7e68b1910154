"""People whose secrets the adversary already knows: how their file is read, and that they are in the table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from leafgate.csv_cells import read_cells
from leafgate.errors import DataError
from leafgate.parquet_cells import read_parquet
from leafgate.reading import is_parquet, read_columns
from leafgate.sample import known_columns
from leafgate.schema import Schema
from leafgate.table import Table, distinct_rows
from leafgate.text_cells import read_bytes

if TYPE_CHECKING:
    from leafgate.policy import Data

KEY = "knows.people"


def read_people(data: Data, table: Table, path: Path) -> Table:
    """The known people of `table`: its public columns, and those of its secrets that the file has.

    The file is read as a population is; with neither a header nor all of the table's columns it has every
    secret. Raises DataError for people who are not in the table, telling none of them.
    """
    header = _header(data, path)
    named = [c for c in known_columns(table.schema).columns if c.public or header is None or c.name in header]
    if all(column.public for column in named):
        raise DataError("has no column of a secret", place=path.name, remedy="name a column with the role `sensitive`")
    people = read_columns(data, Schema(tuple(named)), path, KEY)
    _refuse_strangers(people, table)
    return people


def _header(data: Data, path: Path) -> list[str] | None:
    """The names of the file's columns; None when it does not tell them."""
    content = read_bytes(path, KEY)
    if is_parquet(path):
        return [str(name) for name in read_parquet(content, None, path.name).columns]
    return [str(cell) for cell in read_cells(content, data.csv, path.name).iloc[0]] if data.csv.header else None


def _refuse_strangers(people: Table, table: Table) -> None:
    """DataError when more people have a record among the known people than in the table; not how many are strange."""
    own = table.project([column.name for column in people.schema.columns])[0]
    first, place = distinct_rows(pd.concat([own.frame, people.frame], ignore_index=True), people.schema)
    there = np.bincount(place[: len(own)], weights=own.weight, minlength=len(first))
    known = np.bincount(place[len(own) :], weights=people.weight, minlength=len(first))
    if (known > there).any():
        raise DataError(
            "some of them are not in the table, or not so often",
            place=KEY,
            remedy="name people of the table, each once",
        )
