"""What of a skops file is not part of the model: in its zip, and in its schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from leafgate.disclosed import SIGNS, Disclosure, other_content
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


def left(parts: Parts, content: bytes, top: Mapping[str, Any], schema: str) -> tuple[Disclosure, ...]:
    """What the file holds besides the model."""
    referred: set[str] = set()
    found = [*_in_zip(parts, content), *_in_schema(parts, top, referred)]
    orphans = [size for name, size in parts.sizes.items() if name != schema and name not in referred]
    return other_content([*found, *(("an entry that nothing refers to", size // BYTES) for size in orphans)])


def _in_zip(parts: Parts, content: bytes) -> Iterator[tuple[str, int]]:
    """Comments, and bytes that belong to no entry."""
    infos, end = parts.archive.infolist(), len(parts.archive.comment)
    if end:
        yield "the zip's comment", end // SIGNS
    told = sum(len(info.comment) + len(info.extra) for info in infos)
    if any(info.comment for info in infos) or told > GAP * len(infos):
        yield "a comment of a zip's entry", told // SIGNS
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
    return len(str(told)) // SIGNS
