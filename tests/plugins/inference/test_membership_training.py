"""Retraining the estimator of a model's file: on the same people with the same seed it is the same model."""

import importlib
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from xgboost import XGBClassifier

import leafgate_plugins.catboost.training
import leafgate_plugins.lightgbm.training
import leafgate_plugins.xgboost.training
from installed_readers import READERS, Encoding, lower_model, read_foreign
from leafgate import InconclusiveError, Table
from leafgate.algorithms.prediction import class_scores
from leafgate.algorithms.sampling import record_hashes
from leafgate.api import Learner, Schema, install_command
from leafgate.readers import view_object
from leafgate_plugins.published.components import Published, TrainedBy
from leafgate_plugins.sklearn.training import COMPUTED, PARAMETERS, learner_of, train
from sklearn_pipelines import PIPELINES, as_frame, people
from sklearn_zoo import skops_bytes

SEED = 7
ESTIMATORS: dict[str, Callable[[], Any]] = {
    "tree": lambda: DecisionTreeClassifier(random_state=SEED),
    "tuned tree": lambda: DecisionTreeClassifier(
        criterion="entropy", max_depth=6, min_samples_leaf=3, class_weight="balanced", random_state=SEED
    ),
    "random tree": lambda: ExtraTreeClassifier(random_state=SEED),
    "forest": lambda: RandomForestClassifier(8, random_state=SEED),
    "tuned forest": lambda: RandomForestClassifier(
        5, max_samples=0.5, max_features=2, min_samples_split=7, class_weight="balanced_subsample", random_state=SEED
    ),
    "extra trees": lambda: ExtraTreesClassifier(8, random_state=SEED),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=6, subsample=0.7, random_state=SEED),
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=6, random_state=SEED),
}


def complete(seed: int) -> Table:
    """People without missing cells, in a schema that has none."""
    table = people(seed, gaps=False)
    return replace(table, schema=Schema(tuple(replace(column, missing=False) for column in table.schema.columns)))


@pytest.mark.parametrize("encoder", [OneHotEncoder, OrdinalEncoder])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_trained_on_the_same_people_with_the_same_seed_it_is_the_same_model(name: str, encoder: Any) -> None:
    table = complete(3)
    rows = as_trained(table)
    features, target = as_frame(table)
    preparation = make_column_transformer(
        ("passthrough", ["age"]), (encoder(), ["school", "job"]), ("passthrough", ["pay"])
    )
    model = make_pipeline(preparation, ESTIMATORS[name]()).fit(features.iloc[rows], target.iloc[rows])
    content = skops_bytes(model)
    loaded = lower_model(read_foreign(content, "model.skops"), table.schema, {}, "model.skops", table.total_weight)
    own = loaded.provenance.learner
    assert own is not None
    kind = "one_hot" if encoder is OneHotEncoder else "codes"
    assert own.encoding == {"age": "number", "school": kind, "job": kind, "pay": "number"}
    assert list(own.encoding) == ["age", "school", "job", "pay"]
    others = complete(4)
    scores = train(own, table, others, SEED)
    np.testing.assert_allclose(scores, class_scores(loaded.release, others), atol=1e-9)


def test_histograms_of_its_own_categories_are_trained_on_these() -> None:
    table, others = people(3), people(4)
    features, target = as_frame(table)
    features = features.astype(dict.fromkeys(("school", "job"), "category"))
    rows = as_trained(table)
    model = HistGradientBoostingClassifier(max_iter=6, random_state=SEED, categorical_features="from_dtype")
    content = skops_bytes(model.fit(features.iloc[rows], target.iloc[rows]))
    loaded = lower_model(read_foreign(content, "model.skops"), table.schema, {}, "model.skops", table.total_weight)
    own = loaded.provenance.learner
    assert own is not None
    assert set(own.encoding.items()) == {
        ("age", "number"),
        ("school", "category"),
        ("job", "category"),
        ("pay", "number"),
    }
    scores = train(own, table, others, SEED)
    np.testing.assert_allclose(scores, class_scores(loaded.release, others), atol=1e-9)


@pytest.mark.parametrize("name", PIPELINES)
def test_every_pipeline_that_is_read_can_be_trained_again(name: str) -> None:
    table, others = people(3), people(4)
    features, target = as_frame(table, each=True)
    if name == "its own categories":
        features = features.astype(dict.fromkeys(("school", "job"), "category"))
    content = skops_bytes(PIPELINES[name]().fit(features, target))
    loaded = lower_model(read_foreign(content, "model.skops"), table.schema, {}, "model.skops", table.total_weight)
    own = loaded.provenance.learner
    assert own is not None
    scores = train(own, table, others, 0)
    np.testing.assert_allclose(scores.sum(axis=1), 1.0)
    agree = (scores.argmax(axis=1) == class_scores(loaded.release, others).argmax(axis=1)).mean()
    assert agree > 0.85
    assert set(own.encoding) == {"age", "school", "job", "pay"} - ({"age"} if name == "nested" else set())


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_file_tells_every_parameter(name: str) -> None:
    table = complete(3)
    features, target = as_frame(table)
    estimator = ESTIMATORS[name]().fit(features[["age", "pay"]], target)
    learner = read_foreign(skops_bytes(estimator), "model.skops").learner
    assert learner is not None
    kind = type(estimator).__name__
    assert PARAMETERS[kind] | COMPUTED >= estimator.get_params().keys() - {"categorical_features"}
    assert learner.parameters == {name: estimator.get_params()[name] for name in PARAMETERS[kind]}
    again = getattr(importlib.import_module(learner.estimator.rpartition(".")[0]), kind)
    assert again is type(estimator)


def test_parameters_that_are_no_numbers_and_texts_leave_the_learner_unknown() -> None:
    table = complete(3)
    features, target = as_frame(table)
    for estimator in (
        DecisionTreeClassifier(class_weight={"no": 1, "yes": 2}),
        DecisionTreeClassifier(monotonic_cst=[1, 0]),
        GradientBoostingClassifier(n_estimators=2, init=DecisionTreeClassifier(max_depth=1)),
    ):
        estimator.fit(features[["age", "pay"]], target)
        assert learner_of(view_object(estimator)) is None


def reversed_everywhere(table: Table) -> Table:
    """The same people: rows, columns and declared values in the opposite order."""
    columns, frame = [], table.frame.iloc[::-1].reset_index(drop=True)
    for column in table.schema.columns[::-1]:
        values = None if column.values is None else column.values[::-1]
        columns.append(replace(column, values=values))
        if values is not None:
            frame[column.name] = frame[column.name].cat.set_categories(list(values))
    return Table(Schema(tuple(columns)), frame, table.weight[::-1].copy())


def test_the_order_of_rows_columns_and_values_does_not_matter() -> None:
    table, others = people(3), people(4)
    learner = Learner("sklearn.ensemble.RandomForestClassifier", {"n_estimators": 5, "max_features": 2})
    scores = train(learner, table, others, 1)
    twin = train(learner, reversed_everywhere(table), reversed_everywhere(others), 1)
    assert (scores == twin[::-1, ::-1]).all()
    assert (scores != train(learner, table, others, 2)).any()


def test_equal_records_have_equal_hashes_and_others_do_not() -> None:
    table = people(3)
    hashes = record_hashes(table)
    assert len(set(hashes.tolist())) == len(table)
    assert (record_hashes(reversed_everywhere(table)) == hashes[::-1]).all()
    twice = table.people_at(np.array([5, 7, 5]))
    assert set(record_hashes(twice).tolist()) == {hashes[5], hashes[7]}


def test_people_who_share_a_record_count_each() -> None:
    table = complete(3)
    heavy = replace(table, weight=np.where(np.arange(len(table)) < 40, 5, 1))
    rows = np.repeat(np.arange(len(table)), heavy.weight)
    each = Table(table.schema, table.frame.iloc[rows].reset_index(drop=True), np.ones(len(rows), dtype=np.int64))
    learner = Learner("sklearn.tree.DecisionTreeClassifier", {"max_depth": 3})
    scores = train(learner, heavy, table, 0)
    assert (scores == train(learner, each, table, 0)).all()
    features, target = as_frame(table)
    plain = DecisionTreeClassifier(max_depth=3, random_state=0)
    plain.fit(_one_hot(features), target, sample_weight=heavy.weight)
    np.testing.assert_allclose(scores, plain.predict_proba(_one_hot(features)), atol=1e-12)


def _one_hot(features: pd.DataFrame) -> pd.DataFrame:
    dummies = pd.get_dummies(features, columns=["job", "school"], dtype=float)
    return dummies[sorted(dummies.columns, key=lambda name: str(name).partition("_")[0])]


def test_people_without_a_class_are_left_out_and_a_class_of_nobody_gets_0() -> None:
    table = complete(3)
    learner = Learner("sklearn.tree.DecisionTreeClassifier")
    yes = np.flatnonzero(table.codes("rich") == 1)
    assert (train(learner, table.people_at(yes), table, 0) == [0, 1]).all()
    columns = tuple(
        replace(column, values=("never", "no", "yes"), missing=True) if column.name == "rich" else column
        for column in table.schema.columns
    )
    frame = table.frame.assign(rich=table.frame["rich"].cat.set_categories(["never", "no", "yes"]))
    frame.loc[yes, "rich"] = np.nan
    frame.loc[yes[:30], "rich"] = "yes"
    rare = Table(Schema(columns), frame, table.weight)
    scores = train(learner, rare, rare, 0)
    assert (scores[:, 0] == 0).all()
    assert (scores.sum(axis=1) == 1).all()
    kept = rare.people_at(np.flatnonzero(rare.codes("rich") < 3))
    assert (scores == train(learner, kept, rare, 0)).all()
    nobody = rare.people_at(np.flatnonzero(rare.codes("rich") == 3))
    with pytest.raises(InconclusiveError, match="nobody has a class"):
        train(learner, nobody, rare, 0)


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (Learner("sklearn.svm.SVC"), "SVC is not trained here"),
        (Learner("sklearn.tree.DecisionTreeClassifier", {"depth": 3}), "no parameter 'depth'"),
        (Learner("sklearn.tree.DecisionTreeClassifier", {"max_depth": "high"}), "cannot be fitted"),
        (Learner("sklearn.tree.DecisionTreeClassifier", {}, {"wage": "number"}), "no column 'wage'"),
        (Learner("sklearn.tree.DecisionTreeClassifier", {}, {"school": "number"}), "has other values"),
        (Learner("sklearn.tree.DecisionTreeClassifier", {}, {"school": "category"}), "takes no categories"),
    ],
)
def test_what_cannot_be_trained_is_inconclusive(learner: Learner, words: str) -> None:
    table = complete(3)
    with pytest.raises(InconclusiveError, match=words):
        train(learner, table, table, 0)


def test_without_scikit_learn_it_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    table = complete(3)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(InconclusiveError) as caught:
        train(Learner("sklearn.tree.DecisionTreeClassifier"), table, table, 0)
    assert install_command("sklearn") in str(caught.value.problems)


def test_without_catboost_it_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    table = complete(3)
    monkeypatch.setitem(sys.modules, "catboost", None)
    with pytest.raises(InconclusiveError) as caught:
        leafgate_plugins.catboost.training.train(Learner("catboost.CatBoostClassifier"), table, table, 0)
    assert install_command("catboost") in str(caught.value.problems)


BOOSTED: dict[str, Callable[[], Any]] = {
    "plain": lambda: LGBMClassifier(n_estimators=8, random_state=SEED, n_jobs=1, verbosity=-1),
    "tuned": lambda: LGBMClassifier(
        n_estimators=6,
        num_leaves=9,
        min_child_samples=5,
        subsample=0.7,
        subsample_freq=1,
        colsample_bytree=0.8,
        reg_lambda=2.5,
        random_state=SEED,
        n_jobs=1,
        verbosity=-1,
    ),
    "forest": lambda: LGBMClassifier(
        n_estimators=6,
        boosting_type="rf",
        subsample=0.5,
        subsample_freq=1,
        random_state=SEED,
        n_jobs=1,
        verbosity=-1,
    ),
}


def as_trained(table: Table) -> NDArray[np.int64]:
    """The rows of a table in the order in which estimators are fitted on them."""
    order = np.argsort(record_hashes(table), kind="stable")
    return np.repeat(order, table.weight[order])


@pytest.mark.parametrize("name", BOOSTED)
def test_lightgbms_file_tells_enough_to_train_the_same_model(name: str) -> None:
    table, others = complete(3), complete(4)
    features, target = as_frame(table)
    features = features.astype({"school": pd.CategoricalDtype(sorted(set(features["school"]))), "job": "category"})
    rows = as_trained(table)
    model = BOOSTED[name]().fit(features.iloc[rows], (target.iloc[rows] == "yes").astype(int))
    content = model.booster_.model_to_string().encode()
    said = {"rich": Encoding(codes={"no": 0, "yes": 1})}
    loaded = lower_model(read_foreign(content, "model.txt"), table.schema, said, "model.txt", table.total_weight)
    own = loaded.provenance.learner
    assert own is not None
    assert own.unknown == ()
    assert own.encoding == {"age": "number", "school": "category", "job": "category", "pay": "number"}
    scores = leafgate_plugins.lightgbm.training.train(own, table, others, SEED)
    np.testing.assert_allclose(scores, class_scores(loaded.release, others), atol=1e-6)
    weighted = BOOSTED[name]().set_params(class_weight="balanced").fit(features, target)
    learner = read_foreign(weighted.booster_.model_to_string().encode(), "model.txt").learner
    assert learner is not None
    assert learner.unknown == ("class_weight",)
    with pytest.raises(InconclusiveError, match="does not hold all parameters"):
        leafgate_plugins.lightgbm.training.train(learner, table, others, SEED)


def test_xgboosts_file_does_not_hold_all_parameters_and_the_policy_names_them(tmp_path: Path) -> None:
    table, others = complete(3), complete(4)
    features, target = as_frame(table)
    rows = as_trained(table)
    parameters = {"max_depth": 4, "learning_rate": 0.2, "subsample": 0.8, "reg_lambda": 2.0}
    model = XGBClassifier(n_estimators=7, scale_pos_weight=2.0, random_state=SEED, n_jobs=1, **parameters)
    dummies = pd.get_dummies(features, columns=["school", "job"], prefix_sep="=", dtype=float)
    names = ["age", *(name for name in dummies if "=" in str(name)), "pay"]
    model.fit(dummies[names].iloc[rows], (target.iloc[rows] == "yes").astype(int))
    path = tmp_path / "model.json"
    model.save_model(path)
    said = {"rich": Encoding(codes={"no": 0, "yes": 1})}
    build = Published.model_validate({"path": path.name, "encoding": said}, context={"beside": tmp_path})
    rng = np.random.default_rng(0)
    learner = build.build(table, rng, READERS).provenance.learner
    assert learner is not None
    assert learner.parameters == {"n_estimators": 7, "num_parallel_tree": 1, "scale_pos_weight": 2.0}
    with pytest.raises(InconclusiveError, match="does not hold all parameters") as caught:
        leafgate_plugins.xgboost.training.train(learner, table, others, SEED)
    assert "learning_rate" in str(caught.value.problems)
    named = TrainedBy(estimator="xgboost.XGBClassifier", parameters=parameters)
    loaded = build.model_copy(update={"trained_by": named}).build(table, rng, READERS)
    own = loaded.provenance.learner
    assert own is not None
    assert own.parameters == {**learner.parameters, **parameters}
    assert own.encoding == {"age": "number", "school": "one_hot", "job": "one_hot", "pay": "number"}
    scores = leafgate_plugins.xgboost.training.train(own, table, others, SEED)
    np.testing.assert_allclose(scores, class_scores(loaded.release, others), atol=1e-6)


@pytest.mark.parametrize("name", [*PARAMETERS, "LGBMClassifier", "XGBClassifier"])
def test_every_classifier_is_trained_by_its_name_alone(name: str) -> None:
    table, others = people(3), people(4)
    rounds = {} if name.endswith("TreeClassifier") else {"max_iter" if name.startswith("Hist") else "n_estimators": 5}
    reader, module = {
        "LGBMClassifier": (leafgate_plugins.lightgbm.training.train, "lightgbm"),
        "XGBClassifier": (leafgate_plugins.xgboost.training.train, "xgboost"),
    }.get(name, (train, "sklearn.ensemble"))
    scores = reader(Learner(f"{module}.{name}", rounds), table, others, 1)
    np.testing.assert_allclose(scores.sum(axis=1), 1.0, atol=1e-6)
    known = others.codes("rich") < 2
    assert (scores.argmax(axis=1) == others.codes("rich"))[known].mean() > 0.7
