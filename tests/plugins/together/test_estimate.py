"""The estimate where nothing is proved, compared with the mean over all tables."""

from __future__ import annotations

import numpy as np
import pytest

from example_counts import seeds
from joint_cases import random_case
from leafgate.algorithms.joint_classes import joint_system
from leafgate.algorithms.joint_proofs import IMPOSSIBLE, joint_proofs
from leafgate_plugins.together.estimate import batch_per_leaf, maximum_entropy


def test_estimates_agree_with_what_is_published_and_are_near_the_mean_over_all_tables() -> None:
    errors = []
    for seed in seeds(100):
        case = random_case(np.random.default_rng(seed), most_people=9)
        n = len(case.label)
        system = joint_system(case.sources(), np.ones(n, dtype=np.int64), case.schema, case.schema["y"])
        proofs = joint_proofs(system)
        posterior, gap = maximum_entropy(system, proofs.state)
        assert np.allclose(posterior.sum(axis=1), 1)
        assert gap < 0.05
        assert (posterior[proofs.state == IMPOSSIBLE] == 0).all()
        mean = np.stack([(case.all_tables() == value).mean(axis=0) for value in range(2)], axis=1)
        errors.append(np.abs(posterior[system.class_of] - mean).mean())
    assert np.mean(errors) < 0.05


@pytest.mark.parametrize(("shares", "leaves"), [((0.7, 0.3), 8), ((0.9, 0.1), 20), ((0.4, 0.3, 0.3), 50)])
@pytest.mark.thorough
def test_a_batch_is_as_large_as_simulated_ones_need_to_be(shares: tuple[float, ...], leaves: int) -> None:
    rng, people = np.random.default_rng(0), batch_per_leaf(np.array(shares), leaves)
    assert people is not None
    chances = []
    for n in (people, people - 1):
        drawn = rng.choice(len(shares), (20_000, leaves, n), p=shares)
        chances.append((drawn == drawn[:, :, :1]).all(axis=2).any(axis=1).mean())
    assert chances[0] < 0.053
    assert chances[1] > 0.047


def test_no_batch_is_large_enough_where_all_have_the_same_value() -> None:
    assert batch_per_leaf(np.array([1.0, 0.0]), 3) is None


def test_the_estimate_of_one_leaf_is_its_shares() -> None:
    for seed in seeds(40):
        case = random_case(np.random.default_rng(seed), most_people=9, releases=1)
        version = case.versions[0]
        if version.level != "counts" or len(version.shapes) > 1:
            continue
        n = len(case.label)
        system = joint_system(case.sources(), np.ones(n, dtype=np.int64), case.schema, case.schema["y"])
        posterior, _ = maximum_entropy(system, joint_proofs(system).state)
        for number in range(system.n_classes):
            members = system.class_of == number
            if set(np.flatnonzero(members)) <= set(version.people.tolist()):
                own = np.bincount(case.label[members], minlength=2) / members.sum()
                assert np.allclose(posterior[number], own, atol=1e-3)
