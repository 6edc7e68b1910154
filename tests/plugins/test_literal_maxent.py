from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings

from leafgate.known import Known, known_of
from leafgate.release import Level, Release
from leafgate.tree import Fan
from leafgate_baselines import Id3
from literal_casadi import solve_casadi
from literal_counting import count
from literal_gekko import solve_gekko
from literal_maxent import Floats, Model, model_of, truth_of, violation
from literal_newton import solve_newton
from literal_starting import Answer, starts
from random_maxent import Case, cases, release_of, sklearn_cases
from random_tables import categorical, table_of

Solver = Callable[[Model, Floats], Answer | None]

SALARY = categorical("salary", "class", "sensitive", values=("<=50K", ">50K"))
AGE = categorical("age", "quasi_identifier", values=("20-30", "30-40", "40-50"))
DEGREE = categorical("education", "quasi_identifier", values=("Masters", "Doctorate"))
COUNTRY = categorical("country", "quasi_identifier", values=("USA", "Canada"))
GENDER = categorical("gender", "quasi_identifier", values=("F", "M"))

FIGURE_2 = table_of(
    (AGE, DEGREE, SALARY),
    [
        ("20-30", "Doctorate", "<=50K"),
        ("30-40", "Masters", "<=50K"),
        ("30-40", "Doctorate", ">50K"),
        ("40-50", "Masters", ">50K"),
    ],
    [2, 1, 1, 2],
)
"""Zhu, Du 2010, Figure 2(a); q2 is (30-40, Masters), which sorts after q3, (30-40, Doctorate)."""

FIGURE_1 = table_of(
    (DEGREE, COUNTRY, GENDER, SALARY),
    [
        ("Masters", "USA", "F", "<=50K"),
        ("Masters", "USA", "M", "<=50K"),
        ("Masters", "Canada", "M", ">50K"),
        ("Masters", "Canada", "F", "<=50K"),
        ("Masters", "Canada", "F", ">50K"),
        ("Doctorate", "USA", "F", ">50K"),
        ("Doctorate", "Canada", "M", "<=50K"),
        ("Doctorate", "Canada", "M", ">50K"),
        ("Doctorate", "Canada", "F", ">50K"),
    ],
    [1, 1, 2, 1, 1, 2, 1, 1, 1],
)


def example_1(level: Level = "counts", *, distribution: bool = False) -> tuple[Release, Known]:
    """Figure 2(b): age is asked, and nothing more of the two people of 30 to 40."""
    release = release_of(Id3(min_split=3), FIGURE_2, level)
    assert isinstance(release.trees[0], Fan)
    return release, known_of(FIGURE_2, distribution=distribution)


def mixed(known: Known, x: float) -> Floats:
    """Example 1's belief where q2 has <=50K with probability x."""
    first = {("20-30", "Doctorate"): 1.0, ("30-40", "Masters"): x, ("30-40", "Doctorate"): 1 - x}
    chances = [first.get((a, d), 0.0) for a, d in known.records[["age", "education"]].itertuples(index=False)]
    return np.array([[p, 1 - p] for p in chances])


@settings(max_examples=250, deadline=None)
@given(cases() | sklearn_cases())
def test_the_truth_meets_every_constraint(case: Case) -> None:
    table, release, known = case
    assert max(violation(model_of(release, known), truth_of(table)).values()) < 1e-9


def test_example_1_asks_age_and_only_education_was_a_rival() -> None:
    release, known = example_1()
    (compared,) = model_of(release, known).comparisons
    assert (compared.column, compared.candidate.column) == ("age", "education")


@pytest.mark.parametrize("level", ["counts", "error_rates"])
@pytest.mark.parametrize("distribution", [False, True])
@pytest.mark.parametrize("solve", [solve_casadi, solve_newton, solve_gekko])
def test_example_1_leaves_the_two_of_30_to_40_undecided(level: Level, distribution: bool, solve: Solver) -> None:
    model = model_of(*example_1(level, distribution=distribution))
    found = solve(model, next(starts(model, np.random.default_rng(0))))
    assert found is not None
    assert found.p == pytest.approx(mixed(example_1()[1], 0.5), abs=1e-6)
    assert found.entropy == pytest.approx(0.231, abs=5e-4)


@pytest.mark.parametrize(("x", "met"), [(0.5, True), (0.18448, True), (0.18446, False), (0.0, False), (1.0, True)])
def test_example_1_says_only_that_x_is_above_a_fifth(x: float, met: bool) -> None:
    release, known = example_1()
    assert (max(violation(model_of(release, known), mixed(known, x)).values()) < 1e-9) == met


def test_example_1_counted_tells_everyones_salary() -> None:
    release, known = example_1()
    found = count(model_of(release, known))
    assert found is not None
    assert found.data_sets == 1
    assert (found.p == mixed(known, 1.0)).all()
    leaves_alone = count(model_of(release, known, internal=False))
    assert leaves_alone is not None
    assert (leaves_alone.p == mixed(known, 0.5)).all()


def test_figure_1_asks_education_then_country_of_masters_and_gender_of_doctors() -> None:
    root = release_of(Id3(), FIGURE_1, "counts").trees[0]
    assert isinstance(root, Fan)
    below = {branch.values: branch.node for branch in root.branches}
    masters, doctors = below["Masters",], below["Doctorate",]
    assert root.column == "education"
    assert isinstance(masters, Fan)
    assert isinstance(doctors, Fan)
    assert (masters.column, doctors.column) == ("country", "gender")


def test_what_else_is_known_is_imposed() -> None:
    release, known = example_1()
    q2 = mixed(known, 1.0) * (known.weight == 1)[:, None] * [1, 0]
    model = model_of(release, known, extra=[(q2, ">=", 0.75)])
    found = solve_casadi(model, model.closed)
    assert found is not None
    assert found.p == pytest.approx(mixed(known, 0.75), abs=1e-6)
    assert violation(model, mixed(known, 0.5))["extra"] == pytest.approx(0.25)
