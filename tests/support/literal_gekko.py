"""The literal problem solved by GEKKO's own IPOPT, every constraint written out as an equation. Small tables only."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from gekko import GEKKO

from literal_candidates import Comparison, Rows
from literal_maxent import Floats, Model
from literal_starting import Answer, accepted, unknowns_of

FLOOR = 1e-12
"""No cell that may be positive goes below: there the logarithm ends."""

IPOPT = 3
OPTIONS = ["bound_relax_factor 0", "constr_viol_tol 1e-10", "acceptable_tol 1e-10"]


def solve_gekko(model: Model, start: Floats) -> Answer | None:
    """By IPOPT as GEKKO runs it, on this machine; its names are GEKKO's own, so it learns no value's name."""
    with contextlib.redirect_stdout(io.StringIO()):
        solver = GEKKO(remote=False)
        try:
            return _solved(solver, model, start)
        finally:
            solver.cleanup()


def _solved(solver: Any, model: Model, start: Floats) -> Answer | None:
    known = unknowns_of(model)
    cells = [solver.Var(value=float(p), lb=FLOOR) for p in np.maximum(start[known.free], FLOOR)]
    grid = np.full(model.shape, 0.0, dtype=object)
    grid[known.free] = cells
    for row, is_ in zip(known.equal, known.is_, strict=True):
        solver.Equation(_sum(row, cells) == float(is_))
    for row, at_least in zip(known.least, known.at_least, strict=True):
        solver.Equation(_sum(row, cells) >= float(at_least))
    counts = grid * model.weight[:, None]
    for one in model.comparisons:
        solver.Equation(_excess(solver, one, counts) <= 0)
    shares = np.broadcast_to(model.weight[:, None], model.shape)[known.free] / model.weight.sum()
    solver.Minimize(sum(float(w) * cell * solver.log(cell) for w, cell in zip(shares, cells, strict=True)))
    solver.options.SOLVER = IPOPT
    solver.options.RTOL = solver.options.OTOL = 1e-10
    solver.options.MAX_ITER = 1000
    solver.solver_options = OPTIONS
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # GEKKO's arrays speak to an older numpy
            solver.solve(disp=False)
    except Exception:  # GEKKO raises nothing more special when it finds no solution
        return None
    p = np.zeros(model.shape)
    p[known.free] = [float(np.ravel(cell.value)[0]) for cell in cells]
    return accepted(model, p, settled=solver.options.APPSTATUS == 1)


def _sum(row: Floats, cells: Sequence[Any]) -> Any:
    return sum(float(a) * cell for a, cell in zip(row, cells, strict=True) if a)


def _excess(solver: Any, one: Comparison, counts: Any) -> Any:
    """literal_maxent.excess as an expression."""
    asked = sum(_purity(solver, one, part, counts) for part in one.asked)
    candidate = sum(_purity(solver, one, part, counts) for part in one.candidate.parts)
    whole = 0.0 if one.factor == 1 else (1 - one.factor) * _purity(solver, one, one.rows, counts)
    return one.factor * candidate - asked + whole


def _purity(solver: Any, one: Comparison, part: Rows, counts: Any) -> Any:
    """Sums over cells that may be positive; GEKKO keeps each sum as a quantity of its own."""
    terms = [[cell for cell in counts[list(part), x] if not isinstance(cell, float)] for x in range(counts.shape[1])]
    held = [solver.Intermediate(sum(cells)) for cells in terms if cells]
    total = solver.Intermediate(sum(held))
    if one.measure == "gini":
        return sum(n * n / total for n in held)
    return sum(n * solver.log(n / total) for n in held)
