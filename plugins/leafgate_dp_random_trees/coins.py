"""Private coins: a stream nobody can foresee or trace back, from a key drawn once for each forest."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
SIZE = 32
"""Bytes of a key."""


@dataclass(frozen=True, repr=False)
class Key:
    """A secret that further secrets are derived from, each for one use; none tells of another.

    What a forest asks is published, so the generator that draws it can be worked out: it must have nothing in common
    with the coins but a key that cannot be worked out from it.

    Source: NIST, "SHA-3 Standard: Permutation-Based Hash and Extendable-Output Functions", FIPS 202, 2015 (SHAKE-256).
    """

    secret: bytes

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Key:
        return cls(rng.bytes(SIZE))

    def for_use(self, name: str) -> Key:
        return Key(hashlib.shake_256(self.secret + name.encode()).digest(SIZE))

    def stream(self, size: int) -> bytes:
        """So many bytes, the same at every call."""
        return hashlib.shake_256(self.secret).digest(size)

    def generator(self) -> np.random.Generator:
        """An ordinary generator, for what is published anyway."""
        return np.random.default_rng(int.from_bytes(self.secret, "little"))


def kept(weight: Ids, beta: float, key: Key) -> Ids:
    """How many people of each record a sample keeps: each person by a coin of their own, with chance `beta`.

    The coins are 64 bits each, so a chance is met to 2**-64.
    """
    heads = np.frombuffer(key.stream(8 * int(weight.sum())), dtype="<u8")
    heads = heads < np.uint64(min(round(beta * 2.0**64), 2**64 - 1))
    ends = np.cumsum(weight)
    total = np.concatenate([[0], np.cumsum(heads)])
    return np.asarray(total[ends] - total[ends - weight], dtype=np.int64)
