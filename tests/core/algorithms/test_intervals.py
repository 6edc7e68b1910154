"""Confidence intervals: closed forms, brute force, peers, and coverage where the law is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise, product
from math import comb, exp, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm

from leafgate.algorithms.intervals import (
    OTHER_PART,
    STRICT_PART,
    Estimate,
    accuracy_gain,
    advantage,
    advantage_estimate,
    area_estimate,
    area_under_curve,
    break_ties,
    fewest_identified,
    largest,
    lower_bound,
    others_needed,
    rate_at,
    rate_estimate,
    relative_entropy,
    roc_band,
    share_estimate,
    threshold_ranks,
    upper_bound,
)

few_scores = st.lists(st.integers(0, 4), min_size=1, max_size=8).map(lambda scores: np.array(scores, dtype=float))


def binomial(count: int, trials: int, share: float) -> float:
    """The probability of at most `count` successes, by its sum."""
    return math.fsum(comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in range(count + 1))


@pytest.mark.parametrize(("successes", "trials", "error"), [(0, 7, 0.05), (3, 7, 0.01), (7, 7, 0.05), (40, 300, 1e-4)])
def test_bounds_of_a_probability_are_where_the_tails_of_the_binomial_law_are_the_error(
    successes: int, trials: int, error: float
) -> None:
    low, high = lower_bound(successes, trials, error), upper_bound(successes, trials, error)
    if successes:
        assert 1 - binomial(successes - 1, trials, low) == pytest.approx(error, rel=1e-8)
    else:
        assert low == 0
    if successes < trials:
        assert binomial(successes, trials, high) == pytest.approx(error, rel=1e-8)
    else:
        assert high == 1


@given(st.integers(1, 60), st.data())
def test_the_interval_of_a_share_is_the_exact_binomial_one(trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, trials))
    peer = binomtest(successes, trials).proportion_ci(0.95, method="exact")
    assert share_estimate(successes, trials, 0.05) == pytest.approx(
        (successes / trials, peer.low, peer.high), abs=1e-12
    )


def test_the_largest_of_numbers_is_between_the_largest_ends() -> None:
    assert largest([Estimate(0.5, 0.1, 0.6), Estimate(0.2, 0.15, 0.9)]) == Estimate(0.5, 0.15, 0.9)


@given(few_scores, few_scores)
def test_the_area_is_the_share_of_pairs(members: np.ndarray, others: np.ndarray) -> None:
    pairs = [(np.sign(one - other) + 1) / 2 for one, other in product(members, others)]
    assert area_under_curve(members, others) == pytest.approx(np.mean(pairs))


@given(few_scores, few_scores)
def test_the_advantage_is_the_largest_difference_of_rates(members: np.ndarray, others: np.ndarray) -> None:
    wanted = max((members >= threshold).mean() - (others >= threshold).mean() for threshold in range(6))
    assert advantage(members, others) == pytest.approx(wanted)


@given(few_scores, few_scores, st.floats(0.01, 0.99))
def test_the_rate_is_on_the_line_between_the_points_of_the_curve(
    members: np.ndarray, others: np.ndarray, fpr: float
) -> None:
    """A threshold that breaks ties at random is a mixture of two that do not; the best mixture is the upper hull's."""
    points = sorted({((others >= t).mean(), (members >= t).mean()) for t in np.arange(-1, 7)})
    wanted = max(
        high if right == left == fpr else low + (high - low) * (fpr - left) / (right - left)
        for (left, low), (right, high) in pairwise(points)
        if left <= fpr <= right and (right > left or left == fpr)
    )
    assert rate_at(members, others, fpr) == pytest.approx(wanted, abs=1e-6)


def test_ties_broken_at_random_give_the_rate_on_average() -> None:
    rng = np.random.default_rng(0)
    members, others = (
        rng.integers(0, 6, 300) + 0.5 * (rng.random(300) < 0.5),
        rng.integers(0, 6, 400).astype(np.float64),
    )
    broken = [
        rate_at(members + 1e-6 * rng.random(300), others + 1e-6 * rng.random(400), 0.1 + 1e-9) for _ in range(3000)
    ]
    assert np.mean(broken) == pytest.approx(rate_at(members, others, 0.1), abs=0.004)


@pytest.mark.parametrize(
    ("others", "fpr", "strict", "permissive"), [(5000, 0.001, 0.025, 0.01), (300, 0.2, 1e-3, 1e-5)]
)
def test_thresholds_are_the_last_ranks_whose_tails_keep_the_error(
    others: int, fpr: float, strict: float, permissive: float
) -> None:
    """The rate beyond the k-th highest of n is below x if k of n uniform numbers or more are."""
    ranks = threshold_ranks(others, fpr, strict, permissive)
    assert ranks.strict is not None
    assert ranks.permissive is not None
    assert binomial(ranks.strict - 1, others, fpr) <= strict < binomial(ranks.strict, others, fpr)
    assert (
        1 - binomial(ranks.permissive - 1, others, fpr) <= permissive < 1 - binomial(ranks.permissive - 2, others, fpr)
    )


@pytest.mark.parametrize(("fpr", "error"), [(0.001, 0.05), (0.01, 0.05), (0.001, 0.002), (0.3, 0.5)])
def test_as_many_others_are_needed_as_give_a_strict_threshold(fpr: float, error: float) -> None:
    needed = others_needed(fpr, error)
    assert threshold_ranks(needed, fpr, STRICT_PART * error, OTHER_PART * error).strict == 1
    assert threshold_ranks(needed - 1, fpr, STRICT_PART * error, OTHER_PART * error).strict is None


def test_three_thousand_people_without_a_false_positive_bound_the_rate_by_a_thousandth() -> None:
    assert upper_bound(0, 3000, 0.05) == pytest.approx(1 - 0.05 ** (1 / 3000))
    assert others_needed(0.001, 0.05) == math.ceil(log(0.025) / log(0.999)) == 3688


def test_the_parts_of_the_error_of_a_rate_are_all_of_it() -> None:
    assert pytest.approx(1) == STRICT_PART + 3 * OTHER_PART


@pytest.mark.parametrize("area", [0.0, 0.3, 0.98, 1.0])
def test_the_ends_of_the_areas_interval_are_at_the_allowed_entropy(area: float) -> None:
    members = np.array([1.0] * round(100 * area) + [-1.0] * round(100 * (1 - area)))
    low, high = area_estimate(members, np.zeros(150), 0.01)[1:]
    allowed = log(2 / 0.01) / 100
    assert low == (pytest.approx(exp(-allowed)) if area == 1 else 0.0 if area == 0 else pytest.approx(low))
    if area:
        assert relative_entropy(area, low) == pytest.approx(allowed, rel=1e-6)
    if area < 1:
        assert relative_entropy(area, high) == pytest.approx(allowed, rel=1e-6)


def test_a_band_encloses_its_curve_and_ends_where_everybody_is_taken_for_a_member() -> None:
    rng = np.random.default_rng(1)
    band = roc_band(rng.normal(1, 1, 500), rng.normal(0, 1, 400), 0.05, 40, rng)
    assert {name: len(column) for name, column in band.items()} == dict.fromkeys(("fpr", "tpr", "low", "high"), 40)
    for low, rate, high in zip(band["low"], band["tpr"], band["high"], strict=True):
        assert 0 <= low <= rate <= high <= 1
    assert band["fpr"] == sorted(band["fpr"])
    assert [band[name][-1] for name in band] == [1, 1, 1, 1]


# --- Coverage, where the law of the scores is known ---

Law = Callable[[np.random.Generator, int], np.ndarray]
STEP = 1.5


def normal(shift: float) -> Law:
    return lambda rng, people: rng.normal(shift, 1, people)


def normal_steps(shift: float) -> Law:
    """The same in steps: many ties."""
    return lambda rng, people: np.floor(rng.normal(shift, 1, people) / STEP)


def rates_of_steps(shift: float, fpr: float) -> dict[str, float]:
    """The true area, rate with ties broken at random, and advantage of scores in steps, by their finite law."""
    edges = np.arange(-12, 14) * STEP
    members, others = (np.diff(norm.cdf(edges, loc)) for loc in (shift, 0))
    above = [np.append(np.cumsum(law[::-1])[::-1], 0.0) for law in (members, others)]
    area = math.fsum(members * (1 - above[1][:-1])) + math.fsum(members * others) / 2
    rate = float(np.interp(fpr, above[1][::-1], above[0][::-1]))
    return {"auc": area, "tpr": rate, "advantage": float((above[0] - above[1]).max())}


def rates_of_normal(shift: float, fpr: float) -> dict[str, float]:
    rate = float(norm.sf(norm.isf(fpr) - shift))
    return {"auc": float(norm.cdf(shift / 2**0.5)), "tpr": rate, "advantage": float(2 * norm.cdf(shift / 2) - 1)}


FPR, ERROR = 0.02, 0.2
ESTIMATES: dict[str, Callable[[Any, Any], Estimate]] = {
    "auc": lambda members, others: area_estimate(members, others, ERROR),
    "tpr": lambda members, others: rate_estimate(members, others, FPR, ERROR, np.random.default_rng(len(members))),
    "advantage": lambda members, others: advantage_estimate(members, others, ERROR),
}
LAWS = {
    **{f"normal {shift}": (normal(shift), rates_of_normal(shift, FPR)) for shift in (0.0, 0.3, 2.0)},
    **{f"steps {shift}": (normal_steps(shift), rates_of_steps(shift, FPR)) for shift in (0.0, 1.0)},
}


def most_misses(repeats: int) -> int:
    """More misses than these have a probability below 1e-4 where the error is kept."""
    return int(binom.isf(1e-4, repeats, ERROR))


def check_coverage(law: str, rate: str, repeats: int, sizes: tuple[int, int]) -> None:
    draw, truth = LAWS[law]
    null = normal_steps(0.0) if law.startswith("steps") else normal(0.0)
    missed = 0
    for repeat in range(repeats):
        rng = np.random.default_rng([repeat, len(law)])
        low, high = ESTIMATES[rate](draw(rng, sizes[0]), null(rng, sizes[1]))[1:]
        missed += not low <= truth[rate] <= high
    assert missed <= most_misses(repeats)


@pytest.mark.parametrize("rate", ESTIMATES)
@pytest.mark.parametrize("law", LAWS)
def test_an_interval_misses_the_truth_no_more_often_than_it_says(law: str, rate: str) -> None:
    check_coverage(law, rate, 200, (150, 250))


@given(few_scores, few_scores)
def test_broken_ties_are_in_the_order_of_the_scores_and_all_different(members: np.ndarray, others: np.ndarray) -> None:
    scores = np.concatenate([members, others])
    ranks = np.concatenate(break_ties(members, others, np.random.default_rng(0)))
    assert sorted(ranks) == list(range(len(scores)))
    assert np.array_equal(np.argsort(ranks), np.argsort(scores + 1e-3 * ranks))


def test_ties_are_broken_evenly() -> None:
    first = [break_ties(np.zeros(1), np.zeros(3), np.random.default_rng(seed))[0][0] for seed in range(800)]
    counts = np.bincount(np.array(first, dtype=int), minlength=4)
    assert counts.min() > 150


def too_many_by_chance(found: int, wrong: int, members: int, others: int) -> float:
    """The probability of as many members among those who are taken, counted over all ways to take so many."""
    taken = found + wrong
    ways = [
        comb(members, k) * comb(others, taken - k) for k in range(found, min(members, taken) + 1) if taken - k <= others
    ]
    return sum(ways) / comb(members + others, taken)


@pytest.mark.parametrize("error", [0.05, 0.3])
def test_the_fewest_identified_leave_no_more_than_chance_finds(error: float) -> None:
    for members, others, found, wrong in product((3, 9), (4, 9), range(4), range(4)):
        fewest = fewest_identified(found, wrong, members, others, error)
        chances = [too_many_by_chance(found - known, wrong, members - known, others) for known in range(found + 1)]
        assert fewest == next(known for known, chance in enumerate(chances) if chance > error)


def test_releases_without_information_identify_somebody_no_more_often_than_the_error() -> None:
    flagged = 0
    for repeat in range(400):
        rng = np.random.default_rng(repeat)
        sure, inside = rng.random(300) < 0.1, rng.permutation(np.arange(300) < 100)
        flagged += fewest_identified(int((sure & inside).sum()), int((sure & ~inside).sum()), 100, 200, ERROR) > 0
    assert 0 < flagged <= most_misses(400)


@given(
    n=st.integers(1, 12),
    attack=st.floats(0, 1),
    both=st.floats(0, 1),
    error=st.sampled_from([0.01, 0.1, 0.5]),
)
def test_the_interval_of_an_accuracy_gain_holds_by_exhaustive_summation(
    n: int, attack: float, both: float, error: float
) -> None:
    differs = 1 - both
    truth = differs * (2 * attack - 1)
    missed = 0.0
    for differing in range(n + 1):
        for alone in range(differing + 1):
            right = np.arange(n) < alone
            other = (np.arange(n) >= alone) & (np.arange(n) < differing)
            estimate = accuracy_gain(right, other, error)
            assert estimate.low <= estimate.value <= estimate.high
            if not estimate.low - 1e-12 <= truth <= estimate.high + 1e-12:
                missed += binom.pmf(differing, n, differs) * binom.pmf(alone, differing, attack)
    assert missed <= error + 1e-9
