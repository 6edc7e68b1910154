"""The active-set method: solve with few inequalities, add the violated ones; multistart where it is not convex."""

from __future__ import annotations

import math
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse as sp

from leafgate.api import Floats, Ids, InconclusiveError, Mask
from leafgate.processes import worker_pool
from leafgate_plugins.maxent.presolve.fixed_cells import fixed_cells, forced_cells
from leafgate_plugins.maxent.presolve.reduce import LABEL_TOLERANCE, ActiveSet, hold
from leafgate_plugins.maxent.problem.leaf_constraints import LinearConstraints
from leafgate_plugins.maxent.problem.problem import EntropyMaximum, Problem, SolveSettings
from leafgate_plugins.maxent.solve.certificate import cap_duals, dual_caps, upper_bound
from leafgate_plugins.maxent.solve.closed_form import closed_form
from leafgate_plugins.maxent.solve.engine import PosedProblem, Search, engine_of, pose, second_opinion
from leafgate_plugins.maxent.solve.infeasibility import raise_infeasible, raise_on_conflict
from leafgate_plugins.maxent.solve.interior_point import SolverOptions
from leafgate_plugins.maxent.solve.lifting import make_elastic
from leafgate_plugins.maxent.solve.subproblem import Subproblem

VIOLATION_TOLERANCE = 1e-8
"""Inequalities violated by more than this, in people or people x nats, join the active set."""


def empty_active_set(problem: Problem) -> ActiveSet:
    """No inequality is active."""
    none = np.zeros(0, dtype=np.int64)
    return ActiveSet([none for _ in problem.split_constraints], [none for _ in problem.linear])


def violated(problem: Problem, people: Floats, active: ActiveSet, *, margin: float = 0.0) -> ActiveSet:
    """The violated inequalities that are not yet active; of linear ones also those within a margin, in people."""
    choices = [
        np.setdiff1d(np.flatnonzero(each.slack(people) < -VIOLATION_TOLERANCE), had)
        for each, had in zip(problem.split_constraints, active.splits, strict=True)
    ]
    linear = [
        had[:0]
        if each.equal
        else np.setdiff1d(_with_neighbours(each, _missed(each, people) > VIOLATION_TOLERANCE - margin), had)
        for each, had in zip(problem.linear, active.linear, strict=True)
    ]
    return ActiveSet(choices, linear)


def _missed(linear: LinearConstraints, people: Floats) -> Floats:
    """By how much each row is missed; negative where there is something to spare."""
    return np.asarray(linear.bound - linear.matrix @ people.ravel())


def _with_neighbours(linear: LinearConstraints, broken: Mask) -> Ids:
    """The broken rows; of labels all those of a leaf where one is, for the next would break then."""
    if linear.kind != "label":
        return np.flatnonzero(broken)
    return np.flatnonzero(np.isin(linear.about[:, 0], linear.about[broken, 0]))


def union(first: ActiveSet, second: ActiveSet) -> ActiveSet:
    """The inequalities that are active in either set."""

    def both(a: Sequence[Ids], b: Sequence[Ids]) -> list[Ids]:
        return [np.union1d(x, y) for x, y in zip(a, b, strict=True)]

    return ActiveSet(both(first.splits, second.splits), both(first.linear, second.linear))


MIN_CELLS_FOR_PROCESSES = 20_000
"""Problems with fewer cells run all starts in one process, because starting processes costs more."""


def all_starts(
    one_start: Callable[[Search, int, int], EntropyMaximum], search: Search, settings: SolveSettings
) -> Iterator[EntropyMaximum]:
    """Every start's outcome, in order; the same ones however many processes there are."""
    numbers = range(settings.starts)
    processes = min(len(numbers), os.cpu_count() or 1)
    if processes < 2 or search.start.size < MIN_CELLS_FOR_PROCESSES or multiprocessing.current_process().daemon:
        yield from (one_start(search, number, settings.seed) for number in numbers)
        return
    with worker_pool(processes) as pool:
        yield from pool.map(one_start, [search] * len(numbers), numbers, [settings.seed] * len(numbers))


START_TOLERANCE = 1e-6
"""Largest violation, in people, of a start that counts as feasible."""
MAX_START_ROUNDS = 25
"""Rounds of one start in which violated constraints are added to the active set; later rounds add none in practice."""
NEAR_MARGIN = 0.05
"""Linear inequalities with less than so many people to spare join the active set of a start along with broken ones."""
MANY_VIOLATED = 20
"""A start that misses more inequalities than this is solved roughly once more before it is solved exactly."""
MAX_BOUND_ROUNDS = 8
"""Rounds of the convex relaxation; a bound from fewer active constraints is valid, only less tight."""
RELIEF_COST = 100.0
"""Cost of relaxing a split constraint in elastic mode, in nats per person x nat."""
FINE_RELIEF_COST = 1000.0
"""The same where a start is solved exactly: what is relaxed then is far less than START_TOLERANCE."""
START_UNEVENNESS = (0.3, 0.1, 1.0)
"""How uneven the starts are, in turn: the closed form is a saddle point, with equal shares."""
CERTIFIED_GAP = 1e-6
"""A relaxed optimum that breaks nothing is the optimum, if its gap is smaller than this."""
ROUGH = SolverOptions(last_barrier=1e-3, stagnation=1e-5, patience=6, max_steps=150)
BOUND_BARRIER = 1e-4
"""Last barrier parameter of a large relaxation, in people x nats for each variable; the bound holds whatever it is."""
SMALL_PART_VARIABLES = 2000
"""Subproblems with fewer variables are cheap enough to be solved down to EXACT_BARRIER."""
EXACT_BARRIER = 1e-10
"""Last barrier parameter of an exact solve, in people x nats."""
FINE = SolverOptions(first_barrier=1e-3, last_barrier=1e-5, stagnation=1e-6, max_steps=150)
LARGE_PATIENCE = 6
"""Steps that a large part may take at its last barrier with little gain."""


def multistart(search: Search, settings: SolveSettings) -> EntropyMaximum:
    """The best of several starts, under a bound from a convex relaxation."""
    relaxed, active = _relaxed(search, FINE.last_barrier)
    if not len(violated(search.problem, relaxed.people, empty_active_set(search.problem))):
        exact, _ = _relaxed(search, EXACT_BARRIER)
        if (
            not len(violated(search.problem, exact.people, empty_active_set(search.problem)))
            and exact.gap < CERTIFIED_GAP
        ):
            return replace(exact, bound=max(exact.bound, exact.entropy))
    ended = [
        each
        for each in all_starts(one_start, replace(search, active=active), settings)
        if max(each.violations.values()) <= START_TOLERANCE
    ]
    search.check_time(relaxed.bound)
    if not ended:
        raise_on_conflict(search.problem, search.deadline)
        at_most = f"; the entropy is at most {relaxed.bound:.6g} nats a person" if relaxed.bound >= 0 else ""
        raise InconclusiveError(
            f"no start of {settings.starts} led to a belief that keeps all constraints{at_most}",
            remedy="try more `starts`",
        )
    best = max(ended, key=lambda each: each.entropy)
    if best.entropy > relaxed.bound + CERTIFIED_GAP * max(1.0, abs(relaxed.bound)):
        raise InconclusiveError("a belief was found above the bound that no belief can be above: this is a defect")
    return replace(
        best,
        bound=max(relaxed.bound, best.entropy),
        optima=tuple(sorted((each.entropy for each in ended), reverse=True)),
        alternatives=tuple(each.people for each in ended if each is not best),
    )


def _relaxed(search: Search, last: float) -> tuple[EntropyMaximum, ActiveSet]:
    """The optimum with the internal constraints relaxed as far as makes them convex, and the inequalities imposed.

    Their prices are capped (certificate.dual_caps) by letting them be broken at a cost. The bound of this optimum holds
    for all beliefs. Where it breaks labels, on which caps by gini rest, the bound is the ceiling.
    """
    problem, people, active = search.problem, search.start, empty_active_set(search.problem)
    for _ in range(MAX_BOUND_ROUNDS):
        active = union(active, violated(problem, people, active))
        question = pose(search, active, people)
        caps, most = dual_caps(question.part)
        relief = replace(make_elastic(question.part, caps, most), convex=True)
        large = len(question.part) >= SMALL_PART_VARIABLES
        options = SolverOptions(last_barrier=max(last, BOUND_BARRIER) if large else last, deadline=search.deadline)
        solved = search.engine.solve(relief, options)
        solved = replace(solved, x=solved.x[: len(question.part)])
        people = question.people(solved.x)
        search.check_time(problem.entropy(search.start) if search.closed_form_exact else problem.ceiling)
        if not len(violated(problem, people, active)):
            break
    point = cap_duals(solved, caps, most)
    proven = problem.violations(people).get("label", 0.0) <= LABEL_TOLERANCE or not question.part.curved.gini
    bound = question.raised(people, point.x, upper_bound(question.part, point)) if proven else problem.ceiling
    return replace(question.outcome(point, convex=False), bound=bound), active


def one_start(search: Search, number: int, seed: int) -> EntropyMaximum:
    """A local optimum, looked for from the closed form with uneven shares: roughly, and then exactly.

    Where a constraint still needs relief, the people below its node are solved for anew, everybody else held.
    """
    problem = search.problem
    rng = np.random.default_rng([seed, number])
    unevenness = START_UNEVENNESS[number % len(START_UNEVENNESS)]
    people = scale_to_equalities(search, search.start * _noise(rng, unevenness, search.start.shape))
    active = violated(problem, search.start, empty_active_set(problem)) if search.active is None else search.active
    options, repairs = ROUGH, 0
    for _ in range(MAX_START_ROUNDS):
        people, outcome = _local(search, active, people, options)
        more = violated(problem, people, active)
        extra = violated(problem, people, active, margin=NEAR_MARGIN)
        broken = broken_nodes(problem, people, active) if repairs < MAX_REPAIRS else []
        done = options is FINE and not len(more) and not broken
        if done or search.is_late:
            break
        active = union(active, extra)
        if broken:
            people = repair(search, active, people, broken, repairs, rng)
            repairs += 1
        options = replace(ROUGH, first_barrier=0.01) if len(more) > MANY_VIOLATED or broken else FINE
    return outcome


REPAIR_TOLERANCE = 1e-4
"""Split constraints that miss more than this, in people x measure, although relief is dear, are repaired."""
MAX_REPAIRS = 8
"""How often the broken nodes of a start are repaired; each time at a node the solver looks one level further up."""
MAX_REPAIR_TRIES = 12
"""Uneven points from which the people below one node are solved for before the best of them is taken."""
REPAIRED = SolverOptions(first_barrier=0.1, last_barrier=1e-6, stagnation=1e-7, patience=6, max_steps=80)


def broken_nodes(problem: Problem, people: Floats, active: ActiveSet) -> list[tuple[int, int]]:
    """Tree and node of the active split constraints that are broken all the same, the fewest people first."""
    nodes: dict[tuple[int, int], float] = {}
    for tree, (choices, imposed) in enumerate(zip(problem.split_constraints, active.splits, strict=True)):
        broken = imposed[choices.slack(people)[imposed] < -REPAIR_TOLERANCE]
        for node in np.unique(choices.node[broken]).tolist():
            nodes[tree, node] = float((choices.parents[[node]] @ problem.reference)[0])
    return sorted(nodes, key=lambda key: (nodes[key], key))


def repair(
    search: Search,
    active: ActiveSet,
    people: Floats,
    nodes: Sequence[tuple[int, int]],
    levels: int,
    rng: np.random.Generator,
) -> Floats:
    """Solve for the people below each broken node from uneven points, with everybody else held where they are.

    The constraints of a node rest on the people below it alone, and those are few: where the whole problem is stuck at
    a point that breaks them, some of these small problems' starts lead elsewhere. `levels` is how many levels above
    a node its people are taken from.
    """
    question = pose(search, active, people)
    x, touched = question.part.start.copy(), sp.csr_array(question.reduced.gather[np.flatnonzero(question.chosen)])
    for tree, node in nodes:
        strata = _strata_below(search.problem, tree, node, levels)
        cells = np.repeat(strata, search.problem.classes).astype(np.float64)
        chosen = np.asarray(touched @ cells > 0)
        if chosen.any() and not search.is_late:
            x[chosen] = _solve_locally(hold(question.part, x, chosen), search, rng)
    return question.people(x)


def _strata_below(problem: Problem, tree: int, node: int, levels: int) -> Mask:
    """The strata at the ancestor so many levels above a node, or at the root."""
    choices = problem.split_constraints[tree]
    path = [number for number, _ in problem.trees[choices.tree].inner[node].path]
    top = [*path, node][max(len(path) - levels, 0)]
    return np.asarray(choices.parents[[top]].toarray().ravel() > 0)


def _solve_locally(part: Subproblem, search: Search, rng: np.random.Generator) -> Floats:
    """The point that misses the split constraints least, and of those that keep them has the largest entropy."""
    dear = np.full(len(part.curved), RELIEF_COST)
    options = replace(REPAIRED, deadline=search.deadline)
    best, least, entropy = part.start, math.inf, -math.inf
    for attempt in range(MAX_REPAIR_TRIES if len(part) < SMALL_PART_VARIABLES else 2):
        start = part.start * rng.gamma(1.0, 1.0, len(part)) if attempt else part.start
        eased = make_elastic(replace(part, start=start), sp.csr_array(sp.eye_array(len(dear))), dear)
        x = search.engine.solve(eased, options).x[: len(part)]
        missed = max(float(np.maximum(-part.curved.values(x), 0).sum()), REPAIR_TOLERANCE)
        if (missed, -part.entropy(x)) < (least, -entropy):
            best, least, entropy = x, missed, part.entropy(x)
        if (attempt >= 1 and least <= REPAIR_TOLERANCE) or search.is_late:
            break
    return best


MAX_SCALINGS = 30
"""Passes of iterative scaling; a start needs to keep the equalities only nearly."""


def scale_to_equalities(search: Search, people: Floats) -> Floats:
    """Scale people to the equalities (iterative proportional fitting), so that an engine starts near to them.

    Equalities that weigh cells, or count one twice, are left to the engine.
    """
    free = np.isnan(search.fixed)
    people, settled = np.where(free, people.ravel(), 0.0), np.where(free, 0.0, search.fixed)
    sums = []
    for linear in search.problem.linear:
        matrix = linear.matrix
        if linear.equal and (matrix.data == 1).all() and np.bincount(matrix.indices, minlength=1).max() <= 1:
            sums.append((matrix, sp.csr_array(matrix.T), np.maximum(linear.bound - matrix @ settled, 0)))
    for _ in range(MAX_SCALINGS):
        for matrix, spread, bound in sums:
            total = matrix @ people
            factor = np.divide(bound, total, where=total > 0, out=np.ones(len(bound)))
            people = people * np.where(np.diff(spread.indptr) > 0, spread @ factor, 1.0)
    return np.asarray((people + settled).reshape(search.start.shape))


def _noise(rng: np.random.Generator, size: float, shape: tuple[int, int]) -> Floats:
    return rng.gamma(1 / size**2, size**2, size=shape)


def _local(search: Search, active: ActiveSet, people: Floats, options: SolverOptions) -> tuple[Floats, EntropyMaximum]:
    """Where the engine ends from some people on, when relief from each constraint is dear."""
    question: PosedProblem = pose(search, active, people)
    fine = options.last_barrier == FINE.last_barrier
    if fine and len(question.part) < SMALL_PART_VARIABLES:
        options = replace(options, last_barrier=EXACT_BARRIER)
    elif fine:
        options = replace(options, patience=LARGE_PATIENCE)
    dear = np.full(len(question.part.curved), FINE_RELIEF_COST if fine else RELIEF_COST)
    eased = make_elastic(question.part, sp.csr_array(sp.eye_array(len(dear))), dear)
    solved = search.engine.solve(eased, replace(options, deadline=search.deadline))
    solved = replace(solved, x=solved.x[: len(question.part)])
    outcome = question.outcome(solved, convex=False)
    return outcome.people.copy(), outcome


FINAL_TOLERANCE = 1e-6
"""Largest violation, in people, that the final solution may have."""
POOR_GAP = 1e-7
"""A convex problem with a larger relative gap may have cells that the constraints force to be empty."""
MAX_CELLS_FOR_LP = 20_000
"""Problems with at most this many cells are checked by a linear program for cells that facts force to be empty."""
MAX_CONVEX_ROUNDS = 25
"""Rounds in which violated constraints are added."""


def solve(problem: Problem, settings: SolveSettings) -> EntropyMaximum:
    """The belief, certified where the problem is convex, else the best of several starts and a bound.

    Raises InconclusiveError when no belief keeps all constraints (naming the smallest set in conflict
    that was found), when time is up, and when a second engine disagrees.
    """
    start, alone = closed_form(problem)
    deadline = time.monotonic() + settings.time_limit
    if alone and not len(violated(problem, start, empty_active_set(problem))):
        return _refuse_violations(problem, _closed(problem, start), deadline)
    search = Search(problem, _settled_cells(problem), start, alone, engine_of(settings.solver), deadline)
    outcome = _attempt(search, settings)
    if max(outcome.violations.values()) > FINAL_TOLERANCE or (outcome.convex and outcome.gap > POOR_GAP):
        search = replace(search, fixed=forced_cells(problem, search.fixed))
        outcome = _refuse_violations(problem, _attempt(search, settings), deadline)
    return replace(outcome, engine=search.engine.name, engine_difference=second_opinion(search))


def _settled_cells(problem: Problem) -> Floats:
    """The cells that are settled before anything is solved; facts may force more to be empty than equalities do."""
    fixed = fixed_cells(problem)
    facts = any(linear.kind == "background" for linear in problem.linear)
    return forced_cells(problem, fixed) if facts and np.isnan(fixed).sum() <= MAX_CELLS_FOR_LP else fixed


def _attempt(search: Search, settings: SolveSettings) -> EntropyMaximum:
    convex = search.problem.settled or not search.problem.split_constraints
    return solve_convex(search) if convex else multistart(search, settings)


def _closed(problem: Problem, people: Floats) -> EntropyMaximum:
    entropy = problem.entropy(people)
    return EntropyMaximum(
        people, entropy, entropy, closed=True, optima=(entropy,), violations=problem.violations(people)
    )


def _refuse_violations(problem: Problem, outcome: EntropyMaximum, deadline: float) -> EntropyMaximum:
    if max(outcome.violations.values()) > FINAL_TOLERANCE:
        raise_infeasible(problem, outcome.people, deadline)
    return outcome


def solve_convex(search: Search) -> EntropyMaximum:
    """The optimum of a convex problem, with the duality gap."""
    problem, people, active = search.problem, search.start, empty_active_set(search.problem)
    for _ in range(MAX_CONVEX_ROUNDS):
        active = union(active, violated(problem, people, active))
        question = pose(search, active, people)
        part = replace(question.part, convex=True)
        solved = search.engine.solve(part, SolverOptions(deadline=search.deadline))
        people = question.people(solved.x)
        search.check_time(problem.entropy(search.start) if search.closed_form_exact else problem.ceiling)
        if not solved.converged or not len(violated(problem, people, active)):
            break
    bound = question.raised(people, solved.x, upper_bound(part, solved))
    return question.outcome(solved, bound, convex=True)
