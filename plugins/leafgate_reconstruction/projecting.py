"""Reconstruction by projection: keep the directions in which the originals vary, and the noise of the others goes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leafgate_reconstruction.moments import Moments

Floats = NDArray[np.float64]


def spectral_signal(moments: Moments) -> Floats:
    """The directions (columns) in which the shared numbers vary by more than noise alone would.

    Source: H. Kargupta, S. Datta, Q. Wang, K. Sivakumar, "On the Privacy Preserving Properties of Random Data
    Perturbation Techniques", ICDM 2003: eigenvalues of pure noise of n records in m columns lie, for large n and m,
    from (1 - sqrt(m/n))^2 to (1 + sqrt(m/n))^2 of its variance; those above are signal.
    """
    values, vectors = np.linalg.eigh(moments.shared)
    return np.asarray(vectors[:, values > noise_bounds(len(values), moments.people.min())[1]])


def noise_bounds(columns: int, people: float) -> tuple[float, float]:
    """Between which the eigenvalues lie of the covariance of noise of variance 1 (Marchenko and Pastur)."""
    ratio = np.sqrt(columns / people)
    return float((1 - ratio) ** 2), float((1 + ratio) ** 2)


def principal_components(moments: Moments, number: int | None) -> Floats:
    """The principal directions (columns) of the originals: so many, or those with more variance than the noise.

    Source: Huang, Du, Chen, SIGMOD 2005, section 5 (PCA-DR).
    Departure: the paper looks for a gap between dominant eigenvalues and the others. A direction that is kept costs
    the noise's variance, one that is dropped its own: with the larger ones kept the mean-square error is least.
    """
    values, vectors = np.linalg.eigh(moments.original)
    return np.asarray(vectors[:, values > 1] if number is None else vectors[:, ::-1][:, :number])


def projected(numbers: Floats, moments: Moments, kept: Floats) -> tuple[Floats, Floats]:
    """Estimates of the originals, and the mean-square error of each: x = mu + P (w - mu), P onto the kept directions.

    The error P R - (1 - P)(X - mu) has covariance P + (1 - P) S (1 - P) for noise of variance 1, whose first part
    has the mean diagonal p/m of the paper. A missing number is estimated by the mean, with variance S.

    Source: Huang, Du, Chen, SIGMOD 2005, section 5 (the noise's part of the error).
    Departure: the second part, of what is dropped, is ours; it is not left out of the belief.
    """
    told = ~np.isnan(numbers)
    onto = kept @ kept.T
    off = np.eye(len(onto)) - onto
    estimates = moments.mean + np.where(told, np.where(told, numbers - moments.mean, 0) @ onto, 0)
    error = np.diag(onto + off @ moments.original @ off)
    return estimates, np.where(told, error, np.diag(moments.original))
