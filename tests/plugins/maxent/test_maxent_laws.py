"""What must hold of every belief, whatever the table: knowing more never leaves more open."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate import Table
from leafgate.api import Fact, Level, TreeBuilder
from leafgate.testing import grant_knowledge
from literal_maxent import Floats, truth_of
from maxent_questions import answer, leaves_of
from random_maxent import Case, builders, cases, release_of, secret_tables, sklearn_cases

SMALL = secret_tables(most=8)
LEVELS: tuple[Level, ...] = ("counts", "error_rates", "labels")
COUNTS = cases(SMALL, ["counts"], distribution=False)
CLOSE = 1e-8


def entropy_of(p: Floats, weight: Floats) -> float:
    log = np.log(p, where=p > 0, out=np.zeros_like(p))
    return float(-(weight[:, None] * p * log).sum() / weight.sum())


@given(cases(SMALL) | sklearn_cases())
@pytest.mark.thorough
def test_that_the_best_test_was_asked_is_information(case: Case) -> None:
    _, release, known = case
    more, less = answer(release, known), answer(release, known, internal=False)
    assert more.entropy <= less.bound + CLOSE


@given(cases(SMALL, distribution=False))
@pytest.mark.thorough
def test_the_overall_distribution_is_information(case: Case) -> None:
    table, release, known = case
    informed = grant_knowledge(table, distribution=True)
    more, less = answer(release, informed), answer(release, known)
    assert more.entropy <= less.bound + CLOSE
    if release.publish.leaves == "counts":  # which tell it already
        assert more.entropy == pytest.approx(less.entropy, abs=CLOSE)


@given(SMALL, builders())
def test_counts_tell_more_than_error_rates_and_these_more_than_labels(table: Table, builder: TreeBuilder) -> None:
    counts, rates, labels = (release_of(builder, table, level) for level in LEVELS)
    known = grant_knowledge(table)
    for more, less in ((counts, rates), (rates, labels)):
        assert answer(more, known).entropy <= answer(less, known).bound + CLOSE
        alone = [answer(release, known, internal=False).entropy for release in (more, less)]
        assert alone[0] <= alone[1] + 1e-12


@st.composite
def true_facts(draw: st.DrawFn, table: Table) -> Fact:
    """Of everybody, or of the people with one public value: the share of a class, or bounds on it."""
    columns = [column for column in table.schema.public if not column.numeric]
    value = draw(st.integers(0, len(table.schema.classes) - 1))
    inside, where = np.ones(len(table), dtype=bool), {}
    asked = draw(st.booleans())
    if columns and asked:
        column = draw(st.sampled_from(columns))
        cell = draw(st.sampled_from(column.domain))
        where, inside = {column.name: (cell,)}, table.codes(column.name) == column.domain.index(cell)
    has = table.codes(table.schema.target.name) == value
    share = float(table.weight[inside & has].sum()) / max(int(table.weight[inside].sum()), 1)
    low, high = draw(st.sampled_from([(share, share), (0.0, share), (share, 1.0), (share / 2, 1.0)]))
    return Fact(where, table.schema.target.name, (table.schema.classes[value],), low, high)


@given(st.data(), COUNTS)
def test_facts_are_information_and_true_ones_leave_the_truth_possible(data: st.DataObject, case: Case) -> None:
    table, release, known = case
    fact = data.draw(true_facts(table))
    more, less = answer(release, replace(known, facts=(fact,))), answer(release, known)
    truth = entropy_of(truth_of(table), known.weight.astype(float))
    assert truth - CLOSE <= more.entropy <= less.entropy + CLOSE


@given(st.data(), COUNTS)
def test_known_people_are_information(data: st.DataObject, case: Case) -> None:
    table, release, known = case
    chosen = data.draw(st.lists(st.integers(0, len(table) - 1), min_size=1, max_size=2, unique=True))
    people = Table(table.schema, table.frame.iloc[chosen].reset_index(drop=True), table.weight[chosen])
    more, less = answer(release, replace(known, people=people)), answer(release, known)
    assert more.entropy <= less.entropy + CLOSE


@given(cases(SMALL, ["counts", "error_rates"]) | sklearn_cases(["counts", "error_rates"]))
def test_who_is_alone_in_a_pure_leaf_is_found_out(case: Case) -> None:
    table, release, known = case
    leaf = leaves_of(release, known.public)[:, 0]
    alone = [row for row in range(len(leaf)) if (leaf == leaf[row]).sum() == 1]
    truth = truth_of(table)
    people = answer(release, known).people
    pure = [row for row in alone if truth[row].max() == 1]
    assert people[pure] == pytest.approx(truth[pure] * known.weight[pure, None], abs=1e-12)
