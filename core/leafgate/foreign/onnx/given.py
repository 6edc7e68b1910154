"""What an ONNX graph is given: the type and shape of each input."""

from __future__ import annotations

from dataclasses import dataclass

from leafgate.errors import ReleaseError
from leafgate.foreign.onnx.protobuf import BYTES, fields
from leafgate.foreign.onnx.tensors import MAX_AXES


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
        told = [size for inner, _, size in fields(value, place) if inner == 1 and isinstance(size, int) and size > 0]
        sizes.append(told[-1] if told else None)
        if len(sizes) > MAX_AXES:
            raise ReleaseError("has a tensor of a shape that there is not", place=place)
    return tuple(sizes)
