"""Universal Binary JSON as XGBoost writes it, to Python values and back; arrays of one type are NumPy arrays."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

DTYPES = {"i": ">i1", "U": ">u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}
KINDS = {dtype[1:]: kind for kind, dtype in DTYPES.items()}
CONSTANTS = {"Z": None, "T": True, "F": False}


class _Reader:
    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def marker(self) -> str:
        self.at += 1
        return chr(self.content[self.at - 1])

    def number(self, kind: str) -> Any:
        dtype = np.dtype(DTYPES[kind])
        found = np.frombuffer(self.content, dtype, 1, self.at)[0]
        self.at += dtype.itemsize
        return found.item()

    def text(self) -> str:
        length = int(self.number(self.marker()))
        self.at += length
        return self.content[self.at - length : self.at].decode()

    def value(self, kind: str) -> Any:
        if kind in DTYPES:
            return self.number(kind)
        if kind in CONSTANTS:
            return CONSTANTS[kind]
        if kind == "S":
            return self.text()
        return self.array() if kind == "[" else self.table()

    def array(self) -> Any:
        kind = self.marker()
        if kind == "$":
            dtype = np.dtype(DTYPES[self.marker()])
            assert self.marker() == "#"
            length = int(self.number(self.marker()))
            found = np.frombuffer(self.content, dtype, length, self.at)
            self.at += length * dtype.itemsize
            return found.astype(dtype.newbyteorder("="))
        if kind == "#":
            return [self.value(self.marker()) for _ in range(int(self.number(self.marker())))]
        found_values = []
        while kind != "]":
            found_values.append(self.value(kind))
            kind = self.marker()
        return found_values

    def table(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while self.content[self.at : self.at + 1] != b"}":
            key = self.text()
            found[key] = self.value(self.marker())
        self.at += 1
        return found


def parse(content: bytes) -> Any:
    """The document in the bytes."""
    reader = _Reader(content)
    return reader.value(reader.marker())


def _text(text: str) -> bytes:
    content = text.encode()
    return b"L" + struct.pack(">q", len(content)) + content


def dump(value: Any) -> bytes:
    """The bytes of a document."""
    if value is None or isinstance(value, bool):
        return next(kind for kind, constant in CONSTANTS.items() if constant is value).encode()
    if isinstance(value, int):
        return b"L" + struct.pack(">q", value)
    if isinstance(value, float):
        return b"D" + struct.pack(">d", value)
    if isinstance(value, str):
        return b"S" + _text(value)
    if isinstance(value, np.ndarray):
        kind = KINDS[value.dtype.str[1:]]
        head = b"[$" + kind.encode() + b"#L" + struct.pack(">q", len(value))
        return head + value.astype(DTYPES[kind]).tobytes()
    if isinstance(value, list):
        return b"[#L" + struct.pack(">q", len(value)) + b"".join(map(dump, value))
    return b"{" + b"".join(_text(key) + dump(each) for key, each in value.items()) + b"}"
