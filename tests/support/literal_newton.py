"""The literal problem, where it is convex, by an interior-point method of our own: Newton steps on dense matrices."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from literal_candidates import Comparison
from literal_gains import excess
from literal_maxent import Floats, Model
from literal_starting import Answer, Unknowns, accepted, unknowns_of

STEPS = 200
DONE = 1e-12


@dataclass
class Point:
    """Cells, slack of the inequalities, and the prices of cells (>= 0), equations and inequalities."""

    x: Floats
    slack: Floats
    bound: Floats
    equal: Floats
    price: Floats


def solve_newton(model: Model, start: Floats) -> Answer | None:
    """By primal-dual path following; None for problems that are not convex.

    Source: Boyd, Vandenberghe, "Convex Optimization", 2004, section 11.7, with slack variables.
    """
    if not model.convex:
        return None
    problem = _Problem(model, unknowns_of(model))
    at = problem.point(start)
    done = DONE * float(model.weight.sum())
    with contextlib.suppress(np.linalg.LinAlgError, FloatingPointError), np.errstate(over="raise", invalid="raise"):
        for _ in range(STEPS):  # where no belief meets the inequalities with room to spare, prices run away
            if problem.error(at, 0.0) < done:
                break
            closer = problem.step(at)
            if closer is None:
                break
            at = closer
    return accepted(model, problem.beliefs(at.x), settled=problem.error(at, 0.0) < 1000 * done)


class _Problem:
    """Minimise sum w x ln x where equal . x = is_, and limits(x) <= 0."""

    def __init__(self, model: Model, known: Unknowns) -> None:
        self.model, self.known = model, known
        self.weight = np.broadcast_to(model.weight[:, None], model.shape)[known.free]

    def beliefs(self, x: Floats) -> Floats:
        p = np.zeros(self.model.shape)
        p[self.known.free] = x
        return p

    def point(self, start: Floats) -> Point:
        """Somewhere inside all bounds."""
        x = np.maximum(start[self.known.free], 0.01)
        slack = np.maximum(-self.limits(x), 0.1)
        return Point(x, slack, self.weight.copy(), np.zeros(len(self.known.is_)), np.ones(len(slack)))

    def limits(self, x: Floats) -> Floats:
        """The inequalities, as numbers that must not be positive."""
        counts = self.beliefs(x) * self.model.weight[:, None]
        inner = np.array([excess(one, counts) for one in self.model.comparisons])
        return np.concatenate([self.known.at_least - self.known.least @ x, inner])

    def slopes(self, x: Floats) -> Floats:
        """Their derivatives, a row each."""
        counts = self.beliefs(x) * self.model.weight[:, None]
        inner = [_slope(one, counts)[self.known.free] * self.weight for one in self.model.comparisons]
        return np.concatenate([-self.known.least, np.array(inner).reshape(-1, len(x))])

    def bend(self, x: Floats, price: Floats) -> Floats:
        """The second derivatives of the objective and of the priced inequalities."""
        found = np.diag(self.weight / x)
        counts = self.beliefs(x) * self.model.weight[:, None]
        priced = zip(price[len(self.known.least) :], self.model.comparisons, strict=True)
        for cost, one in priced:
            found += cost * _bend(one, counts, self.known.free) * np.outer(self.weight, self.weight)
        return found

    def residuals(self, at: Point, mu: float) -> list[Floats]:
        """How far a point is from the optimality conditions with products of price and slack mu."""
        slope = self.weight * (np.log(at.x) + 1) + self.known.equal.T @ at.equal + self.slopes(at.x).T @ at.price
        return [
            slope - at.bound,
            self.known.equal @ at.x - self.known.is_,
            self.limits(at.x) + at.slack,
            at.bound * at.x - mu,
            at.price * at.slack - mu,
        ]

    def error(self, at: Point, mu: float) -> float:
        return float(np.linalg.norm(np.concatenate(self.residuals(at, mu))))

    def step(self, at: Point) -> Point | None:
        """One Newton step towards a tenth of the present products, halved until it comes closer, if it ever does."""
        products = np.concatenate([at.bound * at.x, at.price * at.slack])
        mu = 0.1 * float(products.mean())
        way = self.direction(at, mu)
        length = min(1.0, *(_room(getattr(at, n), getattr(way, n)) for n in ("x", "slack", "bound", "price")))
        before = self.error(at, mu)
        for _ in range(20):
            new = _moved(at, way, length)
            if self.error(new, mu) <= (1 - 0.01 * length) * before:
                return new
            length /= 2
        return None

    def direction(self, at: Point, mu: float) -> Point:
        """Newton's direction; prices and slack are solved away."""
        dual, equal, limit, bound, price = self.residuals(at, mu)
        slopes = self.slopes(at.x)
        pull = at.price / at.slack
        matrix = self.bend(at.x, at.price) + np.diag(at.bound / at.x) + (slopes.T * pull) @ slopes
        right = -dual - bound / at.x - slopes.T @ (pull * limit - price / at.slack)
        n, m = len(at.x), len(equal)
        whole = np.block([[matrix, self.known.equal.T], [self.known.equal, -1e-14 * np.eye(m)]])
        found = np.linalg.solve(whole, np.concatenate([right, -equal]))
        x = found[:n]
        slack = -limit - slopes @ x
        return Point(x, slack, (-bound - at.bound * x) / at.x, found[n:], (-price - at.price * slack) / at.slack)


def _moved(at: Point, way: Point, length: float) -> Point:
    names = ("x", "slack", "bound", "equal", "price")
    return Point(*(getattr(at, name) + length * getattr(way, name) for name in names))


def _room(here: Floats, way: Floats) -> float:
    """How far one can go and keep everything positive."""
    shrinking = way < 0
    return float((-0.995 * here[shrinking] / way[shrinking]).min(initial=1.0))


def _slope(one: Comparison, counts: Floats) -> Floats:
    """The derivatives of `excess` by the people of every record and value."""
    found = np.zeros(counts.shape)
    for sign, part in _terms(one):
        n = counts[list(part)].sum(axis=0)
        shares = n / n.sum()
        log = np.log(shares, where=shares > 0, out=np.zeros_like(shares))
        found[list(part)] += sign * (2 * shares - (shares**2).sum() if one.measure == "gini" else log)
    return found


def _bend(one: Comparison, counts: Floats, free: NDArray[np.bool_]) -> Floats:
    """The second derivatives of `excess` by the people of the free cells."""
    rows, values = np.nonzero(free)
    found = np.zeros((len(rows), len(rows)))
    for sign, part in _terms(one):
        n = counts[list(part)].sum(axis=0)
        inside = np.flatnonzero(np.isin(rows, part))
        found[np.ix_(inside, inside)] += sign * _curve(one.measure, n)[np.ix_(values[inside], values[inside])]
    return found


def _curve(measure: str, n: Floats) -> Floats:
    """The second derivatives of a part's purity by its people of each value."""
    total = n.sum()
    inverse = np.divide(1, n, where=n > 0, out=np.zeros_like(n))
    if measure == "gini":
        shares = n / total
        away = np.eye(len(n)) - shares[:, None] - shares[None, :] + (shares**2).sum()
        return np.asarray(2 / total * away)
    return np.asarray(np.diag(inverse) - 1 / total)


def _terms(one: Comparison) -> list[tuple[float, tuple[int, ...]]]:
    """The purities that `excess` is the sum of, with their factors."""
    candidate = [(one.factor, part) for part in one.candidate.parts]
    return [*candidate, *((-1.0, part) for part in one.asked), (1 - one.factor, one.rows)]
