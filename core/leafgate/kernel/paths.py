"""Documents such as a policy: paths inside them, tuples of keys and positions, and their canonical form.

A path is a tuple such as `("metrics", 0, "at_least")`. Code compares and walks the tuples, because a column may have
dots and brackets in its name. Only errors, reports and the command line have a path as text: `metrics[0].at_least`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from leafgate.errors import DocumentPath as DocumentPath
from leafgate.errors import format_path as format_path


def parse_path(text: str, document: Any) -> DocumentPath:
    """Return the path of the innermost value of `document` that a printed path names or lies within.

    The document decides how the text is read: `columns.a.b` is the column `a.b` where there is one, else the key `b` of
    the column `a`.

    >>> parse_path("columns.a.b.role", {"columns": {"a.b": {"role": "key"}}})
    ('columns', 'a.b', 'role')
    """
    readings = _readings(document, text if text.startswith("[") or not text else f".{text}", ())
    return min(readings, key=lambda reading: len(reading[1]))[0]


def _readings(document: Any, text: str, path: DocumentPath) -> Iterator[tuple[DocumentPath, str]]:
    """Yield each path that the text begins with, and the rest of the text."""
    yield path, text
    for step, value in _items(document):
        printed = f"[{step}]" if isinstance(step, int) else f".{step}"
        rest = text.removeprefix(printed)
        if text.startswith(printed) and rest[:1] in {"", ".", "["}:
            yield from _readings(value, rest, (*path, step))


def locate(document: Any, path: DocumentPath) -> Any:
    """Return the value at a path, None where the document has nothing there."""
    for step in path:
        if isinstance(step, int):
            document = document[step] if isinstance(document, list) and 0 <= step < len(document) else None
        else:
            document = document.get(step) if isinstance(document, Mapping) else None
    return document


def dict_or_empty(thing: object) -> dict[str, Any]:
    """Return a section of an unchecked document; an empty one where it is no mapping."""
    return thing if isinstance(thing, dict) else {}


def component_name(item: Any) -> Any:
    """Return the name that findings give to an attack or a metric of a document; None for anything else."""
    return (item.get("name") or item.get("use")) if isinstance(item, dict) else None


def paths_of(document: Any, path: DocumentPath = ()) -> Iterator[DocumentPath]:
    """Yield the path of the document itself, then of everything in it, each below `path`."""
    yield path
    for step, value in _items(document):
        yield from paths_of(value, (*path, step))


def _items(document: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(document, Mapping):
        yield from document.items()
    elif isinstance(document, list):
        yield from enumerate(document)


def canonical(document: Any) -> bytes:
    """One line of JSON with sorted keys: what digests are taken of."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def is_number(thing: Any) -> bool:
    """Is it a number that a float can hold?"""
    try:
        return isinstance(thing, int | float) and not isinstance(thing, bool) and math.isfinite(thing)
    except OverflowError:
        return False
