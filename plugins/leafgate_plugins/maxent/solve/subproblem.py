"""The subproblem that an engine solves, and its solution."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse as sp

from leafgate.api import Floats, Ids, Mask
from leafgate_plugins.maxent.problem.split_constraints import gradient, hessian_product, impurity, x_log_x


@dataclass(frozen=True)
class NonlinearConstraints:
    """Constraints `coefficients @ impurity(blocks) + plus @ x >= 0`; blocks are `offset + matrix @ x` by class."""

    matrix: sp.csr_array
    offset: Floats
    coefficients: sp.csr_array
    classes: int
    gini: bool
    top: Floats
    """The largest share any class can have in each block."""
    plus: sp.csr_array | None = None
    node: Ids = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """The node of each constraint, where all are of one tree whose nodes have known sizes; else empty."""
    curvature: Floats = field(default_factory=lambda: np.zeros(0))
    """Of each constraint with a node: how much its dual, times its ratio, counts towards the cap of the node."""

    def __len__(self) -> int:
        return int(self.coefficients.shape[0])

    def counts(self, x: Floats) -> Floats:
        """People by class in each block."""
        return np.asarray(np.maximum((self.offset + self.matrix @ x).reshape(-1, self.classes), 0))

    def values(self, x: Floats) -> Floats:
        values = np.asarray(self.coefficients @ impurity(self.counts(x), gini=self.gini))
        return values if self.plus is None else values + self.plus @ x

    def jacobian(self, x: Floats) -> sp.csr_array:
        """One row a constraint, one column a variable."""
        slopes = gradient(self.counts(x), gini=self.gini).ravel()
        weighted = sp.csr_array(self._spread.multiply(slopes[None, :]))
        jacobian = sp.csr_array(weighted @ self.matrix)
        return jacobian if self.plus is None else sp.csr_array(jacobian + self.plus)

    def involving(self, chosen: Mask) -> Mask:
        """Which constraints are about any of some variables."""
        cells = abs(self.matrix) @ chosen.astype(np.float64) > 0
        held = cells.reshape(-1, self.classes).any(axis=1)
        return np.asarray(abs(self.coefficients) @ held.astype(np.float64) > 0)

    @cached_property
    def _spread(self) -> sp.csr_array:
        """The coefficients, once for every class of a block."""
        return sp.csr_array(sp.kron(self.coefficients, np.ones((1, self.classes)), format="csr"))

    def hessian_product(self, counts: Floats, along: Floats, prices: Floats, *, dropped: float = 0.0) -> Floats:
        """Minus the Hessian of `duals @ values` at a point with these counts, times a direction.

        `dropped` is the part of what makes it not positive (the tests that were asked) to leave out.
        """
        weight = self.coefficients.T @ prices
        weight = np.where(weight < 0, (1 - dropped) * weight, weight)
        curve = hessian_product(counts, (self.matrix @ along).reshape(-1, self.classes), gini=self.gini)
        return np.asarray(self.matrix.T @ (curve * weight[:, None]).ravel())


MIN_DISJOINT_RATIO = 4
"""Disjoint equations are eliminated first where there are so many times as many of them as other linear constraints."""


@dataclass(frozen=True)
class Subproblem:
    """Maximise sum x ln(reference / x) - cost @ x over x >= 0.

    Subject to `equality @ x == equality_bound`, `inequality @ x >= inequality_bound` and the curved constraints.
    Variables with `reference` 0 have no entropy, only a cost; no variable can be above its `limit`. All
    in people (and people x nats).
    """

    reference: Floats
    limit: Floats
    start: Floats
    equality: sp.csr_array
    equality_bound: Floats
    inequality: sp.csr_array
    inequality_bound: Floats
    curved: NonlinearConstraints
    cost: Floats = field(default_factory=lambda: np.zeros(0))
    duals: Floats = field(default_factory=lambda: np.zeros(0))
    """Of the curved constraints, to start from."""
    convex: bool = False

    def __len__(self) -> int:
        return len(self.reference)

    @cached_property
    def n_disjoint(self) -> int:
        """How many of the first equations are disjoint, that is no variable is in two of them.

        They are those of the public rows. 0 where the other linear constraints are not far fewer: to eliminate the
        disjoint ones first would then fill the matrix of the others.
        """
        columns = self.equality.indices
        repeated = np.setdiff1d(np.arange(len(columns)), np.unique(columns, return_index=True)[1])
        rows = self.equality.shape[0]
        disjoint = int(np.searchsorted(self.equality.indptr, repeated[0], side="right")) - 1 if len(repeated) else rows
        others = rows - disjoint + self.inequality.shape[0]
        return disjoint if MIN_DISJOINT_RATIO * others <= disjoint else 0

    @cached_property
    def disjoint_equations(self) -> tuple[sp.csr_array, sp.csr_array]:
        """The first `n_disjoint` equations, and the transpose."""
        rows = sp.csr_array(self.equality[: self.n_disjoint])
        return rows, sp.csr_array(rows.T)

    @cached_property
    def joint_constraints(self) -> tuple[sp.csr_array, sp.csr_array]:
        """The other equations and the linear inequalities, and the transpose."""
        rows = sp.csr_array(sp.vstack([self.equality[self.n_disjoint :], self.inequality], format="csr"))
        return rows, sp.csr_array(rows.T)

    @cached_property
    def costs(self) -> Floats:
        return self.cost if len(self.cost) else np.zeros(len(self.reference))

    def entropy(self, x: Floats) -> float:
        """What is maximised."""
        has = self.reference > 0
        result = (x[has] * np.log(self.reference[has])).sum() - x_log_x(x[has]).sum()
        return float(result - self.costs @ x)

    def gradient(self, x: Floats) -> Floats:
        has = self.reference > 0
        ratio = np.divide(self.reference, np.maximum(x, 1e-300), where=has, out=np.ones(len(x)))
        return np.asarray(np.where(has, np.log(ratio) - 1, 0) - self.costs)

    def slack(self, x: Floats) -> Floats:
        """By how much every inequality holds, the curved ones first."""
        return np.concatenate([self.curved.values(x), self.inequality @ x - self.inequality_bound])

    def max_violation(self, x: Floats) -> float:
        """The worst violation of any constraint."""
        worst = [np.maximum(-x, 0).max(initial=0), np.abs(self.equality @ x - self.equality_bound).max(initial=0)]
        worst.append(np.maximum(-self.slack(x), 0).max(initial=0))
        return float(max(worst))


@dataclass(frozen=True)
class Solution:
    """A point and its duals: nats of entropy for each person by which a constraint is relaxed.

    `duals` are those of the curved constraints, `inequality_duals` of the linear inequalities, none of
    them negative; `equality_duals` of the equalities. `converged` says whether the engine was content.
    """

    x: Floats
    duals: Floats
    inequality_duals: Floats
    equality_duals: Floats
    converged: bool
    steps: int = 0
