"""Operators of ONNX that move cells and change none: joining, choosing, splitting, another shape."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from leafgate.foreign.onnx.cells import Act, Value, Wire, check_size, constant, people, refuse
from leafgate.foreign.onnx.parts import Operator
from leafgate.foreign.onnx.tensors import WHOLE


def _axis(op: Operator, of: Wire, place: str) -> int:
    """The axis it works along, among those of one person's cells; never the people's own."""
    told, rank = op.attributes.get("axis", 0), of.cells.ndim + 1
    if not isinstance(told, int) or not -rank <= told < rank or told % rank == 0:
        raise refuse(op, "has an axis that is not read: people stand along the first", place)
    return int(told % rank) - 1


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
    """Another shape of each person's cells; nobody's may come to somebody else's."""
    of, shape = people(op, given, place), constant(op, given, 1, WHOLE, place)
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
    of, wanted = people(op, given, place), constant(op, given, 1, WHOLE, place)
    axis = _axis(op, of, place)
    _check_within(wanted.values, of.cells.shape[axis], op, place, least=-of.cells.shape[axis])
    check_size(of.cells.size // max(of.cells.shape[axis], 1) * len(wanted.values), op, place)
    return [Wire(of.kind, np.take(of.cells, wanted.values.reshape(wanted.shape), axis=axis))]


def _chosen(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
    """ArrayFeatureExtractor: some of the last axis."""
    of, wanted = people(op, given, place), constant(op, given, 1, WHOLE, place)
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
    told = op.attributes.get("split")
    sizes = told if told is not None and len(given) == 1 else constant(op, given, 1, WHOLE, place).values
    wrong = told is not None and (len(given) > 1 or not isinstance(told, np.ndarray))
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
