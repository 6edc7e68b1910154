"""UBJSON (draft 12), as XGBoost writes it: read into what JSON would be, arrays of one type into NumPy's."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from leafgate.api import ReleaseError

NUMBERS = {"i": ">i1", "U": ">u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}
WIDTHS = {kind: np.dtype(form).itemsize for kind, form in NUMBERS.items()}
FORMS = {
    kind: struct.Struct(form) for kind, form in zip("iUIlLdD", (">b", ">B", ">h", ">i", ">q", ">f", ">d"), strict=True)
}
WORDS = {"Z": None, "T": True, "F": False}
MAX_DEPTH = 32
MAX_BYTES = 64 * 2**20
"""A model of two million nodes; JSON of as many is larger."""

MAX_VALUES = 1_000_000
"""So many values, numbers in arrays of one type not counted; each takes some hundred bytes at most."""


def parse_ubjson(content: bytes, place: str) -> Any:
    """The document; ReleaseError where it is none, is nested too deeply, or holds too many values.

    What a container says of its length is held against the bytes that are left before anything is made of it.
    """
    if len(content) > MAX_BYTES:
        raise ReleaseError(f"is larger than {MAX_BYTES / 2**20:.0f} MB", place=place)
    parser = _Parser(content, place)
    value = parser.value(parser.kind(), 0)
    if parser.at != len(content):
        raise parser.wrong("goes on after its end")
    return value


class _Parser:
    """The bytes, and where in them we are."""

    def __init__(self, content: bytes, place: str) -> None:
        self.content, self.place, self.at, self.values = content, place, 0, 0

    def wrong(self, why: str) -> ReleaseError:
        return ReleaseError(why, place=f"{self.place}, byte {self.at}")

    def take(self, length: int) -> bytes:
        if not 0 <= length <= len(self.content) - self.at:
            raise self.wrong("says it is longer than it is")
        self.at += length
        return self.content[self.at - length : self.at]

    def kind(self) -> str:
        """The next marker; `N` stands for nothing."""
        while (found := self.take(1)) == b"N":
            pass
        return chr(found[0])

    def value(self, kind: str, depth: int) -> Any:
        self.values += 1
        if self.values > MAX_VALUES or depth > MAX_DEPTH:
            raise self.wrong("holds too many values" if depth <= MAX_DEPTH else "is nested too deeply")
        if kind in FORMS:
            return FORMS[kind].unpack(self.take(WIDTHS[kind]))[0]
        if kind in WORDS:
            return WORDS[kind]
        if kind == "S":
            return self.text()
        if kind == "C":
            return self.decoded(self.take(1))
        if kind == "[":
            return self.array(depth)
        if kind == "{":
            return self.object(depth)
        raise self.wrong("is not UBJSON as XGBoost writes it")

    def decoded(self, content: bytes) -> str:
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise self.wrong("is not UTF-8 text") from None

    def text(self) -> str:
        return self.decoded(self.take(self.length()))

    def length(self) -> int:
        kind = self.kind()
        if kind not in "iUIlL":
            raise self.wrong("says no length where one belongs")
        return int(FORMS[kind].unpack(self.take(WIDTHS[kind]))[0])

    def head(self) -> tuple[str | None, int | None]:
        """A container's type and length, where it has them."""
        kind = None
        if self.peek("$"):
            kind = chr(self.take(1)[0])
            if not self.peek("#"):
                raise self.wrong("tells a type and no length")
        elif not self.peek("#"):
            return None, None
        return kind, self.length()

    def peek(self, marker: str) -> bool:
        """Is this the next byte? It is then read."""
        if self.content[self.at : self.at + 1] != marker.encode():
            return False
        self.at += 1
        return True

    def array(self, depth: int) -> Any:
        kind, length = self.head()
        if kind is not None and length is not None:
            if kind not in NUMBERS:
                raise self.wrong("has an array of one type that holds no numbers")
            numbers = np.frombuffer(self.take(length * WIDTHS[kind] if length >= 0 else -1), dtype=NUMBERS[kind])
            return numbers.astype(numbers.dtype.newbyteorder("="))
        if length is not None:
            if not 0 <= length <= len(self.content) - self.at:
                raise self.wrong("says it is longer than it is")
            return [self.value(self.kind(), depth + 1) for _ in range(length)]
        found = []
        while (each := self.kind()) != "]":
            found.append(self.value(each, depth + 1))
        return found

    def object(self, depth: int) -> dict[str, Any]:
        kind, length = self.head()
        if kind is not None or length is not None:
            raise self.wrong("has an object of one type or length, which XGBoost does not write")
        found: dict[str, Any] = {}
        while not self.peek("}"):
            key = self.text()
            if key in found:
                raise self.wrong("has one key twice")
            found[key] = self.value(self.kind(), depth + 1)
        return found
