"""Operators of ONNX that change numbers one by one: types, arithmetic with constants, bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from leafgate.ir.features import SINGLE_PRECISION, recoded
from leafgate.readers import ArithmeticStep, CategoryCodes, Numeric, Operation
from leafgate_plugins.onnx.graph import Operator
from leafgate_plugins.onnx.symbolic import (
    Act,
    Cell,
    Value,
    Wire,
    check_size,
    constant,
    each,
    people,
    refuse,
    stepped_cell,
    wire,
)
from leafgate_plugins.onnx.wire import DOUBLE, FLOAT, INTEGER, TRUTH, Tensor

TRUTHS = {"False": 0.0, "True": 1.0, "false": 0.0, "true": 1.0, "0": 0.0, "1": 1.0}
"""How tables spell what is true or false."""


def _cast(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
    of, to = people(op, given, place), op.attributes.get("to")
    if of.kind == to:
        return [of]
    if any(cell.asks for cell in of.cells.ravel()):
        raise refuse(op, "makes numbers of what is asked about numbers", place)
    if of.kind == TRUTH and to in {FLOAT, DOUBLE, INTEGER}:
        return [each(_truth, of, to)]
    if of.kind in {FLOAT, DOUBLE} and to == INTEGER:
        return [each(lambda cell: _cut(cell, op, place), of, INTEGER)]
    if of.kind in {INTEGER, DOUBLE} and to == FLOAT:
        return [single(of, op, place)]
    if of.kind in {INTEGER, FLOAT} and to == DOUBLE and not any(cell.cut for cell in of.cells.ravel()):
        return [Wire(DOUBLE, of.cells)]
    raise refuse(op, "changes a type in a way that is not read here", place)


def single(of: Wire, op: Operator, place: str) -> Wire:
    """The numbers rounded to single precision."""
    return each(lambda cell: stepped_cell(cell, SINGLE_PRECISION, FLOAT, op, place), of, FLOAT)


def _truth(cell: Cell) -> Cell:
    return replace(cell, origin=CategoryCodes(cell.origin.column, TRUTHS, None, None), untold=True)


def _cut(cell: Cell, op: Operator, place: str) -> Cell:
    """A column's own number, truncated to a whole one; the result for a missing number is not defined."""
    if not isinstance(cell.origin, Numeric) or set(cell.origin.steps) - {SINGLE_PRECISION}:
        raise refuse(op, "cuts fractions off numbers that are no column's own", place)
    return replace(cell, cut=True, untold=cell.untold or cell.origin.fill is None)


def _arithmetic(operation: Operation) -> Act:
    """Every cell, then a constant: the other way round only where that is the same."""

    def act(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
        first = given[0] if given else None
        turned = operation in {"plus", "times"} and isinstance(first, Tensor)
        of = people(op, given, place, int(turned))
        by = given[1 - int(turned)] if len(given) == 2 else None
        if of.kind not in {FLOAT, DOUBLE} or not isinstance(by, Tensor) or by.kind != of.kind:
            raise refuse(op, "works not on numbers and a constant of their type", place)
        operand = _operand(op, of, by, place)
        if not np.isfinite(operand).all() or (operation == "over" and not operand.all()):
            raise refuse(op, "works with a constant that is no number to work with", place)
        return [worked(of, operation, operand, op, place)]

    return act


def worked(of: Wire, operation: Operation, by: Any, op: Operator, place: str) -> Wire:
    """Every cell after an operation with a number of its own."""
    return each(
        lambda cell, one: stepped_cell(cell, ArithmeticStep(operation, float(one)), of.kind, op, place), of, of.kind, by
    )


def _operand(op: Operator, of: Wire, by: Tensor, place: str) -> Any:
    """A constant's numbers, one for each of a person's cells, the same for all people."""
    shape = by.shape[1:] if len(by.shape) == of.cells.ndim + 1 and by.shape[0] == 1 else by.shape
    try:
        return np.broadcast_to(by.values.reshape(shape), of.cells.shape)
    except ValueError:
        raise refuse(op, "has a constant of another width than its numbers", place) from None


def _clip(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
    of, result = people(op, given, place), [*given[1:], None, None]
    if of.kind not in {FLOAT, DOUBLE} or len(given) > 3:
        raise refuse(op, "works not on numbers", place)
    bounds = [op.attributes.get("min"), op.attributes.get("max")]
    for i, one in enumerate(result[:2]):
        if one is None:
            continue
        if not isinstance(one, Tensor) or one.kind != of.kind or len(one.values) != 1 or bounds[i] is not None:
            raise refuse(op, "has bounds that are no numbers of their type", place)
        bounds[i] = float(one.values[0])
    operations: tuple[Operation, Operation] = ("at_least", "at_most")
    for operation, bound in zip(operations, bounds, strict=True):
        if bound is not None:
            step = ArithmeticStep(operation, bound)
            of = wire(of.kind, [_bounded(cell, step, op, place) for cell in of.cells.ravel()], of.cells.shape)
    return [of]


def _bounded(cell: Cell, step: ArithmeticStep, op: Operator, place: str) -> Cell:
    """The cell within a bound; the result for NaN depends on the processor."""
    origin = cell.origin
    if isinstance(origin, CategoryCodes):
        if any(map(math.isnan, (*origin.codes.values(), 0.0 if origin.otherwise is None else origin.otherwise))):
            raise refuse(op, "bounds codes that are missing numbers", place)
        gone = origin.missing is not None and math.isnan(origin.missing)
        return replace(stepped_cell(cell, step, DOUBLE, op, place), untold=cell.untold or gone)
    return replace(stepped_cell(cell, step, DOUBLE, op, place), untold=cell.untold or origin.fill is None)


def _is_zero(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
    of, by = people(op, given, place), given[1] if len(given) == 2 else None
    if (
        of.kind not in {FLOAT, DOUBLE}
        or not isinstance(by, Tensor)
        or by.kind != of.kind
        or by.values.tolist() != [0.0]
    ):
        raise refuse(op, "compares what is no number with 0", place)
    return [_asking(of, "zero", op, place)]


def _is_missing(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
    return [_asking(people(op, given, place), "missing", op, place)]


def _asking(of: Wire, asks: Literal["zero", "missing"], op: Operator, place: str) -> Wire:
    if any(not isinstance(cell.origin, Numeric) or cell.cut or cell.untold for cell in of.cells.ravel()):
        raise refuse(op, "asks about what is no number of a column", place)
    return each(lambda cell: replace(cell, asks=asks), of, TRUTH)


def _where(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
    """A missing number in place of 0, or a number in place of a missing one."""
    if len(given) != 3:
        raise refuse(op, "is not given three things", place)
    asked, of, by = people(op, given, place), people(op, given, place, 2), constant(op, given, 1, DOUBLE, place)
    alike = asked.kind == TRUTH and asked.cells.shape == of.cells.shape
    if not alike or of.kind != DOUBLE or len(by.values) != 1:
        raise refuse(op, "chooses in a way that is not read here", place)
    number = float(by.values[0])
    pairs = zip(asked.cells.ravel(), of.cells.ravel(), strict=True)
    return [wire(of.kind, [_chosen_number(one, cell, number, op, place) for one, cell in pairs], of.cells.shape)]


def _chosen_number(asked: Cell, cell: Cell, number: float, op: Operator, place: str) -> Cell:
    """The cell, in place of which a number stands where something is so."""
    origin = cell.origin
    if isinstance(origin, Numeric) and isinstance(asked.origin, Numeric) and origin.fill is None and not cell.asks:
        if asked.asks == "zero" and math.isnan(number) and asked.origin == origin and not origin.zero_is_missing:
            return replace(cell, origin=replace(origin, zero_is_missing=True))
        fills = math.isfinite(number) and (number or not origin.zero_is_missing)
        if asked.asks == "missing" and fills and asked.origin == Numeric(origin.column):
            return replace(cell, origin=replace(origin, fill=number))
    raise refuse(op, "chooses in a way that is not read here", place)


SCALES: Mapping[str, tuple[Act, str, set[str]]] = {
    "Cast": (_cast, "", {"to", "saturate"}),
    "Add": (_arithmetic("plus"), "", set()),
    "Sub": (_arithmetic("minus"), "", set()),
    "Mul": (_arithmetic("times"), "", set()),
    "Div": (_arithmetic("over"), "", set()),
    "Clip": (_clip, "", {"min", "max"}),
    "Equal": (_is_zero, "", set()),
    "IsNaN": (_is_missing, "", set()),
    "Where": (_where, "", set()),
}
"""For each operator what it does, whose it is, and its attributes."""


ML = "ai.onnx.ml"


def _scaler(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
    """(number - offset) * scale in single precision, as onnxruntime's `ScalerOp` does it."""
    of = people(op, given, place)
    if of.kind not in {FLOAT, INTEGER} or of.cells.ndim != 1:
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
    if isinstance(cell.origin, Numeric):
        return replace(cell, origin=replace(cell.origin, fill=float(by))) if cell.origin.fill is None else cell
    return replace(cell, origin=recoded(cell.origin, lambda code: float(by) if math.isnan(code) else code))


def _joined(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
    """FeatureVectorizer: rows of numbers one after another, in single precision."""
    parts = [people(op, given, place, i) for i in range(len(given))]
    sizes = op.attributes.get("inputdimensions")
    wide = [part.cells.size for part in parts if part.cells.ndim == 1 and part.kind in {FLOAT, DOUBLE, INTEGER}]
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


def _axis(op: Operator, of: Wire, place: str) -> int:
    """The axis it works along, among those of one person's cells; never the people's own."""
    result, rank = op.attributes.get("axis", 0), of.cells.ndim + 1
    if not isinstance(result, int) or not -rank <= result < rank or result % rank == 0:
        raise refuse(op, "has an axis that is not read: people stand along the first", place)
    return int(result % rank) - 1


def _identity(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
    return [people(op, given, place)]


def _concat(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
    parts = [people(op, given, place, i) for i in range(len(given))]
    if not parts:
        raise refuse(op, "is given nothing", place)
    axis = _axis(op, parts[0], place)
    alike = {(part.kind, *np.delete(part.cells.shape, axis).tolist()) for part in parts if part.cells.ndim}
    if len(alike) != 1 or any(part.cells.ndim != parts[0].cells.ndim for part in parts):
        raise refuse(op, "joins what is not of one type and shape", place)
    check_size(sum(part.cells.size for part in parts), op, place)
    return [Wire(parts[0].kind, np.concatenate([part.cells for part in parts], axis=axis))]


def _reshape(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
    """Another shape of each person's cells; no cell may move from one person to another."""
    of, shape = people(op, given, place), constant(op, given, 1, INTEGER, place)
    first, *rest = shape.values.tolist() or [1]
    whole = math.prod(rest) if all(size > 0 for size in rest) else 0
    if first == 0 and rest.count(-1) == 1 and all(size > 0 or size == -1 for size in rest):
        known = math.prod(size for size in rest if size > 0)
        rest = [of.cells.size // known if size == -1 else size for size in rest]
        whole = math.prod(rest)
    if (
        first not in {0, -1}
        or op.attributes.get("allowzero", 0) != 0
        or whole != of.cells.size
        or len(shape.shape) != 1
    ):
        raise refuse(op, "may mix people's cells", place)
    return [Wire(of.kind, of.cells.reshape(tuple(rest)))]


def _flatten(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
    of = people(op, given, place)
    if op.attributes.get("axis", 1) != 1:
        raise refuse(op, "has an axis that is not read: people stand along the first", place)
    return [Wire(of.kind, of.cells.reshape(-1))]


def _gather(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
    of, wanted = people(op, given, place), constant(op, given, 1, INTEGER, place)
    axis = _axis(op, of, place)
    _check_within(wanted.values, of.cells.shape[axis], op, place, least=-of.cells.shape[axis])
    check_size(of.cells.size // max(of.cells.shape[axis], 1) * len(wanted.values), op, place)
    return [Wire(of.kind, np.take(of.cells, wanted.values.reshape(wanted.shape), axis=axis))]


def _chosen(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
    """ArrayFeatureExtractor: some of the last axis."""
    of, wanted = people(op, given, place), constant(op, given, 1, INTEGER, place)
    if of.cells.ndim != 1 or not len(wanted.values):
        raise refuse(op, "chooses among what is no row of cells", place)
    _check_within(wanted.values, of.cells.shape[-1], op, place)
    check_size(len(wanted.values), op, place)
    return [Wire(of.kind, of.cells[wanted.values])]


def _check_within(wanted: np.ndarray, size: int, op: Operator, place: str, least: int = 0) -> None:
    if ((wanted < least) | (wanted >= size)).any():
        raise refuse(op, "chooses a cell that there is not", place)


def _split(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
    of = people(op, given, place)
    axis = _axis(op, of, place)
    result = op.attributes.get("split")
    sizes = result if result is not None and len(given) == 1 else constant(op, given, 1, INTEGER, place).values
    wrong = result is not None and (len(given) > 1 or not isinstance(result, np.ndarray))
    if wrong or (sizes < 1).any() or int(sizes.sum()) != of.cells.shape[axis] or len(sizes) != len(op.outputs):
        raise refuse(op, "splits cells otherwise than it has them", place)
    return [Wire(of.kind, part) for part in np.split(of.cells, np.cumsum(sizes)[:-1].tolist(), axis=axis)]


SHAPES: Mapping[str, tuple[Act, str, set[str]]] = {
    "Identity": (_identity, "", set()),
    "Concat": (_concat, "", {"axis"}),
    "Reshape": (_reshape, "", {"allowzero"}),
    "Flatten": (_flatten, "", {"axis"}),
    "Gather": (_gather, "", {"axis"}),
    "ArrayFeatureExtractor": (_chosen, "ai.onnx.ml", set()),
    "Split": (_split, "", {"axis"} | {"split"}),
}
"""For each operator what it does, whose it is, and its attributes."""
