"""When nothing keeps all constraints: the smallest set of them that was found in conflict."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NoReturn

import numpy as np
import scipy.optimize as so
import scipy.sparse as sp

from leafgate.errors import InconclusiveError
from leafgate_maxent.linear import KINDS, Linear
from leafgate_maxent.problem import Problem
from leafgate_maxent.walk import Floats, Ids

SHOWN = 4
MANY = 200
"""Up to so many suspects each is tried without."""


def refuse(problem: Problem, people: Floats, deadline: float) -> NoReturn:
    """Raises InconclusiveError: what contradicts what, as far as it can be found in time."""
    rows = _in_conflict(problem, deadline)
    if rows:
        told = "; ".join(_words(problem, linear, row) for linear, row in rows[:SHOWN])
        more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
        raise InconclusiveError(f"no belief keeps all constraints; in conflict are: {told}{more}", remedy=REMEDY)
    worst = max(problem.broken(people).items(), key=lambda kind: kind[1])
    raise InconclusiveError(
        f"no belief was found that keeps all constraints; the {worst[0]} constraints are missed by {worst[1]:.2g}",
        remedy=REMEDY,
    )


REMEDY = "was the release learned from this table, with the measure it names, and is what is known of people true?"


def _in_conflict(problem: Problem, deadline: float) -> list[tuple[Linear, int]]:
    """Linear constraints that nothing keeps together, none of which can be left out of the set."""
    matrix = sp.csr_array(sp.vstack([linear.matrix for linear in problem.linear], format="csr"))
    bound = np.concatenate([linear.bound for linear in problem.linear])
    equal = np.concatenate([np.full(len(linear), linear.equal) for linear in problem.linear])
    upper = np.where(problem.allowed.ravel(), np.inf, 0)
    suspects = _suspects(matrix, bound, equal, upper)
    if len(suspects) <= MANY:
        for row in suspects.tolist():
            fewer = suspects[suspects != row]
            if time.monotonic() > deadline:
                break
            if len(_suspects(matrix[fewer], bound[fewer], equal[fewer], upper)):
                suspects = fewer
    owner = np.concatenate([np.full(len(linear), i) for i, linear in enumerate(problem.linear)])
    first = np.concatenate([[0], np.cumsum([len(linear) for linear in problem.linear])])
    found = [(problem.linear[owner[row]], int(row - first[owner[row]])) for row in suspects.tolist()]
    return sorted(found, key=lambda each: -KINDS.index(each[0].kind))


def _suspects(matrix: sp.csr_array, bound: Floats, equal: Ids, upper: Floats) -> Ids:
    """The rows that a proof of infeasibility uses; none where there is a solution."""
    n, rows = matrix.shape[1], matrix.shape[0]
    short, over = sp.eye_array(rows), sp.csr_array(-sp.eye_array(rows))[:, np.flatnonzero(equal)]
    program = sp.csr_array(sp.hstack([matrix, short, over], format="csr"))
    cost = np.concatenate([np.zeros(n), np.ones(rows + over.shape[1])])
    limits = np.concatenate([upper, np.full(rows + over.shape[1], np.inf)])
    found = so.linprog(
        cost,
        A_eq=program[np.flatnonzero(equal)] if equal.any() else None,
        b_eq=bound[equal] if equal.any() else None,
        A_ub=-program[np.flatnonzero(~equal)] if (~equal).any() else None,
        b_ub=-bound[~equal] if (~equal).any() else None,
        bounds=np.stack([np.zeros(len(limits)), limits], axis=1),
        method="highs",
    )
    if found.status != 0 or found.fun <= 1e-6:
        return np.zeros(0, dtype=np.int64)
    price = np.zeros(rows)
    price[equal] = found.eqlin.marginals
    price[~equal] = found.ineqlin.marginals
    return np.flatnonzero(np.abs(price) > 1e-9)


def _words(problem: Problem, linear: Linear, row: int) -> str:
    """A constraint named, without saying anything of a single person."""
    about = int(linear.about[row, 0])
    if linear.kind == "row":
        return "people of whom it is known that they are in the table"
    if linear.kind in ("leaf count", "leaf rate", "label"):
        return f"the {linear.kind} of leaf {about + 1} of tree {linear.tree + 1}"
    if linear.kind == "background":
        return f"knows.facts[{about}]"
    return "the overall distribution"


def kinds(linear: Sequence[Linear]) -> dict[str, int]:
    """How many constraints there are of each kind."""
    counts: dict[str, int] = {}
    for each in linear:
        counts[each.kind] = counts.get(each.kind, 0) + len(each)
    return counts
