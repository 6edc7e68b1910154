"""Where the problem has many optima: a bound on them all, and the best that several starts find."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from leafgate.errors import InconclusiveError
from leafgate_maxent.activating import broken, joined, nothing
from leafgate_maxent.certificate import capped, caps_of, upper_bound
from leafgate_maxent.conflict import refuse_conflict
from leafgate_maxent.elastic import elastic
from leafgate_maxent.outcome import Outcome, Settings
from leafgate_maxent.posing import Posed, Search, posed
from leafgate_maxent.problem import Problem
from leafgate_maxent.reducing import Active
from leafgate_maxent.starts import all_starts
from leafgate_maxent.structured import Way
from leafgate_maxent.walk import Floats

KEPT = 1e-6
"""A start that misses a constraint by more people than this has found nothing."""
ROUNDS, BOUNDING, SHAKES = 25, 4, 3
"""How often constraints are added in a start and for the bound, and how often a start that is stuck is shaken."""
PRICE = 100.0
"""What it costs to relax an internal constraint while looking for an optimum that needs no relief."""
NOISE = (0.3, 0.1, 1.0)
"""How uneven the starts are, in turn: the closed form is a saddle, equal for classes that no leaf tells apart."""
CERTAIN = 1e-6
"""A relaxed optimum that breaks nothing is the optimum, if its gap is smaller than this."""
ROUGH = Way(last=1e-3, flat=1e-6, most=150)
SMALL, EXACT = 2000, 1e-10
"""Starts of parts with fewer variables are followed down to a smaller barrier."""
FINE = Way(first=1e-3, last=1e-5, flat=1e-6, most=150)


def searched(search: Search, settings: Settings) -> Outcome:
    """The best of several starts, under a bound from a convex relaxation."""
    relaxed = _relaxed(search, FINE.last)
    if not len(broken(search.problem, relaxed.people, nothing(search.problem))):
        exact = _relaxed(search, EXACT)
        if not len(broken(search.problem, exact.people, nothing(search.problem))) and exact.gap < CERTAIN:
            return replace(exact, bound=max(exact.bound, exact.entropy))
    ended = [each for each in all_starts(one_start, search, settings) if max(each.missed.values()) <= KEPT]
    search.in_time(relaxed.bound)
    if not ended:
        refuse_conflict(search.problem, search.deadline)
        at_most = f"; the entropy is at most {relaxed.bound:.6g} nats a person" if relaxed.bound >= 0 else ""
        raise InconclusiveError(
            f"no start of {settings.starts} led to a belief that keeps all constraints{at_most}",
            remedy="try more `starts`",
        )
    best = max(ended, key=lambda each: each.entropy)
    if best.entropy > relaxed.bound + CERTAIN * max(1.0, abs(relaxed.bound)):
        raise InconclusiveError("a belief was found above the bound that no belief can be above: this is a defect")
    return replace(
        best,
        bound=max(relaxed.bound, best.entropy),
        found=tuple(sorted((each.entropy for each in ended), reverse=True)),
        others=tuple(each.people for each in ended if each is not best),
    )


def _relaxed(search: Search, last: float) -> Outcome:
    """The optimum with the internal constraints relaxed as far as makes them convex; its bound holds for all.

    Their prices are capped (certificate.caps_of) by letting them be broken at a cost.
    """
    problem, people, active = search.problem, search.start, nothing(search.problem)
    for _ in range(BOUNDING):
        active = joined(active, broken(problem, people, active))
        question = posed(search, active, people)
        caps, most = caps_of(question.part)
        relief = replace(elastic(question.part, caps, most), convex=True)
        solved = search.engine.solve(relief, Way(last=last, deadline=search.deadline))
        solved = replace(solved, x=solved.x[: len(question.part)])
        people = question.people(solved.x)
        search.in_time(problem.entropy(search.start) if search.alone else problem.ceiling)
        if not len(broken(problem, people, active)):
            break
    point = capped(solved, caps, most)
    bound = question.raised(people, point.x, upper_bound(question.part, point))
    return replace(question.outcome(point, convex=False), bound=bound)


def one_start(search: Search, number: int, seed: int) -> Outcome:
    """A local optimum, looked for from the closed form made uneven: roughly, and then exactly.

    Where a constraint still needs relief, the people it is about are made uneven once more.
    """
    problem = search.problem
    rng = np.random.default_rng([seed, number])
    people = search.start * _noise(rng, NOISE[number % len(NOISE)], search.start.shape)
    active = broken(problem, search.start, nothing(problem))
    way, shaken = ROUGH, 0
    for _ in range(ROUNDS):
        people, outcome = _local(search, active, people, way)
        more = broken(problem, people, active)
        stuck = _stuck(problem, people, active) & (shaken < SHAKES)
        done = way is FINE and not len(more) and not stuck.any()
        if done or search.late:
            break
        active = joined(active, more)
        if stuck.any():
            people[stuck] *= _noise(rng, 1.0, (int(stuck.sum()), problem.classes))
            shaken += 1
        way = replace(ROUGH, first=0.1 if stuck.any() else 0.01) if len(more) or stuck.any() else FINE
    return outcome


def _noise(rng: np.random.Generator, size: float, shape: tuple[int, int]) -> Floats:
    return rng.gamma(1 / size**2, size**2, size=shape)


def _stuck(problem: Problem, people: Floats, active: Active) -> NDArray[np.bool_]:
    """The strata below the nodes whose constraints were imposed and are broken all the same."""
    below = np.zeros(len(problem.strata))
    for choices, imposed in zip(problem.choices, active.choices, strict=True):
        node = np.unique(choices.node[imposed[choices.slack(people)[imposed] < -1e-3]])
        below += np.asarray(choices.whole[node].sum(axis=0)).ravel()
    return np.asarray(below > 0)


def _local(search: Search, active: Active, people: Floats, way: Way) -> tuple[Floats, Outcome]:
    """Where the engine ends from some people on, when relief from each constraint costs PRICE."""
    question: Posed = posed(search, active, people)
    dear = np.full(len(question.part.curved), PRICE)
    eased = elastic(question.part, sp.csr_array(sp.eye_array(len(dear))), dear)
    last = EXACT if way.last == FINE.last and len(question.part) < SMALL else way.last
    solved = search.engine.solve(eased, replace(way, deadline=search.deadline, last=last))
    solved = replace(solved, x=solved.x[: len(question.part)])
    outcome = question.outcome(solved, convex=False)
    return outcome.people.copy(), outcome
