"""The differentially private explainable boosting machine of the `interpret` library; two classes only.

Numbers are given their bounds. Columns with values are `nominal`: the library finds the values within its budget. All
else is as the library has it, but delta.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib import import_module

import numpy as np

from dp_peer import Array, Task, serve


def learn(task: Task, epsilon: float) -> Iterator[tuple[str, Array]]:
    if task.classes != 2:
        return
    number = task.sizes == 0
    model = import_module("interpret.privacy").DPExplainableBoostingClassifier(
        feature_types=["continuous" if each else "nominal" for each in number],
        privacy_bounds={int(i): tuple(map(float, task.bounds[i])) for i in np.flatnonzero(number)},
        epsilon=epsilon,
        delta=task.delta,
        n_jobs=1,
        random_state=task.seed,
    )
    model.fit(_cells(task.x, number), task.y)
    yield "DP-EBM", model.predict_proba(_cells(task.z, number))


def _cells(table: Array, number: Array) -> Array:
    """Positions in a domain as words."""
    columns = [column if each else column.astype(int).astype(str) for column, each in zip(table.T, number, strict=True)]
    return np.array([column.astype(object) for column in columns], dtype=object).T


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    serve(learn)
