"""Tables of invented people, and the same people in another order or form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from itertools import product
from typing import Any, ParamSpec

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.kernel.schema import Column, Hierarchy, Schema
from leafgate.kernel.table import Table, make_table, typed_column
from leafgate.testing.sandbox import MARK, SIGN

P = ParamSpec("P")
TOWNS = ("Hill", "Mill", "Port")
ILLNESSES = ("none", "cold", "flu")
AGES = (20.0, 35.0, 50.0, 65.0)
OLDEST = 90.0
"""The age of one person, who is like nobody else and has flu."""
BINS = (0.0, 20.0, 40.0, 60.0, 80.0, 100.0)


def copied(table: Table) -> Table:
    """The same, so that nothing written into one is seen in the other."""
    marks = {name: rows.copy() for name, rows in table.protected.items()}
    weight = table.weight.copy()
    return replace(table, frame=table.frame.copy(deep=True), weight=weight, protected=marks, _codes={})


def read_only_arrays(table: Table) -> list[NDArray[Any]]:
    """The arrays of a table that nobody can write into."""
    arrays = (table.weight, table.rows, *table.protected.values(), *table._codes.values())
    return [array for array in arrays if array is not None]


def _made_once(make: Callable[P, Table]) -> Callable[P, Table]:
    """Makes each table once, and hands out copies."""
    tables: dict[str, Table] = {}

    @wraps(make)
    def copy(*args: P.args, **options: P.kwargs) -> Table:
        key = f"{args} {options}"
        if key not in tables:
            tables[key] = make(*args, **options)
        return copied(tables[key])

    return copy


@_made_once
def survey(most: int = 4) -> Table:
    """Town, age, whether someone smokes (private) and which illness they have (the class, and the secret).

    All combinations, each of 1 to `most` people; and one person aged 90.
    """
    rng = np.random.default_rng(1)
    rows: list[tuple[str, float, str, str]] = list(product(TOWNS, AGES, ("yes", "no"), ILLNESSES))
    weight = [*rng.integers(1, most + 1, len(rows)).tolist(), 1]
    rows.append(("Port", OLDEST, "no", "flu"))
    tree = Hierarchy({"none": ("well",), "cold": ("ill",), "flu": ("ill",)})
    columns = (
        Column("town", frozenset({"quasi_identifier"}), values=TOWNS),
        Column("age", frozenset({"quasi_identifier"}), bounds=(0.0, 100.0)),
        Column("smoker", frozenset({"private"}), values=("yes", "no")),
        Column("illness", frozenset({"class", "sensitive"}), values=ILLNESSES, ordered=True, hierarchy=tree),
    )
    return _table_of(columns, rows, weight)


@_made_once
def half_survey(*, others: bool) -> Table:
    """One person for every second combination of the survey's columns; `others`: for those that the first leave out.

    Of each town, age, smoker and illness there are as many people in both halves.
    """
    combinations = product(*(tuple(enumerate(cells)) for cells in (TOWNS, AGES, ("yes", "no"), ILLNESSES)))
    rows = [
        tuple(cell for _, cell in combination)
        for combination in combinations
        if sum(place for place, _ in combination) % 2 == int(others)
    ]
    return _table_of(survey().schema.columns, rows, [1] * len(rows))


def strangers(table: Table) -> Table:
    """As many people as the table has records, who have each cell of somebody else."""
    rng = np.random.default_rng(4)
    names = sorted(column.name for column in table.schema.columns)
    frame = pd.DataFrame({name: table.frame[name].array[rng.integers(0, len(table), len(table))] for name in names})
    return make_table(table.schema, frame)


@_made_once
def twins(*, alike: bool) -> Table:
    """A mood that is secret, and a diary that discloses it; `alike`: everybody's diary is the same."""
    rows = [(town, "a" if alike or mood == "good" else "b", mood) for town in TOWNS for mood in ("good", "bad")]
    columns = (
        Column("town", frozenset({"quasi_identifier"}), values=TOWNS),
        Column("diary", frozenset({"private"}), values=("a", "b")),
        Column("mood", frozenset({"sensitive"}), values=("good", "bad")),
    )
    return _table_of(columns, rows, [20] * len(rows))


@_made_once
def salaries() -> Table:
    """Pay, a secret number with bins; hours, which are known; and a grade, the class."""
    rng = np.random.default_rng(2)
    pay = rng.uniform(1, 99, 240).round(3)
    hours = (pay / 2 + rng.uniform(0, 50, 240)).round(3)
    rows = [(a, b, "high" if a > 50 else "low") for a, b in zip(pay.tolist(), hours.tolist(), strict=True)]
    columns = (
        Column("pay", frozenset({"sensitive"}), bounds=(0.0, 100.0), ordered=True, bins=BINS),
        Column("hours", frozenset({"private"}), bounds=(0.0, 100.0)),
        Column("grade", frozenset({"class", "quasi_identifier"}), values=("low", "high")),
    )
    return _table_of(columns, rows, [1] * len(rows))


@_made_once
def marked() -> Table:
    """Ballots on four questions, of which some people's answers to one are to be protected, cell by cell."""
    rng = np.random.default_rng(3)
    answers = rng.integers(0, 2, (40, 4))
    rows = [tuple(("yes", "no")[answer] for answer in row) for row in answers.tolist()]
    columns = tuple(
        Column(name, frozenset({"class" if name == "party" else "private"}), values=("yes", "no"))
        for name in ("party", "tax", "war", "school")
    )
    table = _table_of(columns, rows, [1] * len(rows))
    marks = np.zeros(len(table), dtype=np.bool_)
    marks[:3] = True
    return replace(table, protected={"tax": marks}, _codes={})


def _table_of(columns: tuple[Column, ...], rows: list[tuple[str | float, ...]] | list, weight: list[int]) -> Table:  # type: ignore[type-arg]
    frame = pd.DataFrame({c.name: typed_column(c, [row[i] for row in rows]) for i, c in enumerate(columns)})
    return make_table(Schema(columns), frame, np.array(weight, dtype=np.int64))


def reordered(table: Table) -> Table:
    """The same people, columns in the opposite order."""
    return _under_schema(table, Schema(table.schema.columns[::-1]), table.frame)


def relabelled(table: Table) -> Table:
    """The same people, the values of secrets and classes declared in the opposite order."""
    columns, frame = [], table.frame.copy()
    for column in table.schema.columns:
        values = column.values
        if values is not None and column.roles & {"sensitive", "class"}:
            values = values[::-1]
            frame[column.name] = frame[column.name].cat.set_categories(list(values))
        columns.append(replace(column, values=values))
    return _under_schema(table, Schema(tuple(columns)), frame)


def shuffled(table: Table) -> Table:
    """The same people, in the opposite order."""
    marks = {name: protected_rows[::-1].copy() for name, protected_rows in table.protected.items()}
    return Table(
        table.schema, table.frame.iloc[::-1].reset_index(drop=True), table.weight[::-1].copy(), protected=marks
    )


def doubled(table: Table) -> Table:
    """Everybody twice."""
    return replace(copied(table), weight=table.weight * 2)


def planted(table: Table) -> Table:
    """People alike in all but the words and numbers, which stand nowhere else."""
    columns, frame = [], table.frame.copy()
    for column in table.schema.columns:
        if column.values is None:
            frame[column.name] = frame[column.name] + MARK
        else:
            names = {value: f"{value}{SIGN}" for value in column.values}
            frame[column.name] = frame[column.name].cat.rename_categories(names)
            column = replace(column, values=tuple(names.values()), hierarchy=None)
        columns.append(column)
    return make_table(Schema(tuple(columns)), frame, table.weight)


def ill_with(illness: str) -> Callable[[Table], Table]:
    """The survey, the one who is 90 having this illness."""

    def change(table: Table) -> Table:
        frame = table.frame.copy()
        frame.loc[frame["age"] == OLDEST, "illness"] = illness
        return make_table(table.schema, frame, table.weight)

    return change


def _under_schema(table: Table, schema: Schema, frame: pd.DataFrame) -> Table:
    """Rows under another schema, their marks along with them."""
    table_under_schema = make_table(schema, frame, table.weight)
    rows = {key: i for i, key in enumerate(keys_of(table))}
    order = [rows[key] for key in keys_of(table_under_schema)]
    return replace(
        table_under_schema, protected={name: marks[order] for name, marks in table.protected.items()}, _codes={}
    )


def written_out(table: Table) -> Table:
    """The same people, a row for each: nobody shares one."""
    rows = np.repeat(np.arange(len(table)), table.weight)
    marks = {name: protected_rows[rows] for name, protected_rows in table.protected.items()}
    frame = table.frame.iloc[rows].reset_index(drop=True)
    return Table(table.schema, frame, np.ones(len(rows), dtype=np.int64), protected=marks)


def numbered(table: Table) -> Table:
    """The same people, who now differ in a public column, `number`, that says nothing: each is a record alone."""
    out = written_out(table)
    column = Column("number", frozenset({"quasi_identifier"}), values=tuple(f"n{i}" for i in range(len(out))))
    frame = out.frame.assign(number=typed_column(column, list(column.domain)))
    return make_table(Schema((*table.schema.columns, column)), frame)


Key = frozenset[tuple[str, str]]


def keys_of(table: Table, without: str = "") -> list[Key]:
    """What each row says, whatever the order of columns."""
    return keys_in(table.frame.drop(columns=without, errors="ignore"))


def keys_in(frame: pd.DataFrame) -> list[Key]:
    """What each row of a frame says, whatever the order of columns."""
    rows = frame.astype(object).itertuples(index=False)
    return [frozenset((str(n), str(cell)) for n, cell in zip(frame.columns, row, strict=True)) for row in rows]
