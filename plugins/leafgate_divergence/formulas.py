"""Divergence and gain: one number for each row of chances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def divergences(true: Floats, believed: Floats, floor: float) -> Floats:
    """The Kullback-Leibler divergence of each row of `true` from what is believed, in nats.

    From 0 to -ln(floor). Rows sum to 1.

    Source: Zhu, Du, "Understanding Privacy Risk of Publishing Decision Trees", DBSec 2010, section 5,
    D_individual. doi:10.1007/978-3-642-13739-6_3
    Departure: the paper does not say what counts where something true is believed impossible. Here no
    chance counts as less than `floor`. That and rounding may take a sum below 0; it is then 0.

    The paper's Example 1, from its q1 to q4:

    >>> true = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> believed = np.array([[1.0, 0.0], [0.5, 0.5], [0.5, 0.5], [0.0, 1.0]])
    >>> divergences(true, believed, 1e-9).round(3).tolist()
    [0.0, 0.693, 0.693, 0.0]
    """
    log_true = np.log(true, where=true > 0, out=np.zeros_like(true))
    terms = true * (log_true - np.log(np.maximum(believed, floor)))
    return np.asarray(np.maximum(terms.sum(axis=1), 0.0))


def floored(true: Floats, believed: Floats, floor: float) -> int:
    """How many cells have a part in a divergence only by their floor."""
    return int(((true > 0) & (believed < floor)).sum())


def gains(believed: Floats, baseline: Floats) -> Floats:
    """How many times as likely as by the baseline; 1 where both are 0, infinite where only the baseline is.

    >>> gains(np.array([0.8, 0.0, 0.5]), np.array([0.4, 0.0, 0.0])).tolist()
    [2.0, 1.0, inf]
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where((believed == 0) & (baseline == 0), 1.0, believed / baseline)
