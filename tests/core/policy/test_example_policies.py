from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pydantic
import pytest
from jsonschema import Draft7Validator
from packaging.version import Version

from command_line import leafgate
from data_files import DATA
from leafgate.app import load_policy, parse_yaml
from survey import policy

POLICIES = sorted((Path(__file__).resolve().parents[3] / "policies").glob("*.yaml"))
NAMES = [path.stem for path in POLICIES]


def accepts(schema: Any, document: Any) -> bool:
    return bool(Draft7Validator(schema).is_valid(document))


@pytest.fixture(scope="module")
def schema() -> Any:
    return leafgate("schema").document


def document(path: Path) -> dict[str, Any]:
    return parse_yaml(path.read_bytes(), path.name)


def needs_data(document: dict[str, Any]) -> bool:
    """Does the policy name hierarchies, which are in the folder of the data?"""
    return any("hierarchy" in column for column in document["data"]["columns"].values())


@pytest.mark.parametrize("path", POLICIES, ids=NAMES)
def test_an_example_policy_is_valid(path: Path) -> None:
    root = DATA if needs_data(document(path)) else None
    if root is not None and not root.exists():
        pytest.skip("the benchmark data is not here")
    assert load_policy(path, root).policy.name


@pytest.mark.parametrize("path", POLICIES, ids=NAMES)
def test_an_example_policy_conforms_to_the_published_schema(path: Path, schema: Any) -> None:
    assert accepts(schema, document(path))


def test_there_are_example_policies() -> None:
    assert {"demo", "mortgage"} <= set(NAMES)


def test_the_demo_policy_is_the_one_that_is_installed() -> None:
    shown = next(path for path in POLICIES if path.stem == "demo")
    assert shown.read_bytes() == files("leafgate.commands.demo").joinpath("demo.yaml").read_bytes()


@pytest.mark.parametrize(
    "wrong",
    [
        {"sead": 1},
        {"build.k": 0},
        {"build.k": "3"},
        {"build.use": "nobody"},
        {"attacks.0.use": "nobody"},
        {"metrics.0": {"use": "k_anonymity", "at_most": 3}},
        {"metrics.0.at_least": ...},
        {"data.columns.sex.role": "quasi"},
        {"data.columns.sex.bonds": [1]},
        {"name": ""},
        {"leafgate": 2},
        {"data": ...},
        {"build.use": ...},
        {"metrics.0.use": ...},
        {"data.columns.age.bounds": [1]},
        {"data.columns.age.bounds": [1, 2, 3]},
        {"data.columns.age.bounds": ["1", "2"]},
        {"waivers": [{"id": "W-1"}]},
        {"waivers": 3},
        {"max_waiver_days": -1},
        {"extends": ["org.yaml"]},
    ],
)
def test_the_published_schema_refuses_what_the_reader_refuses(schema: Any, wrong: dict[str, Any]) -> None:
    assert accepts(schema, policy())
    assert not accepts(schema, policy(wrong))


def test_a_role_may_be_one_word_or_a_list_in_the_published_schema(schema: Any) -> None:
    for role in ("private", ["private"]):
        assert accepts(schema, policy({"data.columns.sex.role": role}))


COMMITTED = POLICIES[0].parents[1] / "docs" / "reference" / "policy.schema.json"


@pytest.mark.skipif(Version(pydantic.VERSION) < Version("2.13"), reason="older pydantic writes schemas otherwise")
def test_the_committed_schema_is_the_one_the_code_makes() -> None:
    made = leafgate("schema").out.encode()
    assert COMMITTED.read_bytes() == made, "run python docs/reference/make_reference.py"


def test_the_committed_schema_is_one_of_draft_07_and_uses_nothing_newer() -> None:
    document = json.loads(COMMITTED.read_bytes())
    Draft7Validator.check_schema(document)
    assert document["$schema"] == Draft7Validator.META_SCHEMA["$schema"]
    known = {*Draft7Validator.META_SCHEMA["properties"], "$schema", "$ref"}
    assert set(keywords(document)) <= known


def keywords(schema: Any) -> Iterator[str]:
    """Every keyword of a schema and of those in it."""
    if isinstance(schema, list):
        for one in schema:
            yield from keywords(one)
    if not isinstance(schema, dict):
        return
    for key, inner in schema.items():
        yield key
        if key in {"definitions", "properties"}:
            yield from keywords(list(inner.values()))
        elif key not in {"default", "const", "enum", "required"}:
            yield from keywords(inner)


def test_every_reference_of_the_committed_schema_leads_somewhere() -> None:
    document = json.loads(COMMITTED.read_bytes())
    named = set(re.findall(r'"\$ref": "#/definitions/([^"]+)"', COMMITTED.read_text()))
    assert named == set(document["definitions"])


@pytest.mark.parametrize("path", POLICIES, ids=NAMES)
def test_an_example_policy_conforms_to_the_committed_schema(path: Path) -> None:
    assert accepts(json.loads(COMMITTED.read_bytes()), document(path))


def test_what_is_picked_in_an_editor_is_explained_there() -> None:
    k_anonymity = json.loads(COMMITTED.read_bytes())["definitions"]["KAnonymity"]
    assert k_anonymity["description"]
    assert k_anonymity["properties"]["at_least"]["description"] == "The score must not be lower."
