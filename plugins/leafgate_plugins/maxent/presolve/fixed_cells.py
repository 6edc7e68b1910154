"""Presolve: cells that the constraints fix, connected components, and linearly independent rows."""

from __future__ import annotations

import numpy as np
from scipy import linalg as sl
from scipy import optimize as so
from scipy import sparse as sp

from leafgate.api import Floats, Ids
from leafgate_plugins.maxent.problem.problem import Problem

PEOPLE_TOLERANCE = 1e-9
"""People; numbers closer than this are equal."""
HALF = 0.5
"""In the largest solution a cell holds one person or none."""


def fixed_cells(problem: Problem) -> Floats:
    """People in the cells that the equalities settle one after the other; NaN where they leave a choice.

    Returns:
        People, shape (n_strata * n_classes,), class by class within each stratum.
    """
    people = np.where(problem.allowed, np.nan, 0.0).ravel()
    equal = [linear for linear in problem.linear if linear.equal]
    matrix = sp.csr_array(sp.vstack([linear.matrix for linear in equal], format="csr"))
    bound = np.concatenate([linear.bound for linear in equal])
    adds = np.flatnonzero((matrix < 0).sum(axis=1) == 0)
    matrix, bound = sp.csr_array(matrix[adds]), bound[adds]
    columns = sp.csc_array(matrix)
    while True:
        free = np.isnan(people)
        left = bound - matrix @ np.where(free, 0, people)
        count = (matrix != 0) @ free.astype(np.float64)
        nobody = (left <= PEOPLE_TOLERANCE) & (count > 0)
        single = (count == 1) & ~nobody
        if not (nobody | single).any():
            return people
        settled = free & (columns.T @ nobody.astype(np.float64) > 0)
        people[settled] = 0
        rows = sp.coo_array(matrix[np.flatnonzero(single)])
        mine = np.isnan(people[rows.col])
        row, cell = rows.row[mine], rows.col[mine]
        people[cell] = left[np.flatnonzero(single)[row]] / rows.data[mine]


def forced_cells(problem: Problem, fixed: Floats) -> Floats:
    """`fixed` with 0 also in the cells that all linear constraints together force to be empty.

    A linear program looks for the solution, however large its scale, that has as many cells as can be
    with somebody in them: the others are empty in every solution.
    """
    free = np.flatnonzero(np.isnan(fixed))
    base = np.where(np.isnan(fixed), 0, fixed)
    matrix = sp.csr_array(sp.vstack([linear.matrix for linear in problem.linear], format="csr"))
    bound = np.concatenate([linear.bound for linear in problem.linear]) - matrix @ base
    equal = np.concatenate([np.full(len(linear), linear.equal) for linear in problem.linear])
    n, one = len(free), sp.csr_array(-bound[:, None])
    kept = sp.hstack([matrix[:, free], sp.csr_array((len(bound), n)), one])
    held = sp.hstack([sp.eye_array(n), -sp.eye_array(n), sp.csr_array((n, 1))])
    found = so.milp(
        np.concatenate([np.zeros(n), -np.ones(n), [0.0]]),
        bounds=so.Bounds(np.append(np.zeros(2 * n), 1.0), np.concatenate([np.full(n, np.inf), np.ones(n), [np.inf]])),
        constraints=so.LinearConstraint(
            sp.csr_array(sp.vstack([kept, held], format="csr")),
            np.zeros(len(bound) + n),
            np.concatenate([np.where(equal, 0.0, np.inf), np.full(n, np.inf)]),
        ),
    )
    if found.x is None:
        return fixed
    result = fixed.copy()
    result[free[found.x[n : 2 * n] < HALF]] = 0
    return result


def component_numbers(matrix: sp.csr_array) -> tuple[Ids, Ids]:
    """The number of the connected component of each row and of each column; a nonzero entry joins its row and column.

    Returns:
        Two arrays, shapes (n_rows,) and (n_columns,), with numbers from 0 that both share.
    """
    graph = sp.block_array([[None, matrix], [matrix.T, None]], format="csr")
    number = np.asarray(sp.csgraph.connected_components(graph, directed=False)[1])
    return number[: matrix.shape[0]], number[matrix.shape[0] :]


DEPENDENT_ROW_TOLERANCE = 1e-9
"""Of the longest row: what is left of a row beside others, where it depends on them."""


def independent_rows(matrix: sp.csr_array) -> Ids:
    """The positions of linearly independent rows that span all rows; solvers refuse more equations than variables."""
    number = component_numbers(matrix)[0]
    order = np.argsort(number, kind="stable")
    pieces = np.split(order, np.flatnonzero(np.diff(number[order])) + 1)
    return np.sort(np.concatenate([_spanning(matrix, rows) for rows in pieces])) if len(order) else order


def _spanning(matrix: sp.csr_array, rows: Ids) -> Ids:
    """By QR with pivots, of the rows of one component."""
    mine = matrix[rows]
    dense = mine[:, np.unique(mine.indices)].toarray()
    triangle, pivot = sl.qr(dense.T, mode="r", pivoting=True)
    size = np.abs(np.diagonal(triangle))
    return np.asarray(rows[pivot[: int((size > DEPENDENT_ROW_TOLERANCE * size.max(initial=0)).sum())]])
