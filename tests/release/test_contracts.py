"""The contracts only grow: the schemas of this code against the released ones, and what counts as a break."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from contracts import CONTRACT, EXPERIMENTAL, Comparison, present_schema, released_schemas, without_descriptions
from leafgate.api import FileDisclosure, Leaf, ModelFile, Noise, NumericSplit, Release
from leafgate.app import serialize
from leafgate.io import release_codec, tree_reader
from leafgate.kernel.release import NaiveBayes
from leafgate.readers import CalibratedSum
from leafgate.testing.offers import REPORTS
from sample_release import COUNTS, DRAFT, NOBODY

TOP = Path(__file__).resolve().parents[2]
RELEASED = {(version, name): schema for version, name, schema in released_schemas()}


def breaks(name: str, present: Any, released: Any) -> list[str]:
    """How a schema of a contract is narrower than a released one."""
    return Comparison(released, present, CONTRACT[name].side).breaks()


@pytest.mark.parametrize(("version", "name"), RELEASED)
def test_a_contract_only_grew_since_its_release(version: str, name: str) -> None:
    problems = breaks(name, present_schema(name), RELEASED[version, name])
    assert problems == [], "let the contract only grow: CONTRIBUTING.md, 'What stays the same'"


def test_the_first_version_has_the_schema_of_every_contract() -> None:
    assert {name for version, name in RELEASED if version == "1.0.0"} == CONTRACT.keys()


def test_formats_of_version_0_are_known_as_experimental() -> None:
    sources = [path for folder in ("core", "plugins") for path in (TOP / folder).rglob("*.py")]
    texts = [path.read_text(encoding="utf-8") for path in sources]
    named = {name for text in texts for name in re.findall(r"[\"'](leafgate[:/][\w/]+/0)\b", text)}
    assert "leafgate:predicate/audit/0" in named
    assert named <= EXPERIMENTAL.keys()


# The documents that this code writes, by the schemas of all versions.


def open_to_more(schema: Any) -> Any:
    """The schema for a reader that ignores keys which it does not know."""
    if isinstance(schema, list):
        return [open_to_more(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = ("additionalProperties", False)
    return {key: open_to_more(value) for key, value in schema.items() if (key, value) != closed}


def errors(schema: Any, document: Any) -> list[str]:
    """What is wrong with a document by a schema."""
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(document)]


LEAVES = (
    Leaf("low", COUNTS),
    Leaf("high", NOBODY),
    Leaf(None, value=1.5),
    Leaf("low", scores=dict.fromkeys(COUNTS, 0.5)),
)
ITEM = FileDisclosure("counts", "high", "how many people are at the leaves", "counts")
CALIBRATED = CalibratedSum(1, "isotonic", is_mean=True, points=((), ((0.0, 0.1), (1.5, 0.9))))
DRAFTS: list[Release] = [
    DRAFT,
    replace(DRAFT, selection=None),
    replace(DRAFT, unit="rows"),
    replace(DRAFT, alternatives={"second": LEAVES[0]}),
    replace(DRAFT, trees=(NumericSplit("age", 1, *LEAVES[:2], "high", float32=True),)),
    replace(DRAFT, trees=LEAVES, combine="vote"),
    replace(DRAFT, trees=LEAVES[3:], combine="boost", calibrated_sums=(CALIBRATED,)),
    replace(DRAFT, noise={"age": Noise("gaussian", 2.0)}),
    replace(DRAFT, file=ModelFile("skops", "0" * 64, (ITEM,))),
    replace(DRAFT, trees=(), model="naive_bayes", bayes=NaiveBayes({"low": 0.5, "high": 0.5}, {})),
]
WRITTEN = [("release", json.loads(release_codec.release_bytes(draft))) for draft in DRAFTS] + [
    ("report", document) for scenario in REPORTS for document in (scenario.public, scenario.auditor)
]


@pytest.mark.parametrize(("name", "document"), WRITTEN)
def test_a_document_that_leafgate_writes_is_valid_by_every_released_schema(name: str, document: Any) -> None:
    assert errors(present_schema(name), document) == []
    for schema in (schema for (_, released), schema in RELEASED.items() if released == name):
        assert errors(open_to_more(schema), document) == []


def test_the_schema_of_a_release_has_the_keys_of_its_reader() -> None:
    schema = present_schema("release")
    assert schema["properties"].keys() == set(release_codec.KEYS)
    nodes = {node["properties"]["kind"]["const"]: node for node in schema["$defs"]["node"]["anyOf"]}
    assert {kind: node["properties"].keys() for kind, node in nodes.items()} == tree_reader.KEYS
    branch = nodes["fan"]["properties"]["branches"]["items"]
    assert branch["properties"].keys() == tree_reader.BRANCH_KEYS


def test_the_drafts_have_every_key_of_a_release() -> None:
    written = [document for name, document in WRITTEN if name == "release"]
    assert {key for document in written for key in document} == set(release_codec.KEYS)
    assert serialize(DRAFT).release == DRAFT


# What the comparison takes for a break.

SMALL = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "size": {"type": "number", "minimum": 0, "default": 1},
        "kind": {"enum": ["tree", "forest"]},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "parts": {"type": "array", "items": {"$ref": "#/$defs/part"}},
        "more": {"type": "object", "additionalProperties": {"type": "integer"}, "default": {"few": 1}},
    },
    "$defs": {
        "part": {
            "type": "object",
            "required": ["use"],
            "properties": {"use": {"const": "leaf"}, "parts": {"type": "array", "items": {"$ref": "#/$defs/part"}}},
        }
    },
}


def changed(path: str, value: Any = None, *, gone: bool = False) -> Any:
    """The small schema with another value, or none, at a path."""
    schema = copy.deepcopy(SMALL)
    *steps, last = path.split(".")
    inner: Any = schema
    for step in steps:
        inner = inner[step]
    if gone:
        del inner[last]
    else:
        inner[last] = value
    return schema


NARROWER = {
    "a key is gone": changed("properties.note", gone=True),
    "a key of a definition is gone": changed("$defs.part.properties.parts", gone=True),
    "a type is narrower": changed("properties.size.type", "integer"),
    "a type is another": changed("properties.name.type", "array"),
    "a value is gone": changed("properties.kind.enum", ["tree"]),
    "an alternative is gone": changed("properties.note.anyOf", [{"type": "string"}]),
    "alternatives become one type": changed("properties.note", {"type": "null"}),
    "a key is required now": changed("required", ["name", "size"]),
    "a key of a definition is required now": changed("$defs.part.required", ["use", "parts"]),
    "a lower limit is raised": changed("properties.name.minLength", 2),
    "a limit is new": changed("properties.size.maximum", 9),
    "a pattern is new": changed("properties.name.pattern", "^a"),
    "a default is another": changed("properties.size.default", 2),
    "a default within a section is another": changed("properties.more.default", {"few": 2, "many": 3}),
    "a default within a section is gone": changed("properties.more.default", {"many": 3}),
    "a name of a component is another": changed("$defs.part.properties.use.const", "node"),
    "items are narrower": changed("properties.parts.items", {"type": "null"}),
    "other keys are narrower": changed("properties.more.additionalProperties.type", "null"),
    "other keys are refused": changed("properties.more.additionalProperties", False),
}
NO_LONGER_THE_SAME = {
    "a key is no longer required": changed("required", []),
    "a type is wider": changed("properties.name.type", ["string", "null"]),
    "an alternative is new": changed("properties.note.anyOf", [{"type": each} for each in ("string", "null", "array")]),
    "a type becomes alternatives": changed("properties.name", {"anyOf": [{"type": "string"}, {"type": "null"}]}),
}
GROWN = {
    "nothing": SMALL,
    "a key is new": changed("properties.other", {"type": "string"}),
    "a value is new": changed("properties.kind.enum", ["tree", "forest", "rules"]),
    "a lower limit is gone": changed("properties.name.minLength", gone=True),
    "a section has one more default": changed("properties.more.default", {"few": 1, "many": 3}),
    "a description is new": changed("properties.name.description", "Its name."),
    "a definition is written out": changed("properties.parts.items", SMALL["$defs"]["part"]),  # type: ignore[index]
}
GIVEN, WRITING = "policy", "report"


@pytest.mark.parametrize("present", NARROWER.values(), ids=NARROWER.keys())
@pytest.mark.parametrize("name", [GIVEN, WRITING])
def test_a_narrower_schema_breaks_every_contract(name: str, present: Any) -> None:
    assert len(breaks(name, present, SMALL)) >= 1


@pytest.mark.parametrize("present", NO_LONGER_THE_SAME.values(), ids=NO_LONGER_THE_SAME.keys())
def test_what_users_may_write_may_widen_and_what_programs_read_may_not(present: Any) -> None:
    assert breaks(GIVEN, without_descriptions(present), SMALL) == []
    assert len(breaks(WRITING, present, SMALL)) == 1


@pytest.mark.parametrize("present", GROWN.values(), ids=GROWN.keys())
@pytest.mark.parametrize("name", [GIVEN, WRITING])
def test_a_schema_that_grew_breaks_no_contract(name: str, present: Any) -> None:
    assert breaks(name, without_descriptions(present), SMALL) == []


def mutations(schema: Any) -> Iterator[Callable[[Any], None]]:
    """Each way to take one key out of one part of a schema."""

    def paths(part: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        entries = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        for key, inner in entries:
            yield (*path, key)
            yield from paths(inner, (*path, key))

    for path in paths(schema, ()):
        if len(path) > 1 and path[-2] == "properties" and path[-3:-2] != ("properties",):
            yield lambda copied, path=path: removed(copied, path)  # type: ignore[misc]


def removed(schema: Any, path: tuple[Any, ...]) -> None:
    """Take the key at a path out of a schema."""
    for step in path[:-1]:
        schema = schema[step]
    del schema[path[-1]]


@pytest.mark.parametrize(("name", "step"), [("policy", 23), ("release", 1), ("report", 4)])
@pytest.mark.thorough
def test_a_key_that_is_taken_out_of_any_part_of_a_contract_is_found(name: str, step: int) -> None:
    released = RELEASED["1.0.0", name]
    every = list(mutations(released))
    assert len(every) > 50
    for mutate in every[::step]:
        present = copy.deepcopy(released)
        mutate(present)
        assert breaks(name, present, released) != []
