"""The Newton system of the structured engine, and how it is solved without the Hessian.

Source: Gould, Hribar, Nocedal, "On the solution of equality constrained quadratic programming problems
arising in optimization", SIAM J. Sci. Comput. 23(4), 2001 (projected conjugate gradients).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leafgate_maxent.part import Part
from leafgate_maxent.preconditioner import Preconditioner, Step
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
