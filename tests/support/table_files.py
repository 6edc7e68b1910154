"""Tables read from files written on the spot."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leafgate import Table
from leafgate.io.tables.reader import read_table
from leafgate.kernel.policy import Data

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
    return read_table(data, data.meaning(), path)


def people(table: Table, names: Sequence[str] = ()) -> Counter[tuple[Any, ...]]:
    """How many people share each record; a missing cell is None."""
    frame = table.frame.loc[:, list(names or table.frame.columns)].astype(object)
    rows = frame.where(frame.notna(), None).itertuples(index=False, name=None)
    found: Counter[tuple[Any, ...]] = Counter()
    for row, weight in zip(rows, table.weight.tolist(), strict=True):
        found[row] += weight
    return found
