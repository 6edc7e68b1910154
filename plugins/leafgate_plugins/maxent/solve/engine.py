"""Pose the problem to an engine as a subproblem, read the solution back, and check it with a second engine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse as sp

from leafgate.api import Floats, InconclusiveError, Mask
from leafgate_plugins.maxent.presolve.reduce import ActiveSet, ReducedProblem, reduce_problem, restrict
from leafgate_plugins.maxent.problem.problem import Binding, EntropyMaximum, Problem
from leafgate_plugins.maxent.solve import gekko
from leafgate_plugins.maxent.solve.certificate import dual_caps
from leafgate_plugins.maxent.solve.interior_point import SolverOptions, solve
from leafgate_plugins.maxent.solve.lifting import make_elastic
from leafgate_plugins.maxent.solve.subproblem import Solution, Subproblem

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
    return gekko.solve(part, time_limit=min(options.deadline - time.monotonic(), 3600.0))


def second_opinion(search: Search) -> float | None:
    """How far two engines' optima of one small part are apart, relatively; None where none was asked for.

    The part is that of the internal constraint about the fewest cells, made convex. Raises
    InconclusiveError when they are further apart than OBJECTIVE_TOLERANCE.
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


@dataclass(frozen=True)
class Engine:
    """How parts are solved; `second` is who is asked for another opinion, if anybody."""

    name: str
    solve: Callable[[Subproblem, SolverOptions], Solution]
    second: Callable[[Subproblem, SolverOptions], Solution] | None = None


MIN_BINDING_DUAL = 1e-6
"""Constraints with a smaller dual, in nats per person x nat, are not reported as binding."""


@dataclass(frozen=True)
class Search:
    """What all starts share.

    `fixed[c]` is the number of people in cell c where presolve settles it, else NaN; `start` has shape (n_strata,
    n_classes). If `closed_form_exact`, `start` is the optimum of all components that no inequality touches. `deadline`
    is a time of `time.monotonic`, in seconds. `active` are the inequalities that every start begins with; None: those
    that the closed form breaks.
    """

    problem: Problem
    fixed: Floats
    start: Floats
    closed_form_exact: bool
    engine: Engine
    deadline: float = math.inf
    active: ActiveSet | None = None

    @property
    def is_late(self) -> bool:
        return time.monotonic() > self.deadline

    def check_time(self, bound: float) -> None:
        """Raises InconclusiveError when time is up, with the best bound so far."""
        if self.is_late:
            raise InconclusiveError(
                f"the time limit was reached; the entropy is at most {bound:.6g} nats a person",
                remedy="raise `time_limit`, or attack a smaller tree",
            )


@dataclass(frozen=True)
class PosedProblem:
    """The problem with some inequalities imposed, reduced, and what of it has to be solved."""

    search: Search
    reduced: ReducedProblem
    chosen: Mask
    part: Subproblem

    def people(self, x: Floats) -> Floats:
        """The whole solution: what was solved, and the closed form of all else."""
        everyone = self.reduced.variables(self.search.start)
        everyone[self.chosen] = x
        return self.reduced.people(everyone)

    def raised(self, people: Floats, x: Floats, value: float) -> float:
        """The entropy of `people`, nats a person, had the part that was solved this value (people x nats)."""
        problem = self.search.problem
        return problem.entropy(people) + (value - self.part.entropy(x)) / float(problem.weight.sum())

    def outcome(self, solved: Solution, bound: float = math.inf, *, convex: bool) -> EntropyMaximum:
        problem, people = self.search.problem, self.people(solved.x)
        entropy = problem.entropy(people)
        return EntropyMaximum(
            people,
            entropy,
            max(bound, entropy),
            convex=convex,
            optima=(entropy,),
            active=self._counted(),
            binding=self._binding(solved),
            violations=problem.violations(people),
            variables=len(solved.x),
        )

    def _counted(self) -> dict[str, int]:
        """The inequalities imposed, by kind."""
        chosen = self.reduced.chosen
        counts = {"internal": sum(map(len, chosen.splits))}
        for linear, rows in zip(self.search.problem.linear, chosen.linear, strict=True):
            counts[linear.kind] = counts.get(linear.kind, 0) + len(rows)
        return {kind: count for kind, count in counts.items() if count}

    def _binding(self, solved: Solution) -> list[Binding]:
        """The internal constraints with a price, dearest first."""
        number = [(tree, int(i)) for tree, chosen in enumerate(self.reduced.chosen.splits) for i in chosen]
        about = np.flatnonzero(self.reduced.part.curved.involving(self.chosen))
        dear = np.argsort(-solved.duals, kind="stable")
        return [
            Binding(number[about[i]][0], number[about[i]][1], float(solved.duals[i]))
            for i in dear
            if solved.duals[i] > MIN_BINDING_DUAL
        ]


def pose(search: Search, active: ActiveSet, people: Floats) -> PosedProblem:
    """The problem with these inequalities, to be solved from these people on."""
    left = reduce_problem(search.problem, active, people, search.fixed)
    chosen = np.ones(len(left.part), dtype=bool)
    if search.closed_form_exact:
        touched = np.diff(sp.csc_array(sp.vstack([left.part.curved.matrix, left.part.inequality])).indptr)
        chosen = np.isin(left.component, left.component[touched > 0])
    return PosedProblem(search, left, chosen, replace(restrict(left.part, chosen), convex=left.part.convex))
