"""Where there are many optima: one start ends at a belief that keeps every constraint, and the bound holds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate import Table
from leafgate.testing import grant_knowledge
from leafgate_plugins.baselines.builders import Id3
from leafgate_plugins.maxent.presolve.fixed_cells import fixed_cells
from leafgate_plugins.maxent.presolve.reduce import ActiveSet, ReducedProblem, hold, reduce_problem
from leafgate_plugins.maxent.problem.problem import Problem
from leafgate_plugins.maxent.solve.active_set import (
    broken_nodes,
    empty_active_set,
    repair,
    scale_to_equalities,
    violated,
)
from leafgate_plugins.maxent.solve.certificate import dual_caps
from leafgate_plugins.maxent.solve.closed_form import closed_form
from leafgate_plugins.maxent.solve.engine import Search, engine_of
from leafgate_plugins.maxent.solve.interior_point import SolverOptions, solve
from leafgate_plugins.maxent.solve.lifting import make_elastic
from literal_maxent import model_of, violation
from maxent_parts import random_table
from maxent_questions import answer, believed, problem_of, truth_in
from random_maxent import Case, cases, release_of, secret_tables

MEASURES = ("gini", "gain")


def tables_of_three_classes() -> st.SearchStrategy[Table]:
    return secret_tables(most=10).filter(lambda table: len(table.schema.classes) > 2)


@given(cases(tables_of_three_classes(), ["error_rates"], distribution=False))
@pytest.mark.thorough
def test_one_start_ends_at_a_belief_that_keeps_every_constraint(case: Case) -> None:
    table, release, known = case
    outcome, problem = answer(release, known, starts=1), problem_of(release, known)
    assert max(violation(model_of(release, known), believed(problem, outcome.people)).values()) < 1e-6
    truth = problem.entropy(truth_in(problem, release, table))
    assert outcome.bound >= max(outcome.entropy, truth) - 1e-8


def question(seed: int, measure: str) -> tuple[Problem, ActiveSet]:
    """The problem of a random table with error rates, and the inequalities that its closed form breaks."""
    table = random_table(seed, rows=40, classes=4)
    builder = Id3.model_validate({"use": "id3", "measure": measure, "min_split": 5})
    problem = problem_of(release_of(builder, table, "error_rates"), grant_knowledge(table))
    return problem, violated(problem, closed_form(problem)[0], empty_active_set(problem))


def reduced(problem: Problem, active: ActiveSet) -> ReducedProblem:
    return reduce_problem(problem, active, closed_form(problem)[0], fixed_cells(problem))


def search_of(problem: Problem) -> Search:
    start, exact = closed_form(problem)
    return Search(problem, fixed_cells(problem), start, exact, engine_of("structured"))


@pytest.mark.parametrize("measure", MEASURES)
def test_uneven_people_are_scaled_to_the_equalities(measure: str) -> None:
    problem, _ = question(1, measure)
    search, rng = search_of(problem), np.random.default_rng(0)
    people = scale_to_equalities(search, search.start * rng.gamma(10.0, 0.1, search.start.shape))
    missed = max(linear.violation(people).max() for linear in problem.linear if linear.equal)
    assert missed < 0.05
    assert (people >= 0).all()


@pytest.mark.parametrize("measure", MEASURES)
def test_holding_variables_leaves_every_constraint_what_it_was(measure: str) -> None:
    problem, active = question(2, measure)
    part = reduced(problem, active).part
    x, chosen = part.start, np.zeros(len(part), dtype=bool)
    chosen[part.curved.matrix[[0]].indices] = True
    held = hold(part, x, chosen)
    rows = part.curved.involving(chosen)
    assert held.curved.values(x[chosen]) == pytest.approx(part.curved.values(x)[rows], abs=1e-9)
    kept = np.diff(part.equality[:, chosen].tocsr().indptr) > 0
    spare = (part.equality @ x - part.equality_bound)[kept]
    assert held.equality @ x[chosen] - held.equality_bound == pytest.approx(spare, abs=1e-9)


@pytest.mark.thorough
def test_the_people_below_a_broken_node_are_solved_for_anew() -> None:
    """What the closed form breaks is repaired node by node, the smallest first."""
    problem, active = question(3, "gain")
    search = search_of(problem)
    nodes = broken_nodes(problem, search.start, active)
    assert nodes
    people = repair(search, active, search.start, nodes, 0, np.random.default_rng(0))
    missed = [
        np.maximum(-choices.slack(each), 0).sum()
        for choices in problem.split_constraints[:1]
        for each in (search.start, people)
    ]
    assert missed[1] < missed[0] / 10
    assert max(linear.violation(people).max() for linear in problem.linear if linear.equal) < 1e-6


def relaxed_entropy(left: ReducedProblem, *, by_node: bool) -> float:
    """The entropy of the relaxation, with duals capped by node or by path."""
    part = left.part
    if not by_node:
        none = np.zeros(0, dtype=np.int64)
        part = replace(part, curved=replace(part.curved, node=none, curvature=np.zeros(0)))
    relief = replace(make_elastic(part, *dual_caps(part)), convex=True)
    return relief.entropy(solve(relief, SolverOptions()).x)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.thorough
def test_caps_by_node_bound_no_less_tightly_than_caps_by_path(measure: str) -> None:
    tried, tighter = 0, 0
    for seed in range(6):
        problem, active = question(seed, measure)
        if sum(map(len, active.splits)):
            node, path = (relaxed_entropy(reduced(problem, active), by_node=each) for each in (True, False))
            assert node <= path + 1e-6 * max(1.0, math.fabs(path))
            tried, tighter = tried + 1, tighter + (node < path - 1e-3)
    assert tried >= 3
    assert tighter >= 1


def test_people_of_unknown_number_are_capped_by_path() -> None:
    problem, active = question(1, "gain")
    assert len(reduced(problem, active).part.curved.node) == sum(map(len, active.splits))
    halved = replace(problem, strata=replace(problem.strata, share=problem.strata.share / 2))
    assert not len(reduce_problem(halved, active, closed_form(problem)[0], fixed_cells(problem)).part.curved.node)
