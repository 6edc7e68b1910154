"""How many people some cells have at most, given all that is published: proved, and shown by an assignment.

The limit is proved by a sum of constraints. Its multipliers are rounded to whole multiples of 1 / SCALE and checked in
whole numbers, so that it holds whatever the solver's floating point did; `people_at_most` verifies it a second time.
How many people cells have at least is the size of their class less how many its other cells have at most.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from leafgate.algorithms.joint_classes import JointSystem
from leafgate.algorithms.joint_proofs import CONTRADICTION, INFEASIBLE, OPTIMAL, Proof, check_witness
from leafgate.algorithms.leaf_statements import NO_LIMIT
from leafgate.errors import InconclusiveError
from leafgate.kernel.arrays import Floats, Ids, Mask

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SCALE = 2**30
"""Multipliers are whole multiples of one over this: sums of them times people fit into 64 bits."""

LARGEST_MULTIPLIER = 2**10
"""Larger multipliers of the solver are of no use, and are not tried, so that sums fit into 64 bits."""

LEAST_SECONDS = 0.01
"""A solver is given at least this."""


@dataclass(frozen=True, kw_only=True, eq=False)
class UpperBound:
    """How many people some cells have at most.

    Attributes:
        people: no assignment has more.
        proof: a sum of constraints; None where the solver searched all branches.
        assignment: one that agrees with everything that is published, with as many of these people as were found; None
            where none was found in time.
        found: how many people it has in the cells; -1 without an assignment.
    """

    people: int
    proof: Proof | None
    assignment: Ids | None = None
    found: int = -1

    @property
    def is_exact(self) -> bool:
        """Does some assignment have as many?"""
        return self.found == self.people


def system_of_one_class(matrix: csr_array, low: Ids, high: Ids) -> JointSystem:
    """Constraints on the people of one class, whose size the first of them states.

    Args:
        matrix: shape (n_constraints, n_cells), whole numbers; the first row is 1 at each cell.
        low: shape (n_constraints,).
        high: shape (n_constraints,); at first the same as low.
    """
    n_rows, n_cells = matrix.shape
    return JointSystem(
        class_of=np.zeros(0, dtype=np.int64),
        size=low[:1],
        present=np.ones((1, 1), dtype=bool),
        cell_class=np.zeros(n_cells, dtype=np.int64),
        cell_value=np.zeros(n_cells, dtype=np.int64),
        values=(None,),
        matrix=matrix,
        low=low,
        high=high,
        tree=np.full(n_rows, -1),
        leaf=np.full(n_rows, -1),
    )


def most_people(
    system: JointSystem, cells: Mask, *, whole: bool = True, time_limit: float = float("inf")
) -> UpperBound:
    """How many people some cells have at most in any assignment.

    Args:
        system: what is published.
        cells: shape (n_cells,), the cells whose people are counted.
        whole: whether to search whole numbers of people where the sum of constraints proves more than is found.
        time_limit: seconds for each of two calls of the solver. Whatever is found in them, the limit holds.

    Raises:
        InconclusiveError: no assignment agrees with what is published.

    Source: A. Dobra, S. E. Fienberg, PNAS 97(22), 2000, doi:10.1073/pnas.97.22.11885 (bounds of cells given margins);
    Schrijver, "Theory of Linear and Integer Programming", Wiley, 1986, sections 7.4 and 23.1 (certificates).
    Departure: multipliers are rounded and made up for by the sizes of the classes, so that limits are exact.
    """
    wanted = cells.astype(np.float64)
    start = time.monotonic()
    relaxed = _linear_relaxation(system, wanted, time_limit)
    if relaxed is not None and relaxed.status == INFEASIBLE:
        raise InconclusiveError(CONTRADICTION)
    duals = None if relaxed is None or relaxed.status != OPTIMAL else _duals(system, relaxed)
    people, proof = _dual_bound(system, cells, duals)
    best = _rounded(system, None if duals is None or relaxed is None else relaxed.x)
    if (best is not None and int(best[cells].sum()) == people) or not whole:
        return _bound(people, proof, best, cells)
    left = max(time_limit - (time.monotonic() - start), LEAST_SECONDS)
    searched, is_best = best_assignment(system, wanted, time_limit=left)
    if searched is not None and (best is None or searched[cells].sum() > best[cells].sum()):
        best = searched
    if is_best and best is not None and int(best[cells].sum()) < people:
        return _bound(int(best[cells].sum()), None, best, cells)
    return _bound(people, proof, best, cells)


def _bound(people: int, proof: Proof | None, assignment: Ids | None, cells: Mask) -> UpperBound:
    found = -1 if assignment is None else int(assignment[cells].sum())
    return UpperBound(people=people, proof=proof, assignment=assignment, found=found)


def _rows(system: JointSystem) -> tuple[Ids, Ids, Ids]:
    """Equalities, constraints with an upper end, and those with a lower end."""
    is_equal = system.low == system.high
    below = np.flatnonzero(~is_equal & (system.high < NO_LIMIT))
    return np.flatnonzero(is_equal), below, np.flatnonzero(~is_equal & (system.low > -NO_LIMIT))


def _linear_relaxation(system: JointSystem, wanted: Floats, seconds: float) -> Any:
    from scipy.optimize import linprog
    from scipy.sparse import vstack

    equal, below, above = _rows(system)
    matrix = system.matrix.astype(np.float64)
    upper: dict[str, Any] = {}
    if len(below) + len(above):
        upper["A_ub"] = vstack([matrix[below], -matrix[above]], format="csr")
        upper["b_ub"] = np.concatenate([system.high[below], -system.low[above]]).astype(np.float64)
    if len(equal):
        upper |= {"A_eq": matrix[equal], "b_eq": system.low[equal].astype(np.float64)}
    return linprog(-wanted, bounds=(0, None), method="highs", options=_limit(seconds), **upper)


def _limit(seconds: float) -> dict[str, float]:
    return {} if seconds == float("inf") else {"time_limit": max(seconds, LEAST_SECONDS)}


def _duals(system: JointSystem, relaxed: Any) -> Floats:
    """The multiplier of each constraint, as the solver has it."""
    equal, below, above = _rows(system)
    duals = np.zeros(len(system.low))
    if len(equal):
        duals[equal] = -relaxed.eqlin.marginals
    if len(below) + len(above):
        marginals = relaxed.ineqlin.marginals
        duals[below] -= marginals[: len(below)]
        duals[above] += marginals[len(below) :]
    return np.clip(np.nan_to_num(duals), -LARGEST_MULTIPLIER, LARGEST_MULTIPLIER)


def _dual_bound(system: JointSystem, cells: Mask, duals: Floats | None) -> tuple[int, Proof]:
    """The limit by these multipliers, rounded and made up for; by the sizes of the classes alone where that is less."""
    n_rows = len(system.low)
    alone = _exact_bound(system, cells, np.zeros(n_rows, dtype=np.int64))
    if duals is None:
        return alone
    by_duals = _exact_bound(system, cells, np.rint(duals * SCALE).astype(np.int64))
    return min(alone, by_duals, key=lambda each: each[0])


def _exact_bound(system: JointSystem, cells: Mask, scaled: Ids) -> tuple[int, Proof]:
    """Multipliers, in units of 1 / SCALE, with as much more of the sizes of classes as covers each cell."""
    scaled = scaled.copy()
    scaled[(scaled > 0) & (system.high >= NO_LIMIT)] = 0
    scaled[(scaled < 0) & (system.low <= -NO_LIMIT)] = 0
    lacking = cells.astype(np.int64) * SCALE - system.matrix.T.astype(np.int64) @ scaled
    more = np.zeros(system.n_classes, dtype=np.int64)
    np.maximum.at(more, system.cell_class, lacking)
    scaled[: system.n_classes] += more  # the first constraints are the sizes
    used = np.flatnonzero(scaled)
    ends = np.where(scaled[used] > 0, system.high[used], system.low[used])
    total = sum(m * end for m, end in zip(scaled[used].tolist(), ends.tolist(), strict=True))  # of any size
    multipliers = {int(row): Fraction(int(scaled[row]), SCALE) for row in used}
    return total // SCALE, Proof(cells=np.flatnonzero(cells), multipliers=multipliers)


def _rounded(system: JointSystem, solution: Any) -> Ids | None:
    """The solution in whole numbers, where that agrees with everything."""
    if solution is None:
        return None
    assignment = np.rint(solution).astype(np.int64)
    return assignment if check_witness(system, assignment) else None


def best_assignment(
    system: JointSystem, worth: Floats, *, gap: float = 0.0, time_limit: float = float("inf")
) -> tuple[Ids | None, bool]:
    """An assignment whose people are worth the most, as far as the solver finds one.

    Args:
        system: what is published.
        worth: shape (n_cells,), of one person in each cell.
        gap: the search ends where it is certain that no assignment is worth more than this share more.
        time_limit: seconds.

    Returns:
        Shape (n_cells,), None where none was found, and whether it is certain that none is worth more (but for `gap`).

    Raises:
        InconclusiveError: no assignment agrees with what is published.
    """
    from scipy.optimize import LinearConstraint, milp

    lower = np.where(system.low > -NO_LIMIT, system.low.astype(np.float64), -np.inf)
    upper = np.where(system.high < NO_LIMIT, system.high.astype(np.float64), np.inf)
    result = milp(
        -worth,
        constraints=LinearConstraint(system.matrix.astype(np.float64), lower, upper),
        integrality=np.ones(len(worth)),
        options=_limit(time_limit) | {"mip_rel_gap": gap},
    )
    if result.status == INFEASIBLE:
        raise InconclusiveError(CONTRADICTION)
    assignment = _rounded(system, result.x)
    return assignment, assignment is not None and result.status == OPTIMAL
