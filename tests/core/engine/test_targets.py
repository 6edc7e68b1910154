"""Targets: people of whom an attack infers an input of the model, drawn from the table and from the control."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from leafgate.api import (
    AdversaryKnowledge,
    AttributeBelief,
    Belief,
    Column,
    GroupBelief,
    InconclusiveError,
    Release,
    Schema,
    Table,
    make_table,
)
from leafgate.app import SealedRelease
from leafgate.engine.attack import run_attack
from leafgate.engine.knowledge import draw_targets, secret_inputs
from leafgate.kernel.knowledge import Knows, limit_knowledge
from leafgate.testing.scenarios import MEMBERS
from standins import attack_that, plugins_with, policy_with

COLUMNS = (
    Column("town", frozenset({"quasi_identifier"}), values=("Hill", "Mill", "Port")),
    Column("pay", frozenset({"private"}), bounds=(0.0, 1e6)),
    Column("smoker", frozenset({"private"}), values=("no", "yes")),
    Column("ill", frozenset({"class", "sensitive"}), values=("no", "yes")),
)
SCHEMA = Schema(COLUMNS)


def people(first: int, n: int) -> Table:
    """People with pay of their own, so that each can be told apart."""
    number = np.arange(first, first + n)
    frame = pd.DataFrame(
        {
            "town": pd.Categorical.from_codes(number % 3, categories=pd.Index(["Hill", "Mill", "Port"])),
            "pay": number.astype(float),
            "smoker": pd.Categorical.from_codes(number // 3 % 2, categories=pd.Index(["no", "yes"])),
            "ill": pd.Categorical.from_codes(number // 5 % 2, categories=pd.Index(["no", "yes"])),
        }
    )
    return make_table(SCHEMA, frame)


TABLE, CONTROL = people(0, 60), people(1000, 90)


def test_targets_of_both_tables_and_auxiliary_people_are_apart() -> None:
    targets, membership = draw_targets(TABLE, CONTROL, Knows(candidates=50, auxiliary=20), ["smoker"], seed=1)
    asked = targets["smoker"]
    pay = np.concatenate([group.numbers("pay") for group in asked.groups])
    assert ((pay < 1000) == membership.in_table).all()
    assert membership.in_table.sum() == 50
    assert len(asked) == 100
    assert len(asked.auxiliary) == 20
    assert not set(pay) & set(asked.auxiliary.numbers("pay"))
    assert len(set(pay)) == 100
    assert not asked.complete


def test_the_secret_of_targets_goes_to_metrics_and_not_to_attacks() -> None:
    targets, membership = draw_targets(TABLE, CONTROL, Knows(), ["smoker"], seed=1)
    asked = targets["smoker"]
    assert [column.name for column in asked.groups[0].schema.columns] == ["town", "pay"]
    assert asked.complete
    pay = np.concatenate([group.numbers("pay") for group in asked.groups]).astype(int)
    assert (membership.secrets["smoker"] == pay // 3 % 2).all()


@pytest.mark.parametrize(
    ("granted", "known"),
    [
        ({}, ["town", "pay"]),
        ({"class": True}, ["town", "pay", "ill"]),
        ({"columns": ()}, ["town"]),
        ({"columns": ("pay",), "class": True}, ["town", "pay", "ill"]),
    ],
)
def test_targets_have_the_columns_that_are_granted(granted: dict[str, object], known: list[str]) -> None:
    targets, _ = draw_targets(TABLE, CONTROL, Knows.model_validate(granted), ["smoker"], seed=1)
    assert [column.name for column in targets["smoker"].groups[1].schema.columns] == known


def test_which_group_is_the_table_depends_on_the_seed() -> None:
    first = {draw_targets(TABLE, CONTROL, Knows(), ["smoker"], seed)[1].in_table[0] for seed in range(20)}
    assert first == {True, False}


def test_a_control_of_two_people_is_too_small() -> None:
    with pytest.raises(InconclusiveError, match="fewer than 3 people"):
        draw_targets(TABLE, people(1000, 2), Knows(), ["smoker"], seed=1)


def test_secret_inputs_are_what_trees_test_and_nobody_is_known_to_have() -> None:
    world = MEMBERS.world()
    assert secret_inputs(world.release, world.table.schema) == ["smoker"]
    assert secret_inputs(MEMBERS.world(telling="nothing").release, world.table.schema) == []


def belief_of(wrong: str) -> Belief:
    """A belief about MEMBERS's targets with one thing wrong."""
    asked = MEMBERS.world().asked[0]["smoker"]
    posterior = np.full((len(asked), 2), 0.5)
    match wrong:
        case "shape":
            return AttributeBelief("smoker", posterior[:-1])
        case "sums":
            return AttributeBelief("smoker", posterior * 2)
        case "column":
            return AttributeBelief("town", posterior)
        case "value":
            return AttributeBelief("smoker", posterior, certain=np.full(len(asked), 2))
        case "people":
            return GroupBelief(np.zeros(0, dtype=np.int64))
    return AttributeBelief("smoker", posterior, certain=np.full(len(asked), -1))


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ("nothing", ""),
        ("shape", "needs one row of probabilities for each target"),
        ("sums", "do not sum to 1"),
        ("column", "no targets are granted"),
        ("value", "`certain` that are not between -1 and 1"),
        ("people", "whom an attack with `targets` cannot know"),
    ],
)
def test_beliefs_about_targets_are_checked(wrong: str, problem: str) -> None:
    def infer(release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
        return [belief_of(wrong)]

    plugins, world = plugins_with(attack_that(infer, needs=frozenset({"targets"}))), MEMBERS.world()
    known = limit_knowledge(replace(world.known, targets=world.asked[0]), {"targets"})
    (attack,) = policy_with(plugins, attacks=[{"use": "nosy"}]).attacks
    result = run_attack(attack, SealedRelease(world.release, written=b""), known, plugins)
    assert problem in result.problem
    assert bool(result.beliefs) == (wrong == "nothing")
