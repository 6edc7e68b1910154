"""The laws of noise: densities, draws, and what a release file may say of them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from leafgate import Release, ReleaseError
from leafgate.api import BuildResult, Column, Law, Noise, Records, Schema, noise_with
from leafgate.app import read_release, serialize
from noise_laws import peer_of


@pytest.mark.parametrize("law", ["gaussian", "uniform"])
def test_the_laws_are_those_of_a_peer(law: Law) -> None:
    noise, at = Noise(law, 3.0), np.array([-4.0, -1.5, 0.0, 2.9])
    peer = peer_of(noise)
    assert noise.below(at) == pytest.approx(peer.cdf(at))
    assert [noise.quantile(p) for p in (0.01, 0.3, 0.5)] == pytest.approx(peer.ppf([0.01, 0.3, 0.5]).tolist())
    assert noise.variance == pytest.approx(peer.var())
    assert noise.entropy == pytest.approx(peer.entropy() / np.log(2))
    assert noise_with(law, noise.variance).scale == pytest.approx(3)


@pytest.mark.parametrize("law", ["gaussian", "uniform"])
def test_what_is_shared_differs_from_the_original_by_the_law(law: Law) -> None:
    original = np.random.default_rng(1).uniform(0, 90, 20_000)
    noise = Noise(law, 3.0)
    shared = noise.added(original, np.random.default_rng(2))
    assert stats.kstest(shared - original, peer_of(noise).cdf).pvalue > 0.01
    assert stats.kstest((shared - original) / 2, peer_of(noise).cdf).pvalue < 1e-9
    assert abs(np.corrcoef(shared - original, original)[0, 1]) < 0.03


def test_shared_numbers_lie_on_a_grid_that_does_not_depend_on_the_original() -> None:
    noise = Noise("gaussian", 3.0)
    shared = np.concatenate([noise.added(np.full(500, x), np.random.default_rng(3)) for x in (0.1, 17.0, 1e6)])
    assert noise.grid == 2**-9
    assert (shared / noise.grid == np.round(shared / noise.grid)).all()


def noisy_release() -> Release:
    schema = Schema((Column("age", frozenset({"quasi_identifier"}), bounds=(0.0, 90.0)),))
    records = Records(("age",), ((-12.5,), (110.25,)), (1, 1))
    noise = {"age": Noise("uniform", 20.0)}
    return Release({"use": "x"}, schema, model="none", count_semantics="perturbed", records=records, noise=noise)


def test_a_release_file_tells_the_noise_and_not_whose_the_records_are() -> None:
    release = noisy_release()
    sealed = serialize(BuildResult(release, origins=(4, 2)))
    assert sealed.release == release
    assert sealed.origins == (4, 2)
    assert not hasattr(sealed.release, "origins")
    assert "origins" not in sealed.content.decode()


@pytest.mark.parametrize(
    "wrong",
    [
        {"age": {"law": "gaussian", "scale": 0}},
        {"age": {"law": "laplace", "scale": 1}},
        {"age": {"law": "gaussian", "scale": 1, "seed": 3}},
        {"age": 3},
        {"size": {"law": "gaussian", "scale": 1}},
        {},
    ],
)
def test_noise_that_is_none_is_refused_and_without_noise_numbers_keep_to_their_bounds(wrong: dict[str, object]) -> None:
    document = json.loads(serialize(noisy_release()).content)
    with pytest.raises(ReleaseError):
        read_release(json.dumps(document | {"noise": wrong}).encode(), "release")
