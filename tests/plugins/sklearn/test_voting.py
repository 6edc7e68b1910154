"""Voting of trees and forests of scikit-learn, compared with scikit-learn's own answers."""

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

import leafgate
from ensemble_rows import (
    around_every_threshold,
    assert_numbers_are_scikit_learns,
    assert_shares_are_scikit_learns,
    both_readings,
    fitted,
)
from feature_rows import predicted
from installed_readers import neutral_file, read_foreign
from leafgate import ReleaseError
from leafgate.readers import NO_SAMPLING, Sampling
from sklearn_zoo import answers, rows

TREE = DecisionTreeClassifier(max_depth=3)
OTHER = ExtraTreeClassifier(max_depth=4, random_state=1)
THIRD = DecisionTreeClassifier(max_depth=5, max_features=1, random_state=2)
BAGGED = BaggingClassifier(TREE, n_estimators=3, max_features=2)
FOREST = RandomForestClassifier(4, max_depth=4, random_state=0)


def voting(*members: Any, **settings: Any) -> VotingClassifier:
    return VotingClassifier([(f"model{i}", member) for i, member in enumerate(members)], **settings)


SOFT = {
    "trees": voting(TREE, OTHER, THIRD, voting="soft"),
    "equal weights": voting(TREE, OTHER, voting="soft", weights=[0.3, 0.3]),
    "forests": voting(FOREST, clone(FOREST).set_params(bootstrap=False), voting="soft"),
    "a forest and a tree": voting(FOREST, TREE, voting="soft", weights=[4, 1]),
    "bagged trees": voting(
        BaggingClassifier(TREE, n_estimators=3, max_features=2), TREE, voting="soft", weights=[3, 1]
    ),
}
HARD = {
    "two": voting(TREE, OTHER),
    "three": voting(TREE, OTHER, THIRD, weights=[2, 2, 2]),
    "dropped": voting(TREE, OTHER, "drop"),
}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", SOFT)
def test_soft_voting_answers_the_shares_that_scikit_learn_answers(name: str, classes: int) -> None:
    model = fitted(SOFT[name], classes)
    for read in both_readings(model):
        assert_shares_are_scikit_learns(read, model)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", HARD)
def test_hard_voting_answers_the_labels_that_scikit_learn_answers(name: str, classes: int) -> None:
    model = fitted(HARD[name], classes)
    for read in both_readings(model):
        given = around_every_threshold(read, rows(2))
        assert (np.array(read.classes)[predicted(read, given)] == model.predict(given)).all()
        again = read_foreign(neutral_file(read), "neutral")
        assert (np.array(again.classes)[predicted(again, given)] == model.predict(given)).all()


@pytest.mark.parametrize("weights", [None, [3, 1]])
def test_voting_regression_answers_the_numbers_that_scikit_learn_answers(weights: list[float] | None) -> None:
    trees = DecisionTreeRegressor(max_depth=4), DecisionTreeRegressor(max_depth=2)
    forests = RandomForestRegressor(3, max_depth=4), ExtraTreesRegressor(1, max_depth=4)
    members = trees if weights is None else forests
    model = fitted(VotingRegressor([("one", members[0]), ("other", members[1])], weights=weights), 0)
    for read in both_readings(model):
        assert_numbers_are_scikit_learns(read, model)


@pytest.mark.parametrize(
    ("model", "counted", "sampling"),
    [
        (SOFT["trees"], "exact", NO_SAMPLING),
        (SOFT["forests"], "unknown", Sampling((0.0, 1.0))),
        (voting(FOREST, FOREST, voting="soft"), "unknown", Sampling(draws=1.0)),
        (voting(FOREST, voting="soft"), "bootstrap", Sampling(draws=1.0)),
    ],
    ids=["all rows", "mixed", "forests of one seed", "one forest"],
)
def test_how_rows_were_drawn_is_known_only_where_members_agree(model: Any, counted: str, sampling: Sampling) -> None:
    read = leafgate.from_sklearn(fitted(model, 2))
    assert (read.counted, read.sampling) == (counted, sampling)
    assert (read.settings["class_weight"] is True) == (counted == "unknown")
    assert read.learner is None


def test_settings_are_those_that_all_members_have() -> None:
    one = DecisionTreeClassifier(max_depth=3, min_samples_leaf=5)
    other = DecisionTreeClassifier(max_depth=4, min_samples_leaf=5, monotonic_cst=[1, 0, 0])
    read = leafgate.from_sklearn(fitted(voting(one, other, voting="soft"), 2))
    assert read.settings["min_samples_leaf"] == 5
    assert read.settings["monotonic_cst"] is True
    assert "max_depth" not in read.settings


def test_what_members_keep_is_disclosed() -> None:
    forest = RandomForestClassifier(20, max_depth=4, oob_score=True, random_state=0)
    for read in both_readings(fitted(voting(forest, voting="soft"), 2)):
        assert {"training_rows", "bootstrap_rows", "seed"} <= {item.kind for item in read.discloses}
        assert "unread" not in {item.kind for item in read.discloses}


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (voting(FOREST, TREE, voting="soft"), "do not have the same weight.*in proportion to its number of trees"),
        (voting(TREE, OTHER, weights=[2, 1]), "do not have the same weight"),
        (voting(TREE, OTHER, voting="soft", weights=[1, 0]), "not all above 0"),
        (voting(FOREST, FOREST), 'one vote, and some of them have several trees.*use `voting="soft"`'),
        (
            voting(GradientBoostingClassifier(n_estimators=2), TREE),
            "its members is a GradientBoostingClassifier",
        ),
    ],
    ids=["weights", "weights of labels", "no weight", "forests", "boosting"],
)
def test_voting_that_is_no_mean_of_trees_is_refused(model: Any, message: str) -> None:
    trained = fitted(model, 2)
    with pytest.raises(ReleaseError, match=message):
        leafgate.from_sklearn(trained)


def test_estimators_that_were_fitted_before_are_refused() -> None:
    trained = voting(fitted(TREE, 2), OTHER).fit(rows(1), answers(rows(1), 2))
    with pytest.raises(ReleaseError, match=r"fitted before it was.*sklearn\.base\.clone"):
        leafgate.from_sklearn(trained)


def test_named_estimators_other_than_the_members_are_refused() -> None:
    trained = fitted(voting(TREE, OTHER), 2)
    trained.named_estimators_["model1"] = fitted(THIRD, 2)
    with pytest.raises(ReleaseError, match="`named_estimators_` are not its `estimators_`"):
        leafgate.from_sklearn(trained)


def test_named_estimators_that_count_other_people_than_the_members_are_refused() -> None:
    trained = fitted(voting(TREE, OTHER), 2)
    copied = deepcopy(trained.named_estimators_["model1"])
    state = copied.tree_.__getstate__()
    state["nodes"]["n_node_samples"] *= 2
    copied.tree_.__setstate__(state)
    trained.named_estimators_["model1"] = copied
    with pytest.raises(ReleaseError, match="`named_estimators_` are not its `estimators_`"):
        leafgate.from_sklearn(trained)
