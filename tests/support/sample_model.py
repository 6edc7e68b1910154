"""A small foreign model, and what can be changed about it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from leafgate.api import FileDisclosure, Schema
from leafgate.readers import LEAF, ModelIR, TreeIR
from random_tables import categorical, numeric

SCHEMA = Schema(
    (
        numeric("age", "quasi_identifier", bounds=(17, 90), missing=True),
        categorical("school", "quasi_identifier", values=("none", "basic", "high"), missing=True),
        categorical("income", "class", "sensitive", values=("low", "high")),
    )
)
TREE = TreeIR(
    feature=np.array([0, 1, LEAF, LEAF, LEAF]),
    threshold=np.array([37.5, 0.5, np.nan, np.nan, np.nan]),
    low=np.array([1, 2, -1, -1, -1]),
    high=np.array([4, 3, -1, -1, -1]),
    values=np.array([[6.0, 4.0], [5.0, 1.0], [4.0, 0.0], [1.0, 1.0], [1.0, 3.0]]),
    float32=True,
    counts=np.array([[6.0, 4.0], [5.0, 1.0], [4.0, 0.0], [1.0, 1.0], [1.0, 3.0]]),
    size=np.array([10.0, 6.0, 4.0, 2.0, 4.0]),
)
MODEL = ModelIR(
    "skops",
    ("age", "school_high"),
    ("low", "high"),
    (TREE,),
    "counts",
    counted="exact",
    discloses=(FileDisclosure("counts", "high", "how many people of each class are at the leaves", "counts"),),
)


def with_tree(**changes: Any) -> ModelIR:
    """The model with another tree."""
    return replace(MODEL, trees=(replace(TREE, **changes),))


def edited(name: str, node: int, value: Any) -> ModelIR:
    """The model with another value in one array of its tree."""
    array = np.array(getattr(TREE, name))
    array[node] = value
    return with_tree(**{name: array})
