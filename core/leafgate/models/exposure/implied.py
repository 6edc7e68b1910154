"""Everything that a model's file discloses without saying so."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.ir.model import CALIBRATION_DISCLOSURE, ModelIR, TreeIR, levels
from leafgate.kernel.arrays import Floats, Mask
from leafgate.kernel.release import FileDisclosure
from leafgate.models.exposure.categories import value_names_disclosed
from leafgate.models.exposure.scores import with_recoverable_score_counts
from leafgate.models.exposure.shares import with_recoverable_counts

PATH_LENGTHS = FileDisclosure(
    "scores_betray_counts",
    "high",
    "path lengths, from which it follows how many of a tree's rows are at each leaf",
    "counts",
)
MOST_ROWS, ROWS_AT_LEAF = 100_000, 1_000
"""Trees of so many rows are looked for, and leaves of so many."""

PIVOTS, MOST_LEAVES, FEWEST_LEAVES = 5, 200, 2
"""So many leaves are asked how many rows their tree may have, so many are compared, and so many must fit."""

CLOSE = 1e-9
"""Path lengths are this near to those of whole numbers of rows; chance brings hardly any two leaves so near."""


def with_implied_disclosures(model: ModelIR) -> ModelIR:
    """The model, its disclosures completed: names of values, and counts that follow from what is on the leaves."""
    stated = replace(model, discloses=(*model.discloses, *value_names_disclosed(model), *_calibration_disclosed(model)))
    if stated.level != "counts" and has_path_lengths(stated):
        stated = replace(stated, discloses=(PATH_LENGTHS, *stated.discloses))
    return with_recoverable_score_counts(with_recoverable_counts(stated))


def _calibration_disclosed(model: ModelIR) -> tuple[FileDisclosure, ...]:
    """The shares at the points of calibrated sums, where the file does not say them."""
    like, has_points = CALIBRATION_DISCLOSURE, any(each.points for each in model.calibrated_sums)
    said = any((item.kind, item.severity) == (like.kind, like.severity) for item in model.discloses)
    return (like,) if has_points and not said else ()


def average_path_length(rows: NDArray[Any]) -> Floats:
    """How many random tests part one of so many rows from the others, on average; of two rows it is 1.

    Source: Liu, Ting, Zhou, "Isolation Forest", ICDM 2008, equation 1. doi:10.1109/ICDM.2008.17
    """
    n = np.maximum(rows, 2).astype(np.float64)
    lengths = 2 * (np.log(n - 1) + np.euler_gamma) - 2 * (n - 1) / n
    return np.where(rows > 2, lengths, np.where(rows == 2, 1.0, 0.0))


def has_path_lengths(model: ModelIR) -> bool:
    """Are most leaves those of an isolation forest, from whose logarithms of scores the rows at each of them follow?

    With t trees of n rows, a leaf of m rows at the depth d has -log(2) (d + c(m)) / (t c(n)), where c is
    `average_path_length`.
    """
    if model.values != "values" or model.combine != "exp_sum":
        return False
    leaves = np.unique(np.concatenate([_depths_and_numbers(tree) for tree in model.trees]), axis=0)
    depths, numbers = leaves[:: max(1, len(leaves) // MOST_LEAVES)].T
    lengths = -numbers * len(model.trees) / math.log(2)
    of_trees = average_path_length(np.arange(2, MOST_ROWS + 1))
    return any(
        np.count_nonzero(_are_lengths(lengths * usual - depths)) >= max(FEWEST_LEAVES, len(depths) / 2)
        for pivot in np.argsort(lengths)[:PIVOTS].tolist()
        for usual in of_trees[_are_lengths(lengths[pivot] * of_trees - depths[pivot])].tolist()
    )


def _are_lengths(numbers: Floats) -> Mask:
    """Which numbers are average path lengths of few rows."""
    lengths = average_path_length(np.arange(1, ROWS_AT_LEAF + 1))
    above = np.searchsorted(lengths, numbers).clip(1, len(lengths) - 1)
    apart = np.minimum(np.abs(numbers - lengths[above]), np.abs(numbers - lengths[above - 1]))
    return np.asarray(apart < CLOSE)


def _depths_and_numbers(tree: TreeIR) -> Floats:
    """The depth and the number of each leaf, shape (n_leaves, 2)."""
    depth = np.zeros(tree.nodes)
    for number, nodes in enumerate(levels(tree)):
        depth[nodes] = number
    return np.column_stack([depth, tree.values[:, 0]])[tree.leaves]
