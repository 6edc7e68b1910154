"""What of an ONNX file is needed to read trees: its operators, what it is given, its constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leafgate.errors import ReleaseError
from leafgate.foreign.onnx.attributes import attribute_of
from leafgate.foreign.onnx.given import Given, given_of
from leafgate.foreign.onnx.protobuf import BYTES, fields
from leafgate.foreign.onnx.tensors import Tensor

MAX_OPERATORS, MAX_NAME = 10_000, 1_000


@dataclass(frozen=True)
class Operator:
    """One operator of the graph: its type, what goes in and comes out by name, its attributes by name, whose it is."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict, repr=False)
    domain: str = ""
    beside: tuple[bytes, ...] = ()
    """Texts that stand in its attributes beside names and values."""


@dataclass(frozen=True)
class Graph:
    """The operators in order, what is given by name, constants as they stand in the file, and who wrote it."""

    operators: tuple[Operator, ...]
    given: Mapping[str, Given]
    constants: Mapping[str, bytes]
    producer: str


def graph_of(content: bytes, place: str) -> Graph:
    """The graph of an ONNX model; ReleaseError where there is none. Files it may refer to are not opened."""
    told = [(number, value) for number, wire, value in fields(content, place) if wire == BYTES]
    producer = " ".join(_text(value) for number, value in told if number in {2, 3} and isinstance(value, bytes))
    if any(number == 25 for number, _ in told):
        raise ReleaseError("defines operators of its own, which are not read", place=place)
    graphs = [value for number, value in told if number == 7]
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
    kind, domain, attributes, beside = "", "", {}, list[bytes]()
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
            name, told, more = attribute_of(value, place)
            beside += more
            if name in attributes:
                raise ReleaseError("has one attribute twice", place=place)
            attributes[name] = told
    return Operator(kind, tuple(inputs), tuple(outputs), attributes, domain, tuple(beside))


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
