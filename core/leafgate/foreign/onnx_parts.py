"""What of an ONNX file is needed to read trees: its operators, and their attributes as lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leafgate.errors import ReleaseError
from leafgate.foreign.protobuf import BYTES, FIXED32, VARINT, fields, floats_listed, single, varint, varints

MAX_OPERATORS = 10_000
MAX_TEXTS = 4_100_000


@dataclass(frozen=True)
class Operator:
    """One operator of the graph: its type, what goes in and comes out by name, its attributes by name, whose it is."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict, repr=False)
    domain: str = ""


@dataclass(frozen=True)
class Graph:
    """The operators in order, the names of what is given, and who wrote the file."""

    operators: tuple[Operator, ...]
    given: tuple[str, ...]
    producer: str


def graph_of(content: bytes, place: str) -> Graph:
    """The graph of an ONNX model; ReleaseError where there is none. Files it may refer to are not opened."""
    told = [(number, value) for number, wire, value in fields(content, place) if wire == BYTES]
    producer = " ".join(_text(value) for number, value in told if number in {2, 3} and isinstance(value, bytes))
    if any(number == 25 for number, _ in told):
        raise ReleaseError("defines operators of its own, which are not read", place=place)
    graph = next((value for number, value in told if number == 7), None)
    if not isinstance(graph, bytes):
        raise ReleaseError("holds no graph", place=place)
    operators, given, constants = [], [], set()
    for number, wire, value in fields(graph, place):
        if wire != BYTES or not isinstance(value, bytes):
            continue
        if number == 1:
            operators.append(_operator(value, place))
        elif number == 11:
            given.append(_named(value, 1, place))
        elif number == 5:
            constants.add(_named(value, 8, place))
    if len(operators) > MAX_OPERATORS:
        raise ReleaseError(f"has more than {MAX_OPERATORS:,} operators", place=place)
    return Graph(tuple(operators), tuple(name for name in given if name not in constants), producer.strip())


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")[:200]


def _named(message: bytes, wanted: int, place: str) -> str:
    """The text in one field of a message."""
    for number, wire, value in fields(message, place):
        if number == wanted and wire == BYTES and isinstance(value, bytes):
            return _text(value)
    return ""


def _operator(message: bytes, place: str) -> Operator:
    inputs: list[str] = []
    outputs: list[str] = []
    kind, domain, attributes = "", "", {}
    for number, wire, value in fields(message, place):
        if wire != BYTES or not isinstance(value, bytes):
            continue
        if number == 1:
            inputs.append(_text(value))
        elif number == 2:
            outputs.append(_text(value))
        elif number == 4:
            kind = _text(value)
        elif number == 7:
            domain = "" if value == b"ai.onnx" else _text(value)
        elif number == 5:
            name, told = _attribute(value, place)
            if name in attributes:
                raise ReleaseError("has one attribute twice", place=place)
            attributes[name] = told
    return Operator(kind, tuple(inputs), tuple(outputs), attributes, domain)


def _attribute(message: bytes, place: str) -> tuple[str, Any]:
    """An attribute's name and value: a number, a text, or a list of either.

    Lists are written packed, or element by element each behind its tag: then they are taken in one piece.
    """
    at, name = 0, ""
    told: Any = None
    texts: list[bytes] = []
    while at < len(message):
        key, _ = varint(message, at, place)
        number, wire = key >> 3, key & 7
        if (number, wire) in {(7, FIXED32), (8, VARINT)} and told is not None:
            raise ReleaseError("has an attribute with its numbers in pieces", place=place)
        if (number, wire) == (7, FIXED32):
            count = _run(message, at, 5, key)
            told, at = floats_listed(message[at : at + 5 * count], key, place), at + 5 * count
            continue
        if (number, wire) == (8, VARINT):
            told, at = _whole_numbers(message, at, key, place)
            continue
        (_, _, value), at = _one(message, at, place)
        if number == 1:
            name = _text(value) if isinstance(value, bytes) else ""
        elif number == 9 and isinstance(value, bytes):
            texts.append(value)
        elif number in {7, 8} and isinstance(value, bytes):
            told = np.frombuffer(value, "<f4").astype(np.float64) if number == 7 else varints(value, place)
        elif number in {2, 3, 4, 5}:
            told = _scalar(number, value, place)
        if len(texts) > MAX_TEXTS:
            raise ReleaseError("lists too many texts", place=place)
    return name, texts if texts else told


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
        return _text(value)
    if number == 5 and isinstance(value, bytes):
        return _tensor(value, place)
    return None


def _tensor(message: bytes, place: str) -> Any:
    """A tensor of numbers as they stand in the file; one that lies in another file is refused."""
    kind, raw, listed = 0, b"", None
    for number, wire, value in fields(message, place):
        if number in {13, 14} and value != 0:
            raise ReleaseError("keeps numbers in another file, which is not opened", place=place)
        if number == 2 and isinstance(value, int):
            kind = value
        elif number == 9 and isinstance(value, bytes):
            raw = value
        elif number in {4, 10} and wire == BYTES and isinstance(value, bytes):
            listed = np.frombuffer(value, "<f4" if number == 4 else "<f8").astype(np.float64)
    if listed is None and kind in {1, 11}:
        listed = np.frombuffer(raw, "<f4" if kind == 1 else "<f8").astype(np.float64)
    if listed is None:
        raise ReleaseError("has a tensor of no real numbers where those belong", place=place)
    return listed


def numbers(operator: Operator, name: str, place: str) -> np.ndarray | None:
    """An attribute that must be a list of numbers, by this name or as a tensor; None where it is not there."""
    found = operator.attributes.get(f"{name}_as_tensor", operator.attributes.get(name))
    if found is None:
        return None
    if not isinstance(found, np.ndarray):
        raise ReleaseError(f"`{name}` must be a list of numbers", place=place)
    return found


def texts(operator: Operator, name: str) -> Sequence[bytes]:
    """An attribute that is a list of texts; empty where it is not there."""
    found = operator.attributes.get(name)
    return found if isinstance(found, list) else ()
