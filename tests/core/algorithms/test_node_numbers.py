"""Numbers of people in a model's file are held against the table: honest files agree, all others contradict."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from command_line import leafgate
from components import new_builder
from installed_readers import lower_model, minimise, neutral_file, read_foreign
from leafgate import Table
from leafgate.algorithms.node_counts import Contradiction, first_contradiction
from leafgate.api import Column, Schema, bin_names, make_table
from leafgate.app import SealedRelease, serialize
from leafgate.readers import ModelIR
from random_tables import categorical, numeric
from sklearn_zoo import skops_bytes

N = 700
EDGES = (-1000.0, 20.0, 40.0, 60.0, 1000.0)
KINDS = {"two": ("0", "1"), "three": ("0", "1", "2"), "number": ()}
SMALL: dict[str, Any] = {"num_leaves": 15, "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5}
BOOST: dict[str, Any] = {"max_depth": 4, "nthread": 1}


def people(seed: int = 0, n: int = N) -> pd.DataFrame:
    """Age and pay with missing cells, and three targets that depend on them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(18, 90, n).astype(float), "pay": rng.gamma(2.0, 20.0, n).round(1)})
    frame.loc[rng.random(n) < 0.05, "pay"] = np.nan
    score = frame["age"] / 30 + np.nan_to_num(frame["pay"]) / 50 + rng.normal(size=n)
    frame["two"], frame["three"] = (score > 3).astype(int), np.digitize(score, [2.5, 3.5])
    frame["number"] = (frame["age"] / 2 + rng.normal(0, 5, n)).round(1)
    return frame


@cache
def table_named(target: str, other: str = "") -> Table:
    """The people's table, or another one."""
    return table_of(OTHERS[other](people()) if other else people(), target)


def table_of(frame: pd.DataFrame, target: str) -> Table:
    classes = KINDS[target]
    target_column = (
        categorical(target, "class", "sensitive", values=classes)
        if classes
        else Column(target, frozenset({"class", "sensitive"}), values=bin_names(EDGES), ordered=True, edges=EDGES)
    )
    columns = (
        numeric("age", "quasi_identifier", bounds=(-1e6, 1e6)),
        numeric("pay", "quasi_identifier", bounds=(-1e6, 1e6), missing=True),
        target_column,
    )
    typed = pd.DataFrame({"age": frame["age"], "pay": frame["pay"]})
    inside = np.digitize(frame[target], EDGES[1:-1])
    cells = frame[target].astype(str) if classes else pd.Series([bin_names(EDGES)[i] for i in inside])
    typed[target] = pd.Categorical(cells, categories=list(target_column.values or ()))
    return make_table(Schema(columns), typed)


FEATURES = ["age", "pay"]


def of_sklearn(model: Any, target: str, **fitting: Any) -> bytes:
    frame = people()
    gaps = not type(model).__name__.startswith(("Gradient", "AdaBoost"))  # which take no missing cells
    return skops_bytes(model.fit(frame[FEATURES if gaps else ["age"]], frame[target], **fitting))


def of_xgboost(target: str, rounds: int = 6, frame: pd.DataFrame | None = None, **settings: Any) -> bytes:
    frame = people() if frame is None else frame
    fields = {"objective": "binary:logistic", **BOOST, **settings}
    matrix = xgboost.DMatrix(frame[FEATURES], frame[target])
    return bytes(xgboost.train(fields, matrix, rounds).save_raw("json"))


def of_lightgbm(target: str, rounds: int = 6, frame: pd.DataFrame | None = None, **settings: Any) -> bytes:
    frame = people() if frame is None else frame
    fields = {"objective": "binary", **SMALL, **settings}
    return lightgbm.train(fields, lightgbm.Dataset(frame[FEATURES], frame[target]), rounds).model_to_string().encode()


VECTORS: dict[str, Any] = {"multi_strategy": "multi_output_tree"}
WEIGHTS = np.random.default_rng(5).uniform(0.5, 2.0, N)

HONEST: dict[str, tuple[str, Callable[[], bytes]]] = {
    "tree": ("two", lambda: of_sklearn(DecisionTreeClassifier(random_state=0), "two")),
    "weighted tree": ("two", lambda: of_sklearn(DecisionTreeClassifier(), "two", sample_weight=WEIGHTS)),
    "class weights": ("three", lambda: of_sklearn(DecisionTreeClassifier(class_weight="balanced"), "three")),
    "whole class weights": ("two", lambda: of_sklearn(DecisionTreeClassifier(class_weight={0: 1, 1: 3}), "two")),
    "regressor": ("number", lambda: of_sklearn(DecisionTreeRegressor(), "number")),
    "forest": ("three", lambda: of_sklearn(RandomForestClassifier(5, random_state=0), "three")),
    "drawn less": ("two", lambda: of_sklearn(RandomForestClassifier(5, max_samples=0.3, random_state=0), "two")),
    "drawn by number": ("two", lambda: of_sklearn(RandomForestClassifier(5, max_samples=99, random_state=0), "two")),
    "balanced forest": (
        "two",
        lambda: of_sklearn(RandomForestClassifier(5, class_weight="balanced_subsample", random_state=0), "two"),
    ),
    "plain forest": ("two", lambda: of_sklearn(RandomForestClassifier(5, bootstrap=False), "two")),
    "regression forest": ("number", lambda: of_sklearn(RandomForestRegressor(5, random_state=0), "number")),
    "bagged trees": ("three", lambda: of_sklearn(BaggingClassifier(n_estimators=5, random_state=0), "three")),
    "bagged parts": (
        "two",
        lambda: of_sklearn(BaggingClassifier(n_estimators=5, max_samples=0.4, bootstrap=False, random_state=0), "two"),
    ),
    "bagged columns": (
        "two",
        lambda: of_sklearn(BaggingClassifier(n_estimators=5, bootstrap=False, bootstrap_features=True), "two"),
    ),
    "bagged regression trees": (
        "number",
        lambda: of_sklearn(BaggingRegressor(n_estimators=5, random_state=0), "number"),
    ),
    "AdaBoost": (
        "three",
        lambda: of_sklearn(AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=5), "three"),
    ),
    "isolation forest": ("number", lambda: of_sklearn(IsolationForest(n_estimators=5, random_state=0), "number")),
    "isolation forest, bootstraps": (
        "number",
        lambda: of_sklearn(IsolationForest(n_estimators=5, bootstrap=True, random_state=0), "number"),
    ),
    "extra trees": ("two", lambda: of_sklearn(ExtraTreesClassifier(5), "two")),
    "extra regression trees": ("number", lambda: of_sklearn(ExtraTreesRegressor(5), "number")),
    "boosting": ("three", lambda: of_sklearn(GradientBoostingClassifier(n_estimators=5), "three")),
    "sampled boosting": (
        "two",
        lambda: of_sklearn(GradientBoostingClassifier(n_estimators=9, subsample=0.4, random_state=0), "two"),
    ),
    "stopped boosting": (
        "number",
        lambda: of_sklearn(GradientBoostingRegressor(n_iter_no_change=2, random_state=0), "number"),
    ),
    "histogram boosting": ("two", lambda: of_sklearn(HistGradientBoostingClassifier(max_iter=4), "two")),
    "histogram regression": ("number", lambda: of_sklearn(HistGradientBoostingRegressor(max_iter=4), "number")),
    "stopped histograms": (
        "two",
        lambda: of_sklearn(HistGradientBoostingClassifier(max_iter=5, early_stopping=True, random_state=0), "two"),
    ),
    "XGBoost": ("two", lambda: of_xgboost("two")),
    "XGBoost, pruned": ("two", lambda: of_xgboost("two", gamma=3.0, tree_method="exact")),
    "XGBoost, class weights": ("two", lambda: of_xgboost("two", scale_pos_weight=3)),
    "XGBoost, scores": ("two", lambda: of_xgboost("two", objective="binary:logitraw")),
    "XGBoost, hinge": ("two", lambda: of_xgboost("two", objective="binary:hinge")),
    "XGBoost, parallel": ("two", lambda: of_xgboost("two", 4, num_parallel_tree=3)),
    "XGBoost, dart": ("two", lambda: of_xgboost("two", booster="dart", rate_drop=0.3)),
    "XGBoost, classes": ("three", lambda: of_xgboost("three", objective="multi:softprob", num_class=3)),
    "XGBoost, vectors": ("three", lambda: of_xgboost("three", objective="multi:softprob", num_class=3, **VECTORS)),
    "XGBoost, numbers": ("number", lambda: of_xgboost("number", objective="reg:squarederror")),
    "XGBoost, medians": ("number", lambda: of_xgboost("number", objective="reg:absoluteerror")),
    "XGBoost, huber": ("number", lambda: of_xgboost("number", objective="reg:pseudohubererror")),
    "LightGBM": ("two", lambda: of_lightgbm("two")),
    "LightGBM, no average": ("two", lambda: of_lightgbm("two", boost_from_average=False)),
    "LightGBM, class weights": ("two", lambda: of_lightgbm("two", scale_pos_weight=2.5)),
    "LightGBM, unbalanced": ("two", lambda: of_lightgbm("two", is_unbalance=True)),
    "LightGBM, bagging": ("two", lambda: of_lightgbm("two", bagging_fraction=0.6, bagging_freq=1)),
    "LightGBM, by class": (
        "two",
        lambda: of_lightgbm("two", pos_bagging_fraction=0.9, neg_bagging_fraction=0.3, bagging_freq=2),
    ),
    "LightGBM, goss": ("two", lambda: of_lightgbm("two", 14, data_sample_strategy="goss")),
    "LightGBM, dart": ("two", lambda: of_lightgbm("two", boosting="dart", drop_rate=0.5)),
    "LightGBM, forest": (
        "two",
        lambda: of_lightgbm("two", boosting="rf", bagging_fraction=0.7, bagging_freq=1),
    ),
    "LightGBM, quantised": ("two", lambda: of_lightgbm("two", use_quantized_grad=True)),
    "LightGBM, stumps": ("two", lambda: of_lightgbm("two", min_gain_to_split=1e9)),
    "LightGBM, classes": ("three", lambda: of_lightgbm("three", objective="multiclass", num_class=3)),
    "LightGBM, one against all": ("three", lambda: of_lightgbm("three", objective="multiclassova", num_class=3)),
    "LightGBM, numbers": ("number", lambda: of_lightgbm("number", objective="regression")),
    "LightGBM, huber": ("number", lambda: of_lightgbm("number", objective="huber")),
}
CACHE: dict[str, ModelIR] = {}


def model_named(name: str) -> ModelIR:
    if name not in CACHE:
        CACHE[name] = read_foreign(HONEST[name][1](), "model")
    return CACHE[name]


def sealed_release(model: ModelIR, schema: Schema, **said: Any) -> SealedRelease:
    """The release of the model, written and read back."""
    return serialize(lower_model(model, schema, said, "model"))


@cache
def honest_release(name: str) -> SealedRelease:
    return sealed_release(model_named(name), table_named(HONEST[name][0]).schema)


def held(model: ModelIR, table: Table, subsample: float = 1.0, **said: Any) -> Contradiction | None:
    """What contradicts the table once the release was written and read back."""
    return contradiction(sealed_release(model, table.schema, **said), table, subsample)


def contradiction(sealed: SealedRelease, table: Table, subsample: float = 1.0) -> Contradiction | None:
    assert sealed.provenance.node_numbers is not None
    return first_contradiction(replace(sealed.provenance.node_numbers, subsample=subsample), sealed.release, table)


@pytest.mark.parametrize("name", HONEST)
def test_a_file_agrees_with_the_table_it_was_trained_on(name: str) -> None:
    table = table_named(HONEST[name][0])
    assert contradiction(honest_release(name), table) is None
    assert held(read_foreign(neutral_file(model_named(name)), "neutral"), table) is None


PLAIN_MEDIANS = Version(xgboost.__version__) < Version("3.4")
"""Whether second derivatives of absolute errors are 1 for everybody; from 3.4 on they are smoothed."""
OTHERS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "others": lambda frame: people(1),
    "more people": lambda frame: pd.concat([frame, people(1)], ignore_index=True),
    "fewer people": lambda frame: frame.iloc[: N // 2].reset_index(drop=True),
    "shifted": lambda frame: frame.assign(age=frame["age"] + 20),
    "scaled": lambda frame: frame.assign(age=(frame["age"] - 50) / 20, pay=frame["pay"] / 40),
    "permuted": lambda frame: frame.assign(age=frame["age"].sample(frac=1, random_state=0).to_numpy()),
}
WEAK = {  # what the numbers of the file leave possible
    ("LightGBM, by class", "more people"),  # from 30 to 90 of 100
    ("drawn by number", "more people"),  # 99 rows drawn, of whomever
    ("isolation forest, bootstraps", "more people"),  # so are 256
    ("sampled boosting", "others"),  # as many of each age, up to chance
    *((name, "permuted") for name in ("boosting", "sampled boosting", "stopped boosting")),  # they ask for age alone
    *(("XGBoost, huber", other) for other in OTHERS),  # at most 1 a person is all that is known
    *([] if PLAIN_MEDIANS else [("XGBoost, medians", "more people")]),
    ("LightGBM, stumps", "shifted"),  # no test asks anything
    ("LightGBM, stumps", "scaled"),
    ("LightGBM, stumps", "permuted"),
    ("LightGBM, stumps", "others"),
}


@pytest.mark.parametrize("name", HONEST)
def test_a_file_contradicts_any_other_table(name: str) -> None:
    for other in OTHERS:
        if (name, other) not in WEAK:
            table = table_named(HONEST[name][0], other)
            assert table.schema == table_named(HONEST[name][0]).schema
            assert contradiction(honest_release(name), table) is not None, other


def changed(model: ModelIR, tree: int, number: int, node: int, by: float) -> ModelIR:
    """The model with one number of one node changed."""
    result = model.trees[tree].numbers[number]
    values = result.values.copy()
    values[node] += by
    numbers = list(model.trees[tree].numbers)
    numbers[number] = replace(result, values=values)
    trees = list(model.trees)
    trees[tree] = replace(trees[tree], numbers=tuple(numbers))
    return replace(model, trees=tuple(trees))


EXACT = [
    *("tree", "weighted tree", "class weights", "regressor", "plain forest", "extra trees", "boosting"),
    *("histogram boosting", "histogram regression", "LightGBM", "LightGBM, classes", "LightGBM, dart"),
    *("XGBoost, numbers", "LightGBM, numbers"),
    *(["XGBoost, medians"] if PLAIN_MEDIANS else []),
]


@given(st.sampled_from(EXACT), st.data())
def test_one_person_more_or_less_in_any_node_is_noticed(name: str, data: st.DataObject) -> None:
    model = model_named(name)
    tree = data.draw(st.integers(0, len(model.trees) - 1))
    node = data.draw(st.integers(1, model.trees[tree].nodes - 1))  # a root unlike its children is refused as no tree
    by = data.draw(st.sampled_from([-1.0, 1.0]))
    wrong = held(changed(model, tree, 0, node, by), table_named(HONEST[name][0]))
    assert wrong is not None
    assert (wrong.tree, wrong.node) == (tree, node)
    assert abs(abs(wrong.stated - wrong.expected) - 1) < 1e-9
    assert not re.search(r"\d", wrong.words.replace(f"node {node}", "").replace(f"tree {tree}", ""))


DERIVATIVES = ["XGBoost", "XGBoost, classes", "XGBoost, class weights", "LightGBM", "LightGBM, classes"]


@given(st.sampled_from(DERIVATIVES), st.data())
def test_a_second_derivative_more_than_a_rounding_apart_is_noticed(name: str, data: st.DataObject) -> None:
    model = model_named(name)
    tree = data.draw(st.integers(0, len(model.trees) - 1))
    node = data.draw(st.integers(0, model.trees[tree].nodes - 1))
    values = model.trees[tree].numbers[-1].values
    by = data.draw(st.sampled_from([-0.01, 0.01])) * (1 + values[node])
    assert held(changed(model, tree, len(model.trees[tree].numbers) - 1, node, by), table_named(HONEST[name][0]))


@pytest.mark.parametrize("by", [-1, 1])
def test_one_person_in_the_first_round_of_xgboost_is_noticed(by: int) -> None:
    model = model_named("XGBoost")
    chance = 1 / (1 + np.exp(-model.base[0]))
    for node in range(model.trees[0].nodes):
        wrong = held(changed(model, 0, 0, node, by * chance * (1 - chance)), table_of(people(), "two"))
        assert wrong is not None
        assert (wrong.tree, wrong.node, wrong.name) == (0, node, "sum_hessian")


def test_a_bootstrap_has_as_many_draws_as_it_records() -> None:
    model, table = model_named("forest"), table_of(people(), "three")
    assert model.sampling.draws == 1.0
    for by in (-1, 1):
        wrong = held(changed(model, 2, 1, 0, by), table)
        assert wrong is not None
        assert (wrong.tree, wrong.node, wrong.name) == (2, 0, "weighted_n_node_samples")
    leaf = int(model.trees[0].leaves[0])
    assert held(changed(model, 0, 0, leaf, N), table)  # more people than the table has there
    assert held(replace(model, sampling=replace(model.sampling, draws=0.5)), table)


def test_a_declared_part_of_the_table_may_be_what_trees_were_grown_on() -> None:
    frame = people(n=4000)
    content = of_xgboost("two", frame=frame, subsample=0.8, seed=1)
    model, table = read_foreign(content, "model"), table_of(frame, "two")
    assert held(model, table) is not None
    assert held(model, table, subsample=0.8) is None
    for subsample in (0.5, 0.7, 0.95):
        assert held(model, table, subsample=subsample) is not None
    fewer = read_foreign(of_xgboost("two", frame=frame.iloc[:400]), "model")
    assert held(fewer, table, subsample=0.8) is not None
    assert held(model_named("XGBoost"), table_of(people(), "two"), subsample=0.8) is None  # it counts everybody


def test_a_split_of_the_table_may_be_declared_for_any_file() -> None:
    frame = people(n=4000)
    part = frame.sample(frac=0.75, random_state=0)
    for content in (
        of_lightgbm("two", frame=part),
        skops_bytes(DecisionTreeClassifier(min_samples_leaf=5).fit(part[FEATURES], part["two"])),
        skops_bytes(RandomForestClassifier(3, random_state=0).fit(part[FEATURES], part["two"])),
        skops_bytes(HistGradientBoostingClassifier(max_iter=4).fit(part[FEATURES], part["two"])),
    ):
        model = read_foreign(content, "model")
        assert held(model, table_of(frame, "two")) is not None
        assert held(model, table_of(frame, "two"), subsample=0.75) is None
        assert held(model, table_of(frame, "two"), subsample=0.4) is not None


@pytest.mark.parametrize("name", ["XGBoost", "XGBoost, hinge", "XGBoost, classes", "XGBoost, numbers"])
def test_second_derivatives_of_nodes_that_nobody_reaches_contradict_a_declared_part(name: str) -> None:
    target, frame = HONEST[name][0], people()
    young = frame[frame["age"] < 40].reset_index(drop=True)
    assert contradiction(honest_release(name), table_of(young, target), 0.5) is not None


def test_more_people_than_the_table_has_contradict_whatever_is_declared() -> None:
    frame = people()
    model = model_named("LightGBM")
    node = int(model.trees[0].leaves[0])
    for subsample in (1.0, 0.9, 0.5):
        assert held(changed(model, 0, 0, node, 1), table_of(frame, "two"), subsample=subsample) is not None


def test_a_leaf_that_nobody_reaches_counts_nobody() -> None:
    model = model_named("LightGBM, goss")
    table = table_of(people().assign(age=-5.0), "two")
    assert held(model, table) is not None


def test_records_that_several_people_share_may_be_weights() -> None:
    frame = people(n=300)
    weight = np.random.default_rng(0).integers(1, 5, len(frame))
    model = DecisionTreeClassifier(random_state=0).fit(frame[FEATURES], frame["two"], sample_weight=weight)
    once = table_of(frame, "two")
    many = table_of(frame.loc[frame.index.repeat(weight)].reset_index(drop=True), "two")
    read = read_foreign(skops_bytes(model), "model")
    assert held(read, once) is None
    assert held(read, many) is None
    assert held(changed(read, 0, 1, 1, 1), many) is not None


def test_the_classes_of_a_tree_without_weights_are_compared_beside_a_tree_with_weights() -> None:
    members = [("plain", DecisionTreeClassifier()), ("weighted", DecisionTreeClassifier(class_weight="balanced"))]
    model = VotingClassifier(members, voting="soft").fit(people()[FEATURES], people()["two"])
    read = read_foreign(skops_bytes(model), "model")
    table = table_named("two")
    assert held(read, table) is None
    values = model.estimators_[0].tree_.value
    leaf = int(np.flatnonzero((values[:, 0] == 1).any(axis=1))[0])
    values[leaf, 0] = values[leaf, 0, ::-1]
    assert held(read_foreign(skops_bytes(model), "model"), table) is not None


def test_a_scrubbed_file_counts_nobody_and_agrees_with_everything() -> None:
    for name in ("tree", "XGBoost", "LightGBM"):
        model = minimise(model_named(name), "shares", "model")
        assert not any(model.numbers_of(tree) for tree in model.trees)
        assert held(model, table_of(people(1), HONEST[name][0])) is None


def test_counts_that_scrubbing_leaves_are_held() -> None:
    for name in ("tree", "forest"):
        model = read_foreign(neutral_file(minimise(model_named(name), "counts", "model")), "model")
        assert held(model, table_named(HONEST[name][0])) is None
        assert held(model, table_of(people(1), HONEST[name][0])) is not None


TOWNS = ("north", "south", "east", "west", "nowhere")


def townspeople(seed: int = 0) -> pd.DataFrame:
    """People of four of five towns, some of no known pay."""
    frame = people(seed)
    rng = np.random.default_rng(seed + 9)
    town = rng.choice(TOWNS[:4], N, p=(0.4, 0.3, 0.2, 0.1))
    return frame.assign(town=town, two=(rng.random(N) < np.where(town == "east", 0.8, 0.3)).astype(int))


def town_table(frame: pd.DataFrame) -> Table:
    columns = (
        numeric("pay", "quasi_identifier", bounds=(0, 1e6), missing=True),
        categorical("town", "quasi_identifier", values=TOWNS),
        categorical("two", "class", "sensitive", values=("0", "1")),
    )
    typed = {name: pd.Categorical(frame[name].astype(str), columns[i].values) for i, name in ((1, "town"), (2, "two"))}
    return make_table(Schema(columns), pd.DataFrame({"pay": frame["pay"], **typed}))


def town_models() -> dict[str, bytes]:
    """Models that ask for sets of towns, for single ones, and whether the pay is known."""
    frame = townspeople()
    given = frame[["pay", "town"]].assign(town=frame["town"].astype("category"))
    coded = ColumnTransformer(
        [("town", OneHotEncoder(), ["town"]), ("pay", SimpleImputer(strategy="median", add_indicator=True), ["pay"])]
    )
    tree = make_pipeline(coded, DecisionTreeClassifier(max_depth=9, random_state=0)).fit(given, frame["two"])
    histograms = HistGradientBoostingClassifier(max_iter=4, categorical_features=["town"]).fit(given, frame["two"])
    booster = lightgbm.train({"objective": "binary", **SMALL}, lightgbm.Dataset(given, frame["two"]), 5)
    matrix = xgboost.DMatrix(given, frame["two"], enable_categorical=True)
    boosted = xgboost.train({"objective": "binary:logistic", **BOOST, "max_cat_to_onehot": 1}, matrix, 5)
    return {
        "pipeline": skops_bytes(tree),
        "histograms": skops_bytes(histograms),
        "LightGBM": booster.model_to_string().encode(),
        "XGBoost": bytes(boosted.save_raw("json")),
    }


def test_category_and_missing_tests_send_people_to_the_nodes_that_count_them() -> None:
    for name, content in town_models().items():
        model = read_foreign(content, "model")
        assert held(model, town_table(townspeople())) is None, name
        assert held(model, town_table(townspeople(1))) is not None, name
        frame = townspeople()
        first = int(np.flatnonzero(frame["town"] == "east")[0])  # all four ask first who lives in the east
        elsewhere = frame["town"].where(frame.index != first, "north")
        assert held(model, town_table(frame.assign(town=elsewhere))) is not None, f"{name}: one person moved"


PMML = """<PMML version="4.4" xmlns="http://www.dmg.org/PMML-4_4"><DataDictionary numberOfFields="2">
<DataField name="age" optype="continuous" dataType="double"/>
<DataField name="two" optype="categorical" dataType="string"><Value value="no"/><Value value="yes"/></DataField>
</DataDictionary><TreeModel functionName="classification" splitCharacteristic="binarySplit"><MiningSchema>
<MiningField name="age"/><MiningField name="two" usageType="target"/></MiningSchema>
<Node id="1" score="no" recordCount="10"><True/>
<ScoreDistribution value="no" recordCount="6"/><ScoreDistribution value="yes" recordCount="4"/>
<Node id="2" score="no" recordCount="6"><SimplePredicate field="age" operator="lessThan" value="30"/>
<ScoreDistribution value="no" recordCount="5"/><ScoreDistribution value="yes" recordCount="1"/></Node>
<Node id="3" score="yes" recordCount="4"><SimplePredicate field="age" operator="greaterOrEqual" value="30"/>
<ScoreDistribution value="no" recordCount="1"/><ScoreDistribution value="yes" recordCount="3"/></Node>
</Node></TreeModel></PMML>"""


def ten(old: int = 3) -> Table:
    """Ten people: five young ones of class no and one of yes; of four older ones `old` have yes."""
    rows = [(20.0, "no")] * 5 + [(20.0, "yes")] + [(40.0, "yes")] * old + [(40.0, "no")] * (4 - old)
    columns = (numeric("age", "quasi_identifier", bounds=(0, 99)), categorical("two", "class", values=("no", "yes")))
    cells = pd.DataFrame({"age": [a for a, _ in rows], "two": pd.Categorical([b for _, b in rows], ["no", "yes"])})
    return make_table(Schema(columns), cells)


@pytest.mark.parametrize(
    ("content", "was", "now"),
    [
        (PMML, 'score="no" recordCount="10"', 'score="no" recordCount="11"'),
        (PMML, 'score="yes" recordCount="4"', 'score="yes" recordCount="3"'),
        (PMML, 'value="no" recordCount="6"', 'value="no" recordCount="7"'),
        (PMML, 'value="yes" recordCount="3"', 'value="yes" recordCount="2"'),
    ],
)
def test_numbers_of_pmml_are_held_to_the_person(content: str, was: str, now: str) -> None:
    assert content.count(was) == 1
    assert held(read_foreign(content.encode(), "model"), ten()) is None
    assert held(read_foreign(content.replace(was, now).encode(), "model"), ten()) is not None
    assert held(read_foreign(content.encode(), "model"), ten(old=2)) is not None


@pytest.mark.parametrize(
    ("content", "was", "now"),
    [
        (PMML, 'score="no" recordCount="6"', 'score="no" recordCount="5.5"'),
        (PMML, 'value="yes" recordCount="3"', 'value="yes" recordCount="2.5"'),
    ],
)
def test_one_fraction_among_numbers_of_people_excuses_none_of_them(content: str, was: str, now: str) -> None:
    changed = read_foreign(content.replace(was, now).encode(), "model")
    assert content.count(was) == 1
    assert held(changed, ten()) is not None
    loaded = lower_model(changed, ten().schema, {}, "model")
    assert loaded.provenance.node_numbers is not None
    assert first_contradiction(replace(loaded.provenance.node_numbers, weighted=True), loaded.release, ten()) is None


def test_people_with_missing_cells_may_count_in_part_and_never_for_others() -> None:
    table = replace(ten(), dropped=1)
    more = PMML.replace('value="no" recordCount="5"', 'value="no" recordCount="5.5"')
    fewer = more.replace('value="yes" recordCount="3"', 'value="yes" recordCount="2.5"')
    assert held(read_foreign(more.encode(), "model"), table) is None
    assert held(read_foreign(fewer.encode(), "model"), table) is not None


def test_class_weights_of_a_tree_show_which_classes_are_there() -> None:
    frame = people()
    table = table_of(frame.assign(two=frame["two"].sample(frac=1, random_state=0).to_numpy()), "two")
    for name in ("weighted tree", "whole class weights"):
        wrong = held(model_named(name), table)
        assert wrong is not None
        assert wrong.name in {"value", "counts"}


POLICY = """
leafgate: 1
name: counted
data:
  path: people.csv
  on_missing: keep
  columns:
    age: {role: quasi_identifier, bounds: [-1000, 1000]}
    pay: {role: quasi_identifier, bounds: [-1000, 1000]}
    TARGET
build: {use: published, path: model.bin TRAINED}
attacks: [{use: linking}]
metrics: [{use: k_anonymity, of: linking, at_least: 1}, {use: file_disclosure, at_most: 9}]
"""
TARGETS = {
    "two": 'two: {role: [class, sensitive], values: ["0", "1"]}',
    "number": "number: {role: [class, sensitive], bins: [-1000, 20, 40, 60, 1000]}",
}


def audited(folder: Path, content: bytes, frame: pd.DataFrame, target: str, trained: str = "") -> tuple[int, Any]:
    """The exit code, and the finding that the file counts other people, if there is one."""
    frame[[*FEATURES, target]].to_csv(folder / "people.csv", index=False)
    (folder / "model.bin").write_bytes(content)
    policy = POLICY.replace("TARGET", TARGETS[target]).replace("TRAINED", trained and f", trained_by: {trained}")
    (folder / "policy.yaml").write_text(policy)
    ended = leafgate("audit", folder / "policy.yaml", "--out", folder / "out", "--audience", "auditor")
    assert ended.code in {0, 1, 3}, ended.err
    report = json.loads((folder / "out" / "report.json").read_text())
    found = [finding for finding in report["findings"] if finding["id"] == "counted"]
    return ended.code, found[0]["evidence"] if found else None


def test_an_xgboost_file_of_data_scaled_outside_it_never_passes(tmp_path: Path) -> None:
    frame = people()
    scaled = frame.assign(age=(frame["age"] - 50) / 20, pay=frame["pay"] / 40)
    assert audited(tmp_path, of_xgboost("two", frame=scaled), scaled, "two") == (0, None)
    code, evidence = audited(tmp_path, of_xgboost("two", frame=scaled), frame, "two")
    assert code == 3
    assert re.search("`sum_hessian` of node 1 of tree 0", evidence["problem"])
    assert "trained_by" in evidence["remedy"]
    assert evidence["numbers"]["file"] != evidence["numbers"]["table"]


@pytest.mark.thorough
def test_a_lightgbm_file_of_400_people_never_passes_on_20000(tmp_path: Path) -> None:
    everybody = people(n=20_000)
    few = everybody.iloc[:400]
    assert audited(tmp_path, of_lightgbm("two", frame=few), few, "two") == (0, None)
    code, evidence = audited(tmp_path, of_lightgbm("two", frame=few), everybody, "two")
    assert code == 3
    assert "`leaf_count, internal_count` of node 0 of tree 0" in evidence["problem"]
    assert evidence["numbers"] == {"file": 400.0, "table": 20_000.0}
    assert audited(tmp_path, of_lightgbm("two", frame=few), everybody, "two", "{subsample: 0.5}")[0] == 3


def test_the_public_hears_where_a_file_contradicts_and_no_number_of_people(tmp_path: Path) -> None:
    code, _ = audited(tmp_path, of_lightgbm("two"), people(1), "two")
    assert code == 3
    ended = leafgate("audit", tmp_path / "policy.yaml", "--out", tmp_path / "public")
    assert ended.code == 3
    report = json.loads((tmp_path / "public" / "report.json").read_text())
    evidence = next(finding for finding in report["findings"] if finding["id"] == "counted")["evidence"]
    assert set(evidence) == {"problem", "remedy"}
    assert re.findall(r"\d+", evidence["problem"]) == ["1", "0"]


def test_what_a_policy_says_of_the_training_is_checked(tmp_path: Path) -> None:
    frame = people()
    sampled = of_xgboost("two", subsample=0.7)
    assert audited(tmp_path, sampled, frame, "two")[0] == 3
    assert audited(tmp_path, sampled, frame, "two", "{subsample: 0.7}")[0] == 0
    matrix = xgboost.DMatrix(frame[FEATURES], frame["two"], weight=WEIGHTS)
    weighted = xgboost.train({"objective": "binary:logistic", **BOOST}, matrix, 5).save_raw("json")
    assert audited(tmp_path, bytes(weighted), frame, "two")[0] == 3
    assert audited(tmp_path, bytes(weighted), frame, "two", "{weighted: true}")[0] == 0
    for wrong in ("{subsample: 0}", "{subsample: 1.5}", "{rows: 3}"):
        (tmp_path / "policy.yaml").write_text(
            POLICY.replace("TARGET", TARGETS["two"]).replace("TRAINED", f", trained_by: {wrong}")
        )
        assert leafgate("audit", tmp_path / "policy.yaml").code == 2


def test_a_release_of_leafgates_own_has_no_training_to_speak_of(tmp_path: Path) -> None:
    frame = people()
    sealed = serialize(new_builder("c45", min_leaf=20).build(table_of(frame, "two"), np.random.default_rng(0)))
    frame[[*FEATURES, "two"]].to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "model.bin").write_bytes(sealed.content)
    text = POLICY.replace("TARGET", TARGETS["two"]).replace("TRAINED", ", trained_by: {subsample: 0.5}")
    (tmp_path / "policy.yaml").write_text(text.replace("[-1000, 1000]", "[-1000000, 1000000]"))
    ended = leafgate("audit", tmp_path / "policy.yaml")
    assert ended.code == 2
    assert "trained_by" in ended.err


def test_a_policy_that_extends_another_cannot_declare_a_sample(tmp_path: Path) -> None:
    frame = people()
    code, _ = audited(tmp_path, of_xgboost("two", subsample=0.7), frame, "two")
    assert code == 3
    build = "{use: published, path: model.bin, trained_by: {subsample: 0.7}}"
    child = f"leafgate: 1\nname: child\nextends: policy.yaml\nbuild: {build}\n"
    (tmp_path / "child.yaml").write_text(child)
    ended = leafgate("audit", tmp_path / "child.yaml")
    assert ended.code == 2
    assert "trained_by" in ended.err


def test_no_attack_is_told_what_the_file_counts() -> None:
    sealed = serialize(lower_model(model_named("LightGBM"), table_of(people(), "two").schema, {}, "model"))
    assert sealed.provenance.node_numbers is not None
    assert not hasattr(sealed.release, "node_numbers")
    assert b"leaf_count" not in sealed.content
