"""The Newton system with a diagonal in place of the Hessian, solved leaf by leaf."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
import scipy.sparse.linalg as sla

from leafgate_maxent.part import Part
from leafgate_maxent.walk import Floats


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
