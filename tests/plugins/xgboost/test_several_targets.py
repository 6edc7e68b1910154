"""Boosting of several targets: each is written as a file of its own, and answers as the library does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import leafgate

xgboost = pytest.importorskip("xgboost.sklearn", reason="XGBoost is not installed")

SMALL = {"n_estimators": 4, "max_depth": 3, "n_jobs": 1, "random_state": 0}
MODELS: dict[str, Any] = {
    "labels": xgboost.XGBClassifier(**SMALL),
    "labels from one base score": xgboost.XGBClassifier(base_score=0.3, **SMALL),
    "parallel trees": xgboost.XGBClassifier(num_parallel_tree=2, subsample=0.7, **SMALL),
    "dropped trees": xgboost.XGBClassifier(booster="dart", rate_drop=0.5, **SMALL),
    "numbers": xgboost.XGBRegressor(**SMALL),
    "labels on one leaf": xgboost.XGBClassifier(multi_strategy="multi_output_tree", **SMALL),
    "numbers on one leaf": xgboost.XGBRegressor(multi_strategy="multi_output_tree", **SMALL),
}
TARGETS = 3


def rows(rng: np.random.Generator, number: int) -> np.ndarray:
    """Rows with missing cells, of which some are on thresholds of trees fitted to others of them."""
    return np.where(rng.random((number, 3)) < 0.1, np.nan, rng.normal(size=(number, 3)).round(1)).astype(np.float32)


@pytest.mark.thorough
@pytest.mark.parametrize("ending", ["json", "ubj"])
@pytest.mark.parametrize("name", MODELS)
def test_the_file_of_each_target_answers_as_the_library(name: str, ending: str, tmp_path: Path) -> None:
    import leafgate as package

    rng = np.random.default_rng(len(name))
    given, model = rows(rng, 300), MODELS[name]
    target = np.nan_to_num(given) @ rng.normal(size=(3, TARGETS)) + rng.normal(size=(300, TARGETS))
    is_class = not name.startswith("numbers")
    model.fit(given, (target > 0).astype(int) if is_class else target)
    model.save_model(tmp_path / f"model.{ending}")
    asked = rows(rng, 300)
    answers = model.predict_proba(asked) if is_class else model.predict(asked)
    for output in range(TARGETS):
        ended = leafgate("convert", tmp_path / f"model.{ending}", tmp_path / "one.json", "--output", output)
        assert ended.code == 0, ended.err
        one = package.load_model(tmp_path / "one.json")
        found = one.predict_proba(asked)[:, 1] if is_class else one.predict(asked)
        assert found == pytest.approx(answers[:, output], rel=1e-5, abs=1e-6)


def of_two_targets(folder: Path) -> dict[str, Any]:
    """What the file of a small model of two targets holds."""
    given = rows(np.random.default_rng(0), 100)
    xgboost.XGBRegressor(**SMALL).fit(given, np.nan_to_num(given)[:, :2]).save_model(folder / "model.json")
    document: dict[str, Any] = json.loads((folder / "model.json").read_text())
    return document


def test_a_file_of_several_targets_is_refused_unless_one_is_chosen(tmp_path: Path) -> None:
    of_two_targets(tmp_path)
    for options, problem in ((), "--output 0"), (("--output", 2), "has no output 2: it predicts 2 column(s)"):
        ended = leafgate("convert", tmp_path / "model.json", tmp_path / "one.json", *options)
        assert (ended.code, problem in ended.err) == (2, True), ended.err


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda learner: learner["gradient_booster"]["model"].pop("tree_info"), "tree_info"),
        (lambda learner: learner["gradient_booster"]["model"].update(tree_info=[0]), "tree_info"),
        (lambda learner: learner["learner_model_param"].update(base_score="[1, 2, 3]"), "base_score"),
        (lambda learner: learner["gradient_booster"].update(weight_drop=[1.0]), "weight_drop"),
        (lambda learner: learner.pop("gradient_booster"), "gradient_booster"),
    ],
)
def test_what_does_not_say_of_which_target_a_tree_is_is_no_model(change: Any, problem: str, tmp_path: Path) -> None:
    document = of_two_targets(tmp_path)
    change(document["learner"])
    (tmp_path / "model.json").write_text(json.dumps(document))
    ended = leafgate("convert", tmp_path / "model.json", tmp_path / "one.json", "--output", 1)
    assert (ended.code, problem in ended.err) == (2, True), ended.err
