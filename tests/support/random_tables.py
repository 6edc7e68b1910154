"""Small random tables, which hypothesis can shrink."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from leafgate import Table
from leafgate.api import Column, Hierarchy, Schema, make_table, typed_column

CLASSES = ("good", "bad", "ugly")
NUMBERS = (1.0, 2.0, 2.5, 4.0, 7.0)
BOUNDS = (0.0, 10.0)

Cell = str | float | None


def categorical(
    name: str, *roles: str, values: Sequence[str], hierarchy: Hierarchy | None = None, missing: bool = False
) -> Column:
    """A column with a declared domain."""
    return Column(name, frozenset(roles), values=tuple(values), hierarchy=hierarchy, missing=missing)


def numeric(name: str, *roles: str, bounds: tuple[float, float] = BOUNDS, missing: bool = False) -> Column:
    """A column of numbers."""
    return Column(name, frozenset(roles), bounds=bounds, missing=missing)


def table_of(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], weight: Sequence[int] | None = None) -> Table:
    """The Table whose rows are written out, cells in the columns' order."""
    frame = pd.DataFrame({c.name: typed_column(c, [row[i] for row in rows]) for i, c in enumerate(columns)})
    return make_table(Schema(tuple(columns)), frame, None if weight is None else np.array(weight, dtype=np.int64))


@st.composite
def hierarchies(draw: st.DrawFn, values: tuple[str, ...], *, missing: bool) -> Hierarchy | None:
    """None, or one or two levels above the values."""
    depth = draw(st.integers(0, 2))
    fine = draw(st.lists(st.integers(0, 2), min_size=len(values), max_size=len(values)))
    coarse = draw(st.lists(st.integers(0, 1), min_size=3, max_size=3))
    groups: dict[str | None, tuple[str, ...]] = {}
    for value, group in zip(values, fine, strict=True):
        groups[value] = (f"fine {group}", f"coarse {coarse[group]}")[:depth]
    domain = (*values, None) if missing else values
    return Hierarchy(groups).restricted(domain, "") if depth else None


@st.composite
def features(draw: st.DrawFn, name: str, *, public: bool, numbers: bool, gaps: bool) -> Column:
    """A public or an unknown column; only unknown categorical ones may be secrets."""
    role = "quasi_identifier" if public else draw(st.sampled_from(["private", "sensitive"]))
    missing = gaps and role != "sensitive" and draw(st.integers(0, 3)) == 0
    if numbers and role != "sensitive" and draw(st.integers(0, 2)) == 0:
        return numeric(name, role, missing=missing)
    values = tuple(f"{name}{i}" for i in range(draw(st.integers(2, 4))))
    hierarchy = draw(hierarchies(values, missing=missing)) if public else None
    return categorical(name, role, values=values, hierarchy=hierarchy, missing=missing)


@st.composite
def schemas(draw: st.DrawFn, *, numbers: bool, gaps: bool, public_class: bool | None) -> Schema:
    """Two to five features, the first of them public, and a class."""
    columns = [draw(features("a", public=True, numbers=numbers, gaps=gaps))]
    for name in "bcde"[: draw(st.integers(1, 4))]:
        columns.append(draw(features(name, public=draw(st.booleans()), numbers=numbers, gaps=gaps)))
    known = draw(st.booleans()) if public_class is None else public_class
    classes = CLASSES[: draw(st.integers(2, 3))]
    return Schema((*columns, categorical("y", "class", "quasi_identifier" if known else "sensitive", values=classes)))


def cells(column: Column) -> tuple[Cell, ...]:
    """What a cell of a column may be."""
    present: tuple[Cell, ...] = NUMBERS if column.values is None else column.values
    return (*present, None) if column.missing else present


def one_of_each(choices: Sequence[Sequence[Any]], number: int) -> list[Any]:
    """One of each of the choices; every number below the product of how many they are says another."""
    found = []
    for choice in choices:
        number, place = divmod(number, len(choice))
        found.append(choice[place])
    return found


def records(columns: Sequence[Column], size: int, *, heaviest: int = 5) -> st.SearchStrategy[list[list[Any]]]:
    """So many rows, each with its weight behind its cells; each is drawn as one number, which is cheap."""
    choices = [*(cells(column) for column in columns), range(1, heaviest + 1)]
    numbers = st.integers(0, math.prod(map(len, choices)) - 1)
    return st.lists(numbers.map(partial(one_of_each, choices)), min_size=size, max_size=size)


@st.composite
def tables(
    draw: st.DrawFn, *, numbers: bool = True, gaps: bool = True, public_class: bool | None = None, most: int = 40
) -> Table:
    """Up to `most` weighted records of a random schema; `gaps` allows missing cells."""
    schema = draw(schemas(numbers=numbers, gaps=gaps, public_class=public_class))
    rows = draw(records(schema.columns, draw(st.integers(1, most))))
    return table_of(schema.columns, [row[:-1] for row in rows], [row[-1] for row in rows])
