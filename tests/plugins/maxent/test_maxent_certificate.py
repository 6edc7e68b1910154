"""Where there are many optima, one start ends at a belief that keeps every constraint, and the bound holds.

The bound on the entropy holds for any prices, at any point, wherever the tangent is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate import Table
from leafgate.api import Level
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
from leafgate_plugins.maxent.solve.certificate import cap_duals, dual_caps, upper_bound
from leafgate_plugins.maxent.solve.closed_form import closed_form
from leafgate_plugins.maxent.solve.engine import Search, engine_of
from leafgate_plugins.maxent.solve.interior_point import SolverOptions, solve
from leafgate_plugins.maxent.solve.lifting import make_elastic
from leafgate_plugins.maxent.solve.subproblem import Solution, Subproblem
from literal_maxent import model_of, violation
from maxent_parts import random_table
from maxent_questions import answer, believed, problem_of, truth_in
from random_maxent import Case, cases, release_of, secret_tables

MEASURES = ("gini", "gain")
SEEDS = range(12)


@cache
def everything(seed: int, measure: str, level: Level) -> tuple[ReducedProblem, list[np.ndarray]]:
    """A problem with all inequalities imposed, and points that keep them: the truth, and what the attack finds."""
    table = random_table(seed, rows=14, values=2)
    release = release_of(Id3.model_validate({"use": "id3", "measure": measure, "min_split": 8}), table, level)
    known = grant_knowledge(table)
    problem = problem_of(release, known)
    choices = [np.arange(len(each)) for each in problem.split_constraints]
    linear = [np.arange(0 if each.equal else len(each)) for each in problem.linear]
    left = reduce_problem(problem, ActiveSet(choices, linear), closed_form(problem)[0], fixed_cells(problem))
    found = [truth_in(problem, release, table), answer(release, known, starts=2).people]
    kept = [people for people in found if max(problem.violations(people).values()) < 1e-7]
    assert not len(violated(problem, kept[0], empty_active_set(problem)))
    return left, [left.variables(people) for people in kept]


def priced(part: Subproblem, x: np.ndarray, rng: np.random.Generator, size: float) -> Solution:
    """Prices drawn at random, of the size that is asked for; those that must be are not negative."""
    curved, least, equal = len(part.curved), len(part.inequality_bound), len(part.equality_bound)
    return Solution(
        x, size * rng.random(curved), size * rng.random(least), size * rng.normal(size=equal), converged=True
    )


def points(part: Subproblem, inside: list[np.ndarray], rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Points that keep the equalities: between those that keep everything."""
    for _ in range(8):
        share = rng.dirichlet(np.ones(len(inside)))
        yield sum((s * x for s, x in zip(share, inside, strict=True)), start=np.zeros(len(part)))


@pytest.mark.thorough
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("level", ["labels", "error_rates"])
def test_capped_prices_bound_every_belief_that_keeps_the_constraints(measure: str, level: Level) -> None:
    rng, tried = np.random.default_rng(0), 0
    for seed in SEEDS:
        left, inside = everything(seed, measure, level)
        part = left.part
        if not len(part) or not len(part.curved):
            continue
        caps, most = dual_caps(part)
        for x in points(part, inside, rng):
            for size in (0.1, 1.0, 10.0):
                solved = cap_duals(priced(part, x, rng, size), caps, most)
                bound = upper_bound(part, solved)
                assert all(part.entropy(y) <= bound + 1e-7 for y in inside)
                tried += 1
    assert tried > 100


@pytest.mark.thorough
@pytest.mark.parametrize("measure", MEASURES)
def test_capped_prices_make_the_lagrangian_concave(measure: str) -> None:
    """Between any two points that keep the equalities it lies above the chord."""
    rng, tried = np.random.default_rng(1), 0
    for seed in SEEDS:
        left, inside = everything(seed, measure, "error_rates")
        part = left.part
        if len(inside) < 2 or not len(part.curved):
            continue
        caps, most = dual_caps(part)
        for size in (1.0, 10.0, 100.0):
            prices = cap_duals(priced(part, inside[0], rng, size), caps, most).duals

            def lagrangian(x: np.ndarray, prices: np.ndarray = prices, part: Subproblem = part) -> float:
                return part.entropy(x) + float(prices @ part.curved.values(x))

            for t in (0.1, 0.5, 0.9):
                a, b = inside
                between = lagrangian((1 - t) * a + t * b)
                assert between >= (1 - t) * lagrangian(a) + t * lagrangian(b) - 1e-7
                tried += 1
    assert tried > 30


def test_prices_that_are_too_high_are_lowered_and_others_are_not() -> None:
    left, inside = everything(1, "gini", "error_rates")
    part = left.part
    caps, most = dual_caps(part)
    rng = np.random.default_rng(2)
    for size in (1e-6, 50.0):
        solved = priced(part, inside[0], rng, size)
        lowered = cap_duals(solved, caps, most).duals
        assert (caps.T @ lowered <= most + 1e-9).all()
        assert (lowered <= solved.duals + 1e-12).all()
        assert (lowered == solved.duals).all() == (size < 1e-3)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("level", ["labels", "error_rates"])
@pytest.mark.thorough
def test_the_bound_is_the_largest_value_of_the_tangent_in_the_box(measure: str, level: Level) -> None:
    """With the slope of the Lagrangian by finite differences, every constraint by its own arithmetic."""
    rng = np.random.default_rng(3)
    for seed in SEEDS:
        left, inside = everything(seed, measure, level)
        part = left.part
        if not len(part):
            continue
        solved = priced(part, np.mean(inside, axis=0) + 0.05, rng, 1.0)
        prices = np.concatenate([solved.duals, solved.inequality_duals])

        def lagrangian(
            x: np.ndarray,
            part: Subproblem = part,
            prices: np.ndarray = prices,
            equal: np.ndarray = solved.equality_duals,
        ) -> float:
            return (
                part.entropy(x)
                + float(prices @ part.slack(x))
                + float(equal @ (part.equality @ x - part.equality_bound))
            )

        steps = 1e-6 * np.eye(len(part))
        slope = np.array([(lagrangian(solved.x + s) - lagrangian(solved.x - s)) / 2e-6 for s in steps])
        largest = lagrangian(solved.x) - slope @ solved.x + np.maximum(slope * part.limit, 0).sum()
        assert upper_bound(part, solved) == pytest.approx(largest, rel=1e-5, abs=1e-4)


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
