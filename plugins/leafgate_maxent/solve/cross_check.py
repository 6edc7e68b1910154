"""The engines, and the cross-check of one engine by the other on a small subproblem."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from leafgate.errors import InconclusiveError
from leafgate.types.arrays import Floats
from leafgate_maxent.presolve.reduce import ActiveSet, reduce_problem, restrict
from leafgate_maxent.problem.problem import Problem
from leafgate_maxent.solve.certificate import dual_caps
from leafgate_maxent.solve.engine import Engine
from leafgate_maxent.solve.interior_point import SolverOptions, solve
from leafgate_maxent.solve.lifting import make_elastic
from leafgate_maxent.solve.subproblem import Solution, Subproblem

if TYPE_CHECKING:
    from leafgate_maxent.solve.engine import Search


OBJECTIVE_TOLERANCE = 1e-8
"""Objectives of two engines may differ by so much, relatively (or absolutely, below 1 person x nat)."""
MAX_VARIABLES = 400
"""Variables of the part that a second engine is given at most."""


def engine_of(solver: str) -> Engine:
    """`structured`, `gekko`, or `auto`: structured, with GEKKO's opinion on a small part."""
    if solver == "gekko":
        return Engine("gekko", _gekko)
    return Engine("structured", solve, _gekko if solver == "auto" else None)


def _gekko(part: Subproblem, options: SolverOptions) -> Solution:
    if not len(part):
        return solve(part, options)
    from leafgate_maxent.solve import gekko as gekko_engine

    return gekko_engine.solve(part, time_limit=min(options.deadline - time.monotonic(), 3600.0))


def second_opinion(search: Search) -> float | None:
    """How far two engines' optima of one small part are apart, relatively; None where none was asked for.

    The part is that of the internal constraint about the fewest cells, made convex. Raises
    InconclusiveError when they are further apart than AGREE.
    """
    engine = search.engine
    part = None if engine.second is None else _small(search.problem, search.start, search.fixed)
    if part is None or engine.second is None:
        return None
    one, other = engine.solve(part, SolverOptions()), engine.second(part, SolverOptions())
    mine, theirs = part.entropy(one.x), part.entropy(other.x)
    apart = abs(mine - theirs) / max(1.0, abs(mine))
    if not other.converged or apart > OBJECTIVE_TOLERANCE:
        raise InconclusiveError(
            f"two engines disagree on a small part of the problem by {apart:.1e}",
            remedy="report it, with the release; `solver: structured` skips the comparison",
        )
    return apart


def _small(problem: Problem, start: Floats, fixed: Floats) -> Subproblem | None:
    """The part of the one internal constraint, broken at the start, that is about the fewest variables."""
    best: Subproblem | None = None
    for tree, choices in enumerate(problem.split_constraints):
        broken = np.flatnonzero(choices.slack(start) < -1e-8)
        people = choices.parents @ np.ones(choices.parents.shape[1])
        for i in broken[np.argsort(people[choices.node[broken]], kind="stable")][:3].tolist():
            none = np.zeros(0, dtype=np.int64)
            chosen = [np.array([i]) if t == tree else none for t in range(len(problem.split_constraints))]
            left = reduce_problem(problem, ActiveSet(chosen, [none] * len(problem.linear)), start, fixed)
            touched = np.unique(left.part.curved.matrix.indices)
            part = restrict(left.part, np.isin(left.component, left.component[touched]))
            if len(touched) and len(part) <= MAX_VARIABLES and (best is None or len(part) < len(best)):
                best = part
    if best is None or problem.settled:
        return None if best is None else replace(best, convex=True)
    return replace(make_elastic(best, *dual_caps(best)), convex=True)
