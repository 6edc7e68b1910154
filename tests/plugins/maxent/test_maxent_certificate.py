"""The bound on the entropy holds for any prices, at any point, wherever the tangent is taken."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from leafgate.api import Level
from leafgate.testing import grant_knowledge
from leafgate_plugins.baselines.builders import Id3
from leafgate_plugins.maxent.presolve.fixed_cells import fixed_cells
from leafgate_plugins.maxent.presolve.reduce import ActiveSet, ReducedProblem, reduce_problem
from leafgate_plugins.maxent.solve.active_set import empty_active_set, violated
from leafgate_plugins.maxent.solve.certificate import cap_duals, dual_caps, upper_bound
from leafgate_plugins.maxent.solve.closed_form import closed_form
from leafgate_plugins.maxent.solve.subproblem import Solution, Subproblem
from maxent_parts import random_table
from maxent_questions import answer, problem_of, truth_in
from random_maxent import release_of

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
@pytest.mark.parametrize("measure", ["gini", "gain"])
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
@pytest.mark.parametrize("measure", ["gini", "gain"])
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


@pytest.mark.parametrize("measure", ["gini", "gain"])
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
