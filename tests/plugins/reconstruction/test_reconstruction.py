"""Attacks on shared numbers, held against closed forms."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from leafgate.api import AttackModel, Law, Noise, bin_of, noise_with
from leafgate_plugins.reconstruction.attacks import BeDr, PcaDr, Posterior, SpectralFilter, normal_in_bins
from leafgate_plugins.reconstruction.estimators import (
    Moments,
    bayes_estimates,
    moments_of,
    noise_bounds,
    principal_components,
    projected,
    raised,
    spectral_signal,
)
from leafgate_plugins.reconstruction.posterior import bin_posterior
from shared_tables import PEOPLE, alike, case_of, mean_square_error, normal_table, one_normal, shared

pytestmark = pytest.mark.thorough

TOGETHER = (SpectralFilter(), PcaDr(), BeDr())


@pytest.mark.parametrize("scale", [5.0, 10.0, 20.0])
@pytest.mark.parametrize("attack", [Posterior(), BeDr()], ids=lambda attack: attack.use)
def test_of_normal_numbers_the_error_is_the_least_there_can_be(attack: AttackModel, scale: float) -> None:
    """E Var(X|W) = s_x^2 s_r^2 / (s_x^2 + s_r^2)."""
    release = shared(one_normal(), {"a": Noise("gaussian", scale)})
    least = 100 * scale**2 / (100 + scale**2)
    assert mean_square_error(case_of(one_normal(), release, attack, "a")) == pytest.approx(least, rel=0.03)


def test_of_jointly_normal_numbers_be_dr_errs_by_the_trace_formula() -> None:
    covariance, scales = np.full((3, 3), 80.0) + np.diag([20.0, 40.0, 60.0]), np.array([10.0, 5.0, 20.0])
    table = normal_table(covariance)
    release = shared(table, {name: Noise("gaussian", scale) for name, scale in zip("abc", scales, strict=True)})
    least = np.linalg.inv(np.linalg.inv(covariance) + np.linalg.inv(np.diag(scales**2)))
    errors = [mean_square_error(case_of(table, release, BeDr(), name)) for name in "abc"]
    assert errors == pytest.approx(np.diag(least), rel=0.03)
    assert sum(errors) == pytest.approx(np.trace(least), rel=0.02)


def test_the_bayes_estimate_is_the_printed_one() -> None:
    """x = (S^-1 + Sr^-1)^-1 (S^-1 mu + Sr^-1 w), as Huang, Du and Chen write it, with Sr = 1."""
    rng = np.random.default_rng(0)
    half = rng.normal(size=(4, 4))
    original, mean, numbers = half @ half.T, rng.normal(size=4), rng.normal(size=(5, 4))
    estimates, error = bayes_estimates(numbers, Moments(mean, original + np.eye(4), original, np.full(4, 9.0)))
    inverse = np.linalg.inv(original)
    after = np.linalg.inv(inverse + np.eye(4))
    assert estimates == pytest.approx((inverse @ mean + numbers) @ after)
    assert error == pytest.approx(np.tile(np.diag(after), (5, 1)))


@cache
def error_of_one_column() -> float:
    """How far the posterior of one of six columns that are nearly alike is off."""
    release = shared(alike(), {name: Noise("gaussian", 10.0) for name in "abcdef"})
    return mean_square_error(case_of(alike(), release, Posterior(), "a"))


@pytest.mark.parametrize("attack", TOGETHER, ids=lambda attack: attack.use)
def test_attacks_on_all_columns_beat_the_posterior_of_one_where_columns_correlate(
    attack: AttackModel,
) -> None:
    release = shared(alike(), {name: Noise("gaussian", 10.0) for name in "abcdef"})
    alone = error_of_one_column()
    together = mean_square_error(case_of(alike(), release, attack, "a"))
    assert alone == pytest.approx(50, rel=0.03)
    assert together < 0.4 * alone


@pytest.mark.parametrize("law", ["gaussian", "uniform"])
@pytest.mark.parametrize("attack", ["spectral_filter", "pca_dr", "pca_dr of 2", "be_dr"])
def test_an_attack_errs_by_what_its_theory_expects(attack: str, law: Law) -> None:
    """Five columns, of which the last varies by less than the noise, and all are correlated."""
    rng = np.random.default_rng(8)
    covariance = np.full((5, 5), 2.0) + np.diag([3.0, 2.0, 1.0, 0.5, 0.01])
    true = rng.multivariate_normal(np.arange(5), covariance, PEOPLE)
    numbers = true + np.column_stack([noise_with(law, 1.0).added(np.zeros(PEOPLE), rng) for _ in range(5)])
    moments = moments_of(numbers, np.ones(PEOPLE))
    if attack == "be_dr":
        estimates, error = bayes_estimates(numbers, moments)
    else:
        kept = {
            "spectral_filter": spectral_signal(moments),
            "pca_dr": principal_components(moments, None),
            "pca_dr of 2": principal_components(moments, 2),
        }[attack]
        estimates, error = projected(numbers, moments, kept)
    assert ((estimates - true) ** 2).mean(axis=0) == pytest.approx(error.mean(axis=0), rel=0.05, abs=0.02)


def test_by_default_pca_dr_keeps_as_many_components_as_err_least() -> None:
    rng = np.random.default_rng(8)
    true = rng.normal(size=(PEOPLE, 5)) * np.sqrt([9.0, 4.0, 2.0, 0.5, 0.1])
    numbers = true + rng.normal(size=true.shape)
    moments = moments_of(numbers, np.ones(PEOPLE))

    def missed(number: int | None) -> float:
        estimates, _ = projected(numbers, moments, principal_components(moments, number))
        return float(((estimates - true) ** 2).mean())

    errors = {number: missed(number) for number in range(1, 6)}
    assert min(errors, key=errors.__getitem__) == 3
    assert missed(None) == errors[3]
    assert principal_components(moments, 99).shape == (5, 5)


def test_the_eigenvalues_of_pure_noise_lie_within_the_bounds() -> None:
    noise = np.random.default_rng(4).normal(size=(2_000, 50))
    values = np.linalg.eigvalsh(moments_of(noise, np.ones(2_000)).shared)
    low, high = noise_bounds(50, 2_000)
    assert (low, high) == pytest.approx(((1 - 40**-0.5) ** 2, (1 + 40**-0.5) ** 2))
    assert low * 0.97 < values.min() < values.max() < high * 1.03


def test_moments_are_of_the_people_a_record_stands_for_and_the_pairs_they_show() -> None:
    numbers = np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 8.0], [np.nan, 4.0]])
    result = moments_of(numbers, np.array([2.0, 1.0, 1.0, 3.0]))
    assert result.mean == pytest.approx([(2 + 3 + 5) / 4, (4 + 8 + 12) / 6])
    assert result.people.tolist() == [4, 6]
    variances = [(2 * 2.25 + 0.25 + 6.25) / 4, (2 * 4 + 16 + 0) / 6]
    both = (2 * -1.5 * -2 + 2.5 * 4) / 3
    assert result.shared == pytest.approx(raised(np.array([[variances[0], both], [both, variances[1]]])))
    assert np.linalg.eigvalsh(result.original).min() >= -1e-12


def test_columns_of_unequal_noise_are_weighed_by_it() -> None:
    """A column with hardly any noise tells of another, which has much: 1 - 0.9^2 of its variance is left, or less."""
    table = normal_table(np.array([[100.0, 90.0], [90.0, 100.0]]))
    release = shared(table, {"a": Noise("gaussian", 0.1), "b": Noise("gaussian", 30.0)})
    least = 1 / (1 / 19 + 1 / 900)
    assert mean_square_error(case_of(table, release, BeDr(), "b")) == pytest.approx(least, rel=0.05)


def test_a_normal_belief_is_cut_off_at_the_bounds() -> None:
    result = normal_in_bins(np.array([0.0, -1e9, 1e9, 60.0]), np.array([10.0, 1.0, 1.0, 5.0]), (0, 10, 50))
    within = (0.8413447 - 0.5) / (0.9999997 - 0.5)
    assert result[0] == pytest.approx([within, 1 - within], abs=1e-6)
    assert result[1:3].tolist() == [[1, 0], [0, 1]]
    assert result[3][1] == pytest.approx(1)


@pytest.mark.parametrize("scale", [3.0, 16.0, 200.0])
def test_the_attack_on_whole_numbers_under_uniform_noise_rules_out_what_a_count_does(scale: float) -> None:
    """An original is a whole number within the bounds and no further from the shared one than the noise goes."""
    rng, noise, bins = np.random.default_rng(4), Noise("uniform", scale), (20, 30, 40, 50, 80)
    original = rng.integers(20, 81, 3000).astype(float)
    shared = noise.added(original, rng)
    chances, _ = bin_posterior(shared, np.ones(3000), np.zeros(3000, dtype=int), noise, bins, "mean", integers=True)
    whole = np.arange(20, 81)
    near = np.abs(shared[:, None] - whole[None, :]) <= scale + noise.grid / 2
    possible = np.stack([near[:, bin_of(whole.astype(float), bins) == i].any(axis=1) for i in range(4)], axis=1)
    assert ((chances > 0) == possible).all()
