"""scikit-learn's IsolationForest as neutral trees: the anomaly score, which falls with the length of paths."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from leafgate.api import Floats, ReleaseError
from leafgate.bounded.objects import with_attributes
from leafgate.models.exposure.implied import average_path_length
from leafgate.readers import LEAF, ObjectView, TreeIR
from leafgate_plugins.sklearn.bagging import bagging_regressor
from leafgate_plugins.sklearn.trees import EstimatorIR

CLOSE = 1e-12
"""Average path lengths differ by no more than this part of them."""


def isolation_forest(estimator: ObjectView) -> EstimatorIR:
    """The anomaly score, from 0 to 1: the opposite of scikit-learn's `score_samples`.

    It is 2 to the power of minus the mean path length of the trees, divided by the length that is usual for as many
    rows as each tree was grown on.

    Source: Liu, Ting, Zhou, "Isolation Forest", ICDM 2008, equations 1 and 2. doi:10.1109/ICDM.2008.17
    """
    rows, width, members = estimator["_max_samples"], estimator["n_features_in_"], len(estimator.many("estimators_"))
    if not isinstance(rows, int) or rows < 1:
        raise ReleaseError("its `_max_samples` is not a number of rows", place=estimator.place)
    given = estimator["estimators_features_"]
    if estimator["_max_features"] == width:  # then scikit-learn does not ask which features a tree was given
        given = (np.arange(width),) * members
    read = bagging_regressor(with_attributes(estimator, estimators_features_=given, max_samples=rows))
    depths, averages = (estimator.many(name) for name in ("_decision_path_lengths", "_average_path_length_per_tree"))
    if not len(depths) == len(averages) == members:
        raise ReleaseError("its path lengths are not those of its trees", place=estimator.place)
    usual = float(average_path_length(np.array([rows]))[0])
    trees = []
    for tree, depth, average in zip(read.trees, depths, averages, strict=True):
        lengths = _path_lengths(tree, depth, average, estimator.place)
        scores = np.ones(tree.nodes) if rows == 1 else lengths / usual
        trees.append(replace(tree, values=-math.log(2) / members * scores[:, None]))
    return replace(read, trees=tuple(trees), combine="exp_sum")


def _path_lengths(tree: TreeIR, depth: Any, average: Any, place: str) -> Floats:
    """By node how many tests lead to it, and how many more would part its rows from each other on average.

    Raises:
        ReleaseError: the file has other numbers of these (`depth`, which is 1 at the root, and `average`), with which
            scikit-learn predicts.
    """
    rows = next((each.values for each in tree.numbers if each.name == "n_node_samples"), np.zeros(0))
    lengths = average_path_length(rows)
    inner = np.flatnonzero(tree.feature != LEAF)
    above, below = np.tile(inner, 2), np.concatenate([tree.low[inner], tree.high[inner]])
    if (
        all(_is_of_nodes(each, tree) for each in (depth, average, rows))
        and ((below > 0) & (below < tree.nodes)).all()
        and (depth[:1] == 1).all()
        and (depth[below] == depth[above] + 1).all()
        and np.allclose(average, lengths, rtol=CLOSE, atol=0)
    ):
        return np.asarray(depth - 1 + lengths)
    raise ReleaseError("its path lengths are not those of its trees", place=place)


def _is_of_nodes(numbers: Any, tree: TreeIR) -> bool:
    """Is it an array with a number for each node?"""
    return isinstance(numbers, np.ndarray) and numbers.dtype.kind in "iuf" and numbers.shape == (tree.nodes,)
