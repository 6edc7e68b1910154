"""The literal problem solved by IPOPT through casadi."""

from __future__ import annotations

from typing import Any

import casadi
import numpy as np

from literal_candidates import Comparison, Rows
from literal_maxent import Floats, Model
from literal_starting import Answer, Unknowns, accepted, unknowns_of


def solve_casadi(model: Model, start: Floats) -> Answer | None:
    """By IPOPT, with derivatives by casadi."""
    known = unknowns_of(model)
    x = casadi.SX.sym("x", int(known.free.sum()))
    cells = _symbols(x, known)
    counts = [[float(w) * cell for cell in row] for w, row in zip(model.weight, cells, strict=True)]
    inner = [_excess(one, counts) for one in model.comparisons]
    linear = casadi.DM(np.concatenate([known.equal, known.least])) @ x
    lower = np.concatenate([known.is_, known.at_least, np.full(len(inner), -np.inf)])
    upper = np.concatenate([known.is_, np.full(len(known.least), np.inf), np.zeros(len(inner))])
    weight = np.broadcast_to(model.weight[:, None], model.shape)[known.free]
    objective = casadi.dot(casadi.DM(weight) * x, casadi.log(x))
    problem = {"x": x, "f": objective, "g": casadi.vertcat(linear, *inner)}
    quiet = {"print_level": 0, "sb": "yes", "bound_relax_factor": 0.0}
    tight = {"tol": 1e-10, "constr_viol_tol": 1e-10, "acceptable_tol": 1e-9, "max_iter": 200, "s_max": 1e10}
    options: dict[str, Any] = {"ipopt": quiet | tight, "print_time": False, "show_eval_warnings": False}
    solver = casadi.nlpsol("solver", "ipopt", problem, options)
    found = solver(x0=start[known.free], lbx=0.0, lbg=lower, ubg=upper)
    p = np.zeros(model.shape)
    p[known.free] = np.asarray(found["x"]).ravel()
    return accepted(model, p, settled=bool(solver.stats()["success"]))


def _symbols(x: Any, known: Unknowns) -> list[list[Any]]:
    """The variables in their places, 0 elsewhere."""
    cells = np.zeros(known.free.shape, dtype=object)
    cells[known.free] = [x[i] for i in range(int(known.free.sum()))]
    return [[0.0 if isinstance(cell, int) else cell for cell in row] for row in cells]


def _zero(term: Any) -> bool:
    return isinstance(term, float) and term == 0


def _excess(one: Comparison, counts: list[list[Any]]) -> Any:
    """literal_maxent.excess on symbols."""
    asked = sum(_purity(one, part, counts) for part in one.asked)
    candidate = sum(_purity(one, part, counts) for part in one.candidate.parts)
    return one.factor * candidate - asked + (1 - one.factor) * _purity(one, one.rows, counts)


def _purity(one: Comparison, part: Rows, counts: list[list[Any]]) -> Any:
    held = [total for total in (sum(counts[row][x] for row in part) for x in range(len(counts[0]))) if not _zero(total)]
    if one.measure == "gini":
        return sum(n * n for n in held) / sum(held)
    return sum(n * casadi.log(n / sum(held)) for n in held)
