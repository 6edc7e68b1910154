"""Fitted scikit-learn models of every kind that is read, and rows to hold them against."""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import sklearn
import skops.io
from numpy.typing import NDArray
from packaging.version import Version
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from leafgate.readers import ModelIR

Rows = NDArray[np.float64]

CLASSIFIERS: Mapping[str, Any] = {
    "tree": DecisionTreeClassifier(min_samples_leaf=3, random_state=0),
    "entropy": DecisionTreeClassifier(criterion="entropy", max_depth=5, splitter="random", random_state=1),
    "weighted": DecisionTreeClassifier(class_weight="balanced", max_depth=4, random_state=0),
    "forest": RandomForestClassifier(7, max_depth=5, random_state=3),
    "half": RandomForestClassifier(4, max_samples=0.5, max_depth=4, random_state=3),
    "whole": RandomForestClassifier(5, bootstrap=False, max_features=1, max_depth=6, random_state=3),
    "extra": ExtraTreesClassifier(6, max_depth=6, random_state=4),
    "boosting": GradientBoostingClassifier(n_estimators=6, random_state=5),
    "exponential": GradientBoostingClassifier(n_estimators=4, loss="exponential", subsample=0.7, random_state=5),
    "zero": GradientBoostingClassifier(n_estimators=4, init="zero", max_depth=2),
    "hist": HistGradientBoostingClassifier(max_iter=6),
    "hist categories": HistGradientBoostingClassifier(max_iter=6, categorical_features=[2]),
}
REGRESSORS: Mapping[str, Any] = {
    "tree": DecisionTreeRegressor(max_depth=5),
    "forest": RandomForestRegressor(4, max_depth=4, random_state=1),
    "extra": ExtraTreesRegressor(4, max_depth=4, random_state=1),
    "boosting": GradientBoostingRegressor(n_estimators=5, loss="huber"),
    "hist": HistGradientBoostingRegressor(max_iter=5, categorical_features=[2]),
}
GAPLESS = {"boosting", "exponential", "zero"}
"""What does not take missing cells."""

if Version(sklearn.__version__) < Version("1.6"):
    GAPLESS |= {"entropy", "extra"}  # random splits took none before


def rows(seed: int, n: int = 600, *, gaps: bool = False) -> Rows:
    """Numbers, some of which single precision cannot hold, and a column of codes."""
    rng = np.random.default_rng(seed)
    made = np.column_stack([rng.normal(0, 1e3, n), rng.integers(0, 40, n) / 10, rng.integers(0, 12, n)])
    if gaps:
        made[rng.random(made.shape) < 0.1] = np.nan
    return made


def answers(of: Rows, classes: int) -> NDArray[np.int64]:
    """Classes that depend on the rows, with noise."""
    filled = np.nan_to_num(of)
    score = filled[:, 0] / 1e3 + filled[:, 1] + 3 * np.isin(filled[:, 2], [1, 5, 7]) + np.isnan(of[:, 0])
    noise = np.random.default_rng(9).normal(0, 1, len(of))
    return np.digitize(score + noise, np.quantile(score, np.arange(1, classes) / classes))


@cache
def fitted(name: str, classes: int, *, gaps: bool) -> Any:
    """A classifier (of 2 classes or 3), or with `classes` 0 a regressor."""
    from sklearn.base import clone

    given = rows(1, gaps=gaps)
    y = answers(given, classes) if classes else np.nan_to_num(given)[:, 0] + 100 * np.nan_to_num(given)[:, 2]
    labels = np.array(["low", "middle", "high"])[y] if classes else y
    return clone((CLASSIFIERS if classes else REGRESSORS)[name]).fit(given, labels)


def at_the_edges(model: ModelIR, given: Rows) -> Rows:
    """Rows that hit thresholds exactly, and the doubles and singles next to them."""
    made: list[Rows] = []
    for tree in model.trees[:3]:
        for node in np.flatnonzero(tree.feature >= 0)[:40]:
            at = float(tree.threshold[node])
            near = float(np.float32(at)) if np.isfinite(np.float32(at)) else at
            for value in (at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf), near, np.nextafter(near, np.inf)):
                row = given[len(made) % len(given)].copy()
                row[tree.feature[node]] = value
                made.append(row)
    finite = np.array(made).reshape(-1, given.shape[1])
    near_enough: Rows = finite[(abs(np.nan_to_num(finite)) < 1e30).all(axis=1)]
    return near_enough


def skops_bytes(model: Any) -> bytes:
    """The model as a skops file."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        skops.io.dump(model, file)
    return file.getvalue()


def entries_of(content: bytes) -> dict[str, bytes]:
    """The entries of a skops file by their names."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def with_entries(entries: Mapping[str, bytes]) -> bytes:
    """A skops file with these entries."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return file.getvalue()
