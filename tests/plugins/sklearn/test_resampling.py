"""imbalanced-learn's ensembles and pipelines with samplers, compared with their own answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import leafgate
from feature_rows import predicted, votes
from installed_readers import read_foreign
from leafgate import ReleaseError

pytest.importorskip("imblearn", reason="imbalanced-learn is not installed")

from imblearn import ensemble, over_sampling, under_sampling
from imblearn.pipeline import make_pipeline

from installed_readers import object_as_file, rows_of

TREE = DecisionTreeClassifier(max_depth=4)
MODELS = {
    "forest": lambda: ensemble.BalancedRandomForestClassifier(5, max_depth=4, random_state=0),
    "bootstrap": lambda: ensemble.BalancedRandomForestClassifier(5, bootstrap=True, replacement=False, random_state=0),
    "boosting": lambda: ensemble.RUSBoostClassifier(n_estimators=5, random_state=0),
    "easy": lambda: ensemble.EasyEnsembleClassifier(3, TREE, random_state=0),
    "easy boosting": lambda: ensemble.EasyEnsembleClassifier(3, random_state=0),
    "bagged boosting": lambda: ensemble.BalancedBaggingClassifier(
        AdaBoostClassifier(TREE, n_estimators=4), n_estimators=3, max_features=0.7, random_state=0
    ),
    "bagging": lambda: ensemble.BalancedBaggingClassifier(TREE, n_estimators=3, max_features=0.7, random_state=0),
    "made up": lambda: make_pipeline(StandardScaler(), over_sampling.SMOTE(random_state=0), RandomForestClassifier(3)),
    "fewer": lambda: make_pipeline(under_sampling.RandomUnderSampler(random_state=0), TREE),
    "more": lambda: make_pipeline(
        over_sampling.RandomOverSampler(random_state=0), HistGradientBoostingClassifier(max_iter=4)
    ),
}


def people(classes: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(classes)
    x = np.column_stack([rng.normal(size=400), rng.integers(0, 9, 400), rng.normal(size=400).round(1)])
    score = x[:, 0] + x[:, 1] / 3 + rng.normal(size=400)
    return x, np.array(["few", "many", "most"])[np.searchsorted(np.quantile(score, [0.15, 0.5][: classes - 1]), score)]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_it_is_read_as_it_predicts(name: str, classes: int) -> None:
    x, y = people(classes)
    model = MODELS[name]().fit(x, y)
    rng = np.random.default_rng(0)
    for read in (read_foreign(skops.io.dumps(model), "model"), leafgate.from_sklearn(model)):
        tests = np.concatenate([tree.threshold[tree.feature >= 0] for tree in read.trees])
        beside = [tests, np.nextafter(tests, -np.inf), np.nextafter(tests, np.inf), x.ravel(), np.arange(-9.0, 9.0)]
        given = rng.choice(np.concatenate(beside), (300, 3))
        rows = rows_of(read, {f"x{i}": given[:, i].tolist() for i in range(3)})
        shares = np.sort(model.predict_proba(given), axis=1)
        clear = shares[:, -1] - shares[:, -2] > 1e-9
        assert clear.sum() > 200
        if read.calibrated_sums:
            answered = model.predict_proba(given)[:, [model.classes_.tolist().index(each) for each in read.classes]]
            np.testing.assert_allclose(votes(read, rows), answered, atol=1e-12)
        assert np.array_equal(np.array(read.classes)[predicted(read, rows)][clear], model.predict(given)[clear])
        assert read.counted == "unknown"
        assert read.learner is None
        assert read.settings["class_weight"] is True  # so that a leaf without a class excludes nobody
        assert {each.kind for tree in read.trees for each in tree.numbers} == {"weight"}


def test_a_live_model_has_a_file() -> None:
    model = MODELS["forest"]().fit(*people(2))
    written = object_as_file(model)
    assert len(read_foreign(written[1], written[0]).trees) == 5


def test_the_rows_that_a_sampler_keeps_are_found() -> None:
    model = MODELS["made up"]().fit(*people(2))
    read = read_foreign(skops.io.dumps(model), "model")
    assert "high" in {each.severity for each in read.discloses if each.kind == "other_content"}


def test_forests_within_an_ensemble_are_refused_by_name() -> None:
    model = ensemble.EasyEnsembleClassifier(2, RandomForestClassifier(2), random_state=0).fit(*people(2))
    with pytest.raises(ReleaseError, match="EasyEnsembleClassifier of other models than single trees"):
        read_foreign(skops.io.dumps(model), "model")
