"""Forms of l-diversity and (alpha, k)-anonymity: one number for each row of shares.

`p` has a row for each group of people and a column for each value of the secret; rows sum to 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DECIMALS = 12
"""Scores are rounded to so many, so that five equal shares have an l of 5 and not of 4.999999999999999."""


def distinct_l(p: Floats) -> Floats:
    """Count the values each row gives any chance; from 1 to the number of columns.

    Source: Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, "l-Diversity: Privacy Beyond
    k-Anonymity", ACM TKDD 1(1), 2007, section 4 ("well-represented", its weakest reading).
    """
    return np.asarray((p > 0).sum(axis=1), dtype=np.float64)


def entropy_l(p: Floats) -> Floats:
    """The largest l for which each row is entropy l-diverse; from 1 to the number of columns.

    A group is entropy l-diverse when H(p) >= log(l); the largest such l is exp(H(p)).

    Source: Machanavajjhala and others 2007, Definition 4.1. doi:10.1145/1217299.1217302
    Departure: l is a real number, not cut to a whole one; rounded to 12 decimals.

    >>> entropy_l(np.array([[0.5, 0.5], [1.0, 0.0]])).tolist()
    [2.0, 1.0]
    """
    log_p = np.log(p, where=p > 0, out=np.zeros_like(p))
    return np.asarray(np.round(np.exp(-(p * log_p).sum(axis=1)), DECIMALS))


def recursive_l(p: Floats, c: float) -> Floats:
    """The largest l for which each row is recursively (c, l)-diverse; 0 if there is none.

    With shares in falling order, r_1 < c (r_l + r_{l+1} + ... + r_m).

    Source: Machanavajjhala and others 2007, recursive (c, l)-diversity.
    Departure: sums are compared after rounding to 12 decimals, so that equal sides are not `<`.

    >>> recursive_l(np.array([[0.5, 0.3, 0.2]]), c=2).tolist()
    [2.0]
    """
    falling = -np.sort(-p, axis=1)
    tails = np.round(c * np.cumsum(falling[:, ::-1], axis=1)[:, ::-1], DECIMALS)
    return np.asarray((np.round(falling[:, :1], DECIMALS) < tails).sum(axis=1), dtype=np.float64)


def largest_share(p: Floats) -> Floats:
    """The share of the most frequent value of each row, to 12 decimals; alpha of (alpha, k)-anonymity.

    Source: Wong, Li, Fu, Wang, "(alpha, k)-Anonymity: An Enhanced k-Anonymity Model for Privacy
    Preserving Data Publishing", KDD 2006. doi:10.1145/1150402.1150499
    """
    return np.asarray(np.round(p.max(axis=1), DECIMALS))
