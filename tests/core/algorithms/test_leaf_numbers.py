from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

import leafgate
from components import built_by
from installed_readers import lower_model
from leafgate import Release, Table
from leafgate.algorithms.consistency import inconsistent_leaves, inconsistent_records
from leafgate.algorithms.publication import published
from leafgate.api import Leaf, Level, ModelFile, Publish
from mortgage import RISK, TREE, fan, leaf, mortgage
from random_tables import categorical, numeric, table_of, tables

LEVELS: list[Level] = ["labels", "error_rates", "shares", "counts"]


@given(tables(), st.sampled_from(LEVELS))
def test_a_tree_learned_from_the_table_counts_its_people(table: Table, level: Level) -> None:
    draft = built_by("c45", table, prune=False)
    assert inconsistent_leaves(published(draft, Publish(leaves=level), frozenset()), table) == 0


@given(tables(), st.data())
def test_every_leaf_with_one_person_more_is_strange(table: Table, data: st.DataObject) -> None:
    draft = built_by("c45", table, prune=False)
    heavier = table.weight.copy()
    row = data.draw(st.integers(0, len(table) - 1))
    heavier[row] += 1
    other = Table(table.schema, table.frame, heavier)
    assert inconsistent_leaves(draft, other) == 1


@pytest.mark.parametrize("counted", ["sampled", "bootstrap", "perturbed", "noisy"])
def test_numbers_that_do_not_claim_to_be_exact_are_not_compared(counted: Any) -> None:
    table = mortgage()
    doubled = Table(table.schema, table.frame, table.weight * 2)
    assert inconsistent_leaves(Release({}, table.schema, (TREE,), count_semantics=counted), doubled) == 0
    assert inconsistent_leaves(Release({}, table.schema, (TREE,)), doubled) == 3


@pytest.mark.parametrize(("more", "strange"), [(0, False), (1, True), (-1, True)])
def test_records_of_more_or_fewer_people_are_strange(more: int, strange: bool) -> None:
    table = table_of([categorical("a", "quasi_identifier", values=("x", "y"))], [("x",), ("y",)], [5, 3])
    release = built_by("table", table)
    assert release.records is not None
    forged = replace(release, records=replace(release.records, weight=(5 + more, 3)))
    assert bool(inconsistent_records(forged, table)) is strange
    assert bool(inconsistent_records(replace(forged, count_semantics="sampled"), table)) is (more > 0)


@pytest.mark.parametrize(
    ("counted", "two", "one", "strange"),
    [
        ("sampled", (1, 1), (1, 0), 0),
        ("sampled", (2, 1), (1, 0), 1),  # two good of one
        ("bootstrap", (2, 1), (1, 0), 0),
        ("bootstrap", (2, 1), (1, 1), 1),  # nobody there is bad
        ("bootstrap", (0, 5), (0, 1), 1),
        ("unknown", (9, 9), (9, 9), 2),  # whole numbers of a file of leafgate's own can be people only
        ("unknown", (9.5, 9), (9, 9), 0),
    ],
)
def test_whom_a_sample_counts_must_be_there(
    counted: Any, two: tuple[int, int], one: tuple[int, int], strange: int
) -> None:
    tree = fan("sports_car", yes=fan("marital_status", Unmarried=leaf(*two), Married=leaf(*one)), no=leaf(0, 3))
    table = mortgage()
    assert inconsistent_leaves(Release({}, table.schema, (tree,), count_semantics=counted), table) == strange


def test_a_forest_whose_codes_are_read_as_numbers_counts_people_who_are_not_there() -> None:
    rng = np.random.default_rng(0)
    ages = rng.integers(20, 60, 300)
    answers = np.where((ages > 30) ^ (rng.random(300) < 0.2), "good", "bad")
    columns = (numeric("age", "quasi_identifier", bounds=(0, 100)), RISK)
    table = table_of(columns, list(zip(ages.astype(float).tolist(), answers.tolist(), strict=True)))
    for cells, strange in ((ages, False), ((ages - 40) ** 2, True)):
        model = RandomForestClassifier(3, random_state=0).fit(pd.DataFrame({"age": cells}), answers)
        release = lower_model(leafgate.from_sklearn(model), table.schema, {}, "model").release
        assert release.count_semantics == "bootstrap"
        assert (inconsistent_leaves(release, table) > 0) is strange


@pytest.mark.parametrize(
    ("items", "strange"),
    [
        ((0.67, 0.33), 0),
        ((2 / 3, 1 / 3), 0),
        ((0.66, 0.34), 0),  # within a unit
        ((0.65, 0.35), 1),
        ((0.666, 0.334), 0),
        ((0.664, 0.336), 1),
        ((0.7, 0.3), 0),
        ((1.0, 0.0), 1),
        ((0.6666, 0.3334), 1),  # no rounding any more
    ],
)
def test_rounded_shares_of_a_models_file_may_be_off_by_a_unit(items: tuple[float, float], strange: int) -> None:
    columns = [numeric("age", "quasi_identifier", bounds=(0, 99)), categorical("y", "class", values=("no", "yes"))]
    table = table_of(columns, [(1.0, "no"), (2.0, "no"), (3.0, "yes")])
    one = Leaf("no", shares=dict(zip(("no", "yes"), items, strict=True)))
    release = Release({"use": "published"}, table.schema, (one,), Publish(leaves="shares", measure=False))
    assert inconsistent_leaves(replace(release, file=ModelFile("x", "0")), table) == strange
    exact = abs(items[0] - 2 / 3) < 1e-6
    assert inconsistent_leaves(release, table) == (not exact)  # leafgate's own releases round nothing


def test_a_leaf_is_not_pure_because_it_nearly_is() -> None:
    columns = [numeric("age", "quasi_identifier", bounds=(0, 99)), categorical("y", "class", values=("no", "yes"))]
    table = table_of(columns, [*((float(i % 99), "no") for i in range(999)), (1.0, "yes")])
    one = Leaf("no", shares={"no": 1.0, "yes": 0.0})
    release = Release({"use": "published"}, table.schema, (one,), Publish(leaves="shares", measure=False))
    assert inconsistent_leaves(replace(release, file=ModelFile("x", "0")), table) == 1
