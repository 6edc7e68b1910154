"""The Matthews correlation and its interval: coverage where the law is known, and scikit-learn as a peer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.metrics import matthews_corrcoef

from asked_targets import mistaken
from leafgate.algorithms.correlation import correlation_gain, matthews_correlation


@pytest.mark.parametrize(("rarity", "people"), [(200, 600), (200, 3000), (30, 30)])
def test_the_interval_of_a_correlation_holds_where_a_rare_value_is_found_for_half_of_the_people(
    rarity: int, people: int
) -> None:
    """Where nobody of them was drawn, or found, the correlation can still be as high."""
    rng, repeats, error = np.random.default_rng(people), 200, 0.05
    nobody, held = np.zeros(people, dtype=np.int64), 0
    for _ in range(repeats):
        truth = (rng.random(people) < 1 / rarity).astype(np.int64)
        attack = truth * (rng.random(people) < 0.5)
        estimate = correlation_gain(truth, attack, nobody, 2, error, rng)
        right = 1 - 1 / rarity + 0.5 / rarity
        shares = np.array([[1 - 1 / rarity, 1 / rarity]]), np.array([[1 - 0.5 / rarity, 0.5 / rarity]])
        held += estimate.low <= float(matthews_correlation(np.array([right]), *shares)[0]) <= estimate.high
    assert held >= binom.ppf(0.001, repeats, 1 - error)


def test_an_interval_of_correlations_is_finite_where_a_guess_is_constant_or_always_right() -> None:
    rng, truth = np.random.default_rng(0), np.arange(200) % 2
    constant = np.zeros(200, dtype=np.int64)
    estimate = correlation_gain(truth, truth, constant, 2, 0.05, rng)
    assert estimate.value == 1
    assert 0.75 < estimate.low < 1 <= estimate.high
    assert correlation_gain(truth, truth, truth, 2, 0.05, rng).value == 0


def test_an_interval_of_correlations_of_many_values_has_no_room_for_empty_cells_alone() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 20, 2000)
    attack, baseline = (mistaken(truth, 20, share, rng) for share in (0.3, 0.5))
    estimate = correlation_gain(truth, attack, baseline, 20, 0.05, rng)
    assert estimate.value - 0.08 < estimate.low < estimate.value < estimate.high < estimate.value + 0.08
    assert estimate.value == pytest.approx(matthews_corrcoef(truth, attack) - matthews_corrcoef(truth, baseline))
