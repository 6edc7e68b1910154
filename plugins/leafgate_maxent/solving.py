"""From the problem to the belief of the largest entropy.

Solve without the inequalities, look which are broken, impose those, and repeat: few ever bind. Where the
leaves settle what the tests that were asked gained, the problem is convex and the duality gap certifies the
answer. Elsewhere it has many optima: a convex relaxation bounds them all, several starts look for the best.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from leafgate_maxent.activating import broken, joined, nothing
from leafgate_maxent.certificate import upper_bound
from leafgate_maxent.closed import closed_form
from leafgate_maxent.conflict import refuse
from leafgate_maxent.fixing import fixed_cells, forced_cells
from leafgate_maxent.outcome import Outcome, Settings
from leafgate_maxent.posing import Search, posed
from leafgate_maxent.problem import Problem
from leafgate_maxent.referee import engine_of, second_opinion
from leafgate_maxent.searching import searched
from leafgate_maxent.structured import Way
from leafgate_maxent.walk import Floats

KEPT = 1e-6
"""No constraint of the full problem may be missed by more people than this at the end."""
POOR = 1e-7
"""With a larger gap a convex problem may have cells that its constraints together force to be empty."""
FEW = 20_000
"""Up to so many cells a linear program looks at once for those that facts force to be empty."""
ROUNDS = 25
"""Constraints are added at most so often."""


def solve(problem: Problem, settings: Settings) -> Outcome:
    """The belief, certified where the problem is convex, else the best of several starts and a bound.

    Raises InconclusiveError when no belief keeps all constraints (naming the smallest set in conflict
    that was found), when time is up, and when a second engine disagrees.
    """
    start, alone = closed_form(problem)
    deadline = time.monotonic() + settings.time_limit
    if alone and not len(broken(problem, start, nothing(problem))):
        return _kept(problem, _closed(problem, start), deadline)
    search = Search(problem, _settled_cells(problem), start, alone, engine_of(settings.solver), deadline)
    outcome = _attempt(search, settings)
    if max(outcome.missed.values()) > KEPT or (outcome.convex and outcome.gap > POOR):
        search = replace(search, fixed=forced_cells(problem, search.fixed))
        outcome = _kept(problem, _attempt(search, settings), deadline)
    return replace(outcome, engine=search.engine.name, checked=second_opinion(search))


def _settled_cells(problem: Problem) -> Floats:
    """The cells that are settled before anything is solved; facts may force more to be empty than equalities do."""
    fixed = fixed_cells(problem)
    facts = any(linear.kind == "background" for linear in problem.linear)
    return forced_cells(problem, fixed) if facts and np.isnan(fixed).sum() <= FEW else fixed


def _attempt(search: Search, settings: Settings) -> Outcome:
    convex = search.problem.settled or not search.problem.choices
    return certified(search) if convex else searched(search, settings)


def _closed(problem: Problem, people: Floats) -> Outcome:
    entropy = problem.entropy(people)
    return Outcome(people, entropy, entropy, closed=True, found=(entropy,), missed=problem.broken(people))


def _kept(problem: Problem, outcome: Outcome, deadline: float) -> Outcome:
    if max(outcome.missed.values()) > KEPT:
        refuse(problem, outcome.people, deadline)
    return outcome


def certified(search: Search) -> Outcome:
    """The optimum of a convex problem, with the duality gap."""
    problem, people, active = search.problem, search.start, nothing(search.problem)
    for _ in range(ROUNDS):
        active = joined(active, broken(problem, people, active))
        question = posed(search, active, people)
        part = replace(question.part, convex=True)
        solved = search.engine.solve(part, Way(deadline=search.deadline))
        people = question.people(solved.x)
        search.in_time(problem.entropy(search.start) if search.alone else problem.ceiling)
        if not solved.done or not len(broken(problem, people, active)):
            break
    bound = question.raised(people, solved.x, upper_bound(part, solved))
    return question.outcome(solved, bound, convex=True)
