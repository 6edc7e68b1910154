"""Exclusion holds: no member is excluded by trees of all rows, and by bootstraps no more often than the level says."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from exclusion_worlds import World, schema_of, table_of, with_settings, world_of
from leafgate import InconclusiveError, Release
from leafgate.algorithms.exclusion import exclusion_p_values
from leafgate.algorithms.node_counts import first_contradiction
from leafgate.algorithms.prediction import predict
from leafgate.algorithms.publication import published
from leafgate.api import (
    AdversaryKnowledge,
    Leaf,
    Level,
    MembershipBelief,
    Publish,
    Score,
    ScoringContext,
    leaves,
    map_leaves,
)
from leafgate.app import Tables, audit_policy
from leafgate.engine.attack import call_infer
from leafgate.kernel.oracle import QueryLog
from leafgate_plugins.inference.membership.exclusion import LeafExclusion, candidate_absence, excluding_trees
from oracles import leaf_at, path_of, persons
from random_tables import tables
from random_trees import counted, trees
from sklearn_zoo import answers, rows, skops_bytes
from standins import installed_with, policy_in, release_metric_that

pytestmark = pytest.mark.thorough

CERTAIN: dict[str, Any] = {
    "tree": DecisionTreeClassifier(),
    "entropy": DecisionTreeClassifier(criterion="entropy", max_features="sqrt"),
    "log_loss": DecisionTreeClassifier(criterion="log_loss", min_impurity_decrease=1e-3),
    "random splits": DecisionTreeClassifier(splitter="random"),
    "small leaves": DecisionTreeClassifier(min_samples_leaf=4),
    "pruned": DecisionTreeClassifier(ccp_alpha=5e-4),
    "few leaves": DecisionTreeClassifier(max_leaf_nodes=40),
    "class weights": DecisionTreeClassifier(class_weight="balanced"),
    "shallow class weights": DecisionTreeClassifier(class_weight="balanced", min_samples_leaf=5),
    "extra": ExtraTreesClassifier(4, max_features=1),
    "forest of all rows": RandomForestClassifier(4, bootstrap=False, min_samples_leaf=2),
    "weighted forest of all rows": RandomForestClassifier(3, bootstrap=False, class_weight="balanced_subsample"),
}


def people(seed: int, n: int, classes: int, *, gaps: bool) -> tuple[Any, Any]:
    x = rows(seed, n, gaps=gaps)
    return x, answers(x, classes)


def certain_world(name: str, seed: int, n: int) -> World:
    classes, gaps = 2 + seed % 2, seed % 3 == 0
    x, y = people(seed, 2 * n, classes, gaps=gaps)
    return world_of(CERTAIN[name].set_params(random_state=seed), x, y, classes, seed=seed)


@pytest.mark.parametrize("name", CERTAIN)
@pytest.mark.parametrize("seed", [0, 1])
def test_trees_of_all_rows_exclude_no_member_and_others_they_do(name: str, seed: int) -> None:
    world = certain_world(name, seed, 400)
    belief, excluded, member = world.belief(), world.excluded, world.membership.in_table
    assert not excluded[member].any()
    assert (belief.scores[member] == 0).all()
    assert excluded[~member].any()
    assert belief.exclusion_p_values is None
    assert np.array_equal(excluded, belief.scores < 0)


def expected_exclusion(leaf: Leaf | None, own: str, level: str) -> bool:
    """Does it follow from what is published of a leaf, whose true counts it still has, that nobody there is `own`?"""
    if leaf is None or leaf.counts is None or leaf.counts[own]:
        return False
    return level != "error_rates" or sum(count > 0 for count in leaf.counts.values()) < 2


@given(st.data())
def test_excluding_trees_are_those_whose_leaf_counts_nobody_of_the_class(data: st.DataObject) -> None:
    """By walking each person down each tree, of people whom the trees count and of others."""
    table = data.draw(tables(most=12))
    n_inside = data.draw(st.integers(1, len(table)))
    inside = replace(table, frame=table.frame.head(n_inside), weight=table.weight[:n_inside], _codes={})
    grown = data.draw(st.lists(trees(table.schema, depth=3, whole=False), min_size=1, max_size=3))
    release = Release(
        {"use": "t"}, table.schema, tuple(counted(tree, inside) for tree in grown), combine="mean_per_tree"
    )
    level: Level = data.draw(st.sampled_from(("counts", "shares", "error_rates")))
    shown = published(release, Publish(leaves=level), frozenset())
    result = excluding_trees(shown, shown.trees, table)
    target = table.schema.target.name
    for row, (person, n) in enumerate(zip(persons(table.frame), result.tolist(), strict=True)):
        reached = [leaf_at(tree, path_of(tree, person)) for tree in release.trees]
        assert n == sum(expected_exclusion(leaf, str(person[target]), level) for leaf in reached)
        assert n == 0 or row >= n_inside


DRAWN: dict[str, Any] = {
    "forest": RandomForestClassifier(),
    "one column a test": RandomForestClassifier(max_features=1),
    "half the draws": RandomForestClassifier(max_samples=0.5),
    "thirty draws": RandomForestClassifier(max_samples=30),
    "twice the draws": RandomForestClassifier(max_samples=2.0),
    "extra": ExtraTreesClassifier(bootstrap=True),
    "weights by bag": RandomForestClassifier(class_weight="balanced_subsample"),
    "weights by bag, half the draws": RandomForestClassifier(class_weight="balanced_subsample", max_samples=0.5),
    "weights by bag, thirty draws": RandomForestClassifier(class_weight="balanced_subsample", max_samples=30),
}
LEVELS = (0.05, 0.01, 0.001)


def out_of_bag(name: str, n: int) -> float:
    """(1 - 1/n)^m by the words of the settings."""
    draws = n if "samples" not in str(DRAWN[name]) else DRAWN[name].max_samples
    return float((1 - 1 / n) ** (int(draws * n) if isinstance(draws, float) else draws))


@pytest.mark.parametrize("name", DRAWN)
def test_of_bootstraps_p_values_are_those_of_the_binomial_law(name: str) -> None:
    from scipy.stats import binom

    n, trees_grown = 60, 25
    x, y = people(3, 2 * n, 3, gaps=True)
    world = world_of(DRAWN[name].set_params(n_estimators=trees_grown, random_state=3), x, y, 3)
    belief = world.belief()
    assert world.belief().excluded is None
    assert world.p_values == pytest.approx(binom.sf(-belief.scores - 1, trees_grown, out_of_bag(name, n)), rel=1e-9)


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.parametrize("name", ["forest", "thirty draws", "weights by bag"])
def test_members_are_below_each_level_no_more_often_than_it_says(name: str) -> None:
    """Of people alone in their classes, for whom the bound is met with equality; many forests, which are parts of one.

    A tree excludes the members who are out of its bag, and no other.
    """
    n, forests_grown, trees_grown = 30, 12, 25
    x, y = np.arange(2.0 * n)[:, None], np.tile(np.arange(n), 2)
    world = world_of(DRAWN[name].set_params(n_estimators=forests_grown * trees_grown, random_state=0), x, y, n)
    out = candidate_absence(world.release, world.candidates)
    assert out == pytest.approx(out_of_bag(name, n))
    excluding = [excluding_trees(world.release, [tree], world.candidates.table) for tree in world.release.trees]
    members = np.array(excluding)[:, world.membership.in_table]
    of_forests = members.reshape(forests_grown, trees_grown, n).sum(axis=1)
    assert of_forests.mean() / trees_grown == pytest.approx(out, abs=0.03)
    below = exclusion_p_values(of_forests, trees_grown, out)
    for level in LEVELS:
        assert (below <= level).mean() <= level + 4 * math.sqrt(level / below.size)
    assert (below <= 0.2).mean() > 0.02


def test_every_bag_of_four_people_excludes_nobody_who_is_in_it() -> None:
    """All 256 bags, and from them the exact law of the number of excluding trees, whose p-values keep every level."""
    n, trees_grown = 4, 6
    x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 1, 0])
    names = np.array(schema_of(x, 2).classes)
    excluded = np.zeros((n**n, n), dtype=bool)
    absent = np.zeros((n**n, n), dtype=bool)
    for bag, drawn in enumerate(itertools.product(range(n), repeat=n)):
        times = np.bincount(drawn, minlength=n)
        model = DecisionTreeClassifier(random_state=0).fit(x, names[y], sample_weight=times)
        shares = dict(zip(model.classes_, model.predict_proba(x).T, strict=True))
        excluded[bag] = [shares[names[own]][i] == 0 if names[own] in shares else True for i, own in enumerate(y)]
        absent[bag] = times == 0
    assert not (excluded & ~absent).any()
    q = (1 - 1 / n) ** n
    assert absent.mean(axis=0) == pytest.approx(np.full(n, q))
    for share in excluded.mean(axis=0):
        law = np.array(
            [math.comb(trees_grown, k) * share**k * (1 - share) ** (trees_grown - k) for k in range(trees_grown + 1)]
        )
        p_values = exclusion_p_values(np.arange(trees_grown + 1), trees_grown, q)
        for level in p_values:
            assert law[p_values <= level].sum() <= level + 1e-12


def test_the_p_value_is_a_sum_of_binomial_terms() -> None:
    q, total = 0.3, 7
    terms = [math.comb(total, k) * q**k * (1 - q) ** (total - k) for k in range(total + 1)]
    expected = [sum(terms[k:]) for k in range(total + 1)]
    assert exclusion_p_values(np.arange(total + 1), total, q) == pytest.approx(expected)


def drawn_world(**options: Any) -> World:
    x, y = people(1, 120, 2, gaps=False)
    fit = {name: options.pop(name) for name in list(options) if name == "sample_weight"}
    model = RandomForestClassifier(n_estimators=5, random_state=0, **options)
    return world_of(model, x, y, 2, **fit)


def tree_world(model: Any = None, n: int = 60, **fit: Any) -> World:
    x, y = people(1, 2 * n, 2, gaps=False)
    return world_of(DecisionTreeClassifier(random_state=0) if model is None else model, x, y, 2, **fit)


def rounded(world: World) -> World:
    def shares(leaf: Leaf) -> Leaf:
        size = sum((leaf.counts or {}).values())
        return Leaf(leaf.label, shares={name: round(count / size, 2) for name, count in (leaf.counts or {}).items()})

    cut = tuple(map_leaves(tree, shares) for tree in world.release.trees)
    return replace(world, release=replace(world.release, trees=cut, publish=Publish(leaves="shares")))


def weighted_table(world: World) -> World:
    return replace(world, candidates=replace(world.candidates, training_weighted=True))


def of_size(world: World, n: int | None) -> World:
    return replace(world, candidates=replace(world.candidates, table_size=n))


SOME_ZERO = np.arange(60) % 3
REFUSED: dict[str, tuple[Callable[[], World], str]] = {
    "zero weights": (lambda: tree_world(sample_weight=np.minimum(SOME_ZERO, 1)), "fewer people"),
    "unequal weights": (lambda: tree_world(sample_weight=1.0 + SOME_ZERO), "does not tell"),
    "weights by a table of classes": (
        lambda: tree_world(DecisionTreeClassifier(class_weight={"low": 0, "middle": 1})),
        "fewer people|does not tell",
    ),
    "a table with weights": (lambda: weighted_table(tree_world()), "weights that do not count people"),
    "monotonic constraints": (lambda: tree_world(DecisionTreeClassifier(monotonic_cst=[1, 0, 0])), "clip"),
    "rounded shares": (lambda: rounded(tree_world(DecisionTreeClassifier(min_samples_leaf=7))), "rounded"),
    "labels": (lambda: labels_alone(tree_world()), "labels alone"),
    "boosting": (lambda: tree_world(GradientBoostingClassifier(n_estimators=2)), "scores"),
    "boosting with early stopping": (
        lambda: tree_world(HistGradientBoostingClassifier(max_iter=2, early_stopping=True)),
        "scores",
    ),
    "rows left out": (lambda: of_size(tree_world(), 61), "fewer people"),
    "draws by class": (lambda: drawn_world(class_weight="balanced"), "which rows its trees draw"),
    "draws by a table of classes": (lambda: drawn_world(class_weight={"low": 1, "middle": 3}), "does not tell"),
    "draws by weight": (lambda: drawn_world(sample_weight=1 + SOME_ZERO), "does not tell"),
    "draws from an unknown number of people": (lambda: of_size(drawn_world(), None), "not known"),
    "as many draws as another table has people": (lambda: of_size(drawn_world(), 66), "more people"),
    "a share of another table": (lambda: of_size(drawn_world(max_samples=0.5), 66), "more people"),
    "an unknown number of draws": (
        lambda: with_settings(drawn_world(class_weight="balanced_subsample"), max_samples="gone"),
        "draw",
    ),
}


def labels_alone(world: World) -> World:
    cut = tuple(map_leaves(tree, lambda leaf: Leaf(leaf.label)) for tree in world.release.trees)
    return replace(world, release=replace(world.release, trees=cut, publish=Publish(leaves="labels")))


@pytest.mark.parametrize("name", REFUSED)
def test_exclusion_says_why_it_is_not_applicable(name: str) -> None:
    make, reason = REFUSED[name]
    with pytest.raises(InconclusiveError, match=reason):
        make().belief()


@pytest.mark.parametrize(
    "world",
    [
        lambda: tree_world(sample_weight=np.minimum(SOME_ZERO, 1)),
        lambda: tree_world(DecisionTreeClassifier(class_weight="balanced"), sample_weight=np.minimum(SOME_ZERO, 1)),
        lambda: tree_world(DecisionTreeClassifier(class_weight="balanced"), sample_weight=1.0 * SOME_ZERO),
    ],
)
def test_the_audit_contradicts_files_of_rows_without_weight(world: Any) -> None:
    """What exclusion cannot see of class weights with sample weights beside them is no pass all the same."""
    result = world()
    assert first_contradiction(result.numbers, result.release, result.table) is not None


def test_a_balanced_bootstrap_leaves_members_out_more_often_than_a_uniform_one() -> None:
    """What would go wrong if draws by class were taken for uniform ones: why they are refused."""
    n = 200
    x, y = np.arange(2.0 * n)[:, None] % 50, (np.arange(2 * n) % 20 == 0).astype(int)
    x = x + np.random.default_rng(0).normal(0, 0.01, x.shape)
    model = RandomForestClassifier(n_estimators=200, class_weight="balanced", random_state=0)
    world = world_of(model, x, y, 2)
    excluding = excluding_trees(world.release, world.release.trees, world.candidates.table)
    naive = exclusion_p_values(excluding, 200, (1 - 1 / n) ** n)[world.membership.in_table]
    assert (naive <= 0.001).mean() > 0.001


def test_a_forest_of_class_weights_counts_no_draws_of_its_own() -> None:
    """Draws by weight are not those that a bootstrap's counts are."""
    assert drawn_world(class_weight="balanced").release.count_semantics == "unknown"
    assert drawn_world(sample_weight=np.full(60, 2.0)).release.count_semantics == "bootstrap"
    assert drawn_world().release.count_semantics == "bootstrap"


def test_files_of_draws_by_weight_do_not_contradict_their_table() -> None:
    for options in ({"class_weight": "balanced"}, {"sample_weight": 1.0 + 20 * SOME_ZERO}, {}):
        world = drawn_world(**options)
        assert first_contradiction(world.numbers, world.release, world.table) is None


def test_published_zero_error_excludes_everybody_whose_label_is_wrong() -> None:
    """By the file, of which nothing but labels is published, and by asking for labels."""
    world = labels_alone(tree_world())
    attack = LeafExclusion(zero_training_error=True)
    (by_file,) = attack.infer(world.release, world.known)
    (asked,) = call_infer(LeafExclusion(zero_training_error=True, access="labels"), world.release, world.known)
    assert isinstance(by_file, MembershipBelief)
    assert isinstance(asked, MembershipBelief)
    own = world.candidates.table.codes("y")
    reached = [
        leaf_at(world.release.trees[0], path_of(world.release.trees[0], person))
        for person in persons(world.candidates.frame)
    ]
    wrong = [leaf is not None and leaf.label != ("low", "middle")[c] for leaf, c in zip(reached, own, strict=True)]
    assert by_file.excluded is not None
    assert asked.excluded is not None
    assert by_file.excluded.tolist() == asked.excluded.tolist() == wrong
    assert any(wrong)


def test_wrong_labels_exclude_for_certain_beside_bootstraps() -> None:
    world = drawn_world()
    belief = world.belief(zero_training_error=True)
    own = world.candidates.table.codes("y")
    wrong = predict(world.release, world.candidates.table) != own
    assert belief.excluded is not None
    assert belief.exclusion_p_values is not None
    assert wrong.any()
    assert np.array_equal(belief.excluded, wrong)
    assert (belief.exclusion_p_values[wrong] == 0).all()
    assert (belief.scores[wrong] < belief.scores[~wrong].min()).all()
    assert np.array_equal(belief.exclusion_p_values[~wrong], world.p_values[~wrong])


def test_labels_alone_exclude_nobody() -> None:
    world = tree_world()
    with pytest.raises(InconclusiveError, match="labels exclude nobody"):
        call_infer(LeafExclusion(access="labels"), world.release, world.known, QueryLog())


def test_it_asks_for_candidates() -> None:
    world = tree_world()
    with pytest.raises(InconclusiveError, match="candidates"):
        LeafExclusion().infer(world.release, AdversaryKnowledge(world.table.schema, world.table.without_rows))


def test_a_candidate_without_a_class_is_not_excluded() -> None:
    world = tree_world()
    nobodys = pd.Categorical.from_codes([-1] * len(world.candidates), categories=pd.Index(world.table.schema.classes))
    frame = world.candidates.frame.assign(y=nobodys)
    gone = replace(world, candidates=replace(world.candidates, table=replace(world.candidates.table, frame=frame)))
    assert not gone.excluded.any()


def test_of_trees_of_all_rows_nobody_is_absent() -> None:
    assert candidate_absence(tree_world().release, tree_world().candidates) == 0
    assert sum(1 for tree in tree_world().release.trees for _ in leaves(tree)) > 3


def numbers(low: float, high: float) -> dict[str, Any]:
    return {"role": "quasi_identifier", "bounds": [low, high]}


COLUMNS = {"x0": numbers(-1e5, 1e5), "x1": numbers(0, 100), "x2": numbers(0, 100)}
POLICY: dict[str, Any] = {
    "leafgate": 1,
    "name": "members",
    "data": {"columns": COLUMNS | {"y": {"role": ["class", "sensitive"], "values": ["low", "middle"]}}},
    "build": {"use": "published", "path": "model.skops"},
    "knows": {"candidates": 150},
    "attacks": [{"use": "leaf_exclusion"}],
    "metrics": [{"use": "whole", "at_least": 0}],
}


@pytest.mark.parametrize("model", [DecisionTreeClassifier(random_state=0), RandomForestClassifier(20, random_state=0)])
def test_an_audit_of_a_skops_file_excludes_people_of_the_control(model: Any, tmp_path: Path) -> None:
    """With fewer candidates than people."""
    x, y = people(5, 400, 2, gaps=False)
    schema = schema_of(x, 2)
    model.fit(x[:200], np.array(schema.classes)[y[:200]])
    (tmp_path / "model.skops").write_bytes(skops_bytes(model))
    heard: list[tuple[MembershipBelief, Any]] = []

    def listen(case: ScoringContext) -> Score:
        heard.append((case.require_belief(MembershipBelief), case.membership.in_table))
        return Score(1.0)

    metric = release_metric_that(listen, judges=frozenset({MembershipBelief}))
    plugins = installed_with(metric)
    policy = policy_in(tmp_path, plugins, POLICY)
    audit_policy(
        policy, plugins, Tables(table_of(schema, x[:200], y[:200]), control=table_of(schema, x[200:], y[200:]))
    )
    ((belief, member),) = heard
    assert (len(member), member.sum()) == (300, 150)
    if isinstance(model, DecisionTreeClassifier):
        assert belief.excluded is not None
        assert not belief.excluded[member].any()
        assert belief.excluded[~member].any()
        return
    assert belief.excluded is None
    assert belief.exclusion_p_values is not None
    assert (belief.exclusion_p_values[~member] < 0.001).any()
    assert not (belief.exclusion_p_values[member] < 0.001).any()
