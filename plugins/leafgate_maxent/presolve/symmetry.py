"""Symmetry reduction: strata that all constraints treat alike share one variable."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from leafgate.types.arrays import Floats, Ids
from leafgate_maxent.problem.problem import Problem
from leafgate_maxent.problem.split_constraints import splitmix64

Marks = NDArray[np.uint64]


def symmetry_classes(problem: Problem, blocks: sp.csr_array, least: sp.csr_array, fixed: Floats) -> tuple[Ids, Ids]:
    """For each stratum, and each public row, the number of its symmetry class.

    Strata are alike when every active constraint asks the same of them and the same cells are
    settled; rows when their strata are. Classes are found by sums of random 64-bit marks.
    """
    strata, classes = problem.strata, problem.classes
    rng = np.random.default_rng(1)
    mark = splitmix64(np.ascontiguousarray(strata.share).view(np.uint64).copy())
    for column in (*strata.leaf.T, *strata.value.values()):
        mark = splitmix64(mark + (column + 2).astype(np.uint64))
    if strata.member is not None:
        mark = splitmix64(mark + strata.member.astype(np.uint64))
    mark += _sums(sp.csr_array(blocks.T), rng)
    special = [linear.matrix for linear in problem.linear if linear.kind == "background" and linear.equal]
    about = sp.csr_array(sp.vstack([*special, least], format="csr").T)
    bits = _sums(about, rng, about.data).reshape(-1, classes) + np.isnan(fixed).reshape(-1, classes)
    for x in range(classes):
        mark = splitmix64(mark * np.uint64(3) + bits[:, x])
    row = np.zeros(len(problem.weight), dtype=np.uint64)
    np.add.at(row, strata.row, splitmix64(mark))
    rows = np.unique(row, return_inverse=True)[1]
    together = splitmix64(mark) + splitmix64(rows[strata.row].astype(np.uint64))
    return np.unique(together, return_inverse=True)[1].astype(np.int64), rows.astype(np.int64)


def _sums(matrix: sp.csr_array, rng: np.random.Generator, numbers: Floats | None = None) -> Marks:
    """For each row the sum of the marks of its columns, each times its number."""
    marks = rng.integers(1, 2**63, size=matrix.shape[1], dtype=np.uint64)
    parts = marks[matrix.indices]
    if numbers is not None:
        parts = splitmix64(parts + np.ascontiguousarray(numbers).view(np.uint64))
    total = np.zeros(matrix.shape[0], dtype=np.uint64)
    np.add.at(total, np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), parts)
    return total
