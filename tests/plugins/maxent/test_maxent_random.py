"""Random small tables: the optimum is the one that IPOPT finds of the whole problem, written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from components import new_builder
from example_counts import examples
from leafgate import Release
from leafgate.api import AdversaryKnowledge
from leafgate.testing import grant_knowledge
from literal_casadi import solve_casadi
from literal_maxent import Floats, Model, entropy, model_of, violation
from literal_starting import Answer, starts
from maxent_questions import answer, believed, no_engine, problem_of
from random_maxent import LEVELS, Case, cases, release_of, secret_tables, sklearn_cases
from random_tables import categorical, table_of

A, B = (categorical(name, "quasi_identifier", values=("0", "1")) for name in "ab")
Y = categorical("y", "class", "sensitive", values=("no", "yes"))
SMALL = secret_tables(most=9)


@given(cases(distribution=False) | sklearn_cases())
def test_leaves_alone_have_a_closed_form_and_no_engine_is_called(case: Case) -> None:
    _, release, known = case
    assume(not known.distribution)
    with no_engine():
        outcome = answer(release, known, internal=False)
    model = model_of(release, known, internal=False)
    assert outcome.closed
    assert outcome.gap == 0
    assert outcome.people / known.weight[:, None] == pytest.approx(model.closed, abs=1e-12)
    assert outcome.entropy == pytest.approx(entropy(model, model.closed), abs=1e-12)


def optimum(model: Model, start: Floats) -> Answer:
    """The belief that IPOPT calls optimal; cases without one are passed over."""
    found = solve_casadi(model, start)
    assume(found is not None and found.settled)
    assert found is not None
    return found


def compared(case: Case, *, internal: bool = True) -> tuple[Release, AdversaryKnowledge, Model]:
    """Cases of which we have the very problem of the literal model."""
    _, release, known = case
    return release, known, model_of(release, known, internal=internal)


def is_the_optimum(
    release: Release,
    known: AdversaryKnowledge,
    model: Model,
    other: Answer,
    solver: str = "structured",
    *,
    cells: float = 1e-5,
) -> None:
    outcome = answer(release, known, solver=solver, internal=bool(model.comparisons))
    p = believed(problem_of(release, known), outcome.people)
    assert max(violation(model, p).values()) < 1e-8
    assert outcome.entropy == pytest.approx(entropy(model, p), abs=1e-12)
    assert outcome.entropy == pytest.approx(other.entropy, rel=1e-8, abs=1e-8)
    assert p == pytest.approx(other.p, abs=cells)
    # the engine ends where each optimality condition is kept to 1e-9 people x nats, and a person has a few of them
    assert outcome.gap < 1e-8


@given(cases(SMALL, ["counts", "error_rates"]) | sklearn_cases(["counts"]))
@pytest.mark.thorough
def test_where_the_problem_is_convex_ipopt_finds_the_same(case: Case) -> None:
    release, known, model = compared(case)
    assume(model.convex)
    start = next(starts(model, np.random.default_rng(0)))
    is_the_optimum(release, known, model, optimum(model, start))


@examples(1 / 4)
@given(cases(SMALL, ["counts"]), st.sampled_from(["structured", "gekko"]))
def test_gekko_finds_the_same_optimum_of_the_whole_problem(case: Case, solver: str) -> None:
    release, known, model = compared(case)
    assume(model.comparisons)
    start = next(starts(model, np.random.default_rng(0)))
    # GEKKO keeps equations to 1e-9 and sees no better entropy: a flat optimum then allows cells that far apart
    is_the_optimum(release, known, model, optimum(model, start), solver, cells=1e-4)


def test_where_everything_is_settled_gekko_has_nothing_to_do() -> None:
    table = table_of((A, Y), [("0", "no"), ("1", "yes")], [2, 3])
    outcome = answer(
        release_of(new_builder("id3"), table, "counts"), grant_knowledge(table, distribution=True), solver="gekko"
    )
    assert outcome.entropy == 0


@given(cases(SMALL, LEVELS, distribution=True))
def test_the_distribution_tilts_the_leaves_alone(case: Case) -> None:
    release, known, model = compared(case, internal=False)
    start = next(starts(model, np.random.default_rng(0)))
    is_the_optimum(release, known, model, optimum(model, start))


def test_equations_together_may_say_that_nobody_is_somewhere() -> None:
    """5 of 6, and 2 of 3, have their leaf's label; of all, 6, 1 and 2 have each value: the third is no `mild`."""
    y = categorical("y", "class", "sensitive", values=("none", "mild", "grave"))
    rows = [("0", "0", "none"), ("0", "0", "mild"), ("1", "0", "grave"), ("1", "1", "none")]
    table = table_of((A, B, y), rows, [5, 1, 2, 1])
    release, known = (
        release_of(new_builder("id3", min_leaf=2), table, "error_rates"),
        grant_knowledge(table, distribution=True),
    )
    outcome = answer(release, known, internal=False)
    assert outcome.gap < 1e-9


def test_labels_and_the_distribution_may_leave_no_choice() -> None:
    table = table_of((A, Y), [("0", "no"), ("0", "yes"), ("1", "yes")], [2, 2, 1])
    release, known = release_of(new_builder("id3"), table, "labels"), grant_knowledge(table, distribution=True)
    outcome = answer(release, known, internal=False)
    assert outcome.people == pytest.approx(np.array([[2.0, 2.0], [0.0, 1.0]]), abs=1e-7)
    assert outcome.gap < 1e-9
