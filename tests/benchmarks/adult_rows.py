"""Adult for benchmarks: as it is, and drawn with replacement to any size."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate import Table
from leafgate.api import Schema, make_table
from leafgate.app import open_session
from leafgate.session.run import Session

POLICIES = Path(__file__).resolve().parents[2] / "policies"


def adult(root: Path) -> Session:
    """The policy with 13 public attributes, its tables read."""
    return open_session(POLICIES / "adult-all.yaml", root=root)


def drawn(table: Table, people: int, seed: int = 7) -> tuple[pd.DataFrame, Schema]:
    """Rows of the table, drawn with replacement in proportion to their weights."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(table), size=people, p=table.weight / table.total_weight)
    return table.frame.iloc[rows].reset_index(drop=True), table.schema


def all_different(table: Table, people: int, seed: int = 7) -> Table:
    """Drawn rows whose hours per week are spread so that no two people are alike."""
    frame, schema = drawn(table, people, seed)
    frame["hours-per-week"] = frame["hours-per-week"] + np.random.default_rng(seed).random(people) - 0.5
    return make_table(schema, frame)


def with_private(table: Table, names: Collection[str]) -> Table:
    """The same people, some columns unknown to outsiders."""
    private = frozenset({"private"})
    columns = tuple(replace(c, roles=private, hierarchy=None) if c.name in names else c for c in table.schema.columns)
    return make_table(Schema(columns), table.frame, table.weight)


def matrix(table: Table) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Every person as a row of numbers, categories as ordinals, and the classes: what scikit-learn is given."""
    columns = [table.numbers(c.name) if c.numeric else table.codes(c.name) for c in table.schema.features]
    rows = np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)
    classes = table.codes(table.schema.target.name)
    return np.repeat(rows, table.weight, axis=0), np.repeat(classes, table.weight)
