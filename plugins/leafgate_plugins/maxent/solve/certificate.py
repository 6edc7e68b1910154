"""Certificates: duals estimated at a given point, and the upper bound on the entropy that they prove.

docs/explanation/maxent.md, "The certificate" states the bound, which holds where the Lagrangian L is concave on the set
where the equalities hold. When that is so:

E(N, W), the entropy after a competing test, is a sum of concave functions of y, so it only helps. -E(N, T), of the test
that was asked, is convex. Where every leaf states every class it is a number; elsewhere it has to be compensated by the
entropies of the rows. By entropy, the entropies of the rows of a branch minus the entropy of the branch are minus the
information that the row gives about the class, which is concave in p(x|q) for fixed P(q). By gini the curvature of p n
P^2 is 2 p / n, that of the rows' entropy at least 1 / (n P): 2 p P <= 1 is enough, P being the largest share that a
class can have in the branch, which the rates bound.

Several trees, or unknown sizes of nodes: the entropy of each row is divided into portions, p_i of it for each
constraint i at an ancestor of its leaf. So L is concave if the duals at the ancestors of every leaf add up to at most
1: by gain ratio each times max(1, r), by gini each times 2 P.

One tree with known sizes: it is enough that the duals of each node, each times its r, add up to at most 1; those of
nodes above each other are not added. Let phi(b) be the people of a branch b times their impurity, and p the dual of the
node b. The competing tests at b divide the people of b, so sum p_i E(b, W_i) - p phi(b) is concave, which is p phi(b)
to spend. Claim: what lies below b, with the entropies of its rows, less m phi(b), is concave for every m <= 1. In a
leaf it is so by the argument above. A node b with p >= m compensates m phi(b) by its own competing tests, and p is
required of each branch. With p < m they compensate p phi(b); the other m - p is required of the branches of b, because
sum_c phi(c) - phi(b) is concave as well, so m is required of each. Either way at most 1 is required, and the claim
holds by induction.

By gini what counts are the largest branches that hold no node with an imposed constraint, because their rows have to
compensate everything. The cap there is 1 / k, k being the smaller of two numbers: the share of the branch's people
whose class is not the label of their leaf (the others are known, and changes d of the rest t that add up to 0 have sum
d^2 / t >= 2 sum d^2 / sum t), and twice the largest share that a class can have of these people, none having more in a
leaf than its label has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize as so
from scipy import sparse as sp
from scipy.sparse import linalg as sla

from leafgate.api import Floats
from leafgate_plugins.maxent.solve.subproblem import Solution, Subproblem

TIGHT_SLACK = 0.1
"""People; an inequality with more to spare has no price, one with less has little."""


@dataclass(frozen=True)
class Duals:
    """Nats of entropy for each person a constraint is relaxed by, as in Solved.

    `residual` is by how much, in people x nats, the worst variable misses the optimality condition.
    """

    curved: Floats
    least: Floats
    equal: Floats
    residual: float


def estimate_duals(part: Subproblem, x: Floats) -> Duals:
    """The prices under which the point is closest to an optimum.

    Least squares of `gradient + jacobian.T @ duals + equal.T @ equality_duals`, each variable weighted by its
    people (the inverse of the entropy's second derivative), and of every price times what its inequality has to
    spare. Variables without entropy weigh one person; that they cannot be negative has a price as well.
    """
    x = np.maximum(x, 0)
    costly = part.reference <= 0
    jacobian = sp.csr_array(sp.vstack([part.curved.jacobian(x), part.inequality], format="csr"))
    spare = np.concatenate([part.curved.values(x), part.inequality @ x - part.inequality_bound])
    tight, empty = np.flatnonzero(spare <= TIGHT_SLACK), np.flatnonzero(costly & (x <= TIGHT_SLACK))
    result = sp.vstack([jacobian[tight], sp.eye_array(len(x), format="csr")[empty]], format="csr")
    root = np.sqrt(np.where(costly, 1, x))
    rest = Residual(sp.csr_array(part.equality.multiply(root[None, :])))
    gradient = part.gradient(np.maximum(x, 1e-300))
    rows = [rest(row) for row in result.multiply(root[None, :]).toarray()]
    found = _nonnegative(rows, rest(root * gradient), np.concatenate([np.maximum(spare[tight], 0), x[empty]]))
    uphill = gradient + result.T @ found
    equal = -rest.duals(root * uphill)
    price = np.zeros(len(spare))
    price[tight] = found[: len(tight)]
    missed = np.abs(uphill + part.equality.T @ equal) * np.where(costly, 1, x)
    idle = np.abs(price * spare)
    cut = len(part.curved)
    return Duals(price[:cut], price[cut:], equal, float(max(missed.max(initial=0), idle.max(initial=0))))


def _nonnegative(rows: Sequence[Floats], target: Floats, spare: Floats) -> Floats:
    """Nonnegative p for which `target + p @ rows` and `p * spare` are smallest."""
    if not len(rows):
        return np.zeros(0)
    columns = np.concatenate([np.stack(rows).T, np.diag(spare)])
    size = np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    wanted = np.concatenate([-target, np.zeros(len(spare))])
    return np.asarray(so.nnls(columns / size, wanted, maxiter=50 * len(size))[0] / size)


class Residual:
    """What of a vector the rows of a matrix cannot make up, rows that depend on each other included."""

    def __init__(self, matrix: sp.csr_array) -> None:
        self.matrix = matrix
        inner = sp.csc_matrix(matrix @ matrix.T)
        shift = 1e-10 * inner.diagonal() + 1e-300
        self.lu = sla.splu(inner + sp.diags(shift)) if matrix.shape[0] else None

    def duals(self, vector: Floats) -> Floats:
        """v for which `matrix.T @ v` is closest to a vector."""
        v = np.zeros(self.matrix.shape[0])
        if self.lu is not None:
            for _ in range(3):
                v += self.lu.solve(self.matrix @ (vector - self.matrix.T @ v))
        return v

    def __call__(self, vector: Floats) -> Floats:
        return np.asarray(vector - self.matrix.T @ self.duals(vector))


def upper_bound(part: Subproblem, solved: Solution) -> float:
    """No feasible point of the part has a larger entropy (people x nats).

    For prices p >= 0 and any equality prices the Lagrangian L is at least the entropy wherever the
    constraints hold. Where L is concave on the feasible set, its tangent at x bounds it; the largest
    value of the tangent over 0 <= y <= limit is a sum. `solved.x` must keep the equalities.

    L is concave when the part is convex, and when the prices are capped as `dual_caps` says; by gini `solved.x` must
    then keep the label constraints too.
    Source: weak duality; docs/explanation/maxent.md has the derivation.
    """
    x = np.maximum(solved.x, 0)
    value = part.entropy(x) + float(solved.duals @ part.curved.values(x))
    value += float(solved.inequality_duals @ (part.inequality @ x - part.inequality_bound))
    value += float(solved.equality_duals @ (part.equality @ x - part.equality_bound))
    tangent = part.gradient(np.maximum(x, 1e-12)) + part.curved.jacobian(x).T @ solved.duals
    tangent += part.inequality.T @ solved.inequality_duals + part.equality.T @ solved.equality_duals
    best = np.where(tangent > 0, part.limit * tangent, 0).sum()
    return float(value - tangent @ x + best)


def dual_caps(part: Subproblem) -> tuple[sp.csr_array, Floats]:
    """Which sums of prices must stay below which caps for the Lagrangian to be concave on the feasible set.

    A row a constraint, a column a set of constraints whose nodes lie above each other. On every leaf the
    prices of the constraints at its ancestors may add up to 1: by entropy each times its ratio, where that
    is above 1; by gini each times 2 P, the largest share a class can have in the branch that was taken.
    Where all are of one tree and its sizes are known, it is enough that those of each node add up to 1.

    Source: the entropy of a mixture minus the mean entropy of its parts is convex in the parts (it is the
    information that the part gives); for gini the curvature of n P^2 against that of n P ln P.
    """
    curved = part.curved
    against = sp.csr_array(-curved.coefficients.minimum(0))
    if len(curved.node):
        return _caps_by_node(part, against)
    per_block = sp.kron(sp.eye_array(against.shape[1]), np.ones((1, curved.classes)), format="csr")
    weight = 2 * against @ sp.diags_array(curved.top) if curved.gini else against
    inside = sp.csr_array(per_block @ (abs(curved.matrix) > 0).astype(np.float64))
    inside.data[:] = 1
    columns = sp.csc_array(weight @ inside)
    marks = np.random.default_rng(0).random(len(curved))
    kinds, first = np.unique(np.round(marks @ columns, 9), return_index=True)
    return sp.csr_array(columns[:, first[kinds > 0]]), np.ones(int((kinds > 0).sum()))


def _caps_by_node(part: Subproblem, against: sp.csr_array) -> tuple[sp.csr_array, Floats]:
    """The caps where the constraints are of one tree and all sizes are known: a column a node.

    The price of a node, the sum of those of its constraints, each times its ratio, may be up to 1; by gini times the
    curvature of the branches below. It is not added to the prices of the nodes above.

    Source: docs/explanation/maxent.md, "The certificate", where L is concave.
    """
    nodes, number = np.unique(part.curved.node, return_inverse=True)
    weight = against.max(axis=1).toarray().ravel() * part.curved.curvature
    caps = sp.csr_array((weight, (np.arange(len(number)), number)), shape=(len(number), len(nodes)))
    return caps, np.ones(len(nodes))


def cap_duals(solved: Solution, caps: sp.csr_array, most: Floats) -> Solution:
    """The solution with the duals of its curved constraints lowered until `caps.T @ duals <= most`."""
    over = np.maximum((caps.T @ solved.duals) / most, 1.0)
    worst = np.ones(len(solved.duals))
    rows = sp.coo_array(caps)
    np.maximum.at(worst, rows.row, over[rows.col])
    return Solution(
        solved.x, solved.duals / worst, solved.inequality_duals, solved.equality_duals, solved.converged, solved.steps
    )
