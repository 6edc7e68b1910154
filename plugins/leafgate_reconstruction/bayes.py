"""BE-DR: the Bayes estimate of originals that are jointly normal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leafgate_reconstruction.moments import Moments

Floats = NDArray[np.float64]


def bayes_estimates(numbers: Floats, moments: Moments) -> tuple[Floats, Floats]:
    """Estimates of the originals, and the mean-square error of each, where noise has variance 1; NaN where missing.

    x = mu + S (S + 1)^-1 (w - mu), and the error S - S (S + 1)^-1 S; of a record with missing numbers S (S + 1)^-1
    is over the columns it shows, so that these tell of the others.

    Source: Huang, Du, Chen, SIGMOD 2005, section 6 (BE-DR): x = (S^-1 + Sr^-1)^-1 (S^-1 mu + Sr^-1 w), which is
    the same where S can be inverted and noise is normal.
    Departure: S may be singular. Other noise is treated as if it were normal: the best linear estimate.
    """
    told = ~np.isnan(numbers)
    patterns, which = np.unique(told, axis=0, return_inverse=True)
    estimates, error = np.zeros_like(numbers), np.zeros_like(numbers)
    for each, shown in enumerate(patterns):
        rows = which.reshape(-1) == each
        seen = moments.original[:, shown]
        gain = np.linalg.solve(seen[shown] + np.eye(int(shown.sum())), seen.T).T
        estimates[rows] = moments.mean + (numbers[np.ix_(rows, shown)] - moments.mean[shown]) @ gain.T
        error[rows] = np.diag(moments.original - gain @ seen.T)
    return estimates, error
