"""AdaBoost of scikit-learn's trees, compared with scikit-learn's own answers."""

from typing import Any

import numpy as np
import pytest
import sklearn
from packaging.version import Version
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import leafgate
from ensemble_rows import (
    assert_shares_are_scikit_learns,
    both_readings,
    fitted,
)
from feature_rows import predicted
from installed_readers import leaves_of
from leafgate import ReleaseError
from leafgate.readers import LEAF
from sklearn_zoo import answers, rows

SAMME: dict[str, Any] = {} if Version(sklearn.__version__) >= Version("1.6") else {"algorithm": "SAMME"}
ENSEMBLES = {
    "stumps": AdaBoostClassifier(n_estimators=9, random_state=0, **SAMME),
    "trees": AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=6, learning_rate=0.5, **SAMME),
    "extra trees": AdaBoostClassifier(ExtraTreeClassifier(max_depth=5), n_estimators=5, random_state=1, **SAMME),
    "one perfect tree": AdaBoostClassifier(DecisionTreeClassifier(), n_estimators=5, random_state=2, **SAMME),
}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", ENSEMBLES)
def test_adaboost_answers_what_scikit_learn_answers(name: str, classes: int) -> None:
    model = fitted(ENSEMBLES[name], classes)
    for read in both_readings(model):
        given = assert_shares_are_scikit_learns(read, model)
        assert (np.array(read.classes)[predicted(read, given)] == model.predict(given)).all()


ROWS_OF_NO_WEIGHT = pytest.mark.filterwarnings("ignore:divide by zero encountered in log:RuntimeWarning")


@ROWS_OF_NO_WEIGHT
@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(40))
def test_bagged_adaboost_answers_what_scikit_learn_answers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    members = AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=int(rng.integers(1, 4))), n_estimators=int(rng.integers(1, 7)), **SAMME
    )
    bagging = BaggingClassifier(
        members,
        n_estimators=int(rng.integers(1, 5)),
        max_samples=float(rng.choice([0.5, 1.0])),
        max_features=float(rng.choice([0.7, 1.0])),
        bootstrap=bool(rng.integers(2)),
        bootstrap_features=bool(rng.integers(2)),
        random_state=seed,
    )
    model = fitted(bagging, int(rng.integers(2, 4)))
    for read in both_readings(model):
        assert [each.trees for each in read.calibrated_sums] == [len(each.estimators_) for each in model.estimators_]
        given = assert_shares_are_scikit_learns(read, model)
        assert (np.array(read.classes)[predicted(read, given)] == model.predict(given)).all()


@ROWS_OF_NO_WEIGHT
def test_what_bagged_adaboost_keeps_is_disclosed() -> None:
    model = fitted(BaggingClassifier(ENSEMBLES["stumps"], n_estimators=3, random_state=0), 2)
    for read in both_readings(model):
        assert {item.kind for item in read.discloses} == {
            "counts",
            "impurity",
            "seed",
            "training_loss",
            "bootstrap_rows",
        }
        assert {each.kind for tree in read.trees for each in tree.numbers} == {"weight"}
        assert (read.counted, read.settings["class_weight"], read.learner) == ("unknown", True, None)


@ROWS_OF_NO_WEIGHT
def test_bagged_adaboost_of_other_classes_is_refused() -> None:
    model = fitted(BaggingClassifier(ENSEMBLES["stumps"], n_estimators=3, random_state=0), 3)
    model.estimators_[1].fit(rows(1), answers(rows(1), 2))
    with pytest.raises(ReleaseError, match="classes of one of its members are not those of the ensemble"):
        leafgate.from_sklearn(model)


def test_the_rows_of_each_node_are_the_people_who_reach_it() -> None:
    read = leafgate.from_sklearn(fitted(ENSEMBLES["trees"], 2))
    assert (read.counted, read.settings["class_weight"]) == ("unknown", True)
    for tree in read.trees:
        where = leaves_of(tree, rows(1))
        assert tree.size is not None
        leaves = np.flatnonzero(tree.feature == LEAF)
        assert [(where == leaf).sum() for leaf in leaves] == tree.size[leaves].tolist()


def test_what_adaboost_keeps_is_disclosed() -> None:
    for name in ("stumps", "one perfect tree"):
        for read in both_readings(fitted(ENSEMBLES[name], 2)):
            kinds = {item.kind for item in read.discloses}
            assert {"counts", "impurity", "seed", "training_loss"} <= kinds
            assert "unread" not in kinds
            assert read.level == "counts"


def test_adaboost_of_forests_and_of_logarithms_is_refused() -> None:
    forests = fitted(AdaBoostClassifier(RandomForestClassifier(2, max_depth=2), n_estimators=2, **SAMME), 2)
    with pytest.raises(ReleaseError, match="AdaBoostClassifier of other models than single trees"):
        leafgate.from_sklearn(forests)
    real = fitted(ENSEMBLES["stumps"], 2)
    real.algorithm = "SAMME.R"
    with pytest.raises(ReleaseError, match=r"SAMME\.R.*`algorithm=\"SAMME\"`"):
        leafgate.from_sklearn(real)


def test_weights_that_are_not_those_of_its_trees_are_refused() -> None:
    model = clone(ENSEMBLES["stumps"]).fit(rows(1), answers(rows(1), 2))
    model.estimator_weights_ = model.estimator_weights_[:-1]
    with pytest.raises(ReleaseError, match="not one number for each tree"):
        leafgate.from_sklearn(model)
