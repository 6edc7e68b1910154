"""Estimators of original numbers: projections that drop the noise of other directions, and Bayes estimates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leafgate.api import Floats


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
    result = ~np.isnan(numbers)
    onto = kept @ kept.T
    off = np.eye(len(onto)) - onto
    estimates = moments.mean + np.where(result, np.where(result, numbers - moments.mean, 0) @ onto, 0)
    error = np.diag(onto + off @ moments.original @ off)
    return estimates, np.where(result, error, np.diag(moments.original))


def bayes_estimates(numbers: Floats, moments: Moments) -> tuple[Floats, Floats]:
    """Estimates of the originals, and the mean-square error of each, where noise has variance 1; NaN where missing.

    x = mu + S (S + 1)^-1 (w - mu), and the error S - S (S + 1)^-1 S; of a record with missing numbers S (S + 1)^-1
    is over the columns that it has, from which the others are estimated.

    Source: Huang, Du, Chen, SIGMOD 2005, section 6 (BE-DR): x = (S^-1 + Sr^-1)^-1 (S^-1 mu + Sr^-1 w), which is
    the same where S can be inverted and noise is normal.
    Departure: S may be singular. Other noise is treated as if it were normal: the best linear estimate.
    """
    result = ~np.isnan(numbers)
    patterns, which = np.unique(result, axis=0, return_inverse=True)
    estimates, error = np.zeros_like(numbers), np.zeros_like(numbers)
    for each, shown in enumerate(patterns):
        rows = which.reshape(-1) == each
        seen = moments.original[:, shown]
        gain = np.linalg.solve(seen[shown] + np.eye(int(shown.sum())), seen.T).T
        estimates[rows] = moments.mean + (numbers[np.ix_(rows, shown)] - moments.mean[shown]) @ gain.T
        error[rows] = np.diag(moments.original - gain @ seen.T)
    return estimates, error


@dataclass(frozen=True)
class Moments:
    """Of numbers whose noise has standard deviation 1 in every column: mean, covariance shared and original.

    `people` is how many have a number in each column.
    """

    mean: Floats
    shared: Floats
    original: Floats
    people: Floats

    @property
    def least(self) -> Floats:
        """The least possible mean-square error: that of the mean of so many noisy numbers, or the noise's."""
        return np.asarray(np.minimum(np.maximum(np.diag(self.shared), 1) / self.people, 1))


def moments_of(numbers: Floats, weight: Floats) -> Moments:
    """The moments of numbers with noise of standard deviation 1, NaN where missing; no column is all NaN.

    Cov(X) = Cov(W) - 1, for noise that is independent of the originals and from column to column; what sampling
    leaves below 0 is raised to it.

    Source: Z. Huang, W. Du, B. Chen, "Deriving Private Information from Randomized Data", SIGMOD 2005, section 5.
    Departure: the covariance of two columns is estimated from the records that have both.
    """
    result = ~np.isnan(numbers)
    people = weight @ result
    mean = weight @ np.where(result, numbers, 0) / people
    away = np.where(result, numbers - mean, 0)
    pairs = (result * weight[:, None]).T @ result
    shared = (away * weight[:, None]).T @ away / np.maximum(pairs, 1)
    return Moments(mean, raised(shared), raised(shared - np.eye(len(mean))), people)


def raised(matrix: Floats) -> Floats:
    """The nearest symmetric matrix none of whose eigenvalues is below 0."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0)) @ vectors.T)
