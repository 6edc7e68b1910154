from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from leafgate import Release, Table
from leafgate.api import Column, Records, Schema, SecretBelief, make_table
from leafgate.app import serialize
from leafgate.testing import grant_knowledge
from leafgate_plugins.linking.attack import link
from leafgate_plugins.linking.components import Linking
from leafgate_plugins.linking.posterior import shares_of_matches
from leafgate_plugins.linking.record_matching import Matches, matches
from leafgate_plugins.tables.raw_table import PublishedTable
from oracles import Cell, Person, numbered, persons
from random_tables import BOUNDS, NUMBERS, categorical, numeric, table_of, tables

WITHHELD = {"withheld": True}


def fits(cell: Any, value: Cell) -> bool:
    """Could a person with this value be meant by the published cell?"""
    if cell == WITHHELD:
        return True
    if not isinstance(cell, dict):
        return bool(cell == value)
    if "in" in cell:
        return value in cell["in"]
    return isinstance(value, float) and bool(cell["from"] <= value <= cell["to"])


def rows_of(person: Person, records: Records, schema: Schema) -> list[int]:
    """The published rows that could be a person's, one by one."""
    places = [(i, name) for i, name in enumerate(records.columns) if schema[name].public]
    rows = enumerate(records.rows)
    return [number for number, row in rows if all(fits(row[i], person[name]) for i, name in places)]


# random records


@st.composite
def cells(draw: st.DrawFn, column: Column) -> st.SearchStrategy[Any]:
    """What one column of the records can show: plain values, groups apart from each other, or anything at all."""
    values = list(column.domain) if column.values is not None else [*NUMBERS, *([None] if column.missing else [])]
    kind = draw(st.sampled_from(["values", "groups", "anything"]))
    several = st.lists(st.sampled_from(values), min_size=1, max_size=3).map(lambda some: {"in": some})
    if kind == "values":
        return st.sampled_from(values)
    if kind == "anything":
        ways = [st.sampled_from(values), several, st.just(WITHHELD), *([ranges()] if column.values is None else [])]
        return st.one_of(ways)
    if column.values is None and draw(st.booleans()):
        return st.sampled_from([{"from": 0, "to": 2}, {"from": 2.25, "to": 4.0}, {"from": 5, "to": 10}])
    return st.sampled_from([{"in": values[::2]}, *values[1::2]])


def ranges() -> st.SearchStrategy[Any]:
    """A range within the bounds, perhaps of one number."""
    ends = st.tuples(st.sampled_from([*BOUNDS, *NUMBERS]), st.sampled_from([*BOUNDS, *NUMBERS])).map(sorted)
    return ends.map(lambda two: {"from": two[0], "to": two[1]})


@st.composite
def published(draw: st.DrawFn, schema: Schema) -> Records:
    """Up to 30 records of some of the columns, in any order."""
    names = draw(st.lists(st.sampled_from([column.name for column in schema.columns]), min_size=1, unique=True))
    columns = [schema[name] for name in names]
    row = st.tuples(*(draw(cells(column)) for column in columns))
    rows = draw(st.lists(row, min_size=1, max_size=30))
    weight = draw(st.lists(st.integers(1, 9), min_size=len(rows), max_size=len(rows)))
    return Records(tuple(names), tuple(rows), tuple(weight))


@st.composite
def people_and_records(draw: st.DrawFn) -> tuple[Table, Records]:
    """A table, and records that were made without looking at it."""
    table = draw(tables())
    return table, draw(published(table.schema))


@given(people_and_records())
def test_everyone_matches_the_records_whose_every_public_cell_fits(drawn: tuple[Table, Records]) -> None:
    table, records = drawn
    public = grant_knowledge(table).public
    found = matches(records, public, table.schema)
    expected = [rows_of(person, records, table.schema) for person in persons(public.frame)]
    assert [sorted(found.set_of(int(number)).tolist()) for number in found.which] == expected
    assert numbered(found.which.tolist()) == numbered(map(tuple, expected))


@given(people_and_records(), st.randoms(use_true_random=False))
def test_the_order_of_the_records_tells_nobody_apart(drawn: tuple[Table, Records], random: Any) -> None:
    table, records = drawn
    both = list(zip(records.rows, records.weight, strict=True))
    random.shuffle(both)
    rows, weight = zip(*both, strict=True)
    release = Release({"use": "table"}, table.schema, model="none", records=records)
    other = replace(release, records=Records(records.columns, tuple(rows), tuple(weight)))
    known = grant_knowledge(table)
    for one, two in zip(Linking().infer(release, known), Linking().infer(other, known), strict=True):
        assert np.array_equal(np.asarray(one.equivalence_class), np.asarray(two.equivalence_class))
        assert type(one) is type(two)
        if isinstance(one, SecretBelief) and isinstance(two, SecretBelief):
            assert one.posterior.to_numpy() == pytest.approx(two.posterior.to_numpy())


@given(people_and_records())
def test_written_and_read_again_they_match_the_same_people(drawn: tuple[Table, Records]) -> None:
    table, records = drawn
    read = serialize(Release({"use": "table"}, table.schema, model="none", records=records)).release.records
    assert read is not None
    public = grant_knowledge(table).public
    found, again = matches(records, public, table.schema), matches(read, public, table.schema)
    assert found.which.tolist() == again.which.tolist()
    assert (found.start.tolist(), found.records.tolist()) == (again.start.tolist(), again.records.tolist())


def spread(cell: Any, column: Column, prior: Sequence[float]) -> list[float]:
    """One person whose secret cell says this: the prior among what it can be."""
    possible = [share if fits(cell, value) else 0.0 for value, share in zip(column.domain, prior, strict=True)]
    return [share / sum(possible) for share in possible] if sum(possible) else list(prior)


def shares_by_hand(rows: Sequence[int], records: Records, column: Column, prior: Sequence[float]) -> list[float]:
    """The shares of the secret among the people of some rows; of no rows, the prior."""
    if not rows:
        return list(prior)
    sums = [0.0] * len(prior)
    place = records.columns.index(column.name)
    for row in rows:
        for i, share in enumerate(spread(records.rows[row][place], column, prior)):
            sums[i] += share * records.weight[row]
    return [result / sum(records.weight[row] for row in rows) for result in sums]


@given(people_and_records(), st.data())
def test_a_secret_is_told_by_the_people_of_the_matching_records(drawn: tuple[Table, Records], data: Any) -> None:
    table, records = drawn
    secrets = [column for column in table.schema.columns if column.values is not None and not column.public]
    assume(secrets)
    column = data.draw(st.sampled_from(secrets))
    parts = data.draw(st.lists(st.integers(0, 3), min_size=len(column.domain), max_size=len(column.domain)))
    assume(sum(parts))
    prior = [part / sum(parts) for part in parts]
    public = grant_knowledge(table).public
    found = matches(records, public, table.schema)
    result = shares_of_matches(records, column, found, np.array(prior))
    assert (result is None) == (column.name not in records.columns)
    if result is None:
        return
    shares, people = result
    for number, person in zip(found.which.tolist(), persons(public.frame), strict=True):
        rows = rows_of(person, records, table.schema)
        assert people[number] == sum(records.weight[row] for row in rows)
        assert shares[number] == pytest.approx(shares_by_hand(rows, records, column, prior))


# examples

COLUMNS = [
    categorical("zip", "quasi_identifier", values=("1", "2", "3"), missing=True),
    numeric("age", "quasi_identifier", bounds=(0, 100), missing=True),
    categorical("ill", "class", "sensitive", values=("flu", "cold")),
]
PEOPLE = table_of(COLUMNS, [("1", 20.0, "flu"), ("2", 30.0, "cold"), ("3", None, "cold"), (None, 40.0, "flu")])


def rows_matched(*rows: tuple[Any, Any]) -> dict[tuple[Cell, Cell], list[int]]:
    """For each person, by zip code and age, the rows that match."""
    public = grant_knowledge(PEOPLE).public
    found = matches(Records(("zip", "age"), rows, (1,) * len(rows)), public, PEOPLE.schema)
    sets = [found.set_of(int(number)).tolist() for number in found.which]
    return {(p["zip"], p["age"]): rows for p, rows in zip(persons(public.frame), sets, strict=True)}


@pytest.mark.parametrize(
    ("row", "whom"),
    [
        (("1", 20), {"1"}),
        (("1", 21), set()),
        (("3", None), {"3"}),  # a missing cell is a value like any other
        ((None, 40), {None}),
        (({"in": ["1", None]}, WITHHELD), {"1", None}),
        ((WITHHELD, {"from": 20, "to": 30}), {"1", "2"}),  # both ends belong to it
        ((WITHHELD, {"from": 0, "to": 100}), {"1", "2", None}),  # but nobody whose age is missing
        ((WITHHELD, {"in": [20, None]}), {"1", "3"}),
        ((WITHHELD, WITHHELD), {"1", "2", "3", None}),
    ],
)
def test_a_record_matches(row: tuple[Any, Any], whom: set[Cell]) -> None:
    found = rows_matched(row)
    assert {zip_code for (zip_code, _), rows in found.items() if rows} == whom


def test_records_whose_cells_overlap_are_told_apart_by_the_other_columns() -> None:
    found = rows_matched(("1", {"from": 0, "to": 50}), ("2", {"from": 0, "to": 50}), (WITHHELD, {"from": 30, "to": 50}))
    assert [found[who] for who in (("1", 20), ("2", 30), ("3", None), (None, 40))] == [[0], [1, 2], [], [2]]


def test_records_without_a_public_column_could_be_anyones() -> None:
    records = Records(("ill",), (("flu",), ("cold",)), (1, 3))
    public = grant_knowledge(PEOPLE).public
    found = matches(records, public, PEOPLE.schema)
    assert set(found.which.tolist()) == {0}
    result = shares_of_matches(records, PEOPLE.schema["ill"], found, np.array([0.5, 0.5]))
    assert result is not None
    assert result[0][0].tolist() == [1 / 4, 3 / 4]


# size

CODES = tuple(f"{number:03}" for number in range(500))


def crowd(rows: int) -> Table:
    """So many people with four raw columns."""
    rng = np.random.default_rng(5)
    columns = (
        numeric("age", "quasi_identifier", bounds=(0, 1000)),
        categorical("zip", "quasi_identifier", values=CODES),
        categorical("sex", "quasi_identifier", values=("f", "m")),
        categorical("job", "quasi_identifier", values=CODES[:20]),
        categorical("ill", "sensitive", values=("yes", "no")),
    )
    drawn: dict[str, Any] = {"age": rng.integers(0, 1000, rows).astype(float)}
    for column in columns[1:]:
        values = pd.Index(column.values or ())
        drawn[column.name] = pd.Categorical.from_codes(rng.integers(0, len(values), rows), categories=values)
    return make_table(Schema(columns), pd.DataFrame(drawn))


def test_two_hundred_thousand_people_are_matched_by_four_raw_columns() -> None:
    table = crowd(200_000)
    release = PublishedTable().build(table, np.random.default_rng(0))
    linked = link(release, grant_knowledge(table))
    assert len(set(linked.groups.tolist())) == len(grant_knowledge(table).public)


def with_one_withheld(records: Records) -> Records:
    """The same records, the last of which tells no age."""
    first, *others = records.rows[-1]
    assert first is not None
    return replace(records, rows=(*records.rows[:-1], (WITHHELD, *others)))


@pytest.mark.thorough
def test_one_withheld_cell_among_many_records_is_no_burden() -> None:
    table = crowd(50_000)
    release = PublishedTable().build(table, np.random.default_rng(0))
    assert release.records is not None
    found = matches(with_one_withheld(release.records), grant_knowledge(table).public, table.schema)
    assert isinstance(found, Matches)
    assert np.diff(found.start).min() >= 1
