"""Tests that count everyone on both sides, by the chance of being there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leafgate.noise import Noise
from leafgate_ppdtc45.plain import Learner
from leafgate_ppdtc45.twigs import Split, best_cut, chosen

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

CANDIDATES = 128
"""So many places to cut a column are tried at a node, spread evenly over its different numbers."""

CELLS = 512
"""Different numbers at a node are taken together until there are no more than that."""


def best_split(
    numbers: Floats, classes: Codes, weight: Floats, laws: Sequence[Noise], n_classes: int, learner: Learner
) -> Split | None:
    """The test with the largest gain ratio over probable numbers of people; None where none gains.

    A person with the shared number w counts with p_S1(w|t) = 1 - F_R(w - t) below a cut t and with the rest above.
    Both sides need `min_leaf` probable people; with `average_gain` only columns of at least the mean gain compete.

    Source: Liu, Kantarcioglu, Thuraisingham, section 6.4, equations 13 to 22.
    Departure: Prob needs its class index (15 and 17 lack it), and is normalised by the sum of freq'', as w(S_i) is;
    each column's cut is chosen by gain, then columns by gain ratio, as in C4.5; cuts lie midway between two shared
    numbers, not at them; where a node has more than CELLS different numbers, neighbours are taken together, and
    CANDIDATES cuts are tried.
    """
    splits = []
    for column, law in enumerate(laws):
        at, low, total = probable_counts(numbers[:, column], classes, weight, law, n_classes)
        splits.append(best_cut(column, at, low, total, learner.min_leaf))
    return chosen(splits, average_gain=learner.average_gain)


def probable_counts(
    numbers: Floats, classes: Codes, weight: Floats, law: Noise, n_classes: int
) -> tuple[Floats, Floats, Floats]:
    """The cuts that are tried, probable people per class below each of them (rows), and per class altogether."""
    middles, cell = _cells(numbers)
    counts = np.zeros((len(middles), n_classes))
    np.add.at(counts, (cell, classes), weight)
    between = (middles[:-1] + middles[1:]) / 2
    at = between[np.unique(np.linspace(0, len(between) - 1, min(CANDIDATES, len(between))).astype(np.int64))]
    below = 1 - law.below(middles[:, None] - at[None, :])
    return at, below.T @ counts, counts.sum(axis=0)


def _cells(numbers: Floats) -> tuple[Floats, Codes]:
    """Different numbers, or where there are too many the middles of runs of them; and each person's."""
    distinct, cell = np.unique(numbers, return_inverse=True)
    if len(distinct) <= CELLS:
        return distinct, cell.reshape(-1)
    run = np.arange(len(distinct)) * CELLS // len(distinct)
    middles = np.bincount(run, weights=distinct) / np.bincount(run)
    return middles, run[cell.reshape(-1)]
