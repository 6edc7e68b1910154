"""How often each label is right: the optimum, how small the problem becomes, and the Newton system that it leads to."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from example_counts import examples, seeds
from leafgate import Release, Table
from leafgate.algorithms.publication import published
from leafgate.api import AdversaryKnowledge, Publish
from leafgate.testing import grant_knowledge
from leafgate_plugins.baselines.builders import Id3
from leafgate_plugins.maxent.presolve.fixed_cells import fixed_cells
from leafgate_plugins.maxent.presolve.reduce import reduce_problem
from leafgate_plugins.maxent.problem.problem import Problem, SolveSettings
from leafgate_plugins.maxent.solve.active_set import empty_active_set, solve, violated
from leafgate_plugins.maxent.solve.closed_form import closed_form
from leafgate_plugins.maxent.solve.interior_point import Preconditioner
from leafgate_plugins.maxent.solve.subproblem import Subproblem
from literal_casadi import solve_casadi
from literal_maxent import Extra, entropy, model_of, reached, violation
from maxent_parts import parts, random_table
from maxent_questions import answer, believed, problem_of
from random_maxent import Case, cases, secret_tables

Floats = NDArray[np.float64]
SMALL = secret_tables(most=9)


def labelled(seed: int, classes: int = 3) -> tuple[Table, Release, AdversaryKnowledge]:
    """A random table, a tree that publishes labels, and an adversary who knows how often they are right."""
    table = random_table(seed, classes=classes)
    builder = Id3.model_validate({"measure": "gain", "min_split": 12})
    draft = builder.build(table, np.random.default_rng(0))
    release = published(draft, Publish(leaves="labels", measure=True), builder.measure_options)
    return table, release, grant_knowledge(table, release=release)


def accuracies_written_out(release: Release, known: AdversaryKnowledge, accuracies: Mapping[str, float]) -> list[Extra]:
    """So many people of the leaves with a label have it; of a label that is always right nobody has another class."""
    shape = (len(known.weight), len(release.classes))
    extra: list[Extra] = []
    for x, name in enumerate(release.classes):
        rows = [row for leaf, rows in reached(release.trees[0], known) if leaf.label == name for row in rows]
        if not rows:
            continue
        people = np.zeros(shape)
        people[rows] = known.weight[rows, None]
        of_label = np.arange(shape[1]) == x
        extra.append((people * of_label, "=", accuracies[name] * float(known.weight[rows].sum())))
        if accuracies[name] == 1:
            extra += [(people * (np.arange(shape[1]) == other), "=", 0.0) for other in range(shape[1]) if other != x]
    return extra


@given(cases(SMALL, ["labels"], distribution=False))
@pytest.mark.thorough
def test_with_the_accuracy_of_each_label_ipopt_finds_the_same(case: Case) -> None:
    """Of the whole problem, written out, without the choices of tests: it is convex."""
    table, release, _ = case
    known = grant_knowledge(table, release=release)
    assume(known.label_accuracies)
    assert known.label_accuracies is not None
    extra = accuracies_written_out(release, known, known.label_accuracies)
    model = model_of(release, known, internal=False, extra=extra)
    outcome = answer(release, known, internal=False)
    p = believed(problem_of(release, known), outcome.people)
    assert max(violation(model, p).values()) < 1e-8
    best = solve_casadi(model, model.closed)
    assume(best is not None and best.settled)
    assert best is not None
    assert outcome.entropy == pytest.approx(entropy(model, p), abs=1e-12)
    assert outcome.entropy == pytest.approx(best.entropy, rel=1e-7, abs=1e-7)
    assert p == pytest.approx(best.p, abs=1e-4)


@pytest.mark.parametrize("seed", seeds(6))
def test_people_with_one_predicted_class_are_one_unknown(seed: int) -> None:
    """Leaves of which nothing is imposed keep nobody apart; each label has one number of people for each class."""
    _, release, known = labelled(seed)
    problem = problem_of(release, known, internal=False)
    people, _ = closed_form(problem)
    part = reduce_problem(problem, empty_active_set(problem), people, fixed_cells(problem)).part
    assert known.label_accuracies is not None
    assert len(part) <= len(known.label_accuracies) * problem.classes


@pytest.mark.parametrize("seed", seeds(6))
def test_of_a_label_alone_everybody_is_believed_as_often_as_it_is_right(seed: int) -> None:
    _, release, known = labelled(seed)
    assert known.label_accuracies is not None
    problem = problem_of(release, known, internal=False)
    p = believed(problem, answer(release, known, internal=False).people)
    for leaf, rows in reached(release.trees[0], known):
        accuracy = known.label_accuracies[str(leaf.label)]
        expected = [
            accuracy if name == leaf.label else (1 - accuracy) / (len(release.classes) - 1) for name in release.classes
        ]
        if accuracy >= 1 / len(release.classes):
            assert p[list(rows)] == pytest.approx(np.tile(expected, (len(rows), 1)), abs=1e-7)


def newton_parts() -> Iterator[Subproblem]:
    """Reduced problems of labels with accuracies, and of the same with the choices that the first optimum breaks."""
    for seed in range(4):
        for classes in (2, 3):
            _, release, known = labelled(seed, classes)
            problem = problem_of(release, known)
            bare = problem_of(release, known, internal=False)
            people = solve_leaves(bare)
            active = violated(problem, people, empty_active_set(problem), margin=0.05)
            yield reduce_problem(problem, active, people, fixed_cells(problem)).part


def solve_leaves(problem: Problem) -> Floats:
    """What the leaves say alone."""
    return solve(problem, SolveSettings("structured", 1, 60.0)).people


@functools.cache
def all_parts() -> list[Subproblem]:
    """Reduced problems of all kinds."""
    return [*newton_parts(), *parts(0, gini=False), *parts(1, gini=True)]


@examples(1 / 4)
@given(st.integers(0, 2**32 - 1))
def test_the_newton_system_is_solved_as_the_whole_matrix_is(seed: int) -> None:
    """Whether the equations of public rows are eliminated first or not."""
    rng = np.random.default_rng(seed)
    eliminated = set()
    for part in all_parts():
        eliminated.add(part.n_disjoint > 0)
        x = np.maximum(part.start, 0.01) * rng.uniform(0.5, 2, len(part))
        diagonal, curved = 1 / x, part.curved.jacobian(x)
        damping = rng.uniform(0.1, 2, curved.shape[0] + part.inequality.shape[0])
        equal = part.equality.toarray()
        rows = np.vstack([curved.toarray(), part.inequality.toarray()])
        right, price = rng.normal(size=len(part)), rng.normal(size=len(rows))
        missed = equal @ rng.normal(size=len(part))
        step = Preconditioner(diagonal, part, curved, damping).solve(right, missed, price)
        assert diagonal * step.x - rows.T @ step.dual - equal.T @ step.equality_dual == pytest.approx(right, abs=1e-6)
        assert equal @ step.x == pytest.approx(missed, abs=1e-6)
        assert rows @ step.x + damping * step.dual == pytest.approx(price, abs=1e-6)
    assert eliminated == {True, False}
