"""The hashes by which CatBoost names a category, the lower 32 bits of CityHash64 1.0 of its text, and a combination."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

WORD = 2**64 - 1
K0, K1, K2, K3 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F, 0xC949D7C7509E6557
MIX = 0x9DDFEA08EB382D69
MULTIPLIER = np.uint64(0x4906BA494954CB65)
LONGEST = 32
"""Bytes of the longest text whose hash is computed here."""


def category_hash(text: str) -> int | None:
    """The hash of a category; None for a text of more than 32 bytes.

    Source: Pike and Alakuijala, CityHash 1.0.3, `CityHash64`; CatBoost 1.2, `CalcCatFeatureHash`.

    >>> category_hash("red")
    3052168893
    """
    content = text.encode()
    if len(content) > LONGEST:
        return None
    return (_of_long(content) if len(content) > 16 else _of_short(content)) & 0xFFFFFFFF


def combined_hashes(hashes: Sequence[int], categories: int, answers: int) -> NDArray[np.uint64]:
    """The hashes of all combinations of so many categories, and of answers to so many tests.

    Args:
        hashes: the hashes of the categories, from 0 to below 2^32.
        categories: how many are combined.
        answers: how many answers, 0 or 1, are combined with these.

    Returns:
        Shape (len(hashes), ... , 2, ...).

    Source: CatBoost 1.2, `CalcHashes`, which takes the hash of a category for a signed number.

    >>> combined_hashes([category_hash("a")], 1, 0).tolist()
    [16670418538649264618]
    """
    signed = np.array(hashes, dtype=np.uint32).astype(np.int32).astype(np.uint64)
    found = np.zeros((), dtype=np.uint64)
    for values in (*[signed] * categories, *[np.arange(2, dtype=np.uint64)] * answers):
        found = (found[..., None] + values * MULTIPLIER) * MULTIPLIER
    return found


def _of_short(content: bytes) -> int:
    """The hash of up to 16 bytes."""
    size = len(content)
    if size > 8:
        first, last = _number(content[:8]), _number(content[-8:])
        return _combined(first, _rotated((last + size) & WORD, size)) ^ last
    if size >= 4:
        return _combined(size + (_number(content[:4]) << 3), _number(content[-4:]))
    if not size:
        return K2
    low = content[0] + (content[size >> 1] << 8)
    high = size + (content[-1] << 2)
    return (_shifted((low * K2 & WORD) ^ (high * K3 & WORD)) * K2) & WORD


def _of_long(content: bytes) -> int:
    """The hash of 17 to 32 bytes."""
    a, b = _number(content[:8]) * K1 & WORD, _number(content[8:16])
    c, d = _number(content[-8:]) * K2 & WORD, _number(content[-16:-8]) * K0 & WORD
    return _combined(
        (_rotated((a - b) & WORD, 43) + _rotated(c, 30) + d) & WORD,
        (a + _rotated(b ^ K3, 20) - c + len(content)) & WORD,
    )


def _combined(low: int, high: int) -> int:
    first = _shifted((low ^ high) * MIX & WORD)
    return _shifted((high ^ first) * MIX & WORD) * MIX & WORD


def _number(content: bytes) -> int:
    return int.from_bytes(content, "little")


def _rotated(value: int, shift: int) -> int:
    return (value >> shift | value << (64 - shift)) & WORD


def _shifted(value: int) -> int:
    return value ^ value >> 47
