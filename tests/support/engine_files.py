"""Random data files that engines read, and everything that a Table of them holds."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import strategies as st

from leafgate import Table
from leafgate.api import DataEngine
from leafgate.kernel.policy import Data
from leafgate_plugins.engines.spark import Spark

NEEDS_SPARK = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("pyspark") is None, reason="Spark is not installed"),
]
SPARK = pytest.param(Spark(master="local[2]"), id="spark", marks=NEEDS_SPARK)
COLUMNS: dict[str, Any] = {
    "age": {"role": "quasi_identifier", "bounds": [0, 120]},
    "city": {"role": "quasi_identifier", "values": ["Rome", "Bonn"], "aliases": {"Roma": "Rome"}},
    "pay": {"role": "sensitive", "bins": [0, 10, 20]},
    "code": {"role": "quasi_identifier"},
    "risk": {"role": "class", "values": ["good", "bad"]},
    "who": {"role": "identifier"},
    "times": {"role": "weight", "counts": "people", "reason": "each row stands for alike people"},
}
CELLS: dict[str, Sequence[str]] = {
    "age": ["1", "1.0", "99", "7.5", "?"],
    "city": ["Rome", "Roma", "Bonn", "?"],
    "pay": ["0", "5", "12", "1e1"],
    "code": ["007", "7", "x", ""],
    "risk": ["good", "bad"],
    "who": ["1", "2", "3", "?", ""],
    "times": ["1", "2"],
}
WRONG: dict[str, Sequence[str]] = {
    "age": ["121", "old", "-1"],
    "city": ["rome", ""],
    "pay": ["21", "?"],
    "risk": ["?", "Good"],
    "times": ["0", "1.5", "?"],
}
"""Cells that the policy does not declare."""


def section(source: DataEngine | None = None, **changes: Any) -> Data:
    """The section `data` of a policy."""
    document = {"columns": COLUMNS, "missing": ["?"], "on_missing": "drop", **changes}
    return Data.model_validate_json(json.dumps(document)).model_copy(update={"source": source})


@st.composite
def files(draw: st.DrawFn) -> str:
    """A CSV file of the columns, in which now and then a cell is wrong."""
    rows = []
    for _ in range(draw(st.integers(0, 12))):
        row = {name: draw(st.sampled_from(cells)) for name, cells in CELLS.items()}
        if draw(st.integers(0, 30)) == 30:
            name = draw(st.sampled_from([*WRONG]))
            row[name] = draw(st.sampled_from(WRONG[name]))
        rows.append([*row.values()])
    text = io.StringIO()
    csv.writer(text).writerows([[*CELLS], *rows])
    return text.getvalue()


def described(table: Table) -> tuple[Any, ...]:
    rows = None if table.rows is None else table.rows.tolist()
    records = table.frame.astype(object).where(table.frame.notna(), None).to_numpy().tolist()
    columns = [(column.name, column.values, column.bounds, column.bins) for column in table.schema.columns]
    return columns, records, table.weight.tolist(), rows, table.dropped, table.repeated_identifiers
