"""ONNX's operators for what scikit-learn learned of numbers: scalers, imputers, rows joined."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from leafgate.foreign.onnx.cells import Act, Cell, Value, Wire, each, people, recoded, refuse, wire
from leafgate.foreign.onnx.parts import Operator
from leafgate.foreign.onnx.scales import single, worked
from leafgate.foreign.onnx.tensors import DOUBLE, FLOAT, WHOLE
from leafgate.foreign.origins import Number, Operation

ML = "ai.onnx.ml"


def _scaler(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
    """(number - offset) * scale in single precision, as onnxruntime's `ScalerOp` does it."""
    of = people(op, given, place)
    if of.kind not in {FLOAT, WHOLE} or of.cells.ndim != 1:
        raise refuse(op, "works not on rows of numbers in single precision", place)
    of = single(of, op, place)
    attributes: dict[str, Operation] = {"offset": "minus", "scale": "times"}
    for name, operation in attributes.items():
        by = op.attributes.get(name)
        if not isinstance(by, np.ndarray) or len(by) not in {1, of.cells.size} or not np.isfinite(by).all():
            raise refuse(op, f"needs {name!r} as numbers, one for each of its own", place)
        of = worked(of, operation, by, op, place)
    return [of]


def _imputer(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
    of, by = people(op, given, place), op.attributes.get("imputed_value_floats")
    replaced = op.attributes.get("replaced_value_float", 0.0)
    if of.kind != FLOAT or of.cells.ndim != 1 or not isinstance(replaced, float) or not math.isnan(replaced):
        raise refuse(op, "replaces what is no missing number", place)
    if not isinstance(by, np.ndarray) or len(by) not in {1, of.cells.size} or not np.isfinite(by).all():
        raise refuse(op, "needs one number in place of each missing one", place)
    return [each(_filled, of, FLOAT, by)]


def _filled(cell: Cell, by: float) -> Cell:
    if isinstance(cell.origin, Number):
        return replace(cell, origin=replace(cell.origin, fill=float(by))) if cell.origin.fill is None else cell
    return replace(cell, origin=recoded(cell.origin, lambda code: float(by) if math.isnan(code) else code))


def _joined(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
    """FeatureVectorizer: rows of numbers one after another, in single precision."""
    parts = [people(op, given, place, i) for i in range(len(given))]
    sizes = op.attributes.get("inputdimensions")
    wide = [part.cells.size for part in parts if part.cells.ndim == 1 and part.kind in {FLOAT, DOUBLE, WHOLE}]
    if len({part.kind for part in parts}) != 1:
        raise refuse(op, "joins rows of several types", place)
    if not isinstance(sizes, np.ndarray) or len(wide) != len(parts) or sizes.tolist() != wide or not wide:
        raise refuse(op, "joins rows of other widths than it says", place)
    rounded = [single(part, op, place) for part in parts]
    return [wire(FLOAT, [cell for part in rounded for cell in part.cells.tolist()], (sum(wide),))]


LEARNED: Mapping[str, tuple[Act, str, set[str]]] = {
    "Scaler": (_scaler, ML, {"offset", "scale"}),
    "Imputer": (_imputer, ML, {"imputed_value_floats", "replaced_value_float"}),
    "FeatureVectorizer": (_joined, ML, {"inputdimensions"}),
}
"""For each operator what it does, whose it is, and its attributes."""
