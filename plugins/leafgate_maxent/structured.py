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
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from leafgate_maxent.impurity import TINY
from leafgate_maxent.newton import Point, System
from leafgate_maxent.part import Part, Solved
from leafgate_maxent.walk import Floats

INSIDE = 0.995
"""How much of the way to the border one step may go."""


@dataclass(frozen=True)
class Way:
    """How to iterate: from and down to which barrier, until when, for how many steps.

    A part that is not convex is left when `patience` steps gain no more than `flat` of its entropy.
    """

    first: float = 1.0
    last: float = 1e-10
    deadline: float = math.inf
    most: int = 200
    flat: float = 1e-7
    patience: int = 15


def solve(part: Part, way: Way = Way()) -> Solved:
    """The optimum of a convex part; of another a point that no small step improves much.

    `done` is False where the deadline or the last step came first.
    """
    with threadpool_limits(1):
        return _iterate(part, way)


def _iterate(part: Part, way: Way) -> Solved:
    mu, dropped, price, steps, done = way.first, 0.0, 1.0, 0, False
    point = _start(part, mu)
    gained = [part.entropy(point.x)]
    while steps < way.most and time.monotonic() < way.deadline:
        system = System(part, point, mu, dropped)
        while mu > way.last and system.error(mu) < 10 * mu:
            mu = max(way.last, min(mu / 5, mu**1.5))
        if mu <= way.last and (system.error(mu) < 10 * mu or _flat(gained, way, part)):
            done = True
            break
        system.mu = mu
        step, dropped = _uphill(system, 1e-2 if mu > 1e-4 else 1e-3)
        told = np.concatenate([point.price + step.price, point.equal_price + step.equal_price])
        price = max(price, 1.5 * float(np.abs(told).max(initial=0)))
        point = _moved(part, point, step, mu, price)
        gained.append(part.entropy(point.x) if mu <= way.last else -math.inf)
        steps += 1
    cut = len(part.curved)
    return Solved(point.x, point.price[:cut], point.price[cut:], point.equal_price, done, steps)


def _start(part: Part, mu: float) -> Point:
    typical = np.where(part.reference > 0, part.reference / max(part.curved.classes, 1), 1.0)
    x = np.maximum(part.start, np.minimum(1e-2 * typical, mu))
    slack = np.maximum(part.slack(x), mu)
    price = mu / slack
    price[: len(part.prices)] = np.maximum(part.prices, price[: len(part.prices)])
    return Point(x, slack, price, mu / x, np.zeros(len(part.equal_bound)))


def _flat(gained: list[float], way: Way, part: Part) -> bool:
    if part.convex or len(gained) <= way.patience or math.isinf(gained[-1 - way.patience]):
        return False
    return gained[-1] - gained[-1 - way.patience] < way.flat * abs(gained[-1])


def _uphill(system: System, accuracy: float) -> tuple[Point, float]:
    """A direction that leads uphill, and how much of the Hessian the next system should leave out."""
    asked = system.dropped
    step = system.direction(accuracy)
    while step is None:
        system.dropped = 0.5 * (1 + system.dropped) if system.dropped < 0.95 else 1.0
        step = system.direction(1e-2)
    if system.dropped > asked:
        return step, system.dropped
    return step, 0.9 if asked == 1.0 else max(0.0, 2 * asked - 1)


def _moved(part: Part, point: Point, step: Point, mu: float, price: float) -> Point:
    """The next point: as far along the step as the merit function falls, slacks as large as they can be."""
    far = min(1.0, _room(point.x, step.x), _room(point.slack, step.slack))
    priced = min(1.0, _room(point.price, step.price), _room(point.bound_price, step.bound_price))
    moved = point.moved(step, _shortened(part, point, step, far, mu, price), priced)
    return replace(moved, slack=np.maximum(moved.slack, part.slack(moved.x)))


def _room(value: Floats, step: Floats) -> float:
    falling = step < 0
    return float(INSIDE * (-value[falling] / step[falling]).min(initial=np.inf))


def _merit(part: Part, x: Floats, slack: Floats, mu: float, price: float) -> float:
    values = part.slack(x)
    slack = np.maximum(slack, values)
    missed = np.abs(values - slack).sum() + np.abs(part.equal @ x - part.equal_bound).sum()
    inside = np.log(np.maximum(x, TINY)).sum() + np.log(np.maximum(slack, TINY)).sum()
    return float(-part.entropy(x) - mu * inside + price * missed)


def _shortened(part: Part, point: Point, step: Point, far: float, mu: float, price: float) -> float:
    """As far along a step as the merit function falls."""
    before = _merit(part, point.x, point.slack, mu, price)
    for _ in range(12):
        after = _merit(part, point.x + far * step.x, point.slack + far * step.slack, mu, price)
        if after <= before + 1e-9 * abs(before):
            break
        far /= 2
    return far
