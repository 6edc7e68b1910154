"""Bagged trees of scikit-learn, compared with scikit-learn's own answers."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, BaggingRegressor, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

import leafgate
from ensemble_rows import (
    assert_numbers_are_scikit_learns,
    assert_shares_are_scikit_learns,
    both_readings,
    fitted,
)
from installed_readers import leaves_of, lower_model
from leafgate import InconclusiveError, ReleaseError
from leafgate.algorithms.exclusion import absence_probability
from leafgate.api import Schema
from leafgate.readers import NO_SAMPLING, Sampling
from random_tables import categorical, numeric
from sklearn_zoo import answers, rows

TREE = DecisionTreeClassifier(max_depth=5)

CLASSIFIERS: dict[str, Any] = {
    "default": BaggingClassifier(n_estimators=4, random_state=0),
    "bootstrap": BaggingClassifier(TREE, n_estimators=7, random_state=1),
    "half": BaggingClassifier(TREE, n_estimators=5, max_samples=0.5, random_state=2),
    "few rows": BaggingClassifier(TREE, n_estimators=5, max_samples=200, random_state=3),
    "without replacement": BaggingClassifier(TREE, n_estimators=5, max_samples=0.4, bootstrap=False, random_state=4),
    "all rows": BaggingClassifier(TREE, n_estimators=4, bootstrap=False, max_features=2, random_state=5),
    "features": BaggingClassifier(TREE, n_estimators=6, max_features=2, random_state=6),
    "features drawn twice": BaggingClassifier(TREE, n_estimators=6, bootstrap_features=True, random_state=7),
    "extra": BaggingClassifier(ExtraTreeClassifier(max_depth=5), n_estimators=5, random_state=8),
    "weighted": BaggingClassifier(
        DecisionTreeClassifier(max_depth=4, class_weight="balanced"), n_estimators=4, random_state=9
    ),
    "scores of its own rows": BaggingClassifier(TREE, n_estimators=30, oob_score=True, random_state=0),
}

REGRESSORS: dict[str, Any] = {
    "default": BaggingRegressor(n_estimators=4, random_state=0),
    "features": BaggingRegressor(DecisionTreeRegressor(max_depth=5), n_estimators=5, max_features=2, random_state=1),
    "without replacement": BaggingRegressor(
        DecisionTreeRegressor(max_depth=5), n_estimators=5, bootstrap=False, max_samples=0.5, random_state=2
    ),
}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_bagged_classification_trees_answer_the_shares_that_scikit_learn_answers(name: str, classes: int) -> None:
    model = fitted(CLASSIFIERS[name], classes)
    for read in both_readings(model):
        assert_shares_are_scikit_learns(read, model)


@pytest.mark.parametrize("name", REGRESSORS)
def test_bagged_regression_trees_answer_the_numbers_that_scikit_learn_answers(name: str) -> None:
    model = fitted(REGRESSORS[name], 0)
    for read in both_readings(model):
        assert_numbers_are_scikit_learns(read, model)


def test_a_tree_that_knows_fewer_classes_than_the_ensemble_answers_in_their_columns() -> None:
    model = fitted(BaggingClassifier(TREE, n_estimators=3, bootstrap=False, random_state=0), 3)
    given = rows(1)
    kept = answers(given, 3) != 1  # the second class, `low` being the last in the order of the alphabet
    model.estimators_[1] = clone(TREE).fit(given[kept], np.where(answers(given, 3) == 2, 0, 1)[kept] * 2)
    assert_shares_are_scikit_learns(leafgate.from_sklearn(model), model)


@pytest.mark.parametrize(
    ("name", "counted", "sampling"),
    [
        ("bootstrap", "bootstrap", Sampling(draws=1.0)),
        ("half", "bootstrap", Sampling(draws=0.5)),
        ("few rows", "bootstrap", Sampling(draws=200)),
        ("without replacement", "sampled", Sampling((0.4, 0.4))),
        ("all rows", "exact", NO_SAMPLING),
        ("weighted", "unknown", Sampling((0.0, 1.0))),
    ],
)
def test_how_rows_were_drawn_is_read(name: str, counted: str, sampling: Sampling) -> None:
    for read in both_readings(fitted(CLASSIFIERS[name], 2)):
        assert (read.counted, read.sampling) == (counted, sampling)


def test_counts_of_all_rows_are_the_people_who_reach_each_leaf() -> None:
    read, given = leafgate.from_sklearn(fitted(CLASSIFIERS["all rows"], 2)), rows(1)
    labels = np.array(["low", "middle", "high"])[answers(given, 2)]
    for tree in read.trees:
        where = leaves_of(tree, given)
        assert tree.counts is not None
        for leaf in tree.leaves:
            assert tree.counts[leaf].tolist() == [(labels[where == leaf] == name).sum() for name in read.classes]


@pytest.mark.filterwarnings("ignore:When fitting BaggingClassifier with sample_weight")
def test_weights_of_rows_leave_the_sampling_unknown() -> None:
    given = rows(1)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, len(given))
    for bootstrap in (True, False):
        model = BaggingClassifier(TREE, n_estimators=3, max_samples=300, bootstrap=bootstrap, random_state=0)
        read = leafgate.from_sklearn(model.fit(given, answers(given, 2), sample_weight=weights))
        assert (read.counted, read.sampling) == ("unknown", Sampling((0.0, 1.0)))


def test_rows_that_were_copied_before_fitting_leave_the_sampling_unknown() -> None:
    given = rows(1)
    model = fitted(BaggingClassifier(TREE, n_estimators=2, random_state=0), 2)
    draws = np.random.default_rng(0).integers(0, len(given), len(given))
    model.estimators_[0] = clone(TREE).fit(given[draws], answers(given, 2)[draws])
    assert leafgate.from_sklearn(model).counted == "unknown"


@pytest.mark.parametrize(
    ("name", "drawn_again"), [("bootstrap", True), ("without replacement", True), ("all rows", False)]
)
def test_the_seeds_of_an_ensemble_disclose_the_rows_of_each_tree(name: str, drawn_again: bool) -> None:
    for read in both_readings(fitted(CLASSIFIERS[name], 2)):
        kinds = {item.kind for item in read.discloses}
        assert "seed" in kinds
        assert ("bootstrap_rows" in kinds) == drawn_again
        assert "unread" not in kinds


def test_what_an_ensemble_says_of_its_own_rows_is_disclosed() -> None:
    read = leafgate.from_sklearn(fitted(CLASSIFIERS["scores of its own rows"], 2))
    assert "training_rows" in {item.kind for item in read.discloses}


def test_the_settings_are_those_of_the_trees_and_of_the_draws() -> None:
    model = BaggingClassifier(
        DecisionTreeClassifier(min_samples_leaf=7), n_estimators=3, max_features=2, max_samples=0.5
    )
    read = leafgate.from_sklearn(fitted(model, 2))
    wanted = {"min_samples_leaf": 7, "class_weight": None, "bootstrap": True, "max_samples": 0.5}
    assert {name: read.settings[name] for name in wanted} == wanted
    assert read.settings["max_features"] is None
    assert read.learner is None


def excluding(model: Any) -> float:
    """The probability that somebody in the table of a model's rows is among no rows of a tree, as attacks take it."""
    read = leafgate.from_sklearn(model)
    columns = (*(numeric(name, "quasi_identifier", bounds=(-1e6, 1e6)) for name in read.features), CLASS)
    release = lower_model(read, Schema(columns), {}, "model").release
    return absence_probability(release, people=len(rows(1)), at_least=1, weighted=False)


CLASS = categorical("answer", "class", "sensitive", values=("low", "middle"))


def test_trees_of_all_rows_exclude_for_certain_and_bootstraps_by_chance() -> None:
    assert excluding(fitted(CLASSIFIERS["all rows"], 2)) == 0.0
    n = len(rows(1))
    assert excluding(fitted(CLASSIFIERS["bootstrap"], 2)) == pytest.approx((1 - 1 / n) ** n)
    assert excluding(fitted(CLASSIFIERS["half"], 2)) == pytest.approx((1 - 1 / n) ** (n // 2))


@pytest.mark.parametrize("bootstrap", [True, False])
def test_weighted_classes_of_a_sample_exclude_nobody(bootstrap: bool) -> None:
    tree = DecisionTreeClassifier(max_depth=5, class_weight="balanced")
    model = fitted(BaggingClassifier(tree, n_estimators=3, max_samples=0.4, bootstrap=bootstrap, random_state=0), 2)
    with pytest.raises(InconclusiveError, match="weights that the file does not tell"):
        excluding(model)


def test_monotonic_constraints_of_one_tree_exclude_nobody() -> None:
    model = fitted(CLASSIFIERS["all rows"], 2)
    tree = DecisionTreeClassifier(max_depth=3, monotonic_cst=[1, 0])
    model.estimators_[-1] = tree.fit(rows(1)[:, model.estimators_features_[-1]], answers(rows(1), 2))
    assert model.estimators_[0].monotonic_cst is None
    with pytest.raises(InconclusiveError, match="monotonic"):
        excluding(model)


def test_bagged_trees_at_the_end_of_a_pipeline_keep_the_names_of_columns() -> None:
    frame = pd.DataFrame(rows(1), columns=["pay", "age", "job"])
    model = make_pipeline(StandardScaler(), BaggingClassifier(TREE, n_estimators=3, max_features=2, random_state=0))
    read = leafgate.from_sklearn(model.fit(frame, answers(rows(1), 2)))
    assert read.features == ("pay", "age", "job")


def test_bagging_of_forests_is_refused_with_what_to_bag() -> None:
    model = fitted(BaggingClassifier(RandomForestClassifier(2, max_depth=2), n_estimators=2), 2)
    with pytest.raises(ReleaseError, match=r"BaggingClassifier of other models than single trees.*with decision trees"):
        leafgate.from_sklearn(model)


def test_features_of_a_tree_that_are_none_of_the_ensemble_are_refused() -> None:
    model = fitted(CLASSIFIERS["features"], 2)
    model.estimators_features_[0] = np.array([0, 3])
    with pytest.raises(ReleaseError, match="positions of features"):
        leafgate.from_sklearn(model)
