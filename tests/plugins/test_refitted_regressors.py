"""A regressor that is fitted again, with what its file says of it, on the same people is the same model."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble, tree

from command_line import leafgate
from installed_readers import READERS, object_as_file, read_foreign
from sklearn_zoo import skops_bytes

lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
SEED = 0
COMPUTED = {"n_jobs", "oob_score", "random_state", "verbose", "warm_start"}
"""Parameters that say how a model is computed."""
REGRESSORS: dict[str, Callable[[], Any]] = {
    "tree": lambda: tree.DecisionTreeRegressor(max_depth=4, criterion="absolute_error", random_state=SEED),
    "random tree": lambda: tree.ExtraTreeRegressor(min_samples_leaf=4, random_state=SEED),
    "forest": lambda: ensemble.RandomForestRegressor(5, max_samples=0.5, random_state=SEED),
    "extra trees": lambda: ensemble.ExtraTreesRegressor(5, min_samples_leaf=3, random_state=SEED),
    "boosting": lambda: ensemble.GradientBoostingRegressor(n_estimators=6, subsample=0.7, random_state=SEED),
    "histograms": lambda: ensemble.HistGradientBoostingRegressor(max_iter=6, random_state=SEED),
    "lightgbm": lambda: lightgbm.LGBMRegressor(n_estimators=6, num_leaves=7, random_state=SEED, n_jobs=1, verbosity=-1),
    "xgboost": lambda: xgboost.XGBRegressor(n_estimators=6, n_jobs=1, random_state=SEED),  # files lack the rest
}


def rows() -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    features = rng.normal(size=(300, 4))
    return features, features[:, 0] * features[:, 1] + rng.normal(0, 0.1, 300)


@pytest.mark.parametrize("kind", list(REGRESSORS))
def test_fitted_on_the_same_people_with_the_same_seed_it_is_the_same_model(kind: str) -> None:
    features, numbers = rows()
    model = REGRESSORS[kind]().fit(features, numbers)
    written = object_as_file(model)
    learner = read_foreign(written[1], written[0]).learner
    assert learner is not None
    [reader] = [each for each in READERS if each.fit and each.trains and learner.estimator.startswith(each.trains)]
    assert reader.fit is not None
    again = reader.fit(replace(learner, unknown=()), features, numbers, SEED)
    assert type(again) is type(model)
    np.testing.assert_allclose(again.predict(features), model.predict(features), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", [kind for kind in REGRESSORS if kind not in {"lightgbm", "xgboost"}])
def test_every_parameter_of_scikit_learns_is_known(kind: str) -> None:
    model = REGRESSORS[kind]().fit(*rows())
    name, content = object_as_file(model)
    learner = read_foreign(content, name).learner
    assert learner is not None
    assert model.get_params().keys() - learner.parameters.keys() <= {*COMPUTED, "categorical_features"}


def test_no_shadow_models_of_a_regressor_are_announced(tmp_path: Path) -> None:
    """Attacks that train models ask them about classes, which a model of numbers has not."""
    for name, seed in (("people", 1), ("control", 2)):
        rng = np.random.default_rng(seed)
        ages = rng.integers(18, 80, 200)
        pd.DataFrame({"age": ages, "income": ages + rng.integers(0, 9, 200)}).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
    table = pd.read_csv(tmp_path / "people.csv")
    model = tree.DecisionTreeRegressor(min_samples_leaf=10, random_state=SEED).fit(table[["age"]], table["income"])
    (tmp_path / "model.skops").write_bytes(skops_bytes(model))
    columns = {
        "age": {"role": "quasi_identifier", "bounds": [0, 100]},
        "income": {"role": ["class", "sensitive"], "bins": [0, 40, 60, 100]},
    }
    policy = {
        "leafgate": 1,
        "name": "numbers",
        "data": {"path": "people.csv", "control": "control.csv", "columns": columns},
        "build": {"use": "published", "path": "model.skops"},
        "attacks": [{"use": "lira"}],
        "metrics": [{"use": "membership_advantage", "at_most": 0.2}],
    }
    (tmp_path / "policy.yaml").write_text(json.dumps(policy))
    ended = leafgate("audit", tmp_path / "policy.yaml")
    assert (ended.code, ended.err) == (3, "")
    assert "the model predicts numbers, so it has no scores of classes" in ended.out
