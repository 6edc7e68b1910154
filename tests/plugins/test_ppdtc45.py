"""PPDTC4.5: thresholds, weights, paths and naive Bayes against brute force and peers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.naive_bayes import GaussianNB

from leafgate import Release, Table
from leafgate.algorithms.consistency import follows_from_records
from leafgate.algorithms.prediction import naive_bayes_posterior, predict
from leafgate.algorithms.publication import published
from leafgate.api import Column, Law, Leaf, Level, Node, Noise, NumericSplit, PolicyError, Publish, Schema
from leafgate_plugins.ppdtc45.builder import build, learn, naive_bayes
from leafgate_plugins.ppdtc45.deconvolved_c45 import deconvolved_tree
from leafgate_plugins.ppdtc45.em import em_rounds, noisy_column
from leafgate_plugins.ppdtc45.growing import grow_by_probability, probability_below
from leafgate_plugins.ppdtc45.options import NoiseOptions, Ppdtc45
from leafgate_plugins.ppdtc45.party import SystemCoins
from leafgate_plugins.ppdtc45.scoring import (
    classify_along_random_paths,
    expected_accuracy,
    perturb_test_table,
    reconstruct_records,
    with_noise_variance,
)
from leafgate_plugins.ppdtc45.shared import SharedRecords, agreed_noise, noise_laws
from leafgate_plugins.ppdtc45.split_methods import (
    THETAS,
    Learner,
    best_split,
    choose_theta,
    direct_tree,
    matched_tree,
    probable_counts,
    threshold_tree,
)
from literal_ppdtc45 import LiteralCut, LiteralNode, Person, literal_tree, p_s1
from random_tables import Cell, table_of
from shared_people import CLASSES, schema_of, shared_of

UNPRUNED = Learner(min_leaf=1, confidence=None, penalty=False)


LAW_NAMES: list[Law] = ["gaussian", "uniform"]
NOISES = st.builds(Noise, st.sampled_from(LAW_NAMES), st.sampled_from([0.5, 2.0, 7.0]))
THETA = st.sampled_from([0.1, 0.3, 0.5, 0.62, 0.9])


@st.composite
def small(draw: st.DrawFn, m: int = 2) -> SharedRecords:
    """Up to 12 people with whole numbers, so that ties abound."""
    people = draw(st.lists(st.tuples(*[st.integers(0, 9)] * m, st.integers(0, 2)), min_size=2, max_size=12))
    noise = draw(st.lists(NOISES, min_size=m, max_size=m))
    return shared_of([person[:m] for person in people], [person[m] for person in people], noise, 3)


def same(tree: Node, literal: LiteralNode, classes: tuple[str, ...]) -> bool:
    if isinstance(literal, LiteralCut):
        assert isinstance(tree, NumericSplit)
        assert tree.column == f"x{literal.column}"
        assert tree.at == pytest.approx(literal.at)
        return same(tree.low, literal.low, classes) and same(tree.high, literal.high, classes)
    assert isinstance(tree, Leaf)
    assert {label: n for label, n in (tree.counts or {}).items() if n} == {
        classes[code]: n for code, n in literal.items()
    }
    return True


def persons(shared: SharedRecords) -> list[Person]:
    return [(tuple(row), int(label)) for row, label in zip(shared.numbers.tolist(), shared.classes, strict=True)]


@given(small(), THETA, st.booleans())
def test_the_papers_procedure_and_c45_with_moved_cuts_are_one(
    shared: SharedRecords, theta: float, average: bool
) -> None:
    learner = Learner(average_gain=average, min_leaf=1, confidence=None, penalty=False)
    ours = threshold_tree(direct_tree(shared, learner), shared.noise, theta)
    literal = literal_tree(persons(shared), shared.laws, theta, average_gain=average)
    assert same(ours, literal, shared.schema.classes)


@given(small())
def test_theta_of_one_half_is_plain_c45(shared: SharedRecords) -> None:
    tree = direct_tree(shared, Learner())
    assert threshold_tree(tree, shared.noise, 0.5) == tree


@given(small(m=1))
def test_probable_counts_add_up_everyones_chance_of_being_below(shared: SharedRecords) -> None:
    weight = np.linspace(0.2, 1, len(shared.classes))
    law = shared.laws[0]
    at, low, total = probable_counts(shared.numbers[:, 0], shared.classes, weight, law, 3)
    assert len(at) == len(set(shared.numbers[:, 0].tolist())) - 1
    for t, found in zip(at.tolist(), low, strict=True):
        people = zip(shared.numbers[:, 0].tolist(), shared.classes.tolist(), weight.tolist(), strict=True)
        expected = Counter[int]()
        for w, label, n in people:
            expected[label] += n * p_s1(w, t, law)
        assert found == pytest.approx([expected[code] for code in range(3)])
    assert total.sum() == pytest.approx(weight.sum())


def test_a_weighted_split_with_hardly_any_noise_is_that_of_plain_c45() -> None:
    rng = np.random.default_rng(5)
    numbers = rng.integers(0, 20, size=(300, 2)).astype(float)
    classes = (numbers[:, 1] + rng.normal(0, 2, 300) > 9).astype(int)
    shared = shared_of(numbers, classes, [Noise("uniform", 0.01)] * 2)
    split = best_split(shared.numbers, shared.classes, np.ones(300), shared.laws, 2, UNPRUNED)
    plain = direct_tree(shared, UNPRUNED)
    assert split is not None
    assert isinstance(plain, NumericSplit)
    assert (f"x{split.column}", np.floor(split.at)) == (plain.column, np.floor(plain.at))


@pytest.mark.parametrize("law", LAW_NAMES)
def test_the_chance_of_being_below_is_that_of_even_originals_between_the_cuts(law: Law) -> None:
    """Originals spread evenly far and wide, so that w tells nothing but x = w - R."""
    rng, noise = np.random.default_rng(8), Noise(law, 5.0)
    original = rng.uniform(-100, 100, 2_000_000)
    shared = noise.added(original, rng)
    seen = np.abs(shared - 12) < 0.25
    inside = original[seen & (original > 8) & (original <= 15)]
    result = probability_below(np.array([12.0]), 11.0, noise, (8.0, 15.0))
    assert result[0] == pytest.approx((inside <= 11).mean(), abs=0.02)


def test_random_paths_end_at_a_leaf_as_often_as_the_noise_says() -> None:
    tree = NumericSplit("x0", 10.0, Leaf("no"), NumericSplit("x1", 4.0, Leaf("yes"), Leaf("maybe")))
    noise = {"x0": Noise("gaussian", 3.0), "x1": Noise("uniform", 2.0)}
    people = 40_000
    numbers = {"x0": np.full(people, 8.5), "x1": np.full(people, 5.0)}
    classes = ("no", "yes", "maybe")
    found = classify_along_random_paths(tree, numbers, noise, classes, np.random.default_rng(3))
    low, below = p_s1(8.5, 10.0, noise["x0"]), p_s1(5.0, 4.0, noise["x1"])
    expected = [low, (1 - low) * below, (1 - low) * (1 - below)]
    assert np.bincount(found, minlength=3) / people == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("split", ["random_path", "weighted"])
def test_trees_of_probable_sides_find_a_cut_that_noise_blurs(split: str) -> None:
    rng = np.random.default_rng(2)
    original = rng.uniform(0, 100, size=(4000, 2))
    noise = [Noise("gaussian", 15.0)] * 2
    shared = np.stack([law.added(original[:, i], rng) for i, law in enumerate(noise)], axis=1)
    tree = grow_by_probability(
        shared_of(shared, original[:, 0] > 60, noise), Learner(), "random" if split == "random_path" else "both", rng
    )
    assert isinstance(tree, NumericSplit)
    assert tree.column == "x0"
    assert abs(tree.at - 60) < 8


def test_the_mean_and_the_variance_of_originals_come_back_from_shared_numbers() -> None:
    rng = np.random.default_rng(4)
    original = np.concatenate([rng.normal(30, 4, 20_000), rng.normal(50, 9, 20_000)])
    noise, classes = Noise("gaussian", 10.0), np.repeat([0, 1], 20_000)
    bayes = naive_bayes(shared_of(noise.added(original, rng)[:, None], classes, [noise]))
    (no, yes) = (bayes.normals["x0"][label] for label in CLASSES)
    assert no == pytest.approx((30, 16), rel=0.1)
    assert yes == pytest.approx((50, 81), rel=0.1)
    assert bayes.shares == {"no": 0.5, "yes": 0.5}


def test_naive_bayes_predicts_what_a_peer_does_from_the_same_normals() -> None:
    rng = np.random.default_rng(6)
    numbers = rng.normal(50, 20, size=(400, 2))
    classes = (numbers @ [1, 2] + rng.normal(0, 30, 400) > 150).astype(int)
    shared = shared_of(numbers, classes, [Noise("gaussian", 3.0)] * 2)
    release = learn(options({"deviation": 3.0}, model="naive_bayes"), shared, rng)
    assert release.bayes is not None
    peer = GaussianNB().fit(numbers, classes)
    normals = release.bayes.normals
    peer.theta_ = np.array([[normals[f"x{i}"][label][0] for i in range(2)] for label in CLASSES])
    peer.var_ = np.array([[normals[f"x{i}"][label][1] for i in range(2)] for label in CLASSES])
    table = shared.table
    chances = naive_bayes_posterior(release.bayes, table, CLASSES)
    assert chances == pytest.approx(peer.predict_proba(table.frame[["x0", "x1"]].to_numpy()))
    shared_side = with_noise_variance(release.bayes, release).normals["x0"]["no"][1]
    assert shared_side == pytest.approx(normals["x0"]["no"][1] + 9)


def options(noise: dict[str, Any], **more: Any) -> Ppdtc45:
    return Ppdtc45.model_validate({"use": "ppdtc45", "noise": noise, **more})


PEOPLE: list[list[Cell]] = [[20.0, 7.0, "no"], [20.0, 7.0, "yes"], [40.0, 7.0, "no"], [80.0, 7.0, "yes"]]


def people() -> Table:
    """Ten people."""
    return table_of(schema_of(2).columns, PEOPLE, [3, 1, 2, 4])


def test_everybody_shares_a_row_of_their_own_and_the_owner_knows_whose_it_is() -> None:
    table = people()
    built = build(options({"deviation": 0.001}), table, np.random.default_rng(1))
    release = built.release
    assert release.records is not None
    assert built.origins is not None
    assert Counter(built.origins) == dict(enumerate(table.weight.tolist()))
    for row, origin in zip(release.records.rows, built.origins, strict=True):
        x0, x1, label = table.frame.iloc[origin]
        assert row[:2] == pytest.approx((x0, x1), abs=0.01)
        assert row[2] == label
    assert list(release.records.rows) == sorted(release.records.rows)


@pytest.mark.parametrize("leaves", ["counts", "shares", "error_rates", "labels"])
def test_the_tree_for_shared_numbers_follows_from_the_shared_records(leaves: Level) -> None:
    rows: list[list[Cell]] = [[float(i), float(i % 7), "yes" if i > 40 else "no"] for i in range(80)]
    table = table_of(schema_of(2).columns, rows, [1] * 80)
    built = build(options({"deviation": 4}), table, np.random.default_rng(1))
    release = published(built.release, Publish(leaves=leaves), frozenset())
    (tree,) = release.noisy_alternatives.values()
    assert isinstance(tree, NumericSplit)
    assert follows_from_records(tree, release)
    assert not follows_from_records(replace(tree, low=tree.high, high=tree.low), release)


def test_noise_by_snr_deviation_half_width_and_privacy_has_the_scale_that_says() -> None:
    table, numbers = people(), np.repeat([20, 40, 80], [4, 2, 4])
    by = {"deviation": {"x0": 4.0, "x1": 1.0}}
    assert noise_laws(NoiseOptions.model_validate(by), table)["x0"] == Noise("gaussian", 4.0)
    snr = noise_laws(NoiseOptions.model_validate({"snr": 0.5}), people_without_x1())
    assert snr["x0"].variance == pytest.approx(numbers.var() / 0.5, rel=0.1)
    assert snr["x0"].scale == float(f"{snr['x0'].scale:.2g}")
    half = noise_laws(NoiseOptions.model_validate({"law": "uniform", "half_width": 3.0}), table)
    assert half["x1"] == Noise("uniform", 3.0)
    for law in LAW_NAMES:
        wanted = noise_laws(NoiseOptions.model_validate({"law": law, "privacy": 8.0}), table)["x0"]
        assert 2**wanted.entropy == pytest.approx(8.0)


def people_without_x1() -> Table:
    columns = [column for column in schema_of(2).columns if column.name != "x1"]
    return table_of(columns, [[row[0], row[2]] for row in PEOPLE], [3, 1, 2, 4])


@pytest.mark.parametrize(
    ("noise", "text"),
    [
        ({"snr": 1.0}, "'x1' is constant and has no SNR"),
        ({"deviation": {"x0": 1.0}}, "no noise is said for 'x1'"),
        ({"deviation": {"x0": 1.0, "x1": 1.0, "x9": 1.0}}, "is no column that a tree may ask about"),
    ],
)
def test_noise_that_does_not_fit_the_table_is_refused(noise: dict[str, Any], text: str) -> None:
    with pytest.raises(PolicyError, match=text):
        noise_laws(NoiseOptions.model_validate(noise), people())


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (
            Column("sex", frozenset({"quasi_identifier"}), values=("f", "m")),
            "'sex' has values, and noise is for numbers",
        ),
        (Column("ill", frozenset({"class", "sensitive"}), values=("no", "yes")), "the class is shared as it is"),
    ],
)
def test_columns_that_noise_cannot_hide_are_refused(column: Column, text: str) -> None:
    others = [c for c in schema_of(1).columns if "class" not in c.roles or "class" not in column.roles]
    with pytest.raises(PolicyError, match=text):
        agreed_noise(NoiseOptions.model_validate({"deviation": 1.0}), Schema((*others, column)))


@pytest.mark.parametrize(
    "noise",
    [
        {},
        {"snr": 1.0, "deviation": 1.0},
        {"snr": 0.0},
        {"deviation": -1.0},
        {"deviation": float("inf")},
        {"half_width": 1.0},
        {"law": "laplace", "snr": 1.0},
        {"snr": {"age": 0.0}},
    ],
)
def test_noise_that_is_none_is_refused(noise: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"noise|snr|deviation|half_width|law"):
        NoiseOptions.model_validate(noise)


def test_theta_is_for_the_threshold_method_alone() -> None:
    with pytest.raises(ValueError, match="`theta` is for"):
        options({"snr": 1.0}, split="weighted", theta=0.5)


def noisy_stairs(law: Law, seed: int = 0) -> tuple[SharedRecords, np.ndarray]:
    """People whose class turns at 30, most of them far below: the best cut on shared numbers is not at 30."""
    rng = np.random.default_rng(seed)
    original = np.concatenate([rng.uniform(0, 30, 5000), rng.uniform(30, 100, 1000)])
    noise = Noise(law, 20.0)
    return shared_of(noise.added(original, rng)[:, None], original > 30, [noise]), original


@pytest.mark.parametrize("law", LAW_NAMES)
def test_the_expected_accuracy_of_a_tree_is_that_on_the_originals(law: Law) -> None:
    shared, original = noisy_stairs(law)
    judges = reconstruct_records(shared)
    for at in (15.0, 30.0, 60.0):
        tree = NumericSplit("x0", at, Leaf("no"), Leaf("yes"))
        true = ((original > at) == (original > 30)).mean()
        assert expected_accuracy(tree, judges) == pytest.approx(true, abs=0.06)


@pytest.mark.parametrize("law", LAW_NAMES)
def test_the_theta_that_is_chosen_does_better_on_originals_than_one_half(law: Law) -> None:
    shared, original = noisy_stairs(law)
    learner = Learner()
    tree = direct_tree(shared, learner)
    theta = choose_theta(shared, learner, np.random.default_rng(0))

    assert theta in THETAS
    chosen, half = (right(threshold_tree(tree, shared.noise, each), shared, original) for each in (theta, 0.5))
    assert chosen > half + 0.02


def right(tree: Node, shared: SharedRecords, original: np.ndarray) -> float:
    """How many of the originals a tree says the class of."""
    table = replace(shared, numbers=original.reshape(len(shared.classes), -1)).table
    found = predict(Release({}, shared.schema, (tree,)), table) == table.codes("class")
    return float(table.weight[found].sum() / table.total_weight)


@pytest.mark.parametrize("law", LAW_NAMES)
def test_quantiles_and_distributions_put_the_cut_where_the_class_turns(law: Law) -> None:
    shared, original = noisy_stairs(law)
    plain = direct_tree(shared, Learner())
    for tree in (matched_tree(plain, shared), deconvolved_tree(shared, Learner(), 1, np.random.default_rng(0))):
        assert right(tree, shared, original) > right(plain, shared, original) + 0.005
    assert right(deconvolved_tree(shared, Learner(), 1, np.random.default_rng(0)), shared, original) > 0.97


def test_a_matched_cut_has_the_rank_among_originals_that_it_had_among_shared_numbers() -> None:
    """Gaussian originals, Gaussian noise: F_X^-1(F_W(c)) = mean + (c - mean) s_x / sqrt(s_x^2 + s_r^2)."""
    rng, noise = np.random.default_rng(3), Noise("gaussian", 8.0)
    original = rng.normal(50, 6, 40_000)
    shared = shared_of(noise.added(original, rng)[:, None], original > 50, [noise])
    for cut in (35.0, 50.0, 65.0):
        tree = matched_tree(NumericSplit("x0", cut, Leaf("no"), Leaf("yes")), shared)
        assert isinstance(tree, NumericSplit)
        assert tree.at == pytest.approx(50 + (cut - 50) * 0.6, abs=0.7)


def test_the_cuts_of_a_path_keep_their_order_when_they_are_matched() -> None:
    """A deep tree on one column: with distributions of its own at every node its cuts would cross."""
    rng, noise = np.random.default_rng(3), Noise("uniform", 30.0)
    original = rng.choice([0.0, 10.0, 40.0, 90.0], 6000)
    shared = shared_of(noise.added(original, rng)[:, None], rng.integers(0, 2, 6000), [noise])
    assert nested(matched_tree(direct_tree(shared, Learner(min_leaf=150, confidence=None, penalty=False)), shared), {})


def nested(node: Node, box: dict[str, tuple[float, float]]) -> bool:
    if not isinstance(node, NumericSplit):
        return True
    low, high = box.get(node.column, (-np.inf, np.inf))
    assert low <= node.at <= high
    below = nested(node.low, {**box, node.column: (low, node.at)})
    return below and nested(node.high, {**box, node.column: (node.at, high)})


def test_with_hardly_any_noise_a_tree_of_distributions_is_as_good_as_one_of_originals() -> None:
    rng = np.random.default_rng(1)
    original = rng.uniform(0, 100, size=(3000, 2))
    classes = (original[:, 0] > 40).astype(np.int64) * (original[:, 1] > 70)
    shared = shared_of(original, classes, [Noise("gaussian", 0.5)] * 2)
    assert right(deconvolved_tree(shared, Learner(), 1, np.random.default_rng(0)), shared, original) > 0.98


def crossed(seed: int) -> tuple[SharedRecords, np.ndarray]:
    """The class turns with either of two columns, and back with both: within a class they depend on each other."""
    rng = np.random.default_rng(seed)
    original = rng.uniform(0, 100, size=(4000, 3))
    noise = [Noise("gaussian", 12.0)] * 3
    shared = np.stack([law.added(original[:, i], rng) for i, law in enumerate(noise)], axis=1)
    return shared_of(shared, (original[:, 0] > 50) != (original[:, 1] > 50), noise), original


def test_columns_dependent_within_a_class_are_found_by_two_groups_of_it() -> None:
    shared, original = crossed(1)
    one, auto = (
        right(deconvolved_tree(shared, Learner(), groups, np.random.default_rng(1)), shared, original)
        for groups in (1, "auto")
    )
    assert one < 0.65
    assert auto > 0.85


def test_where_columns_are_independent_one_group_a_class_is_enough() -> None:
    shared, _ = noisy_stairs("gaussian")
    auto, one = (deconvolved_tree(shared, Learner(), groups, np.random.default_rng(1)) for groups in ("auto", 1))
    assert auto == one


def test_rounds_of_em_on_an_axis_are_those_of_the_core() -> None:
    rng, noise = np.random.default_rng(5), Noise("gaussian", 9.0)
    numbers = noise.added(rng.gamma(3, 12, 500), rng)
    axis = noisy_column(numbers, noise, (0.0, 100.0))
    start = np.full((1, len(axis.edges) - 1), 1 / (len(axis.edges) - 1))
    seen = axis.expected_shared(np.ones((500, 1)))
    result, law = start[0], axis.table / axis.table.max(axis=1, keepdims=True)
    for _ in range(7):
        result = result * (law.T @ (seen[0] / (law @ result))) / seen.sum()
    assert em_rounds(start, seen, axis.table, 7)[0] == pytest.approx(result, abs=1e-9)


def test_the_expected_accuracy_of_a_tree_of_three_columns_is_that_of_drawn_originals() -> None:
    rng, laws = np.random.default_rng(9), [Noise("gaussian", 6.0)] * 3
    original = rng.uniform(0, 100, size=(3000, 3))
    shared = np.stack([law.added(original[:, i], rng) for i, law in enumerate(laws)], axis=1)
    corner = NumericSplit("x1", 50.0, Leaf("no"), NumericSplit("x2", 30.0, Leaf("yes"), Leaf("no")))
    tree = NumericSplit("x0", 60.0, corner, Leaf("yes"))
    classes = (original[:, 0] > 60) | ((original[:, 1] > 50) & (original[:, 2] <= 30))
    judges = reconstruct_records(shared_of(shared, classes, laws))
    assert expected_accuracy(tree, judges) == pytest.approx(1, abs=0.12)
    assert expected_accuracy(replace(tree, high=Leaf("no")), judges) == pytest.approx(0.6, abs=0.06)


def test_test_people_share_themselves_under_the_noise_of_the_release() -> None:
    table = table_of(schema_of(1).columns, [[float(n % 90), CLASSES[n % 2]] for n in range(4000)])
    noise = {"x0": Noise("gaussian", 6.0)}
    release = Release({}, table.schema, model="none", noise=noise)
    numbers = perturb_test_table(table, release, np.random.default_rng(4)).numbers("x0")
    assert numbers.var() == pytest.approx(table.numbers("x0").var() + 36, rel=0.05)


def test_the_systems_coins_fall_as_the_laws_say_and_never_twice_alike() -> None:
    coins = SystemCoins()
    assert stats.kstest(coins.normal(2, 3, 20_000), stats.norm(2, 3).cdf).pvalue > 1e-6
    assert stats.kstest(coins.uniform(-1, 4, 20_000), stats.uniform(-1, 5).cdf).pvalue > 1e-6
    assert sorted(coins.permutation(np.arange(50)).tolist()) == list(range(50))
    assert (coins.random(50) != coins.random(50)).any()


def test_what_is_not_rehearsed_is_drawn_by_the_system_whatever_the_seed() -> None:
    one, other = (build(options({"deviation": 5.0}), people(), np.random.default_rng(1)) for _ in range(2))
    same_seed = [
        build(options({"deviation": 5.0}, rehearsal=True), people(), np.random.default_rng(1)) for _ in range(2)
    ]
    assert one.release.records != other.release.records
    assert same_seed[0].release.records == same_seed[1].release.records
