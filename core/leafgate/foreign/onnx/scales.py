"""Operators of ONNX that change numbers one by one: types, arithmetic with constants, bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from leafgate.foreign.onnx.cells import Act, Cell, Value, Wire, each, people, refuse, stepped_cell, wire
from leafgate.foreign.onnx.parts import Operator
from leafgate.foreign.onnx.tensors import DOUBLE, FLOAT, TRUTH, WHOLE, Tensor
from leafgate.foreign.origins import SINGLE, Coded, Number, Operation, Step

TRUTHS = {"False": 0.0, "True": 1.0, "false": 0.0, "true": 1.0, "0": 0.0, "1": 1.0}
"""How tables spell what is true or false."""


def _cast(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
    of, to = people(op, given, place), op.attributes.get("to")
    if of.kind == to:
        return [of]
    if of.kind == TRUTH and to in {FLOAT, DOUBLE, WHOLE}:
        return [each(_truth, of, to)]
    if of.kind in {FLOAT, DOUBLE} and to == WHOLE:
        return [each(lambda cell: _cut(cell, op, place), of, WHOLE)]
    if of.kind in {WHOLE, DOUBLE} and to == FLOAT:
        return [single(of, op, place)]
    if of.kind in {WHOLE, FLOAT} and to == DOUBLE and not any(cell.cut for cell in of.cells.ravel()):
        return [Wire(DOUBLE, of.cells)]
    raise refuse(op, "changes a type in a way that is not read here", place)


def single(of: Wire, op: Operator, place: str) -> Wire:
    """The numbers rounded to single precision."""
    return each(lambda cell: stepped_cell(cell, SINGLE, FLOAT, op, place), of, FLOAT)


def _truth(cell: Cell) -> Cell:
    return replace(cell, origin=Coded(cell.origin.column, TRUTHS, None, None), untold=True)


def _cut(cell: Cell, op: Operator, place: str) -> Cell:
    """A column's own number without its fraction; of a missing one nobody knows what becomes."""
    if not isinstance(cell.origin, Number) or set(cell.origin.steps) - {SINGLE}:
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
        beside = _beside(op, of, by, place)
        if not np.isfinite(beside).all() or (operation == "over" and not beside.all()):
            raise refuse(op, "works with a constant that is no number to work with", place)
        return [worked(of, operation, beside, op, place)]

    return act


def worked(of: Wire, operation: Operation, by: Any, op: Operator, place: str) -> Wire:
    """Every cell after an operation with a number of its own."""
    return each(lambda cell, one: stepped_cell(cell, Step(operation, float(one)), of.kind, op, place), of, of.kind, by)


def _beside(op: Operator, of: Wire, by: Tensor, place: str) -> Any:
    """A constant's numbers, one for each of a person's cells, the same for all people."""
    shape = by.shape[1:] if len(by.shape) == of.cells.ndim + 1 and by.shape[0] == 1 else by.shape
    try:
        return np.broadcast_to(by.values.reshape(shape), of.cells.shape)
    except ValueError:
        raise refuse(op, "has a constant of another width than its numbers", place) from None


def _clip(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
    of, told = people(op, given, place), [*given[1:], None, None]
    if of.kind not in {FLOAT, DOUBLE} or len(given) > 3:
        raise refuse(op, "works not on numbers", place)
    bounds = [op.attributes.get("min"), op.attributes.get("max")]
    for i, one in enumerate(told[:2]):
        if one is None:
            continue
        if not isinstance(one, Tensor) or one.kind != of.kind or len(one.values) != 1 or bounds[i] is not None:
            raise refuse(op, "has bounds that are no numbers of their type", place)
        bounds[i] = float(one.values[0])
    operations: tuple[Operation, Operation] = ("at_least", "at_most")
    for operation, bound in zip(operations, bounds, strict=True):
        if bound is not None:
            step = Step(operation, bound)
            of = wire(of.kind, [_bounded(cell, step, op, place) for cell in of.cells.ravel()], of.cells.shape)
    return [of]


def _bounded(cell: Cell, step: Step, op: Operator, place: str) -> Cell:
    """The cell within a bound; what becomes of NaN is the processor's business."""
    origin = cell.origin
    if isinstance(origin, Coded):
        if any(map(math.isnan, (*origin.codes.values(), 0.0 if origin.other is None else origin.other))):
            raise refuse(op, "bounds codes that are missing numbers", place)
        gone = origin.missing is not None and math.isnan(origin.missing)
        return replace(stepped_cell(cell, step, DOUBLE, op, place), untold=cell.untold or gone)
    return replace(stepped_cell(cell, step, DOUBLE, op, place), untold=cell.untold or origin.fill is None)


SCALES: Mapping[str, tuple[Act, str, set[str]]] = {
    "Cast": (_cast, "", {"to", "saturate"}),
    "Add": (_arithmetic("plus"), "", set()),
    "Sub": (_arithmetic("minus"), "", set()),
    "Mul": (_arithmetic("times"), "", set()),
    "Div": (_arithmetic("over"), "", set()),
    "Clip": (_clip, "", {"min", "max"}),
}
"""For each operator what it does, whose it is, and its attributes."""
