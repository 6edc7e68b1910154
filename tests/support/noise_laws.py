"""The laws of noise as scipy has them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from leafgate.api import Noise


def peer_of(noise: Noise) -> Any:
    """The frozen distribution of scipy's."""
    if noise.law == "gaussian":
        return stats.norm(0, noise.scale)
    return stats.uniform(-noise.scale, 2 * noise.scale)


def density(noise: Noise, at: NDArray[np.float64]) -> NDArray[np.float64]:
    """f_R at each number, per unit of the column."""
    return np.asarray(peer_of(noise).pdf(at))
