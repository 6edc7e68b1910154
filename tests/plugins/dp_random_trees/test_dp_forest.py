"""Differentially private random trees: what they show, what they claim, and where their coins come from."""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats

from dp_survey import ASKED, COLUMNS, TRUTH, dp_trees, laplace_trees, released, survey
from leafgate import PolicyError, Table
from leafgate.algorithms.prediction import class_votes, predict
from leafgate.algorithms.routing import route
from leafgate.api import Leaf, Schema, columns_asked, install_command, leaves, map_leaves
from leafgate.app import serialize
from leafgate_plugins.dp_random_trees.accounting import at_delta, choose_forest
from leafgate_plugins.dp_random_trees.leaf_scores import with_statistics
from leafgate_plugins.dp_random_trees.mechanisms import Key, discrete_laplace, sample_counts
from leafgate_plugins.dp_random_trees.options import DpRandomTrees, RandomTrees
from leafgate_plugins.dp_random_trees.structure import draw_random_tree, random_structure_violations
from random_tables import table_of

pytestmark = pytest.mark.thorough

TABLE = survey()


def test_no_number_below_k_is_shown() -> None:
    every = (leaf for tree in released(dp_trees(), TABLE).trees for leaf in leaves(tree))
    shown = {n for leaf in every for n in (leaf.counts or {}).values()}
    assert 0 in shown
    assert min(shown - {0}) >= 10


def test_without_sampling_and_threshold_every_tree_counts_everybody() -> None:
    for tree in released(RandomTrees(trees=3), TABLE).trees:
        assert sum(sum((leaf.counts or {}).values()) for leaf in leaves(tree)) == TABLE.total_weight


@pytest.mark.parametrize("at_once", [64, 2**22])
def test_a_sample_keeps_every_person_with_the_same_chance(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leafgate_plugins.dp_random_trees.mechanisms.COINS_AT_ONCE", at_once)
    weight = np.array([1, 2, 5, 1000], dtype=np.int64)
    drawn = np.array([sample_counts(weight, 0.3, Key.drawn(np.random.default_rng(seed))) for seed in range(4000)])
    assert (drawn <= weight).all()
    for people, column in zip(weight, drawn.T, strict=True):
        expected = stats.binom(people, 0.3)
        assert abs(column.mean() - expected.mean()) < 5 * expected.std() / np.sqrt(len(drawn))
        assert column.std() == pytest.approx(expected.std(), rel=0.1)
    assert abs(np.corrcoef(drawn.T)[np.triu_indices(4, 1)]).max() < 0.08


def test_two_trees_have_samples_of_their_own() -> None:
    key = Key.drawn(np.random.default_rng(0))
    weight = np.ones(10_000, dtype=np.int64)
    first, second = (sample_counts(weight, 0.5, key.for_use(name)) for name in ("tree 0", "tree 1"))
    assert abs((first & second).mean() - 0.25) < 0.02


def test_what_is_asked_and_the_coins_come_from_different_secrets() -> None:
    key = Key(bytes(32))
    uses = {key.for_use(name).secret for name in ("structure", *(f"tree {i}" for i in range(100)))}
    assert len(uses) == 101
    assert key.secret not in uses
    assert key.stream(10) == key.stream(20)[:10]
    assert "secret" not in repr(key)


@pytest.mark.parametrize("scale", [0.5, 3.0, 10.0])
def test_noise_has_the_chances_of_the_discrete_laplace_distribution(scale: float) -> None:
    draws = Counter(discrete_laplace(scale, 20_000, Key.drawn(np.random.default_rng(1))).tolist())
    expected = stats.dlaplace(1 / scale)
    values = [z for z in range(-60, 61) if 20_000 * expected.pmf(z) > 8]
    found = np.array([draws[z] for z in values] + [20_000 - sum(draws[z] for z in values)])
    chances = [expected.pmf(z) for z in values]
    assert stats.chisquare(found, 20_000 * np.array([*chances, 1 - sum(chances)])).pvalue > 1e-4


def test_the_structure_is_drawn_from_the_domains_alone() -> None:
    other = survey(people=7, seed=9)
    one, two = (RandomTrees(trees=5, combine="sum").build(t, np.random.default_rng(4)) for t in (TABLE, other))
    bare = [[stripped(tree) for tree in release.trees] for release in (one, two)]
    assert bare[0] == bare[1]


def stripped(tree: Any) -> Any:
    return map_leaves(tree, lambda leaf: Leaf())


@given(st.integers(0, 3), st.integers(0, 2**32))
def test_every_structure_that_is_drawn_is_recognised(depth: int, seed: int) -> None:
    schema = Schema(COLUMNS)
    tree = draw_random_tree(schema, depth, np.random.default_rng(seed))
    assert not list(random_structure_violations([tree], schema, depth))
    assert list(random_structure_violations([tree], schema, depth + 1))


def test_a_claim_is_the_tight_account_with_the_theorem_beside_it() -> None:
    claim = released(DpRandomTrees(trees=8, k=20, beta=0.1), TABLE).guarantee["epsilon"]
    assert claim["at_most"] == pytest.approx(0.357, abs=1e-3)  # theory: .357 against 2.773
    assert claim["theorem"] == pytest.approx(2.773, abs=1e-3)
    assert (claim["delta"], claim["neighbours"]) == (1e-6, "add_remove")


@pytest.mark.parametrize("beta", [0.05, 0.1])
def test_a_wanted_promise_says_how_many_trees(beta: float) -> None:
    builder = DpRandomTrees(epsilon=0.5, beta=beta)
    release = released(builder, TABLE)
    assert release.guarantee["epsilon"]["at_most"] <= 0.5
    assert len(release.trees) == choose_forest(builder).trees == release.builder["trees"]
    more = builder.model_copy(update={"trees": len(release.trees) + 1})
    with pytest.raises(PolicyError, match="so many trees cannot keep it"):
        choose_forest(more)


@pytest.mark.parametrize(("epsilon", "trees"), [pytest.param(0.25, 64, marks=pytest.mark.slow), (1.0, 147), (3.0, 256)])
def test_a_promise_alone_says_everything_and_is_kept(epsilon: float, trees: int) -> None:
    builder = DpRandomTrees(epsilon=epsilon)
    found = choose_forest(builder)
    assert found.trees == trees
    assert (found.beta == 0.075) == (trees == 147)
    assert at_delta(found, 1e-6).epsilon <= epsilon
    if trees != 147:
        assert at_delta(replace(found, beta=found.beta + 0.011), 1e-6).epsilon > epsilon


def test_a_promise_with_trees_says_the_rate_and_the_release_tells_it() -> None:
    release = released(DpRandomTrees(epsilon=1.0, trees=16), TABLE)
    assert (len(release.trees), release.builder["beta"]) == (
        16,
        choose_forest(DpRandomTrees(epsilon=1.0, trees=16)).beta,
    )
    assert release.guarantee["epsilon"]["at_most"] <= 1


def test_what_cannot_be_promised_is_refused() -> None:
    with pytest.raises(PolicyError, match="not even one tree"):
        choose_forest(DpRandomTrees(k=2, beta=0.5, epsilon=1.0))
    with pytest.raises(PolicyError, match="no rate lets"):
        choose_forest(DpRandomTrees(k=1, epsilon=1.0))


@pytest.mark.parametrize("builder", [dp_trees(), laplace_trees()])
def test_a_domain_that_was_taken_from_the_data_is_refused(builder: DpRandomTrees) -> None:
    columns = (replace(ASKED[0], declared=False), *COLUMNS[1:])
    table = Table(Schema(columns), TABLE.frame, TABLE.weight)
    with pytest.raises(PolicyError, match="declared"):
        builder.build(table, np.random.default_rng(0))


@given(st.integers(0, 2**32), st.sampled_from(["evidence", "normalised", "sum"]))
def test_equal_numbers_predict_equally(seed: int, combine: Any) -> None:
    """Only the numbers are used: labels and scores are the same whichever table they came from."""
    release = released(dp_trees(combine=combine), TABLE, seed)
    k = release.builder["k"]
    numbers = [
        (stripped(tree), np.array([[(leaf.counts or {})[c] for c in release.classes] for leaf in leaves(tree)]))
        for tree in release.trees
    ]
    other = survey(people=5)
    again = replace(release, trees=tuple(with_statistics(numbers, other.schema, scored=combine == "evidence", k=k)))
    assert again.trees == release.trees
    assert (predict(again, TABLE) == predict(release, TABLE)).all()


@pytest.mark.parametrize("combine", ["evidence", "normalised", "sum"])
def test_a_forest_tells_more_than_the_most_frequent_class(combine: Any) -> None:
    release = released(RandomTrees(trees=40, combine=combine), TABLE)
    test = survey(people=4_000, seed=1)
    right = predict(release, test) == test.codes("truth")
    share = np.bincount(test.codes("truth"), weights=test.weight).max() / test.total_weight
    assert test.weight[right].sum() / test.total_weight > share + (0.05 if combine == "evidence" else 0.01)


def test_a_forest_is_written_and_read_back_with_its_scores() -> None:
    release = released(dp_trees(), TABLE)
    assert serialize(release).release.trees == release.trees
    votes = class_votes(serialize(release).release, TABLE)
    assert np.isfinite(votes).all()


@pytest.mark.parametrize("builder", [dp_trees(k=400), dp_trees(depth=0), dp_trees(trees=1, depth=9), laplace_trees()])
def test_nothing_shown_and_other_extremes_still_predict(builder: DpRandomTrees) -> None:
    release = released(builder, TABLE)
    votes = class_votes(release, TABLE)
    assert np.isfinite(votes).all()
    assert (predict(release, TABLE) >= 0).all()


def test_missing_numbers_and_categories_are_counted_somewhere() -> None:
    columns = (replace(ASKED[0], missing=True), *COLUMNS[1:])
    rows = [(None, "a", "b", "c", 3.0, "yes"), ("a", "a", "b", "c", 99.0, "no")]
    table = table_of(columns, rows, [30, 40])
    for tree in released(RandomTrees(trees=20), table).trees:
        assert (route(tree, table).leaf >= 0).all()


def test_the_class_is_never_asked() -> None:
    asked = frozenset().union(*(columns_asked(tree) for tree in released(RandomTrees(trees=30), TABLE).trees))
    assert TRUTH.name not in asked
    assert len(asked) == len(COLUMNS) - 1


def test_a_scale_is_the_fraction_it_is_written_as() -> None:
    assert Fraction(0.1).limit_denominator(10**9) == Fraction(1, 10)


def test_without_the_accounting_library_the_builder_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    with pytest.raises(PolicyError, match=re.escape(install_command("privacy"))):
        dp_trees(k=13, beta=0.0917).build(TABLE, np.random.default_rng(0))


def test_every_tree_of_a_forest_has_a_sample_of_its_own() -> None:
    """Trees that ask nothing all count the same people, and would show the same number of one sample."""
    release = released(dp_trees(depth=0, trees=12, combine="sum"), TABLE)
    shown = [sum((leaf.counts or {}).values()) for tree in release.trees for leaf in leaves(tree)]
    assert len(set(shown)) > 6


def test_k_people_are_shown_and_fewer_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leafgate_plugins.dp_random_trees.builder.sample_counts", lambda weight, beta, key: weight)
    table = table_of(COLUMNS, [("a", "a", "a", "a", 1.0, "no"), ("a", "a", "a", "a", 1.0, "yes")], [10, 9])
    (tree,) = released(dp_trees(depth=0, trees=1, combine="sum"), table).trees
    assert isinstance(tree, Leaf)
    assert tree.counts == {"no": 10, "yes": 0}


@pytest.mark.parametrize("builder", [dp_trees(structure="random", depth=40), dp_trees(structure="random", depth=21)])
def test_trees_with_too_many_leaves_are_refused(builder: DpRandomTrees) -> None:
    with pytest.raises(PolicyError, match="more than 1,000,000 leaves"):
        builder.build(TABLE, np.random.default_rng(0))


@pytest.mark.parametrize("options", [{"beta": 1e-12}, {"k": 900, "beta": 0.001}])
def test_samples_that_nobody_could_account_for_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValidationError, match="100,000"):
        dp_trees(**options)


def test_a_promise_no_k_keeps_says_why() -> None:
    with pytest.raises(PolicyError, match="no epsilon is enough"):
        dp_trees(k=2, beta=0.5, delta=1e-9).build(TABLE, np.random.default_rng(0))


def test_a_forest_that_no_epsilon_covers_is_refused() -> None:
    with pytest.raises(PolicyError, match="no epsilon is enough"):
        released(dp_trees(k=1, beta=0.999, trees=2, delta=0.999999), TABLE)
