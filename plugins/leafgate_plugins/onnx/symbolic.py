"""What flows through an ONNX graph before its trees: for each person some cells, each made from one column."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from leafgate.api import ReleaseError
from leafgate.ir.features import SINGLE_PRECISION, after_steps, recoded
from leafgate.readers import ArithmeticStep, CategoryCodes, Numeric
from leafgate_plugins.onnx.graph import Operator
from leafgate_plugins.onnx.wire import FLOAT, Tensor

MAX_CELLS, MAX_STEPS = 100_000, 100
REMEDY = "audit the pipeline as skops; or save the trees alone, and say what its inputs are under `encoding`"


@dataclass(frozen=True)
class Cell:
    """One number or text that is made from one column: its name and origin.

    `cut`: the column's own number cut down to a whole one. `untold`: what becomes of a missing cell the file does not
    say. `asks`: it is no number, but whether the number that `origin` says is 0 or missing.
    """

    name: str
    origin: Numeric | CategoryCodes
    cut: bool = False
    untold: bool = False
    asks: Literal["", "zero", "missing"] = ""


@dataclass(frozen=True)
class Wire:
    """A tensor with people along its first axis: its type, and one person's cells along all others."""

    kind: int
    cells: Any
    """An array of Cells."""


def wire(kind: int, cells: Sequence[Cell], shape: Sequence[int]) -> Wire:
    """The cells one after another as a tensor of this shape."""
    made = np.empty(len(cells), dtype=object)
    made[:] = cells
    return Wire(kind, made.reshape(tuple(shape)))


Value = Wire | Tensor | None
"""What an operator is given: people's cells, a constant, or nothing where it may be left out."""

Act = Callable[[Operator, Sequence[Value], str], list[Wire]]


def refuse(op: Operator, why: str, place: str) -> ReleaseError:
    """The error that this operator is there, and what about it is not read."""
    return ReleaseError(f"its {op.kind} {why}", place=place, remedy=REMEDY)


def people(op: Operator, given: Sequence[Value], place: str, at: int = 0) -> Wire:
    """People's cells among what an operator is given."""
    found = given[at] if at < len(given) else None
    if not isinstance(found, Wire):
        raise refuse(op, "is not given what people's columns are made into", place)
    return found


def constant(op: Operator, given: Sequence[Value], at: int, kind: int, place: str) -> Tensor:
    """A constant of a type among what an operator is given."""
    found = given[at] if at < len(given) else None
    if not isinstance(found, Tensor) or found.kind != kind:
        raise refuse(op, "needs a constant of its own type, and is given none", place)
    return found


def check_size(cells: int, op: Operator, place: str) -> None:
    if cells > MAX_CELLS:
        raise refuse(op, f"makes more than {MAX_CELLS:,} features", place)


def each(function: Callable[..., Cell], of: Wire, kind: int, *constants: Any) -> Wire:
    """The wire with every cell changed, by the numbers beside it if there are any."""
    spread = [np.broadcast_to(one, of.cells.shape).ravel() for one in constants]
    cells = [function(cell, *rest) for cell, *rest in zip(of.cells.ravel(), *spread, strict=True)]
    return wire(kind, cells, of.cells.shape)


def stepped_cell(cell: Cell, step: ArithmeticStep, kind: int, op: Operator, place: str) -> Cell:
    """The cell one operation on, in the precision of its type; ReleaseError where larger numbers may become smaller."""
    steps: tuple[ArithmeticStep, ...] = (
        (SINGLE_PRECISION, step, SINGLE_PRECISION) if kind == FLOAT and step is not SINGLE_PRECISION else (step,)
    )
    origin = cell.origin
    if isinstance(origin, Numeric):
        if cell.cut or not math.isfinite(step.by) or (step.operation in {"times", "over"} and step.by <= 0):
            raise refuse(op, f"changes {cell.name[:60]!r} so that larger numbers may not stay larger", place)
        steps = steps[1:] if origin.steps[-1:] == (SINGLE_PRECISION,) and steps[0] is SINGLE_PRECISION else steps
        if len(origin.steps) + len(steps) > MAX_STEPS:
            raise refuse(op, f"changes {cell.name[:60]!r} again after {MAX_STEPS} steps", place)
        fill = None if origin.fill is None else after_steps(origin.fill, steps)
        return replace(cell, origin=Numeric(origin.column, (*origin.steps, *steps), fill))
    return replace(cell, origin=recoded(origin, lambda number: after_steps(number, steps)))
