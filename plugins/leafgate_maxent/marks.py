"""Random marks of 64 bits, by which things are told apart without comparing them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def stirred(marks: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers that do not add up any more: splitmix64.

    Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
    """
    mixed = marks + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
