"""Coins from the operating system, one by one."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Floats = NDArray[np.float64]


class SystemCoins:
    """Draws as numpy's generators name them, each from bits of the operating system's own.

    A generator that is only seeded by it could be run on by whoever works out its state, as from noise on numbers they
    know.
    """

    def random(self, size: int) -> Floats:
        """Even numbers above 0 and below 1."""
        bits = np.frombuffer(os.urandom(8 * size), dtype=np.uint64) >> np.uint64(11)
        return np.asarray((bits.astype(np.float64) + 0.5) / 2.0**53)

    def normal(self, mean: float, deviation: float, size: int) -> Floats:
        return np.asarray(mean + deviation * ndtri(self.random(size)))

    def uniform(self, low: float, high: float, size: int) -> Floats:
        return np.asarray(low + (high - low) * self.random(size))

    def permutation(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows in another order, each order as likely."""
        return rows[np.argsort(self.random(len(rows)), kind="stable")]
