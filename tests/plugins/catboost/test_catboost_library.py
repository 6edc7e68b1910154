"""The library itself, where it is installed, answers as its file is read, and its models are audited in memory."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import command_line
import leafgate
import sklearn_pipelines
from feature_rows import predicted, votes
from installed_readers import BY_NAME, Encoding, lower_model, read_foreign
from leafgate.algorithms.prediction import class_scores, predict
from leafgate.algorithms.sampling import record_hashes
from leafgate.api import Floats, InconclusiveError, Learner, ReleaseError, Schema, Table
from leafgate.app import open_session
from sklearn_pipelines import as_frame

catboost = pytest.importorskip("catboost.core")  # a folder of tests is called catboost, too
CATBOOST = BY_NAME["catboost"]

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
    read = read_foreign(written[1], written[0])
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
        for tree in read_foreign(written[1], written[0]).trees:
            assert tree.size is not None
            assert tree.size[0] == ROWS


def trained(learner: Learner, table: Table, others: Table, seed: int) -> Floats:
    """The scores that CatBoost, fitted on a table, gives to others."""
    assert CATBOOST.train is not None
    return CATBOOST.train(learner, table, others, seed)


def test_hashes_of_categories_are_catboosts(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    texts = ["".join(rng.choice(list("abc XYZ09_é.-"), size)) for size in rng.integers(0, 33, 300)]
    table = pd.DataFrame({"text": texts, "number": np.arange(len(texts))})
    pool = catboost.Pool(table, table["number"] % 2, cat_features=["text"])
    path = tmp_path / "model.json"
    catboost.CatBoostClassifier(**SMALL).fit(pool).save_model(str(path), format="json", pool=pool)
    listed = json.loads(path.read_bytes())["features_info"]["cat_features_hash"]
    read_foreign(path.read_bytes(), "model.json")
    known = [each["hash"] for each in listed if len(each["value"].encode()) <= 32]
    assert len(known) > 200
    for number in known:
        other = path.read_bytes().replace(f'"hash":{number}'.encode(), f'"hash":{number ^ 1}'.encode())
        with pytest.raises(ReleaseError, match="is not the hash of the text beside it"):
            read_foreign(other, "model.json")


def test_an_unfitted_model_is_refused_and_other_objects_are_of_no_concern() -> None:
    assert CATBOOST.to_file is not None
    with pytest.raises(ReleaseError, match="is not fitted"):
        CATBOOST.to_file(catboost.CatBoostClassifier())
    assert CATBOOST.to_file(object()) is None


def without_gaps(schema: Schema) -> Schema:
    return Schema(tuple(replace(column, missing=False) for column in schema.columns))


TUNED = {"depth": 4, "learning_rate": 0.2, "l2_leaf_reg": 5.0, "subsample": 0.7, "border_count": 20, "rsm": 0.9}


@pytest.mark.parametrize("options", [{}, TUNED, {"grow_policy": "Lossguide", "max_leaves": 5, "min_data_in_leaf": 9}])
def test_its_file_tells_enough_to_train_the_same_model(options: dict[str, Any]) -> None:
    table, others = (sklearn_pipelines.people(seed, gaps=False) for seed in (3, 4))
    table, others = (replace(each, schema=without_gaps(each.schema)) for each in (table, others))
    features, target = as_frame(table)
    order = np.argsort(record_hashes(table), kind="stable")
    rows = np.repeat(order, table.weight[order])
    dummies = pd.get_dummies(features, columns=["school", "job"], prefix_sep="=", dtype=np.float32)
    names = ["age", *(name for name in dummies if "=" in str(name)), "pay"]
    model = catboost.CatBoostClassifier(**{**SMALL, **options, "iterations": 8})
    model.fit(dummies[names].iloc[rows].astype(np.float32), (target.iloc[rows] == "yes").astype(int))
    written = CATBOOST.to_file(model) if CATBOOST.to_file else None
    assert written is not None
    said = {"rich": Encoding(codes={"no": 0, "yes": 1})}
    read = read_foreign(written[1], written[0])
    loaded = lower_model(read, table.schema, said, "model.json", table.total_weight)
    assert loaded.provenance.learner is not None
    assert {name: loaded.provenance.learner.parameters[name] for name in options} == pytest.approx(options)
    scores = trained(loaded.provenance.learner, table, others, 0)
    np.testing.assert_allclose(scores, class_scores(loaded.release, others), atol=1e-6)


def test_categories_of_its_own_are_trained_on_these() -> None:
    table, others = (sklearn_pipelines.people(seed, gaps=False) for seed in (3, 4))
    learner = Learner(
        "catboost.CatBoostClassifier",
        {"iterations": 20, "one_hot_max_size": 10},
        {"age": "number", "school": "category", "job": "category", "pay": "number"},
    )
    scores = trained(learner, table, others, 1)
    assert (scores.argmax(axis=1) == others.codes("rich")).mean() > 0.8
    with pytest.raises(InconclusiveError, match="cannot be fitted"):
        trained(replace(learner, parameters={"iterations": 2, "depth": 99}), table, others, 1)


def test_classes_with_weights_are_not_trained_again() -> None:
    table = people(np.random.default_rng(1))[["age"]]
    ill = (table["age"] > 50).astype(int)
    for options, is_known in (
        ({}, True),
        ({"auto_class_weights": "Balanced"}, False),
        ({"class_weights": [1, 2]}, False),
    ):
        written = CATBOOST.to_file(catboost.CatBoostClassifier(**SMALL, **options).fit(table, ill))  # type: ignore[misc]
        assert written is not None
        assert (read_foreign(written[1], written[0]).learner is not None) == is_known


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_a_pipeline_that_ends_in_catboost_is_audited_as_it_predicts(sparse: bool, tmp_path: Path) -> None:
    """To CatBoost 0 is a number in a sparse matrix, too."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        {
            "age": np.where(rng.random(ROWS) < 0.1, np.nan, rng.integers(18, 90, ROWS)),
            "visits": rng.integers(0, 5, ROWS),
            "ward": rng.choice(["east", "north", "south"], ROWS),
        }
    )
    ill = np.where(table["age"].fillna(50) + 25 * (table["ward"] == "east") + rng.normal(0, 9, ROWS) > 60, "yes", "no")
    prepare = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["ward"]),
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "visits"]),
        sparse_threshold=1.0 if sparse else 0.0,
    )
    classifier = catboost.CatBoostClassifier(**{**SMALL, "iterations": 3, "depth": 3})
    model = make_pipeline(prepare, classifier).fit(table, ill)
    audit = leafgate.audit(model, table, ill, limits={"k_anonymity": 5}, search_remedies=False)
    audit.to_policy(tmp_path)
    session = open_session(tmp_path / "policy.yaml")
    release = session.audit(search_remedies=False).artifact
    assert release is not None
    records = session.table.frame
    rows = pd.DataFrame({name: records[name].astype(table[name].dtype) for name in table})
    names = np.array(release.release.classes)
    assert np.array_equal(names[predict(release.release, session.table)], model.predict(rows))
    leaves = classifier.calc_leaf_indexes(catboost.Pool(model[:-1].transform(table)))
    smallest = np.unique(leaves, axis=0, return_counts=True)[1].min()
    finding = audit.findings_for("auditor").set_index("finding").loc["k_anonymity@linking#class"]
    assert (finding["value"], finding["verdict"]) == (smallest, "pass" if smallest >= 5 else "fail")
    assert "inconclusive" not in set(audit.findings["verdict"])


@pytest.mark.parametrize("as_array", [False, True], ids=["data frame", "array"])
def test_categories_of_a_model_in_memory_are_named_by_its_table(as_array: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    ward = rng.choice(["east", "north", "south"], ROWS)
    table = pd.DataFrame({"age": rng.integers(18, 90, ROWS).astype(float), "ward": ward})
    ill = np.where(table["age"] + 30 * (table["ward"] == "east") + rng.normal(0, 9, ROWS) > 70, "yes", "no")
    rows: Any = table.to_numpy(dtype=object) if as_array else table
    options = {**SMALL, "iterations": 4, "depth": 3, "cat_features": [1], "one_hot_max_size": 9}
    model = catboost.CatBoostClassifier(**options).fit(rows, ill)
    without_rows = CATBOOST.to_file(model) if CATBOOST.to_file else None
    assert without_rows is not None
    with pytest.raises(ReleaseError, match="has the hash alone"):
        read_foreign(without_rows[1], without_rows[0])
    audit = leafgate.audit(model, rows, ill, limits={"k_anonymity": 5}, search_remedies=False)
    audit.to_policy(tmp_path)
    session = open_session(tmp_path / "policy.yaml")
    release = session.audit(search_remedies=False).artifact
    assert release is not None
    records = session.table.frame
    people_asked = pd.DataFrame({name: records[name] for name in records.columns if name != "class"})
    people_asked = people_asked.astype({people_asked.columns[0]: float, people_asked.columns[1]: str})
    asked: Any = people_asked.to_numpy(dtype=object) if as_array else people_asked
    assert np.array_equal(
        np.array(release.release.classes)[predict(release.release, session.table)], model.predict(asked)
    )
    leaves = model.calc_leaf_indexes(catboost.Pool(rows, cat_features=[1]))
    smallest = np.unique(leaves, axis=0, return_counts=True)[1].min()
    finding = audit.findings_for("auditor").set_index("finding").loc["k_anonymity@linking#class"]
    assert (finding["value"], finding["verdict"]) == (smallest, "pass" if smallest >= 5 else "fail")
    assert "inconclusive" not in set(audit.findings["verdict"])


def test_a_binary_file_is_converted_by_who_trusts_it(tmp_path: Path) -> None:
    table = people(np.random.default_rng(0))
    model = catboost.CatBoostClassifier(depth=4, **SMALL).fit(table, (table["age"] > 50).astype(int))
    model.save_model(str(tmp_path / "model.cbm"))
    refused = command_line.leafgate("convert", tmp_path / "model.cbm", tmp_path / "new.json")
    assert (refused.code, "convert FILE NEW --trust" in refused.err) == (2, True)
    assert command_line.leafgate("convert", tmp_path / "model.cbm", tmp_path / "new.json", "--trust").code == 0
    asked = around_borders(table, model).replace([np.inf, -np.inf], np.nan)
    answers = leafgate.load_model(tmp_path / "new.json").predict_proba(asked)
    assert answers == pytest.approx(model.predict_proba(asked), abs=1e-9)


@pytest.mark.parametrize("content", [b"CBM1", b"CBM1" + bytes(400), b"CBM1\xff\xff\xff\x7f" + b"no model" * 40])
def test_a_binary_file_that_the_library_does_not_open_is_no_model(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.cbm").write_bytes(content)
    ended = command_line.leafgate("convert", tmp_path / "model.cbm", tmp_path / "new.json", "--trust")
    assert (ended.code, "its library cannot answer for it" in ended.err) == (3, True)
    assert not (tmp_path / "new.json").exists()


def test_categories_of_a_binary_file_are_refused_by_what_is_missing(tmp_path: Path) -> None:
    frame = pd.DataFrame({"job": ["nurse", "cook", "smith"] * 40, "age": np.arange(120.0)})
    options = {**SMALL, "one_hot_max_size": 10}
    model = catboost.CatBoostClassifier(cat_features=["job"], **options).fit(
        frame, (frame["job"] == "cook").astype(int)
    )
    model.save_model(str(tmp_path / "model.cbm"))
    ended = command_line.leafgate("convert", tmp_path / "model.cbm", tmp_path / "new.json", "--trust")
    assert (ended.code, "pool=Pool(" in ended.err) == (2, True), ended.err
