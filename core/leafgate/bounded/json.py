"""JSON of strangers: looked over before it is parsed, so that what it becomes fits into memory."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from leafgate.errors import ReleaseError

SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
"""Half of a sign beyond the first plane, as JSON may write it; alone it is no text that can be written as UTF-8."""

LARGEST = 300 * 2**20
"""Bytes that a parsed file may take, by the estimate."""

OBJECT, LIST, ITEM, STRING = 240, 88, 40, 40
"""What CPython takes for a small object, a list and one of its items, measured with sys.getsizeof, rounded up."""


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object; ValueError where a key stands twice."""
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return document


def finite_only(text: str) -> float:
    """The number; ValueError where no float can hold it."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is larger than any float")
    return number


def no_constant(text: str) -> NoReturn:
    """ValueError: NaN and Infinity are no JSON."""
    raise ValueError(f"{text} is not a JSON number")


def parse_bounded_json(content: bytes, place: str, *, with_nan: bool = False) -> Any:
    """The JSON document in `content`: no key twice, nothing infinite; ReleaseError for what is none, or too large.

    `with_nan` takes NaN for a number, which it is not in JSON, though some write it.
    """
    refuse_large(content, place)
    constant = _nan if with_nan else no_constant
    try:
        found = json.loads(content, object_pairs_hook=unique_keys, parse_constant=constant, parse_float=finite_only)
        if SURROGATE.search(content):
            json.dumps(found, ensure_ascii=False).encode()
        return found
    except RecursionError:
        raise ReleaseError("is nested too deeply", place=place) from None
    except json.JSONDecodeError as wrong:
        raise ReleaseError(f"is not JSON: {wrong.msg} in line {wrong.lineno}", place=place) from None
    except ValueError as wrong:
        raise ReleaseError(
            "is not UTF-8 text" if isinstance(wrong, UnicodeError) else str(wrong), place=place
        ) from None


def refuse_large(content: bytes, place: str, most: int = LARGEST) -> None:
    """ReleaseError where a JSON document would take more than `most` bytes of memory once it is parsed.

    The estimate is an upper one and needs no parsing. Of files with the same keys in every object, which CPython keeps
    once, it is about twice what they take.
    """
    items = content.count(b",") + content.count(b":")
    text = len(content) * (1 + _width(content)) + STRING * content.count(b'"') // 2
    estimate = text + ITEM * items + OBJECT * content.count(b"{") + LIST * content.count(b"[")
    if estimate > most:
        raise ReleaseError(f"would take more than {most / 2**20:.0f} MB of memory", place=place)


def _nan(text: str) -> float:
    return math.nan if text == "NaN" else no_constant(text)


def _width(content: bytes) -> int:
    """Bytes that a sign may take beyond the first, of the document and of its texts: a wide one widens all others."""
    if content.isascii():
        return 4 if b"\\u" in content else 0
    return 8
