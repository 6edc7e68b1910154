from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given

from leafgate import Table
from leafgate.api import AdversaryKnowledge
from leafgate.engine.knowledge import grant_knowledge
from leafgate.kernel.release import Level
from leafgate_plugins.baselines.builders import Id3
from literal_casadi import solve_casadi
from literal_counting import count
from literal_maxent import Floats, Model, entropy, model_of, truth_of, violation
from literal_newton import solve_newton
from literal_starting import Answer, starts
from random_maxent import Case, cases, release_of, secret_tables, sklearn_cases

SMALL = secret_tables(most=8)
TINY = secret_tables(least=2, most=3, heaviest=2)
PINNED: tuple[Level, ...] = ("counts", "error_rates")


def first_start(model: Model) -> Floats:
    return next(starts(model, np.random.default_rng(0)))


def agree(one: Answer | None, other: Answer | None) -> None:
    assume(
        one is not None and one.settled
    )  # where an optimum has no room around it, an interior point may not get there
    assume(other is not None and other.settled)
    assert one is not None
    assert other is not None
    assert one.entropy == pytest.approx(other.entropy, rel=1e-8, abs=1e-9)
    assert one.p == pytest.approx(other.p, abs=1e-3)


@given(cases(SMALL, PINNED) | sklearn_cases(PINNED))
@pytest.mark.thorough
def test_two_solvers_agree_where_the_optimum_is_unique(case: Case) -> None:
    _, release, known = case
    model = model_of(release, known)
    assume(model.convex)
    agree(solve_casadi(model, first_start(model)), solve_newton(model, first_start(model)))


@given(SMALL)
def test_two_trees_are_one_problem(table: Table) -> None:
    known = grant_knowledge(table)
    one, other = (release_of(builder, table, "counts") for builder in (Id3(), Id3(measure="gini", min_leaf=2)))
    model = model_of(replace(one, trees=one.trees + other.trees, selection=None), known)
    assert max(violation(model, truth_of(table)).values()) < 1e-9
    agree(solve_casadi(model, first_start(model)), solve_newton(model, first_start(model)))


@given(cases(TINY))
def test_counting_lists_every_data_set(case: Case) -> None:
    _, release, known = case
    model = model_of(release, known)
    found = count(model)
    agreeing = [p for p in every_assignment(known, model) if max(violation(model, p).values()) < 1e-8]
    assert found is not None
    assert found.data_sets == len(agreeing)
    assert found.p == pytest.approx(np.mean(agreeing, axis=0), abs=1e-12)


def every_assignment(known: AdversaryKnowledge, model: Model) -> list[Floats]:
    """The p(x|q) of every way to give every single person a value."""
    owner = np.repeat(np.arange(len(known.weight)), known.weight)
    assume(len(model.values) ** len(owner) <= 4096)
    found = []
    for values in product(range(len(model.values)), repeat=len(owner)):
        counts = np.zeros(model.shape)
        np.add.at(counts, (owner, np.array(values)), 1)
        found.append(counts / model.weight[:, None])
    return found


@given(cases(secret_tables(most=5, heaviest=2), PINNED))
def test_what_is_counted_meets_every_convex_constraint_and_is_surer(case: Case) -> None:
    _, release, known = case
    model = model_of(release, known)
    assume(model.convex)
    counted, found = count(model), solve_newton(model, first_start(model))
    assume(found is not None)
    assert counted is not None
    assert found is not None
    assert max(violation(model, counted.p).values()) < 1e-7
    assert entropy(model, counted.p) <= found.entropy + 1e-7
