from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from leafgate import Release, Table
from leafgate.api import Branch, CategoricalSplit, Leaf
from leafgate.engine.knowledge import grant_knowledge
from leafgate_plugins.baselines.builders import C45, Id3
from leafgate_plugins.kadet.builder import Kadet
from literal_candidates import Comparison, split_information
from literal_gains import excess
from literal_maxent import model_of, truth_of, violation
from random_maxent import release_of
from random_tables import categorical, numeric, table_of

SICK = categorical("y", "class", "sensitive", values=("no", "yes"))
A, B, D = (categorical(name, "quasi_identifier", values=("0", "1")) for name in "abd")
N = numeric("n", "quasi_identifier", missing=True)

TABLE = table_of(
    (A, N, SICK),
    [("0", None, "no"), ("0", 1.0, "no"), ("1", 1.0, "no"), ("1", 2.0, "yes"), ("1", 2.5, "yes")],
    [1, 1, 2, 1, 2],
)


def compared(release: Release, table: Table) -> tuple[Comparison, ...]:
    return model_of(release, grant_knowledge(table)).comparisons


def rivals(release: Release, table: Table) -> set[tuple[str, float | None]]:
    return {(one.candidate.column, one.candidate.at) for one in compared(release, table)}


def test_a_number_competes_at_every_threshold_and_missing_cells_are_below_all() -> None:
    release = release_of(Id3(), TABLE, "counts")
    assert rivals(release, TABLE) == {("a", None), ("n", -np.inf), ("n", 2.0)}


@pytest.mark.parametrize(
    ("least", "left"),
    [(2, {("a", None), ("n", 2.0)}), (3, set())],
)
def test_sons_with_too_few_people_were_not_on_offer(least: int, left: set[tuple[str, float | None]]) -> None:
    assert rivals(release_of(Id3(min_leaf=least), TABLE, "counts"), TABLE) == left


def test_k_anonymity_refuses_every_small_son() -> None:
    table = table_of((A, B, SICK), [("0", "0", "no"), ("0", "1", "no"), ("1", "1", "yes")], [1, 2, 3])
    k1, k2 = (release_of(Kadet(k=k, average_gain=False), table, "counts") for k in (1, 2))
    assert rivals(k1, table) == {("b", None)}
    assert rivals(k2, table) == set()


@pytest.mark.parametrize(
    "facts",
    [
        None,
        {"measure": "gain", "average_gain": False},
        {"measure": "gain", "min_leaf": 1},
        {"measure": "gain", "average_gain": False, "min_leaf": 1, "max_features": 2},
        {"measure": "gain_ratio", "average_gain": True, "min_leaf": 1},
        {"measure": "luck", "average_gain": False, "min_leaf": 1},
    ],
)
def test_what_is_not_understood_proves_nothing(facts: dict[str, Any] | None) -> None:
    release = release_of(Id3(), TABLE, "counts")
    assert compared(replace(release, selection=facts), TABLE) == ()
    assert compared(release, TABLE)


def test_a_requirement_on_the_secret_may_have_refused_anything() -> None:
    rows = [("0", 1.0, "0", "no"), ("0", 1.0, "0", "yes"), ("0", 1.0, "1", "yes"), ("1", 1.0, "1", "no")]
    table = table_of((A, replace(N, missing=False), D, SICK), rows, [2, 1, 1, 1])
    builder = Kadet.model_validate(
        {"k": 1, "average_gain": False, "prune": False, "require": ({"use": "l_diversity", "at_least": 1.2},)}
    )
    release = release_of(builder, table, "counts")
    believed = replace(release, guarantee={"k": 1})
    assert compared(release, table) == ()
    assert violation(model_of(believed, grant_knowledge(table)), truth_of(table))["internal"] > 0.1


def test_groups_of_values_leave_only_numbers_to_compare() -> None:
    tree = CategoricalSplit("a", (Branch(("0", "1"), Leaf("no", {"no": 4, "yes": 3})),))
    asked = CategoricalSplit("b", (Branch(("0",), tree), Branch(("1",), Leaf("yes", {"no": 0, "yes": 2}))))
    rows = [("0", "0", 1.0, "no"), ("1", "0", 1.0, "yes"), ("1", "0", 2.0, "no"), ("0", "1", 2.0, "yes")]
    table = table_of((A, B, N, SICK), rows, [3, 3, 1, 2])
    facts = {"measure": "gain", "average_gain": False, "min_leaf": 1, "min_split": 2, "pruned": False}
    release = Release({"use": "any"}, table.schema, (asked,), selection=facts)
    assert rivals(release, table) == {("n", 1.0)}


def test_by_gain_ratio_a_number_competes_with_the_cut_that_gains_most() -> None:
    rows = [("0", "0", 1.0, "no"), ("0", "0", 1.0, "yes"), ("0", "0", 2.0, "no"), ("0", "0", 2.0, "yes")]
    rows.append(("0", "0", 2.5, "no"))
    table = table_of((A, B, N, SICK), rows, [2, 2, 3, 1, 1])
    release = release_of(C45(average_gain=False, min_leaf=1, prune=False), table, "counts")
    (one,) = compared(release, table)
    weight = table.public[0].weight
    sons, rival = (split_information(parts, weight.tolist()) for parts in (one.asked, one.candidate.parts))
    people = truth_of(table) * weight[:, None]
    assert (one.column, one.candidate.column, one.factor) == ("n", "n", 1.0)
    assert excess(one, people) < 0 < excess(replace(one, factor=sons / rival), people)
