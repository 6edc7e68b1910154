from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from hypothesis import assume, given
from hypothesis import strategies as st

from components import built_by, linked, new_builder
from leafgate import NoReleaseError, Release, Table
from leafgate.api import Column, Hierarchy, Records, Schema, TreeBuilder, make_table
from leafgate.app import serialize
from leafgate.testing import grant_knowledge
from oracles import Cell, Person, numbered, people_of, persons
from random_tables import categorical, numeric, table_of, tables

ANY_KADET = st.builds(
    new_builder,
    st.just("kadet"),
    k=st.integers(1, 8),
    measure=st.sampled_from(["gain", "gini", "gain_ratio"]),
    prune=st.booleans(),
)


def content(options: TreeBuilder, table: Table) -> str:
    """The release file; tables without any release are passed over."""
    try:
        return serialize(options.build(table, np.random.default_rng(7))).content.decode()
    except NoReleaseError:
        assume(False)
        raise


def new_names(column: Column) -> Mapping[str | None, str]:
    """Other names for a column's values, which sort the other way round."""
    return {value: f"{9 - i} {value}" for i, value in enumerate(column.values or ())}


def renamed(table: Table) -> Table:
    """The same people under other names for every value."""
    columns, series = [], {}
    for column in table.schema.columns:
        names, series[column.name] = new_names(column), table.frame[column.name]
        if column.values is not None:
            hierarchy = column.hierarchy
            if hierarchy is not None:
                groups = {names.get(v): tuple(f"{g} renamed" for g in path) for v, path in hierarchy.groups.items()}
                hierarchy = Hierarchy(groups)
            column = replace(column, values=tuple(names[value] for value in column.values), hierarchy=hierarchy)
            series[column.name] = series[column.name].cat.rename_categories(list(column.values or ()))
        columns.append(column)
    return make_table(Schema(tuple(columns)), pd.DataFrame(series), table.weight)


@given(tables(), ANY_KADET)
def test_other_names_for_the_values_give_the_same_tree_under_those_names(table: Table, options: TreeBuilder) -> None:
    expected = content(options, table)
    for column in table.schema.columns:
        for old, new in new_names(column).items():
            expected = expected.replace(f'"{old}"', f'"{new}"')
    assert content(options, renamed(table)) == expected


def fits(cell: object, value: Cell) -> bool:
    """Could a person with this value be meant by the published cell?"""
    if not isinstance(cell, dict):
        return cell == value
    if "in" in cell:
        return value in cell["in"]
    return isinstance(value, float) and bool(cell["from"] <= value <= cell["to"])


def combinations(records: Records, schema: Schema) -> dict[str, list[int]]:
    """The rows that show each combination of public cells."""
    places = [i for i, name in enumerate(records.columns) if schema[name].public]
    found: dict[str, list[int]] = {}
    for number, row in enumerate(records.rows):
        found.setdefault(json.dumps([row[i] for i in places]), []).append(number)
    return found


def could_be(person: Person, row: Sequence[object], records: Records, schema: Schema) -> bool:
    """Do all public cells of a published row fit a person?"""
    items = zip(records.columns, row, strict=True)
    return all(fits(cell, person[name]) for name, cell in items if schema[name].public)


def release_with_table(table: Table, k: int, *, prune: bool) -> tuple[Release, Records]:
    """kADET's release with its table; tables without any are passed over."""
    try:
        release = built_by("kadet", table, k=k, prune=prune, publish_table=True)
    except NoReleaseError:
        assume(False)
        raise
    assert release.records is not None
    return release, release.records


@given(tables(gaps=False), st.integers(1, 8), st.booleans())
def test_in_the_published_table_everyone_is_hidden_among_k(table: Table, k: int, prune: bool) -> None:
    _, records = release_with_table(table, k, prune=prune)
    schema = table.schema
    assert sum(records.weight) == table.total_weight
    found = list(combinations(records, schema).values())
    for person in persons(grant_knowledge(table).records):
        assert sum(could_be(person, records.rows[rows[0]], records, schema) for rows in found) == 1
    for rows in found:
        assert sum(records.weight[row] for row in rows) >= k
        assert told_counts(records, rows) == true_counts(table, records, rows)


@given(tables(gaps=False), st.integers(1, 8), st.booleans())
def test_the_published_table_tells_nobody_apart_whom_the_tree_does_not(table: Table, k: int, prune: bool) -> None:
    release, _ = release_with_table(table, k, prune=prune)
    known = grant_knowledge(table)
    tree_alone = linked(replace(release, records=None), known)
    assert numbered(linked(release, known)) == numbered(tree_alone)


def told_counts(records: Records, rows: Sequence[int]) -> dict[str, int]:
    """People per class in published rows; the class stands last."""
    counts: dict[str, int] = {}
    for row in rows:
        name = str(records.rows[row][-1])
        counts[name] = counts.get(name, 0) + records.weight[row]
    return counts


def true_counts(table: Table, records: Records, rows: Sequence[int]) -> dict[str, int]:
    """People per class in the table among those whom the published rows could mean."""
    counts: dict[str, int] = {}
    for person, n in people_of(table):
        if could_be(person, records.rows[rows[0]], records, table.schema):
            name = str(person[table.schema.target.name])
            counts[name] = counts.get(name, 0) + n
    return counts


def test_the_order_of_the_published_rows_tells_nothing_of_who_is_where() -> None:
    # 40 people of different ages, of each a private cell. Which cell a group shows first says nothing of its youngest.
    columns = [
        numeric("age", "quasi_identifier", bounds=(0, 100)),
        categorical("sick", "private", values=("no", "yes")),
        categorical("y", "class", "sensitive", values=("a", "b")),
    ]
    right = tried = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        sick = rng.integers(0, 2, 40)
        answers = rng.random(40) < np.where(sick, 0.85, 0.15)
        people = [
            (float(a), ("no", "yes")[s], "ab"[int(y)])
            for a, s, y in zip(rng.permutation(90)[:40], sick, answers, strict=True)
        ]
        records = built_by("kadet", table_of(columns, people), seed, k=10, publish_table=True).records
        assert records is not None
        age, cell, _ = min(people)
        shown = [row[1] for row in records.rows if fits(row[0], age)]
        if len(set(map(str, shown))) > 1:
            tried, right = tried + 1, right + (shown[0] == cell)
    assert tried > 40
    assert 0.25 * tried < right < 0.75 * tried
