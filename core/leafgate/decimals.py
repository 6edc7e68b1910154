"""How many digits shares are told with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MOST = 3
"""Shares of more digits are taken for shares to the last digit."""

CLOSE = 1e-7
"""What single precision keeps of a decimal is this near to it."""


def digits_of(shares: NDArray[np.float64], most: int = MOST) -> int | None:
    """The fewest digits that tell all of the shares; None where they need more than `most`.

    >>> digits_of(np.array([0.25, 0.7, 1.0])), digits_of(np.array([1 / 3]))
    (2, None)
    """
    fitting = (n for n in range(1, most + 1) if (abs(shares - np.round(shares, n)) <= CLOSE).all())
    return next(fitting, None)
