"""What of a skops file is not part of the model: in its zip, and in its schema."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from leafgate.disclosed import PEOPLE, SIGNS, Disclosure, other_content, text_size, unread_texts
from leafgate.foreign.sklearn.left import WORDS
from leafgate.foreign.zip_parts import Parts

KEYS = {
    *("__class__", "__id__", "__loader__", "__module__", "__reduce__", "_skops_version", "content", "file"),
    *("is_json", "key_types", "protocol", "shape", "type"),
}
NAMES = {"TypeNode", "FunctionNode"}
"""Nodes that are a name, with nothing in them."""

OPAQUE = {"LossNode", "PartialNode", "DTypeNode"}
"""Nodes whose content is not looked at; honest ones have no arrays with numbers in them."""

BYTES = 8
SMALL = 192
"""Bytes of the array that scikit-learn makes a tree with: how many classes its one output has."""

GAP = 64
"""Bytes that a writer of zips may leave for an entry besides what is counted here."""


OWN = KEYS - {"content", "key_types", "shape", "__reduce__"}
"""What a node says of itself in one text or number."""

FILE = re.compile(r"[0-9]{1,20}\.npy")
"""How skops calls an array: by a number that Python gave it in memory."""

VERSION = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){1,3}((\.?dev|rc|a|b|\.post)[0-9]{1,3})?")
MAX_ID = 2**64
MAX_PROTOCOL = 100


def left(
    parts: Parts, content: bytes, top: Mapping[str, Any], schema: str, names: Collection[str]
) -> tuple[Disclosure, ...]:
    """What the file holds besides the model; `names` are those of columns, values and classes that it tells."""
    referred: set[str] = set()
    found = [*_in_zip(parts, content), *_in_schema(parts, top, referred)]
    orphans = [size for name, size in parts.sizes.items() if name != schema and name not in referred]
    found += _texts(parts, top, schema, names)
    return other_content([*found, *(("an entry that nothing refers to", size // BYTES) for size in orphans)])


def _texts(parts: Parts, top: Any, schema: str, names: Collection[str]) -> Iterator[tuple[str, int]]:
    """Texts of the schema and of arrays that neither scikit-learn nor skops writes."""
    classes, modules, plain, odd = set[str](), set[str](), set[str](), 0
    waiting: list[Any] = [top]
    while waiting:
        here = waiting.pop()
        if isinstance(here, str):
            plain.add(_plain(here))
        if isinstance(here, list):
            waiting.extend(here)
        if not isinstance(here, dict):
            continue
        told = {key: here[key] for key in OWN & here.keys() if isinstance(here[key], str | int)}
        plain |= here.keys() - KEYS
        classes |= {str(told[key]) for key in ("__class__", "__loader__", "type") if key in told}
        modules |= {str(told["__module__"])} if "__module__" in told else set()
        odd += not _numbers_fit(told)
        waiting.extend(here[key] for key in here.keys() - told.keys())
    yield from unread_texts("names of classes", classes, WORDS)
    yield from unread_texts("names of modules", modules, WORDS)
    if odd:
        yield "numbers and versions that skops does not write", max(PEOPLE, odd)
    yield from unread_texts("texts of the schema", plain, WORDS, names)
    for name in parts.sizes:
        if name != schema:
            if not FILE.fullmatch(name):
                yield "an entry's name", text_size(name)
            array = parts.array(name)
            yield from unread_texts("texts of arrays", _in_array(array), WORDS, names)


def _plain(content: str) -> str:
    """The text that a plain value is: as JSON, where it is one; numbers are none."""
    if content.startswith('"') and content.endswith('"'):
        try:
            return str(json.loads(content))
        except ValueError:
            return content
    return "" if NUMBER.fullmatch(content) else content


NUMBER = re.compile(r"-?([0-9]{1,40}|[0-9.]{1,24}(e[-+]?[0-9]{1,3})?|NaN|Infinity)|true|false|null")


def _numbers_fit(told: Mapping[str, Any]) -> bool:
    """Are a node's identity, version and the like what skops writes?"""
    ids, protocol, version = (told.get(key, 0) for key in ("__id__", "protocol", "_skops_version"))
    return (
        type(ids) is int
        and abs(ids) < MAX_ID
        and type(protocol) is int
        and 0 <= protocol < MAX_PROTOCOL
        and (version == 0 or (isinstance(version, str) and VERSION.fullmatch(version) is not None))
        and isinstance(told.get("is_json", True), bool)
        and isinstance(told.get("file", ""), str)
    )


def _in_array(array: np.ndarray) -> Iterator[str]:
    """Texts that an array holds, and names of its fields."""
    for name, told in (array.dtype.fields or {}).items():
        yield from (name, *(map(str, told[2:])))
    if array.dtype.kind == "U":
        yield from map(str, array.ravel())
    if array.dtype.kind in "SV" and array.dtype.fields is None:
        yield from (bytes(each).decode("utf-8", "replace") for each in array.ravel())


def _in_zip(parts: Parts, content: bytes) -> Iterator[tuple[str, int]]:
    """Comments, and bytes that belong to no entry."""
    infos, end = parts.archive.infolist(), len(parts.archive.comment)
    if end:
        yield "the zip's comment", max(PEOPLE, end // SIGNS)
    told = sum(len(info.comment) + len(info.extra) for info in infos)
    if any(info.comment for info in infos) or told > GAP * len(infos):
        yield "a comment of a zip's entry", max(PEOPLE, told // SIGNS)
    used = sum(76 + 2 * len(info.filename.encode()) + info.compress_size for info in infos) + 22 + end + told
    if len(content) - used > GAP * len(infos):
        yield "bytes of the zip that belong to no entry", (len(content) - used) // BYTES


def _in_schema(parts: Parts, top: Mapping[str, Any], referred: set[str]) -> Iterator[tuple[str, int]]:
    """Entries of nodes that nobody reads; names the arrays that some node refers to."""
    waiting: list[tuple[Any, str]] = [(top, "")]
    while waiting:
        here, inside = waiting.pop()
        if isinstance(here, list):
            waiting.extend((each, inside) for each in here)
        if not isinstance(here, dict):
            continue
        kind = here.get("__loader__")
        node = isinstance(kind, str)
        if node:
            yield from (("an entry of a node", _letters(here[key])) for key in sorted(set(here) - KEYS))
            if kind in NAMES and "content" in here:
                yield "content of a name", _letters(here["content"])
            if inside == "key_types" and kind not in {"ListNode", "TypeNode", "CachedNode"}:
                yield "content of a name", _letters(here)
            inside = str(kind) if kind in OPAQUE and not inside else inside
            name = here.get("file")
            if isinstance(name, str):
                referred.add(name)
                size = parts.sizes.get(name, 0)
                if inside in {*OPAQUE, "__reduce__"} and size > SMALL:
                    yield "an array that the model does not read", size // BYTES
        special = {"key_types", "__reduce__"}
        waiting.extend((value, key if node and key in special else inside) for key, value in here.items())


def _letters(told: Any) -> int:
    return text_size(str(told))
