"""What each constraint is worth at a point that a solver found, where the solver does not tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.optimize as so
import scipy.sparse as sp
import scipy.sparse.linalg as sla

from leafgate_maxent.part import Part
from leafgate_maxent.walk import Floats

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
