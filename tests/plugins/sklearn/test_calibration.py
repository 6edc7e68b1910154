"""Calibrated trees of scikit-learn, compared with scikit-learn's own answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import leafgate
from command_line import leafgate as command
from ensemble_rows import assert_shares_are_scikit_learns, both_readings, fitted
from feature_rows import predicted, votes
from installed_readers import neutral_file, read_foreign
from leafgate import ReleaseError
from leafgate.algorithms.prediction import class_scores
from leafgate.app import open_session
from sklearn_zoo import answers, rows

TREE = DecisionTreeClassifier(max_depth=4, random_state=0)
METHODS = ["sigmoid", "isotonic", "temperature"]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tree", [TREE, ExtraTreeClassifier(max_depth=5, class_weight="balanced", random_state=1)])
def test_calibrated_trees_answer_as_scikit_learn_does(tree: Any, method: str, ensemble: bool, classes: int) -> None:
    model = fitted(CalibratedClassifierCV(tree, method=method, ensemble=ensemble, cv=3), classes)
    for read in both_readings(model):
        given = assert_shares_are_scikit_learns(replace(read, combine="mean_per_tree"), model)
        assert len(read.trees) == (3 if ensemble else 1)
        answered = np.array(read.classes)[predicted(read, given)]
        shares = np.sort(model.predict_proba(given), axis=1)
        clear = shares[:, -1] - shares[:, -2] > 1e-12
        assert np.array_equal(answered[clear], model.predict(given)[clear])
        kinds = {each.kind: each.severity for each in read.discloses}
        assert kinds["calibration"] == "high"
        assert ("class_shares" in kinds) == (method == "isotonic")
        assert "other_content" not in kinds


def test_a_tree_that_was_fitted_before_is_read() -> None:
    given, y = rows(1), answers(rows(1), 2)
    tree = DecisionTreeClassifier(max_depth=3).fit(given[:300], y[:300])
    model = CalibratedClassifierCV(FrozenEstimator(tree), method="isotonic").fit(given[300:], y[300:])
    read = read_foreign(skops.io.dumps(model), "m")
    assert read.sampling.rate == (0.0, 1.0)
    np.testing.assert_allclose(read.trees[0].values[read.trees[0].leaves].sum(axis=1), 1)
    model.classes_ = model.classes_.astype(str)
    assert_shares_are_scikit_learns(replace(read, combine="mean_per_tree"), model)


SUMS = {
    "forest": RandomForestClassifier(6, max_depth=4, random_state=0),
    "extra": ExtraTreesClassifier(5, max_depth=5, bootstrap=True, random_state=0),
    "bagging": BaggingClassifier(TREE, n_estimators=3, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=6, random_state=0),
    "histograms": HistGradientBoostingClassifier(max_iter=6, random_state=0),
}


@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize(("method", "classes"), [("sigmoid", 2), ("sigmoid", 3), ("isotonic", 2)])
@pytest.mark.parametrize("name", SUMS)
def test_a_sum_of_trees_that_is_calibrated_once_answers_as_it(
    name: str, method: Any, classes: int, frozen: bool
) -> None:
    given, y = rows(1), answers(rows(1), classes)
    if frozen:
        inner = FrozenEstimator(clone(SUMS[name]).fit(given[:300], y[:300]))
        model = CalibratedClassifierCV(inner, method=method).fit(given[300:], y[300:])
    else:
        model = CalibratedClassifierCV(SUMS[name], method=method, ensemble=False, cv=3).fit(given, y)
    for read in both_readings(model):
        tests = [tree.threshold[tree.feature >= 0] for tree in read.trees]
        pool = np.concatenate([*tests, *(np.nextafter(each, -np.inf) for each in tests), given.ravel()])
        people = np.random.default_rng(0).choice(pool, (300, given.shape[1]))
        asked = people[:, [int(feature.removeprefix("x")) for feature in read.features]]
        assert np.array_equal(np.array(read.classes)[predicted(read, asked)], model.predict(people).astype(str))
        assert read.level == "counts"
        assert {each.kind for each in read.discloses} >= {"calibration"}
        assert "other_content" not in {each.kind for each in read.discloses}
        if read.link == "softmax":
            powers = np.exp(votes(read, asked))
            order = [read.classes.index(str(value)) for value in model.classes_]
            shares = (powers / powers.sum(axis=1, keepdims=True))[:, order]
            np.testing.assert_allclose(shares, model.predict_proba(people), atol=1e-9)
    assert (read.link == "softmax") == (method == "sigmoid" and classes == 2)


@pytest.mark.parametrize(("method", "classes"), [("isotonic", 3), ("temperature", 2), ("temperature", 3)])
def test_a_map_of_all_scores_together_is_refused(method: Any, classes: int) -> None:
    model = fitted(CalibratedClassifierCV(SUMS["forest"], method=method, ensemble=False, cv=3), classes)
    with pytest.raises(ReleaseError, match=r"sum of a RandomForestClassifier is no score|not one calibrator for each"):
        leafgate.from_sklearn(model)


@pytest.mark.parametrize("at", ["jump", "never", "always"])
def test_the_score_of_an_even_chance_is_none_of_the_points(at: str) -> None:
    model = fitted(CalibratedClassifierCV(SUMS["forest"], method="isotonic", ensemble=False, cv=3), 2)
    map_ = model.calibrated_classifiers_[0].calibrators[0]
    map_.X_thresholds_ = np.array([0.2, 0.5, 0.5 + (1e-12 if at == "jump" else 0.1), 0.9])
    map_.y_thresholds_ = {
        "jump": np.array([0.0, 0.5, 0.6, 1.0]),
        "never": np.array([0.0, 0.1, 0.2, 0.5]),
        "always": np.array([0.6, 0.7, 0.8, 1.0]),
    }[at]
    if at == "jump":
        with pytest.raises(ReleaseError, match="equal but for their last digits"):
            leafgate.from_sklearn(model)
        return
    read = leafgate.from_sklearn(model)
    given = rows(2)
    assert set(predicted(read, given).tolist()) == ({0} if at == "never" else {1})


@pytest.mark.parametrize(
    "estimator", [RandomForestClassifier(3), GradientBoostingClassifier(n_estimators=2), LogisticRegression()]
)
def test_other_calibrated_models_are_refused_by_their_class(estimator: Any) -> None:
    model = fitted(CalibratedClassifierCV(estimator, cv=2), 2)
    words = f"calibrates a {type(estimator).__name__}.*put together before.*calibrate with `ensemble=False`"
    with pytest.raises(ReleaseError, match=words):
        leafgate.from_sklearn(model)
    with pytest.raises(ReleaseError, match=words):
        read_foreign(skops.io.dumps(model), "m")


def test_a_pipeline_within_a_calibration_is_refused() -> None:
    model = fitted(CalibratedClassifierCV(make_pipeline(TREE), cv=2), 2)
    with pytest.raises(ReleaseError, match="calibrates a Pipeline"):
        leafgate.from_sklearn(model)


PEOPLE = pd.DataFrame({"age": np.arange(600) % 60 + 20, "ward": np.repeat(["east", "north", "south"], 200)})
ILL = np.where((PEOPLE["age"] > 50) ^ (np.random.default_rng(0).random(600) < 0.1), "yes", "no")


def calibrated_pipeline(*, ensemble: bool) -> Any:
    prepare = make_column_transformer((OneHotEncoder(), ["ward"]), remainder="passthrough")
    tree = DecisionTreeClassifier(max_depth=2, min_samples_leaf=20, random_state=0)
    return make_pipeline(prepare, CalibratedClassifierCV(tree, ensemble=ensemble, cv=3)).fit(PEOPLE, ILL)


@pytest.mark.parametrize("ensemble", [True, False])
def test_the_audit_of_a_calibrated_pipeline_predicts_as_it_does_and_sees_its_counts(
    ensemble: bool, tmp_path: Any
) -> None:
    model = calibrated_pipeline(ensemble=ensemble)
    audit = leafgate.audit(model, PEOPLE, ILL, limits={"k_anonymity": 10}, search_remedies=False)
    assert audit.verdict == "pass"
    audit.to_policy(tmp_path)
    session = open_session(tmp_path / "policy.yaml")
    release = session.audit(search_remedies=False).artifact
    assert release is not None
    frame = session.table.frame
    asked = pd.DataFrame({"age": frame["age"].astype(int), "ward": frame["ward"].astype(str)})
    np.testing.assert_allclose(class_scores(release.release, session.table), model.predict_proba(asked), atol=1e-12)
    labels = leafgate.audit(model, PEOPLE, ILL, limits={"k_anonymity": 10}, publish="shares", search_remedies=False)
    assert labels.verdict == "fail"  # the file counts people
    assert "published_file" in set(labels.findings.query("verdict == 'fail'")["finding"])


def test_limits_on_the_class_are_never_passed_by_calibrated_shares_alone() -> None:
    """Everybody of a small leaf is ill, which its calibrated share hides and its counts do not."""
    for ensemble, verdicts in ((True, {"inconclusive", "fail"}), (False, {"inconclusive", "fail"})):
        model = calibrated_pipeline(ensemble=ensemble)
        limits = [{"use": "confidence", "at_most": 0.98, "scored": "derived"}]
        audit = leafgate.audit(model, PEOPLE, ILL, limits=limits, search_remedies=False)
        assert audit.verdict in verdicts


@pytest.mark.parametrize("ensemble", [True, False])
def test_a_converted_calibrated_tree_answers_the_same(ensemble: bool) -> None:
    """Also where it is not known which rows a tree was grown on."""
    model = fitted(CalibratedClassifierCV(TREE, ensemble=ensemble, cv=3), 3)
    read = read_foreign(skops.io.dumps(model), "m.skops")
    again = read_foreign(neutral_file(read), "m.json")
    assert_shares_are_scikit_learns(replace(again, combine="mean_per_tree"), model)
    assert again.sampling == read.sampling
    assert "calibration" in {each.kind for each in again.discloses}
    for tree, twin in zip(read.trees, again.trees, strict=True):
        assert tree.size is not None
        assert twin.size is not None
        assert np.array_equal(tree.size, twin.size)


def test_a_scrubbed_calibrated_tree_predicts_as_it_does(tmp_path: Any) -> None:
    model = calibrated_pipeline(ensemble=False)
    leafgate.audit(model, PEOPLE, ILL, limits={"k_anonymity": 10}, search_remedies=False).to_policy(tmp_path)
    words = ("--leaves", "labels", "--policy", tmp_path / "policy.yaml")
    ended = command("scrub", tmp_path / "model.skops", tmp_path / "new.json", *words)
    assert (ended.code, "all records of the table" in ended.out) == (0, True)
    assert "calibration" not in (tmp_path / "new.json").read_text()
