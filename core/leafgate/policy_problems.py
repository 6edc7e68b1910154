"""What is wrong with a policy, in words: each mistake with its place and the remedy."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from leafgate.errors import Problem
from leafgate.interfaces import AttackModel, Component, Metric, TreeBuilder
from leafgate.plugins import Plugins, use_of
from leafgate.policy import Policy

KINDS: dict[str, type[Component]] = {"build": TreeBuilder, "attacks": AttackModel, "metrics": Metric}
DIRECTIONS = {"at_least", "at_most"}
REMEDIES = {
    "string_type": "quote it",
    "tuple_type": "write a list: [...]",
    "dict_type": "write a mapping: {...}",
    "model_type": "write a mapping: {...}",
    "model_attributes_type": "write a mapping: {...}",
}


def problems_of(error: ValidationError, document: dict[str, Any], plugins: Plugins) -> list[Problem]:
    """Every mistake the models found in a document, once."""
    wrongs = error.errors(include_url=False, include_input=False)
    turned = {w["loc"][:-1] for w in wrongs if w["loc"][-1] in DIRECTIONS and w["type"] == "extra_forbidden"}
    return [
        _problem(wrong, document, plugins)
        for wrong in wrongs
        if wrong["type"] != "union_tag_not_found"
        and not (wrong["type"] == "missing" and wrong["loc"][-1] in DIRECTIONS and wrong["loc"][:-1] in turned)
    ]


def _followed(loc: tuple[Any, ...], plugins: Plugins) -> tuple[list[Any], type[Component] | None]:
    """The place as the policy has it, and the component it is inside of: pydantic puts its name in between."""
    at = {"build": 1, "attacks": 2, "metrics": 2}.get(str(loc[0]))
    if at is None or len(loc) <= at or len(plugins.kind(KINDS[str(loc[0])])) < 2:
        return list(loc), None
    return [*loc[:at], *loc[at + 1 :]], plugins.by_name.get(loc[at])


def _problem(wrong: Any, document: dict[str, Any], plugins: Plugins) -> Problem:
    loc, used = _followed(wrong["loc"], plugins)
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc).lstrip(".")
    kind, message = wrong["type"], _plain(wrong["msg"])
    if kind == "union_tag_invalid" or (kind == "literal_error" and loc[-1] == "use"):
        name = wrong["ctx"]["tag"] if kind == "union_tag_invalid" else _at(document, loc)
        return Problem(place, f"nobody offers {name!r}", f"installed: {_offered(loc, plugins)}")
    if kind == "extra_forbidden":
        return Problem(place, *_unknown_key(loc, used))
    if kind == "missing":
        return Problem(place, "is missing")
    if kind == "literal_error" and "ctx" in wrong:
        close = get_close_matches(str(_at(document, loc)), re.findall("'([^']*)'", wrong["ctx"]["expected"]), 1)
        return Problem(place, message, f"did you mean {close[0]!r}?" if close else "")
    return Problem(place, message, REMEDIES.get(kind, ""))


def _plain(message: str) -> str:
    """Pydantic's message in the voice of the others."""
    message = message.removeprefix("Value error, ").removeprefix("Input ")
    return message[:1].lower() + message[1:]


def _at(thing: Any, loc: list[Any]) -> Any:
    for part in loc:
        thing = thing if isinstance(thing, str) else thing[part]
    return thing


def _offered(loc: list[Any], plugins: Plugins) -> str:
    return ", ".join(use_of(component) for component in plugins.kind(KINDS[loc[0]]))


def _unknown_key(loc: list[Any], used: type[Component] | None) -> tuple[str, str]:
    key = str(loc[-1])
    if used is not None and issubclass(used, Metric) and key in DIRECTIONS:
        return f"{use_of(used)} is limited by `{used.direction}`", f"write {used.direction} instead of {key}"
    known = used.model_fields if used is not None else _fields_at(loc[:-1])
    close = get_close_matches(key.casefold(), known, 1)
    return "unknown key", f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known) or 'none'}"


def _fields_at(loc: list[Any]) -> list[str]:
    """The keys of the model a place leads to, followed through dicts and lists."""
    model: Any = Policy
    for part in loc:
        if isinstance(model, type) and issubclass(model, BaseModel) and part in model.model_fields:
            model = _model_in(model.model_fields[part].annotation)
    return list(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else []


def _model_in(annotation: Any) -> Any:
    inner = [annotation, *getattr(annotation, "__args__", ())]
    return next((a for a in inner if isinstance(a, type) and issubclass(a, BaseModel)), annotation)
