"""Files of random models of random people, of every library that counts people on leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from installed_readers import lower_model, read_foreign
from leafgate.api import Column, Schema, Table, make_table
from leafgate.app import SealedRelease
from leafgate.kernel.schema import bin_names
from sklearn_zoo import skops_bytes

EDGES = (0.0, 50.0, 100.0, 150.0, 200.0)


@dataclass(frozen=True)
class People:
    """Random people: their numbers, what is predicted of them, and their table; `classes` is 0 for a number."""

    numbers: pd.DataFrame
    wanted: Any
    table: Table
    classes: int


def random_people(rng: np.random.Generator) -> People:
    """Up to 150 people with up to four columns, of whole numbers or of any, some of them with missing cells."""
    n, k, classes = int(rng.integers(20, 150)), int(rng.integers(1, 5)), int(rng.choice([0, 2, 3]))
    x = (
        rng.integers(0, int(rng.integers(3, 30)), (n, k)).astype(float)
        if rng.random() < 0.6
        else rng.normal(0, 1, (n, k))
    )
    if rng.random() < 0.4:
        x[rng.random((n, k)) < 0.15] = np.nan
    score = np.nan_to_num(x).sum(axis=1) + rng.normal(0, 1, n)
    roles, names = frozenset({"quasi_identifier"}), [f"x{i}" for i in range(k)]
    columns = [
        Column(name, roles, bounds=(-100.0, 100.0), missing=bool(np.isnan(x[:, i]).any()))
        for i, name in enumerate(names)
    ]
    numbers = pd.DataFrame(x, columns=names)
    if not classes:
        wanted: Any = np.round(100 + 40 * (score - score.mean()) / (score.std() + 1e-9), 1).clip(0, 200)
        target = Column("y", frozenset({"class"}), values=bin_names(EDGES), bounds=(0.0, 200.0), edges=EDGES)
        return People(numbers, wanted, make_table(Schema((*columns, target)), numbers.assign(y=wanted)), 0)
    wanted = np.argsort(np.argsort(score)) * classes // n
    values = tuple("012"[:classes])
    target = Column("y", frozenset({"class"}), values=values)
    cells = numbers.assign(y=pd.Categorical.from_codes(wanted.astype(int), categories=pd.Index(values)))
    return People(numbers, wanted, make_table(Schema((*columns, target)), cells), classes)


def random_models(rng: np.random.Generator, people: People) -> Mapping[str, Callable[[], Any]]:
    """By names models with random settings, which are not fitted."""
    tree, ensemble = pytest.importorskip("sklearn.tree"), pytest.importorskip("sklearn.ensemble")
    xgboost, lightgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    kind = "Classifier" if people.classes else "Regressor"
    grown = {"n_estimators": int(rng.integers(1, 6)), "max_depth": int(rng.integers(1, 6))}
    rate, penalty, seed = float(rng.choice([0.1, 0.3, 0.07])), float(rng.choice([0, 1, 2.5])), int(rng.integers(10**6))
    part = float(rng.choice([1, 1, 0.7]))
    drawn = {"bootstrap": bool(rng.random() < 0.6), "random_state": seed}
    boosted = {"learning_rate": rate, "reg_lambda": penalty, "subsample": part}
    models = {
        "tree": lambda: getattr(tree, f"DecisionTree{kind}")(max_depth=grown["max_depth"], random_state=seed),
        "forest": lambda: getattr(ensemble, f"RandomForest{kind}")(**grown, **drawn),
        "part": lambda: getattr(ensemble, f"RandomForest{kind}")(**grown, max_samples=0.5, random_state=seed),
        "extra trees": lambda: getattr(ensemble, f"ExtraTrees{kind}")(**grown, random_state=seed),
        "histograms": lambda: getattr(ensemble, f"HistGradientBoosting{kind}")(
            max_iter=grown["n_estimators"], min_samples_leaf=3, learning_rate=rate, early_stopping=False
        ),
        "xgboost": lambda: getattr(xgboost, f"XGB{kind}")(
            **grown, **boosted, num_parallel_tree=int(rng.integers(1, 3))
        ),
        "lightgbm": lambda: getattr(lightgbm, f"LGBM{kind}")(
            **grown, **boosted, subsample_freq=int(rng.integers(2)), min_child_samples=3, verbosity=-1
        ),
    }
    if not people.numbers.isna().any(axis=None):
        models["boosting"] = lambda: getattr(ensemble, f"GradientBoosting{kind}")(**grown, subsample=part)
    return models


def read_model(name: str, model: Any, people: People) -> SealedRelease:
    """The release of a model's file, once it is fitted on the people."""
    if name in {"xgboost", "lightgbm"}:
        model.fit(people.numbers, people.wanted)
        written = (
            model.get_booster().save_raw("json") if name == "xgboost" else model.booster_.model_to_string().encode()
        )
    else:
        wanted = people.wanted.astype(str) if people.classes else people.wanted
        written = skops_bytes(model.fit(people.numbers.to_numpy(), wanted))
    return lower_model(read_foreign(bytes(written), "model"), people.table.schema, {}, "model")
