"""Categories that are numbers: a model knows them by their positions, and never are positions taken for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from command_line import leafgate
from installed_readers import lower_model, minimise
from leafgate import from_sklearn
from leafgate.algorithms.prediction import predict
from leafgate.api import Schema
from leafgate.readers import LEAF, CategoryCodes, ModelIR, TreeIR
from random_tables import categorical, table_of

REGIONS = (1, 2, 10, 20, 30)
VALUES = ("a", "b", "c", "d")


def people() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    region = rng.choice(REGIONS, 400)
    rich = np.isin(region, [2, 20]) ^ (rng.random(400) < 0.1)
    return pd.DataFrame({"age": rng.integers(18, 70, 400), "region": region, "rich": np.where(rich, "yes", "no")})


def policy_at(folder: Path, values: list[str], encoding: dict[str, Any]) -> Path:
    table = people()
    spelled = dict(zip(REGIONS, values, strict=True))
    table.assign(region=table["region"].map(spelled)).to_csv(folder / "people.csv", index=False)
    columns = {
        "age": {"role": "quasi_identifier", "bounds": [0, 100]},
        "region": {"role": "quasi_identifier", "values": values},
        "rich": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
    }
    build = {"use": "published", "path": "m", "encoding": {"rich": {"codes": {"no": 0, "yes": 1}}} | encoding}
    policy = {
        "leafgate": 1,
        "name": "regions",
        "data": {"path": "people.csv", "columns": columns},
        "build": build,
        "publish": {"leaves": "counts"},
        "attacks": [{"use": "linking"}],
        "metrics": [{"use": "accuracy", "at_least": 0}],
        "report": {"smallest_cell": 1},
    }
    (folder / "policy.yaml").write_text(json.dumps(policy))
    return folder / "policy.yaml"


def fitted(library: str, kind: type, folder: Path, *, bare: bool = False) -> float:
    """The model's file in the folder as `m`; how often the library itself is right."""
    table = people()
    y = (table["rich"] == "yes").astype(int)
    codes = pd.Categorical(table["region"].astype(kind))
    x = table[["age"]].assign(region=codes.codes.astype(int) if bare else codes)
    if library == "xgboost":
        if bare:
            x = x.assign(region=pd.Categorical(x["region"]))
        data = xgb.DMatrix(x, label=y, enable_categorical=True)
        booster = xgb.train({"max_depth": 3, "objective": "binary:logistic"}, data, 4)
        document = json.loads(booster.save_raw("json"))
        if bare:
            del document["learner"]["gradient_booster"]["model"]["cats"]
        (folder / "m").write_text(json.dumps(document))
        said = booster.predict(data, output_margin=True) > 0
    else:
        options = {"objective": "binary", "verbose": -1, "min_data_in_leaf": 5, "num_threads": 1}
        model = lgb.train(options, lgb.Dataset(x, label=y, categorical_feature=["region"]), 4)
        model.save_model(folder / "m")
        said = np.asarray(model.predict(x, raw_score=True)) > 0
    return float((said == y).mean())


def accuracy(policy: Path) -> float:
    ended = leafgate("audit", policy, "--json", "--test", policy.parent / "people.csv")
    assert ended.code in {0, 1, 3}, ended.err
    (found,) = [f for f in ended.document["findings"] if f["id"].startswith("accuracy")]
    return float(found["value"])


@pytest.mark.parametrize(("library", "kind"), [("xgboost", int), ("lightgbm", int), ("lightgbm", float)])
@pytest.mark.parametrize("spelled", ["{}", "{}.0"])
def test_the_numbers_that_are_categories_are_read_from_the_file(
    library: str, kind: type, spelled: str, tmp_path: Path
) -> None:
    right = fitted(library, kind, tmp_path)
    found = accuracy(policy_at(tmp_path, [spelled.format(one) for one in REGIONS], {}))
    assert right > 0.8
    assert found == pytest.approx(right, abs=5e-5)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_bare_codes_are_asked_for_and_never_taken_for_the_values(library: str, tmp_path: Path) -> None:
    right = fitted(library, int, tmp_path, bare=True)
    values = [str(one) for one in REGIONS]
    ended = leafgate("audit", policy_at(tmp_path, values, {}))
    assert ended.code == 2
    assert "'region'" in ended.err
    assert "codes" in ended.err
    codes = {value: code for code, value in enumerate(values)}
    said = policy_at(tmp_path, values, {"region": {"codes": codes}})
    assert accuracy(said) == pytest.approx(right, abs=5e-5)


def test_a_first_policy_asks_for_bare_codes(tmp_path: Path) -> None:
    fitted("lightgbm", int, tmp_path, bare=True)
    people().to_csv(tmp_path / "people.csv", index=False)
    made = leafgate("init", tmp_path / "people.csv", "--model", tmp_path / "m", "--class", "rich")
    assert made.code == 0
    assert '"region": {role: quasi_identifier, values: [' in made.out
    assert '"region": {}' in made.out


def test_values_that_differ_in_spelling_alone_keep_their_own_codes() -> None:
    """`1` and `01` are one number and two values."""
    values = ("01", "1", "1.0", "2")
    schema = Schema(
        (
            categorical("house", "quasi_identifier", values=values),
            categorical("rich", "class", "sensitive", values=("no", "yes")),
        )
    )
    x = pd.DataFrame({"house": pd.Series(values * 5, dtype=object)})
    rich = x["house"].isin(["1", "2"]).map({False: "no", True: "yes"})
    model = make_pipeline(OrdinalEncoder(), DecisionTreeClassifier(random_state=0)).fit(x, rich)
    release = lower_model(from_sklearn(model), schema, {}, "model").release
    table = table_of(schema.columns, [(value, "no") for value in values])
    given = pd.DataFrame({"house": table.frame["house"].astype(object)})
    assert [schema.classes[i] for i in predict(release, table)] == model.predict(given).tolist()


@pytest.mark.parametrize("odd", VALUES)
def test_values_never_seen_go_with_the_most_that_no_test_parts(odd: str) -> None:
    """So a scrubbed file names the few values that are not as the others, and no more."""
    codes = {value: float(code) for code, value in enumerate(VALUES)}
    model = ModelIR(
        "skops",
        ("house",),
        ("no", "yes"),
        (
            TreeIR(
                feature=np.array([0, LEAF, LEAF]),
                threshold=np.full(3, np.nan),
                low=np.array([1, LEAF, LEAF]),
                high=np.array([2, LEAF, LEAF]),
                values=np.array([[0, 0], [1, 0], [0, 1.0]]),
                subsets={0: frozenset({codes[odd]})},
            ),
        ),
        "labels",
        origins=(CategoryCodes("house", codes),),
    )
    assert minimise(model, "labels").origins == (
        CategoryCodes("house", {odd: codes[odd]}, min(set(codes.values()) - {codes[odd]})),
    )
