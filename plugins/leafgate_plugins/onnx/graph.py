"""What of an ONNX file is needed to read trees: its operators, what it is given, its constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leafgate.api import ReleaseError
from leafgate_plugins.onnx.wire import (
    BYTES,
    FIXED32,
    MAX_AXES,
    VARINT,
    Tensor,
    fields,
    floats_listed,
    single,
    tensor_of,
    varint,
    varints,
)

MAX_TEXTS = 4_100_000
TYPES = {2: 1, 3: 2, 4: 3, 5: 4, 6: 5, 7: 6, 8: 7, 9: 8}
"""For each field that holds a value the type that an attribute with it says it has."""

EMPTY: dict[int, Any] = {1: 0.0, 2: 0, 3: ""}
"""What an attribute of each type holds where nothing is written down for it."""


def attribute_of(message: bytes, place: str) -> tuple[str, Any, tuple[bytes, ...]]:
    """An attribute's name and value, and texts in fields that nobody reads; graphs are no value here.

    Lists are written packed, or element by element each behind its tag: then they are taken in one piece.
    """
    at, name, kind, result, unread = 0, "", 0, dict[int, Any](), list[bytes]()
    while at < len(message):
        key, _ = varint(message, at, place)
        number, wire = key >> 3, key & 7
        if number in TYPES and number in result and number != 9:
            raise ReleaseError("has an attribute with its numbers in pieces", place=place)
        if (number, wire) == (7, FIXED32):
            count = _run(message, at, 5, key)
            result[7], at = floats_listed(message[at : at + 5 * count], key, place), at + 5 * count
            continue
        if (number, wire) == (8, VARINT):
            result[8], at = _whole_numbers(message, at, key, place)
            continue
        (_, _, value), at = _field_at(message, at, place)
        if number == 1:
            name = value.decode("utf-8", "replace")[:200] if isinstance(value, bytes) else ""
        elif number == 20 and isinstance(value, int):
            kind = value
        elif number in TYPES:
            result[number] = _field_value(number, value, result.get(9, []), place)
        elif value != b"":
            unread.append(value if isinstance(value, bytes) else b"%d" % value)
    return name, _value(result, kind, place), tuple(unread)


def _field_value(number: int, value: bytes | int, texts: list[bytes], place: str) -> Any:
    """What one field of an attribute holds; texts come one by one."""
    if number in {7, 8} and isinstance(value, bytes):
        return np.frombuffer(value, "<f4").astype(np.float64) if number == 7 else varints(value, place)
    if number == 9 and isinstance(value, bytes):
        texts.append(value)
        if len(texts) > MAX_TEXTS:
            raise ReleaseError("lists too many texts", place=place)
        return texts
    return _scalar(number, value, place)


def _value(document: dict[int, Any], kind: int, place: str) -> Any:
    """The one value, of the type that the attribute says it has."""
    if not document:
        empty = EMPTY.get(kind)
        return np.zeros(0, np.float64 if kind == 6 else np.int64) if kind in {6, 7} else [] if kind == 8 else empty
    if len(document) > 1 or kind not in {0, TYPES[next(iter(document))]}:
        raise ReleaseError("has an attribute of one type with a value of another", place=place)
    return next(iter(document.values()))


def _field_at(message: bytes, at: int, place: str) -> tuple[tuple[int, int, bytes | int], int]:
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


@dataclass(frozen=True)
class Given:
    """What the graph is given under one name: its type (0 where the file says none), and the size of each axis.

    An axis of size None may have any; no shape where the file says none.
    """

    kind: int
    shape: tuple[int | None, ...] | None


def _part(message: bytes, wanted: int, place: str) -> bytes:
    """The message in one field of a message; no parts of it in several."""
    found = [value for number, wire, value in fields(message, place) if number == wanted and wire == BYTES]
    if len(found) > 1:
        raise ReleaseError("says twice what it is given", place=place)
    return found[0] if found and isinstance(found[0], bytes) else b""


def given_of(message: bytes, place: str) -> Given:
    """The type and shape of an input, where that is a tensor."""
    tensor = _part(_part(message, 2, place), 1, place)
    kind, shape = 0, None
    for number, wire, value in fields(tensor, place):
        if number == 1 and isinstance(value, int):
            kind = value
        elif number == 2 and wire == BYTES and isinstance(value, bytes) and shape is None:
            shape = _shape(value, place)
        elif number == 2:
            raise ReleaseError("says twice what it is given", place=place)
    return Given(kind, shape)


def _shape(message: bytes, place: str) -> tuple[int | None, ...]:
    sizes: list[int | None] = []
    for number, wire, value in fields(message, place):
        if number != 1 or wire != BYTES or not isinstance(value, bytes):
            continue
        items = [size for inner, _, size in fields(value, place) if inner == 1 and isinstance(size, int) and size > 0]
        sizes.append(items[-1] if items else None)
        if len(sizes) > MAX_AXES:
            raise ReleaseError("has a tensor of a shape that there is not", place=place)
    return tuple(sizes)


MAX_OPERATORS, MAX_NAME = 10_000, 1_000


@dataclass(frozen=True)
class Operator:
    """One operator of the graph: its type, what goes in and comes out by name, its attributes by name, whose it is."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict, repr=False)
    domain: str = ""
    unread_texts: tuple[bytes, ...] = ()
    """Texts and numbers in fields of its attributes that nobody reads."""


@dataclass(frozen=True)
class Graph:
    """The operators in order, what is given by name, constants as they stand in the file, and who wrote it."""

    operators: tuple[Operator, ...]
    given: Mapping[str, Given]
    constants: Mapping[str, bytes]
    producer: str


def graph_of(content: bytes, place: str) -> Graph:
    """The graph of an ONNX model; ReleaseError where there is none. Files it may refer to are not opened."""
    items = [(number, value) for number, wire, value in fields(content, place) if wire == BYTES]
    producer = " ".join(_text(value) for number, value in items if number in {2, 3} and isinstance(value, bytes))
    if any(number == 25 for number, _ in items):
        raise ReleaseError("defines operators of its own, which are not read", place=place)
    graphs = [value for number, value in items if number == 7]
    if len(graphs) != 1 or not isinstance(graphs[0], bytes):
        raise ReleaseError("holds no graph, or several", place=place)
    operators, given, constants = list[Operator](), dict[str, Given](), dict[str, bytes]()
    for number, wire, value in fields(graphs[0], place):
        if wire != BYTES or not isinstance(value, bytes):
            continue
        if number == 1:
            operators.append(_operator(value, place))
        elif number in {5, 11}:
            name = named(value, 8 if number == 5 else 1, place)
            if name in (constants if number == 5 else given):
                raise ReleaseError("gives one name to two inputs, or to two constants", place=place)
            if number == 5:
                constants[name] = value
            else:
                given[name] = given_of(value, place)
    if len(operators) > MAX_OPERATORS:
        raise ReleaseError(f"has more than {MAX_OPERATORS:,} operators", place=place)
    free = {name: one for name, one in given.items() if name not in constants}
    return Graph(tuple(operators), free, constants, producer.strip())


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")[:200]


def named(message: bytes, wanted: int, place: str) -> str:
    """The name in one field of a message, the last where there are several."""
    found = [value for number, wire, value in fields(message, place) if number == wanted and wire == BYTES]
    return _name(found[-1], place) if found and isinstance(found[-1], bytes) else ""


def _name(value: bytes, place: str) -> str:
    """A name in full: two that only begin alike are two."""
    if len(value) > MAX_NAME:
        raise ReleaseError(f"has a name of more than {MAX_NAME} letters", place=place)
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise ReleaseError("has a name that is no text", place=place) from None


def _operator(message: bytes, place: str) -> Operator:
    inputs: list[str] = []
    outputs: list[str] = []
    kind, domain, attributes, unread = "", "", {}, list[bytes]()
    for number, wire, value in fields(message, place):
        if wire != BYTES or not isinstance(value, bytes):
            continue
        if number == 1:
            inputs.append(_name(value, place))
        elif number == 2:
            outputs.append(_name(value, place))
        elif number == 4:
            kind = _text(value)
        elif number == 7:
            domain = "" if value == b"ai.onnx" else _text(value)
        elif number == 5:
            name, result, more = attribute_of(value, place)
            unread += more
            if name in attributes:
                raise ReleaseError("has one attribute twice", place=place)
            attributes[name] = result
    return Operator(kind, tuple(inputs), tuple(outputs), attributes, domain, tuple(unread))


def numbers(operator: Operator, name: str, place: str) -> np.ndarray | None:
    """An attribute that must be a list of numbers, by this name or as a tensor; None where it is not there."""
    found = operator.attributes.get(f"{name}_as_tensor", operator.attributes.get(name))
    if found is None:
        return None
    if isinstance(found, Tensor) and found.numeric:
        return np.asarray(found.values)
    if not isinstance(found, np.ndarray):
        raise ReleaseError(f"`{name}` must be a list of numbers", place=place)
    return found


def texts(operator: Operator, name: str) -> Sequence[bytes]:
    """An attribute that is a list of texts; empty where it is not there."""
    found = operator.attributes.get(name)
    return found if isinstance(found, list) else ()
