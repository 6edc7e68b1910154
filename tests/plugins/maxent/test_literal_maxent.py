from __future__ import annotations

import numpy as np
import pytest

from leafgate.api import Level
from literal_casadi import solve_casadi
from literal_counting import count
from literal_maxent import model_of, violation
from literal_starting import starts
from maxent_examples import example_1, mixed


def test_example_1_asks_age_and_only_education_was_a_rival() -> None:
    release, known = example_1()
    (compared,) = model_of(release, known).comparisons
    assert (compared.column, compared.candidate.column) == ("age", "education")


@pytest.mark.parametrize("level", ["counts", "error_rates"])
@pytest.mark.parametrize("distribution", [False, True])
def test_example_1_leaves_the_two_of_30_to_40_undecided(level: Level, distribution: bool) -> None:
    model = model_of(*example_1(level, distribution=distribution))
    found = solve_casadi(model, next(starts(model, np.random.default_rng(0))))
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


def test_what_else_is_known_is_imposed() -> None:
    release, known = example_1()
    q2 = mixed(known, 1.0) * (known.weight == 1)[:, None] * [1, 0]
    model = model_of(release, known, extra=[(q2, ">=", 0.75)])
    found = solve_casadi(model, model.closed)
    assert found is not None
    assert found.p == pytest.approx(mixed(known, 0.75), abs=1e-6)
    assert violation(model, mixed(known, 0.5))["extra"] == pytest.approx(0.25)
