from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from components import built_by, new_builder
from leafgate import InconclusiveError, NoReleaseError, Table
from leafgate.api import Branch, CategoricalSplit, Node, NumericSplit
from mortgage import MARITAL_STATUS, RISK, SPORTS_CAR, TREE, fan, leaf, mortgage
from random_tables import Cell, categorical, numeric, table_of

PUBLIC_RISK = replace(RISK, roles=frozenset({"class", "quasi_identifier"}))
BY_CAR = fan("sports_car", yes=leaf(2, 1), no=leaf(0, 3))


def tree_of(table: Table, k: int) -> Node:
    return built_by("kadet", table, k=k, prune=False).trees[0]


def test_the_mortgage_tree_asks_for_the_sports_car_and_then_for_marital_status() -> None:
    assert tree_of(mortgage(), k=3) == TREE


@pytest.mark.parametrize("k", [4, 6])
def test_a_private_test_is_free_however_few_people_it_leaves_in_a_leaf(k: int) -> None:
    # Both leaves hold three people, but whose leaf is whose nobody can tell: one span of six. Marital status
    # below would part it into three and three.
    assert tree_of(mortgage(), k=k) == BY_CAR


@pytest.mark.parametrize("k", [2, 6])
def test_where_nothing_is_public_every_split_keeps_all_people_in_one_span(k: int) -> None:
    private = [replace(column, roles=frozenset({"sensitive"})) for column in (MARITAL_STATUS, SPORTS_CAR)]
    assert tree_of(mortgage(*private, RISK), k=k) == TREE


def test_a_public_class_held_by_two_people_allows_no_3_anonymous_tree() -> None:
    with pytest.raises(NoReleaseError, match="'good'") as caught:
        tree_of(mortgage(MARITAL_STATUS, SPORTS_CAR, PUBLIC_RISK), k=3)
    assert caught.value.people == 2


def test_no_tree_hides_six_people_among_seven() -> None:
    with pytest.raises(NoReleaseError, match="fewer than 7") as caught:
        tree_of(mortgage(), k=7)
    assert caught.value.people == 6


def test_more_groups_than_allowed_are_inconclusive() -> None:
    table = mortgage()
    with pytest.raises(InconclusiveError, match="more than 1 group"):
        new_builder("kadet", k=3, prune=False, max_spans=1).build(table, np.random.default_rng(0))


def married(sports_car: str, city: str, age: float, risk: str, *people: int) -> list[tuple[Cell, ...]]:
    """So many unmarried and so many married people."""
    items = zip(("Unmarried", "Married"), people, strict=True)
    return [(sports_car, city, age, status, risk) for status, n in items for _ in range(n)]


def rows_with_a_tie() -> Sequence[tuple[Cell, ...]]:
    """Owners of an old car, and those in Pisa of a new one, tie: eight people whom one cut on age parts.

    In Pisa only two people are aged 2, so that of the cuts at 1.5 and at 2.5 k = 3 allows one.
    """
    old = [*married("old", "Pisa", 1, "bad", 2, 2), *married("old", "Pisa", 2, "good", 1, 0)]
    old += married("old", "Pisa", 3, "good", 1, 2)
    new = [*married("new", "Pisa", 1, "bad", 2, 1), *married("new", "Pisa", 2, "bad", 0, 1)]
    new += [*married("new", "Pisa", 3, "good", 2, 2), *married("new", "Jena", 1, "good", 15, 15)]
    new += [*married("new", "Bonn", 1, "bad", 6, 0), *married("new", "Bonn", 1, "good", 0, 6)]
    return old + new + [row for city in ("Bonn", "Pisa", "Jena") for row in married("none", city, 1, "good", 17, 17)]


def test_of_two_nodes_whose_tests_tie_the_older_goes_first() -> None:
    # Bonn is split by marital status before either, which changes the spans of the owners of an old car only.
    columns = [
        categorical("sports_car", "private", values=("old", "new", "none")),
        categorical("city", "quasi_identifier", values=("Bonn", "Pisa", "Jena")),
        numeric("age", "quasi_identifier"),
        MARITAL_STATUS,
        RISK,
    ]
    tree = tree_of(table_of(columns, rows_with_a_tie()), k=3)
    assert isinstance(tree, CategoricalSplit)
    assert tree.branches[0] == Branch(("old",), NumericSplit("age", 1.5, leaf(0, 4), leaf(4, 0)))


def rows_told(table: Table, k: int) -> list[tuple[Any, ...]]:
    """The published table's rows, each with its people."""
    records = built_by("kadet", table, k=k, prune=False, publish_table=True).records
    assert records is not None
    return [(*row, n) for row, n in zip(records.rows, records.weight, strict=True)]


def test_ranges_in_the_published_table_reach_to_the_declared_bounds() -> None:
    table = table_of([numeric("age", "quasi_identifier"), RISK], [(2.0, "good"), (3.0, "good"), (7.0, "bad")])
    young, old = sorted((row[0] for row in rows_told(table, k=1)), key=lambda cell: float(cell["from"]))
    assert (young["from"], old["to"]) == (0.0, 10.0)
    assert all(row[0] == {"from": 0.0, "to": 10.0} for row in rows_told(table, k=3))
