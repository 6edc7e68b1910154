"""The GEKKO engine: IPOPT, as GEKKO runs it on this machine. Only the point it leaves behind is judged.

Source: Beal, Hill, Martin, Hedengren, "GEKKO Optimization Suite", Processes 6(8), 2018; Wächter, Biegler, "On
the implementation of an interior-point filter line-search algorithm for large-scale nonlinear programming",
Math. Program. 106, 2006.
"""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leafgate.api import Floats, InconclusiveError
from leafgate_plugins.maxent.solve.certificate import estimate_duals
from leafgate_plugins.maxent.solve.lifting import Batch, LiftedProblem, decompose_blocks, lift
from leafgate_plugins.maxent.solve.subproblem import Solution, Subproblem

IPOPT = 3
MAX_ITERATIONS = 1000
"""Steps of the solver."""
CONVERGENCE_TOLERANCE = 1e-11
"""How far conditions may be missed, in shares."""
OPTIONS = ["bound_relax_factor 0", "acceptable_iter 0"]
"""No cell below 0, where logarithms end; nothing that is only nearly solved."""
REMEDY = 'pip install "gekko>=1.3.3" where it has a binary with IPOPT, or say `solver: structured`'


@contextlib.contextmanager
def captured_output() -> Iterator[io.StringIO]:
    """All that is printed meanwhile, the data with it."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield said


@contextlib.contextmanager
def empty_model() -> Iterator[Any]:
    """An empty model, in a new folder that only this user can read and that is gone afterwards."""
    try:
        from gekko import GEKKO
    except ImportError as error:
        raise gekko_unavailable("GEKKO is not installed") from error
    model = GEKKO(remote=False)
    assert model._remote is False, "the data stays on this machine"
    try:
        yield model
    finally:
        model.cleanup()
        if Path(model._path).exists():
            shutil.rmtree(model._path)


def run(model: Any, deadline: float, log: io.StringIO) -> bool:
    """Have it solved by IPOPT; False where there was no time or nothing came back.

    Raises InconclusiveError where GEKKO cannot run on this machine.
    """
    left = deadline - time.monotonic()
    if left <= 0:
        return False
    model.options.SOLVER, model.options.MAX_ITER, model.options.MAX_TIME = IPOPT, MAX_ITERATIONS, left
    model.options.RTOL = model.options.OTOL = CONVERGENCE_TOLERANCE
    model.solver_options = OPTIONS
    try:
        model.solve(disp=True, debug=0)
    except OSError as error:
        if Path(str(error.filename)).parent != Path(model._path):
            raise gekko_unavailable("GEKKO's binary is missing or cannot be run") from error
        if "APMonitor" not in log.getvalue():
            raise gekko_unavailable("GEKKO's binary does not work") from error
        return False
    except Exception as error:  # GEKKO raises nothing more special
        if "not supported" in str(error):
            raise gekko_unavailable("GEKKO has no binary for this platform") from error
        return False
    return True


def gekko_unavailable(what: str) -> InconclusiveError:
    """The error where GEKKO cannot run, and what to do about it."""
    return InconclusiveError(f"{what}, so the MaxEnt problem was not solved", remedy=REMEDY)


def solver_of(log: str) -> str:
    """The solver that ran: builds without IPOPT (GEKKO 1.3.2 on Linux) take another and name it only here."""
    found = re.search(r"using default solver: *(\w+)", log)
    return found[1] if found else "IPOPT"


def steps_of(log: str) -> int:
    """The steps that IPOPT says it took, all runs together."""
    return sum(map(int, re.findall(r"Number of Iterations\.*: *(\d+)", log)))


MAX_EXPRESSION_LENGTH = 14_000
"""Characters in an expression; GEKKO's binary refuses 15,000."""
FEASIBILITY_TOLERANCE = 1e-6
"""People by which a point may miss a constraint; of a part of many thousands, so many for each thousand."""
OPTIMALITY_TOLERANCE = 1e-4
"""People x nats by which a point may miss the optimality condition, likewise."""


@dataclass(frozen=True)
class SolvedByGekko(Solution):
    """A point, and the solver that found it: some builds of GEKKO have no IPOPT and take another."""

    solver: str = "IPOPT"


def solve(part: Subproblem, *, time_limit: float) -> SolvedByGekko:
    """The optimum of a convex part; of another a point that no small step improves.

    Not `converged` where `time_limit` seconds were too few. Raises InconclusiveError where GEKKO cannot run.
    """
    deadline = time.monotonic() + time_limit
    problem = lift(part)
    y, said, ran = problem.start.copy(), "", True
    for batch in decompose_blocks(problem):
        with captured_output() as heard, empty_model() as model:
            variables = define_variables(model, problem, batch)
            ran &= run(model, deadline, heard)
            y[batch.variables] = [np.ravel(variable.value)[0] for variable in variables]
        said += heard.getvalue()
    return _judged(part, problem.scale * y[: len(part)], said, ran=ran)


def define_variables(model: Any, problem: LiftedProblem, batch: Batch) -> list[Any]:
    """Add one batch to a model; returns its variables, whose names are GEKKO's own (v1, v2, ...)."""
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
    for piece in split_sum(problem.objective(names, batch.variables)):
        model.Obj(piece)
    return variables


def split_sum(terms: Sequence[str]) -> Iterator[str]:
    """Join terms to sums of at most MAX_EXPRESSION_LENGTH characters, or a single longer term."""
    piece: list[str] = []
    length = 0
    for term in terms:
        if piece and length + len(term) > MAX_EXPRESSION_LENGTH:
            yield "+".join(piece)
            piece, length = [], 0
        piece.append(term)
        length += len(term) + 1
    if piece:
        yield "+".join(piece)


def _shortened(model: Any, terms: Sequence[str]) -> Sequence[str]:
    """The terms; where they are too long together, intermediate variables for sums of them."""
    sums = list(split_sum(terms))
    while len(sums) > 1:
        terms = [model.Intermediate(each).name for each in sums]
        sums = list(split_sum(terms))
    return terms


def _judged(part: Subproblem, x: Floats, said: str, *, ran: bool) -> SolvedByGekko:
    """The point with its prices; done where it keeps every constraint and no small step improves it."""
    x = np.where(np.isfinite(x), np.maximum(x, 0), part.start)
    prices = estimate_duals(part, x)
    many = max(1.0, part.reference.sum() / 1000)
    done = (
        ran and part.max_violation(x) <= FEASIBILITY_TOLERANCE * many and prices.residual <= OPTIMALITY_TOLERANCE * many
    )
    steps, solver = steps_of(said), solver_of(said)
    return SolvedByGekko(x, prices.curved, prices.least, prices.equal, done, steps, solver)
