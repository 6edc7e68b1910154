"""The JSON Schema of policies, in the draft that editors understand (draft-07)."""

from __future__ import annotations

from typing import Any

from leafgate.api.registry import Plugins
from leafgate.policy.load import policy_model

DRAFT = "http://json-schema.org/draft-07/schema#"
MAPS = {"$defs", "properties", "patternProperties"}
"""Keywords that hold a schema under each name."""
DROPPED = {"title", "discriminator"}
"""Names that repeat the keys, and a word of another standard."""


def policy_schema(plugins: Plugins) -> dict[str, Any]:
    """What editors check a policy by, every installed component's options among it.

    It says less than the reader: what sections mean together, which files exist and what a policy that
    extends another may change is for `leafgate validate`.
    """
    schema = policy_model(plugins).model_json_schema()
    for definition in schema["$defs"].values():
        _require_use(definition)
    waivers = schema["properties"]["waivers"]
    listed = {key: waivers.pop(key) for key in ("type", "items")}
    waivers["anyOf"] = [listed, {"type": "string", "minLength": 1}]
    reviewers = schema["$defs"]["Approvals"]["properties"]["reviewers"]
    reviewers["anyOf"].insert(1, {"type": "string", "minLength": 1})
    schema["$defs"]["Data"]["properties"]["source"]["anyOf"].insert(1, {"type": "string"})  # a name without options
    required = schema.pop("required")
    schema["anyOf"] = [
        {"required": required},
        {"required": ["leafgate", "extends"]},
        {"required": ["leafgate"], "not": {"required": ["build"]}},  # what others extend may lack anything else
    ]
    schema["$defs"]["Data"].pop("required", None)
    return {"$schema": DRAFT, "title": "A policy of leafgate", **_draft_07(schema)}


def _require_use(definition: dict[str, Any]) -> None:
    """Require `use` in each component, because nothing else distinguishes it from the other components."""
    use = definition.get("properties", {}).get("use", {})
    if "const" in use:
        definition["required"] = ["use", *(key for key in definition.get("required", ()) if key != "use")]
        definition["properties"]["use"] = {"const": use["const"]}


def _draft_07(schema: Any) -> Any:
    """The schema in the words of draft-07."""
    if isinstance(schema, list):
        return [_draft_07(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    fields = {_name(key): _inside(key, inner) for key, inner in schema.items() if key not in DROPPED}
    if "prefixItems" in schema:
        fields |= {"items": _draft_07(schema["prefixItems"]), "additionalItems": False}
        del fields["prefixItems"]
    if "$ref" in fields and len(fields) > 1:  # there, what stands beside a reference is not read
        fields = {"allOf": [{"$ref": fields.pop("$ref")}], **fields}
    return fields


def _name(key: str) -> str:
    return "definitions" if key == "$defs" else key


def _inside(key: str, inner: Any) -> Any:
    if key in MAPS:
        return {name: _draft_07(item) for name, item in inner.items()}
    if key == "$ref":
        return inner.replace("#/$defs/", "#/definitions/")
    return inner if key in {"default", "const", "enum", "required"} else _draft_07(inner)
