"""Infeasibility: an irreducible set of constraints that conflict."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

import numpy as np
from scipy import optimize as so
from scipy import sparse as sp

from leafgate.api import Floats, Ids, InconclusiveError, Mask
from leafgate_plugins.maxent.presolve.fixed_cells import component_numbers
from leafgate_plugins.maxent.problem.leaf_constraints import LinearConstraints
from leafgate_plugins.maxent.problem.problem import Problem

MAX_NAMED_CONFLICTS = 4
MAX_SINGLE_CONSTRAINTS = 200
"""Up to so many constraints that share cells are named one by one."""


def raise_infeasible(problem: Problem, people: Floats, deadline: float) -> NoReturn:
    """Raises InconclusiveError: what contradicts what, as far as it can be found in time."""
    raise_on_conflict(problem, deadline)
    kind, missed = max(problem.violations(people).items(), key=lambda each: each[1])
    why = f"no belief was found that keeps all constraints; the {kind} constraints are missed by {missed:.2g}"
    raise InconclusiveError(why, remedy=REMEDY)


def raise_on_conflict(problem: Problem, deadline: float) -> None:
    """InconclusiveError that names the linear constraints in conflict, if there are any."""
    result = irreducible_conflict(problem, deadline)
    if result:
        more = f" and {len(result) - MAX_NAMED_CONFLICTS} more" if len(result) > MAX_NAMED_CONFLICTS else ""
        why = f"no belief keeps all constraints; in conflict are: {'; '.join(result[:MAX_NAMED_CONFLICTS])}{more}"
        raise InconclusiveError(why, remedy=REMEDY)


REMEDY = "was the release learned from this table, with the measure it names, and is what is known of people true?"


@dataclass(frozen=True)
class LinearSystem:
    """Linear constraints: `matrix @ people` equals, or is at least, `bound`; no people above `upper`."""

    matrix: sp.csr_array
    bound: Floats
    equal: Mask
    upper: Floats

    def only(self, rows: Ids) -> LinearSystem:
        return LinearSystem(sp.csr_array(self.matrix[rows]), self.bound[rows], self.equal[rows], self.upper)

    @cached_property
    def missed(self) -> Floats:
        """By how much each row is missed where all together are missed by as little as can be."""
        rows, over = self.matrix.shape[0], np.flatnonzero(self.equal)
        slack = [sp.csr_array(sp.eye_array(rows)), sp.csr_array(-sp.eye_array(rows))[:, over]]
        program = sp.csr_array(sp.hstack([self.matrix, *slack], format="csr"))
        cost = np.concatenate([np.zeros(len(self.upper)), np.ones(rows + len(over))])
        upper = np.concatenate([self.upper, np.full(rows + len(over), np.inf)])
        found = so.milp(
            cost,
            bounds=so.Bounds(0, upper),
            constraints=so.LinearConstraint(program, self.bound, np.where(self.equal, self.bound, np.inf)),
        )
        short = np.zeros(rows) if found.x is None else found.x[len(self.upper) :][:rows].copy()
        if found.x is not None:
            short[over] += found.x[len(self.upper) + rows :]
        return np.asarray(short)

    @property
    def holds(self) -> bool:
        return float(self.missed.sum()) <= 1e-6


def irreducible_conflict(problem: Problem, deadline: float) -> list[str]:
    """Linear constraints that nothing keeps together, in words; none could be left out of the list.

    Where they are few (those that one leaf joins) single constraints are named, else all of a kind.
    """
    linear = problem.linear
    matrix = sp.csr_array(sp.vstack([each.matrix for each in linear], format="csr"))
    bound = np.concatenate([each.bound for each in linear])
    equal = np.concatenate([np.full(len(each), each.equal) for each in linear])
    possible = problem.allowed if problem.allowed_without_facts is None else problem.allowed_without_facts
    system = LinearSystem(matrix, bound, equal, np.where(possible.ravel(), np.inf, 0))
    if system.holds:
        return []
    part = _component(system)
    words = [
        _describe(each, row, single=len(part) <= MAX_SINGLE_CONSTRAINTS) for each in linear for row in range(len(each))
    ]
    names = [words[row] for row in part.tolist()]
    groups = {name: part[[mine == name for mine in names]] for name in dict.fromkeys(names)}
    for name in list(groups):
        fewer = {other: rows for other, rows in groups.items() if other != name}
        if time.monotonic() > deadline or not fewer:
            break
        if not system.only(np.concatenate(list(fewer.values()))).holds:
            groups = fewer
    return sorted(groups, key=lambda name: ("knows" not in name, name))


def _component(system: LinearSystem) -> Ids:
    """The fewest rows that share cells, among which some must be missed."""
    number = component_numbers(system.matrix)[0]
    bad = np.unique(number[system.missed > 1e-6])
    size = np.bincount(number)
    return np.flatnonzero(number == bad[np.argmin(size[bad])])


def _describe(linear: LinearConstraints, row: int, *, single: bool) -> str:
    """A constraint named, without saying anything of a single person."""
    about = int(linear.about[row, 0])
    if linear.kind == "row":
        return "that everyone is in the table once"
    if linear.kind == "background" and about >= 0:
        return f"knows.facts[{about}]"
    if linear.kind == "label accuracy":
        return "how often the labels are right"
    if linear.kind in ("leaf count", "leaf rate", "label"):
        one, many = f"tree {linear.tree + 1}", {"leaf count": "leaf counts"}.get(linear.kind, f"{linear.kind}s")
        return f"the {linear.kind} of leaf {about + 1} of {one}" if single else f"the {many} of {one}"
    return "the overall distribution"


def count_by_kind(linear: Sequence[LinearConstraints]) -> dict[str, int]:
    """How many constraints there are of each kind."""
    counts: dict[str, int] = {}
    for each in linear:
        counts[each.kind] = counts.get(each.kind, 0) + len(each)
    return counts
