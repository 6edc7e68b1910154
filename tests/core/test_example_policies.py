from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from data_files import DATA
from leafgate.plugins import load_plugins
from leafgate.policy_file import load_policy, policy_model
from leafgate.strict_yaml import parse_yaml
from survey import policy

POLICIES = sorted((Path(__file__).resolve().parents[2] / "policies").glob("*.yaml"))
NAMES = [path.stem for path in POLICIES]


def accepts(schema: Any, told: Any) -> bool:
    return bool(Draft202012Validator(schema).is_valid(told))


@pytest.fixture(scope="module")
def schema() -> Any:
    return json.loads(json.dumps(policy_model(load_plugins()).model_json_schema()))


def document(path: Path) -> dict[str, Any]:
    return parse_yaml(path.read_bytes(), path.name)


def needs_data(told: dict[str, Any]) -> bool:
    """Does the policy name hierarchies, which are in the folder of the data?"""
    return any("hierarchy" in column for column in told["data"]["columns"].values())


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
    assert shown.read_bytes() == files("leafgate.demo").joinpath("demo.yaml").read_bytes()


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
    ],
)
def test_the_published_schema_refuses_what_the_reader_refuses(schema: Any, wrong: dict[str, Any]) -> None:
    assert accepts(schema, policy())
    assert not accepts(schema, policy(wrong))


def test_a_role_may_be_one_word_or_a_list_in_the_published_schema(schema: Any) -> None:
    for role in ("private", ["private"]):
        assert accepts(schema, policy({"data.columns.sex.role": role}))
