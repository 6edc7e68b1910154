"""The differentially private random forest of the library diffprivlib, with its own defaults (10 trees, depth 5).

It takes numbers only: columns with values become a column of 0 and 1 for each value, or one with the value's position.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib import import_module

import numpy as np

from dp_peer import Array, Task, serve


def learn(task: Task, epsilon: float) -> Iterator[tuple[str, Array]]:
    number = task.sizes == 0
    highest = np.where(number, task.bounds[:, 1], task.sizes - 1)
    lowest = np.where(number, task.bounds[:, 0], 0)
    yield "diffprivlib, positions", _fitted(task, epsilon, task.x, task.z, (lowest, highest))
    x, z = (_spread(table, task) for table in (task.x, task.z))
    counted = np.maximum(task.sizes, 1)
    bounds = np.repeat(np.where(number, lowest, 0), counted), np.repeat(np.where(number, highest, 1), counted)
    yield "diffprivlib, 0 and 1", _fitted(task, epsilon, x, z, bounds)


def _fitted(task: Task, epsilon: float, x: Array, z: Array, bounds: tuple[Array, Array]) -> Array:
    forest = import_module("diffprivlib.models").RandomForestClassifier(
        epsilon=epsilon, bounds=bounds, classes=np.arange(task.classes), random_state=task.seed, shuffle=True
    )
    forest.fit(x, task.y)
    return np.asarray(forest.predict_proba(z))


def _spread(table: Array, task: Task) -> Array:
    parts = [
        column[:, None] if not size else (column[:, None] == np.arange(size)).astype(float)
        for column, size in zip(table.T, task.sizes, strict=True)
    ]
    return np.concatenate(parts, axis=1)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    serve(learn)
