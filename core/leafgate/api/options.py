"""Which options a component has, with their types and defaults, for help and for the reference."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from leafgate.kernel.options import models_of


def options(component: type[BaseModel]) -> Iterator[tuple[str, str, str, str]]:
    """Each option: its name, type, default (empty: required) and description."""
    schema = component.model_json_schema()
    for name, field in component.model_fields.items():
        if name == "use":
            continue
        name = field.alias or name
        if name not in schema["properties"]:
            continue  # it has no meaning for this component
        result = schema["properties"][name]
        default = "" if field.is_required() else json.dumps(result.get("default"))
        yield name, _type(result), default, field.description or ""


def _type(document: dict[str, Any]) -> str:
    if "enum" in document:
        return " | ".join(map(str, document["enum"]))
    if "anyOf" in document:
        return " | ".join(_type(option) for option in document["anyOf"])
    if "oneOf" in document or "$ref" in document:
        return "mapping"
    word = {"null": "null", "array": "list"}.get(document.get("type", ""), document.get("type", "mapping"))
    signs = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    bounds = " and ".join(f"{sign} {document[key]}" for key, sign in signs.items() if key in document)
    return f"{word} {bounds}".rstrip()


def parts(component: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    """The models that stand inside an option, each with the option's name; but `knows`, which all attacks have."""
    for name in (name for name in component.model_fields if name != "knows"):
        yield from ((name, model) for model in models_of(component, name))
