"""The structured engine: a primal-dual interior point that never forms the Hessian.

Each Newton system is solved by conjugate gradients, preconditioned with the same system in which the
Hessian is replaced by its diagonal: that one falls apart into the leaves and a small dense matrix, a row for
each active constraint. The Hessian itself is only ever multiplied with vectors, through the blocks.

Where the problem is not convex, the part of the Hessian that belongs to the tests that were asked is left out
as far as it must be for a direction to lead uphill.

Source: Nocedal, Wright, "Numerical Optimization", 2006, chapter 19 (interior points).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import linalg as sl
from scipy import sparse as sp
from scipy.sparse import linalg as sla
from threadpoolctl import threadpool_limits

from leafgate.api import Floats
from leafgate_plugins.maxent.problem.split_constraints import TINY
from leafgate_plugins.maxent.solve.subproblem import Solution, Subproblem


class Step(NamedTuple):
    """A change of x, of the inequalities' prices and of the equalities' prices."""

    x: Floats
    dual: Floats
    equality_dual: Floats

    def plus(self, far: float, direction: Step) -> Step:
        return Step(*(mine + far * theirs for mine, theirs in zip(self, direction, strict=True)))


class Preconditioner:
    """Solves the Newton system with a diagonal M in place of the Hessian.

    Disjoint equations are eliminated first, which takes a diagonal matrix. The other linear constraints fall apart into
    the leaves; what is left is a dense matrix with a row for each curved constraint. `damping` are the slacks over the
    prices of the inequalities, the curved ones first.

    Source: Nocedal, Wright, "Numerical Optimization", 2006, section 16.2 (the Schur-complement method).
    """

    def __init__(self, diagonal: Floats, part: Subproblem, curved: sp.csr_array, damping: Floats) -> None:
        self.inverse = 1 / diagonal
        self.disjoint, self.curves = part.n_disjoint, curved.shape[0]
        self.others = part.equality.shape[0] - self.disjoint
        self.first, self.first_t = part.disjoint_equations
        self.linear, self.linear_t = part.joint_constraints
        self.curved, self.curved_t = curved, sp.csr_array(curved.T)
        self.first_inverse = 1 / np.maximum(self.first.power(2) @ self.inverse, TINY)
        eased = np.concatenate([np.zeros(self.others), damping[self.curves :]])
        shift = DEPENDENCE_SHIFT * (self.linear.power(2) @ self.inverse + eased) + TINY
        among = self._inner(self.linear, self.linear_t) + sp.diags_array(eased + shift)
        self.among_linear = _solver(sp.csc_array(among))
        cross = self._inner(curved, self.linear_t).toarray()
        matrix = self._inner(curved, self.curved_t).toarray() + np.diag(damping[: self.curves])
        matrix -= cross @ self.among_linear(np.ascontiguousarray(cross.T))
        matrix += np.diag(1e-13 * np.abs(matrix.diagonal()) + TINY)
        self.factor = sl.lu_factor(matrix) if len(matrix) else None

    def _inner(self, left: sp.csr_array, right: sp.csr_array) -> sp.csr_array:
        """left P right, where P is the inverse of M among the changes that keep the disjoint equations."""
        weighted = sp.csr_array(left.multiply(self.inverse[None, :]))
        product = weighted @ right
        if self.disjoint:
            of_first = sp.csr_array((weighted @ self.first_t).multiply(self.first_inverse[None, :]))
            product = product - of_first @ (self.first @ right.multiply(self.inverse[:, None]))
        return sp.csr_array(product)

    def _projected(self, vector: Floats) -> Floats:
        """P times a vector."""
        x = self.inverse * vector
        return x - self._spread(self.first @ x) if self.disjoint else x

    def _spread(self, missed: Floats) -> Floats:
        """The smallest change by which the left sides of the disjoint equations rise by so much."""
        return np.asarray(self.inverse * (self.first_t @ (self.first_inverse * missed)))

    def solve(self, right: Floats, right_equal: Floats, right_price: Floats) -> Step:
        """The x, l and v of M x - J' l - A' v = right, A x = right_equal, J x + D l = right_price."""
        first, others = np.split(right_equal, [self.disjoint])
        x = self._projected(right) + self._spread(first)
        v = self.among_linear(np.concatenate([others, right_price[self.curves :]]) - self.linear @ x)
        short = right_price[: self.curves] - self.curved @ (x + self._projected(self.linear_t @ v))
        price = short if self.factor is None else sl.lu_solve(self.factor, short)
        pushed = self.curved_t @ price
        v = v - self.among_linear(self.linear @ self._projected(pushed))
        x = self.inverse * (right + pushed + self.linear_t @ v)
        first_price = self.first_inverse * (first - self.first @ x)
        moved = x + self.inverse * (self.first_t @ first_price)
        duals = np.concatenate([price, v[self.others :]])
        return Step(moved, duals, np.concatenate([first_price, v[: self.others]]))

    def pulled(self, step: Step) -> Floats:
        """What the prices of a step add to the first rows of the system."""
        first, others = np.split(step.equality_dual, [self.disjoint])
        linear = np.concatenate([others, step.dual[self.curves :]])
        return np.asarray(self.first_t @ first + self.linear_t @ linear + self.curved_t @ step.dual[: self.curves])


DEPENDENCE_SHIFT = 1e-11
"""Relative; added to the diagonal, so that equations that follow from others are let be."""


def _solver(matrix: sp.csc_array) -> Callable[[Floats], Floats]:
    """Solves with a symmetric sparse matrix."""
    if not matrix.shape[0]:
        return lambda right: right
    symmetric = {"SymmetricMode": True}
    lu = sla.splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=symmetric)
    return lambda right: np.asarray(lu.solve(right))


MIN_CURVATURE = 1e-9
"""A direction along which the Hessian is less than this part of its diagonal leads nowhere."""


@dataclass(frozen=True)
class Point:
    """Where the iteration stands: x, the slacks of the inequalities, and the prices of everything."""

    x: Floats
    slack: Floats
    dual: Floats
    bound_dual: Floats
    equality_dual: Floats

    def moved(self, step: Point, far: float, priced: float) -> Point:
        return Point(
            self.x + far * step.x,
            self.slack + far * step.slack,
            self.dual + priced * step.dual,
            self.bound_dual + priced * step.bound_dual,
            self.equality_dual + priced * step.equality_dual,
        )


@dataclass
class NewtonSystem:
    """The Newton system at one point, for a barrier mu; `dropped` of what is not convex is left out."""

    part: Subproblem
    point: Point
    mu: float
    dropped: float

    def __post_init__(self) -> None:
        part, point = self.part, self.point
        self.values = part.slack(point.x)
        self.diagonal = (part.reference > 0) / point.x + point.bound_dual / point.x
        self.damping = point.slack / point.dual
        self.short = part.equality_bound - part.equality @ point.x
        self.conditions = Preconditioner(self.diagonal, part, part.curved.jacobian(point.x), self.damping)
        self.counts = part.curved.counts(point.x)

    @property
    def uphill(self) -> Floats:
        """The gradient of the Lagrangian, without the price of x >= 0."""
        point = self.point
        pulled = self.conditions.pulled(Step(point.x, point.dual, point.equality_dual))
        return np.asarray(self.part.gradient(point.x) + pulled)

    def hessian(self, along: Floats) -> Floats:
        """Minus the Hessian of the Lagrangian, and the barrier's, times a direction."""
        curved = self.point.dual[: len(self.part.curved)]
        return np.asarray(
            self.diagonal * along + self.part.curved.hessian_product(self.counts, along, curved, dropped=self.dropped)
        )

    def applied(self, step: Step) -> Floats:
        """The first rows of the system, times a step."""
        return np.asarray(self.hessian(step.x) - self.conditions.pulled(step))

    def direction(self, accuracy: float, most: int = 200) -> Point | None:
        """The Newton step, by conjugate gradients; None where the Hessian is not positive along some direction."""
        point = self.point
        right = self.uphill + self.mu / point.x
        step = self.conditions.solve(right, self.short, self.mu / point.dual - self.values)
        residual = right - self.applied(step)
        along, size, first = None, 0.0, 0.0
        for _ in range(most):
            found = self.conditions.solve(residual, 0 * self.short, 0 * self.values)
            last, size = size, float(residual @ found.x)
            first = first or size
            if size <= accuracy**2 * max(first, 0.0) + 1e-26:
                break
            along = found if along is None else found.plus(size / last, along)
            applied = self.applied(along)
            curvature = float(along.x @ applied)
            if curvature <= MIN_CURVATURE * float(along.x @ (self.diagonal * along.x)):
                return None
            step = step.plus(size / curvature, along)
            residual = residual - size / curvature * applied
        return self._full_step(step)

    def _full_step(self, step: Step) -> Point:
        """What the step in x means for the slacks, and for the prices of x >= 0."""
        point = self.point
        rise = np.concatenate([self.conditions.curved @ step.x, self.part.inequality @ step.x])
        slack = self.values + rise - point.slack
        bound = (self.mu - point.bound_dual * step.x) / point.x - point.bound_dual
        return Point(step.x, slack, step.dual, bound, step.equality_dual)

    def error(self, mu: float) -> float:
        """How far the point is from the optimum of the barrier problem: the worst of all conditions, in people."""
        point = self.point
        parts = [
            np.abs((self.uphill + point.bound_dual) * point.x).max(initial=0),
            np.abs(self.short).max(initial=0),
            np.abs(self.values - point.slack).max(initial=0),
            np.abs(point.slack * point.dual - mu).max(initial=0),
            np.abs(point.x * point.bound_dual - mu).max(initial=0),
        ]
        return float(max(parts))


PRICE_DECAY = 0.7
"""How fast the weight of missed constraints in the merit function falls: one that stays high leaves tiny steps."""
BOUNDARY_FRACTION = 0.995
"""How much of the way to the border one step may go."""


@dataclass(frozen=True)
class SolverOptions:
    """How to iterate: from and down to which barrier, until when, for how many steps.

    A part that is not convex is left when `patience` steps gain no more than `stagnation` of its entropy.
    """

    first_barrier: float = 1.0
    last_barrier: float = 1e-10
    deadline: float = math.inf
    max_steps: int = 200
    stagnation: float = 1e-7
    patience: int = 15


def solve(part: Subproblem, options: SolverOptions = SolverOptions()) -> Solution:
    """The optimum of a convex part; of another a point that no small step improves much.

    `converged` is False where the deadline or the last step came first.
    """
    with threadpool_limits(1):
        return _iterate(part, options)


def _iterate(part: Subproblem, options: SolverOptions) -> Solution:
    mu, dropped, price, steps, done = options.first_barrier, 0.0, 1.0, 0, False
    point = _start(part, mu)
    gained = [part.entropy(point.x)]
    while steps < options.max_steps and time.monotonic() < options.deadline:
        system = NewtonSystem(part, point, mu, dropped)
        while mu > options.last_barrier and (system.error(mu) < 10 * mu or _is_slow(system, gained, mu)):
            mu, gained = max(options.last_barrier, min(mu / 5, mu**1.5)), gained[-1:]
        if mu <= options.last_barrier and (system.error(mu) < 10 * mu or _has_stagnated(gained, options, part)):
            done = True
            break
        system.mu = mu
        step, dropped = _ascent_direction(system, 1e-2 if mu > 1e-4 else 1e-3)
        values = np.concatenate([point.dual + step.dual, point.equality_dual + step.equality_dual])
        price = max(PRICE_DECAY * price, 1.5 * float(np.abs(values).max(initial=0)))
        point = _next_point(part, point, step, mu, price)
        gained.append(part.entropy(point.x))
        steps += 1
    cut = len(part.curved)
    return Solution(point.x, point.dual[:cut], point.dual[cut:], point.equality_dual, done, steps)


def _start(part: Subproblem, mu: float) -> Point:
    typical = np.where(part.reference > 0, part.reference / max(part.curved.classes, 1), 1.0)
    x = np.maximum(part.start, np.minimum(1e-2 * typical, mu))
    slack = np.maximum(part.slack(x), mu)
    price = mu / slack
    price[: len(part.duals)] = np.maximum(part.duals, price[: len(part.duals)])
    bound = np.where(part.reference > 0, mu / x, np.maximum(mu / x, part.costs))
    return Point(x, slack, price, bound, np.zeros(len(part.equality_bound)))


def _has_stagnated(gained: list[float], options: SolverOptions, part: Subproblem) -> bool:
    if part.convex or len(gained) <= options.patience:
        return False
    return gained[-1] - gained[-1 - options.patience] < options.stagnation * abs(gained[-1])


SLOW_STEPS = 5
"""Steps at one barrier parameter after which it is lowered where they gain little."""
SLOW_GAIN = 1e-5
"""Of the entropy; gains of SLOW_STEPS steps below it are little."""


def _is_slow(system: NewtonSystem, gained: list[float], mu: float) -> bool:
    """Is a part that is not convex near enough to the barrier's optimum to lower the barrier, if not at it?"""
    if system.part.convex or len(gained) <= SLOW_STEPS or np.abs(system.short).max(initial=0) > 1e-3 * mu:
        return False
    return gained[-1] - gained[-1 - SLOW_STEPS] < SLOW_GAIN * abs(gained[-1])


def _ascent_direction(system: NewtonSystem, accuracy: float) -> tuple[Point, float]:
    """A direction that leads uphill, and how much of the Hessian the next system should leave out."""
    asked = system.dropped
    step = system.direction(accuracy)
    while step is None:
        system.dropped = 0.5 * (1 + system.dropped) if system.dropped < 0.95 else 1.0
        step = system.direction(1e-2)
    if system.dropped > asked:
        return step, system.dropped
    return step, 0.9 if asked == 1.0 else max(0.0, 2 * asked - 1)


def _next_point(part: Subproblem, point: Point, step: Point, mu: float, price: float) -> Point:
    """The next point: as far along the step as the merit function falls, slacks as large as they can be."""
    far = min(1.0, _step_to_boundary(point.x, step.x), _step_to_boundary(point.slack, step.slack))
    priced = min(1.0, _step_to_boundary(point.dual, step.dual), _step_to_boundary(point.bound_dual, step.bound_dual))
    moved = point.moved(step, _backtrack(part, point, step, far, mu, price), priced)
    return replace(moved, slack=np.maximum(moved.slack, part.slack(moved.x)))


def _step_to_boundary(value: Floats, step: Floats) -> float:
    falling = step < 0
    return float(BOUNDARY_FRACTION * (-value[falling] / step[falling]).min(initial=np.inf))


def _merit(part: Subproblem, x: Floats, slack: Floats, mu: float, price: float) -> float:
    values = part.slack(x)
    slack = np.maximum(slack, values)
    missed = np.abs(values - slack).sum() + np.abs(part.equality @ x - part.equality_bound).sum()
    inside = np.log(np.maximum(x, TINY)).sum() + np.log(np.maximum(slack, TINY)).sum()
    return float(-part.entropy(x) - mu * inside + price * missed)


def _backtrack(part: Subproblem, point: Point, step: Point, far: float, mu: float, price: float) -> float:
    """As far along a step as the merit function falls."""
    before = _merit(part, point.x, point.slack, mu, price)
    for _ in range(12):
        after = _merit(part, point.x + far * step.x, point.slack + far * step.slack, mu, price)
        if after <= before + 1e-9 * abs(before):
            break
        far /= 2
    return far
