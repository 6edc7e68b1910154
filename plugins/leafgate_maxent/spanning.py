"""Rows of a matrix that span all of them."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from leafgate_maxent.walk import Ids

NOTHING = 1e-9
"""Of the longest row: what is left of a row beside others, where it depends on them."""


def independent(matrix: sp.csr_array) -> Ids:
    """The numbers of rows that span all; solvers refuse more equations than variables."""
    joined = sp.block_array([[None, matrix], [matrix.T, None]], format="csr")
    number = sp.csgraph.connected_components(joined, directed=False)[1][: matrix.shape[0]]
    order = np.argsort(number, kind="stable")
    pieces = np.split(order, np.flatnonzero(np.diff(number[order])) + 1)
    return np.sort(np.concatenate([_spanning(matrix, rows) for rows in pieces])) if len(order) else order


def _spanning(matrix: sp.csr_array, rows: Ids) -> Ids:
    """By QR with pivots, of the rows of one component."""
    mine = matrix[rows]
    dense = mine[:, np.unique(mine.indices)].toarray()
    triangle, pivot = sl.qr(dense.T, mode="r", pivoting=True)
    size = np.abs(np.diagonal(triangle))
    return np.asarray(rows[pivot[: int((size > NOTHING * size.max(initial=0)).sum())]])
