"""Ensembles of scikit-learn fitted on one table, both readings of them, and rows around their thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

import leafgate
from feature_rows import votes
from installed_readers import read_foreign
from leafgate.readers import ModelIR
from sklearn_zoo import Rows, answers, rows, skops_bytes


def fitted(model: Any, classes: int) -> Any:
    """The model fitted on the same rows: for `classes` 0 a regressor."""
    given = rows(1)
    y = np.array(["low", "middle", "high"])[answers(given, classes)] if classes else given[:, 0] + 100 * given[:, 2]
    return clone(model).fit(given, y)


def around_every_threshold(model: ModelIR, given: Rows) -> Rows:
    """Rows with a number at each threshold of each tree, and the nearest single and double numbers beside it."""
    found = [*given]
    for tree in model.trees:
        for node in np.flatnonzero(tree.feature >= 0):
            at = float(tree.threshold[node])
            single = np.float32(at)
            singles = (single, np.nextafter(single, np.float32(np.inf)), np.nextafter(single, np.float32(-np.inf)))
            for value in (at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf), *map(float, singles)):
                row = given[len(found) % len(given)].copy()
                row[tree.feature[node]] = value
                found.append(row)
    return np.array(found)


def both_readings(model: Any) -> list[ModelIR]:
    """What is read of the model in memory, and of its skops file."""
    return [leafgate.from_sklearn(model), read_foreign(skops_bytes(model), "model.skops")]


def assert_shares_are_scikit_learns(read: ModelIR, model: Any) -> Rows:
    """What was read of a classifier answers as it does; returns the rows on which both were asked."""
    assert read.classes == tuple(model.classes_)
    given = around_every_threshold(read, rows(2))
    is_sum = read.combine == "boost" and not read.calibrated_sums
    shares = np.exp(votes(read, given)) if is_sum else votes(read, given)
    np.testing.assert_allclose(
        shares / shares.sum(axis=1, keepdims=True), model.predict_proba(given), rtol=0, atol=1e-12
    )
    return given


def assert_numbers_are_scikit_learns(read: ModelIR, model: Any) -> None:
    """What was read of a regressor answers as it does."""
    given = around_every_threshold(read, rows(2))
    np.testing.assert_allclose(votes(read, given)[:, 0], model.predict(given), rtol=1e-12)
