"""What each constraint is worth at a point that a solver found, where the solver does not tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize as so
from scipy import sparse as sp
from scipy.sparse import linalg as sla

from leafgate_maxent.problem.tree_index import Floats
from leafgate_maxent.solve.subproblem import Part, Solved

TIGHT = 0.1
"""People; an inequality with more to spare has no price, one with less has little."""


@dataclass(frozen=True)
class Prices:
    """Nats of entropy for each person a constraint is relaxed by, as in Solved.

    `missed` is by how much, in people x nats, the worst variable misses the optimality condition.
    """

    curved: Floats
    least: Floats
    equal: Floats
    missed: float


def prices_at(part: Part, x: Floats) -> Prices:
    """The prices under which the point is closest to an optimum.

    Least squares of `gradient + jacobian.T @ prices + equal.T @ equal_prices`, each variable weighted by its
    people (the inverse of the entropy's second derivative), and of every price times what its inequality has to
    spare. Variables without entropy weigh one person; that they cannot be negative has a price as well.
    """
    x = np.maximum(x, 0)
    costly = part.reference <= 0
    jacobian = sp.csr_array(sp.vstack([part.curved.jacobian(x), part.least], format="csr"))
    spare = np.concatenate([part.curved.values(x), part.least @ x - part.least_bound])
    tight, empty = np.flatnonzero(spare <= TIGHT), np.flatnonzero(costly & (x <= TIGHT))
    told = sp.vstack([jacobian[tight], sp.eye_array(len(x), format="csr")[empty]], format="csr")
    root = np.sqrt(np.where(costly, 1, x))
    rest = Rest(sp.csr_array(part.equal.multiply(root[None, :])))
    gradient = part.gradient(np.maximum(x, 1e-300))
    rows = [rest(row) for row in told.multiply(root[None, :]).toarray()]
    found = _nonnegative(rows, rest(root * gradient), np.concatenate([np.maximum(spare[tight], 0), x[empty]]))
    uphill = gradient + told.T @ found
    equal = -rest.prices(root * uphill)
    price = np.zeros(len(spare))
    price[tight] = found[: len(tight)]
    missed = np.abs(uphill + part.equal.T @ equal) * np.where(costly, 1, x)
    idle = np.abs(price * spare)
    cut = len(part.curved)
    return Prices(price[:cut], price[cut:], equal, float(max(missed.max(initial=0), idle.max(initial=0))))


def _nonnegative(rows: Sequence[Floats], target: Floats, spare: Floats) -> Floats:
    """Nonnegative p for which `target + p @ rows` and `p * spare` are smallest."""
    if not len(rows):
        return np.zeros(0)
    columns = np.concatenate([np.stack(rows).T, np.diag(spare)])
    size = np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    wanted = np.concatenate([-target, np.zeros(len(spare))])
    return np.asarray(so.nnls(columns / size, wanted, maxiter=50 * len(size))[0] / size)


class Rest:
    """What of a vector the rows of a matrix cannot make up, rows that depend on each other included."""

    def __init__(self, matrix: sp.csr_array) -> None:
        self.matrix = matrix
        inner = sp.csc_matrix(matrix @ matrix.T)
        shift = 1e-10 * inner.diagonal() + 1e-300
        self.lu = sla.splu(inner + sp.diags(shift)) if matrix.shape[0] else None

    def prices(self, vector: Floats) -> Floats:
        """v for which `matrix.T @ v` is closest to a vector."""
        v = np.zeros(self.matrix.shape[0])
        if self.lu is not None:
            for _ in range(3):
                v += self.lu.solve(self.matrix @ (vector - self.matrix.T @ v))
        return v

    def __call__(self, vector: Floats) -> Floats:
        return np.asarray(vector - self.matrix.T @ self.prices(vector))


# --- How far from the optimum a point can be at most: weak duality, evaluated at what was found ---


def upper_bound(part: Part, solved: Solved) -> float:
    """No feasible point of the part has a larger entropy (people x nats).

    For prices p >= 0 and any equality prices the Lagrangian L is at least the entropy wherever the
    constraints hold. Where L is concave on the feasible set, its tangent at x bounds it; the largest
    value of the tangent over 0 <= y <= limit is a sum. `solved.x` must keep the equalities.

    L is concave when the part is convex, and when the prices are capped as `caps_of` says.
    Source: weak duality; docs/sources.md has the derivation.
    """
    x = np.maximum(solved.x, 0)
    value = part.entropy(x) + float(solved.prices @ part.curved.values(x))
    value += float(solved.least_prices @ (part.least @ x - part.least_bound))
    value += float(solved.equal_prices @ (part.equal @ x - part.equal_bound))
    tangent = part.gradient(np.maximum(x, 1e-12)) + part.curved.jacobian(x).T @ solved.prices
    tangent += part.least.T @ solved.least_prices + part.equal.T @ solved.equal_prices
    best = np.where(tangent > 0, part.limit * tangent, 0).sum()
    return float(value - tangent @ x + best)


def caps_of(part: Part) -> tuple[sp.csr_array, Floats]:
    """Which sums of prices must stay below which caps for the Lagrangian to be concave on the feasible set.

    A row a constraint, a column a set of constraints whose nodes lie above each other. On every leaf the
    prices of the constraints at its ancestors may add up to 1: by entropy each times its ratio, where that
    is above 1; by gini each times 2 P, the largest share a class can have in the branch that was taken.

    Source: the entropy of a mixture minus the mean entropy of its parts is convex in the parts (it is the
    information that the part gives); for gini the curvature of n P^2 against that of n P ln P.
    """
    curved = part.curved
    against = sp.csr_array(-curved.coefficients.minimum(0))
    per_block = sp.kron(sp.eye_array(against.shape[1]), np.ones((1, curved.classes)), format="csr")
    weight = 2 * against @ sp.diags_array(curved.top) if curved.gini else against
    inside = sp.csr_array(per_block @ (abs(curved.matrix) > 0).astype(np.float64))
    inside.data[:] = 1
    columns = sp.csc_array(weight @ inside)
    marks = np.random.default_rng(0).random(len(curved))
    kinds, first = np.unique(np.round(marks @ columns, 9), return_index=True)
    return sp.csr_array(columns[:, first[kinds > 0]]), np.ones(int((kinds > 0).sum()))


def capped(solved: Solved, caps: sp.csr_array, most: Floats) -> Solved:
    """The same point, its prices lowered until every cap is kept."""
    over = np.maximum((caps.T @ solved.prices) / most, 1.0)
    worst = np.ones(len(solved.prices))
    rows = sp.coo_array(caps)
    np.maximum.at(worst, rows.row, over[rows.col])
    return Solved(solved.x, solved.prices / worst, solved.least_prices, solved.equal_prices, solved.done, solved.steps)
