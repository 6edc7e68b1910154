"""The metric accounts anew, and sees in a release what breaks the account's conditions: the broken twins."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from components import new_builder, new_metric
from dp_survey import AGE, ASKED, dp_trees, epsilon, epsilon_at, laplace_trees, problems, released, saying, survey
from leafgate import InconclusiveError, Release, Table
from leafgate.algorithms.publication import published
from leafgate.api import Branch, CategoricalSplit, Leaf, NumericSplit, Publish, Records, Schema, leaves, map_leaves

TABLE = survey()
NARROW = replace(AGE, bounds=(0.0, 99.0))


@cache
def sampled_forest() -> Release:
    return released(dp_trees(), TABLE)


@cache
def noisy_forest() -> Release:
    return released(laplace_trees(), TABLE)


@pytest.mark.thorough
def test_the_account_is_that_of_the_numbers_of_trees_k_and_beta() -> None:
    expected = epsilon_at(1e-4, k=10, beta=0.1, trees=8)
    assert epsilon(sampled_forest(), TABLE) == pytest.approx(expected, abs=1e-6)
    assert epsilon(sampled_forest(), TABLE) == sampled_forest().guarantee["epsilon"]["at_most"]
    result = problems(sampled_forest(), TABLE)
    assert result["at_least"] <= expected <= result["theorem"]


def test_noise_adds_up_at_delta_0_and_to_less_beyond() -> None:
    assert noisy_forest().guarantee["epsilon"]["at_most"] == epsilon(noisy_forest(), TABLE) < 0.8
    assert epsilon(noisy_forest(), TABLE, delta=0) == pytest.approx(8 / 10)


@pytest.mark.thorough
def test_who_is_replaced_costs_more_than_who_is_added() -> None:
    added, replaced = (
        released(dp_trees(neighbours=n), TABLE).guarantee["epsilon"] for n in ("add_remove", "replace_one")
    )
    assert added["at_most"] < replaced["at_most"]


def with_leaf(release: Release, change: Callable[[Leaf], Leaf]) -> Release:
    """The release with its first leaf of people changed."""
    done = False

    def once(leaf: Leaf) -> Leaf:
        nonlocal done
        if done or not any((leaf.counts or {}).values()):
            return leaf
        done = True
        return change(leaf)

    return replace(release, trees=tuple(map_leaves(tree, once) for tree in release.trees))


def beyond(tree: Any) -> Any:
    """The tree with its uppermost cuts beyond the bounds."""
    if isinstance(tree, NumericSplit):
        return replace(tree, at=120.0)
    if isinstance(tree, CategoricalSplit):
        return replace(tree, branches=tuple(replace(b, node=beyond(b.node)) for b in tree.branches))
    return tree


TWINS: dict[str, Callable[[Release], Release]] = {
    "leaf totals published": lambda r: replace(r, selection={**(r.selection or {}), "leaf_people": [31, 17]}),
    "suppressed total published": lambda r: replace(r, selection={**(r.selection or {}), "suppressed": 93}),
    "a number below k": lambda r: with_leaf(r, lambda leaf: replace(leaf, counts={"no": 3, "yes": 0}, label="no")),
    "a number that is not whole": lambda r: with_leaf(r, lambda leaf: replace(leaf, counts={"no": 31.5, "yes": 0})),
    "labels of the raw numbers": lambda r: with_leaf(r, lambda leaf: replace(leaf, label=None)),
    "a further value": lambda r: with_leaf(r, lambda leaf: replace(leaf, value=0.3)),
    "scores of the raw numbers": lambda r: with_leaf(r, lambda leaf: replace(leaf, scores={"no": 0.0, "yes": 9.0})),
    "cuts beyond the bounds": lambda r: replace(r, trees=tuple(map(beyond, r.trees))),
    "fewer branches than values": lambda r: replace(r, trees=(CategoricalSplit("q0", (only_branch(),)), *r.trees[1:])),
    "trees not as deep": lambda r: replace(r, trees=(Leaf(None, {"no": 0, "yes": 0}), *r.trees[1:])),
    "further trees": lambda r: replace(r, alternatives={"other": r.trees[0]}),
    "records": lambda r: replace(r, records=Records(("q0",), (("a",),), (30,))),
    "a further claim": lambda r: replace(r, guarantee={**r.guarantee, "k": 10}),
    "a theorem that carries something": lambda r: claiming(r, theorem={"leaf_people": [31, 17]}),
    "a claim at another delta": lambda r: claiming(r, delta=0.5),
    "a claim that is lower": lambda r: claiming(r, at_most=0.1),
    "more trees than there are": lambda r: saying(r, trees=9),
    "cuts that say where missing numbers go": lambda r: replace(r, trees=tuple(map(flagged, r.trees))),
    "bounds that are the data's": lambda r: replace(r, schema=Schema((*r.schema.columns[:4], NARROW, r.schema.target))),
    "digits of scores": lambda r: with_leaf(r, lambda leaf: replace(leaf, scores=nudged(leaf))),
    "more people than there are": lambda r: with_leaf(r, lambda leaf: replace(leaf, counts={"no": 10**9, "yes": 0})),
    "trees put together otherwise": lambda r: replace(r, combine="sum"),
    "no tree that asks nothing": lambda r: replace(r, trees=(r.trees[1], *r.trees[1:])),
    "numbers that say they are exact": lambda r: replace(r, count_semantics="exact"),
}  # fmt: skip


def only_branch() -> Branch:
    return Branch(("a",), Leaf(None, {"no": 0, "yes": 0}))


def claiming(release: Release, **document: Any) -> Release:
    """The release with another claim."""
    return replace(release, guarantee={"epsilon": {**release.guarantee["epsilon"], **document}})


def flagged(tree: Any) -> Any:
    """The tree with its uppermost cuts flagged."""
    return replace(tree, missing="low") if isinstance(tree, NumericSplit) else tree


def nudged(leaf: Leaf) -> dict[str, float]:
    """Scores with further digits."""
    return {name: score + 3e-6 for name, score in (leaf.scores or {}).items()}


@pytest.mark.parametrize("name", TWINS)
def test_a_broken_condition_makes_epsilon_infinite(name: str) -> None:
    twin = TWINS[name](sampled_forest())
    assert twin != sampled_forest()
    assert epsilon(twin, TABLE) == math.inf
    assert problems(twin, TABLE)["broken"]


@pytest.mark.thorough
def test_a_claim_for_half_of_the_trees_is_refuted() -> None:
    half = released(dp_trees(trees=4), TABLE).guarantee["epsilon"]
    twin = saying(replace(sampled_forest(), guarantee={"epsilon": half}), trees=4)
    metric: Any = type(new_metric("differential_privacy", at_most=1)).from_claim(half)
    assert epsilon(twin, TABLE) > metric.bound
    assert not metric.holds(epsilon(twin, TABLE))
    assert metric.holds(epsilon(released(dp_trees(trees=4), TABLE), TABLE))


@pytest.mark.thorough
def test_suppressing_one_number_more_keeps_the_claim() -> None:
    """`<=` for `<` at the threshold shows less than was promised, not more; the other way shows a number below k."""
    shown = {n for tree in sampled_forest().trees for leaf in leaves(tree) for n in (leaf.counts or {}).values()}
    assert epsilon(saying(sampled_forest(), k=min(shown - {0}) + 1), TABLE) == math.inf
    hiding = released(dp_trees(k=11, combine="sum"), TABLE)
    as_ten = saying(replace(hiding, guarantee=sampled_forest().guarantee), k=10)
    assert epsilon(as_ten, TABLE) == sampled_forest().guarantee["epsilon"]["at_most"]
    assert epsilon(hiding, TABLE) < sampled_forest().guarantee["epsilon"]["at_most"]


def test_a_domain_from_the_data_breaks_the_account() -> None:
    columns = (replace(ASKED[0], declared=False), *TABLE.schema.columns[1:])
    assert epsilon(sampled_forest(), Table(Schema(columns), TABLE.frame, TABLE.weight)) == math.inf


@pytest.mark.parametrize(
    ("release", "problem"),
    [
        (lambda: released(new_builder("random_trees", trees=2), TABLE), "nothing shows by which mechanism"),
        (lambda: released(dp_trees(rehearsal=True), TABLE), "rehearsal"),
        (lambda: published(sampled_forest(), Publish(leaves="labels", measure=True), frozenset()), "cannot be seen"),
        (lambda: published(sampled_forest(), Publish(leaves="counts", measure=False), frozenset()), "cannot be seen"),
        (
            lambda: replace(
                sampled_forest(), builder={k: v for k, v in sampled_forest().builder.items() if k != "beta"}
            ),
            "does not say",
        ),
        (lambda: saying(sampled_forest(), seed=7), "does not say, in the builder's own words"),
        (lambda: saying(sampled_forest(), k="10"), "does not say, in the builder's own words"),
        (lambda: saying(sampled_forest(), beta=0.0), "does not say, in the builder's own words"),
        (lambda: saying(sampled_forest(), depth=-1), "does not say, in the builder's own words"),
    ],
)
def test_what_cannot_be_seen_is_inconclusive(release: Callable[[], Release], problem: str) -> None:
    with pytest.raises(InconclusiveError, match=problem):
        epsilon(release(), TABLE)


@pytest.mark.parametrize("release", [sampled_forest, noisy_forest])
@pytest.mark.thorough
def test_the_metric_asks_for_its_own_neighbours(release: Callable[[], Release]) -> None:
    items = [epsilon(release(), TABLE, neighbours=n) for n in ("add_remove", "replace_one")]
    assert items[0] < items[1]


def test_at_delta_0_who_is_replaced_costs_twice() -> None:
    assert epsilon(noisy_forest(), TABLE, delta=0, neighbours="replace_one") == pytest.approx(2 * 8 / 10)


@pytest.mark.parametrize("delta", [0.0, 1e-12])
def test_where_no_epsilon_is_enough_it_is_infinite_and_says_why(delta: float) -> None:
    assert epsilon(sampled_forest(), TABLE, delta=delta) == math.inf
    assert "no epsilon is enough at this delta" in problems(sampled_forest(), TABLE, delta=delta)["broken"]
