"""`leafgate.load_model` and `Repair.model` answer as the estimators do whose files they read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import leafgate
from installed_readers import neutral_file, object_as_file, read_foreign

ROWS = 300


def people() -> pd.DataFrame:
    """Numbers and texts with missing cells, an empty text, truth values, and a name with a space."""
    rng = np.random.default_rng(0)
    job = rng.choice(["nurse", "clerk", ""], ROWS).astype(object)
    job[rng.choice(ROWS, 30)] = None
    age = rng.integers(18, 90, ROWS).astype(float)
    age[rng.choice(ROWS, 30)] = np.nan
    return pd.DataFrame(
        {"post code": rng.choice([1067, 10115, 80331], ROWS), "age": age, "job": job, "ok": rng.random(ROWS) < 0.5}
    )


def others(table: pd.DataFrame) -> pd.DataFrame:
    """The same people with values that nobody had before, more missing cells, and a column more."""
    changed = table.assign(more="text")
    changed.loc[:20, "post code"], changed.loc[10:30, "job"], changed.loc[20:40, "age"] = 99_999, "pilot", np.nan
    return changed


def pipeline_of(model: Any, table: pd.DataFrame, label: Any) -> Any:
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    encoder = OneHotEncoder(handle_unknown="ignore")
    encoded = make_column_transformer((encoder, ["post code", "job"]), (numbers, ["age"]), remainder="passthrough")
    return make_pipeline(encoded, model).fit(table, label)


def files_of(model: Any, table: pd.DataFrame, folder: Path) -> list[Path]:
    """The model's own file, and a neutral one."""
    made = object_as_file(model, table)
    paths = [folder / made[0], folder / "neutral.json"]
    paths[0].write_bytes(made[1])
    paths[1].write_bytes(neutral_file(read_foreign(made[1], made[0])))
    return paths


LABELS = {"numbers": np.array([0, 1]), "truth": np.array([False, True]), "texts": np.array(["no", "yes"])}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.thorough
def test_a_loaded_classifier_answers_as_the_pipeline_on_gaps_and_unseen_values(labels: Any, tmp_path: Path) -> None:
    table = people()
    label = labels[((table["age"].fillna(50) > 55) ^ (table["job"] == "")).astype(int)]
    fitted = pipeline_of(RandomForestClassifier(3, max_depth=6, random_state=0), table, label)
    for path in files_of(fitted, table, tmp_path):
        model = leafgate.load_model(path)
        assert model.classes_.tolist() == fitted.classes_.tolist()
        for asked in (table, others(table)):
            known = asked[table.columns]
            assert model.predict(asked).tolist() == fitted.predict(known).tolist()
            np.testing.assert_allclose(model.predict_proba(asked), fitted.predict_proba(known), atol=1e-12)


@pytest.mark.thorough
def test_a_loaded_regressor_predicts_numbers_and_has_no_probabilities(tmp_path: Path) -> None:
    table = people()
    fitted = pipeline_of(DecisionTreeRegressor(max_depth=5), table, table["age"].fillna(30) / 3)
    for path in files_of(fitted, table, tmp_path):
        model = leafgate.load_model(path)
        np.testing.assert_allclose(model.predict(others(table)), fitted.predict(others(table)[table.columns]))
        with pytest.raises(leafgate.LeafgateError, match=r"call `predict`"):
            model.predict_proba(table)


@pytest.mark.thorough
def test_columns_of_lightgbm_are_found_under_the_names_of_the_table(tmp_path: Path) -> None:
    table = people()[["post code", "age"]]
    label = np.where(table["post code"] > 5_000, "far", "near")
    fitted: Any = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1).fit(table, label)
    for path in files_of(fitted, table, tmp_path):
        model = leafgate.load_model(path, classes=fitted.classes_)
        assert model.columns[0] == "post_code"
        assert model.predict(table).tolist() == fitted.predict(table).tolist()
        np.testing.assert_allclose(model.predict_proba(table), fitted.predict_proba(table))
        with pytest.raises(leafgate.DataError, match="X: the model asks about columns that are not there: post_code"):
            model.predict(table[["age"]])
    with pytest.raises(leafgate.LeafgateError, match="classes: are 1, and the file has 2"):
        leafgate.load_model(path, classes=["near"])
    audit = leafgate.audit(fitted, table, label, limits={"k_anonymity": 2}, search_remedies=False)
    assert audit.files is not None
    repaired = leafgate.Repair(audit=audit, content=audit.files.contents[audit.files.model])
    assert repaired.model is not None
    assert repaired.model.predict(table).tolist() == fitted.predict(table).tolist()
    assert leafgate.Repair(audit=audit).model is None


def test_an_array_is_read_by_position_and_texts_are_no_numbers(tmp_path: Path) -> None:
    table = people()[["post code", "age"]].fillna(40)
    fitted = DecisionTreeClassifier(max_depth=3).fit(table.to_numpy(), table["age"] > 50)
    path = files_of(fitted, table, tmp_path)[1]
    model = leafgate.load_model(path)
    assert model.predict(table.to_numpy()).tolist() == fitted.predict(table.to_numpy()).tolist()
    with pytest.raises(leafgate.DataError, match="has no number in 'x1'") as error:
        model.predict(pd.DataFrame({"x0": ["a"], "x1": ["secret"]}))
    assert "secret" not in str(error.value)
