"""Models whose values or codes cannot be those of the policy are refused; what only looks strange is read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

import leafgate
from installed_readers import Encoding, lower_model, read_foreign
from leafgate import Release, ReleaseError
from leafgate.algorithms.prediction import predict
from leafgate.api import Column, Schema
from random_tables import table_of
from sample_model import MODEL, TREE
from sklearn_zoo import skops_bytes

RNG = np.random.default_rng(5)
TOWNS = ("north", "south", "east", "west")
TOWN = RNG.choice(TOWNS, 300)
ANSWER = np.where(np.isin(TOWN, TOWNS[:2]) ^ (RNG.random(300) < 0.1), "yes", "no")
REGIONS = ("1", "2", "10", "20", "30")
REGION = RNG.choice(REGIONS, 300)
OF_REGION = np.where(np.isin(REGION, ("1", "10", "30")) ^ (RNG.random(300) < 0.1), "yes", "no")
SAID = {"ill": Encoding(codes={"no": 0, "yes": 1})}


def schema(values: tuple[str, ...], *, missing: bool = False) -> Schema:
    return Schema(
        (
            Column("place", frozenset({"quasi_identifier"}), values=values, missing=missing),
            Column("ill", frozenset({"class", "sensitive"}), values=("no", "yes")),
        )
    )


def boosted(cells: Any) -> bytes:
    frame = pd.DataFrame({"place": pd.Series(cells).astype("category")})
    data = xgboost.DMatrix(frame, (ANSWER == "yes").astype(int), enable_categorical=True)
    parameters = {"objective": "binary:logistic", "max_depth": 2, "nthread": 1, "max_cat_to_onehot": 1}
    return bytes(xgboost.train(parameters, data, 2).save_raw("json"))


def light(cells: Any) -> bytes:
    frame = pd.DataFrame({"place": pd.Series(cells).astype("category")})
    parameters = {"objective": "binary", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 2, "cat_smooth": 1}
    result = lightgbm.train(parameters, lightgbm.Dataset(frame, (ANSWER == "yes").astype(int)), 2)
    return result.model_to_string().encode()


def histogram(cells: Any) -> bytes:
    frame = pd.DataFrame({"place": pd.Series(cells).astype("category")})
    return skops_bytes(HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2).fit(frame, ANSWER))


def pipeline(encoder: Any) -> Any:
    def made(cells: Any) -> bytes:
        model = make_pipeline(encoder, DecisionTreeClassifier(max_depth=3, random_state=0))
        return skops_bytes(model.fit(pd.DataFrame({"place": cells}), ANSWER))

    return made


MAKERS = {
    "xgboost": boosted,
    "lightgbm": light,
    "histogram boosting": histogram,
    "one-hot": pipeline(OneHotEncoder()),
    "one-hot, others ignored": pipeline(OneHotEncoder(handle_unknown="ignore")),
    "ordinal": pipeline(OrdinalEncoder()),
}


def read(content: bytes, columns: Schema, said: Any = None) -> Release:
    return lower_model(read_foreign(content, "model"), columns, said or SAID, "model").release


@pytest.mark.parametrize("name", MAKERS)
def test_values_spelled_otherwise_than_in_the_policy_are_refused(name: str) -> None:
    content = MAKERS[name](np.char.add(" ", TOWN))  # as read_csv leaves them
    said = SAID if name in {"xgboost", "lightgbm"} else {}
    with pytest.raises(ReleaseError, match=r"'place': the model knows \d value\(s\) that the policy does not have"):
        lower_model(read_foreign(content, "model"), schema(TOWNS), said, "model")
    spelled = schema(tuple(f" {town}" for town in TOWNS))
    assert lower_model(read_foreign(content, "model"), spelled, said, "model").release.trees


@pytest.mark.parametrize("name", MAKERS)
def test_a_value_more_on_either_side_is_read(name: str) -> None:
    said = SAID if name in {"xgboost", "lightgbm"} else {}
    content = MAKERS[name](TOWN)
    assert lower_model(read_foreign(content, "model"), schema((*TOWNS, "abroad")), said, "model").release.trees
    if name not in {"xgboost", "lightgbm"}:  # whose files do not list what no test asks for
        assert lower_model(read_foreign(content, "model"), schema(TOWNS[:3]), said, "model").release.trees


def test_true_and_false_are_one_and_zero_to_a_model_of_categories() -> None:
    frame = pd.DataFrame({"place": pd.Series(TOWN == "north").astype("category")})
    content = skops_bytes(HistGradientBoostingClassifier(max_iter=2).fit(frame, ANSWER))
    assert lower_model(read_foreign(content, "model"), schema(("False", "True")), {}, "model").release.trees


@pytest.mark.parametrize("word", ["?", " ?", "nan"])
@pytest.mark.parametrize("name", ["one-hot", "ordinal", "histogram boosting"])
def test_a_model_that_knows_missing_cells_as_a_value_is_no_model_of_kept_ones(name: str, word: str) -> None:
    cells = np.where(TOWN == "west", word, TOWN)
    content = MAKERS[name](cells)
    assert lower_model(read_foreign(content, "model"), schema(TOWNS[:3]), {}, "model").release.trees
    with pytest.raises(ReleaseError, match="stands for missing cells") as caught:
        lower_model(read_foreign(content, "model"), schema(TOWNS[:3], missing=True), {}, "model")
    assert "take it from `data.missing`" in str(caught.value)


@pytest.mark.parametrize(
    "model",
    [RandomForestClassifier(5, random_state=0), GradientBoostingClassifier(n_estimators=5), DecisionTreeClassifier()],
    ids=["forest", "boosting", "tree"],
)
def test_numbers_that_may_be_codes_of_numbers_are_asked_about(model: Any) -> None:
    coded = np.searchsorted(np.array([1, 2, 10, 20, 30]), REGION.astype(int))
    model.fit(pd.DataFrame({"place": coded}), OF_REGION)
    content = skops_bytes(model)
    columns = schema(REGIONS)
    with pytest.raises(ReleaseError, match="'place': is asked for the column's values, or for codes"):
        lower_model(read_foreign(content, "model"), columns, {}, "model")
    fields = {"place": Encoding(codes={value: float(i) for i, value in enumerate(REGIONS)})}
    release = lower_model(read_foreign(content, "model"), columns, fields, "model").release
    table = table_of(columns.columns, [(value, "no") for value in REGIONS])
    mine = dict(zip(table.frame["place"], predict(release, table), strict=True))
    expected = model.predict(pd.DataFrame({"place": range(5)}))
    assert [("no", "yes")[mine[value]] for value in REGIONS] == expected.tolist()
    assert lower_model(
        read_foreign(content, "model"), columns, {"place": Encoding(column="place")}, "model"
    ).release.trees


def test_the_values_themselves_are_read_where_no_codes_reach() -> None:
    model = DecisionTreeClassifier().fit(pd.DataFrame({"place": REGION.astype(int)}), OF_REGION)
    content = skops_bytes(model)
    assert lower_model(read_foreign(content, "model"), schema(REGIONS), {}, "model").release.trees


def test_truth_values_are_the_numbers_that_they_are_in_python() -> None:
    flags = TOWN == "north"
    model = DecisionTreeClassifier(max_depth=1).fit(pd.DataFrame({"place": flags}), ANSWER)
    columns = schema(("False", "True"))
    release = lower_model(leafgate.from_sklearn(model), columns, {}, "model").release
    table = table_of(columns.columns, [("False", "no"), ("True", "no")])
    mine = dict(zip(table.frame["place"], predict(release, table), strict=True))
    expected = model.predict(pd.DataFrame({"place": [False, True]}))
    assert [("no", "yes")[mine[value]] for value in ("False", "True")] == expected.tolist()


def test_the_outermost_codes_may_be_codes_and_beyond_them_are_numbers() -> None:
    for at, asked in ((4.0, True), (4.5, False)):
        tree = replace(TREE, threshold=np.array([at, 0.0, *[np.nan] * 3]), feature=np.array([0, 0, -1, -1, -1]))
        model = replace(MODEL, features=("place",), classes=("no", "yes"), trees=(tree,))
        if asked:
            with pytest.raises(ReleaseError, match="or for codes"):
                lower_model(model, schema(REGIONS), {}, "model")
        else:
            assert lower_model(model, schema(REGIONS), {}, "model").release.trees
