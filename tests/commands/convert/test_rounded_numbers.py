"""Numbers on leaves are rounded so far that nobody's number and no sum follows, and hardly any use is lost."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.tree import DecisionTreeRegressor

import leafgate
from leafgate.commands.convert.rounding import with_rounded_numbers
from leafgate.commands.convert.scrub import minimise


@given(st.integers(0, 10_000), st.sampled_from([1e-4, 0.03, 1.0, 25.0, 1e6]), st.sampled_from([0.0, 1.0, -7e3]))
def test_rounded_numbers_are_nobodys_and_cost_next_to_nothing(seed: int, scale: float, start: float) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 9, (200, 3))
    people = np.round(start + scale * (rows[:, 0] + rng.normal(0, 1, 200)), 6)
    model = leafgate.from_sklearn(DecisionTreeRegressor(min_samples_leaf=10, random_state=0).fit(rows, people))
    before, after = (one.trees[0].values[one.trees[0].leaves, 0] for one in (model, with_rounded_numbers(model)))
    assert len(before) == len(after)
    assert np.abs(after - before).max() <= np.std(before) / 2
    assert np.mean((after - before) ** 2) <= np.var(before) / 40
    assert not set(after.tolist()) & set(people.tolist())


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_people_do_not_follow_from_rounded_means_of_whole_numbers(scale: float) -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 9, (400, 3))
    people = np.rint(scale * (rows[:, 0] + rng.normal(0, 1, 400)))
    model = leafgate.from_sklearn(DecisionTreeRegressor(min_samples_leaf=10, random_state=0).fit(rows, people))
    assert minimise(model, "labels", "model").level == "counts"
    assert minimise(with_rounded_numbers(model), "labels", "model").level == "labels"


def test_people_do_not_follow_from_numbers_that_are_moved_back() -> None:
    """Of shares of yes and no in thousandths, .5 is of an even number of few people; so they are hundredths."""
    rows = np.repeat([[0.0], [1.0], [2.0]], [6, 10, 11], axis=0)
    people = np.concatenate([np.repeat([1.0, 0.0], sides) for sides in ((2, 4), (5, 5), (6, 5))])
    model = leafgate.from_sklearn(DecisionTreeRegressor(random_state=0).fit(rows, people))
    rounded = with_rounded_numbers(replace(model, discloses=()))
    numbers = rounded.trees[0].values[rounded.trees[0].leaves, 0]
    gaps = np.diff(np.sort(numbers))
    assert np.allclose(gaps, np.round(gaps, 2), atol=1e-12)
    assert minimise(rounded, "labels", "model").level == "labels"


def test_as_few_digits_are_dropped_whatever_else_the_file_tells() -> None:
    """The file of scikit-learn tells the people of each node, which a repair takes out."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 9, (400, 3))
    model = leafgate.from_sklearn(DecisionTreeRegressor(min_samples_leaf=10).fit(rows, 100.5 * rows[:, 0]))
    assert model.level == "counts"
    before, after = (one.trees[0].values[one.trees[0].leaves, 0] for one in (model, with_rounded_numbers(model)))
    assert np.abs(after - before).max() <= np.std(before) / 20


def test_scores_of_boosting_are_not_rounded() -> None:
    rows = np.random.default_rng(0).normal(size=(60, 2))
    model = leafgate.from_sklearn(GradientBoostingRegressor(n_estimators=3).fit(rows, rows[:, 0]))
    assert with_rounded_numbers(model) is model
