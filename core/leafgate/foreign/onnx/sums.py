"""ONNX's ReduceSum over the codes of one column."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from leafgate.foreign.onnx.cells import Act, Cell, Value, Wire, constant, people, refuse, wire
from leafgate.foreign.onnx.parts import Operator
from leafgate.foreign.onnx.tensors import FLOAT, WHOLE
from leafgate.foreign.origins import Coded, OneOf

MAX_EXACT = 2**24
"""Whole numbers up to here are added up in single precision without rounding."""


def _sum(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
    """ReduceSum along the last axis of codes that one column has: how skl2onnx puts rare categories together."""
    of = people(op, given, place)
    axes = op.attributes["axes"] if "axes" in op.attributes else constant(op, given, 1, WHOLE, place).values
    last = of.cells.ndim
    if not isinstance(axes, np.ndarray) or axes.tolist() not in ([-1], [last]) or op.attributes.get("keepdims", 1) != 1:
        raise refuse(op, "adds along an axis that is not read", place)
    if of.kind != FLOAT or last == 0 or len(given) > 1 + ("axes" not in op.attributes):
        raise refuse(op, "adds what is no numbers", place)
    rows = of.cells.reshape(-1, of.cells.shape[-1])
    return [wire(FLOAT, [_added(row.tolist(), op, place) for row in rows], (*of.cells.shape[:-1], 1))]


def _added(cells: Sequence[Cell], op: Operator, place: str) -> Cell:
    if len(cells) == 1:
        return cells[0]
    coded = [cell.origin for cell in cells if isinstance(cell.origin, Coded)]
    shared = [one.codes for one in coded if isinstance(one.codes, OneOf)]
    if len(shared) < len(cells) or len({id(one.groups) for one in shared}) > 1 or not _exact(shared):
        raise refuse(op, "adds what is no codes of one column", place)
    groups = shared[0].groups
    first, numbers = coded[0], _group_sums(shared)
    codes = {text: numbers[group] for text, group in groups.items()}
    others, gone = [one.other for one in coded], [one.missing for one in coded]
    name = f"{cells[0].origin.column}_infrequent"
    summed = replace(first, codes=codes, other=_total(others), missing=_total(gone))
    return Cell(name, summed, untold=any(cell.untold for cell in cells))


def _group_sums(shared: Sequence[OneOf[str]]) -> Mapping[int, float]:
    """For each group what its values come to over all codes."""
    off = sum(one.off for one in shared)
    numbers = dict.fromkeys(shared[0].groups.values(), off)
    for one in shared:
        numbers[one.group] += one.on - one.off
    return numbers


def _exact(shared: Sequence[OneOf[str]]) -> bool:
    """Whole numbers so small that sums of them are not rounded."""
    numbers = [number for one in shared for number in (one.on, one.off)]
    return all(map(float.is_integer, map(float, numbers))) and sum(map(abs, numbers)) < MAX_EXACT


def _total(numbers: Sequence[float | None]) -> float | None:
    told = [number for number in numbers if number is not None]
    return math.fsum(told) if len(told) == len(numbers) else None


SUMS: Mapping[str, tuple[Act, str, set[str]]] = {
    "ReduceSum": (_sum, "", {"axes", "keepdims", "noop_with_empty_axes"}),
}
"""For each operator what it does, whose it is, and its attributes."""
