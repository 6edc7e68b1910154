"""What is wrong with a policy, in words: each mistake with its place and the remedy."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from leafgate.errors import Problem
from leafgate.plugins import Plugins, use_of
from leafgate.policy_places import KINDS, followed

DIRECTIONS = {"at_least", "at_most"}
REMEDIES = {
    "string_type": "quote it",
    "tuple_type": "write a list: [...]",
    "dict_type": "write a mapping: {...}",
    "model_type": "write a mapping: {...}",
    "model_attributes_type": "write a mapping: {...}",
}


def problems_of(error: ValidationError, document: dict[str, Any], plugins: Plugins) -> list[Problem]:
    """Every mistake the models found in a document, once; a section that says not what it uses is told elsewhere."""
    wrongs = error.errors(include_url=False, include_input=False)
    turned = {w["loc"][:-1] for w in wrongs if w["loc"][-1] in DIRECTIONS and w["type"] == "extra_forbidden"}
    return [
        _problem(wrong, document, plugins)
        for wrong in wrongs
        if not (wrong["type"] == "union_tag_not_found" and _is_section(wrong["loc"]))
        and not (wrong["type"] == "missing" and wrong["loc"][-1] in DIRECTIONS and wrong["loc"][:-1] in turned)
    ]


def _is_section(loc: tuple[Any, ...]) -> bool:
    """Is it a builder, an attack or a metric itself, not something inside of one?"""
    return len(loc) == (1 if loc[0] == "build" else 2)


def _problem(wrong: Any, document: dict[str, Any], plugins: Plugins) -> Problem:
    loc, used = followed(wrong["loc"], plugins)
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc).lstrip(".")
    kind, message = wrong["type"], plain(wrong["msg"])
    if _is_section(tuple(loc)) and kind == "union_tag_invalid":
        return Problem(place, f"nobody offers {wrong['ctx']['tag']!r}", f"installed: {_offered(loc, plugins)}")
    if kind == "literal_error" and loc[-1] == "use":
        return Problem(place, f"nobody offers {_at(document, loc)!r}", f"installed: {_offered(loc, plugins)}")
    if kind == "union_tag_invalid":
        return Problem(place, f"there is no {wrong['ctx']['tag']!r}", f"one of {wrong['ctx']['expected_tags']}")
    if kind == "union_tag_not_found":
        return Problem(place, "says not what it uses", "write `use:`")
    if kind == "extra_forbidden":
        return Problem(place, *_unknown_key(loc, used))
    if kind == "missing":
        return Problem(place, "is missing")
    if kind == "literal_error" and "ctx" in wrong:
        close = get_close_matches(str(_at(document, loc)), re.findall("'([^']*)'", wrong["ctx"]["expected"]), 1)
        return Problem(place, message, f"did you mean {close[0]!r}?" if close else "")
    return Problem(place, message, REMEDIES.get(kind, ""))


def plain(message: str) -> str:
    """Pydantic's message in the voice of the others."""
    message = message.removeprefix("Value error, ").removeprefix("Input ")
    return message[:1].lower() + message[1:]


def _at(thing: Any, loc: list[Any]) -> Any:
    for part in loc:
        thing = thing if isinstance(thing, str) else thing[part]
    return thing


def _offered(loc: list[Any], plugins: Plugins) -> str:
    return ", ".join(use_of(component) for component in plugins.kind(KINDS[loc[0]]))


def _unknown_key(loc: list[Any], used: type[BaseModel] | None) -> tuple[str, str]:
    key = str(loc[-1])
    known = [] if used is None else [field.alias or name for name, field in used.model_fields.items()]
    turned = (DIRECTIONS - {key}) & set(known) if key in DIRECTIONS else set()
    if used is not None and turned:
        direction = turned.pop()
        return f"{used.model_fields['use'].default} is limited by `{direction}`", f"write {direction} instead of {key}"
    close = get_close_matches(key.casefold(), known, 1)
    return "unknown key", f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known) or 'none'}"
