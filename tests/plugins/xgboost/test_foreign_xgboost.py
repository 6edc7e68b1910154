"""XGBoost's files: every row ends in the leaf where XGBoost has it end, and the counts are those of the people."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from hypothesis import given, settings
from hypothesis import strategies as st

from feature_rows import predicted, votes
from foreign_rows import TABLES, Rows, adult_columns, assert_released_alike, probes, random_rows, same_leaves
from installed_readers import is_foreign, leaves_of, neutral_file, object_as_file, read_foreign
from leafgate import ReleaseError
from leafgate.readers import LEAF, ModelIR
from patience import ends_soon
from refused_models import assert_read_or_refused, assert_refused

FORMS = ("json", "ubj")
SMALL = {"max_depth": 4, "eta": 0.3, "nthread": 1, "verbosity": 0}


def data_of(rows: Rows, x: Any = None, *, sets: bool = True) -> xgb.DMatrix:
    x = rows.x if x is None else x
    kinds = rows.kinds if sets else ["q"] * x.shape[1]
    return xgb.DMatrix(x, feature_types=kinds, enable_categorical=True)


def fitted(rows: Rows, rounds: int = 8, *, sets: bool = True, **options: Any) -> xgb.Booster:
    classes = int(rows.y.max()) + 1
    objective = (
        {"objective": "multi:softprob", "num_class": classes} if classes > 2 else {"objective": "binary:logistic"}
    )
    data = data_of(rows, sets=sets)
    data.set_label(rows.y)
    return xgb.train(SMALL | objective | options, data, num_boost_round=rounds)


def read(booster: xgb.Booster, form: str = "json") -> ModelIR:
    content = bytes(booster.save_raw(raw_format=form))
    assert is_foreign(content[:4096])
    return read_foreign(content, "model")


def check_alike(model: ModelIR, booster: xgb.Booster, rows: Rows, *, sets: bool = True) -> None:
    """Leaf by leaf, score by score, class by class."""
    x = np.concatenate([rows.x, probes(model, rows)])
    data = data_of(rows, x, sets=sets)
    ends = booster.predict(data, pred_leaf=True).reshape(len(x), -1)
    for i, tree in enumerate(model.trees):
        assert same_leaves(leaves_of(tree, x), ends[:, i]), i
    scores = booster.predict(data, output_margin=True)
    result = votes(model, x)
    mine = result if scores.ndim == 2 else result[:, -1]
    assert np.allclose(mine, scores, rtol=1e-5, atol=1e-5)
    if model.classes:
        theirs = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)
        clear = np.sort(result, axis=1)[:, -1] - np.sort(result, axis=1)[:, -2] > 1e-5
        assert np.array_equal(predicted(model, x)[clear], theirs[clear])
        assert clear.mean() > 0.99


@pytest.mark.thorough
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sets", [True, False])
@pytest.mark.parametrize("name", TABLES)
def test_every_row_ends_where_xgboost_has_it_end(name: str, sets: bool, form: str) -> None:
    rows = TABLES[name]()
    booster = fitted(rows, sets=sets, max_cat_to_onehot=4)
    check_alike(read(booster, form), booster, rows, sets=sets)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "options",
    [
        {"booster": "dart", "rate_drop": 0.5, "seed": 1},
        {"num_parallel_tree": 3, "subsample": 0.5, "colsample_bynode": 0.5, "seed": 1},
        {"base_score": 0.2},
        {"tree_method": "exact", "gamma": 20, "sets": False},
        {"tree_method": "approx", "grow_policy": "lossguide", "max_leaves": 9, "max_depth": 0},
        {"objective": "binary:logitraw"},
        {"objective": "binary:hinge"},
        {"objective": "reg:squarederror"},
        {"scale_pos_weight": 3},
        {"gamma": 1e9, "base_score": 0.3},
    ],
    ids=str,
)
def test_every_row_ends_where_xgboost_has_it_end_however_it_was_trained(options: dict[str, Any]) -> None:
    rows = random_rows()
    options = dict(options)
    sets = options.pop("sets", True)
    booster = fitted(rows, sets=sets, **options)
    check_alike(read(booster), booster, rows, sets=sets)


@pytest.mark.thorough
@pytest.mark.parametrize("objective", ["multi:softprob", "multi:softmax"])
@pytest.mark.parametrize("base", [{}, {"base_score": 0.7}], ids=str)
def test_every_row_ends_where_xgboost_has_it_end_for_several_classes(objective: str, base: dict[str, Any]) -> None:
    rows = random_rows(4)
    booster = fitted(rows, objective=objective, **base)
    model = read(booster)
    assert model.classes == ("0", "1", "2", "3")
    assert [tree.output for tree in model.trees[:5]] == [0, 1, 2, 3, 0]
    check_alike(model, booster, rows)


def test_both_forms_say_the_same() -> None:
    booster = fitted(random_rows(3))
    one, other = (read(booster, form) for form in FORMS)
    assert replace(one, trees=()) == replace(other, trees=())
    for a, b in zip(one.trees, other.trees, strict=True):
        assert np.array_equal(a.threshold, b.threshold, equal_nan=True)
        assert np.array_equal(a.values, b.values)
        assert a.subsets == b.subsets


@pytest.mark.parametrize("form", FORMS)
def test_the_categories_of_a_data_frame_are_told_by_their_texts(form: str) -> None:
    frame, y, weight = adult_columns()
    booster = xgb.train(
        SMALL | {"objective": "binary:logistic", "max_depth": 5},
        xgb.DMatrix(frame, label=y, weight=weight, enable_categorical=True),
        num_boost_round=10,
    )

    def scores(cells: pd.DataFrame) -> Any:
        return booster.predict(xgb.DMatrix(cells, enable_categorical=True), output_margin=True)

    assert_released_alike(bytes(booster.save_raw(raw_format=form)), scores)


@pytest.mark.parametrize("classes", [2, 4])
def test_the_first_trees_tell_how_many_people_are_on_every_node(classes: int) -> None:
    rows = random_rows(classes)
    booster = fitted(rows)
    model = read(booster)
    ends = booster.predict(data_of(rows), pred_leaf=True).reshape(len(rows.x), -1).astype(int)
    for i, tree in enumerate(model.trees):
        assert (tree.size is not None) == (i < (classes if classes > 2 else 1))
        if tree.size is not None:
            leaves = np.flatnonzero(tree.feature == LEAF)
            assert np.array_equal(tree.size[leaves], np.bincount(ends[:, i], minlength=tree.nodes)[leaves])
    assert [item.level for item in model.discloses if item.kind == "sizes"] == ["counts"]
    assert model.level == "counts"


def test_with_the_usual_settings_a_first_leafs_value_tells_the_people_of_each_class() -> None:
    # Its value is -eta G / (H + lambda), and G is the sum of p - y: people times p, less those of the second class.
    rows = random_rows()
    booster = fitted(rows)
    model = read(booster)
    tree = model.trees[0]
    assert tree.size is not None
    ends = leaves_of(tree, rows.x)
    p = 1 / (1 + np.exp(-model.base[0]))
    for leaf in np.flatnonzero(tree.feature == LEAF):
        people = tree.size[leaf]
        gradient = -tree.values[leaf, 0] * (people * p * (1 - p) + 1.0) / 0.3
        assert people * p - gradient == pytest.approx(rows.y[ends == leaf].sum(), abs=0.01)


def test_squared_errors_tell_the_people_of_every_tree() -> None:
    model = read(fitted(random_rows(), objective="reg:squarederror"))
    assert all(tree.size is not None for tree in model.trees)


def test_where_people_weigh_differently_nobody_can_be_counted() -> None:
    rows = random_rows()
    data = data_of(rows)
    data.set_label(rows.y)
    data.set_weight(np.random.default_rng(0).random(len(rows.y)))
    model = read(xgb.train(SMALL | {"objective": "binary:logistic"}, data, num_boost_round=3))
    assert all(tree.size is None for tree in model.trees)
    assert model.level == "shares"
    items = {"second derivatives", "gains", "inner values", "scores_may_betray_counts"}
    assert {item.kind for item in model.discloses} == items


def document(rounds: int = 2, **options: Any) -> Any:
    booster = fitted(random_rows(3), rounds, sets=not options, max_cat_to_onehot=2, **options)
    return json.loads(bytes(booster.save_raw(raw_format="json")))


def refused(document: Any, why: str) -> None:
    with pytest.raises(ReleaseError, match=why):
        read_foreign(json.dumps(document).encode(), "model")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"objective": "reg:logistic"}, "an objective that is not read: reg:logistic"),
        ({"booster": "gblinear"}, "no booster of trees"),
    ],
)
def test_models_of_other_kinds_are_refused_by_name(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ReleaseError, match=why):
        read(fitted(random_rows(), sets=False, **options))


VECTORS = {"multi_strategy": "multi_output_tree"}


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(40))
def test_every_row_ends_where_xgboost_has_it_end_where_leaves_have_a_number_for_each_class(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = random_rows(int(rng.integers(2, 6)))
    options: dict[str, Any] = {
        **VECTORS,
        "objective": str(rng.choice(["multi:softprob", "multi:softmax"])),
        "num_class": int(rows.y.max()) + 1,
        "max_depth": int(rng.integers(1, 6)),
        "grow_policy": str(rng.choice(["depthwise", "lossguide"])),
        "gamma": float(rng.choice([0.0, 5.0])),
        "subsample": float(rng.choice([1.0, 0.6])),
        "num_parallel_tree": int(rng.integers(1, 4)),
        "seed": seed,
    }
    options |= {"base_score": 0.3} if rng.random() < 0.3 else {}
    booster = fitted(rows, 4, sets=False, **options)
    model = read(booster, FORMS[seed % 2])
    assert {tree.values.shape[1] for tree in model.trees} == {options["num_class"]}
    assert "other_content" not in {item.kind for item in model.discloses}
    check_alike(model, booster, rows, sets=False)


def test_vectors_on_leaves_disclose_the_people_on_every_node() -> None:
    rows = random_rows(4)
    booster = fitted(rows, 3, sets=False, **VECTORS)
    model = read(booster)
    ends = booster.predict(data_of(rows, sets=False), pred_leaf=True).reshape(len(rows.x), -1).astype(int)
    assert [tree.size is not None for tree in model.trees] == [True, False, False]
    tree = model.trees[0]
    leaves = np.flatnonzero(tree.feature == LEAF)
    assert tree.size is not None
    assert np.array_equal(tree.size[leaves], np.bincount(ends[:, 0], minlength=tree.nodes)[leaves])
    assert [item.level for item in model.discloses if item.kind == "sizes"] == ["counts"]
    assert model.learner is not None
    assert model.learner.parameters["multi_strategy"] == "multi_output_tree"  # shadow models are grown alike


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda tree: tree["leaf_weights"].pop(), "leaf_weights: must speak of every node"),
        (lambda tree: tree["tree_param"].update(size_leaf_vector="2"), "one for each class"),
        (lambda tree: tree["tree_param"].update(size_leaf_vector="x"), "must be a whole number"),
        (lambda tree: tree["right_children"].__setitem__(-1, 0), "must number the leaves"),
        (lambda tree: tree["right_children"].__setitem__(-1, -1), "must number the leaves"),
        (lambda tree: tree.update(leaf_weights=[1e39] * len(tree["leaf_weights"])), "single precision"),
        (lambda tree: (tree.pop("leaf_weights"), tree.pop("base_weights")), "base_weights: must be a list of numbers"),
    ],
)
def test_vectors_that_are_not_those_of_the_leaves_are_refused(change: Callable[[Any], Any], why: str) -> None:
    fields = document(1, **VECTORS)
    change(fields["learner"]["gradient_booster"]["model"]["trees"][0])
    refused(fields, why)


def test_leaves_of_vectors_and_of_numbers_in_one_file_are_refused() -> None:
    fields, others = document(1, **VECTORS), document(1)
    model, other = (each["learner"]["gradient_booster"]["model"] for each in (fields, others))
    model["trees"].append({**other["trees"][0], "id": 1})
    model["tree_info"].append(0)
    model["gbtree_model_param"]["num_trees"], model["iteration_indptr"] = "2", [0, 1, 2]
    refused(fields, "one for each class")
    del model["trees"][1:], model["iteration_indptr"][2:]
    model["gbtree_model_param"]["num_trees"], model["tree_info"] = "1", [1]
    refused(fields, "one for each class")


def test_text_beside_vectors_is_other_content() -> None:
    fields = document(1, **VECTORS)
    tree = fields["learner"]["gradient_booster"]["model"]["trees"][0]
    for change in ({"base_weights": [*tree["base_weights"], 1.0]}, {"note": "Anna"}):
        fields["learner"]["gradient_booster"]["model"]["trees"][0] = {**tree, **change}
        read_again = read_foreign(json.dumps(fields).encode(), "model")
        assert "other_content" in {item.kind for item in read_again.discloses}
    fields = document(1)
    fields["learner"]["gradient_booster"]["model"]["trees"][0]["leaf_weights"] = [0.5]
    assert "other_content" in {item.kind for item in read_foreign(json.dumps(fields).encode(), "model").discloses}


@pytest.mark.parametrize("objective", ["reg:squarederror", "binary:logistic"])
def test_trees_for_several_targets_are_refused(objective: str) -> None:
    rows = random_rows()
    data = xgb.DMatrix(rows.x, label=np.column_stack([rows.y, 1 - rows.y]))
    booster = xgb.train({**SMALL, "objective": objective, "base_score": 0.5}, data, num_boost_round=2)
    with pytest.raises(ReleaseError, match="several targets"):
        read(booster)


def test_the_weights_of_dart_must_stand_in_one_place() -> None:
    booster = fitted(random_rows(), 3, booster="dart", rate_drop=0.5, seed=1)
    fields = json.loads(bytes(booster.save_raw(raw_format="json")))
    dart = fields["learner"]["gradient_booster"]  # its weights are in the model from 3.4 on
    model = dart.get("gbtree", dart)["model"]
    weights = dart.pop("weight_drop") if "weight_drop" in dart else model.pop("weight_drop")
    fields["learner"]["gradient_booster"] = {"name": "dart", "gbtree": {"name": "gbtree", "model": model}}
    refused(fields, "weights of its trees once")
    fields["learner"]["gradient_booster"] = {"name": "gbtree", "model": {**model, "weight_drop": weights}}
    again = read_foreign(json.dumps(fields).encode(), "model")
    assert neutral_file(again) == neutral_file(read(booster))
    fields["learner"]["gradient_booster"]["weight_drop"] = weights
    refused(fields, "weights of its trees once")
    fields["learner"]["gradient_booster"] = {"name": "gbtree", "model": {**model, "weight_drop": None}}
    refused(fields, "weight_drop")


@pytest.mark.parametrize("options", [{}, {"booster": "dart", "rate_drop": 0.3}, {"num_parallel_tree": 2}])
def test_the_file_of_an_estimator_that_stopped_early_has_the_rounds_by_which_it_predicts(options: Any) -> None:
    rng = np.random.default_rng(5)
    rows = rng.integers(0, 6, (600, 4)).astype(float)
    target = (rows[:, 0] + rng.normal(0, 3, 600) > 3).astype(int)
    estimator = xgb.XGBClassifier(n_estimators=60, early_stopping_rounds=4, max_depth=3, random_state=0, **options)
    estimator.fit(rows[:400], target[:400], eval_set=[(rows[400:], target[400:])], verbose=False)
    whole = estimator.get_booster()
    assert estimator.best_iteration + 1 < whole.num_boosted_rounds()
    named = object_as_file(estimator)
    model = read_foreign(named[1], named[0])
    assert len(model.trees) == (estimator.best_iteration + 1) * options.get("num_parallel_tree", 1)
    scores = xgb.Booster(model_file=bytearray(named[1])).predict(xgb.DMatrix(rows))
    assert np.allclose(scores, estimator.predict_proba(rows)[:, 1], rtol=1e-6)
    of_booster = object_as_file(whole)
    assert read_foreign(of_booster[1], "model").unknown  # it predicts by all rounds, or by those up to the best


@pytest.mark.parametrize("parallel", [1, 3])
def test_one_of_which_the_last_round_is_the_best_was_not_stopped(parallel: int) -> None:
    """XGBoost 1.7 writes best_iteration and best_ntree_limit of every model."""
    booster = fitted(random_rows(4), 3, num_parallel_tree=parallel)
    document = json.loads(bytes(booster.save_raw(raw_format="json")))
    document["learner"]["attributes"] |= {"best_iteration": "2", "best_ntree_limit": str(3 * parallel)}
    del document["learner"]["gradient_booster"]["model"]["iteration_indptr"]
    model = read_foreign(json.dumps(document).encode(), "model")
    assert len(model.trees) == 3 * 4 * parallel
    assert "other_content" not in {item.kind for item in model.discloses}
    document["learner"]["attributes"]["best_ntree_limit"] = "of a person"
    assert "other_content" in {item.kind for item in read_foreign(json.dumps(document).encode(), "model").discloses}
    document["learner"]["attributes"]["best_iteration"] = "1"
    assert read_foreign(json.dumps(document).encode(), "model").unknown
    for other in ("01", "-1", "3", str(3 * parallel * 4 - 1), 2):
        document["learner"]["attributes"]["best_iteration"] = other
        refused(document, "stopped early")


@pytest.mark.parametrize("form", FORMS)
def test_a_test_by_a_set_may_have_no_number_for_a_threshold(form: str) -> None:
    """XGBoost 1.7 and 2.1 write NaN there, which is no JSON."""
    booster = fitted(random_rows(), 2, max_cat_to_onehot=1)
    content, result = bytes(booster.save_raw(raw_format=form)), json.loads(bytes(booster.save_raw(raw_format="json")))
    whole = read_foreign(content, "model")
    trees = result["learner"]["gradient_booster"]["model"]["trees"]
    for tree in trees:
        before = np.array(tree["split_conditions"], dtype=">f4")
        gone = before.copy()
        gone[tree["categories_nodes"]] = np.nan
        assert content.count(before.tobytes()) == (form == "ubj")
        content = content.replace(before.tobytes(), gone.tobytes())
        tree["split_conditions"] = gone.tolist()
    model = read_foreign(content if form == "ubj" else json.dumps(result).encode(), "model")
    assert any(tree.subsets for tree in model.trees)
    assert neutral_file(model) == neutral_file(whole)
    leaf = trees[0]["left_children"].index(LEAF)
    trees[0]["split_conditions"][leaf] = np.nan
    refused_text(json.dumps(result), "finite numbers")
    refused_text(json.dumps(result).replace("NaN", "Infinity"), "not a JSON number")


def refused_text(text: str, why: str) -> None:
    with pytest.raises(ReleaseError, match=why):
        read_foreign(text.encode(), "model")


def _in_tree(key: str, value: Any) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        tree = document["learner"]["gradient_booster"]["model"]["trees"][0]
        if key in {"left_children", "right_children", "split_indices", "split_conditions", "categories_nodes"}:
            tree[key][0] = value
        else:
            tree[key] = value

    return change


def _param(key: str, value: Any) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        document["learner"]["learner_model_param"][key] = value

    return change


HOSTILE: dict[str, tuple[Callable[[Any], None], str]] = {
    "a child beyond the end": (_in_tree("left_children", 10**6), "child that there is not"),
    "a child that is itself": (_in_tree("left_children", 0), "two parents|no tree|circles"),
    "two parents": (_in_tree("left_children", 2), "two parents|no tree"),
    "a huge index": (_in_tree("split_indices", 2**40), "too large"),
    "no such feature": (_in_tree("split_indices", 99), "asks about no feature|categories"),
    "a text for a number": (_in_tree("split_conditions", "0.5"), "list of numbers"),
    "a number beyond single precision": (_in_tree("split_conditions", 1e300), "single precision"),
    "arrays of different length": (_in_tree("split_conditions", []), "list of numbers|every node|out of|no finite"),
    "categories of no node": (_in_tree("categories_nodes", 999), "for no node|list of numbers"),
    "lists in a list": (_in_tree("sum_hessian", [[1.0]]), "list of numbers"),
    "no tree": (lambda value: value["learner"]["gradient_booster"]["model"]["trees"].__setitem__(0, 3), "must be"),
    "fewer groups than trees": (
        lambda value: value["learner"]["gradient_booster"]["model"].update(tree_info=[0]),
        "every node",
    ),
    "a class that there is not": (
        lambda value: value["learner"]["gradient_booster"]["model"]["tree_info"].__setitem__(0, 7),
        "class that there is not",
    ),
    "a billion classes": (_param("num_class", "1000000000"), "whole number|objective"),
    "a billion features": (_param("num_feature", "999999999"), "too many features"),
    "an endless base": (_param("base_score", "[" * 90_000), "must be a number"),
    "a base that is no number": (_param("base_score", "[NaN]"), "must be a number"),
    "a base for other classes": (_param("base_score", "[0.1,0.2]"), "one for each class"),
}


@pytest.mark.parametrize(("change", "why"), HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_model_is_refused(change: Callable[[Any], None], why: str) -> None:
    fields = document()
    change(fields)
    refused(fields, why)


UBJ = {
    "truncated": b"{L\x00\x00\x00\x00\x00\x00\x00\x07learner{",
    "an endless key": b"{L\x7f\xff\xff\xff\xff\xff\xff\xfflearner",
    "a negative length": b"{i\x07learner[$d#i\xff}",
    "a huge array": b"{i\x07learner[$d#L\x00\x00\x7f\xff\xff\xff\xff\xff}",
    "a huge array of nothing": b"{i\x07learner[$Z#l\x7f\xff\xff\xff}",
    "a huge list": b"{i\x07learner[#l\x7f\xff\xff\xffZ",
    "nested too deeply": b"{i\x07learner" + b"[" * 100_000,
    "nothing over and over": b"{i\x07learner[" + b"Z" * 3_000_000,
    "more after the end": b"{i\x07learner{}}x",
    "a key twice": b"{i\x07learnerZi\x07learnerZ}",
    "no UTF-8": b"{i\x07learnerSi\x01\xff}",
    "a type of its own": b"{i\x07learnerQ}",
    "an object of one type": b"{i\x07learner{$i#i\x01i\x01a\x01}",
}


@pytest.mark.parametrize("content", UBJ.values(), ids=UBJ)
def test_what_is_no_ubjson_ends_in_exit_code_2(content: bytes, tmp_path: Path) -> None:
    assert_refused(tmp_path, "model.ubj", content)


TINY = {form: bytes(fitted(random_rows(), rounds=1, max_depth=2).save_raw(raw_format=form)) for form in FORMS}


@settings(deadline=30_000)
@given(st.data(), st.sampled_from(FORMS))
def test_a_file_with_some_bytes_changed_is_read_or_refused(data: st.DataObject, form: str) -> None:
    content = bytearray(TINY[form])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(20, len(content) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.one_of(st.just(len(content)), st.integers(0, len(content))))
    assert_read_or_refused(bytes(content[:end]), "model")


def _places(document: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    return [way, *(place for key, value in below for place in _places(value, (*way, key)))]


NONSENSE: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, -1, 0, 3, 2**31, 2**70, 0.5, 1e308, "", "x", "1E400", [], [1], {}, [[]], [None], ["a"], {"a": 1}]
)


@settings(deadline=30_000)
@given(st.data())
def test_a_file_with_nonsense_somewhere_is_read_or_refused(data: st.DataObject) -> None:
    document = json.loads(TINY["json"])
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from([way for way in _places(document) if len(way) > 1]))
        here = document
        for step in place[:-1]:
            here = here[step]
        here[place[-1]] = json.loads(json.dumps(data.draw(NONSENSE)))
    assert_read_or_refused(json.dumps(document).encode(), "model")


def test_ubjson_of_too_many_values_is_refused_soon() -> None:
    content = b"{L" + (7).to_bytes(8, "big") + b"learner[" + b"Z" * 3_000_000
    with ends_soon(), pytest.raises(ReleaseError, match="too many values"):
        read_foreign(content, "model")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("notes", "severity"), [("of a person", "high"), ("a person; " * 200, "high")])
def test_attributes_that_somebody_gave_a_booster_are_told(form: str, notes: str, severity: str) -> None:
    booster = fitted(random_rows(), 1)
    assert "other_content" not in {item.kind for item in read(booster, form).discloses}
    booster.set_attr(notes=notes)
    (found,) = [item for item in read(booster, form).discloses if item.kind == "other_content"]
    assert found.severity == severity
    assert "learner.attributes" in found.says
    assert "person" not in found.says


PEOPLE = list(range(17, 600))
ILL = "36, ill; " * 200
FIRST = ("learner", "gradient_booster", "model", "trees", 0)
SMUGGLED: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "a parameter that is a table": (
        ("learner", "objective", "reg_loss_param"),
        {"scale_pos_weight": ILL},
    ),
    "a shape that is none": ((*FIRST, "tree_param", "num_deleted"), ILL),
    "types of features": (("learner", "feature_types"), [ILL]),
    "a long version": (("version",), PEOPLE),
    "a version of large numbers": (("version",), [10**8 + 36] * 4),
    "parents of others": ((*FIRST, "parents"), PEOPLE),
    "gains of others": ((*FIRST, "loss_changes"), PEOPLE),
    "weights of others": ((*FIRST, "base_weights"), PEOPLE),
    "categories' places": (("learner", "gradient_booster", "model", "cats"), {"enc": [], "feature_segments": PEOPLE}),
    "categories' order": (("learner", "gradient_booster", "model", "cats"), {"enc": [], "sorted_idx": PEOPLE}),
    "rounds of other lengths": (("learner", "gradient_booster", "model", "iteration_indptr"), [0, *[0] * 36, 1]),
}


def with_value(path: Sequence[str | int], value: Any) -> Any:
    """A small honest file, parsed, with the value at the end of the path."""
    document = json.loads(bytes(fitted(random_rows(), 1).save_raw(raw_format="json")))
    here = document
    for key in path[:-1]:
        here = here[key]
    if path:
        here[path[-1]] = value
    return document


@pytest.mark.parametrize(("path", "value"), SMUGGLED.values(), ids=SMUGGLED)
def test_what_is_not_xgboosts_own_under_its_keys_is_told(path: tuple[str | int, ...], value: Any) -> None:
    document = with_value(path, value)
    model = read_foreign(json.dumps(document).encode(), "model")
    found = [item for item in model.discloses if item.kind == "other_content"]
    large = len(str(value)) > 1_000
    assert [item.severity for item in found] == ["high" if large else "medium"]
    assert "36" not in found[0].says


NOTE = "36, ill"
CATS = ("learner", "gradient_booster", "model", "cats")
OF_ANOTHER_KIND: dict[str, tuple[str, ...]] = {
    "version": ("version",),
    "attributes": ("learner", "attributes"),
    "types of features": ("learner", "feature_types"),
    "categories": CATS,
    "the first categories": (*CATS, "feature_segments"),
    "the order of categories": (*CATS, "sorted_idx"),
    "the lists of categories": (*CATS, "enc"),
}


@pytest.mark.parametrize("value", [NOTE, [NOTE], {"note": NOTE}, {NOTE: 1}], ids=["text", "list", "table", "key"])
@pytest.mark.parametrize("path", OF_ANOTHER_KIND.values(), ids=OF_ANOTHER_KIND)
def test_a_text_in_place_of_another_kind_of_content_is_other_content(path: tuple[str, ...], value: Any) -> None:
    document = with_value(path, value)
    model = read_foreign(json.dumps(document).encode(), "model")
    if isinstance(value, dict) and path in {
        CATS,
        (*CATS, "enc"),
    }:  # a key of a table that the model's categories are in
        assert model.unknown
        return
    discloses = read_foreign(json.dumps(document).encode(), "model").discloses
    (item,) = [item for item in discloses if item.kind == "other_content"]
    assert item.severity == "high"
    assert NOTE not in item.says


BOOLEANS: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "version": (("version",), [True, 0, 0]),
    "version of booleans": (("version",), [True, False]),
    "weights of nodes": ((*FIRST, "base_weights", 0), True),
    "class of a tree": (("learner", "gradient_booster", "model", "tree_info"), [False]),
}


@pytest.mark.parametrize(("path", "value"), BOOLEANS.values(), ids=BOOLEANS)
def test_a_boolean_in_place_of_a_number_is_other_content(path: tuple[str | int, ...], value: Any) -> None:
    document = with_value(path, value)
    found = read_foreign(json.dumps(document).encode(), "model").discloses
    assert "other_content" in {item.kind for item in found}


def test_flags_may_be_booleans() -> None:
    document = with_value((), None)
    for tree in document["learner"]["gradient_booster"]["model"]["trees"]:
        tree["default_left"] = [bool(flag) for flag in tree["default_left"]]
    found = read_foreign(json.dumps(document).encode(), "model").discloses
    assert "other_content" not in {item.kind for item in found}


PARAMETERS = ("learner", "gradient_booster", "model", "gbtree_model_param")


@pytest.mark.parametrize("value", [NOTE, [NOTE], 5, True, None, []])
def test_parameters_of_the_trees_that_are_no_table_are_refused(value: Any) -> None:
    with pytest.raises(ReleaseError, match="must be an object"):
        read_foreign(json.dumps(with_value(PARAMETERS, value)).encode(), "model")


@pytest.mark.parametrize("value", ["0", "some", 1, [1], {"1": 1}])
def test_a_number_of_parallel_trees_that_is_none_is_refused(value: Any) -> None:
    document = with_value((*PARAMETERS, "num_parallel_tree"), value)
    with pytest.raises(ReleaseError, match="num_parallel_tree"):
        read_foreign(json.dumps(document).encode(), "model")


MODEL = ("learner", "gradient_booster", "model")
DECIDING: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "a tree at another place": ((*FIRST, "id"), 36),
    "rounds that begin after the first tree": ((*MODEL, "iteration_indptr"), [1, 1]),
    "rounds that end before the last tree": ((*MODEL, "iteration_indptr"), [0, 0]),
    "rounds of trees that are not there": ((*MODEL, "iteration_indptr"), [0, 2]),
    "rounds that go back": ((*MODEL, "iteration_indptr"), [0, 2, 1]),
    "another number of trees": ((*PARAMETERS, "num_trees"), "2"),
    "another number of nodes": ((*FIRST, "tree_param", "num_nodes"), "2"),
    "a default direction that is none": ((*FIRST, "default_left", 0), 2),
    "a type of test that is none": ((*FIRST, "split_type", 0), 2),
    "a feature that is not there": ((*FIRST, "split_indices", 0), -1),
    "several scores of two classes": (("learner", "learner_model_param", "num_class"), "3"),
}
"""Of these XGBoost predicts otherwise, or opens no such file."""


@pytest.mark.parametrize(("path", "value"), DECIDING.values(), ids=DECIDING)
def test_numbers_that_decide_which_trees_predict_and_how_are_refused_where_they_disagree(
    path: tuple[str | int, ...], value: Any
) -> None:
    where = re.escape(".".join(key for key in path if isinstance(key, str)).replace(".trees", ".trees[0]"))
    refused(with_value(path, value), f"model.{where}")


UNKNOWN: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "in the learner": (("learner", "target_transform"), {"name": "exp"}),
    "in the objective": (("learner", "objective", "link"), "probit"),
    "beside an objective's parameter": (("learner", "objective", "reg_loss_param", "link"), "probit"),
    "in the learner's parameters": (("learner", "learner_model_param", "link"), "2"),
    "in the booster": (("learner", "gradient_booster", "weights"), [0.5]),
    "in the model": (("learner", "gradient_booster", "model", "weights"), [0.5]),
    "in the trees' parameters": ((*PARAMETERS, "weights"), "[0.5]"),
    "in a tree": ((*FIRST, "leaf_vectors"), [0.5]),
    "in a tree's shape": ((*FIRST, "tree_param", "order"), "1"),
    "in the categories": ((*CATS, "order"), [1]),
}


@pytest.mark.parametrize(("path", "value"), UNKNOWN.values(), ids=UNKNOWN)
def test_an_unknown_key_where_predictions_are_decided_is_named(path: tuple[str | int, ...], value: Any) -> None:
    where = ".".join(key for key in path if isinstance(key, str)).replace("trees", "trees[0]")
    assert read_foreign(json.dumps(with_value(path, value)).encode(), "model").unknown == (where,)


@pytest.mark.parametrize("key", ["Jane Smith", "Jane", "jane@example.org", "a" * 41])
def test_an_unknown_key_that_is_no_name_is_not_printed(key: str) -> None:
    (named,) = read_foreign(json.dumps(with_value((*FIRST, key), 1)).encode(), "model").unknown
    assert named == "one of learner.gradient_booster.model.trees[0] that is no name"


def test_the_number_of_leaves_below_a_node_is_other_content() -> None:
    """XGBoost 1.0 to 1.2 wrote it, and it predicts nothing."""
    document = with_value((), None)
    for tree in document["learner"]["gradient_booster"]["model"]["trees"]:
        tree["leaf_child_counts"] = [0] * len(tree["left_children"])
    found = read_foreign(json.dumps(document).encode(), "model").discloses
    assert "other_content" in {item.kind for item in found}


@pytest.mark.parametrize("key", ["parents", "loss_changes", "right_children"])
def test_numbers_of_the_right_length_that_do_not_agree_with_the_tree_are_told(key: str) -> None:
    document = json.loads(bytes(fitted(random_rows(), 1).save_raw(raw_format="json")))
    tree = document["learner"]["gradient_booster"]["model"]["trees"][0]
    leaf = tree["left_children"].index(-1)
    tree[key][leaf] = 36
    found = read_foreign(json.dumps(document).encode(), "model").discloses
    assert "other_content" in {item.kind for item in found}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("options", [{}, {"booster": "dart"}, {"num_parallel_tree": 2}, {"gamma": 0.5}])
def test_nothing_of_xgboosts_own_is_other_content(options: dict[str, Any], form: str) -> None:
    rng = np.random.default_rng(4)
    people = pd.DataFrame({"age": rng.normal(size=300), "job": pd.Categorical(rng.choice(list("zxy"), 300))})
    model = xgb.XGBClassifier(n_estimators=3, max_depth=4, enable_categorical=True, n_jobs=1, **options)
    for target in (rng.integers(0, 2, 300), rng.integers(0, 3, 300)):
        booster = model.fit(people, target).get_booster()
        assert "other_content" not in {item.kind for item in read(booster, form).discloses}
