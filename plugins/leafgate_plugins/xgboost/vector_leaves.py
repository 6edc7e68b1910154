"""Trees whose leaves have a number for each output of the model (`multi_strategy="multi_output_tree"`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from leafgate.api import Floats, ReleaseError
from leafgate.ir.arrays import floats_at, integers_at
from leafgate.readers import LEAF, object_at

WIDTH = re.compile(r"[0-9]{1,4}")
OF_ALL_OUTPUTS = frozenset({"leaf_weights", "base_weights", "sum_hessian"})
"""Keys of a tree with vectors, and with sums over all outputs."""


def leaf_width(tree: Any, place: str) -> int:
    """How many numbers each leaf of a tree has."""
    parameters = object_at(object_at(tree, place).get("tree_param"), f"{place}.tree_param")
    stated = parameters.get("size_leaf_vector", "1")
    if not isinstance(stated, str) or not WIDTH.fullmatch(stated):
        raise ReleaseError("must be a whole number, as a text", place=f"{place}.tree_param.size_leaf_vector")
    return max(1, int(stated))


def vector_leaves(tree: Mapping[str, Any], width: int, place: str) -> Floats:
    """The numbers of the leaves, 0 at inner nodes: shape (n_nodes, width).

    XGBoost 3.2 and later write them as `leaf_weights`, and in place of a leaf's right child its row there; earlier
    versions write them among the `base_weights` of all nodes.
    """
    left = integers_at(tree, "left_children", place)
    rows, is_leaf = integers_at(tree, "right_children", place, len(left)), left == LEAF
    if "leaf_weights" not in tree:
        every = floats_at(tree, "base_weights", place, len(left) * width).reshape(len(left), width)
        return np.where(is_leaf[:, None], every, 0.0)
    leaves = int(is_leaf.sum())
    weights = floats_at(tree, "leaf_weights", place, leaves * width).reshape(leaves, width)
    if not np.array_equal(np.sort(rows[is_leaf]), np.arange(leaves)):
        raise ReleaseError("must number the leaves", place=f"{place}.right_children")
    values = np.zeros((len(left), width))
    values[is_leaf] = weights[rows[is_leaf]]
    return values


def of_output(tree: Mapping[str, Any], output: int, width: int, place: str) -> dict[str, Any]:
    """The tree as one of a single output."""
    if leaf_width(tree, place) != width:
        raise ReleaseError("must be the number of outputs", place=f"{place}.tree_param.size_leaf_vector")
    values = vector_leaves(tree, width, place)[:, output].tolist()
    left, right, conditions = (list(tree.get(key, ())) for key in ("left_children", "right_children", CONDITIONS))
    if len(conditions) != len(left):
        raise ReleaseError("must speak of every node", place=f"{place}.{CONDITIONS}")
    changed = {
        "right_children": [LEAF if child == LEAF else other for child, other in zip(left, right, strict=True)],
        CONDITIONS: [value if child == LEAF else at for child, value, at in zip(left, values, conditions, strict=True)],
        "tree_param": {**tree["tree_param"], "size_leaf_vector": "1"},
    }
    return {key: value for key, value in tree.items() if key not in OF_ALL_OUTPUTS} | changed


CONDITIONS = "split_conditions"
"""The key of a tree's thresholds, and of its leaves where these are single numbers."""
