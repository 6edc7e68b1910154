"""Operators of ONNX that give numbers to a column's values: one-hot encoders and label encoders."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from leafgate.ir.features import LOOKUP_ROUNDING, SINGLE_PRECISION, LookupPrecision
from leafgate.readers import CategoryCodes, Numeric, OneHot
from leafgate_plugins.onnx import MISSING_TEXT
from leafgate_plugins.onnx.graph import Operator
from leafgate_plugins.onnx.symbolic import Act, Cell, Value, Wire, check_size, constant, people, refuse, wire
from leafgate_plugins.onnx.wire import FLOAT, INTEGER, TEXT

ML = "ai.onnx.ml"
KEYS = {TEXT: "keys_strings", INTEGER: "keys_int64s", FLOAT: "keys_floats"}
VALUES = {"values_int64s": (INTEGER, "default_int64", -1), "values_floats": (FLOAT, "default_float", 0.0)}
"""What a LabelEncoder gives: its type, and the attribute with what it gives to values it does not know."""


def _one_hot(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
    """A cell for each category: 1 for its own, 0 for others; a value of no category gets zeros, or is refused."""
    of, zeros = people(op, given, place), op.attributes.get("zeros", 1)
    name = "cats_strings" if of.kind == TEXT else "cats_int64s"
    if of.kind not in {TEXT, INTEGER} or set(op.attributes) - {"zeros"} != {name} or zeros not in {0, 1}:
        raise refuse(op, "codes values that are of another type than its categories", place)
    texts = _spelled(op, name, of.kind, place)
    check_size(of.cells.size * len(texts), op, place)
    groups, other = {text: i for i, text in enumerate(texts)}, 0.0 if zeros else None
    outputs: list[Cell] = []
    for cell in of.cells.ravel():
        column, seen = _source(cell, of.kind, op, place)
        own = None if cell.untold else _of_missing(cell, of.kind, texts, seen)
        for text, group in groups.items():
            codes = OneHot(groups, group, (text,))
            missing = None if cell.untold else codes.get(own, other) if own is not None else other
            coded = CategoryCodes(column, codes, other, missing, seen)
            outputs.append(Cell(f"{cell.name}_{text}", coded, untold=cell.untold))
    return [wire(FLOAT, outputs, (*of.cells.shape, len(texts)))]


def _label(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
    """A number for each value, and one for all others."""
    of = people(op, given, place)
    keys, values = ([name for name in op.attributes if name.startswith(prefix)] for prefix in ("keys", "values"))
    if keys != [KEYS.get(of.kind)] or len(values) != 1 or values[0] not in VALUES:
        raise refuse(op, "codes values that are of another type than its keys, or not by numbers", place)
    kind, default, usual = VALUES[values[0]]
    texts, numbers = _spelled(op, keys[0], of.kind, place), op.attributes[values[0]]
    other = op.attributes.get(default, usual)
    if not isinstance(numbers, np.ndarray) or len(numbers) != len(texts) or not isinstance(other, int | float):
        raise refuse(op, "has not one number for each of its keys", place)
    check_size(of.cells.size * len(texts), op, place)
    result = dict(zip(texts, map(float, numbers.tolist()), strict=True))
    outputs: list[Cell] = []
    for cell in of.cells.ravel():
        column, seen = _source(cell, of.kind, op, place)
        own = None if cell.untold else _of_missing(cell, of.kind, texts, seen)
        missing = None if cell.untold else float(other) if own is None else result[own]
        codes = result if cell.untold else {text: code for text, code in result.items() if text != MISSING_TEXT}
        at = texts.index(MISSING_TEXT) if own == MISSING_TEXT else 0
        before = texts[at - 1] if at else ""  # in leafgate's files the word that fills missing cells, if one does
        coded = CategoryCodes(
            column, codes, float(other), missing, seen, before if codes.get(before) == missing else ""
        )
        outputs.append(Cell(cell.name, coded, untold=cell.untold))
    return [wire(kind, outputs, of.cells.shape)]


def _spelled(op: Operator, name: str, kind: int, place: str) -> tuple[str, ...]:
    """Categories or keys as tables spell them; each one once."""
    found = op.attributes.get(name)
    try:
        if kind == TEXT and isinstance(found, list):
            texts = [value.decode("utf-8") for value in found]
        elif isinstance(found, np.ndarray) and np.isfinite(found).all():
            texts = [str(int(one)) if float(one).is_integer() else str(np.float32(one)) for one in found.tolist()]
        else:
            texts = []
    except UnicodeDecodeError:
        texts = []
    if not texts or len(set(texts)) != len(texts):
        raise refuse(op, "has no categories, or one twice, or one that is no value", place)
    return tuple(texts)


def _source(cell: Cell, kind: int, op: Operator, place: str) -> tuple[str, LookupPrecision]:
    """The column an encoder codes, and how it sees its numbers; it must be given as it is."""
    origin = cell.origin
    if not isinstance(origin, Numeric) or set(origin.steps) - {SINGLE_PRECISION}:
        raise refuse(op, f"codes {cell.name[:60]!r}, which is no column as it was given", place)
    if cell.cut:
        return origin.column, "single_whole" if origin.steps else "whole"
    return origin.column, "single" if kind == FLOAT else ""


def _of_missing(cell: Cell, kind: int, texts: Sequence[str], seen: LookupPrecision) -> str | None:
    """The value that stands in for a missing cell, where there is one and the encoder knows it."""
    if kind == TEXT:
        return MISSING_TEXT if MISSING_TEXT in texts else None
    fill = cell.origin.fill if isinstance(cell.origin, Numeric) else None
    if fill is None:
        return None
    return next((text for text in texts if float(text) == LOOKUP_ROUNDING[seen](fill)), None)


CODES: Mapping[str, tuple[Act, str, set[str]]] = {
    "OneHotEncoder": (_one_hot, ML, {"cats_strings", "cats_int64s", "zeros"}),
    "LabelEncoder": (
        _label,
        ML,
        {*KEYS.values(), *VALUES, "values_strings", "default_int64", "default_float", "default_string"},
    ),
}
"""For each operator what it does, whose it is, and its attributes."""


MAX_EXACT = 2**24
"""Whole numbers up to here are added up in single precision without rounding."""


def _sum(op: Operator, given: Sequence[Value], place: str) -> list[Wire]:
    """ReduceSum along the last axis of codes that one column has: how skl2onnx puts rare categories together."""
    of = people(op, given, place)
    axes = op.attributes["axes"] if "axes" in op.attributes else constant(op, given, 1, INTEGER, place).values
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
    coded = [cell.origin for cell in cells if isinstance(cell.origin, CategoryCodes)]
    shared = [one.codes for one in coded if isinstance(one.codes, OneHot)]
    if len(shared) < len(cells) or len({id(one.groups) for one in shared}) > 1 or not _exact(shared):
        raise refuse(op, "adds what is no codes of one column", place)
    groups = shared[0].groups
    first, numbers = coded[0], _group_sums(shared)
    codes = {text: numbers[group] for text, group in groups.items()}
    others, gone = [one.otherwise for one in coded], [one.missing for one in coded]
    name = f"{cells[0].origin.column}_infrequent"
    summed = replace(first, codes=codes, otherwise=_total(others), missing=_total(gone))
    return Cell(name, summed, untold=any(cell.untold for cell in cells))


def _group_sums(shared: Sequence[OneHot[str]]) -> Mapping[int, float]:
    """For each group what its values come to over all codes."""
    off = sum(one.off for one in shared)
    numbers = dict.fromkeys(shared[0].groups.values(), off)
    for one in shared:
        numbers[one.group] += one.on - one.off
    return numbers


def _exact(shared: Sequence[OneHot[str]]) -> bool:
    """Whole numbers so small that sums of them are not rounded."""
    numbers = [number for one in shared for number in (one.on, one.off)]
    return all(map(float.is_integer, map(float, numbers))) and sum(map(abs, numbers)) < MAX_EXACT


def _total(numbers: Sequence[float | None]) -> float | None:
    items = [number for number in numbers if number is not None]
    return math.fsum(items) if len(items) == len(numbers) else None


SUMS: Mapping[str, tuple[Act, str, set[str]]] = {
    "ReduceSum": (_sum, "", {"axes", "keepdims", "noop_with_empty_axes"}),
}
"""For each operator what it does, whose it is, and its attributes."""
