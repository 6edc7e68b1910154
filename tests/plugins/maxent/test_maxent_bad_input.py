"""What cannot be, what is not told, and what takes too long: each says so, and what would help."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import leafgate
from components import inferred, new_builder
from leafgate import InconclusiveError, Release, Table
from leafgate.algorithms.publication import published
from leafgate.api import AdversaryKnowledge, Branch, CategoricalSplit, Fact, Leaf, Level, Publish, SecretBelief
from leafgate.testing import grant_knowledge
from maxent_examples import example_1, mixed
from maxent_parts import random_table
from random_maxent import release_of
from random_tables import categorical, table_of
from survey import survey

A = categorical("a", "quasi_identifier", values=("0", "1"))
Y = categorical("y", "class", "sensitive", values=("no", "yes"))
TABLE = table_of((A, Y), [("0", "no"), ("0", "yes"), ("1", "yes")], [3, 1, 2])


def stump(*leaves: Leaf, level: Level = "counts") -> Release:
    """One leaf for each value of `a`."""
    tree = CategoricalSplit("a", tuple(Branch((value,), leaf) for value, leaf in zip("01", leaves, strict=True)))
    return Release({}, TABLE.schema, (tree,), publish=Publish(leaves=level))


def refused(release: Release, known: AdversaryKnowledge, **options: Any) -> str:
    """What is said instead of a belief."""
    with pytest.raises(InconclusiveError) as caught:
        inferred("maxent", release, known, **{"solver": "structured", **options})
    return str(caught.value)


RIGHT, WRONG = Leaf("no", {"no": 3, "yes": 1}), Leaf("yes", {"no": 0, "yes": 5})


def test_counts_of_another_table_name_the_leaf_and_nothing_else() -> None:
    said = refused(stump(RIGHT, WRONG), grant_knowledge(TABLE))
    assert "in conflict are: that everyone is in the table once; the leaf count of leaf 2 of tree 1 (" in said
    assert "was the release learned from this table" in said


def test_with_the_distribution_known_too_the_conflict_is_as_small() -> None:
    said = refused(stump(RIGHT, WRONG), grant_knowledge(TABLE, distribution=True))
    assert "in conflict are: " in said
    assert "leaf 1 of" not in said


def test_of_several_wrong_leaves_one_is_enough() -> None:
    said = refused(stump(Leaf("no", {"no": 9, "yes": 1}), WRONG), grant_knowledge(TABLE))
    assert said.count("leaf count of leaf") == 1


def test_a_leaf_that_nobody_can_reach_has_nobody() -> None:
    table = table_of((A, Y), [("0", "no"), ("0", "yes")], [3, 1])
    said = refused(stump(RIGHT, WRONG), grant_knowledge(table))
    assert "in conflict are: the leaf count of leaf 2 of tree 1 (" in said


def test_error_rates_beyond_one_contradict_themselves() -> None:
    leaves = Leaf("no", error_rate=0.25), Leaf("yes", error_rate=1.5)
    assert "leaf 2" in refused(stump(*leaves, level="error_rates"), grant_knowledge(TABLE))


def test_a_label_that_is_not_most_frequent_contradicts_its_error_rate() -> None:
    leaves = Leaf("no", error_rate=0.25), Leaf("no", error_rate=1.0)
    said = refused(stump(*leaves, level="error_rates"), grant_knowledge(TABLE))
    assert "the label of leaf 2 of tree 1" in said
    assert "the leaf rate of leaf 2 of tree 1" in said


def fact(*values: str, low: float, high: float = 1.0) -> Fact:
    return Fact({"a": ("1",)}, "y", values, low, high)


def test_a_fact_that_the_counts_contradict_is_named() -> None:
    known = grant_knowledge(TABLE, facts=[fact("yes", low=0.5), fact("no", low=1.0)])
    said = refused(release_of(new_builder("id3"), TABLE, "counts"), known)
    assert "knows.facts[1]" in said
    assert "knows.facts[0]" not in said


def test_more_people_known_than_there_are_contradict() -> None:
    people = table_of((A, Y), [("0", "yes")], [2])
    said = refused(release_of(new_builder("id3"), TABLE, "counts"), grant_knowledge(TABLE, people=people))
    assert "the leaf count of leaf 1 of tree 1" in said
    assert "yes" not in said.split("(was")[0]  # nothing is said of whose secret is what


def test_a_leaf_without_label_tells_nothing_among_labels() -> None:
    (belief,) = inferred("maxent", stump(Leaf("no"), Leaf(None), level="labels"), grant_knowledge(TABLE))
    assert isinstance(belief, SecretBelief)
    assert belief.posterior.to_numpy()[1] == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("bare", [Leaf(None), Leaf("no")])
def test_a_leaf_of_people_that_is_bare_among_error_rates_contradicts_the_table(bare: Leaf) -> None:
    said = refused(stump(Leaf("no", error_rate=0.25), bare, level="error_rates"), grant_knowledge(TABLE))
    assert "the leaf rate of leaf 2 of tree 1" in said


def test_without_the_measure_the_leaves_alone_speak_and_it_is_said_so() -> None:
    release, known = example_1()
    silent = published(release, Publish(leaves="counts", measure=False), frozenset({"measure"}))
    (belief,) = inferred("maxent", silent, known, internal=True)
    assert isinstance(belief, SecretBelief)
    assert belief.posterior.to_numpy() == pytest.approx(mixed(known, 0.5), abs=1e-12)
    assert belief.evidence["without_internal"] == "the selection measure is not public"


@pytest.mark.parametrize(
    "facts", [{"max_features": 2}, {"measure": "luck"}, {"average_gain": True, "measure": "gain_ratio"}]
)
def test_what_is_told_of_the_algorithm_and_not_understood_is_not_used(facts: dict[str, Any]) -> None:
    release, known = example_1()
    (belief,) = inferred("maxent", replace(release, selection={**(release.selection or {}), **facts}), known)
    assert belief.evidence["without_internal"]


def needing_an_engine(level: Level) -> tuple[Release, AdversaryKnowledge]:
    table: Table = random_table(3)
    return release_of(new_builder("id3", min_split=12), table, level), grant_knowledge(table)


@pytest.mark.parametrize("level", ["counts", "error_rates"])
@pytest.mark.parametrize("solver", ["structured", "gekko"])
def test_when_time_is_up_it_says_what_is_certain_so_far(level: Level, solver: str) -> None:
    said = refused(*needing_an_engine(level), time_limit=1e-9, solver=solver)
    assert "the time limit was reached; the entropy is at most" in said
    bound = float(said.split("at most ")[1].split()[0])
    assert 0 < bound <= np.log(3) + 1e-6


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("internal", "perhaps", "valid boolean"),
        ("members", "some", "'all' or 'subset'"),
        ("solver", "knitro", "'auto', 'structured' or 'gekko'"),
        ("starts", 0, "greater than or equal to 1"),
        ("starts", 1001, "less than or equal to 1000"),
        ("time_limit", 0, "greater than 0"),
        ("probabilities", "true", "unknown key"),
    ],
)
def test_a_wrong_option_is_an_invalid_policy(tmp_path: Path, option: str, value: object, message: str) -> None:
    ended = leafgate("audit", survey(tmp_path, {"attacks": [{"use": "maxent", option: value}]}))
    assert (ended.code, ended.out) == (2, "")
    assert f"attacks[0].{option}" in ended.err
    assert message in ended.err


def test_unknown_members_without_a_population_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"attacks": [{"use": "maxent", "members": "subset"}]}
    changes["metrics"] = [{"use": "l_diversity", "at_least": 1}]
    ended = leafgate("validate", survey(tmp_path, changes))
    assert ended.code == 2
    assert "data.population" in ended.out + ended.err
