"""The privacy account of sampled, thresholded random trees: against the theorem's numbers and brute force."""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import leafgate
from leafgate.api import InvalidError, install_command
from leafgate_plugins.dp_random_trees.accounting import (
    SAMPLING_RATES,
    Forest,
    at_delta,
    at_epsilon,
    choose_forest,
    feasible_parameters,
    noise_epsilon,
    sampling_epsilon,
)
from leafgate_plugins.dp_random_trees.accounting.pld import counter_distribution, profile
from leafgate_plugins.dp_random_trees.accounting.theorem import delta_of, epsilon_of, one_tree_delta
from leafgate_plugins.dp_random_trees.composition import divide_delta
from leafgate_plugins.dp_random_trees.options import DpRandomTrees

pytestmark = pytest.mark.thorough

EPSILONS = np.array([0.0, 0.02, 0.1, 0.3, 0.7, 1.5, 3.0])
ALL = ["--k", "20", "--beta", "0.1", "--trees", "32"]


def shown(n: int, beta: Fraction, k: int) -> dict[int, Fraction]:
    """One counter of n people by every sample there is: counts below k are shown as 0."""
    chances: dict[int, Fraction] = {}
    for kept in itertools.product([True, False], repeat=n):
        chance = math.prod((beta if one else 1 - beta for one in kept), start=Fraction(1))
        count = sum(kept) if sum(kept) >= k else 0
        chances[count] = chances.get(count, Fraction(0)) + chance
    return chances


def apart(p: Mapping[int, float], q: Mapping[int, float], epsilon: float) -> float:
    """The hockey-stick divergence sum max(p - e^epsilon q, 0)."""
    a = math.exp(epsilon)
    return sum(max(p.get(x, 0) - a * q.get(x, 0), 0.0) for x in set(p) | set(q))


def binomial(n: int, beta: float, k: int) -> dict[int, float]:
    """The same for many people, by the formula."""
    chances: dict[int, float] = {}
    for j in range(n + 1):
        count = j if j >= k else 0
        chances[count] = chances.get(count, 0.0) + math.comb(n, j) * beta**j * (1 - beta) ** (n - j)
    return chances


@pytest.mark.parametrize(
    ("k", "beta", "epsilon", "printed"),
    [
        (20, 0.1, 0.5, 1.60625e-9),
        (20, 0.2, 1, 6.03285e-9),
        (10, 0.1, 1, 6.84042e-8),
        (5, 0.1, 1, 1.76500e-4),
    ],
)
def test_the_theorem_has_the_printed_values(k: int, beta: float, epsilon: float, printed: float) -> None:
    assert one_tree_delta(k, beta, epsilon) == pytest.approx(printed, rel=3e-6)


@given(st.integers(1, 8), st.sampled_from([0.05, 0.1, 0.25, 0.5]), st.sampled_from([0.8, 1.0, 1.7]))
def test_the_theorem_is_its_formula_written_out(k: int, beta: float, epsilon: float) -> None:
    gamma = (math.exp(epsilon) - 1 + beta) / math.exp(epsilon)
    first = max(math.ceil(k / gamma - 1), 1)
    tails = [
        sum(math.comb(n, j) * beta**j * (1 - beta) ** (n - j) for j in range(n + 1) if j > gamma * n)
        for n in range(first, first + 60)
    ]
    assert one_tree_delta(k, beta, epsilon) == pytest.approx(max(tails), rel=1e-9)


def test_below_the_least_epsilon_the_theorem_promises_nothing() -> None:
    assert one_tree_delta(20, 0.5, 0.69) == 1.0
    assert one_tree_delta(20, 0.5, 0.6932) < 1.0


@pytest.mark.parametrize("trees", [1, 8, 32])
def test_the_theorems_epsilon_is_the_smallest_with_this_delta(trees: int) -> None:
    epsilon = epsilon_of(20, 0.1, trees, 1e-6)
    assert delta_of(20, 0.1, trees, epsilon) <= 1e-6 < delta_of(20, 0.1, trees, epsilon - 1e-6)


@given(st.integers(1, 7), st.integers(1, 5), st.sampled_from([Fraction(1, 10), Fraction(1, 3), Fraction(1, 2)]))
def test_a_counter_is_distributed_as_all_its_samples_say(n: int, k: int, beta: Fraction) -> None:
    found = counter_distribution(n, float(beta), k)
    for count, chance in shown(n, beta, k).items():
        assert found[count] == pytest.approx(float(chance), abs=1e-12)
    assert found.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(("k", "beta"), [(1, 0.3), (2, 0.3), (3, 0.2), (5, 0.1), (4, 0.5)])
def test_the_profile_is_the_largest_divergence_over_all_numbers_of_people(k: int, beta: float) -> None:
    found = profile(k, beta, EPSILONS)
    people = [binomial(n, beta, k) for n in range(int(12 * k / beta) + 30)]
    for i, epsilon in enumerate(EPSILONS.tolist()):
        pairs = list(itertools.pairwise(people))
        assert found.removed[i] == pytest.approx(max(apart(q, p, epsilon) for p, q in pairs), abs=1e-12)
        assert found.added[i] == pytest.approx(max(apart(p, q, epsilon) for p, q in pairs), abs=1e-12)


@given(st.integers(1, 4), st.sampled_from([0.1, 0.2, 0.4]), st.integers(1, 12), st.sampled_from([0.05, 0.3, 1.0]))
def test_no_pair_of_tables_seen_through_two_trees_is_further_apart_than_the_account(
    k: int, beta: float, n: int, epsilon: float
) -> None:
    with_person, without = binomial(n, beta, k), binomial(n - 1, beta, k)
    together = [{(x, y): p[x] * p[y] for x in p for y in p} for p in (with_person, without)]
    codes = {pair: i for i, pair in enumerate(sorted({*together[0], *together[1]}))}
    one, other = ({codes[pair]: chance for pair, chance in p.items()} for p in together)
    delta = at_epsilon(Forest(k, beta, 2), epsilon).delta
    assert max(apart(one, other, epsilon), apart(other, one, epsilon)) <= delta + 1e-12


@pytest.mark.parametrize(("trees", "printed", "tight"), [(8, 2.773, 0.357), (32, 12.559, 0.655)])
def test_the_tight_account_is_many_times_smaller_than_the_printed_one(trees: int, printed: float, tight: float) -> None:
    forest = Forest(20, 0.1, trees)
    assert at_delta(forest, 1e-6, "theorem").epsilon == pytest.approx(printed, abs=5e-4)
    assert at_delta(forest, 1e-6).epsilon == pytest.approx(tight, abs=5e-4)


@pytest.mark.parametrize("k", [10, 20, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize("beta", [0.05, 0.1, 0.4])
@pytest.mark.parametrize("trees", [1, pytest.param(16, marks=pytest.mark.slow), 64])
def test_the_account_is_between_the_lower_bound_and_the_theorem(k: int, beta: float, trees: int) -> None:
    forest = Forest(k, beta, trees)
    if forest.floor > 1e-6:
        with pytest.raises(InvalidError, match="no epsilon is enough"):
            at_delta(forest, 1e-6)
        return
    found = at_delta(forest, 1e-6)
    assert found.epsilon_lower <= found.epsilon <= at_delta(forest, 1e-6, "theorem").epsilon
    assert found.epsilon <= 1.4 * found.epsilon_lower


def test_replacing_a_person_is_at_most_removing_one_and_adding_one() -> None:
    forest = Forest(20, 0.1, 8)
    apart_by_one, replaced = at_delta(forest, 1e-6), at_delta(forest, 1e-6, neighbours="replace_one")
    assert apart_by_one.epsilon < replaced.epsilon <= 2 * at_delta(forest, 4e-7).epsilon
    assert replaced.epsilon < at_delta(forest, 1e-6, "theorem", "replace_one").epsilon


def test_more_trees_more_sampling_and_smaller_counters_tell_more() -> None:
    def epsilon(k: int, beta: float, trees: int) -> float:
        return at_delta(Forest(k, beta, trees), 1e-6).epsilon

    middle = epsilon(20, 0.1, 16)
    assert epsilon(25, 0.1, 16) < middle < epsilon(15, 0.1, 16)
    assert epsilon(20, 0.08, 16) < middle < epsilon(20, 0.12, 16)
    assert epsilon(20, 0.1, 8) < middle < epsilon(20, 0.1, 32)


def test_what_is_reached_keeps_the_promise_and_a_little_more_sampling_does_not() -> None:
    for one in feasible_parameters(1.0, 1e-6, [10], [1, 32]):
        assert one.beta is not None
        assert at_epsilon(Forest(one.k, one.beta, one.trees), 1.0).delta <= 1e-6
        more = SAMPLING_RATES[SAMPLING_RATES.index(one.beta) + 1]
        assert at_epsilon(Forest(one.k, more + 0.01, one.trees), 1.0).delta > 1e-6


def test_where_no_rate_is_small_enough_none_is_told() -> None:
    (one,) = feasible_parameters(0.001, 1e-12, [2], [64])
    assert one.beta is None


def test_the_command_tells_the_account_and_the_bound_beside_it() -> None:
    document = leafgate("privacy", *ALL, "--delta", "1e-6", "--json").document
    assert list(document) == ["k", "beta", "trees", "neighbours", "method", "delta", "epsilon", "epsilon_lower"]
    assert (document["k"], document["beta"], document["trees"], document["delta"]) == (20, 0.1, 32, 1e-6)
    assert 0.5 < document["epsilon_lower"] < document["epsilon"] == pytest.approx(0.655, abs=1e-3)
    words = leafgate("privacy", *ALL, "--delta", "1e-6").out
    assert "epsilon = 0.6546 at delta = 1e-06; no account can be below 0.54" in words


def test_given_an_epsilon_it_tells_the_delta() -> None:
    document = leafgate("privacy", *ALL, "--epsilon", told_epsilon(), "--json").document
    assert document["delta"] == pytest.approx(1e-6, rel=0.05)


def told_epsilon() -> float:
    return float(at_delta(Forest(20, 0.1, 32), 1e-6).epsilon)


def test_what_can_be_reached_is_a_table_and_a_picture(tmp_path: Path) -> None:
    words = ["privacy", "--reach", "--k", "10", "--trees", "1,16", "--epsilon", 1, "--delta", "1e-6"]
    ended = leafgate(*words, "--out", tmp_path / "reach.svg")
    assert [line.split() for line in ended.out.splitlines()[1:]] == [
        ["k", "1", "trees", "16", "trees"],
        ["10", "0.17", "0.10"],
    ]
    circles = [e for e in ElementTree.parse(tmp_path / "reach.svg").iter() if e.tag.endswith("circle")]
    assert len(circles) == 2
    assert json.loads(leafgate(*words, "--json").out)["reached"][0] == {"k": 10, "trees": 1, "beta": 0.17}


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ([*ALL], "privacy"),
        ([*ALL, "--epsilon", "1", "--delta", "1e-6"], "privacy"),
        (["--k", "20", "--trees", "8", "--delta", "1e-6"], "privacy"),
        ([*ALL, "--delta", "2"], "delta"),
        ([*ALL, "--delta", "1e-30"], "delta"),
        ([*ALL, "--epsilon", "-1"], "epsilon"),
        (["--k", "0", "--beta", "0.1", "--trees", "8", "--delta", "1e-6"], "--k"),
        (["--k", "10,20", "--beta", "0.1", "--trees", "8", "--delta", "1e-6"], "--k"),
        (["--k", "20", "--beta", "1", "--trees", "8", "--delta", "1e-6"], "beta"),
        (["--k", "20", "--beta", "nan", "--trees", "8", "--delta", "1e-6"], "beta"),
        (["--k", "20", "--trees", "8", "--reach", "--epsilon", "1"], "--reach"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(words: list[str], place: str) -> None:
    ended = leafgate("privacy", *words, "--json")
    assert ended.code == 2
    assert [problem["place"] for problem in ended.problems] == [place]


def test_without_the_library_the_theorem_remains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    ended = leafgate("privacy", *ALL, "--delta", "1e-6")
    assert (ended.code, ended.out) == (2, "")
    assert install_command("privacy") in ended.err


@pytest.mark.parametrize("epsilon", [40.0, 600.0, 5_000.0])
def test_however_large_epsilon_the_theorem_leaves_a_counter_of_k_people(epsilon: float) -> None:
    assert one_tree_delta(10, 0.1, epsilon) == pytest.approx(0.1**10, rel=1e-6)


def test_a_tiny_delta_is_never_above_the_theorems() -> None:
    forest = Forest(20, 0.1, 1)
    assert at_epsilon(forest, 4.0).delta <= at_epsilon(forest, 4.0, "theorem").delta == pytest.approx(1e-20, rel=1e-6)


@pytest.mark.parametrize("rows", [2, 3])
def test_no_person_with_several_rows_moves_a_counter_more_than_the_epsilon_of_persons_says(rows: int) -> None:
    """All rows of a person in one counter of any size, added and removed, by the distributions themselves."""
    sampled = sampling_epsilon(Forest(5, 0.1, 1), 1e-3, "add_remove", rows)
    assert sampling_epsilon(Forest(5, 0.1, 1), 1e-3, "add_remove") < sampled < math.inf
    counters = [binomial(n, 0.1, 5) for n in range(60)]
    for p, q in zip(counters, counters[rows:], strict=False):
        assert max(apart(p, q, sampled), apart(q, p, sampled)) <= 1e-3
    noisy = noise_epsilon(1, 4.0, 1e-3, "add_remove", rows)
    without, with_person = (
        {x: math.tanh(1 / 8) * math.exp(-abs(x - at) / 4) for x in range(-150, 150)} for at in (0, rows)
    )
    assert max(apart(without, with_person, noisy), apart(with_person, without, noisy)) <= 1e-3


def test_a_person_in_the_place_of_another_changes_the_rows_of_both() -> None:
    assert noise_epsilon(3, 4.0, 0, "replace_one", 2) == noise_epsilon(3, 4.0, 0, "add_remove", 4)


def test_a_forest_that_is_chosen_for_persons_keeps_their_promise() -> None:
    options = DpRandomTrees(epsilon=5.0, beta=0.1)
    forest = choose_forest(options, 3)
    assert forest.trees < choose_forest(options).trees
    assert sampling_epsilon(forest, options.delta, "add_remove", 3) <= 5


@pytest.mark.parametrize("claimed", [[1e-6, 3e-6, 0.0], [0.0, 0.0], [0.3]])
def test_parts_of_delta_add_up_to_it(claimed: list[float]) -> None:
    assert math.fsum(divide_delta(claimed, 2e-6)) == pytest.approx(2e-6)
