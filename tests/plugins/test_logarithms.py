"""Models whose trees add up to the logarithm of what they predict: the losses of Poisson, gamma and Tweedie."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from feature_rows import votes
from foreign_rows import Rows, blanked, probes
from installed_readers import PREDICT_SCRIPT, lower_model, neutral_file, onnx_file, read_foreign
from leafgate import ReleaseError
from leafgate.algorithms.certainty import numbers_behind_leaves
from leafgate.algorithms.node_counts import first_contradiction
from leafgate.algorithms.prediction import predicted_numbers
from leafgate.api import Column, Schema, Table, bin_names, make_table
from leafgate.readers import ModelIR
from sklearn_zoo import skops_bytes

Fitted = tuple[bytes, Callable[[Any], Any], float]
"""A model's file, its own predictions, and by what part of a number these may differ: sums in single precision."""


def of_xgboost(rows: Rows, y: Any, rng: np.random.Generator, loss: str, **options: Any) -> Fitted:
    xgb = pytest.importorskip("xgboost")
    objective = {"poisson": "count:poisson"}.get(loss, f"reg:{loss}")
    drawn = {"max_depth": int(rng.integers(1, 5)), "eta": float(rng.choice([0.1, 0.5, 1.0]))}
    drawn |= {"num_parallel_tree": int(rng.choice([1, 2])), "base_score": float(rng.choice([0.3, 2.0]))}
    data = xgb.DMatrix(rows.x, label=y)
    settings = {"objective": objective, "nthread": 1, "verbosity": 0, "seed": 1, **drawn, **options}
    booster = xgb.train(settings, data, num_boost_round=int(rng.integers(1, 9)))
    return bytes(booster.save_raw("json")), lambda x: booster.predict(xgb.DMatrix(x)), 2e-5


def of_lightgbm(rows: Rows, y: Any, rng: np.random.Generator, loss: str, **options: Any) -> Fitted:
    lgb = pytest.importorskip("lightgbm")
    drawn = {"num_leaves": int(rng.integers(2, 12)), "boosting": str(rng.choice(["gbdt", "dart", "rf"]))}
    settings = {"objective": loss, "verbosity": -1, "min_data_in_leaf": 3, "bagging_freq": 1, "bagging_fraction": 0.7}
    data = lgb.Dataset(rows.x, label=y)
    booster = lgb.train({**settings, **drawn, **options}, data, num_boost_round=int(rng.integers(1, 9)))
    return booster.model_to_string().encode(), booster.predict, 1e-9


def of_sklearn(rows: Rows, y: Any, rng: np.random.Generator, loss: str, **options: Any) -> Fitted:
    ensemble = pytest.importorskip("sklearn.ensemble")
    drawn = {"max_iter": int(rng.integers(1, 9)), "min_samples_leaf": 3, "early_stopping": bool(rng.random() < 0.3)}
    model = ensemble.HistGradientBoostingRegressor(loss=loss, **{**drawn, **options}).fit(rows.x, y)
    return skops_bytes(model), model.predict, 1e-9


LIBRARIES = {"xgboost": of_xgboost, "lightgbm": of_lightgbm, "scikit-learn": of_sklearn}
LOSSES = {"xgboost": ("poisson", "gamma", "tweedie"), "lightgbm": ("poisson", "gamma", "tweedie")}


def random_numbers(rng: np.random.Generator) -> tuple[Rows, Any]:
    """Rows of numbers with gaps, and a positive number that they tell something of."""
    size = int(rng.integers(60, 300))
    x = np.column_stack([rng.normal(size=size) * 1e4, rng.integers(0, 4, size) / 10, rng.integers(0, 9, size)])
    y = np.round(np.exp(np.clip(x[:, 0] / 1e4 + x[:, 2] / 6 + rng.normal(size=size), -3, 3)) * 5) + 1
    return blanked(x, y, (False,) * 3), y


def check(library: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, y = random_numbers(rng)
    loss = str(rng.choice(LOSSES.get(library, ("poisson", "gamma"))))
    content, predict, relative = LIBRARIES[library](rows, y, rng, loss)
    model = read_foreign(content, "model")
    x = probes(model, rows, 300)
    theirs = predict(x)
    assert model.combine == "exp_sum"
    assert np.allclose(votes(model, x)[:, 0], theirs, rtol=relative)
    script = runpy.run_path(str(PREDICT_SCRIPT))["Model"](json.loads(neutral_file(model)))
    given = {name: x[:, i].tolist() for i, name in enumerate(model.features)}
    assert np.allclose(np.array(script.predict(given), dtype=float), theirs, rtol=relative)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_random_model_is_read_as_it_predicts(library: str) -> None:
    check(library, 1)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(2, 14))
@pytest.mark.parametrize("library", LIBRARIES)
def test_random_models_are_read_as_they_predict(library: str, seed: int) -> None:
    check(library, seed)


EDGES = (0.0, 5.0, 20.0, 100.0, 1000.0)


def table_of_numbers(x: Any, y: Any, names: Any) -> Table:
    columns = [Column(name, frozenset({"quasi_identifier"}), bounds=(-1e6, 1e6)) for name in names]
    target = Column("y", frozenset({"class", "sensitive"}), values=bin_names(EDGES), bounds=(0.0, 1e3), edges=EDGES)
    return make_table(Schema((*columns, target)), pd.DataFrame(x, columns=names).assign(y=y))


def few_people() -> tuple[Rows, Any]:
    rng = np.random.default_rng(4)
    x = np.column_stack([np.arange(40.0), rng.integers(0, 5, 40)])
    return Rows(x, rng.integers(1, 60, 40), (False, False)), rng.integers(1, 60, 40).astype(float)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_release_predicts_as_the_model(library: str) -> None:
    rows, y = few_people()
    content, predict, relative = LIBRARIES[library](rows, y, np.random.default_rng(0), "poisson")
    model = read_foreign(content, "model")
    table = table_of_numbers(rows.x, y, model.features)
    release = lower_model(model, table.schema, {}, "model").release
    frame = table.frame[list(model.features)].to_numpy(dtype=float)
    assert np.allclose(predicted_numbers(release, table), predict(frame), rtol=relative)


def read_of(loss: str, **options: Any) -> tuple[ModelIR, Table]:
    rows, y = few_people()
    fixed = {"max_depth": 2, "num_parallel_tree": 1, "base_score": 12.5, **options}
    model = read_foreign(of_xgboost(rows, y, np.random.default_rng(0), loss, **fixed)[0], "model")
    return model, table_of_numbers(rows.x, y, model.features)


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie"])
def test_people_on_nodes_follow_from_a_file_of_xgboost(loss: str) -> None:
    """From second derivatives, or from these and the leaves' values together."""
    model, table = read_of(loss)
    assert model.level == "counts"
    if loss == "poisson":
        assert model.trees[0].size is not None
        assert model.trees[0].size[0] == table.total_weight


def test_second_derivatives_of_poisson_that_are_not_the_tables_are_a_contradiction() -> None:
    model, table = read_of("poisson", max_delta_step=1.5)
    fewer = table_of_numbers(
        table.frame[list(model.features)].to_numpy(dtype=float)[1:], table.numbers("y")[1:], model.features
    )
    sealed = lower_model(model, table.schema, {}, "model")
    assert sealed.provenance.node_numbers is not None
    assert first_contradiction(sealed.provenance.node_numbers, sealed.release, table) is None
    assert first_contradiction(sealed.provenance.node_numbers, sealed.release, fewer) is not None


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_a_number_behind_a_leaf_of_one_person_is_found(loss: str) -> None:
    """Without a penalty such a leaf is the learning rate times what follows from the number and the mean before."""
    rows, y = few_people()
    ensemble = pytest.importorskip("sklearn.ensemble")
    model = ensemble.HistGradientBoostingRegressor(
        loss=loss, max_iter=1, min_samples_leaf=1, max_leaf_nodes=None, learning_rate=0.5, early_stopping=False
    ).fit(rows.x, y)
    read = read_foreign(skops_bytes(model), "model")
    table = table_of_numbers(rows.x, y, read.features)
    found = numbers_behind_leaves(lower_model(read, table.schema, {}, "model").release, table)
    assert found.mean() > 0.8


def test_no_onnx_file_is_written_of_one() -> None:
    model, _ = read_of("gamma")
    with pytest.raises(ReleaseError, match="exponential of its trees' sum"):
        onnx_file(model)
