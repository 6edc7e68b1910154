"""Attributes of an ONNX operator: a number, a text, a tensor, or a list of numbers or texts."""

from __future__ import annotations

from typing import Any

import numpy as np

from leafgate.errors import ReleaseError
from leafgate.foreign.onnx.protobuf import BYTES, FIXED32, VARINT, floats_listed, single, varint, varints
from leafgate.foreign.onnx.tensors import tensor_of

MAX_TEXTS = 4_100_000
TYPES = {2: 1, 3: 2, 4: 3, 5: 4, 6: 5, 7: 6, 8: 7, 9: 8}
"""For each field that holds a value the type that an attribute with it says it has."""

EMPTY: dict[int, Any] = {1: 0.0, 2: 0, 3: ""}
"""What an attribute of each type holds where nothing is written down for it."""


def attribute_of(message: bytes, place: str) -> tuple[str, Any, tuple[bytes, ...]]:
    """An attribute's name and value, and texts beside them; graphs are no value here.

    Lists are written packed, or element by element each behind its tag: then they are taken in one piece.
    """
    at, name, kind, told, beside = 0, "", 0, dict[int, Any](), list[bytes]()
    while at < len(message):
        key, _ = varint(message, at, place)
        number, wire = key >> 3, key & 7
        if number in TYPES and number in told and number != 9:
            raise ReleaseError("has an attribute with its numbers in pieces", place=place)
        if (number, wire) == (7, FIXED32):
            count = _run(message, at, 5, key)
            told[7], at = floats_listed(message[at : at + 5 * count], key, place), at + 5 * count
            continue
        if (number, wire) == (8, VARINT):
            told[8], at = _whole_numbers(message, at, key, place)
            continue
        (_, _, value), at = _one(message, at, place)
        if number == 1:
            name = value.decode("utf-8", "replace")[:200] if isinstance(value, bytes) else ""
        elif number == 20 and isinstance(value, int):
            kind = value
        elif number in TYPES:
            told[number] = _told(number, value, told.get(9, []), place)
        elif isinstance(value, bytes) and value:
            beside.append(value)
    return name, _value(told, kind, place), tuple(beside)


def _told(number: int, value: bytes | int, texts: list[bytes], place: str) -> Any:
    """What one field of an attribute holds; texts come one by one."""
    if number in {7, 8} and isinstance(value, bytes):
        return np.frombuffer(value, "<f4").astype(np.float64) if number == 7 else varints(value, place)
    if number == 9 and isinstance(value, bytes):
        texts.append(value)
        if len(texts) > MAX_TEXTS:
            raise ReleaseError("lists too many texts", place=place)
        return texts
    return _scalar(number, value, place)


def _value(told: dict[int, Any], kind: int, place: str) -> Any:
    """The one value, of the type that the attribute says it has."""
    if not told:
        empty = EMPTY.get(kind)
        return np.zeros(0, np.float64 if kind == 6 else np.int64) if kind in {6, 7} else [] if kind == 8 else empty
    if len(told) > 1 or kind not in {0, TYPES[next(iter(told))]}:
        raise ReleaseError("has an attribute of one type with a value of another", place=place)
    return next(iter(told.values()))


def _one(message: bytes, at: int, place: str) -> tuple[tuple[int, int, bytes | int], int]:
    """The field at a position, and where it ends."""
    key, after = varint(message, at, place)
    number, wire = key >> 3, key & 7
    if wire == VARINT:
        value, end = varint(message, after, place)
        return (number, wire, value), end
    if wire == BYTES:
        length, after = varint(message, after, place)
        end = after + length
    elif wire in {1, FIXED32}:
        end = after + (8 if wire == 1 else 4)
    else:
        raise ReleaseError("is no protocol buffer", place=place)
    if number == 0 or end > len(message):
        raise ReleaseError("is cut off", place=place)
    return (number, wire, message[after:end]), end


def _run(message: bytes, at: int, stride: int, tag: int) -> int:
    """How many elements of one length stand one after another from here."""
    rest = np.frombuffer(message, np.uint8, offset=at)[::stride]
    other = np.flatnonzero(rest != tag)
    count = int(other[0]) if len(other) else len(rest)
    return max(1, min(count, (len(message) - at) // stride)) if len(message) - at >= stride else _cut_off()


def _cut_off() -> int:
    raise ReleaseError("is cut off within its numbers")


def _whole_numbers(message: bytes, at: int, tag: int, place: str) -> tuple[Any, int]:
    """Whole numbers each behind its tag, to the last that follow one another; and where they end."""
    read = np.frombuffer(message, np.uint8, offset=at)
    ends = np.flatnonzero(read < 0x80)
    starts = np.concatenate([[0], ends[:-1] + 1])[: len(ends)]
    tags = starts[0::2]
    good = (read[tags] == tag) & (ends[0::2] == tags)
    count = int(np.argmin(good)) if not good.all() else len(good)
    count = min(count, len(ends) // 2)
    if count == 0:
        raise ReleaseError("is cut off within its numbers", place=place)
    length = int(ends[2 * count - 1]) + 1
    return varints(message[at : at + length], place)[1::2], at + length


def _scalar(number: int, value: bytes | int, place: str) -> Any:
    if number == 2 and isinstance(value, bytes) and len(value) == 4:
        return single(value)
    if number == 3 and isinstance(value, int):
        return value - 2**64 if value >= 2**63 else value
    if number == 4 and isinstance(value, bytes):
        return value.decode("utf-8", "replace")[:200]
    if number == 5 and isinstance(value, bytes):
        return tensor_of(value, place)
    return None
