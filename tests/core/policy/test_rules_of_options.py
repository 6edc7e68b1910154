"""The rules of a policy's options for policies that extend it, and what each key of `knows` is for."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from pydantic import BaseModel

from leafgate.api import AttackModel, Policy
from leafgate.app import load_plugins
from leafgate.kernel.components import Component
from leafgate.kernel.inheritance import Option, options_of, rule_of
from leafgate.kernel.knowledge import NEEDS, AdversaryKnowledge, Grant, Knows, needs_in_words, parts_for
from leafgate.kernel.metrics import AtLeast, AtMost, PersonMetric, ValueMetric
from leafgate.kernel.options import models_of
from leafgate.kernel.oracle import ACCESS_LEVELS
from leafgate.kernel.policy import Data, ReportSpec
from leafgate.kernel.release import Publish
from leafgate.kernel.schema import ColumnSpec
from leafgate.kernel.waivers import Approvals
from leafgate.policy.inherit import JOINED, KEYED, SECTIONS
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
    assert set(found) <= set(SECTION_MODELS)


def sections_in(model: type[BaseModel], name: str) -> list[type[BaseModel]]:
    """The models of a field that is merged key by key, but for those of how CSV is read, which are compared whole."""
    rule = rule_of(model.model_fields[name])
    return models_of(model, name) if rule is not None and rule.by_key and rule.rule != "reading" else []


def test_a_field_without_a_rule_is_fixed() -> None:
    class Hinted(BaseModel):
        hint: str | None = None

    assert [(option.path, option.rule.rule) for option in options_of(Hinted)] == [(("hint",), "fixed")]


def test_what_is_merged_follows_from_the_rules() -> None:
    assert {("attacks",), ("metrics",)} == KEYED
    assert {("data", "protect"), ("knows", "facts"), ("waivers",)} == JOINED
    data = {("data",), ("data", "csv"), ("data", "columns")}
    assert {(), *data, ("publish",), ("knows",), ("report",), ("approvals",)} == SECTIONS


def test_every_key_of_knows_says_what_it_is_for() -> None:
    fields = Knows.model_fields
    listed = {name: [each for each in field.metadata if isinstance(each, Grant)] for name, field in fields.items()}
    assert {name: len(grants) for name, grants in listed.items()} == dict.fromkeys(fields, 1)
    assert {name for name, grant in Knows.grants().items() if not grant.needs} == {"facts_known"}
    assert {name for name, grant in Knows.grants().items() if not grant.says} == UNSAID


def test_every_need_is_a_part_of_what_adversaries_know() -> None:
    assert needs_in_words().keys() == NEEDS
    assert all(parts_for([need]) for need in NEEDS)
    assert set().union(*(grant.needs for grant in Knows.grants().values())) <= NEEDS
    assert {"schema", "public", "seed", "reader", "hardly_missing"} == {*AdversaryKnowledge.__dataclass_fields__} - {
        *parts_for(NEEDS)
    }


def test_what_a_policy_grants_is_background_knowledge() -> None:
    """Numbers that follow from it alone are hidden in public reports; `algorithms/derivable.py` has the exceptions."""
    granted = {"releases"}.union(*(grant.needs for grant in Knows.grants().values()))
    parts = AdversaryKnowledge.__dataclass_fields__.values()
    assert granted == {part.metadata["need"] for part in parts if part.metadata and not part.metadata["public"]}


def document(**sections: Any) -> PolicyDocument:
    return PolicyDocument(sections, "policy.yaml", {})


@pytest.mark.parametrize(("old", "new"), list(pairwise(ACCESS_LEVELS)))
def test_more_access_is_tighter(old: str, new: str) -> None:
    weaker, stronger = (document(attacks=[{"use": "linking", "access": access}]) for access in (old, new))
    plugins = load_plugins(["leafgate"])
    assert [change.kind for change in compare_policies(weaker, stronger, plugins)] == ["tighter"]
    assert [change.kind for change in compare_policies(stronger, weaker, plugins)] == ["looser"]


@pytest.mark.parametrize("option", options_of(Knows), ids=lambda option: str(option.path[0]))
def test_knowledge_has_an_order_of_strictness_except_where_it_is_counted_elsewhere(option: Option) -> None:
    elsewhere = {"facts_known"}  # with the facts
    assert (option.rule.rule == "special") == (option.path[0] in elsewhere)
