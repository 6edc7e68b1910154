"""JSON without surprises: no duplicate keys, no NaN, the same bytes for the same content."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from json.encoder import encode_basestring
from typing import Any, get_args

from leafgate.bounded.json import may_hold_surrogates as may_hold_surrogates
from leafgate.bounded.json import parse_plainly as parse_plainly
from leafgate.bounded.json import parse_strict_json
from leafgate.errors import InvalidError, ReleaseError
from leafgate.kernel.paths import canonical as canonical
from leafgate.kernel.paths import is_number as is_number

JsonDocument = dict[str, Any]
"""A JSON object that is read or written; its values are whatever JSON holds."""
JsonObject = Mapping[str, Any]
"""A JSON object that is only read."""


def parse_json(content: bytes, error: type[InvalidError], place: str) -> Any:
    """The document in `content`; `error` says what is wrong with it, without quoting it."""
    return parse_strict_json(content, error, place)


def refuse_unknown(keys: Collection[str], known: Collection[str], error: type[InvalidError], place: str) -> None:
    """Raise `error` when an object has keys nobody would look at: what is not read is not audited."""
    strange = set(keys) - set(known)
    if strange:
        message = f"{len(strange)} key(s) that this version does not know"
        raise error(message, place=place, remedy="take them out; what is not understood cannot be audited")


KEY = re.compile(r"[a-z][a-z0-9_]{0,39}")
"""A key as libraries of models write them, which an error may print."""


def unknown_key(key: str, place: str, remedy: str) -> ReleaseError:
    """The error for a key in a part of a model's file that decides predictions, and that its reader does not know."""
    named = f"{key!r}" if KEY.fullmatch(key) else "that is no name"
    what = f"has a key {named}, which is not known here and may change what the model predicts"
    return ReleaseError(what, place=place, remedy=remedy)


def readable(document: Any) -> bytes:
    """JSON as people read it, keys in the order they were put in, a newline at the end."""
    pieces: list[str] = []
    append_readable(document, "\n", pieces)
    pieces.append("\n")
    return "".join(pieces).encode()


def append_readable(thing: Any, line: str, pieces: list[str]) -> None:
    """Append what json.dumps with an indent of 1 writes, without its chain of generators, which is slow in deep trees.

    `line` is the line break, and the spaces after it, at which the thing stands.
    """
    kind = type(thing)
    if (kind is dict or kind is list) and thing:
        inner = line + " "
        if kind is list:
            pieces.append("[" + inner)
            for item in thing:
                append_readable(item, inner, pieces)
                pieces.append("," + inner)
            pieces[-1] = line + "]"
            return
        pieces.append("{" + inner)
        for key, item in thing.items():
            pieces.append(
                encode_basestring(key) if type(key) is str else json.dumps({key: 0}, ensure_ascii=False)[1:-4]
            )
            pieces.append(": ")
            append_readable(item, inner, pieces)
            pieces.append("," + inner)
        pieces[-1] = line + "}"
    elif kind is str:
        pieces.append(encode_basestring(thing))
    elif kind is int or (kind is float and math.isfinite(thing)):
        pieces.append(repr(thing))
    elif kind is bool:
        pieces.append("true" if thing else "false")
    else:
        text = json.dumps(thing, indent=1, ensure_ascii=False, allow_nan=False)
        pieces.append(text.replace("\n", line))


def object_at(document: Any, place: str) -> dict[str, Any]:
    """The JSON object `document`; ReleaseError when it is none."""
    if not isinstance(document, dict):
        raise ReleaseError("must be an object", place=place)
    return document


def list_at(document: Mapping[str, Any], key: str, place: str) -> list[Any]:
    """The list under a key; ReleaseError when there is none."""
    items = document.get(key)
    if not isinstance(items, list):
        raise ReleaseError("must be a list", place=f"{place}.{key}")
    return items


def are_texts(value: Any) -> bool:
    """Is it a list of texts?"""
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def are_numbers(value: Any) -> bool:
    """Is it a list of numbers?"""
    return isinstance(value, list) and all(map(is_number, value))


def flag_at(document: Mapping[str, Any], key: str, place: str) -> bool:
    """True or false under a key, false where there is none; ReleaseError for anything else."""
    flag = document.get(key, False)
    if not isinstance(flag, bool):
        raise ReleaseError("must be true or false", place=f"{place}.{key}")
    return flag


def one_of(value: Any, choice: Any, place: str) -> Any:
    """The text, if it is among the words of a Literal."""
    if not isinstance(value, str) or value not in get_args(choice):
        raise ReleaseError(f"must be one of {', '.join(get_args(choice))}", place=place)
    return value


_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")


def parse_number(text: str) -> float:
    """The number a text is, as people and programs write numbers; NaN for anything else."""
    return float(text) if _NUMBER.fullmatch(text) else math.nan
