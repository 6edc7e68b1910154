"""The contracts that only grow within version 1, as JSON Schemas, and how a schema may differ from a released one.

`python tests/support/contracts.py store VERSION` stores the schemas of this code in `tests/contracts/VERSION`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from leafgate.api import Combine
from leafgate.app import load_plugins
from leafgate.commands.attest.statement import AuditPredicate
from leafgate.commands.scaffold.json_schema import policy_schema
from leafgate.disclosure.schema import ReportDocument
from leafgate.io.release_codec import FORMAT
from leafgate.kernel.release import Counted, CountedUnit, Level, Link, Model
from leafgate.kernel.schema import Role

CONTRACTS = Path(__file__).resolve().parents[1] / "contracts"

EXPERIMENTAL = {
    "leafgate:predicate/audit/0": "the statements of `leafgate attest`; under this type they only grow, too",
    "leafgate/rebuild/0": "answers for models that are built anew",
    "leafgate/together/0": "what several releases disclose together",
}
"""Formats of version 0, which each minor version may replace by one of another number."""

Schema = Mapping[str, Any]
Side = Literal["given", "written"]
"""Who writes a document: users, or leafgate, which also reads what earlier versions wrote."""
UNREAD = frozenset({"description", "title", "$schema"})
"""Words for people: no document is valid or invalid by them."""
SUBSCHEMAS = frozenset({"properties", "patternProperties", "$defs", "definitions"})
"""Keywords that hold a schema under each name."""
LOWER_LIMITS = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
UPPER_LIMITS = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
OTHER_LIMITS = ("pattern", "format", "not", "uniqueItems", "additionalItems", "propertyNames")
"""Limits that are compared as a whole: one that differs is taken for a narrower one."""


TYPES: dict[type, str] = {
    **{type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string"},
    **{list: "array", dict: "object"},
}
"""The JSON type of each Python type that JSON is read as."""


def without_descriptions(schema: Any) -> Any:
    """The schema without the words that only people read."""
    if isinstance(schema, list):
        return [without_descriptions(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: without_descriptions(part) for name, part in value.items()}
        if key in SUBSCHEMAS
        else without_descriptions(value)
        for key, value in schema.items()
        if key not in UNREAD
    }


def _object(required: str, **properties: Any) -> dict[str, Any]:
    """An object with these properties and no others; those that `required` names must be there."""
    return {"type": "object", "properties": properties, "required": required.split(), "additionalProperties": False}


def release_schema() -> dict[str, Any]:
    """The schema of `leafgate/release/1`, whose reader and writer are functions and not a model.

    The tests compare its keys with those of the reader, and releases that are written with all of it.
    """
    text, number, flag = {"type": "string"}, {"type": "number"}, {"type": "boolean"}
    texts, numbers = {"type": "array", "items": text}, {"type": "array", "items": number}
    by_class = {"type": "object", "additionalProperties": number}
    anything = {"type": "object"}
    node = {"$ref": "#/$defs/node"}
    leaf = _object("kind", kind={"const": "leaf"}, label=text, error_rate=number)
    leaf["properties"] |= dict.fromkeys(("counts", "shares", "scores"), by_class) | {"value": number}
    cut = _object("kind column at low high", kind={"const": "cut"}, column=text, at=number, low=node, high=node)
    cut["properties"] |= {"missing": {"enum": ["low", "high"]}, "strict": flag, "float32": flag}
    branch = _object(
        "values node", values={"type": "array", "items": {"type": ["string", "null", "boolean"]}}, node=node
    )
    branches = {"type": "array", "items": branch}
    fan = _object("kind column branches", kind={"const": "fan"}, column=text, branches=branches, other=node)
    column = _object("role", role={"type": "array", "items": {"enum": list(get_args(Role))}}, values=texts)
    column["properties"] |= {"bounds": numbers, "bins": numbers, "edges": numbers, "ordered": flag, "missing": flag}
    cell = {"type": ["string", "number", "null", "boolean", "object"]}
    rows = {"type": "array", "items": {"type": "array", "items": cell}}
    records = _object(
        "columns rows weight", columns=texts, rows=rows, weight={"type": "array", "items": {"type": "integer"}}
    )
    disclosure = _object("kind severity says", kind=text, severity={"enum": ["high", "medium", "low"]}, says=text)
    disclosure["properties"]["level"] = {"enum": list(get_args(Level))}
    calibrated = _object(
        "trees link",
        trees={"type": "integer"},
        link={"enum": list(get_args(Link))},
        mean={"const": True},
        points={"type": "array", "items": {"type": "array", "items": numbers}},
    )
    schema = _object(
        "format builder target classes publish counted schema guarantee combine model alternatives records trees",
        format={"const": FORMAT},
        builder={"type": "object", "properties": {"use": text}, "required": ["use"]},
        target={"type": ["string", "null"]},
        classes=texts,
        publish=_object("leaves measure", leaves={"enum": list(get_args(Level))}, measure={"type": ["string", "null"]}),
        counted={"enum": list(get_args(Counted))},
        unit={"enum": list(get_args(CountedUnit))},
        selection={"type": ["object", "null"]},
        schema={"type": "object", "additionalProperties": column},
        guarantee=anything,
        combine={"enum": list(get_args(Combine))},
        model={"enum": list(get_args(Model))},
        alternatives={"type": "object", "additionalProperties": node},
        records={"anyOf": [records, {"type": "null"}]},
        noise={"type": "object", "additionalProperties": _object("law scale", law=text, scale=number)},
        bayes=_object("shares normals", shares=by_class, normals={"type": "object"}),
        file=_object(
            "format model_sha256 discloses",
            format=text,
            model_sha256=text,
            discloses={"type": "array", "items": disclosure},
        ),
        trees={"type": "array", "items": node},
        calibrated_sums={"type": "array", "items": calibrated},
    )
    return {**schema, "$defs": {"node": {"anyOf": [leaf, cut, fan]}}}


@dataclass(frozen=True)
class Contract:
    """A format that only grows: who writes it, and its schema."""

    side: Side
    schema: Callable[[], Schema]


CONTRACT: Mapping[str, Contract] = {
    "policy": Contract("given", lambda: policy_schema(load_plugins(["leafgate"]))),
    "release": Contract("written", release_schema),
    "report": Contract("written", lambda: ReportDocument.model_json_schema(by_alias=True)),
    "statement": Contract("written", lambda: AuditPredicate.model_json_schema(by_alias=True)),
}


def present_schema(name: str) -> dict[str, Any]:
    """The schema of a contract by this code."""
    schema: dict[str, Any] = without_descriptions(json.loads(json.dumps(CONTRACT[name].schema())))
    return schema


def released_schemas() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every stored schema with its version and the name of its contract."""
    for path in sorted(CONTRACTS.glob("*/*.schema.json")):
        yield path.parent.name, path.name.partition(".")[0], json.loads(path.read_text(encoding="utf-8"))


def store(version: str) -> None:
    """Store the present schemas as those of a version; a version that is stored already stays as it is."""
    folder = CONTRACTS / version
    folder.mkdir(parents=True)
    for name in CONTRACT:
        text = json.dumps(present_schema(name), indent=1, sort_keys=True)
        (folder / f"{name}.schema.json").write_text(f"{text}\n", encoding="utf-8")


@dataclass(frozen=True)
class Comparison:
    """How a schema narrows a released one. Every method lists what is wrong, each with its place.

    A document of users that was valid must stay valid. What leafgate writes is read by programs of others, which rely
    on its types and on its required keys, and by later versions of leafgate, which must read what earlier ones wrote.
    """

    released: Schema
    present: Schema
    side: Side
    compared: set[tuple[int, int]] = field(default_factory=set)
    """The pairs of schemas that are being compared, because schemas of trees refer to themselves."""
    resolved: dict[int, tuple[Any, dict[str, Any]]] = field(default_factory=dict)
    """Each schema and what it refers to, by its identity."""

    def breaks(self) -> list[str]:
        """What is wrong."""
        return self._compare(self.released, self.present, "$")

    def _compare(self, old: Any, new: Any, place: str) -> list[str]:
        old, new = self._resolved(old, self.released), self._resolved(new, self.present)
        if (id(old), id(new)) in self.compared or old == new == {}:
            return []
        pair = id(old), id(new)
        self.compared.add(pair)
        try:
            return [*self._compare_defaults(old, new, place), *self._compare_content(old, new, place)]
        finally:
            self.compared.discard(pair)

    def _resolved(self, schema: Any, root: Schema) -> dict[str, Any]:
        if id(schema) not in self.resolved:
            self.resolved[id(schema)] = schema, _resolved(schema, root)
        return self.resolved[id(schema)][1]

    def _compare_defaults(self, old: Schema, new: Schema, place: str) -> list[str]:
        before, after = old.get("default"), new.get("default")
        if isinstance(before, dict) and isinstance(after, dict):  # of a section, which may have more keys than before
            after = {key: value for key, value in after.items() if key in before}
        return [] if before == after else [f"{place}: the default {before!r} is now {after!r}"]

    def _compare_content(self, old: Schema, new: Schema, place: str) -> list[str]:
        found = []
        if _alternatives(old) or _alternatives(new):
            old, new = (each if _alternatives(each) else {"anyOf": [_without_default(each)]} for each in (old, new))
            found += self._compare_alternatives(old, new, place)
        else:
            found += self._compare_values(old, new, place)
        found += self._compare_limits(old, new, place)
        found += self._compare_properties(old, new, place)
        return found + self._compare_items(old, new, place)

    def _compare_alternatives(self, old: Schema, new: Schema, place: str) -> list[str]:
        before, after = _alternatives(old), _alternatives(new)
        found = []
        for number, alternative in enumerate(before):
            found += self._closest(alternative, after, f"{place}|{number}")
        if self.side == "written" and len(after) > len(before):
            found.append(f"{place}: has more alternatives than before")
        return found

    def _closest(self, old: Any, alternatives: list[Any], place: str) -> list[str]:
        """What is wrong with the alternative that comes closest to a released one."""
        kind = _kind(self._resolved(old, self.released))
        same = [each for each in alternatives if _kind(self._resolved(each, self.present)) == kind] or alternatives
        found = [self._compare(old, each, place) for each in same]
        return min(found, key=len)

    def _compare_values(self, old: Schema, new: Schema, place: str) -> list[str]:
        found = []
        before, after = _types(old), _types(new)
        if not before <= after if self.side == "given" else before != after:
            found.append(f"{place}: the types {sorted(before)} are now {sorted(after)}")
        listed, still = _values(old), _values(new)
        if still is not None and listed is None:
            found.append(f"{place}: takes certain values only")
        elif listed is not None and still is not None:
            found += [f"{place}: the value {value} is gone" for value in sorted(listed - still)]
        return found

    def _compare_limits(self, old: Schema, new: Schema, place: str) -> list[str]:
        def narrower(name: str) -> bool:
            if name not in new or old.get(name) == new[name]:
                return False
            if name not in old or name in OTHER_LIMITS:
                return True
            return bool(new[name] > old[name] if name in LOWER_LIMITS else new[name] < old[name])

        names = (*LOWER_LIMITS, *UPPER_LIMITS, *OTHER_LIMITS)
        return [f"{place}: `{name}` is narrower" for name in names if narrower(name)]

    def _compare_properties(self, old: Schema, new: Schema, place: str) -> list[str]:
        before, after = old.get("properties", {}), new.get("properties", {})
        found = [f"{place}.{name}: is gone" for name in before if name not in after]
        for name in before.keys() & after.keys():
            found += self._compare(before[name], after[name], f"{place}.{name}")
        required, still = set(old.get("required", ())), set(new.get("required", ()))
        found += [f"{place}.{name}: is required now" for name in sorted(still - required)]
        if self.side == "written":
            found += [f"{place}.{name}: is no longer required" for name in sorted(required - still)]
        others, still_others = old.get("additionalProperties", True), new.get("additionalProperties", True)
        if others is not False and still_others is False:
            found.append(f"{place}: takes no other keys any more")
        elif isinstance(others, dict) or (others is True and isinstance(still_others, dict)):
            found += self._compare(others, still_others, f"{place}.*")
        return found

    def _compare_items(self, old: Schema, new: Schema, place: str) -> list[str]:
        before, after = old.get("items", {}), new.get("items", {})
        if isinstance(before, list) and isinstance(after, list):
            if len(before) != len(after):
                return [f"{place}: has {len(after)} items in place of {len(before)}"]
            pairs = enumerate(zip(before, after, strict=True))
            return [each for number, pair in pairs for each in self._compare(*pair, f"{place}[{number}]")]
        if isinstance(before, list) or isinstance(after, list):
            return [f"{place}: the items are a tuple in only one version"]
        return self._compare(before, after, f"{place}[]")


def _resolved(schema: Any, root: Schema) -> dict[str, Any]:
    """The schema itself, where it is a reference or `allOf` with one, beside which a default may stand."""
    if schema is True:
        return {}
    if schema is False:
        return {"not": {}}
    single = schema["allOf"][0] if len(schema.get("allOf", ())) == 1 else schema
    if "$ref" not in single:
        return dict(schema) if schema is not single else schema
    *_, section, name = single["$ref"].split("/")
    target: dict[str, Any] = root[section][name]
    beside = {key: value for key, value in schema.items() if key not in ("allOf", "$ref")}
    return {**target, **beside} if beside else target


def _alternatives(schema: Schema) -> list[Any]:
    """The schemas of which a document matches one."""
    alternatives: list[Any] = schema.get("anyOf") or schema.get("oneOf") or []
    return alternatives


def _without_default(schema: Schema) -> Schema:
    """The schema as the only alternative: a default stands beside alternatives."""
    return {key: value for key, value in schema.items() if key != "default"}


def _kind(schema: Schema) -> Any:
    """What distinguishes an alternative from others: the component that it names, else its type."""
    name = schema.get("properties", {}).get("use", schema.get("properties", {}).get("kind", {})).get("const")
    return name if name is not None else (str(schema.get("type")), "enum" in schema or "const" in schema)


def _types(schema: Schema) -> set[str]:
    """The JSON types of the documents; a whole number is a number, and no type stands for all."""
    listed = [schema["const"]] if "const" in schema else schema.get("enum", ())
    of_values = {TYPES[type(value)] for value in listed}
    stated = schema.get("type", of_values or set(TYPES.values()))
    types = {stated} if isinstance(stated, str) else set(stated)
    return types | {"integer"} if "number" in types else types


def _values(schema: Schema) -> set[str] | None:
    """The listed values as JSON; None where none are listed."""
    if "const" in schema:
        return {json.dumps(schema["const"])}
    return {json.dumps(value) for value in schema["enum"]} if "enum" in schema else None


if __name__ == "__main__":
    command, version = sys.argv[1:]
    assert command == "store", __doc__
    store(version)
