"""The rows that a model's file counts on its leaves, and sums that follow from its first trees, and the table's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from installed_readers import lower_model, read_foreign
from leafgate.algorithms import routing
from leafgate.api import Column, Schema, Table, bin_names, make_table
from leafgate.app import SealedRelease
from random_tables import categorical, numeric
from sklearn_zoo import skops_bytes

ensemble = pytest.importorskip("sklearn.ensemble")
tree = pytest.importorskip("sklearn.tree")

N = 240
EDGES = (0.0, 100.0, 200.0, 300.0, 400.0)


def rows_of(classes: int) -> tuple[Any, Any, Table]:
    """Two columns of numbers, and a class, or without classes a number: of some people."""
    rng = np.random.default_rng(classes)
    x = rng.integers(0, 12, (N, 2)).astype(np.float64)
    number = np.round(100 + 12 * x[:, 0] + 5 * x[:, 1] + rng.normal(0, 20, N), 1)
    names = tuple("012"[: classes or 3])
    code = np.minimum((x @ [1.0, 0.5] + rng.normal(0, 3, N)).clip(0) // (18 / max(classes, 1)), max(classes, 1) - 1)
    columns = [numeric(f"x{i}", "quasi_identifier", bounds=(0.0, 12.0)) for i in range(2)]
    frame = pd.DataFrame({"x0": x[:, 0], "x1": x[:, 1]})
    if classes:
        schema = Schema((*columns, categorical("y", "class", values=names)))
        frame["y"] = pd.Categorical.from_codes(code.astype(int), categories=pd.Index(names))
        return x, np.array(names)[code.astype(int)], make_table(schema, frame)
    y = Column("y", frozenset({"class"}), values=bin_names(EDGES), bounds=(0.0, 400.0), edges=EDGES)
    schema = Schema((*columns, y))
    frame["y"] = number
    return x, number, make_table(schema, frame)


def read(content: bytes, table: Table) -> SealedRelease:
    return lower_model(read_foreign(content, "m"), table.schema, {}, "m")


def named(x: Any) -> pd.DataFrame:
    return pd.DataFrame(x, columns=["x0", "x1"])


def sklearn_bytes(model: Any, x: Any, y: Any) -> bytes:
    return skops_bytes(model.fit(x, y))


def xgboost_bytes(model: Any, x: Any, y: Any) -> bytes:
    return bytes(model.fit(named(x), y.astype(float)).get_booster().save_raw("json"))


def lightgbm_bytes(model: Any, x: Any, y: Any) -> bytes:
    return str(model.fit(named(x), y.astype(float)).booster_.model_to_string()).encode()


def of_xgboost(kind: str, **options: Any) -> Any:
    return getattr(pytest.importorskip("xgboost"), kind)(n_estimators=4, max_depth=3, **options)


def of_lightgbm(kind: str, **options: Any) -> Any:
    return getattr(pytest.importorskip("lightgbm"), kind)(n_estimators=4, num_leaves=6, verbosity=-1, **options)


Make = Callable[[], Any]
MODELS: dict[str, tuple[Make, Callable[[Any, Any, Any], bytes], int]] = {
    "regression tree": (lambda: tree.DecisionTreeRegressor(max_depth=4, random_state=0), sklearn_bytes, 0),
    "regression forest": (
        lambda: ensemble.RandomForestRegressor(4, max_depth=4, bootstrap=False, max_features=1, random_state=0),
        sklearn_bytes,
        0,
    ),
    "extra trees": (lambda: ensemble.ExtraTreesRegressor(4, max_depth=4, random_state=0), sklearn_bytes, 0),
    "gradient boosting": (lambda: ensemble.GradientBoostingRegressor(n_estimators=4, random_state=0), sklearn_bytes, 0),
    "gradient boosting of 2": (
        lambda: ensemble.GradientBoostingClassifier(n_estimators=4, random_state=0),
        sklearn_bytes,
        2,
    ),
    "gradient boosting of 3": (
        lambda: ensemble.GradientBoostingClassifier(n_estimators=4, random_state=0),
        sklearn_bytes,
        3,
    ),
    "histograms": (
        lambda: ensemble.HistGradientBoostingRegressor(
            max_iter=4, l2_regularization=2.0, early_stopping=False, random_state=0
        ),
        sklearn_bytes,
        0,
    ),
    "histograms of 2": (
        lambda: ensemble.HistGradientBoostingClassifier(
            max_iter=4, learning_rate=0.07, early_stopping=False, random_state=0
        ),
        sklearn_bytes,
        2,
    ),
    "histograms of 3": (
        lambda: ensemble.HistGradientBoostingClassifier(max_iter=4, early_stopping=False, random_state=0),
        sklearn_bytes,
        3,
    ),
    "xgboost": (lambda: of_xgboost("XGBRegressor"), xgboost_bytes, 0),
    "xgboost of 2": (lambda: of_xgboost("XGBClassifier"), xgboost_bytes, 2),
    "xgboost of 2, other settings": (
        lambda: of_xgboost("XGBClassifier", learning_rate=0.1, reg_lambda=5.0),
        xgboost_bytes,
        2,
    ),
    "xgboost of 3": (lambda: of_xgboost("XGBClassifier"), xgboost_bytes, 3),
    "lightgbm": (lambda: of_lightgbm("LGBMRegressor", reg_lambda=3.0), lightgbm_bytes, 0),
    "lightgbm of 2": (lambda: of_lightgbm("LGBMClassifier", learning_rate=0.2), lightgbm_bytes, 2),
    "lightgbm of 3": (lambda: of_lightgbm("LGBMClassifier"), lightgbm_bytes, 3),
}
NO_SUMS = {"xgboost"}
"""Whose files have neither the rate nor, in whole numbers, a way to find it."""


@pytest.mark.parametrize("name", MODELS)
def test_rows_and_sums_are_those_of_the_table(name: str) -> None:
    make, write, classes = MODELS[name]
    x, y, table = rows_of(classes)
    loaded = read(write(make(), x, y), table)
    found = loaded.provenance.training_rows
    assert found is not None
    assert found.people == N
    assert not found.drawn
    summed, outputs = 0, set()
    for number, (node, rows, sums) in enumerate(zip(loaded.release.trees, found.on_leaves, found.sums, strict=True)):
        leaf = routing.leaf_numbers(node, table)
        if rows is not None:
            assert (np.bincount(leaf, weights=table.weight, minlength=len(rows)) == rows).all()
        if sums is not None:
            output = found.outputs[number]
            amount = table.numbers("y") if output is None else (table.frame["y"] == output).to_numpy(dtype=float)
            expected = np.bincount(leaf, weights=amount * table.weight, minlength=len(sums))
            assert sums == pytest.approx(expected, rel=1e-5, abs=1e-3)
            summed += 1
            outputs.add(output)
    trees = 1 if name == "regression tree" or (classes and "xgboost" in name) else 4
    assert sum(each is not None for each in found.on_leaves) >= trees
    if name in NO_SUMS:
        assert summed == 0
    elif classes > 2:
        assert outputs == set(table.schema.classes)
    else:
        assert summed >= 1


def drawn(model: Any, classes: int) -> tuple[Any, SealedRelease]:
    x, y, table = rows_of(classes)
    loaded = read(sklearn_bytes(model, x, y), table)
    assert loaded.provenance.training_rows is not None
    return loaded.provenance.training_rows, loaded


@pytest.mark.parametrize("classes", [0, 2])
def test_a_bootstrap_has_rows_and_draws(classes: int) -> None:
    kind = ensemble.RandomForestClassifier if classes else ensemble.RandomForestRegressor
    found, _ = drawn(kind(5, max_depth=3, random_state=0), classes)
    assert found.people == N
    for rows, draws in zip(found.on_leaves, found.drawn, strict=True):
        assert rows is not None
        assert draws is not None
        assert (rows <= draws).all()
        assert draws.sum() == N
        assert rows.sum() < N
    assert all((each is not None) == (classes == 0) for each in found.sums)


def test_how_many_rows_there_were_is_known_where_some_are_drawn() -> None:
    """The file says so, and the trees agree with what their seeds draw of as many rows."""
    found, _ = drawn(ensemble.RandomForestRegressor(5, max_samples=50, random_state=0), 0)
    assert found.people == N
    assert found.bags is not None
    assert found.bags.n_draws == 50


def test_rows_of_a_sample_are_not_those_of_all() -> None:
    x, y, table = rows_of(2)
    model = ensemble.GradientBoostingClassifier(n_estimators=3, subsample=0.5, random_state=0)
    assert read(sklearn_bytes(model, x, y), table).provenance.training_rows is None


@pytest.mark.parametrize(
    "model",
    [
        lambda: ensemble.HistGradientBoostingClassifier(max_iter=4, early_stopping=True, random_state=0),
        lambda: ensemble.GradientBoostingClassifier(n_estimators=4, n_iter_no_change=2, random_state=0),
    ],
)
def test_rows_that_were_set_aside_are_in_no_tree(model: Make) -> None:
    x, y, table = rows_of(2)
    found = read(sklearn_bytes(model(), x, y), table).provenance.training_rows
    assert found is not None
    assert found.people == N - N // 10
    assert {float(each.sum()) for each in found.on_leaves if each is not None} == {float(found.people)}


def test_medians_and_other_losses_are_no_means() -> None:
    x, y, table = rows_of(0)
    for model in (
        tree.DecisionTreeRegressor(criterion="absolute_error", max_depth=3),
        ensemble.GradientBoostingRegressor(loss="absolute_error", n_estimators=3),
        ensemble.HistGradientBoostingRegressor(loss="absolute_error", max_iter=3),
    ):
        found = read(sklearn_bytes(model, x, y), table).provenance.training_rows
        assert found is not None
        assert all(each is None for each in found.sums)


def test_leaves_that_count_nobody_state_nothing() -> None:
    """As those of a file that was written without numbers of people."""
    x, y, table = rows_of(2)
    content = lightgbm_bytes(of_lightgbm("LGBMClassifier"), x, y).decode()
    kept = [
        " ".join([line.partition("=")[0] + "=", *["0"] * len(line.split())]).replace("= ", "=")
        if line.startswith(("leaf_count", "internal_count", "leaf_weight", "internal_weight"))
        else line
        for line in content.splitlines()
    ]
    assert read("\n".join(kept).encode() + b"\n", table).provenance.training_rows is None


def test_no_law_is_believed_where_the_classes_had_weights() -> None:
    x, y, table = rows_of(2)
    model = of_xgboost("XGBClassifier", scale_pos_weight=3.7)
    found = read(xgboost_bytes(model, x, y), table).provenance.training_rows
    assert found is None or all(each is None for each in found.sums)
