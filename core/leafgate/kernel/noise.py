"""Noise: the law of what was added to a column's numbers before they were shared."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

if TYPE_CHECKING:
    from leafgate.kernel.arrays import Floats


Law = Literal["gaussian", "uniform"]
LAWS: tuple[str, ...] = get_args(Law)
FINE = 1024
"""Shared numbers are rounded to a grid at least so many times finer than the noise."""


class Coins(Protocol):
    """What noise is drawn by: a generator of numpy's, or whatever draws as they do."""

    def normal(self, loc: float, scale: float, size: int, /) -> Floats: ...

    def uniform(self, low: float, high: float, size: int, /) -> Floats: ...


@dataclass(frozen=True)
class Noise:
    """Additive noise R of mean 0: Gaussian with standard deviation `scale`, or uniform on [-scale, scale].

    Source: Agrawal, Srikant, "Privacy-Preserving Data Mining", SIGMOD 2000, section 2.
    Departure: what is shared is rounded to `grid`, a power of two far below the scale. The sum of two
    floating-point numbers discloses by its low bits which numbers it can be the sum of; rounded, it does not.
    """

    law: Law
    scale: float

    @property
    def grid(self) -> float:
        """The step of shared numbers, in the column's unit."""
        return float(2.0 ** math.floor(math.log2(self.scale / FINE)))

    @property
    def variance(self) -> float:
        return self.scale**2 if self.law == "gaussian" else self.scale**2 / 3

    @property
    def entropy(self) -> float:
        """h(R) in bits."""
        return math.log2(self.scale * (math.sqrt(2 * math.pi * math.e) if self.law == "gaussian" else 2))

    def below(self, noise: Floats) -> Floats:
        """F_R: the chance that the noise is not above each number."""
        import numpy as np
        from scipy.special import ndtr

        if self.law == "uniform":
            return np.clip((noise / self.scale + 1) / 2, 0, 1)
        return np.asarray(ndtr(noise / self.scale))

    def quantile(self, chance: float) -> float:
        """F_R^-1, for a chance between 0 and 1."""
        from scipy.special import ndtri

        return self.scale * (2 * chance - 1) if self.law == "uniform" else float(self.scale * ndtri(chance))

    def added(self, numbers: Floats, rng: Coins) -> Floats:
        """The numbers as they are shared: each with its own noise, rounded to the grid."""
        import numpy as np

        size = len(numbers)
        noise = (
            rng.normal(0, self.scale, size) if self.law == "gaussian" else rng.uniform(-self.scale, self.scale, size)
        )
        return np.asarray(np.round((numbers + noise) / self.grid) * self.grid)

    def described(self) -> dict[str, Any]:
        """The distribution as JSON, as a release file has it."""
        return {"law": self.law, "scale": self.scale}


def noise_with(law: Law, variance: float) -> Noise:
    """The noise of one law that has this variance.

    >>> noise_with("uniform", 3.0).scale
    3.0
    """
    return Noise(law, math.sqrt(variance if law == "gaussian" else 3 * variance))
