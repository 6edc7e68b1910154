"""Parts of a release file: objects and lists, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from leafgate.errors import ReleaseError
from leafgate.strict_json import is_number


def object_at(told: Any, place: str) -> dict[str, Any]:
    """The JSON object `told`; ReleaseError when it is none."""
    if not isinstance(told, dict):
        raise ReleaseError("must be an object", place=place)
    return told


def list_at(told: Mapping[str, Any], key: str, place: str) -> list[Any]:
    """The list under a key; ReleaseError when there is none."""
    found = told.get(key)
    if not isinstance(found, list):
        raise ReleaseError("must be a list", place=f"{place}.{key}")
    return found


def are_texts(told: Any) -> bool:
    """Is it a list of texts?"""
    return isinstance(told, list) and all(isinstance(item, str) for item in told)


def are_numbers(told: Any) -> bool:
    """Is it a list of numbers?"""
    return isinstance(told, list) and all(map(is_number, told))


def flag_at(told: Mapping[str, Any], key: str, place: str) -> bool:
    """True or false under a key, false where there is none; ReleaseError for anything else."""
    found = told.get(key, False)
    if not isinstance(found, bool):
        raise ReleaseError("must be true or false", place=f"{place}.{key}")
    return found


def one_of(told: Any, choice: Any, place: str) -> Any:
    """The text, if it is among the words of a Literal."""
    if not isinstance(told, str) or told not in get_args(choice):
        raise ReleaseError(f"must be one of {', '.join(get_args(choice))}", place=place)
    return told
