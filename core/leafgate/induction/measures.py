"""Impurity as sums over counts, so that a split's gain is a difference of sums.

`purity(counts)` is people x measure, negated and up to a constant that cancels: the gain of a split,
in people x bits (entropy) or people (gini), is the sum over the sons minus the node.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Measure = Literal["gain", "gain_ratio", "gini"]

Floats = NDArray[np.float64]


def x_log_x(x: Floats) -> Floats:
    """x log2 x, and 0 at 0."""
    return x * np.log2(x, where=x > 0, out=np.zeros_like(x))


def purity(counts: Floats, measure: Measure) -> Floats:
    """Minus people times impurity, over the last axis (people per class).

    Entropy: sum_c n_c log2 n_c - n log2 n = -n H. Gini: sum_c n_c^2 / n = n (1 - gini).
    Source: Quinlan, "Induction of Decision Trees", Machine Learning 1, 1986 (information gain);
    Breiman, Friedman, Olshen, Stone, "Classification and Regression Trees", 1984 (gini).
    """
    n = counts.sum(axis=-1)
    if measure == "gini":
        squares = (counts**2).sum(axis=-1)
        return np.asarray(np.divide(squares, n, where=n > 0, out=np.zeros_like(squares)))
    return np.asarray(x_log_x(counts).sum(axis=-1) - x_log_x(n))
