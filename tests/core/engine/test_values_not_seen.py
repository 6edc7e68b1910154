"""The finding `reading` is open where people of the table have values that the file's own list of values lacks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import skops.io
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from command_line import leafgate
from leafgate.app import document, open_session

PEOPLE = 400
VALUES = ["asthma", "diabetes", "None", "rare"]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    other = rng.choice(VALUES, PEOPLE, p=[0.3, 0.3, 0.38, 0.02])
    age = rng.integers(0, 9, PEOPLE)
    ill = ((other == "None") & (age > 5)) | ((other == "asthma") & (age < 3)) | (rng.random(PEOPLE) < 0.05)
    return pd.DataFrame({"other": other, "age": age, "ill": np.where(ill, "yes", "no")})


def as_read(folder: Path, **options: Any) -> pd.DataFrame:
    people().to_csv(folder / "people.csv", index=False)
    return pd.DataFrame(pd.read_csv(folder / "people.csv", **options))


def fitted(table: pd.DataFrame, *steps: Any) -> Any:
    """A pipeline whose encoders code the column `other`, and a tree."""
    branch = make_pipeline(*steps) if len(steps) > 1 else steps[0]
    prepare = make_column_transformer((branch, ["other"]), remainder="passthrough")
    tree = DecisionTreeClassifier(min_samples_leaf=10, random_state=0)
    return make_pipeline(prepare, tree).fit(table[["other", "age"]], table["ill"])


def reading(folder: Path, name: str, level: str = "counts", **given: Any) -> Mapping[str, Any]:
    """The finding of an audit of a file, of people whose column `other` has these values and no missing cell."""
    if not (folder / "people.csv").exists():
        as_read(folder)
    columns = {
        "other": {"role": "quasi_identifier", "values": [*VALUES, "declared"], **given.pop("column", {})},
        "age": {"role": "quasi_identifier", "bounds": [0, 9]},
        "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
    }
    policy = {
        "leafgate": 1,
        "name": "model",
        "data": {"path": "people.csv", "missing": [], **given.pop("data", {}), "columns": columns},
        "build": {"use": "published", "path": name, **given},
        "publish": {"leaves": level},
        "attacks": [{"use": "linking"}],
        "metrics": [{"use": "k_anonymity", "at_least": 2}],
    }
    (folder / "policy.yaml").write_text(json.dumps(policy))
    report = document(open_session(folder / "policy.yaml").audit().report, "auditor")
    return next(each for each in report["findings"] if each["id"] == "reading")


def reading_of(folder: Path, model: Any, **given: Any) -> Mapping[str, Any]:
    skops.io.dump(model, folder / "model.skops")
    return reading(folder, "model.skops", **given)


AS_TEXT = {"keep_default_na": False}


def test_a_text_that_pandas_took_for_missing_leaves_the_reading_open(tmp_path: Path) -> None:
    model = fitted(as_read(tmp_path), OneHotEncoder(handle_unknown="ignore"))
    found = reading_of(tmp_path, model)
    assert found["passed"] is None
    assert found["evidence"]["problem"] == "people of the table have values of 'other' that the file was not fitted on"
    assert "pandas.read_csv" in found["remedies"][0]["text"]
    read_alike = {"missing": ["None"], "on_missing": "keep"}
    assert reading_of(tmp_path, model, data=read_alike, column={"values": VALUES[:2] + VALUES[3:]})["passed"]


def test_so_it_does_where_the_file_counts_nobody_and_lists_no_values(tmp_path: Path) -> None:
    for options, passed in (({}, None), (AS_TEXT, True)):
        skops.io.dump(
            fitted(as_read(tmp_path, **options), OneHotEncoder(handle_unknown="ignore")), tmp_path / "m.skops"
        )
        assert leafgate("scrub", tmp_path / "m.skops", tmp_path / "scrubbed.json", "--leaves", "labels").code == 0
        found = reading(tmp_path, "scrubbed.json", "labels", encoding={"age": {"column": "age"}})
        assert found["passed"] is passed, options


@pytest.mark.parametrize(
    "steps",
    [
        (OneHotEncoder(),),
        (OneHotEncoder(min_frequency=30, handle_unknown="infrequent_if_exist"),),
        (OneHotEncoder(max_categories=2, handle_unknown="infrequent_if_exist"),),
        (OneHotEncoder(categories=[VALUES[:2]], handle_unknown="ignore"),),
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),),
        (SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")),
    ],
    ids=["one hot", "min_frequency", "max_categories", "given by hand", "ordinal", "imputer"],
)
def test_honest_encoders_are_read(steps: tuple[Any, ...], tmp_path: Path) -> None:
    assert reading_of(tmp_path, fitted(as_read(tmp_path, **AS_TEXT), *steps))["passed"]


def test_a_model_of_some_of_the_people_need_not_have_seen_all_values(tmp_path: Path) -> None:
    table = as_read(tmp_path, **AS_TEXT)
    model = fitted(table[table["other"] != "rare"], OneHotEncoder(handle_unknown="ignore"))
    assert reading_of(tmp_path, model)["passed"] is None
    assert reading_of(tmp_path, model, trained_by={"subsample": 0.9})["evidence"].get("problem") is None


def test_another_spelling_that_the_policy_declares_is_seen(tmp_path: Path) -> None:
    table = as_read(tmp_path, **AS_TEXT)
    model = fitted(table, OneHotEncoder(handle_unknown="ignore"))
    table.replace({"other": {"rare": "Rare"}}).to_csv(tmp_path / "people.csv", index=False)
    assert reading_of(tmp_path, model, column={"aliases": {"Rare": "rare"}})["passed"]


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_categories_of_pandas_are_a_list_of_all_values(library: str, tmp_path: Path) -> None:
    for options, passed in (({}, False), (AS_TEXT, True)):
        table = as_read(tmp_path, **options)
        known, ill = table[["other", "age"]].astype({"other": "category"}), table["ill"] == "yes"
        if library == "xgboost":
            name = "model.json"
            xgboost.XGBClassifier(n_estimators=3, n_jobs=1, enable_categorical=True).fit(known, ill).save_model(
                tmp_path / name
            )
        else:
            name = "model.txt"
            model = lightgbm.LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1).fit(known, ill)
            model.booster_.save_model(tmp_path / name)
        found = reading(tmp_path, name, "counts", encoding={"ill": {"codes": {"no": 0, "yes": 1}}})
        assert ("not fitted on" not in found["evidence"].get("problem", "")) == passed, (options, found)
