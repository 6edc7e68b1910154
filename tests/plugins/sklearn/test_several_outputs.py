"""Estimators that predict several columns: each column is written as a file, which answers as the estimator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import leafgate
from command_line import leafgate as run
from installed_readers import read_foreign

OUTPUTS = 3
CLASSIFIERS = {
    "tree": DecisionTreeClassifier(max_depth=5),
    "balanced tree": DecisionTreeClassifier(max_depth=5, class_weight="balanced"),
    "forest": RandomForestClassifier(6, max_depth=5),
    "extra trees": ExtraTreesClassifier(6, max_depth=5),
    "pipeline": make_pipeline(SimpleImputer(), DecisionTreeClassifier(max_depth=4)),
    "an estimator for each": MultiOutputClassifier(RandomForestClassifier(4, max_depth=4)),
}
REGRESSORS = {
    "tree": DecisionTreeRegressor(max_depth=5),
    "forest": RandomForestRegressor(6, max_depth=5),
    "an estimator for each": MultiOutputRegressor(GradientBoostingRegressor(n_estimators=5)),
}


def people(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Features, and the three columns that are predicted, of two, three and four classes."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"age": rng.integers(18, 90, 300).astype(float), "dose": rng.normal(size=300)})
    columns = {
        "ill": np.where(table["age"] + rng.normal(size=300) * 9 > 50, "yes", "no"),
        "job": rng.choice(["cook", "nurse", "smith"], 300),
        "ward": rng.choice(["1", "2", "3", "4"], 300, p=[0.7, 0.1, 0.1, 0.1]),
    }
    return table, pd.DataFrame(columns)


def around(table: pd.DataFrame, model: Any) -> pd.DataFrame:
    """The people, and for each threshold of any tree somebody on it and on either side, in single precision."""
    thresholds = sorted({float(value) for tree in trees_of(model) for value in tree.threshold[tree.feature >= 0]})
    edges = np.array(thresholds, dtype=np.float32)
    cells = np.concatenate([edges, np.nextafter(edges, np.float32(-np.inf)), np.nextafter(edges, np.float32(np.inf))])
    both = pd.DataFrame({"age": cells.astype(float), "dose": cells[::-1].astype(float)})
    return pd.concat([table, both], ignore_index=True)


def trees_of(model: Any) -> list[Any]:
    if hasattr(model, "steps"):
        return trees_of(model.steps[-1][1])
    if hasattr(model, "tree_"):
        return [model.tree_]
    return [tree for each in np.ravel(model.estimators_) for tree in trees_of(each)]


def converted(model: Any, output: int, folder: Path) -> Any:
    skops.io.dump(model, folder / "model.skops")
    ended = run("convert", folder / "model.skops", folder / "one.json", "--output", output)
    assert ended.code == 0, ended.err
    return leafgate.load_model(folder / "one.json")


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_file_of_each_class_answers_as_the_estimator(name: str, seed: int, tmp_path: Path) -> None:
    table, columns = people(seed)
    model = CLASSIFIERS[name].set_params(**seeded(CLASSIFIERS[name], seed)).fit(table, columns)
    asked = around(table, model)
    for output in range(OUTPUTS):
        answers = converted(model, output, tmp_path).predict_proba(asked)
        assert answers == pytest.approx(model.predict_proba(asked)[output], abs=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("name", REGRESSORS)
def test_the_file_of_each_number_answers_as_the_estimator(name: str, tmp_path: Path) -> None:
    table, columns = people(0)
    numbers = np.column_stack([table["age"] * 2, table["dose"] + (columns["ill"] == "yes"), table["age"] % 7])
    model = REGRESSORS[name].set_params(**seeded(REGRESSORS[name], 0)).fit(table, numbers)
    asked = around(table, model)
    for output in range(OUTPUTS):
        answers = converted(model, output, tmp_path).predict(asked)
        assert answers == pytest.approx(model.predict(asked)[:, output], rel=1e-9)


def seeded(model: Any, seed: int) -> dict[str, int]:
    return {name: seed for name in model.get_params() if name.endswith("random_state")}


def test_each_column_is_asked_for_by_its_number(tmp_path: Path) -> None:
    table, columns = people(0)
    skops.io.dump(DecisionTreeClassifier(max_depth=2).fit(table, columns), tmp_path / "model.skops")
    for options, problem in ((), "predicts 3 columns at once"), (("--output", 3), "has no output 3: it predicts 3"):
        ended = run("convert", tmp_path / "model.skops", tmp_path / "one.json", *options)
        assert (ended.code, problem in ended.err) == (2, True), ended.err
    assert not (tmp_path / "one.json").exists()


def test_a_model_of_one_column_has_the_output_0_alone(tmp_path: Path) -> None:
    table, columns = people(0)
    skops.io.dump(DecisionTreeClassifier(max_depth=2).fit(table, columns["ill"]), tmp_path / "model.skops")
    codes = [run("convert", tmp_path / "model.skops", tmp_path / "one.json", "--output", i).code for i in range(2)]
    assert codes == [0, 2]
    neutral = run("convert", tmp_path / "one.json", tmp_path / "two.json", "--output", 0)
    assert (neutral.code, "whose models predict one column" in neutral.err) == (2, True)


def test_counts_of_a_column_are_those_of_its_people_on_each_leaf(tmp_path: Path) -> None:
    table, columns = people(0)
    model = DecisionTreeClassifier(max_depth=3).fit(table, columns)
    converted(model, 1, tmp_path)
    [tree] = read_foreign((tmp_path / "one.json").read_bytes(), "one.json").trees
    leaf = model.apply(table)
    by_class = pd.crosstab(leaf, columns["job"])
    assert tree.counts is not None
    assert tree.counts[by_class.index].tolist() == by_class.to_numpy().tolist()
