"""Protocol buffers as bytes say them: fields by number, no schema, nothing but lengths and numbers."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

from leafgate.errors import ReleaseError
from leafgate.foreign.model import Floats, Ids

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
MAX_FIELDS = 100_000
"""So many fields one message may have; the numbers of a list are not counted one by one."""

Field = tuple[int, int, bytes | int]
"""A field's number, its wire type, and what it holds."""


def varint(content: bytes, at: int, place: str) -> tuple[int, int]:
    """The number that begins at a position, and where it ends."""
    number = shift = 0
    while at < len(content) and shift < 70:
        byte = content[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number & 0xFFFF_FFFF_FFFF_FFFF, at
    raise ReleaseError("is cut off within a number", place=place)


def fields(content: bytes, place: str, start: int = 0) -> Iterator[Field]:
    """Every field of a message, in order; ReleaseError where it is none."""
    at, found = start, 0
    while at < len(content):
        key, at = varint(content, at, place)
        number, wire = key >> 3, key & 7
        found += 1
        if number == 0 or found > MAX_FIELDS:
            raise ReleaseError("is no protocol buffer, or one of too many fields", place=place)
        value: bytes | int
        if wire == VARINT:
            value, at = varint(content, at, place)
        elif wire in {FIXED32, FIXED64}:
            size = 4 if wire == FIXED32 else 8
            value, at = content[at : at + size], at + size
        elif wire == BYTES:
            length, at = varint(content, at, place)
            value, at = content[at : at + length], at + length
        else:
            raise ReleaseError("is no protocol buffer", place=place)
        if at > len(content):
            raise ReleaseError("is cut off", place=place)
        yield number, wire, value


def floats_listed(content: bytes, tag: int, place: str) -> Floats:
    """Single-precision numbers written one by one, each behind its tag."""
    if len(content) % 5:
        raise ReleaseError("is cut off within its numbers", place=place)
    rows = np.frombuffer(content, dtype=np.dtype([("tag", "u1"), ("number", "<f4")]))
    if (rows["tag"] != tag).any():
        raise ReleaseError("mixes its numbers with other things", place=place)
    return rows["number"].astype(np.float64)


def varints(content: bytes, place: str) -> Ids:
    """Whole numbers written one after another, negative ones as two's complement."""
    read = np.frombuffer(content, dtype=np.uint8)
    ends = np.flatnonzero(read < 0x80)
    if len(read) and (not len(ends) or ends[-1] != len(read) - 1):
        raise ReleaseError("is cut off within its numbers", place=place)
    starts = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64)[: len(ends)]
    lengths = ends - starts + 1
    if len(ends) and lengths.max() > 10:
        raise ReleaseError("has numbers of too many bytes", place=place)
    numbers = np.zeros(len(ends), dtype=np.uint64)
    for k in range(int(lengths.max(initial=0))):
        longer = lengths > k
        part = (read[starts[longer] + k] & 0x7F).astype(np.uint64)
        numbers[longer] |= part << np.uint64(7 * k)
    return numbers.view(np.int64)


def single(content: bytes) -> float:
    """One number of single precision."""
    return float(struct.unpack("<f", content)[0])
