"""The kADET paper's section 4 on Adult: what reproduces, and what does not.

The page is docs/measurements/kadet-on-adult.md.
"""

from __future__ import annotations

import pytest

from adult import adult, audited, kadet, unprotected, value
from leafgate.api import CategoricalSplit, Leaf, Node

pytestmark = pytest.mark.thorough

SETTINGS = ("adult-id3", "adult-all")


def tree(setting: str, k: int, *, prune: bool) -> Node:
    sealed = kadet(setting, k, prune=prune).artifact
    assert sealed is not None
    return sealed.release.trees[0]


def error(setting: str, k: int, *, prune: bool = True) -> float:
    return 1 - value(kadet(setting, k, prune=prune), "accuracy")


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_rows_without_unknowns_are_the_papers(setting: str) -> None:
    run = adult(setting)
    assert run.tables.test is not None
    assert (run.table.total_weight, run.tables.test.total_weight) == (30_162, 15_060)
    assert (run.table.dropped, run.tables.test.dropped) == (2_399, 1_221)


def test_the_smallest_value_of_relationship_has_889_people() -> None:
    table, _ = adult("adult-id3").table.project(["relationship"])
    assert table.weight.min() == 889


@pytest.mark.parametrize("prune", [True, False])
@pytest.mark.parametrize(("k", "column", "ways"), [(889, "relationship", 6), (890, "marital-status", 2)])
def test_the_id3_root_changes_at_890(k: int, column: str, ways: int, prune: bool) -> None:
    root = tree("adult-id3", k, prune=prune)
    assert isinstance(root, CategoricalSplit)
    assert (root.column, len(root.branches)) == (column, ways)


@pytest.mark.parametrize("prune", [True, False])
@pytest.mark.parametrize(("before", "after"), [(889, 890), (750, 1000)])
def test_the_change_of_root_costs_a_little_accuracy(before: int, after: int, prune: bool) -> None:
    # The paper says the opposite, with other hierarchies; docs/measurements/kadet-on-adult.md explains the sign.
    change = error("adult-id3", after, prune=prune) - error("adult-id3", before, prune=prune)
    assert 0 < change < 0.002


@pytest.mark.parametrize("k", [2, 50, 1000])
@pytest.mark.parametrize("setting", SETTINGS)
def test_kadet_passes_the_policy_that_demands_its_k(setting: str, k: int) -> None:
    audit = kadet(setting, k)
    assert value(audit, "k_anonymity") >= k
    assert (audit.report.verdict, audit.report.exit_code) == ("pass", 0)


@pytest.mark.parametrize("k", [2, pytest.param(50, marks=pytest.mark.slow), pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_unprotected_tree_fails_the_same_policy(setting: str, k: int) -> None:
    audit = unprotected(setting, k)
    assert value(audit, "k_anonymity") == 1
    assert (audit.report.verdict, audit.report.exit_code) == ("fail", 1)


@pytest.mark.parametrize("prune", [True, False])
@pytest.mark.parametrize("setting", SETTINGS)
def test_fewer_people_are_exposed_as_k_rises(setting: str, prune: bool) -> None:
    exposed = [value(kadet(setting, k, prune=prune), "exposure") for k in (2, 50, 1000)]
    assert exposed == sorted(exposed, reverse=True)
    assert exposed[0] > exposed[-1]


@pytest.mark.parametrize(("k", "somebody"), [(50, True), (75, False)])
def test_pruned_c45_exposes_nobody_from_k_75_on(k: int, somebody: bool) -> None:
    assert (value(kadet("adult-all", k), "exposure") > 0) == somebody


def test_one_leaf_is_all_that_is_left_when_everybody_must_be_one_group() -> None:
    everybody = adult("adult-id3").table.total_weight
    assert isinstance(tree("adult-id3", everybody, prune=False), Leaf)
    assert value(kadet("adult-id3", everybody, prune=False), "confidence") == pytest.approx(22_654 / 30_162)  # 75.1 %


@pytest.mark.slow
def test_with_k_1_kadet_is_id3() -> None:
    plain, free = (
        unprotected("adult-id3", 2).artifact,
        audited("adult-id3", 1, {"use": "kadet", "k": 1, "prune": False}),
    )
    assert plain is not None
    assert free.artifact is not None
    assert free.artifact.release.trees == plain.release.trees
