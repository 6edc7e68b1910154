"""The rules of a policy's options for policies that extend it, and what each key of `knows` is for."""

from __future__ import annotations

import json
from copy import deepcopy
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from leafgate.api import (
    AdversaryKnowledge,
    AtLeast,
    AtMost,
    AttackModel,
    Component,
    OwnersFile,
    PeopleFile,
    PersonMetric,
    Policy,
    Publish,
    Strict,
    ValueMetric,
)
from leafgate.app import load_plugins
from leafgate.kernel.inheritance import Option, options_of, rule_of
from leafgate.kernel.knowledge import NEEDS, Grant, Knows, needs_in_words
from leafgate.kernel.options import PolicyFile, models_of, people_files
from leafgate.kernel.oracle import ACCESS_LEVELS
from leafgate.kernel.policy import Data, ReportSpec
from leafgate.kernel.schema import ColumnSpec
from leafgate.kernel.waivers import Approvals
from leafgate.policy.inherit import RULES
from leafgate.policy.sources import PolicyDocument
from leafgate.policy.strictness import compare_policies

SECTION_MODELS = (Policy, Data, Publish, Knows, ReportSpec, Approvals, ColumnSpec)
UNSAID = {"facts_known", "candidates", "class_known", "auxiliary", "columns"}
"""Keys of `knows` that reports do not list as granted: of most, reports state how many people attacks are asked of."""


@pytest.mark.parametrize("model", SECTION_MODELS)
def test_every_option_of_a_policy_has_a_rule(model: type[BaseModel]) -> None:
    assert [name for name, field in model.model_fields.items() if rule_of(field) is None] == []


@pytest.mark.parametrize("model", [PersonMetric, ValueMetric, AtLeast, AtMost, AttackModel])
def test_every_option_that_the_core_gives_components_has_a_rule(model: type[Component]) -> None:
    names = set(model.model_fields) - {"use", "name"}
    assert {name for name in names if rule_of(model.model_fields[name]) is None} == set()


def test_every_section_has_been_named_here() -> None:
    found = [each for model in SECTION_MODELS for name in model.model_fields for each in sections_in(model, name)]
    assert [each for each in found if not issubclass(each, tuple(SECTION_MODELS))] == []


def sections_in(model: type[BaseModel], name: str) -> list[type[BaseModel]]:
    """The models of a field that is merged key by key, but for those of how CSV is read, which are compared whole."""
    rule = rule_of(model.model_fields[name])
    return models_of(model, name) if rule is not None and rule.by_key and rule.rule != "reading" else []


def test_a_field_without_a_rule_is_fixed() -> None:
    class Hinted(BaseModel):
        hint: str | None = None

    assert [(option.path, option.rule.rule) for option in options_of(Hinted)] == [(("hint",), "fixed")]


def test_what_is_merged_follows_from_the_rules() -> None:
    ways = {way: {path for path, rule in RULES.items() if rule.rule == way} for way in ("named", "added")}
    assert ways == {
        "named": {("attacks",), ("metrics",)},
        "added": {("data", "protect"), ("knows", "facts"), ("waivers",)},
    }
    data = {("data",), ("data", "csv"), ("data", "columns")}
    sections = {(), *data, ("publish",), ("knows",), ("report",), ("approvals",)}
    assert {path for path, rule in RULES.items() if rule.by_key} == sections


def test_every_key_of_knows_says_what_it_is_for() -> None:
    fields = Knows.model_fields
    listed = {name: [each for each in field.metadata if isinstance(each, Grant)] for name, field in fields.items()}
    assert {name: len(grants) for name, grants in listed.items()} == dict.fromkeys(fields, 1)
    assert {name for name, grant in Knows.grants().items() if not grant.needs} == {"facts_known"}
    assert {name for name, grant in Knows.grants().items() if not grant.says} == UNSAID


def test_every_need_is_a_part_of_what_adversaries_know() -> None:
    assert needs_in_words().keys() == NEEDS
    needed = {name: part.metadata.get("need") for name, part in AdversaryKnowledge.__dataclass_fields__.items()}
    assert {*needed.values()} >= NEEDS
    assert set().union(*(grant.needs for grant in Knows.grants().values())) <= NEEDS
    of_all = {name for name, need in needed.items() if need not in NEEDS}
    assert of_all == {"schema", "public", "seed", "reader", "hardly_missing"}


def test_what_a_policy_grants_is_background_knowledge() -> None:
    """Numbers that follow from it alone are hidden in public reports; `algorithms/derivable.py` has the exceptions."""
    granted = {"releases"}.union(*(grant.needs for grant in Knows.grants().values()))
    parts = AdversaryKnowledge.__dataclass_fields__.values()
    assert granted == {part.metadata["need"] for part in parts if part.metadata and part.metadata["background"]}


def document(**sections: Any) -> PolicyDocument:
    return PolicyDocument(sections, "policy.yaml", {})


FACTS = [{"column": "ill", "in": ["no"], "share": share} for share in (1, 0.5)]
CELLS = [{"column": "smoker", "where": {"age": {"to": age}}} for age in (30, 40)]
REVIEWERS = [{"reviewers": addresses} for addresses in (["a@x.org", "b@x.org"], ["B@x.org"])]
EXEMPT = [{"except": [{"columns": columns, "roles": ["key"]}]} for columns in (["x", "y"], "y")]
BASE: dict[str, Any] = {
    "data": {"columns": {"smoker": {"role": "private"}}},
    "build": {"use": "kadet", "k": 3},
    "attacks": [{"use": "linking"}, {"use": "maxent"}],
    "metrics": [
        {"use": "confidence", "at_most": 0.9},
        {"use": "k_anonymity", "at_least": 3},
        {"use": "l_diversity", "form": "recursive", "c": 2, "at_least": 1},
    ],
}
LADDERS: list[tuple[str, list[Any]]] = [
    ("plugins", [..., ["leafgate"]]),
    ("ledger", [..., "required"]),
    ("secret_may_change", ["yes", {"at_most": 5}, {"at_most": 3}, ...]),
    ("max_waiver_days", [91, ..., 0]),
    ("waivers", [[{"id": "1"}, {"id": "2"}], [{"id": "2"}], ...]),
    ("approvals", [..., *REVIEWERS]),
    ("approvals", [{"decisions": 1}, {"decisions": 2}]),
    ("approvals", [..., {"decisions": 2}]),
    ("approvals", [REVIEWERS[0], REVIEWERS[0] | {"decisions": 2}]),
    ("report.smallest_cell", [4, 9, ..., 20]),
    ("publish.leaves", [..., "shares", "error_rates", "labels"]),
    ("publish.measure", [..., False]),
    ("build.k", [2, 3, 4]),
    ("knows.distribution", [..., True]),
    ("knows.label_accuracies", [False, ...]),
    ("knows.people", [..., "known.csv"]),
    ("knows.sample", [..., 0.1, 0.2]),
    ("knows.facts", [..., FACTS[:1], FACTS]),
    ("knows.candidates", [99, 100, ...]),
    ("knows.columns", [["age"], ["age", "sex"], ...]),
    ("attacks", [BASE["attacks"][:1], BASE["attacks"]]),
    ("attacks.0.access", [*ACCESS_LEVELS]),
    ("attacks.0.access", ["labels", ...]),
    ("attacks.1.knows", [{"label_accuracies": False}, ..., {"sample": 0.1}, {"sample": 0.2, "facts": FACTS}]),
    ("metrics", [BASE["metrics"][:1], BASE["metrics"]]),
    ("metrics.0.at_most", [1, 0.9, 0.8]),
    ("metrics.0.allow", [0.2, 0.1, ...]),
    ("metrics.0.average", [True, ...]),
    ("metrics.0.of", ["linking", ...]),
    ("metrics.0.secret", ["ill", ...]),
    ("metrics.1.at_least", [2, 3, 4]),
    ("metrics.2.c", [3, 2, 1]),
    ("data.control", [..., "others.csv"]),
    ("data.protect", [..., CELLS[:1], CELLS]),
    ("data.reading", ["child", ...]),
    ("data.unlisted", [["private", "ignored"], "private", ...]),
    ("data.unlisted", [{"step": 0.5}, {"step": 1}, {"step": 5}, ...]),
    ("data.unlisted", [{"except": [{"columns": ["x", "y"], "roles": ["key", "ignored"]}]}, *EXEMPT, ...]),
    ("data.columns.smoker.role", [["private"], "quasi_identifier"]),
    ("data.columns.smoker.role", ["private", "sensitive"]),
    ("data.columns.smoker.role", ["class", ["class", "sensitive"]]),
    ("data.columns.smoker.domain", ["public", ...]),
    ("data.columns.smoker.step", [1, ...]),
    ("data.columns.smoker.distinct", [[["A", "a"], ["B", "b"]], [["B", "b"]], ...]),
    ("data.columns.smoker.missing", [True, ...]),
    ("data.columns.smoker.missing_is_value", [..., True]),
    ("data.columns.smoker.counts", ["people", ...]),
    ("data.columns.smoker.varies", [True, ...]),
]
"""Values of an option from the loosest to the tightest; `...` is an option that is left out."""


def with_value(place: str, value: Any) -> PolicyDocument:
    """The base policy with a value of an option."""
    here: Any = (whole := deepcopy(BASE))
    above: list[Any] = [int(step) if step.isdecimal() else step for step in place.split(".")]
    last = above.pop()
    for step in above:
        here = here[step] if isinstance(here, list) else here.setdefault(step, {})
    if value is not ...:
        here[last] = value
    return document(**whole)


@pytest.mark.parametrize(("place", "values"), LADDERS)
def test_later_values_are_tighter_and_earlier_ones_looser(place: str, values: list[Any]) -> None:
    plugins = load_plugins(["leafgate"])
    for old, new in combinations([with_value(place, value) for value in values], 2):
        assert {change.kind for change in compare_policies(old, new, plugins)} == {"tighter"}
        assert {change.kind for change in compare_policies(new, old, plugins)} == {"looser"}
        assert compare_policies(new, new, plugins) == []


@pytest.mark.parametrize("option", options_of(Knows), ids=lambda option: str(option.path[0]))
def test_knowledge_has_an_order_of_strictness_except_where_it_is_counted_elsewhere(option: Option) -> None:
    elsewhere = {"facts_known"}  # with the facts
    assert (option.rule.rule == "special") == (option.path[0] in elsewhere)


class Inner(Strict):
    """Options within an option."""

    known: PeopleFile


class Options(Strict):
    """Files of every kind in every place."""

    alone: OwnersFile
    maybe: PeopleFile | None = None
    several: tuple[PeopleFile, ...] = ()
    named: dict[str, PeopleFile] = {}  # noqa: RUF012  a pydantic field
    inner: tuple[Inner, ...] = ()
    model: PolicyFile


def test_files_about_people_are_those_of_two_types_wherever_an_option_has_them(tmp_path: Path) -> None:
    document = {
        "alone": "a",
        "maybe": "b",
        "several": ["c", "d"],
        "named": {"x": "e"},
        "inner": [{"known": "f"}],
        "model": "m",
    }
    options = Options.model_validate_json(json.dumps(document), context={"beside": tmp_path, "root": tmp_path})
    names = {"alone": "a", "maybe": "b", "several[0]": "c", "several[1]": "d", "named[x]": "e", "inner[0].known": "f"}
    assert people_files(options) == {option: tmp_path / name for option, name in names.items()}
    assert people_files(Options(alone="a", model="m")).keys() == {"alone"}
