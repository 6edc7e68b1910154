"""Random small tables of people, skewed so that groups of one class or one secret occur."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from generator.people import draw_columns, is_number
from leafgate import Table
from leafgate.api import Schema, make_table, typed_column
from leafgate.kernel.policy import Data

Rng = np.random.Generator
CLASSES = ("no", "yes", "maybe")
MISSING_SHARE = 0.08


@dataclass(frozen=True)
class DeclaredPeople:
    """A table, and the part of a policy that describes it: `data` without a path."""

    data: Mapping[str, Any]
    table: Table

    @property
    def schema(self) -> Schema:
        return self.table.schema

    def with_table(self, table: Table) -> DeclaredPeople:
        """The same policy with another table."""
        return DeclaredPeople(self.data, table)


def people_from(
    data: Mapping[str, Any], rows: Sequence[Sequence[Any]], weight: Sequence[int] | None = None
) -> DeclaredPeople:
    """The people written out, cells in the order of the policy's columns."""
    schema = Data.model_validate_json(json.dumps(data)).meaning()
    frame = pd.DataFrame({c.name: typed_column(c, [row[i] for row in rows]) for i, c in enumerate(schema.columns)})
    return DeclaredPeople(data, make_table(schema, frame, None if weight is None else np.array(weight, dtype=np.int64)))


def draw_declared_people(rng: Rng, *, plain: bool = False) -> DeclaredPeople:
    """20 to 400 people with 2 to 6 columns and a class of 2 or 3 values.

    `plain`: no secret number is binned, and nothing is missing.
    """
    keeps_missing = not plain and rng.random() < 0.3
    low, high = ((20, 60), (60, 150), (150, 400))[int(rng.choice(3, p=[0.5, 0.3, 0.2]))]
    size = int(rng.integers(low, high + 1))
    drawn = draw_columns(rng, size)
    data = {"columns": _declared(rng, drawn, plain=plain)} | ({"on_missing": "keep"} if keeps_missing else {})
    schema = Data.model_validate_json(json.dumps(data)).meaning()
    weight = rng.integers(1, 5, size) if rng.random() < 0.3 else np.ones(size, dtype=np.int64)
    if weight.sum() > 400:
        weight = np.ones(size, dtype=np.int64)
    cells = {name: np.array(column, dtype=object) for name, column in drawn.items()}
    for column in schema.features:
        if column.missing:
            cells[column.name][rng.random(size) < MISSING_SHARE] = None
    _tie_secrets(rng, schema, cells)
    cells[schema.target.name] = _draw_classes(rng, schema, cells, size)
    frame = pd.DataFrame({c.name: typed_column(c, list(cells[c.name])) for c in schema.columns})
    return DeclaredPeople(data, make_table(schema, frame, weight.astype(np.int64)))


def _declared(rng: Rng, drawn: Mapping[str, pd.Series], *, plain: bool) -> dict[str, Any]:
    """Each column with a role and the domain that occurs; the edges of bins are numbers that people have."""
    columns: dict[str, Any] = {}
    for i, (name, cells) in enumerate(drawn.items()):
        role = "quasi_identifier" if i == 0 else str(rng.choice(["quasi_identifier", "private", "sensitive"], p=P_ROLE))
        values = sorted(cells.unique().tolist())
        if not is_number(cells):
            columns[name] = {"role": role, "values": values} | ({"ordered": True} if rng.random() < 0.25 else {})
        elif role == "sensitive" and len(values) > 3 and not plain:
            inner = sorted(rng.choice(values[1:-1], int(rng.integers(1, 3)), replace=False).tolist())
            columns[name] = {"role": role, "bins": [values[0], *inner, values[-1]]}
        else:
            role = "private" if role == "sensitive" else role
            columns[name] = {"role": role, "bounds": [values[0], values[-1] + 1]}
    has_secret = any(spec["role"] == "sensitive" for spec in columns.values())
    kind = rng.random() if has_secret else 0.0
    roles = ["class", "sensitive"] if kind < 0.75 else ["class", "quasi_identifier"] if kind < 0.9 else ["class"]
    columns["sick"] = {"role": roles, "values": list(CLASSES[: 2 if rng.random() < 0.7 else 3])}
    return columns


P_ROLE = (0.6, 0.2, 0.2)


def _keys(cells: NDArray[Any]) -> NDArray[np.int64]:
    """Few groups of cells: values as they are, numbers in thirds."""
    if all(isinstance(cell, str | None) for cell in cells):
        return pd.factorize(cells, use_na_sentinel=False)[0].astype(np.int64)
    numbers = np.array([np.nan if cell is None else cell for cell in cells], dtype=float)
    return np.searchsorted(np.nanquantile(numbers, [0.3, 0.6]), numbers).astype(np.int64)


def _tie_secrets(rng: Rng, schema: Schema, cells: dict[str, NDArray[Any]]) -> None:
    """Let some secrets be the same for everybody with one value of a public column."""
    public = [column.name for column in schema.features if column.public]
    for column in schema.features:
        if column.public or rng.random() < 0.4:
            continue
        key = _keys(cells[str(rng.choice(public))])
        for value in np.unique(key):
            if rng.random() < 0.5:
                rows = np.flatnonzero(key == value)
                cells[column.name][rows] = cells[column.name][rows[int(rng.integers(len(rows)))]]


def _draw_classes(rng: Rng, schema: Schema, cells: Mapping[str, NDArray[Any]], size: int) -> NDArray[Any]:
    """Each combination of two columns has classes of its own: one alone, one but for one person, or a mixture."""
    chosen = rng.choice([column.name for column in schema.features], 2)
    key = _keys(cells[str(chosen[0])]) * 100 + _keys(cells[str(chosen[1])])
    classes = np.array(schema.classes, dtype=object)
    drawn = np.empty(size, dtype=object)
    for value in np.unique(key):
        rows = np.flatnonzero(key == value)
        odds = rng.dirichlet(np.full(len(classes), 0.7))
        if rng.random() < 0.65:
            odds = np.eye(len(classes))[int(rng.integers(len(classes)))]
        drawn[rows] = rng.choice(classes, len(rows), p=odds)
        if rng.random() < 0.2:
            drawn[int(rng.choice(rows))] = str(rng.choice(classes))
    return drawn


def contradicting_table(rng: Rng, people: DeclaredPeople) -> tuple[str, DeclaredPeople]:
    """The same columns with other people: permuted, shifted, scaled, fewer, more, or drawn anew."""
    table = people.table
    how = str(rng.choice(["permuted", "shifted", "scaled", "fewer", "more", "new"]))
    frame, weight = table.frame.copy(), table.weight.copy()
    numeric = [column for column in table.schema.features if column.numeric and column.bounds]
    if how in {"shifted", "scaled"} and numeric:
        column = numeric[int(rng.integers(len(numeric)))]
        low, high = column.bounds or (0.0, 1.0)
        cells = frame[column.name]
        moved = (
            cells + (high - low) * float(rng.choice([-0.5, 0.1, 0.5]))
            if how == "shifted"
            else low + (cells - low) * 0.1
        )
        frame[column.name] = moved.clip(low, high)
    elif how == "fewer":
        kept = rng.random(len(frame)) < 0.6
        kept[0] = True
        frame, weight = frame[kept], weight[kept]
    elif how == "more":
        weight = weight * 2
    elif how == "new":
        for column in table.schema.features:
            frame[column.name] = frame[column.name].to_numpy()[rng.integers(0, len(frame), len(frame))]
    else:
        how = "permuted"
        name = str(rng.choice([column.name for column in table.schema.columns]))
        frame[name] = frame[name].to_numpy()[rng.permutation(len(frame))]
        frame[name] = frame[name].astype(table.frame[name].dtype)
    for column in table.schema.columns:
        frame[column.name] = frame[column.name].astype(table.frame[column.name].dtype)
    return how, people.with_table(make_table(table.schema, frame.reset_index(drop=True), weight))
