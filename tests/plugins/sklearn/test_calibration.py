"""Calibrated trees of scikit-learn, compared with scikit-learn's own answers."""

from __future__ import annotations

import itertools
import json
import runpy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, get_args

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from hypothesis import given as given_examples
from hypothesis.strategies import integers
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import leafgate
from command_line import leafgate as command
from ensemble_rows import assert_shares_are_scikit_learns, both_readings, fitted
from feature_rows import predicted, votes
from installed_readers import PREDICT_SCRIPT, neutral_file, read_foreign
from leafgate import ReleaseError
from leafgate.algorithms.prediction import class_scores
from leafgate.app import open_session
from leafgate.readers import ModelIR
from sklearn_zoo import Rows, answers, rows

TREE = DecisionTreeClassifier(max_depth=4, random_state=0)
SCRIPT = runpy.run_path(str(PREDICT_SCRIPT))
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


How = Literal["folds", "whole", "frozen"]
"""Each fold calibrated, or one model: on scores of folds, or of people whom it was not fitted on."""


def calibrated_sum(name: str, method: Any, classes: int, how: How) -> Any:
    given, y = rows(1), answers(rows(1), classes)
    if how == "frozen":
        inner = FrozenEstimator(clone(SUMS[name]).fit(given[:300], y[:300]))
        return CalibratedClassifierCV(inner, method=method).fit(given[300:], y[300:])
    return CalibratedClassifierCV(SUMS[name], method=method, ensemble=how == "folds", cv=3).fit(given, y)


def people_around(read: ModelIR, given: Rows, n: int = 300) -> Rows:
    """Rows with numbers of people, thresholds and the numbers right beside them."""
    tests = [tree.threshold[tree.feature >= 0] for tree in read.trees]
    beside = [np.nextafter(each, end) for each in tests for end in (-np.inf, np.inf)]
    pool = np.concatenate([*tests, *beside, given.ravel()])
    return np.random.default_rng(0).choice(pool, (n, given.shape[1]))


def assert_answers_as(read: ModelIR, model: Any, people: Rows) -> None:
    """What was read answers the classes and the shares of the model: by the letter, and as `predict.py` does."""
    asked = people[:, [int(feature.removeprefix("x")) for feature in read.features]]
    order = [read.classes.index(str(value)) for value in model.classes_]
    shares = votes(read, asked)
    if not read.calibrated_sums:
        shares = np.exp(shares) / np.exp(shares).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares[:, order], model.predict_proba(people), rtol=0, atol=1e-12)
    assert np.array_equal(np.array(read.classes)[predicted(read, asked)], model.predict(people).astype(str))
    script = SCRIPT["Model"](json.loads(neutral_file(read)))
    cells = {column: asked[:, read.features.index(column)].tolist() for column in script.columns}
    cells = cells or {"": [None] * len(asked)}
    assert script.predict(cells) == model.predict(people).astype(str).tolist()
    np.testing.assert_allclose(script.scores(cells)[:, order], model.predict_proba(people), rtol=0, atol=1e-12)


@pytest.mark.parametrize("how", get_args(How))
@pytest.mark.parametrize(("method", "classes"), [("sigmoid", 2), ("sigmoid", 3), ("isotonic", 2), ("isotonic", 3)])
@pytest.mark.parametrize("name", SUMS)
def test_a_calibrated_sum_of_trees_answers_as_scikit_learn(name: str, method: Any, classes: int, how: How) -> None:
    model = calibrated_sum(name, method, classes, how)
    for read in both_readings(model):
        assert_answers_as(read, model, people_around(read, rows(1)))
        again = read_foreign(neutral_file(read), "m.json")
        assert_answers_as(again, model, people_around(read, rows(1)))
        assert read.level == "counts"
        assert "other_content" not in {each.kind for each in read.discloses}
        for each in (read, again):
            severe = {item.kind for item in each.discloses if item.severity == "high"}
            assert severe >= {"calibration", *(["class_shares"] if method == "isotonic" else [])}
        assert len(read.calibrated_sums) == (3 if how == "folds" else 0 if (method, classes) == ("sigmoid", 2) else 1)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", SUMS)
def test_the_sums_that_points_are_of_are_scikit_learns_to_the_last_bit(name: str, classes: int) -> None:
    """So people whose score is at a point have the same share of even chances."""
    model = calibrated_sum(name, "isotonic", classes, "folds")
    read, given = leafgate.from_sklearn(model), rows(1)
    trees = iter(read.trees)
    for each, member in zip(read.calibrated_sums, model.calibrated_classifiers_, strict=True):
        own = tuple(itertools.islice(trees, each.trees))
        sums = votes(replace(read, trees=own, calibrated_sums=()), given)
        if each.is_mean:
            assert np.array_equal(sums[:, 1:] / each.trees, member.estimator.predict_proba(given)[:, 1:])
        else:
            theirs = member.estimator.decision_function(given).reshape(len(given), -1)
            assert np.array_equal(sums[:, -theirs.shape[1] :], theirs)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", ["boosting", "histograms"])
def test_a_temperature_is_read_of_boosting(name: str, classes: int) -> None:
    model = calibrated_sum(name, "temperature", classes, "folds")
    for read in both_readings(model):
        assert_answers_as(read, model, people_around(read, rows(1)))


def random_model(rng: np.random.Generator) -> tuple[Any, Rows]:
    """A calibrated forest or boosting of people with few different numbers, and the people."""
    n, classes = 240, int(rng.integers(2, 5))
    given = np.column_stack([rng.normal(size=n).round(1), rng.integers(0, 6, n), rng.integers(0, 2, n)])
    latent = given[:, 0] + given[:, 1] / 2 + rng.normal(size=n)
    ends = np.linspace(0, 1, classes + 1)[1:-1] if rng.integers(2) else np.linspace(0.6, 0.95, classes - 1)
    y = np.searchsorted(np.quantile(latent, ends), latent)
    size: Mapping[str, Any] = {"max_depth": int(rng.integers(1, 6)), "random_state": 0}
    weights = [None, "balanced"][int(rng.integers(2))]
    count = int(rng.integers(1, 7))
    inner = [
        RandomForestClassifier(count, class_weight=weights, **size),
        ExtraTreesClassifier(count, class_weight=weights, **size),
        BaggingClassifier(DecisionTreeClassifier(class_weight=weights, **size), n_estimators=count, max_features=0.7),
        GradientBoostingClassifier(n_estimators=count, **size),
        HistGradientBoostingClassifier(max_iter=count, class_weight=weights, min_samples_leaf=5, **size),
    ][int(rng.integers(5))]
    method = rng.choice(["sigmoid", "isotonic"])
    return CalibratedClassifierCV(inner, method=method, cv=int(rng.integers(2, 6))).fit(given, y), given


@given_examples(seed=integers(0, 2**32 - 1))
def test_random_calibrated_models_answer_as_scikit_learn(seed: int) -> None:
    model, given = random_model(np.random.default_rng(seed))
    try:
        read = read_foreign(skops.io.dumps(model), "m.skops")
    except ReleaseError as error:
        assert "jumps between numbers" in str(error)  # noqa: PT017
        return
    people = people_around(read, given)
    shares = np.sort(model.predict_proba(people), axis=1)
    clear = shares[:, -1] - shares[:, -2] > 1e-12
    assert_answers_as(read, model, people[clear])


@pytest.mark.parametrize("classes", [2, 3])
def test_a_temperature_of_a_forest_is_refused(classes: int) -> None:
    model = fitted(CalibratedClassifierCV(SUMS["forest"], method="temperature", cv=3), classes)
    with pytest.raises(ReleaseError, match=r"these calibrators of a RandomForestClassifier are not read .*`sigmoid`"):
        leafgate.from_sklearn(model)


@pytest.mark.parametrize(
    ("attribute", "value", "words"),
    [
        ("X_thresholds_", [0.2, 0.5, 0.5 + 1e-12, 0.9], "equal but for their last digits"),
        ("X_thresholds_", [0.2, 0.5, 0.5, 0.9], "do not increase"),
        ("X_thresholds_", [0.2, np.nan, 0.5, 0.9], "do not increase"),
        ("X_max_", 0.8, "cut off elsewhere than at its points"),
        ("y_thresholds_", [0.1, 0.2, 0.3, 1.2], "levels are no shares"),
        ("y_thresholds_", [0.1, 0.2, 0.3], "do not increase"),
        ("out_of_bounds", "nan", "in a way that is not read"),
    ],
)
def test_points_that_make_no_shares_are_refused(attribute: str, value: Any, words: str) -> None:
    model = fitted(CalibratedClassifierCV(SUMS["forest"], method="isotonic", cv=3), 2)
    map_ = model.calibrated_classifiers_[2].calibrators[0]
    map_.X_thresholds_, map_.y_thresholds_ = np.array([0.2, 0.5, 0.6, 0.9]), np.array([0.0, 0.5, 0.6, 1.0])
    map_.X_min_, map_.X_max_ = 0.2, 0.9
    setattr(map_, attribute, np.array(value) if isinstance(value, list) else value)
    with pytest.raises(ReleaseError, match=words):
        leafgate.from_sklearn(model)


def test_even_chances_of_classes_are_the_first_class_as_there() -> None:
    model = fitted(CalibratedClassifierCV(SUMS["forest"], method="isotonic", cv=3), 2)
    for member in model.calibrated_classifiers_:
        map_ = member.calibrators[0]
        middle = np.sort(member.estimator.predict_proba(rows(1))[:, 1])[[100, 400]]
        map_.X_thresholds_, map_.y_thresholds_ = np.array([0.0, *middle, 1.0]), np.array([0.0, 0.5, 0.5, 1.0])
        map_.X_min_, map_.X_max_ = 0.0, 1.0
        map_._build_f(map_.X_thresholds_, map_.y_thresholds_)
    assert (model.predict_proba(rows(1))[:, 0] == 0.5).any()
    read = leafgate.from_sklearn(model)
    assert_answers_as(read, model, people_around(read, rows(1)))
    assert_answers_as(read, model, rows(1))


def test_a_fold_without_people_of_a_class_is_refused() -> None:
    given, y = rows(1), np.sort(answers(rows(1), 3))
    model = CalibratedClassifierCV(SUMS["forest"], cv=KFold(3)).fit(given, y)
    with pytest.raises(ReleaseError, match="the classes of what it calibrates are not its own"):
        leafgate.from_sklearn(model)


def test_folds_that_know_other_values_of_a_column_are_refused() -> None:
    given, y = rows(1), answers(rows(1), 2)
    inner = HistGradientBoostingClassifier(max_iter=3, categorical_features=[2])
    assert leafgate.from_sklearn(CalibratedClassifierCV(inner, cv=KFold(3)).fit(given, y)).calibrated_sums
    given[0, 2] = 77.0
    model = CalibratedClassifierCV(inner, cv=KFold(3)).fit(given, y)
    with pytest.raises(ReleaseError, match="do not know the same values of a column"):
        leafgate.from_sklearn(model)


@pytest.mark.parametrize("estimator", [LogisticRegression(), AdaBoostClassifier(n_estimators=2)])
def test_other_calibrated_models_are_refused_by_their_class(estimator: Any) -> None:
    model = fitted(CalibratedClassifierCV(estimator, cv=2), 2)
    words = f"calibrates a {type(estimator).__name__} .*calibrate a decision tree, a forest or boosting"
    with pytest.raises(ReleaseError, match=words):
        leafgate.from_sklearn(model)
    with pytest.raises(ReleaseError, match=words):
        read_foreign(skops.io.dumps(model), "m")


@pytest.mark.parametrize("planted", ["Anna Meier", np.arange(40) * 1.5, ["Anna"], {"Anna": 1}], ids=type)
@pytest.mark.parametrize("where", ["member", "calibrator", "model", "tree"])
def test_what_somebody_puts_beside_a_calibration_is_found(where: str, planted: Any) -> None:
    model = fitted(CalibratedClassifierCV(SUMS["forest"], method="isotonic", cv=3), 2)
    member = model.calibrated_classifiers_[1]
    inner = member.estimator
    things = {"member": member, "calibrator": member.calibrators[0], "model": inner, "tree": inner.estimators_[2]}
    things[where].note_ = planted
    for read in both_readings(model):
        assert "other_content" in {each.kind for each in read.discloses}
        assert not any("Anna" in each.says for each in read.discloses)


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


def folds_of_forests(method: Any) -> Any:
    prepare = make_column_transformer((OneHotEncoder(), ["ward"]), remainder="passthrough")
    forest = RandomForestClassifier(3, max_depth=1, min_samples_leaf=60, max_features=None, random_state=0)
    return make_pipeline(prepare, CalibratedClassifierCV(forest, method=method, cv=3)).fit(PEOPLE, ILL)


@pytest.mark.parametrize("order", ['["no", "yes"]', '["yes", "no"]'])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_the_audit_of_calibrated_folds_answers_as_they_do(method: Any, order: str, tmp_path: Any) -> None:
    model = folds_of_forests(method)
    audit = leafgate.audit(model, PEOPLE, ILL, limits={"k_anonymity": 5}, search_remedies=False)
    assert audit.verdict == "pass"
    audit.to_policy(tmp_path)
    policy = tmp_path / "policy.yaml"
    policy.write_text(policy.read_text().replace('["no", "yes"]', order))
    session = open_session(policy)
    report = session.audit(search_remedies=False)
    release = report.artifact
    assert release is not None
    frame = session.table.frame
    asked = pd.DataFrame({"age": frame["age"].astype(int), "ward": frame["ward"].astype(str)})
    theirs = model.predict_proba(asked)[:, [["no", "yes"].index(each) for each in release.release.classes]]
    np.testing.assert_allclose(class_scores(release.release, session.table), theirs, atol=1e-12)
    assert report.report.verdict == "pass"
    few = leafgate.audit(model, PEOPLE, ILL, limits={"k_anonymity": 500}, search_remedies=False)
    assert few.verdict == "fail"
    certain = [{"use": "confidence", "at_most": 0.98, "scored": "derived"}]
    assert leafgate.audit(model, PEOPLE, ILL, limits=certain, search_remedies=False).verdict != "pass"


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_a_scrubbed_file_of_calibrated_folds_answers_as_they_do(method: Any, tmp_path: Any) -> None:
    model = folds_of_forests(method)
    leafgate.audit(model, PEOPLE, ILL, limits={"k_anonymity": 5}, search_remedies=False).to_policy(tmp_path)
    joblib.dump(model, tmp_path / "model.joblib")
    policy = ("--policy", tmp_path / "policy.yaml")
    ended = command("scrub", tmp_path / "model.skops", tmp_path / "new.json", "--leaves", "shares", *policy)
    assert (ended.code, "all records of the table" in ended.out) == (0, True)
    ended = command("convert", tmp_path / "model.joblib", tmp_path / "converted.json", "--trust")
    assert ended.code == 0
    for name in ("new.json", "converted.json"):
        loaded = leafgate.load_model(tmp_path / name)
        np.testing.assert_allclose(loaded.predict_proba(PEOPLE), model.predict_proba(PEOPLE), atol=1e-12)
        assert loaded.predict(PEOPLE).tolist() == model.predict(PEOPLE).tolist()
    refused = command("scrub", tmp_path / "model.skops", tmp_path / "new.onnx", "--leaves", "shares", *policy)
    assert (refused.code, "predicts by calibrated sums" in refused.err) == (2, True)


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
