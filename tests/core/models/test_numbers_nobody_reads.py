"""Lists of numbers in files of boosters that no test of the model refers to are told: they could spell a text."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost

from installed_readers import read_foreign

SPELLED = [ord(letter) for letter in "Jane Doe has flu"]


def other_content(content: bytes, name: str) -> list[str]:
    return [item.severity for item in read_foreign(content, name).discloses if item.kind == "other_content"]


@cache
def people() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    towns = rng.choice(["a", "b", "c", "d"], 200)
    frame = pd.DataFrame({"town": pd.Categorical(towns), "age": rng.integers(18, 90, 200)})
    return frame, (np.isin(towns, ["a", "c"]) ^ (rng.random(200) < 0.1)).astype(int)


@cache
def saved_xgboost() -> bytes:
    frame, ill = people()
    model = xgboost.XGBClassifier(n_estimators=2, max_depth=2, enable_categorical=True, max_cat_to_onehot=1)
    return bytes(model.fit(frame, ill).get_booster().save_raw("json"))


def xgboost_with(change: Callable[[dict[str, Any]], None]) -> list[str]:
    """The other content of an XGBoost file whose first tree was changed."""
    document = json.loads(saved_xgboost())
    tree = document["learner"]["gradient_booster"]["model"]["trees"][0]
    assert tree["categories_nodes"]
    change(tree)
    return other_content(json.dumps(document).encode(), "model.json")


def without_lists(tree: dict[str, Any]) -> None:
    """Tests of numbers alone, and categories that none of them asks for."""
    tree["split_type"] = [0] * len(tree["split_type"])
    tree.update(categories_nodes=[], categories_segments=[], categories_sizes=[], categories=SPELLED)


XGBOOST: dict[str, Callable[[dict[str, Any]], None]] = {
    "behind the last list": lambda tree: tree["categories"].extend(SPELLED),
    "without a test of categories": without_lists,
}


def test_an_xgboost_file_with_categories_holds_nothing_else() -> None:
    assert xgboost_with(lambda tree: None) == []


@pytest.mark.parametrize("place", XGBOOST)
def test_categories_that_no_test_asks_for_are_other_content(place: str) -> None:
    assert xgboost_with(XGBOOST[place])


def test_monotone_constraints_of_lightgbm_are_signs() -> None:
    frame, ill = people()
    data = lightgbm.Dataset(frame[["age"]], ill)
    options = {"objective": "binary", "num_leaves": 3, "verbose": -1, "monotone_constraints": [1]}
    text = lightgbm.train(options, data, 2).model_to_string()
    assert "\nmonotone_constraints=1\n" in text
    assert other_content(text.encode(), "model.txt") == []
    spelled = text.replace("\nmonotone_constraints=1\n", "\nmonotone_constraints=7497110101\n")
    assert other_content(spelled.encode(), "model.txt")
