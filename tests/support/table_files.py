"""Tables read from files written on the spot."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from leafgate import Table
from leafgate.api import LargeTable, Schema
from leafgate.io.tables import csv, reader, records
from leafgate.kernel.policy import CsvOptions, Data

PUBLIC = {"role": "quasi_identifier"}
CLASS = {"role": "class"}
Columns = dict[str, dict[str, Any]]
AB: Columns = {"a": PUBLIC, "b": CLASS}
"""A public column and a class, their domains left open."""


def data_of(columns: Columns, options: dict[str, Any], root: Path | None = None) -> Data:
    """A policy's `data` section; its files are below `root`."""
    return Data.model_validate_json(json.dumps({"columns": columns, **options}), context={"root": root or Path()})


def read(
    folder: Path, content: str | bytes, columns: Columns | None = None, *, name: str = "table.csv", **options: Any
) -> Table:
    """The Table in a file with this content; `options` stand beside `columns` in the policy."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    data = data_of(columns or AB, options)
    return table_in(data, path)


def table_in(data: Data, path: Path, schema: Schema | None = None) -> Table:
    """The Table in a file, under a policy's `data` section; `schema` is its own unless it is that of another table."""
    return reader.read_table(data, schema or data.meaning(), path)


def population_in(data: Data, path: Path) -> Table:
    """The public columns in a file of the population."""
    return reader.read_population(data, data.meaning(), path)


def known_people_in(data: Data, table: Table, path: Path) -> Table:
    """The people in a file whom an adversary knows, of those of a table."""
    return reader.read_people(data, table, path)


def csv_cells(content: bytes, names: Sequence[str], place: str, **options: Any) -> pd.DataFrame:
    """The cells of a CSV file as texts; `options` are those of `data.csv`."""
    return csv.read_csv(content, CsvOptions(**options), list(names), place)


def any_table_in(data: Data, path: Path) -> Table | LargeTable:
    """The Table in a file, or a LargeTable where an engine counts very many distinct records."""
    return reader.read_any_table(data, data.meaning(), path)


def in_blocks(patch: pytest.MonkeyPatch, most: int = 0, size: int | None = None) -> None:
    """Have tables of more distinct records than this read in blocks of a size, where an engine counts them."""
    patch.setattr(reader, "MOST_IN_MEMORY", most)
    if size is not None:
        patch.setattr(records, "BLOCK_RECORDS", size)


def people(table: Table, names: Sequence[str] = ()) -> Counter[tuple[Any, ...]]:
    """How many people share each record; a missing cell is None."""
    frame = table.frame.loc[:, list(names or table.frame.columns)].astype(object)
    rows = frame.where(frame.notna(), None).itertuples(index=False, name=None)
    found: Counter[tuple[Any, ...]] = Counter()
    for row, weight in zip(rows, table.weight.tolist(), strict=True):
        found[row] += weight
    return found
