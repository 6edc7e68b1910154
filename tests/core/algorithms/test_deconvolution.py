"""The law of original numbers, found again from noisy ones."""

from __future__ import annotations

from itertools import islice, pairwise
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, optimize

from leafgate.algorithms import deconvolution
from leafgate.algorithms.deconvolution import (
    cells_between,
    counted,
    even_cells,
    likelihood,
    posterior,
    reconstructed,
    rounds,
)
from leafgate.api import Law, Noise
from noise_laws import density

LAWS: tuple[Law, ...] = ("gaussian", "uniform")
laws = st.sampled_from(LAWS)
EDGES = np.array([0.0, 1.0, 2.5, 3.0, 6.0])
SHARED = np.array([-0.8, 0.2, 1.1, 2.6, 2.9, 4.0, 6.5])
PEOPLE = np.array([1.0, 3.0, 1.0, 2.0, 5.0, 1.0, 1.0])


def blocks(shared: np.ndarray, noise: Noise, edges: np.ndarray, prior: np.ndarray) -> np.ndarray:
    return np.concatenate([chances for _, chances in posterior(shared, noise, edges, prior)])


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.thorough
def test_the_likelihood_is_the_mean_density_over_the_cell(law: Law) -> None:
    noise = Noise(law, 1.5)
    result = likelihood(SHARED, noise, EDGES)
    for i, shared in enumerate(SHARED):
        for j, (low, high) in enumerate(pairwise(EDGES)):
            jumps = [shared - 1.5, shared + 1.5]
            area = integrate.quad(
                lambda x, w=shared: float(density(noise, np.array([w - x]))[0]),
                low,
                high,
                points=[each for each in jumps if low < each < high] or None,
            )[0]
            assert result[i, j] == pytest.approx(area / (high - low), abs=1e-3)


def test_far_out_the_likelihood_keeps_its_digits() -> None:
    """Ten standard deviations above: what F(10.5) - F(9.5) would lose entirely."""
    far, near = likelihood(np.array([10.5, -9.5]), Noise("gaussian", 1.0), np.array([0.0, 1.0]))
    assert far == pytest.approx(near, rel=1e-9)
    assert 0 < far[0] < 1e-19


@given(laws, st.integers(0, 10**6), st.integers(1, 40), st.floats(0.05, 20))
def test_no_round_makes_the_data_less_likely(law: Law, seed: int, people: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    noise = Noise(law, scale)
    shared = noise.added(rng.uniform(0, 6, people), rng)
    items = list(islice(rounds(shared, rng.integers(1, 5, people).astype(float), noise, EDGES), 25))
    assert (np.diff([likely for _, likely in items]) >= -1e-12).all()
    assert all(chances.sum() == pytest.approx(1) and (chances >= 0).all() for chances, _ in items)


@pytest.mark.parametrize("law", LAWS)
def test_a_round_gives_each_cell_the_chances_that_people_have_of_lying_in_it(law: Law) -> None:
    noise = Noise(law, 2.0)
    (first, _), (second, _) = islice(rounds(SHARED, PEOPLE, noise, EDGES), 2)
    assert first == pytest.approx(np.diff(EDGES) / 6)
    result = likelihood(SHARED, noise, EDGES)
    new = [0.0] * 4
    for i, people in enumerate(PEOPLE):
        total = sum(result[i, j] * first[j] for j in range(4))
        for j in range(4):
            new[j] += people * result[i, j] * first[j] / total / PEOPLE.sum()
    assert second == pytest.approx(new)


def test_it_ends_where_an_optimiser_finds_the_largest_likelihood() -> None:
    noise = Noise("gaussian", 1.0)
    mine = reconstructed(SHARED, PEOPLE, noise, EDGES, tolerance=1e-14, most=100_000)
    numbers, people = counted(SHARED, PEOPLE, noise, EDGES)
    result = likelihood(numbers, noise, EDGES)

    def unlikely(chances: np.ndarray) -> float:
        return -float(people @ np.log(result @ chances))

    found = optimize.minimize(
        unlikely,
        np.full(4, 0.25),
        bounds=[(1e-12, 1)] * 4,
        constraints={"type": "eq", "fun": lambda chances: chances.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert unlikely(mine) == pytest.approx(found.fun, abs=1e-6)
    assert mine == pytest.approx(found.x, abs=1e-3)


@pytest.mark.parametrize("law", LAWS)
def test_of_normal_numbers_mean_and_variance_come_back(law: Law) -> None:
    """var W - var R is the variance of X (closed form); a normal law's sixth and last sixth hold as many as printed."""
    rng = np.random.default_rng(5)
    noise = Noise(law, 10.0)
    shared = noise.added(rng.normal(50, 10, 200_000), rng)
    edges = even_cells(0, 100, noise)
    chances = reconstructed(shared, np.ones(len(shared)), noise, edges)
    middle = (edges[1:] + edges[:-1]) / 2
    mean = float(chances @ middle)
    assert mean == pytest.approx(shared.mean(), abs=0.05)
    assert chances @ (middle - mean) ** 2 == pytest.approx(shared.var() - noise.variance, rel=0.01)
    assert chances[middle < 40].sum() == pytest.approx(0.1587, abs=0.01)


def test_cells_that_cannot_be_told_apart_keep_the_proportions_they_began_with() -> None:
    start = np.array([0.9, 0.05, 0.05])
    result = reconstructed(SHARED, PEOPLE, Noise("gaussian", 4.0), np.array([0, 1e-6, 2e-6, 6]), start=start)
    assert result[0] / result[1] == pytest.approx(18, rel=1e-3)


def test_with_hardly_any_noise_it_is_the_histogram() -> None:
    noise = Noise("uniform", 1e-4)
    original = np.random.default_rng(2).uniform(0, 10, 5_000)
    shared = noise.added(original, np.random.default_rng(3))
    edges = even_cells(0, 10, noise, most=20)
    chances = reconstructed(shared, np.ones(5_000), noise, edges)
    assert chances == pytest.approx(np.histogram(original, edges)[0] / 5_000, abs=1e-3)


def test_neither_the_order_nor_the_writing_of_people_matters() -> None:
    noise = Noise("gaussian", 1.0)
    together = reconstructed(SHARED, PEOPLE, noise, EDGES)
    one_by_one = np.repeat(SHARED, PEOPLE.astype(int))[::-1]
    assert reconstructed(one_by_one, np.ones(len(one_by_one)), noise, EDGES) == pytest.approx(together, rel=1e-9)
    shares = np.append(PEOPLE / 100, 0.0)  # and of whom there is nothing, nothing is told
    parts = reconstructed(np.append(SHARED, 5.0), shares, noise, EDGES, tolerance=deconvolution.TOLERANCE / 100)
    assert parts == pytest.approx(together, rel=1e-9)


def test_the_grid_of_counted_numbers_does_not_grow_with_people() -> None:
    rng, noise = np.random.default_rng(1), Noise("gaussian", 1.0)
    edges = even_cells(0, 6, noise)
    sizes = [len(counted(rng.uniform(0, 6, n), np.ones(n), noise, edges)[0]) for n in (10_000, 100_000)]
    assert max(sizes) <= 6 * deconvolution.FINE + 1
    anywhere = rng.uniform(-1e6, 1e6, 10_000)  # under another noise than is told
    assert len(counted(anywhere, np.ones(10_000), noise, edges)[0]) <= 86 * deconvolution.FINE + 1


def test_numbers_the_noise_cannot_have_made_say_nothing() -> None:
    noise = Noise("uniform", 0.5)
    within = np.array([0.5, 2.0, 5.0])
    strange = np.append(within, [-3.0, 900.0])
    result = reconstructed(strange, np.ones(5), noise, EDGES)
    assert result == pytest.approx(reconstructed(within, np.ones(3), noise, EDGES))
    for impossible in (strange[3:], strange[4:], np.array([-2.0])):
        nothing = reconstructed(impossible, np.ones(len(impossible)), noise, EDGES)
        assert nothing == pytest.approx(np.diff(EDGES) / 6)
    assert blocks(strange[3:], noise, EDGES, result) == pytest.approx(np.tile(result, (2, 1)))


def test_somebody_far_away_from_all_others_makes_no_nan() -> None:
    """37 standard deviations out the densities are below 1e-297."""
    shared = np.append(np.full(1000, 1.0), 43.0)
    result = reconstructed(shared, np.ones(1001), Noise("gaussian", 1.0), EDGES, tolerance=0)
    assert result[-1] == pytest.approx(1 / 1001, rel=0.05)


def test_what_lies_on_the_rim_of_uniform_noise_can_still_be_explained() -> None:
    noise = Noise("uniform", 0.5)
    rim = np.array([-0.5 - noise.grid / 4, 6.5 + noise.grid / 4])
    result = blocks(rim, noise, EDGES, np.full(4, 0.25))
    assert result == pytest.approx(np.array([[1, 0, 0, 0], [0, 0, 0, 1]]), abs=1e-9)


def test_a_posterior_is_bayes_rule_and_its_blocks_are_one() -> None:
    noise, prior = Noise("gaussian", 1.0), np.array([0.1, 0.2, 0.3, 0.4])
    joint = likelihood(SHARED, noise, EDGES) * prior
    expected = joint / joint.sum(axis=1, keepdims=True)
    assert blocks(SHARED, noise, EDGES, prior) == pytest.approx(expected, abs=1e-9)
    with patch.object(deconvolution, "BLOCK", 8):
        assert [rows.stop - rows.start for rows, _ in posterior(SHARED, noise, EDGES, prior)] == [2, 2, 2, 1]
        assert blocks(SHARED, noise, EDGES, prior) == pytest.approx(expected, abs=1e-9)


def test_cells_cover_the_bounds_evenly_and_are_narrow_beside_the_noise() -> None:
    edges = even_cells(17, 90, Noise("gaussian", 13.0))
    assert (edges[0], edges[-1]) == (17, 90)
    assert np.diff(edges) == pytest.approx(np.diff(edges)[0])
    assert np.diff(edges)[0] <= 13 / deconvolution.FINE
    assert len(even_cells(0, 1e6, Noise("gaussian", 1.0))) == deconvolution.CELLS + 1
    assert cells_between(np.array([3.0, -2.0]), Noise("gaussian", 1.0), None)[[0, -1]].tolist() == [-2, 3]


def test_one_number_for_everybody_leaves_one_cell() -> None:
    noise = Noise("gaussian", 1.0)
    edges = even_cells(4, 4, noise)
    assert edges.mean() == 4
    assert reconstructed(np.array([3.0]), np.ones(1), noise, edges).tolist() == [1]
