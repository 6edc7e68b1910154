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

from command_line import leafgate

REGIONS = (1, 2, 10, 20, 30)


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
        told = json.loads(booster.save_raw("json"))
        if bare:
            del told["learner"]["gradient_booster"]["model"]["cats"]
        (folder / "m").write_text(json.dumps(told))
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
