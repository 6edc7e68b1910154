"""JSON of strangers: looked over before it is parsed, so that what it becomes fits into memory."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from leafgate.errors import InvalidError, ReleaseError

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
    return parse_strict_json(content, ReleaseError, place, with_nan=with_nan)


def parse_strict_json(content: bytes, error: type[InvalidError], place: str, *, with_nan: bool = False) -> Any:
    """The JSON document in `content`, whatever its size; `error` says what is wrong with it, without quoting it."""
    try:
        found = parse_plainly(content, with_nan=with_nan)
        if may_hold_surrogates(content):
            json.dumps(found, ensure_ascii=False).encode()
        return found
    except RecursionError:
        raise error("is nested too deeply", place=place) from None
    except json.JSONDecodeError as wrong:
        raise error(f"is not JSON: {wrong.msg} in line {wrong.lineno}", place=place) from None
    except ValueError as wrong:
        message = "is not UTF-8 text" if isinstance(wrong, UnicodeError) else str(wrong)
        raise error(message, place=place) from None


def parse_plainly(content: bytes, *, with_nan: bool = False) -> Any:
    """The document in `content`: no key twice, nothing infinite; ValueError for anything else."""
    constant = _nan if with_nan else no_constant
    return json.loads(content, object_pairs_hook=unique_keys, parse_constant=constant, parse_float=finite_only)


def may_hold_surrogates(content: bytes) -> bool:
    """Could a text in this JSON be none that UTF-8 can hold? False for all that programs usually write."""
    if SURROGATE.search(content) or b"\0" in content:
        return True
    if content.isascii():
        return False
    try:
        content.decode()
    except UnicodeDecodeError:
        return True
    return False


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
