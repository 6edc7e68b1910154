"""Files of XGBoost that was stopped early: read by the rounds with which estimators predict, never published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

from command_line import leafgate
from feature_rows import votes
from foreign_rows import Rows, blanked, probes, random_rows
from installed_readers import read_foreign
from leafgate import ReleaseError, load_model

PEOPLE = 300
POLICY = """
leafgate: 1
name: stopped-early
data:
  path: people.csv
  columns:
    age: {role: quasi_identifier, bounds: [0, 99]}
    visits: {role: quasi_identifier, bounds: [0, 20]}
    ill: {role: [class, sensitive], values: ["0", "1"]}
build: {use: published, path: MODEL, TRAINED}
publish: {leaves: counts}
attacks: [{use: linking}]
metrics: [{use: k_anonymity, of: linking, at_least: 1}]
"""


def fitted(rows: Rows, *, numbers: bool = False, **options: Any) -> Any:
    """An estimator that was stopped early on half of the rows."""
    made = (xgb.XGBRegressor if numbers else xgb.XGBClassifier)(
        n_estimators=80, early_stopping_rounds=2, n_jobs=1, enable_categorical=True, feature_types=rows.kinds, **options
    )
    half = len(rows.x) // 2
    made.fit(rows.x[:half], rows.y[:half], eval_set=[(rows.x[half:], rows.y[half:])], verbose=False)
    assert made.best_iteration + 1 < made.get_booster().num_boosted_rounds()
    return made


OPTIONS: list[dict[str, Any]] = [
    {"random_state": 1},
    {"num_parallel_tree": 2, "subsample": 0.7},
    {"booster": "dart", "rate_drop": 0.3, "learning_rate": 1.0},
    {"max_depth": 2, "learning_rate": 1.0},
]


@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("options", OPTIONS, ids=["plain", "parallel", "dart", "steep"])
def test_it_is_read_as_its_estimator_predicts(classes: int, options: dict[str, Any]) -> None:
    rows = random_rows(max(classes, 2))
    if not classes:
        rows = blanked(rows.x, rows.y, rows.categorical)
    estimator = fitted(rows, numbers=not classes, **options)
    model = read_foreign(bytes(estimator.get_booster().save_raw("json")), "model")
    x = probes(model, rows, 300)
    mine = votes(model, x)
    if classes:
        powers = np.exp(mine - mine.max(axis=1, keepdims=True))
        mine = powers / powers.sum(axis=1, keepdims=True)
    theirs = estimator.predict_proba(x) if classes else estimator.predict(x)[:, None]
    assert np.allclose(mine, theirs, rtol=2e-5, atol=1e-6)
    assert model.unknown == (f"learner.attributes.best_iteration {estimator.best_iteration}",)
    assert [each.level for each in model.discloses if each.kind == "later_trees"] == ["counts"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of a model that was stopped early, the table, and the model's own answers."""
    folder = tmp_path_factory.mktemp("stopped")
    rng, size = np.random.default_rng(2), 2 * PEOPLE
    everybody = pd.DataFrame({"age": rng.integers(18, 90, size), "visits": rng.integers(0, 12, size)}, dtype=float)
    is_ill = (everybody["age"] / 20 + everybody["visits"] / 3 + rng.normal(0, 2, size) > 5).astype(int)
    people, ill = everybody[:PEOPLE], is_ill[:PEOPLE]
    estimator = xgb.XGBClassifier(n_estimators=60, early_stopping_rounds=2, max_depth=2, n_jobs=1)
    estimator.fit(people, ill, eval_set=[(everybody[PEOPLE:], is_ill[PEOPLE:])], verbose=False)
    estimator.get_booster().save_model(folder / "model.json")
    assert estimator.best_iteration + 1 < estimator.get_booster().num_boosted_rounds()
    people.assign(ill=ill).to_csv(folder / "people.csv", index=False)
    answers = dict(zip("01", estimator.predict_proba(people).T, strict=True))
    people.assign(**answers).to_csv(folder / "answers.csv", index=False)
    (folder / "best.txt").write_text(str(estimator.best_iteration))
    return folder


def policy(folder: Path, model: str, extra: str) -> Path:
    path = folder / "policy.yaml"
    path.write_text(POLICY.replace("MODEL", model).replace("TRAINED", extra or "encoding: {}"), "utf-8")
    return path


def audited(folder: Path, model: str, extra: str = "") -> Any:
    return leafgate("audit", policy(folder, model, extra), "--json")


def test_nobody_reads_it_without_saying_which_trees_predict(folder: Path) -> None:
    ended = audited(folder, "model.json")
    assert ended.code == 2
    assert "was stopped early" in ended.problems[0]["message"]
    assert "booster[:best_iteration + 1]" in ended.problems[0]["remedy"]
    with pytest.raises(ReleaseError, match="stopped early"):
        load_model(folder / "model.json")
    for command in ("convert", "scrub"):
        leaves = ["--leaves", "shares"] if command == "scrub" else []
        ended = leafgate(command, folder / "model.json", folder / "new.json", *leaves)
        assert ended.code == 2
        assert "best_iteration" in ended.err
        assert not (folder / "new.json").exists()


def test_its_later_trees_are_published_with_it_so_no_audit_passes(folder: Path) -> None:
    best = (folder / "best.txt").read_text()
    for extra in (f"trained_by: {{best_iteration: {best}}}", "witness: answers.csv"):
        ended = audited(folder, "model.json", extra)
        assert ended.code == 1
        found = {each["metric"]: each for each in ended.document["findings"]}
        assert found["published_file"]["passed"] is False
        assert "round(s) after the best" in found["published_file"]["evidence"]["problem"]
        assert found["reading"]["passed"] is True


@pytest.mark.parametrize("best", [0, 59])
def test_the_policy_must_name_the_round_that_the_file_does(folder: Path, best: int) -> None:
    ended = audited(folder, "model.json", f"trained_by: {{best_iteration: {best}}}")
    assert ended.code == 2
    assert "does not name this round as its best" in ended.problems[0]["message"]


def test_a_file_without_the_later_trees_is_written_by_the_models_own_answers(folder: Path) -> None:
    new = folder / "less.json"
    words = ("--leaves", "shares", "--witness", folder / "answers.csv", "--policy", policy(folder, "model.json", ""))
    ended = leafgate("scrub", folder / "model.json", new, *words)
    assert ended.code == 0, ended.err
    trees = len(json.loads(new.read_bytes())["trees"])
    assert trees == int((folder / "best.txt").read_text()) + 1
    assert load_model(new).classes_.tolist() == [0, 1]
    converted = folder / "converted.json"
    assert leafgate("convert", folder / "model.json", converted, "--witness", folder / "answers.csv").code == 0
    kinds = {each["kind"] for each in json.loads(converted.read_bytes())["discloses"]}
    assert "later_trees" not in kinds
    found = {each["metric"]: each for each in audited(folder, "less.json", "").document["findings"]}
    assert found["published_file"]["passed"] is True


def test_answers_of_all_its_trees_contradict_the_reading(folder: Path) -> None:
    booster = xgb.Booster(model_file=folder / "model.json")
    people = pd.read_csv(folder / "people.csv").drop(columns="ill")
    every = booster.predict(xgb.DMatrix(people))
    people.assign(**{"0": 1 - every, "1": every}).to_csv(folder / "every.csv", index=False)
    ended = leafgate("convert", folder / "model.json", folder / "no.json", "--witness", folder / "every.csv")
    assert ended.code == 2
    assert "does not answer as the witness does" in ended.err


def test_content_that_nobody_reads_is_found_in_later_trees_too(folder: Path) -> None:
    document = json.loads((folder / "model.json").read_bytes())
    trees = document["learner"]["gradient_booster"]["model"]["trees"]
    trees[-1]["tree_param"]["num_deleted"] = "Anna Example of 3 Long Street"
    kinds = {each.kind for each in read_foreign(json.dumps(document).encode(), "model").discloses}
    assert "other_content" in kinds
