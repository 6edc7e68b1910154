"""Whole noise with exactly the chances it says, made of whole numbers alone.

Source: Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy", NeurIPS 2020, Algorithms 1 and 2.
Departure: none; the bits come from a key, as the coins of samples do.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from leafgate_dp_random_trees.coins import Ids, Key

BLOCK = 512
"""Bytes that are made at once."""


def discrete_laplace(scale: float, size: int, key: Key) -> Ids:
    """Independent whole numbers z with chances proportional to exp(-|z| / scale).

    Floating point would tell of the number below the noise by the last bits of the sum.
    """
    bits, exact = Bits(key), Fraction(scale).limit_denominator(10**9)
    return np.array([_laplace(bits, exact) for _ in range(size)], dtype=np.int64)


class Bits:
    """Chances that are fractions, from the stream of a key, block by block."""

    def __init__(self, key: Key) -> None:
        self._key, self._block = key, 0
        self._held, self._left = 0, 0

    def below(self, limit: int) -> int:
        """A whole number from 0 to limit - 1, all equally likely."""
        bits = (limit - 1).bit_length()
        while True:
            while self._left < bits:
                self._refill()
            drawn = self._held & ((1 << bits) - 1)
            self._held, self._left = self._held >> bits, self._left - bits
            if drawn < limit:
                return drawn

    def _refill(self) -> None:
        stream = self._key.for_use(str(self._block)).stream(BLOCK)
        self._held |= int.from_bytes(stream, "little") << self._left
        self._left, self._block = self._left + 8 * BLOCK, self._block + 1

    def happens(self, numerator: int, denominator: int) -> bool:
        return self.below(denominator) < numerator

    def decays(self, numerator: int, denominator: int) -> bool:
        """True with chance exp(-numerator / denominator), which must be at most 1."""
        k = 1
        while self.happens(numerator, denominator * k):
            k += 1
        return k % 2 == 1


def _laplace(bits: Bits, scale: Fraction) -> int:
    t, s = scale.numerator, scale.denominator
    while True:
        u = bits.below(t)
        if not bits.decays(u, t):
            continue
        v = 0
        while bits.decays(1, 1):
            v += 1
        size, negative = (u + t * v) // s, bits.happens(1, 2)
        if size or not negative:
            return -size if negative else size
