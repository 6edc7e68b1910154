"""The GEKKO engine: IPOPT, as GEKKO runs it on this machine. Only the point it leaves behind is judged.

Source: Beal, Hill, Martin, Hedengren, "GEKKO Optimization Suite", Processes 6(8), 2018; Wächter, Biegler, "On
the implementation of an interior-point filter line-search algorithm for large-scale nonlinear programming",
Math. Program. 106, 2006.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leafgate_maxent.batching import Batch, batches
from leafgate_maxent.gekko_model import caught, empty_model, run, solver_of, steps_of
from leafgate_maxent.lifting import Lifted, lifted
from leafgate_maxent.part import Part, Solved
from leafgate_maxent.pricing import prices_at
from leafgate_maxent.walk import Floats

LONGEST = 14_000
"""Characters in an expression; GEKKO's binary refuses 15,000."""
NEAR = 1e-6
"""People by which a point may miss a constraint; of a part of many thousands, so many for each thousand."""
FLAT = 1e-4
"""People x nats by which a point may miss the optimality condition, likewise."""


@dataclass(frozen=True)
class SolvedByGekko(Solved):
    """A point, and the solver that found it: some builds of GEKKO have no IPOPT and take another."""

    solver: str = "IPOPT"


def solve(part: Part, *, time_limit: float) -> SolvedByGekko:
    """The optimum of a convex part; of another a point that no small step improves.

    Not `done` where `time_limit` seconds were too few. Raises InconclusiveError where GEKKO cannot run.
    """
    deadline = time.monotonic() + time_limit
    problem = lifted(part)
    y, said, ran = problem.start.copy(), "", True
    for batch in batches(problem):
        with caught() as heard, empty_model() as model:
            variables = tell(model, problem, batch)
            ran &= run(model, deadline, heard)
            y[batch.variables] = [np.ravel(variable.value)[0] for variable in variables]
        said += heard.getvalue()
    return _judged(part, problem.scale * y[: len(part)], said, ran=ran)


def tell(model: Any, problem: Lifted, batch: Batch) -> list[Any]:
    """The variables of a model that is told a batch; their names are GEKKO's own (v1, v2, ...)."""
    variables = [model.Var(value=value, lb=0) for value in problem.start[batch.variables].tolist()]
    names = [""] * len(problem.start)
    for j, variable in zip(batch.variables.tolist(), variables, strict=True):
        names[j] = variable.name
    matrix = problem.matrix[batch.rows][:, batch.variables].tocoo()
    if matrix.nnz:
        used, column = np.unique(matrix.col, return_inverse=True)
        entries = [matrix.row + 1, column + 1, matrix.data]
        right = [np.arange(len(batch.rows)) + 1, problem.right[batch.rows]]
        model.axb(entries, right, [variables[j] for j in used.tolist()], etype="=", sparse=True)
    for terms in problem.curved(names, batch.curved):
        model.Equation(f"{'+'.join(_shortened(model, terms))}>=0")
    for piece in pieces(problem.objective(names, batch.variables)):
        model.Obj(piece)
    return variables


def pieces(terms: Sequence[str]) -> Iterator[str]:
    """Sums of terms, none longer than GEKKO takes."""
    piece: list[str] = []
    length = 0
    for term in terms:
        if piece and length + len(term) > LONGEST:
            yield "+".join(piece)
            piece, length = [], 0
        piece.append(term)
        length += len(term) + 1
    if piece:
        yield "+".join(piece)


def _shortened(model: Any, terms: Sequence[str]) -> Sequence[str]:
    """The terms; where they are too long together, intermediate variables for sums of them."""
    sums = list(pieces(terms))
    while len(sums) > 1:
        terms = [model.Intermediate(each).name for each in sums]
        sums = list(pieces(terms))
    return terms


def _judged(part: Part, x: Floats, said: str, *, ran: bool) -> SolvedByGekko:
    """The point with its prices; done where it keeps every constraint and no small step improves it."""
    x = np.where(np.isfinite(x), np.maximum(x, 0), part.start)
    prices = prices_at(part, x)
    many = max(1.0, part.reference.sum() / 1000)
    done = ran and part.missed(x) <= NEAR * many and prices.missed <= FLAT * many
    steps, solver = steps_of(said), solver_of(said)
    return SolvedByGekko(x, prices.curved, prices.least, prices.equal, done, steps, solver)
