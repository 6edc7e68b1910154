"""Whether published records can be the table's people, beside trying every way to give each person a record."""

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate import Table
from leafgate.algorithms.consistency import records_fit
from leafgate.api import Records
from random_tables import categorical, numeric, table_of

COLUMNS = [categorical("town", "quasi_identifier", values=("a", "b")), numeric("age", "private", bounds=(0, 3))]
TOWNS: list[Any] = ["a", "b", {"in": ["a", "b"]}, {"withheld": True}]
AGES: list[Any] = [0, 1, 2.0, {"from": 0, "to": 1}, {"from": 1, "to": 3}, {"in": [0, 2]}, {"withheld": True}]
PEOPLE = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([0.0, 1.0, 2.0])), min_size=1, max_size=5)
ROWS = st.lists(st.tuples(st.sampled_from(TOWNS), st.sampled_from(AGES)), min_size=1, max_size=5)


def table_with(people: list[tuple[str, float]]) -> Table:
    return table_of(COLUMNS, people, [1] * len(people))


def agrees(cell: Any, value: Any) -> bool:
    if not isinstance(cell, dict):
        return bool(cell == value)
    return "withheld" in cell or value in cell.get("in", ()) or ("from" in cell and cell["from"] <= value <= cell["to"])


@given(PEOPLE, ROWS, st.booleans())
def test_records_fit_where_some_way_gives_everybody_a_record(
    people: list[tuple[str, float]], rows: list[tuple[Any, Any]], sample: bool
) -> None:
    ways = permutations(people, len(rows)) if len(rows) <= len(people) else iter(())
    possible = any(
        all(agrees(c, v) for row, person in zip(rows, way, strict=True) for c, v in zip(row, person, strict=True))
        for way in ways
    )
    records = Records(("town", "age"), tuple(rows), (1,) * len(rows))
    assert records_fit(records, table_with(people), sample=sample) is (
        possible and (sample or len(rows) == len(people))
    )


@pytest.mark.parametrize(("weight", "fits"), [((3, 2), True), ((2, 3), False), ((3, 1), False), ((4, 2), False)])
def test_a_record_stands_for_as_many_people_as_it_counts(weight: tuple[int, int], fits: bool) -> None:
    table = table_with([("a", 0.0)] * 3 + [("b", 1.0)] * 2)
    records = Records(("town", "age"), (("a", {"from": 0, "to": 1}), ({"withheld": True}, 1)), weight)
    assert records_fit(records, table) is fits
