"""LightGBM's files: every row ends in the leaf where LightGBM has it end, and the counts are those of the people."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feature_rows import predicted, votes
from foreign_rows import TABLES, Rows, adult_columns, assert_released_alike, probes, random_rows, same_leaves
from installed_readers import is_foreign, leaves_of, read_foreign
from leafgate import ReleaseError
from leafgate.api import FileDisclosure
from leafgate.readers import LEAF, ModelIR
from patience import ends_soon
from refused_models import assert_read_or_refused, assert_refused

SMALL = {"num_leaves": 12, "verbose": -1, "num_threads": 1, "seed": 1, "deterministic": True, "min_data_in_leaf": 5}


def fitted(rows: Rows, rounds: int = 8, *, sets: bool = True, **options: Any) -> lgb.Booster:
    classes = int(rows.y.max()) + 1
    objective = {"objective": "multiclass", "num_class": classes} if classes > 2 else {"objective": "binary"}
    data = lgb.Dataset(rows.x, label=rows.y, categorical_feature=rows.sets if sets else [])
    return lgb.train(SMALL | objective | options, data, num_boost_round=rounds)


def read(booster: lgb.Booster) -> ModelIR:
    content = booster.model_to_string().encode()
    assert is_foreign(content[:4096])
    return read_foreign(content, "model")


def check_alike(model: ModelIR, booster: lgb.Booster, rows: Rows, *, mean_of: int = 0) -> None:
    """Leaf by leaf, score by score to the last bit, class by class; a forest's raw scores are sums, not means."""
    x = np.concatenate([rows.x, probes(model, rows)])
    ends = np.asarray(booster.predict(x, pred_leaf=True)).reshape(len(x), -1)
    for i, tree in enumerate(model.trees):
        assert same_leaves(leaves_of(tree, x), ends[:, i]), i
    scores = np.asarray(booster.predict(x, raw_score=True))
    result = votes(model, x)
    mine = result if scores.ndim == 2 else result[:, -1]
    assert np.allclose(mine * mean_of, scores, rtol=1e-12) if mean_of else np.array_equal(mine, scores)
    if model.classes:
        theirs = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)
        assert np.array_equal(predicted(model, x), theirs)


@pytest.mark.parametrize("sets", [True, False])
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.thorough
def test_every_row_ends_where_lightgbm_has_it_end(name: str, sets: bool) -> None:
    rows = TABLES[name]()
    booster = fitted(rows, sets=sets, max_cat_to_onehot=3)
    check_alike(read(booster), booster, rows)


@pytest.mark.parametrize(
    "options",
    [
        {"boosting": "dart", "drop_rate": 0.5},
        {"boosting": "rf", "bagging_fraction": 0.6, "bagging_freq": 1},
        {"boosting": "goss"},
        {"bagging_fraction": 0.5, "bagging_freq": 1, "extra_trees": True},
        {"use_missing": False},
        {"objective": "regression"},
        {"boost_from_average": False, "sigmoid": 2.0},
        {"is_unbalance": True},
        {"min_data_in_leaf": 100_000},
        {"linear_tree": False, "max_depth": 2},
    ],
    ids=str,
)
@pytest.mark.thorough
def test_every_row_ends_where_lightgbm_has_it_end_however_it_was_trained(options: dict[str, Any]) -> None:
    rows = random_rows()
    booster = fitted(rows, **options)
    check_alike(read(booster), booster, rows, mean_of=8 if options.get("boosting") == "rf" else 0)
    assert other_parts(booster.model_to_string()) == []


@pytest.mark.parametrize("objective", ["multiclass", "multiclassova"])
@pytest.mark.thorough
def test_every_row_ends_where_lightgbm_has_it_end_for_several_classes(objective: str) -> None:
    rows = random_rows(4)
    booster = fitted(rows, objective=objective)
    model = read(booster)
    assert model.classes == ("0", "1", "2", "3")
    check_alike(model, booster, rows)


def test_where_nothing_is_missing_in_training_a_missing_number_is_zero() -> None:
    rows = random_rows()
    whole = Rows(np.nan_to_num(rows.x), rows.y, rows.categorical)
    booster = fitted(whole)
    model = read(booster)
    assert any(tree.flag("missing_low").any() for tree in model.trees)
    check_alike(model, booster, Rows(rows.x, rows.y, rows.categorical))


@pytest.mark.thorough
def test_the_categories_of_a_data_frame_are_told_by_their_texts() -> None:
    frame, y, weight = adult_columns()
    booster = lgb.train(SMALL | {"objective": "binary"}, lgb.Dataset(frame, label=y, weight=weight), num_boost_round=20)
    assert_released_alike(booster.model_to_string().encode(), lambda cells: booster.predict(cells, raw_score=True))


@pytest.mark.parametrize("classes", [2, 4])
def test_it_tells_how_many_people_are_on_every_node(classes: int) -> None:
    rows = random_rows(classes)
    booster = fitted(rows)
    model = read(booster)
    for tree in model.trees:
        assert tree.size is not None
        ends = np.bincount(leaves_of(tree, rows.x), minlength=tree.nodes)
        leaves = np.flatnonzero(tree.feature == LEAF)
        assert np.array_equal(tree.size[leaves], ends[leaves])
    assert model.level == "counts"


def test_with_the_settings_a_first_leafs_value_tells_the_people_of_each_class() -> None:
    # Its value is the start less rate G / H (lambda is 0), and G is people times p less those of the second class.
    rows = random_rows()
    model = read(fitted(rows, sets=False))
    tree = model.trees[0]
    assert tree.size is not None
    p = rows.y.mean()
    start = np.log(p / (1 - p))
    ends = leaves_of(tree, rows.x)
    for leaf in np.flatnonzero(tree.feature == LEAF):
        people = tree.size[leaf]
        gradient = (start - tree.values[leaf, 0]) / 0.1 * people * p * (1 - p)
        assert people * p - gradient == pytest.approx(rows.y[ends == leaf].sum(), abs=0.01)


def test_it_tells_ranges_categories_and_settings() -> None:
    fields = {item.kind: item.severity for item in read(fitted(random_rows())).discloses}
    assert fields == {
        "sizes": "high",
        "ranges": "medium",
        "categories": "medium",
        "second derivatives": "high",
        "inner values": "medium",
        "gains": "low",
        "settings": "low",
    }


def test_it_tells_how_the_learner_was_set() -> None:
    settings = read(fitted(random_rows(4), max_depth=5)).settings
    assert settings == {"n_estimators": 8, "max_depth": 5, "min_child_weight": 0.001}


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("\nfeature_names", "\nnote=of a person\nfeature_names", "a line before the trees"),
        ("\nversion=v4", "\nversion=v4 of a person", "a line before the trees"),
        ("\ntree_sizes=", "\ntree_sizes=1 2 3 4 5 ", "a line before the trees"),
        ("\nTree=1\n", "\nTree=311299\n", "a tree's number"),
        ("\nshrinkage=", "\nshrinkage=31 12 99 ", "a line among a tree's"),
        ("\nleaf_weight=", "\nleaf_weight=17 ", "a line among a tree's"),
        ("\nis_linear=0\n", "\nis_linear=0\n=of a person\n", "a line among a tree's"),
        ("\nis_linear=0\n", "\nis_linear=0\nleaf_age=31\n", "a line among a tree's"),
        ("\nparameters:", "\nof a person\nparameters:", "a line after the trees"),
        ("\nfeature_importances:\n", "\nfeature_importances:\na person=3\n", "a line after the trees"),
        ("\n[boosting: gbdt]", "\n[boosting: gbdt]\n[person: 3]", "a line among the settings"),
        ("\n[boosting: gbdt]", "\n[boosting: gbdt, of a person]", "a line among the settings"),
        ("\npandas_categorical", "\nof a person\npandas_categorical", "a line after the settings"),
        ("\npandas_categorical:null\n", "\npandas_categorical:null\nof a person\n", "a line after the settings"),
    ],
)
def test_whatever_lightgbm_did_not_write_is_told(old: str, new: str, where: str) -> None:
    assert old in TEXT
    (item,) = [one for one in read_foreign(TEXT.replace(old, new, 1).encode(), "m").discloses if "other" in one.kind]
    assert (item.kind, item.severity) == ("other_content", "high")
    assert f"part(s) ({where})" in item.says
    assert "person" not in item.says


def other_parts(text: str) -> list[FileDisclosure]:
    return [item for item in read_foreign(text.encode(), "m").discloses if item.kind == "other_content"]


def test_a_file_with_other_ends_of_lines_has_nothing_else() -> None:
    assert other_parts(TEXT.replace("\n", "\r\n")) == []


def test_where_the_data_lay_is_told() -> None:
    for key in ("data", "valid", "forcedsplits_filename"):
        model = read_foreign(TEXT.replace(f"[{key}: ]", f"[{key}: /home/her/people.csv]").encode(), "m")
        before = {item.kind for item in read_foreign(TEXT.encode(), "m").discloses}
        assert {item.kind for item in model.discloses} - before == {"paths"}
        assert "/home/her/people.csv" in model.texts  # an audit compares it with the table


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"linear_tree": True, "sets": False}, "linear_tree"),
        ({"objective": "cross_entropy"}, "has the objective cross_entropy that is not read"),
        ({"objective": "regression", "reg_sqrt": True}, "has the objective reg_sqrt that is not read"),
        ({"zero_as_missing": True}, "zero_as_missing"),
    ],
    ids=str,
)
def test_models_of_other_kinds_are_refused_by_name(options: dict[str, Any], why: str) -> None:
    options = dict(options)
    booster = fitted(random_rows(), rounds=30, sets=options.pop("sets", True), **options)
    with pytest.raises(ReleaseError, match=why):
        read(booster)


TEXT = fitted(random_rows(), rounds=2, max_cat_to_onehot=2).model_to_string()


def edited(key: str, value: str) -> str:
    """The first line that says `key`, saying something else; a number alone replaces its first number."""
    old = re.search(rf"^{key}=(.*)$", TEXT, re.MULTILINE)
    assert old is not None
    new = f"{value} {old[1].partition(' ')[2]}".strip() if value[-1:].isdigit() and " " in old[1] else value
    return TEXT[: old.start(1)] + new + TEXT[old.end(1) :]


HOSTILE = {
    "a child beyond the end": (edited("left_child", "9999"), "child that there is not"),
    "a leaf beyond the end": (edited("left_child", "-9999"), "child that there is not"),
    "a child that is itself": (edited("left_child", "0"), "two parents|no tree|circles"),
    "no such feature": (edited("split_feature", "77"), "asks about no feature"),
    "a fraction for an index": (edited("split_feature", "0.5"), "whole numbers"),
    "words": (edited("leaf_value", "nan"), "finite numbers|as many leaves"),
    "an endless number": (edited("leaf_value", "1e999"), "no finite number"),
    "an underscore": (edited("leaf_value", "1_0"), "finite numbers"),
    "a billion leaves": (edited("num_leaves", "99999999"), "as many leaves"),
    "no leaves": (edited("num_leaves", "0"), "as many leaves"),
    "a negative size": (edited("leaf_count", "-5"), "counts less than nobody"),
    "sizes that do not add up": (edited("leaf_count", "100000"), "count not as many"),
    "a huge set": (edited("cat_boundaries", "0 99999999"), "every test"),
    "a set backwards": (edited("cat_threshold", "-1"), "no sets"),
    "a type that there is not": (edited("decision_type", "14"), "zero_as_missing"),
    "a key twice": (TEXT.replace("num_leaves=", "num_cat=0\nnum_leaves=", 1), "twice"),
    "no end": (TEXT.partition("end of trees")[0], "no end of trees"),
    "categories that are no JSON": (f"{TEXT.rstrip()}\npandas_categorical:[[", "not JSON"),
    "endless categories": (f"{TEXT.rstrip()}\npandas_categorical:{'[' * 100_000}", "nested too deeply"),
    "two trees a round": (edited("num_tree_per_iteration", "2"), "trees a round"),
    "several scores of two classes": (edited("num_class", "2"), "must be 1 where the objective is binary"),
    "a billion classes": (edited("objective", "multiclass num_class:3"), "fewer than 2 classes"),
    "fewer names": (edited("feature_names", "a b"), "name every feature"),
}


@pytest.mark.parametrize(("text", "why"), HOSTILE.values(), ids=HOSTILE)
@pytest.mark.thorough
def test_what_is_no_model_is_refused(text: str, why: str) -> None:
    assert text != TEXT
    with pytest.raises(ReleaseError, match=why):
        read_foreign(text.encode(), "model")


@pytest.mark.parametrize(
    "content", [b"tree\nversion=v4\n", b"tree\nversion=\xff", b"tree\nversion=" + b"\n" * 3_000_000]
)
def test_a_hostile_file_ends_in_exit_code_2(content: bytes, tmp_path: Path) -> None:
    assert_refused(tmp_path, "model.txt", content)


PARTS = st.sampled_from(
    ["", " ", "-1", "0", "3", "1e308", "99999999999", "0.5", "nan", "=", "\n", "Tree=0\n", "[", "x"]
)


@settings(deadline=30_000)
@given(st.data())
def test_a_file_with_something_changed_is_read_or_refused(data: st.DataObject) -> None:
    text = TEXT
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(14, len(text)))
        text = text[:at] + data.draw(PARTS) + text[min(len(text), at + data.draw(st.integers(0, 6))) :]
    assert_read_or_refused(text.encode(), "model")


def test_what_is_long_is_read_or_refused_soon() -> None:
    """Brackets that never close, and more trees than there may be: neither is looked at more than once."""
    text = edited("version", "v4")
    text = re.sub("feature_infos=.*", "feature_infos=" + "[" * 200_000, text)
    with ends_soon():
        with contextlib.suppress(ReleaseError):
            read_foreign(text.encode(), "model")
        with pytest.raises(ReleaseError, match="more than 20,000 trees"):
            read_foreign(
                text.replace("end of trees", "Tree=0\nnum_leaves=1\n\n" * 190_000 + "end of trees").encode(), "model"
            )
