"""The maximum entropy problem as leafgate solves it: one small function to call."""

from __future__ import annotations

from leafgate.api import Floats
from leafgate_plugins.maxent.problem.problem import Problem, SolveSettings
from leafgate_plugins.maxent.solve.active_set import solve


def solve_reduced(problem: Problem, time_limit: float) -> Floats:
    """People by stratum and class, by the engine that the attack takes unless told otherwise."""
    return solve(problem, SolveSettings(time_limit=time_limit)).people
