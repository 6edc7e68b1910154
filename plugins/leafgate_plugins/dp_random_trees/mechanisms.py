"""Private sampling and exact discrete Laplace noise from keyed random bits, in integer arithmetic.

Source: Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy", NeurIPS 2020, Algorithms 1 and 2.
Departure: none; the bits come from a key, as the coins of samples do.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from leafgate.api import Ids

KEY_BYTES = 32
"""Bytes of a key."""


@dataclass(frozen=True, repr=False)
class Key:
    """A secret that further secrets are derived from, each for one use; none discloses another.

    What a forest asks is published, so the generator that draws it can be worked out: it must have nothing in common
    with the coins but a key that cannot be worked out from it.

    Source: NIST, "SHA-3 Standard: Permutation-Based Hash and Extendable-Output Functions", FIPS 202, 2015 (SHAKE-256).
    """

    secret: bytes

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Key:
        return cls(rng.bytes(KEY_BYTES))

    def for_use(self, name: str) -> Key:
        return Key(hashlib.shake_256(self.secret + name.encode()).digest(KEY_BYTES))

    def stream(self, size: int) -> bytes:
        """So many bytes, the same at every call."""
        return hashlib.shake_256(self.secret).digest(size)

    def generator(self) -> np.random.Generator:
        """An ordinary generator, for what is published anyway."""
        return np.random.default_rng(int.from_bytes(self.secret, "little"))


COINS_AT_ONCE = 2**22
"""Coins that are made at once."""


def sample_counts(people: Ids, beta: float, key: Key) -> Ids:
    """How many people of each counter a sample keeps: each person by a coin of their own, with chance `beta`.

    The coins are 64 bits each, so a chance is met to 2**-64.
    """
    ends, kept = np.cumsum(people), np.zeros(len(people), dtype=np.int64)
    chance = np.uint64(min(round(beta * 2.0**64), 2**64 - 1))
    for start in range(0, int(people.sum()), COINS_AT_ONCE):
        size = min(COINS_AT_ONCE, int(people.sum()) - start)
        coins = np.frombuffer(key.for_use(str(start)).stream(8 * size), dtype="<u8")
        heads = start + np.flatnonzero(coins < chance)
        kept += np.bincount(np.searchsorted(ends, heads, side="right"), minlength=len(people))
    return kept


BLOCK_BYTES = 512
"""Bytes that are made at once."""


def discrete_laplace(scale: float, size: int, key: Key) -> Ids:
    """Independent whole numbers z with chances proportional to exp(-|z| / scale).

    With floating point, the last bits of the sum would disclose the number below the noise.
    """
    bits, exact = RandomBits(key), Fraction(scale).limit_denominator(10**9)
    return np.array([_laplace(bits, exact) for _ in range(size)], dtype=np.int64)


class RandomBits:
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
        stream = self._key.for_use(str(self._block)).stream(BLOCK_BYTES)
        self._held |= int.from_bytes(stream, "little") << self._left
        self._left, self._block = self._left + 8 * BLOCK_BYTES, self._block + 1

    def happens(self, numerator: int, denominator: int) -> bool:
        return self.below(denominator) < numerator

    def decays(self, numerator: int, denominator: int) -> bool:
        """True with chance exp(-numerator / denominator), which must be at most 1."""
        k = 1
        while self.happens(numerator, denominator * k):
            k += 1
        return k % 2 == 1


def _laplace(bits: RandomBits, scale: Fraction) -> int:
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
