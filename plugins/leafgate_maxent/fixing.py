"""The cells that the equalities settle before anything is solved."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from leafgate_maxent.problem import Problem
from leafgate_maxent.walk import Floats

NEAR = 1e-9
"""People; numbers closer than this are equal."""


def fixed_cells(problem: Problem) -> Floats:
    """People in the cells that the equalities settle one after the other; NaN where they leave a choice."""
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
        nobody = (left <= NEAR) & (count > 0)
        single = (count == 1) & ~nobody
        if not (nobody | single).any():
            return people
        settled = free & (columns.T @ nobody.astype(np.float64) > 0)
        people[settled] = 0
        rows = sp.coo_array(matrix[np.flatnonzero(single)])
        mine = np.isnan(people[rows.col])
        row, cell = rows.row[mine], rows.col[mine]
        people[cell] = left[np.flatnonzero(single)[row]] / rows.data[mine]
