"""What the operators before the trees of an ONNX graph tell of the people it was fitted on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from leafgate.disclosed import Disclosure
from leafgate.foreign.model import CategoryList
from leafgate.foreign.onnx.before import leading
from leafgate.foreign.onnx.parts import Graph, Operator

CATEGORIES = Disclosure("categories", "low", "which values a column had in training (cats, keys)")
RARE = Disclosure("rare_values", "medium", "which values of a column were rare in training (ReduceSum, values)")
MOMENTS = Disclosure("moments", "medium", "mean and spread of a column, or the like (offset, scale)")
EXTREMES = Disclosure(
    "extremes", "high", "what the smallest and the largest number of a column follow from (Mul, Add, scale)"
)
FILLS = Disclosure("moments", "medium", "what replaces missing cells: a column's mean, median or commonest value")


def tells(graph: Graph, ensemble: Operator) -> tuple[Disclosure, ...]:
    """Everything the operators before the trees keep, and the names of columns that they do not use."""
    before = leading(graph, ensemble)
    found = dict.fromkeys(item for op in before for item in _of(op))
    used = {name for op in (*before, ensemble) for name in op.inputs}
    unused = [name for name in graph.given if name not in used]
    says = f"the names of {len(unused)} column(s) that the model does not use (its graph's inputs)"
    return (*found, *([Disclosure("column_names", "medium", says)] if unused else []))


LISTS = ("cats_strings", "cats_int64s", "keys_strings", "keys_int64s", "keys_floats", "values_strings")
"""Attributes of encoders that list values of a column."""


def category_lists(graph: Graph, ensemble: Operator) -> tuple[CategoryList, ...]:
    """Every list of values that an operator before the trees holds, also of cells that no tree is given."""
    told = (op.attributes.get(name) for op in leading(graph, ensemble) for name in LISTS)
    return tuple(CategoryList("", frozenset(map(_text, each))) for each in told if isinstance(each, list | np.ndarray))


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(int(value)) if float(value).is_integer() else str(value)


def _of(op: Operator) -> Iterator[Disclosure]:
    """What one operator tells; a scaler that takes nothing off divides by the largest number, or may."""
    values = op.attributes.get("values_int64s")
    if op.kind in {"OneHotEncoder", "LabelEncoder"}:
        yield CATEGORIES
    if op.kind == "ReduceSum" or (isinstance(values, np.ndarray) and len(np.unique(values)) < len(values)):
        yield RARE
    if op.kind in {"Scaler", "Sub", "Div"}:
        yield MOMENTS
    if op.kind in {"Mul", "Add", "Clip"} or (op.kind == "Scaler" and not np.any(op.attributes.get("offset", 0))):
        yield EXTREMES
    if op.kind == "Imputer":
        yield FILLS
