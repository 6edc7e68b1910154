from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leafgate.leaf_numbers import strange_leaves, strange_records
from leafgate.release import Level, Publish, Release, published
from leafgate.table import Table
from leafgate_baselines import C45
from leafgate_tables import PublishedTable
from random_tables import categorical, table_of, tables

LEVELS: list[Level] = ["labels", "error_rates", "shares", "counts"]


@settings(max_examples=60, deadline=None)
@given(tables(), st.sampled_from(LEVELS))
def test_a_tree_learned_from_the_table_counts_its_people(table: Table, level: Level) -> None:
    draft = C45(prune=False).build(table, np.random.default_rng(0))
    assert strange_leaves(published(draft, Publish(level), frozenset()), table) == 0


@settings(max_examples=60, deadline=None)
@given(tables(), st.data())
def test_every_leaf_with_one_person_more_is_strange(table: Table, data: st.DataObject) -> None:
    draft = C45(prune=False).build(table, np.random.default_rng(0))
    heavier = table.weight.copy()
    row = data.draw(st.integers(0, len(table) - 1))
    heavier[row] += 1
    other = Table(table.schema, table.frame, heavier)
    assert strange_leaves(draft, other) == 1


@pytest.mark.parametrize("counted", ["sampled", "bootstrap", "perturbed", "noisy", "unknown"])
def test_numbers_that_do_not_claim_to_be_exact_are_not_compared(counted: Any) -> None:
    from mortgage import TREE, mortgage

    table = mortgage()
    doubled = Table(table.schema, table.frame, table.weight * 2)
    assert strange_leaves(Release({}, table.schema, (TREE,), counted=counted), doubled) == 0
    assert strange_leaves(Release({}, table.schema, (TREE,)), doubled) == 3


@pytest.mark.parametrize(("more", "strange"), [(0, False), (1, True), (-1, True)])
def test_records_of_more_or_fewer_people_are_strange(more: int, strange: bool) -> None:
    table = table_of([categorical("a", "quasi_identifier", values=("x", "y"))], [("x",), ("y",)], [5, 3])
    release = PublishedTable().build(table, np.random.default_rng(0))
    assert release.records is not None
    forged = replace(release, records=replace(release.records, weight=(5 + more, 3)))
    assert strange_records(forged, table) is strange
    assert not strange_records(replace(forged, counted="sampled"), table)
