"""What else is known: facts of people in general, and single people whose secret is no secret."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leafgate.fact import Fact
from leafgate_maxent import MaxEnt
from maxent_examples import FIGURE_2, example_1, mixed
from maxent_questions import answer, believed, problem_of
from random_tables import table_of


def test_a_fact_moves_the_belief_just_as_far_as_it_must() -> None:
    release, known = example_1()
    fact = Fact({"age": ("30-40",), "education": ("Masters",)}, "salary", ("<=50K",), 0.75, 1.0)
    outcome = answer(release, replace(known, facts=(fact,)))
    found = believed(problem_of(release, known), outcome.people)
    assert found == pytest.approx(mixed(known, 0.75), abs=1e-7)
    assert outcome.gap < 1e-9


def test_one_known_person_gives_the_other_away() -> None:
    release, known = example_1()
    q2 = table_of(FIGURE_2.schema.columns, [("30-40", "Masters", "<=50K")])
    (belief,) = MaxEnt(solver="structured").infer(release, replace(known, people=q2))
    assert belief.chances is not None
    assert belief.chances.to_numpy() == pytest.approx(mixed(known, 1.0), abs=1e-7)


def test_what_is_known_of_nobody_changes_nothing() -> None:
    release, known = example_1()
    nobody = Fact({"age": ("20-30",), "education": ("Masters",)}, "salary", ("<=50K",), 1.0, 1.0)
    outcome = answer(release, replace(known, facts=(nobody,)))
    assert believed(problem_of(release, known), outcome.people) == pytest.approx(mixed(known, 0.5), abs=1e-7)


def test_what_the_leaves_say_does_not_hold_who_was_known_before() -> None:
    release, known = example_1()
    q2 = table_of(FIGURE_2.schema.columns, [("30-40", "Masters", "<=50K")])
    (belief,) = MaxEnt(solver="structured").infer(release, replace(known, people=q2))
    assert belief.baseline is not None
    assert belief.baseline.to_numpy() == pytest.approx(mixed(known, 0.5), abs=1e-7)
