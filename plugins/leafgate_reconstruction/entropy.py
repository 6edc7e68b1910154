"""Differential entropies, in bits: of numbers in intervals, and of numbers with noise on them."""

from __future__ import annotations

import numpy as np

from leafgate.errors import InconclusiveError
from leafgate.types.arrays import Floats
from leafgate.types.noise import Noise

STEPS = 8
"""Normal mixtures are summed on a grid so many times finer than the noise: their tails end smoothly, and the
trapezium rule errs by exp(-2 pi^2 STEPS^2)."""
REACH = 9
"""In standard deviations; beyond it is less than 1e-18 of normal noise."""
MAX_GRID = 20_000_000
"""Points of the largest grid."""


def entropy_in(numbers: Floats, weight: Floats, edges: Floats) -> float:
    """h(X) of a density that is constant in each interval: sum of p log2(width / p).

    What lies outside counts to the first or the last interval.

    Source: D. Agrawal, C. C. Aggarwal, PODS 2001, section 2.
    """
    place = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
    people = np.bincount(place, weights=weight, minlength=len(edges) - 1)
    share, width = people / people.sum(), np.diff(edges)
    positive = share > 0
    return float(share[positive] @ np.log2(width[positive] / share[positive]))


def entropy_shared(numbers: Floats, weight: Floats, noise: Noise) -> float:
    """h(W) of W = X + R, X being one of the numbers, each as likely as its weight: an exact mixture of noise laws.

    At least h(R). InconclusiveError where the range of the numbers is too many times that of normal noise.
    """
    values, which = np.unique(numbers, return_inverse=True)
    share = np.bincount(which, weights=weight) / weight.sum()
    return _uniform(values, share, noise.scale) if noise.law == "uniform" else _normal(values, share, noise.scale)


def _uniform(values: Floats, share: Floats, half: float) -> float:
    """In closed form: the density is constant between the numbers' ends x - a and x + a."""
    ends = np.concatenate([values - half, values + half])
    order = np.argsort(ends, kind="stable")
    density = np.cumsum(np.concatenate([share, -share])[order])[:-1] / (2 * half)
    length = np.diff(ends[order])
    positive = (density > 0) & (length > 0)
    return float(-(length[positive] * density[positive]) @ np.log2(density[positive]))


def _normal(values: Floats, share: Floats, scale: float) -> float:
    """By the trapezium rule."""
    step = scale / STEPS
    place = (values - values[0]) / step
    nearest = np.rint(place).astype(np.int64)
    size, reach = int(nearest[-1]) + 1, REACH * STEPS
    if size > MAX_GRID:
        raise InconclusiveError("the noise is too fine beside the numbers' range for their entropy to be summed")
    density = np.zeros(size + 2 * reach)
    for offset in range(-reach, reach + 1):
        away = (nearest + offset - place) / STEPS
        density += np.bincount(nearest + offset + reach, share * np.exp(-0.5 * away**2), len(density))
    density /= scale * np.sqrt(2 * np.pi)
    positive = density > 0
    return float(-step * (density[positive] @ np.log2(density[positive])))
