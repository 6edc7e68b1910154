"""Tensors of ONNX files: numbers or texts as they stand in the file; none in another file."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from leafgate.api import Floats, Ids, ReleaseError

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


FLOAT, UINT8, INTEGER, TEXT, TRUTH, DOUBLE = 1, 2, 7, 8, 9, 11
"""Numbers of ONNX's types."""

Kind = Literal[1, 2, 7, 8, 9, 11]
RAW = {FLOAT: "<f4", UINT8: "<u1", INTEGER: "<i8", TRUTH: "<u1", DOUBLE: "<f8"}
LISTED = {FLOAT: 4, UINT8: 5, INTEGER: 7, TEXT: 6, TRUTH: 5, DOUBLE: 10}
"""For each type the field that lists its values, where they are not raw."""

MAX_AXES = 8


@dataclass(frozen=True)
class Tensor:
    """Numbers of one type (64 bits wide, whatever they are in the file), or texts; without a shape a single one."""

    kind: int
    shape: tuple[int, ...]
    values: Any = field(repr=False)

    @property
    def numeric(self) -> bool:
        return self.kind in {FLOAT, DOUBLE}


def tensor_of(message: bytes, place: str) -> Tensor:
    """The tensor in a message; ReleaseError where it is of a type that is not read, or not of the size it says."""
    kind, shape, result = 0, list[int](), dict[int, list[Any]]()
    for number, wire, value in fields(message, place):
        if number in {13, 14} and value != 0:
            raise ReleaseError("keeps numbers in another file, which is not opened", place=place)
        if number == 1:
            shape += [value] if isinstance(value, int) else varints(value, place)[: MAX_AXES + 1].tolist()
        elif number == 2 and isinstance(value, int):
            kind = value
        elif number in {4, 5, 6, 7, 9, 10, 11}:
            result.setdefault(number, []).append((wire, value))
    if kind not in LISTED:
        raise ReleaseError("has a tensor of numbers of a type that is not read here", place=place)
    if len(shape) > MAX_AXES or any(size < 0 for size in shape):
        raise ReleaseError("has a tensor of a shape that there is not", place=place)
    values = _values(kind, result, place)
    if len(values) != math.prod(shape):
        raise ReleaseError("has a tensor of another size than it says", place=place)
    return Tensor(kind, tuple(shape), values)


def _values(kind: int, document: dict[int, list[Any]], place: str) -> Any:
    """All values one after another; they may be raw, or listed in the one field of their type."""
    if not document:
        return [] if kind == TEXT else np.zeros(0)
    if len(document) != 1 or next(iter(document)) not in {9, LISTED[kind]}:
        raise ReleaseError("has a tensor with values of another type", place=place)
    number, parts = next(iter(document.items()))
    if number == 9 and len(parts) > 1:
        raise ReleaseError("has a tensor with its numbers in pieces", place=place)
    if kind == TEXT:
        if number == 9 or not all(wire == BYTES for wire, _ in parts):
            raise ReleaseError("has a tensor with values of another type", place=place)
        return [value for _, value in parts]
    whole = b"".join(_packed(wire, value, number, place) for wire, value in parts)
    if number in {5, 7}:
        read: Any = varints(whole, place)
    elif len(whole) % np.dtype(RAW[kind]).itemsize:
        raise ReleaseError("has a tensor that is cut off", place=place)
    else:
        read = np.frombuffer(whole, RAW[kind])
    return read.astype(np.float64 if kind in {FLOAT, DOUBLE} else np.int64)


def _packed(wire: int, value: bytes | int, number: int, place: str) -> bytes:
    """Values as a packed list has them, though each may stand behind its tag."""
    if wire == BYTES and isinstance(value, bytes):
        return value
    if wire == (FIXED32 if number == 4 else FIXED64) and isinstance(value, bytes) and number in {4, 10}:
        return value
    if wire == VARINT and isinstance(value, int) and number in {5, 7}:
        out = bytearray()
        while value > 0x7F:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        return bytes([*out, value])
    raise ReleaseError("has a tensor with values of another type", place=place)
