"""Private coins: a stream nobody can foresee or trace back, from a key drawn once for each tree."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
KEY = 32
"""Bytes of a key."""


def kept(weight: Ids, beta: float, rng: np.random.Generator) -> Ids:
    """How many people of each record a sample keeps: each person by a coin of their own, with chance `beta`.

    The coins are 64 bits each, so a chance is met to 2**-64. They are the output of SHAKE-256 on a key from `rng`:
    numbers that are published can then not be traced back to the state of an ordinary generator, and with it to coins.

    Source: NIST, "SHA-3 Standard: Permutation-Based Hash and Extendable-Output Functions", FIPS 202, 2015.
    """
    people = int(weight.sum())
    stream = hashlib.shake_256(rng.bytes(KEY)).digest(8 * people)
    heads = np.frombuffer(stream, dtype="<u8") < np.uint64(min(round(beta * 2.0**64), 2**64 - 1))
    ends = np.cumsum(weight)
    total = np.concatenate([[0], np.cumsum(heads)])
    return np.asarray(total[ends] - total[ends - weight], dtype=np.int64)
