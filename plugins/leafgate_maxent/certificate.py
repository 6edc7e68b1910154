"""How far from the optimum a point can be at most: weak duality, evaluated at what was found."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from leafgate_maxent.part import Part, Solved
from leafgate_maxent.walk import Floats


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
