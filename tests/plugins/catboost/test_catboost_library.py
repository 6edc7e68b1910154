"""The library itself, where it is installed, answers as its file is read, and its models are audited in memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leafgate.api import ReleaseError
from leafgate.models.reader import read_foreign
from leafgate_catboost import CATBOOST
from leafgate_catboost.hashes import LONGEST, category_hash
from leafgate_convert.scrub import predicted, votes

catboost = pytest.importorskip("catboost.core")  # a folder of tests is called catboost, too

SMALL = {"iterations": 20, "verbose": 0, "allow_writing_files": False, "thread_count": 1, "random_seed": 0}
ROWS = 400


def people(rng: np.random.Generator) -> pd.DataFrame:
    table = pd.DataFrame(
        {"age": rng.integers(18, 90, ROWS), "dose": rng.normal(0, 1e-3, ROWS), "far": rng.normal(0, 1e8, ROWS)}
    )
    table = table.astype(float)
    table.loc[rng.random(ROWS) < 0.2, "dose"] = np.nan
    return table


def around_borders(table: pd.DataFrame, model: Any) -> pd.DataFrame:
    """The people, and for every border one on it, one on each side of it, and one whose number is missing."""
    changed = []
    ends = np.array([-np.inf, np.inf], dtype=np.float32)
    for index, borders in model.get_borders().items():
        name = table.columns[index]
        for i, border in enumerate(np.array(borders, dtype=np.float32)):
            with np.errstate(over="ignore"):  # the border between missing and other numbers is the largest of all
                beside = np.nextafter(border, ends)
            for cell in (border, *beside, *ends, np.nan):
                changed.append({**table.iloc[i % len(table)], name: float(cell)})
                changed.append({**table.iloc[i % len(table)], name: float(border) * (1 + 1e-9)})
    return pd.concat([table, pd.DataFrame(changed)], ignore_index=True)


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise", "Lossguide"])
@pytest.mark.parametrize("mode", ["Min", "Max"])
@pytest.mark.parametrize("loss", ["Logloss", "MultiClass", "RMSE", "Quantile:alpha=0.3"])
def test_the_file_of_a_model_predicts_as_the_library_does(policy: str, mode: str, loss: str, tmp_path: Path) -> None:
    rng = np.random.default_rng([len(policy), len(mode), len(loss)])
    table = people(rng)
    number = table["age"] / 30 + table["dose"].fillna(0.002) * 800 + table["far"] / 1e8
    classifies = loss in {"Logloss", "MultiClass"}
    target = np.digitize(number, [1.5, 2.5][: 1 if loss == "Logloss" else 2]) if classifies else number
    maker = catboost.CatBoostClassifier if classifies else catboost.CatBoostRegressor
    model = maker(loss_function=loss, grow_policy=policy, nan_mode=mode, depth=5, **SMALL).fit(table, target)
    written = CATBOOST.to_file(model) if CATBOOST.to_file else None
    assert written is not None
    read = read_foreign(written[1], written[0], [CATBOOST])
    asked = around_borders(table, model)
    raw = np.reshape(model.predict(asked, prediction_type="RawFormulaVal"), (len(asked), -1))
    scores = votes(read, asked.to_numpy())
    assert scores[:, -raw.shape[1] :] == pytest.approx(raw, rel=1e-9, abs=1e-9)
    if classifies:
        assert np.array_equal(predicted(read, asked.to_numpy()), model.predict(asked).ravel())


def test_bootstrapped_trees_count_everybody() -> None:
    table = people(np.random.default_rng(1))
    for options in (
        {"bootstrap_type": "Bernoulli", "subsample": 0.5},
        {"bootstrap_type": "Bayesian"},
        {"boosting_type": "Ordered"},
        {"rsm": 0.5},
    ):
        model = catboost.CatBoostClassifier(depth=3, **options, **SMALL).fit(table, table["age"] > 50)
        written = CATBOOST.to_file(model) if CATBOOST.to_file else None
        assert written is not None
        for tree in read_foreign(written[1], written[0], [CATBOOST]).trees:
            assert tree.size is not None
            assert tree.size[0] == ROWS


def test_hashes_of_categories_are_catboosts(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    texts = ["".join(rng.choice(list("abc XYZ09_é.-"), size)) for size in rng.integers(0, 33, 300)]
    table = pd.DataFrame({"text": texts, "number": np.arange(len(texts))})
    pool = catboost.Pool(table, table["number"] % 2, cat_features=["text"])
    path = tmp_path / "model.json"
    catboost.CatBoostClassifier(**SMALL).fit(pool).save_model(str(path), format="json", pool=pool)
    listed = json.loads(path.read_bytes())["features_info"]["cat_features_hash"]
    known = [each for each in listed if len(each["value"].encode()) <= LONGEST]
    assert len(known) > 200
    assert [category_hash(each["value"]) for each in known] == [each["hash"] for each in known]


def test_an_unfitted_model_is_refused_and_other_objects_are_of_no_concern() -> None:
    assert CATBOOST.to_file is not None
    with pytest.raises(ReleaseError, match="is not fitted"):
        CATBOOST.to_file(catboost.CatBoostClassifier())
    assert CATBOOST.to_file(object()) is None
