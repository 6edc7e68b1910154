"""What an ONNX graph makes of people's columns before its trees ask about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from leafgate.api import ReleaseError
from leafgate.ir.features import SINGLE_PRECISION
from leafgate.readers import CategoryCodes, Numeric, OneHot
from leafgate_plugins.onnx import LABELS_PRODUCER, PRODUCER
from leafgate_plugins.onnx.graph import Given, Graph, Operator
from leafgate_plugins.onnx.operators import LEARNED, SCALES, SHAPES
from leafgate_plugins.onnx.operators_categorical import CODES, SUMS
from leafgate_plugins.onnx.symbolic import Act, Cell, Value, Wire, refuse, wire
from leafgate_plugins.onnx.wire import DOUBLE, FLOAT, INTEGER, TEXT, TRUTH, Tensor, tensor_of

ACTS: Mapping[str, tuple[Act, str, set[str]]] = {**SHAPES, **SCALES, **LEARNED, **CODES, **SUMS}
CONSTANT = "Constant"
MAX_COLUMNS = 20_000
"""So many columns operators may be given; trees may be given more."""

MAX_WORK = 1_000_000
"""So many cells, and steps and codes of cells, all operators may make together."""


def leading(graph: Graph, ensemble: Operator) -> list[Operator]:
    """The operators that make what the trees read, directly or through others, in their order."""
    wanted, found = set(ensemble.inputs), list[Operator]()
    for op in reversed(graph.operators):  # every graph has its operators in the order they run
        if op is not ensemble and set(op.outputs) & wanted:
            wanted |= set(op.inputs)
            found.append(op)
    return found[::-1]


def known(op: Operator) -> bool:
    """Is it read what this operator does to people's columns?"""
    if op.kind == CONSTANT:
        return op.domain == ""
    return op.kind in ACTS and ACTS[op.kind][1] == op.domain


def features_of(graph: Graph, ensemble: Operator, width: int, place: str) -> Wire:
    """The features of the trees; `width` says how many they ask about, for graphs that do not say."""
    values: dict[str, Value] = {}
    work, operators = 0, leading(graph, ensemble)
    plain = all(op.kind in {"Identity", "Cast"} for op in operators)
    wanted = {name for op in (*operators, ensemble) for name in op.inputs}
    for name in wanted & set(graph.given):
        values[name] = _given(name, graph, width if plain else 0, place)
    if not plain and sum(one.cells.size for one in values.values() if isinstance(one, Wire)) > MAX_COLUMNS:
        raise refuse(operators[0], f"comes after more than {MAX_COLUMNS:,} columns", place)
    for op in operators:
        given = [_value(name, values, graph, op, place) for name in op.inputs]
        for name, out in zip(op.outputs, _acted(op, given, place), strict=True):
            values[name] = out
            work += _work(out)
        if work > MAX_WORK:
            raise refuse(op, "makes more of people's columns than anybody needs", place)
    if len(ensemble.inputs) != 1:
        raise refuse(ensemble, "must be given one thing", place)
    asked = _value(ensemble.inputs[0], values, graph, ensemble, place)
    if not isinstance(asked, Wire):
        raise refuse(ensemble, "is given no columns of people", place)
    return _numbers(asked, ensemble, width, place)


def _acted(op: Operator, given: list[Value], place: str) -> list[Value]:
    """What an operator makes; exactly as many things as it names."""
    if op.kind == CONSTANT:
        result = op.attributes.get("value")
        if set(op.attributes) != {"value"} or not isinstance(result, Tensor) or len(op.outputs) != 1:
            raise refuse(op, "is no tensor", place)
        return [result]
    act, _, attributes = ACTS[op.kind]
    unknown = sorted(set(op.attributes) - attributes)
    if unknown:
        raise refuse(op, f"has an attribute {unknown[0][:40]!r} that is not read here", place)
    made: list[Value] = [*act(op, given, place)]
    if len(made) != len(op.outputs):
        raise refuse(op, "makes another number of things than it names", place)
    return made


def _value(name: str, values: dict[str, Value], graph: Graph, op: Operator, place: str) -> Value:
    """What stands under a name: something made before, a constant, or nothing under no name."""
    if name in values or not name:
        return values.get(name)
    if name in graph.constants:
        values[name] = tensor_of(graph.constants[name], place)
        return values[name]
    raise refuse(op, f"is given {name[:60]!r}, which nothing before it makes", place)


def _given(name: str, graph: Graph, width: int, place: str) -> Wire:
    """The columns under one of the graph's inputs: by its name where it is one, else by their positions in it.

    A missing number is NaN. Files that leafgate wrote are given an empty text in place of a missing one; of others
    nobody knows what they are given.
    """
    given: Given = graph.given[name]
    if given.kind not in {FLOAT, DOUBLE, INTEGER, TEXT, TRUTH} or given.shape is None or not 1 <= len(given.shape) <= 2:
        raise ReleaseError(f"is given {name[:60]!r} of a type or shape that is not read here", place=place)
    size = given.shape[1] if len(given.shape) == 2 else 1
    size = width if size is None else size
    if size is None or not 0 < size <= 100_000:
        raise ReleaseError(f"says not how many columns {name[:60]!r} has", place=place)
    prefix = "x" if len(graph.given) == 1 else name
    names = (
        [name]
        if size == 1 and (given.shape[-1:] == (1,) or len(given.shape) == 1)
        else [f"{prefix}{i}" for i in range(size)]
    )
    steps = (SINGLE_PRECISION,) if given.kind == FLOAT else ()
    told = {FLOAT, DOUBLE, TEXT} if graph.producer in {PRODUCER, LABELS_PRODUCER} else {FLOAT, DOUBLE}
    cells = [Cell(one, Numeric(one, steps), untold=given.kind not in told) for one in names]
    return wire(given.kind, cells, (size,) if len(given.shape) == 2 else ())


def _work(value: Value) -> int:
    """How much there is of it: cells, and of each its steps, or codes that it shares with none."""
    if not isinstance(value, Wire):
        return 0
    return int(value.cells.size) + sum(_parts(cell.origin) for cell in value.cells.ravel())


def _parts(origin: Numeric | CategoryCodes) -> int:
    if isinstance(origin, Numeric):
        return len(origin.steps)
    return 0 if isinstance(origin.codes, OneHot) else len(origin.codes)


def _numbers(asked: Wire, ensemble: Operator, width: int, place: str) -> Wire:
    """What the trees are given, if that is a row of numbers, and as long as they ask about."""
    if asked.kind not in {FLOAT, DOUBLE, INTEGER} or asked.cells.ndim != 1 or any(cell.cut for cell in asked.cells):
        raise refuse(ensemble, "is not given a row of numbers of each person", place)
    if asked.cells.size < width:
        raise refuse(ensemble, f"asks about {width:,} features, and is given {asked.cells.size:,}", place)
    if asked.kind == DOUBLE:
        return asked
    return wire(asked.kind, [_unrounded(cell) for cell in asked.cells], asked.cells.shape)


def _unrounded(cell: Cell) -> Cell:
    """The cell without the rounding that trees do anyway."""
    origin = cell.origin
    if isinstance(origin, Numeric) and origin.steps[-1:] == (SINGLE_PRECISION,):
        return replace(cell, origin=replace(origin, steps=origin.steps[:-1]))
    return cell
