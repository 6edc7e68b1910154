"""Mean and covariance of the original numbers, from noisy ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Moments:
    """Of numbers whose noise has standard deviation 1 in every column: mean, covariance shared and original.

    `people` is how many told of each column.
    """

    mean: Floats
    shared: Floats
    original: Floats
    people: Floats

    @property
    def least(self) -> Floats:
        """The mean-square error nobody comes below: that of the mean told by so many noisy numbers, or the noise's."""
        return np.asarray(np.minimum(np.maximum(np.diag(self.shared), 1) / self.people, 1))


def moments_of(numbers: Floats, weight: Floats) -> Moments:
    """The moments of numbers with noise of standard deviation 1, NaN where missing; each column tells of somebody.

    Cov(X) = Cov(W) - 1, for noise that is independent of the originals and from column to column; what sampling
    leaves below 0 is raised to it.

    Source: Z. Huang, W. Du, B. Chen, "Deriving Private Information from Randomized Data", SIGMOD 2005, section 5.
    Departure: a pair of columns is told of by the records that show both.
    """
    told = ~np.isnan(numbers)
    people = weight @ told
    mean = weight @ np.where(told, numbers, 0) / people
    away = np.where(told, numbers - mean, 0)
    pairs = (told * weight[:, None]).T @ told
    shared = (away * weight[:, None]).T @ away / np.maximum(pairs, 1)
    return Moments(mean, raised(shared), raised(shared - np.eye(len(mean))), people)


def raised(matrix: Floats) -> Floats:
    """The nearest symmetric matrix none of whose eigenvalues is below 0."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0)) @ vectors.T)
