"""R's objects as the bytes of a file, so that tests put something into any of them."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator

import numpy as np

from leafgate_plugins.r.serialisation import NULL, NUMBERS, PAIRS, Kind, RObject, contained

HEAD = b"X\n" + struct.pack(">iii", 2, 0x40202, 0x20300)
NAMED = {"R_GlobalEnv": 253, "R_EmptyEnv": 242, "base": 241, "namespace:base": 250}


def written(thing: RObject) -> bytes:
    """The file of an object without variables and byte code."""
    return HEAD + _item(thing)


def without_people(thing: RObject, parts: Collection[str]) -> RObject:
    """The object without some of its parts, and without variables, in place."""
    for each in objects_in(thing):
        if each.kind == Kind.ENVIRONMENT and isinstance(each.value, dict):
            each.value, each.enclosure, each.attributes = "R_GlobalEnv", None, {}
    thing.value = [NULL if name in parts else each for name, each in zip(thing.names, thing.value, strict=True)]
    return thing


def objects_in(thing: RObject) -> Iterator[RObject]:
    """Each object within another one, and that one."""
    seen, waiting = set[int](), [thing]
    while waiting:
        here = waiting.pop()
        if id(here) not in seen:
            seen.add(id(here))
            yield here
            waiting += [each for _, each in contained(here)]


def _whole(*numbers: int) -> bytes:
    return struct.pack(f">{len(numbers)}i", *numbers)


def _text(text: str | None) -> bytes:
    content = b"" if text is None else text.encode()
    return _whole(9 | 1 << 15, -1 if text is None else len(content)) + content


def _symbol(name: str) -> bytes:
    return _whole(1) + _text(name) if name else _whole(251)


def _pairs(kind: int, pairs: list[tuple[str, RObject]], attributes: bytes = b"") -> bytes:
    found = b""
    for i, (tag, each) in enumerate(pairs):
        first = attributes if i == 0 else b""
        flags = (kind if i == 0 else Kind.PAIRLIST) | (0x200 if first else 0) | (0x400 if tag else 0)
        found += _whole(flags) + first + (_symbol(tag) if tag else b"") + _item(each)
    return found + _whole(254)


def _item(thing: RObject) -> bytes:
    """An object with its attributes."""
    if thing.kind == Kind.NULL:
        return _whole(254)
    if thing.kind == Kind.SYMBOL:
        return _symbol(thing.value)
    if thing.kind == Kind.ENVIRONMENT:
        name = thing.value.removeprefix("namespace:").split(" ")
        if thing.value in NAMED:
            return _whole(NAMED[thing.value])
        return _whole(249, 0, len(name)) + b"".join(map(_text, name))
    attributes = _pairs(Kind.PAIRLIST, list(thing.attributes.items())) if thing.attributes else b""
    flags = thing.kind | (0x200 if attributes else 0)
    if thing.kind in PAIRS:
        return _pairs(thing.kind, thing.value, attributes)
    if thing.kind == Kind.CLOSURE:
        return _whole(flags | 0x400) + attributes + b"".join(map(_item, (thing.enclosure or NULL, *thing.value)))
    if thing.kind in {Kind.BUILTIN, Kind.SPECIAL}:
        return _whole(thing.kind, len(thing.value)) + str(thing.value).encode()
    if thing.kind == Kind.TEXTS:
        content = b"".join(map(_text, thing.value))
    elif thing.kind in {Kind.LIST, Kind.EXPRESSION}:
        content = b"".join(map(_item, thing.value))
    else:
        content = bytes(np.asarray(thing.value, NUMBERS[thing.kind][0]).tobytes())
    return _whole(flags, len(thing.value)) + content + attributes
