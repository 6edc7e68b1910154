"""The Newton system of the structured engine, and how it is solved without the Hessian.

Source: Gould, Hribar, Nocedal, "On the solution of equality constrained quadratic programming problems
arising in optimization", SIAM J. Sci. Comput. 23(4), 2001 (projected conjugate gradients).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
import scipy.sparse.linalg as sla

from leafgate_maxent.part import Part
from leafgate_maxent.walk import Floats

NEGATIVE = 1e-9
"""A direction along which the Hessian is less than this part of its diagonal leads nowhere."""


@dataclass(frozen=True)
class Point:
    """Where the iteration stands: x, the slacks of the inequalities, and the prices of everything."""

    x: Floats
    slack: Floats
    price: Floats
    bound_price: Floats
    equal_price: Floats

    def moved(self, step: Point, far: float, priced: float) -> Point:
        return Point(
            self.x + far * step.x,
            self.slack + far * step.slack,
            self.price + priced * step.price,
            self.bound_price + priced * step.bound_price,
            self.equal_price + priced * step.equal_price,
        )


class Step(NamedTuple):
    """A change of x, of the inequalities' prices and of the equalities' prices."""

    x: Floats
    price: Floats
    equal_price: Floats

    def plus(self, far: float, other: Step) -> Step:
        return Step(*(mine + far * theirs for mine, theirs in zip(self, other, strict=True)))


class Preconditioner:
    """Solves the Newton system with a diagonal M in place of the Hessian.

    The linear constraints fall apart into the leaves; what is left is a dense matrix with a row for each
    curved one. `damping` are the slacks over the prices of the inequalities, the curved ones first.
    """

    def __init__(self, diagonal: Floats, part: Part, curved: sp.csr_array, damping: Floats) -> None:
        self.inverse = 1 / diagonal
        self.equals, self.curves = part.equal.shape[0], curved.shape[0]
        self.linear = sp.csr_array(sp.vstack([part.equal, part.least], format="csr"))
        self.curved = curved
        self.linear_t, self.curved_t = sp.csr_array(self.linear.T), sp.csr_array(curved.T)
        eased = np.concatenate([np.zeros(self.equals), damping[self.curves :]])
        among = sp.csr_array(self.linear.multiply(self.inverse[None, :])) @ self.linear_t
        self.among_linear = _solver(sp.csr_array(among + sp.diags_array(eased)))
        weighted = sp.csr_array(curved.multiply(self.inverse[None, :]))
        cross = (weighted @ self.linear_t).toarray()
        matrix = (weighted @ self.curved_t).toarray() + np.diag(damping[: self.curves])
        matrix -= cross @ self.among_linear(np.ascontiguousarray(cross.T))
        matrix += np.diag(1e-13 * np.abs(matrix.diagonal()) + 1e-300)
        self.factor = sl.lu_factor(matrix) if len(matrix) else None

    def solve(self, right: Floats, right_equal: Floats, right_price: Floats) -> Step:
        """The x, l and v of M x - J' l - A' v = right, A x = right_equal, J x + D l = right_price."""
        x = self.inverse * right
        v = self.among_linear(np.concatenate([right_equal, right_price[self.curves :]]) - self.linear @ x)
        short = right_price[: self.curves] - self.curved @ (x + self.inverse * (self.linear_t @ v))
        price = short if self.factor is None else sl.lu_solve(self.factor, short)
        pushed = self.inverse * (self.curved_t @ price)
        v = v - self.among_linear(self.linear @ pushed)
        moved = x + pushed + self.inverse * (self.linear_t @ v)
        return Step(moved, np.concatenate([price, v[self.equals :]]), v[: self.equals])

    def pulled(self, step: Step) -> Floats:
        """What the prices of a step add to the first rows of the system."""
        linear = np.concatenate([step.equal_price, step.price[self.curves :]])
        return np.asarray(self.linear_t @ linear + self.curved_t @ step.price[: self.curves])


def _solver(matrix: sp.csr_array) -> Callable[[Floats], Floats]:
    """Solves with a symmetric sparse matrix; equalities that follow from others are let be."""
    if not matrix.shape[0]:
        return lambda right: right
    shifted = sp.csc_array(matrix + sp.diags_array(1e-11 * matrix.diagonal() + 1e-300))
    symmetric = {"SymmetricMode": True}
    lu = sla.splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=symmetric)
    return lambda right: np.asarray(lu.solve(right))


@dataclass
class System:
    """The Newton system at one point, for a barrier mu; `dropped` of what is not convex is left out."""

    part: Part
    point: Point
    mu: float
    dropped: float

    def __post_init__(self) -> None:
        part, point = self.part, self.point
        self.values = part.slack(point.x)
        self.diagonal = (part.reference > 0) / point.x + point.bound_price / point.x
        self.damping = point.slack / point.price
        self.short = part.equal_bound - part.equal @ point.x
        self.conditions = Preconditioner(self.diagonal, part, part.curved.jacobian(point.x), self.damping)
        self.counts = part.curved.counts(point.x)

    @property
    def uphill(self) -> Floats:
        """The gradient of the Lagrangian, without the price of x >= 0."""
        point = self.point
        pulled = self.conditions.pulled(Step(point.x, point.price, point.equal_price))
        return np.asarray(self.part.gradient(point.x) + pulled)

    def hessian(self, along: Floats) -> Floats:
        """Minus the Hessian of the Lagrangian, and the barrier's, times a direction."""
        curved = self.point.price[: len(self.part.curved)]
        return np.asarray(
            self.diagonal * along + self.part.curved.bend(self.counts, along, curved, dropped=self.dropped)
        )

    def applied(self, step: Step) -> Floats:
        """The first rows of the system, times a step."""
        return np.asarray(self.hessian(step.x) - self.conditions.pulled(step))

    def direction(self, accuracy: float, most: int = 200) -> Point | None:
        """The Newton step, by conjugate gradients; None where the Hessian is not positive along some direction."""
        point = self.point
        right = self.uphill + self.mu / point.x
        step = self.conditions.solve(right, self.short, self.mu / point.price - self.values)
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
            if curvature <= NEGATIVE * float(along.x @ (self.diagonal * along.x)):
                return None
            step = step.plus(size / curvature, along)
            residual = residual - size / curvature * applied
        return self._whole(step)

    def _whole(self, step: Step) -> Point:
        """What the step in x means for the slacks, and for the prices of x >= 0."""
        point = self.point
        rise = np.concatenate([self.conditions.curved @ step.x, self.part.least @ step.x])
        slack = self.values + rise - point.slack
        bound = (self.mu - point.bound_price * step.x) / point.x - point.bound_price
        return Point(step.x, slack, step.price, bound, step.equal_price)

    def error(self, mu: float) -> float:
        """How far the point is from the optimum of the barrier problem: the worst of all conditions, in people."""
        point = self.point
        parts = [
            np.abs((self.uphill + point.bound_price) * point.x).max(initial=0),
            np.abs(self.short).max(initial=0),
            np.abs(self.values - point.slack).max(initial=0),
            np.abs(point.slack * point.price - mu).max(initial=0),
            np.abs(point.x * point.bound_price - mu).max(initial=0),
        ]
        return float(max(parts))
