"""What every solver of the literal problem needs: cells that can be positive, independent equations, starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.optimize import linprog

from literal_maxent import Floats, Model, entropy, violation

FEASIBLE = 1e-7
"""People (x nats) by which an answer may miss a constraint."""

ROUNDING = 1e-9


@dataclass(frozen=True)
class Unknowns:
    """The cells that can be positive; `equal` . cells = `is_`, independent; `least` . cells >= `at_least`."""

    free: NDArray[np.bool_]
    equal: Floats
    is_: Floats
    least: Floats
    at_least: Floats


@dataclass(frozen=True)
class Answer:
    """A belief that meets every constraint, its entropy in nats a person, and whether the solver calls it optimal."""

    p: Floats
    entropy: float
    settled: bool


def unknowns_of(model: Model) -> Unknowns:
    """The linear part of the problem without cells that must be 0, dependent equations and slack that never moves."""
    equal, is_ = _rows(model, "=")
    least, at_least = _rows(model, ">=")
    slack = np.block([[equal, np.zeros((len(equal), len(least)))], [least, -np.eye(len(least))]])
    positive = _support(slack, np.concatenate([is_, at_least]))
    cells = equal.shape[1]
    free, tight = positive[:cells], ~positive[cells:]
    equal = np.concatenate([equal, least[tight]])[:, free]
    is_ = np.concatenate([is_, at_least[tight]])
    kept = _independent(equal)
    return Unknowns(free.reshape(model.shape), equal[kept], is_[kept], least[~tight][:, free], at_least[~tight])


def _rows(model: Model, sense: str) -> tuple[Floats, Floats]:
    chosen = [each for each in model.linear if each.sense == sense]
    matrix = np.array([each.coefficients.ravel() for each in chosen]).reshape(-1, model.shape[0] * model.shape[1])
    return matrix, np.array([each.people for each in chosen])


def _support(matrix: Floats, right: Floats) -> NDArray[np.bool_]:
    """Which variables are positive in some solution of matrix . v = right, v >= 0: one linear program.

    Of a multiple of a solution, as many variables as can be have at least 1.
    """
    n = matrix.shape[1]
    some = np.hstack([matrix, matrix, -right[:, None]])
    bounds = [(0, 1)] * n + [(0, None)] * n + [(1, None)]
    found = linprog(np.concatenate([-np.ones(n), np.zeros(n + 1)]), A_eq=some, b_eq=np.zeros(len(some)), bounds=bounds)
    assert found.status == 0, found.message
    return np.asarray(found.x[:n] > 0.5)


def _independent(matrix: Floats) -> list[int]:
    """Rows that span all others."""
    if not len(matrix):
        return []
    _, r, order = qr(matrix.T, mode="economic", pivoting=True)
    size = np.abs(np.diag(r))
    return sorted(order[: int((size > ROUNDING * size[0]).sum())].tolist())


def starts(model: Model, rng: np.random.Generator, random: int = 2) -> Iterator[Floats]:
    """The leaves' own distributions blended with uniform, then random beliefs."""
    yield 0.9 * model.closed + 0.1 / len(model.values)
    for _ in range(random):
        yield rng.dirichlet(np.ones(len(model.values)), size=len(model.weight))


def accepted(model: Model, p: Floats, *, settled: bool) -> Answer | None:
    """The belief, when it is one and meets every constraint; whatever the solver said of it."""
    if not np.isfinite(p).all():
        return None
    p = np.maximum(p, 0)
    return Answer(p, entropy(model, p), settled) if max(violation(model, p).values()) <= FEASIBLE else None
