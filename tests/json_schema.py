"""As much of JSON Schema as the policy's own schema uses; a keyword that is not known here is an error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

SAYING_NOTHING = {"$defs", "title", "description", "default", "discriminator", "$schema", "examples"}
TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda told: isinstance(told, dict),
    "array": lambda told: isinstance(told, list),
    "string": lambda told: isinstance(told, str),
    "boolean": lambda told: isinstance(told, bool),
    "null": lambda told: told is None,
    "integer": lambda told: isinstance(told, int) and not isinstance(told, bool),
    "number": lambda told: isinstance(told, int | float) and not isinstance(told, bool),
}
RULES: Mapping[str, Callable[[Any, Any], bool]] = {
    "type": lambda rule, told: TYPES[rule](told),
    "const": lambda rule, told: bool(told == rule),
    "enum": lambda rule, told: told in rule,
    "minimum": lambda rule, told: not TYPES["number"](told) or told >= rule,
    "maximum": lambda rule, told: not TYPES["number"](told) or told <= rule,
    "exclusiveMinimum": lambda rule, told: not TYPES["number"](told) or told > rule,
    "exclusiveMaximum": lambda rule, told: not TYPES["number"](told) or told < rule,
    "minLength": lambda rule, told: not isinstance(told, str) or len(told) >= rule,
    "maxLength": lambda rule, told: not isinstance(told, str) or len(told) <= rule,
    "pattern": lambda rule, told: not isinstance(told, str) or re.search(rule, told) is not None,
    "minItems": lambda rule, told: not isinstance(told, list) or len(told) >= rule,
    "maxItems": lambda rule, told: not isinstance(told, list) or len(told) <= rule,
    "required": lambda rule, told: not isinstance(told, dict) or set(rule) <= set(told),
}


def accepts(schema: Any, told: Any) -> bool:
    """Does the document `told` conform to the schema?"""
    return _fits(schema, told, schema["$defs"])


def _fits(schema: Any, told: Any, named: Mapping[str, Any]) -> bool:
    if isinstance(schema, bool):
        return schema
    if "$ref" in schema:
        return _fits(named[schema["$ref"].removeprefix("#/$defs/")], told, named)
    simple = all(check(schema[rule], told) for rule, check in RULES.items() if rule in schema)
    return (
        simple
        and all(_fits(part, value, named) for part, value in _parts(schema, told))
        and _choices(schema, told, named)
    )


def _choices(schema: Any, told: Any, named: Mapping[str, Any]) -> bool:
    chosen = {rule: sum(_fits(option, told, named) for option in schema.get(rule, ())) for rule in ("anyOf", "oneOf")}
    strange = set(schema) - set(RULES) - SAYING_NOTHING - set(chosen) - KEYS_OF_PARTS
    if strange:
        raise NotImplementedError(f"JSON Schema keyword {sorted(strange)}")
    return ("anyOf" not in schema or chosen["anyOf"] > 0) and ("oneOf" not in schema or chosen["oneOf"] == 1)


KEYS_OF_PARTS = {"properties", "additionalProperties", "items", "prefixItems"}


def _parts(schema: Any, told: Any) -> Iterator[tuple[Any, Any]]:
    """Each part of the document with the schema for it."""
    if isinstance(told, dict):
        known = schema.get("properties", {})
        for key, value in told.items():
            yield known.get(key, schema.get("additionalProperties", True)), value
    if isinstance(told, list):
        first = schema.get("prefixItems", [])
        for i, value in enumerate(told):
            yield first[i] if i < len(first) else schema.get("items", True), value
