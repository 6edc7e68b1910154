"""The Newton system with a diagonal in place of the Hessian, solved leaf by leaf."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg as sl
from scipy import sparse as sp
from scipy.sparse import linalg as sla

from leafgate_maxent.problem.tree_index import Floats, Ids
from leafgate_maxent.solve.lifting import Lifted
from leafgate_maxent.solve.subproblem import Subproblem


class Step(NamedTuple):
    """A change of x, of the inequalities' prices and of the equalities' prices."""

    x: Floats
    dual: Floats
    equality_dual: Floats

    def plus(self, far: float, direction: Step) -> Step:
        return Step(*(mine + far * theirs for mine, theirs in zip(self, direction, strict=True)))


class Preconditioner:
    """Solves the Newton system with a diagonal M in place of the Hessian.

    The linear constraints fall apart into the leaves; what is left is a dense matrix with a row for each
    curved one. `damping` are the slacks over the prices of the inequalities, the curved ones first.
    """

    def __init__(self, diagonal: Floats, part: Subproblem, curved: sp.csr_array, damping: Floats) -> None:
        self.inverse = 1 / diagonal
        self.equals, self.curves = part.equality.shape[0], curved.shape[0]
        self.linear = sp.csr_array(sp.vstack([part.equality, part.inequality], format="csr"))
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
        linear = np.concatenate([step.equality_dual, step.dual[self.curves :]])
        return np.asarray(self.linear_t @ linear + self.curved_t @ step.dual[: self.curves])


def _solver(matrix: sp.csr_array) -> Callable[[Floats], Floats]:
    """Solves with a symmetric sparse matrix; equalities that follow from others are let be."""
    if not matrix.shape[0]:
        return lambda right: right
    shifted = sp.csc_array(matrix + sp.diags_array(1e-11 * matrix.diagonal() + 1e-300))
    symmetric = {"SymmetricMode": True}
    lu = sla.splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=symmetric)
    return lambda right: np.asarray(lu.solve(right))


# --- A lifted part in batches that nothing joins: two solutions of half the size are cheaper than one ---

ENOUGH = 500
"""Variables; smaller components are solved together, for starting the solver costs as much as so many."""


@dataclass(frozen=True)
class Batch:
    """Some variables, and the equations and curved constraints that are about them."""

    variables: Ids
    rows: Ids
    curved: Ids


def batches(problem: Lifted) -> Iterator[Batch]:
    """All variables, the largest components by themselves, small ones together."""
    curved = _about(problem)
    joined = sp.vstack([problem.matrix, curved], format="csr")
    graph = sp.block_array([[None, joined], [joined.T, None]], format="csr")
    number = sp.csgraph.connected_components(graph, directed=False)[1]
    rows, variables = number[: joined.shape[0]], number[joined.shape[0] :]
    size = np.bincount(variables, minlength=int(number.max(initial=-1)) + 1)
    batch = _together(size)
    for each in np.unique(batch[variables]):
        mine = batch[rows] == each
        cut = problem.matrix.shape[0]
        yield Batch(np.flatnonzero(batch[variables] == each), np.flatnonzero(mine[:cut]), np.flatnonzero(mine[cut:]))


def _about(problem: Lifted) -> sp.csr_array:
    """Which variables each curved constraint is about, as far as equations do not say it."""
    curved, n = problem.part.curved, len(problem.start)
    varies = np.flatnonzero(problem.sizes >= 0)
    size = sp.csr_array((np.ones(len(varies)), (varies, problem.sizes[varies])), (len(problem.sizes), n))
    about = sp.csr_array(abs(curved.coefficients) @ size)
    if curved.plus is None:
        return about
    more = sp.csr_array((len(curved), n - len(problem.part)))
    return sp.csr_array(about + sp.hstack([abs(curved.plus), more], format="csr"))


def _together(size: Ids) -> Ids:
    """For each component the number of its batch."""
    order = np.argsort(-size, kind="stable")
    batch = np.zeros(len(size), dtype=np.int64)
    number, held = 0, 0
    for each in order.tolist():
        if held and held + size[each] > ENOUGH:
            number, held = number + 1, 0
        batch[each] = number
        held += int(size[each])
    return batch
