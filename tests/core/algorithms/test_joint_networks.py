"""One tree and two trees as networks: what the residual graph proves equals the enumeration, without any search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from example_counts import seeds
from joint_cases import Case, random_case
from leafgate.algorithms.joint_classes import JointSystem, joint_system
from leafgate.algorithms.joint_networks import Network, is_network, limits_of_leaves, network_of
from leafgate.algorithms.joint_proofs import Proof, check_proof, check_witness, joint_proofs


def system_of(case: Case) -> JointSystem:
    return joint_system(case.sources(), np.ones(len(case.label), dtype=np.int64), case.schema, case.schema["y"])


def two_trees(seed: int) -> Case:
    """Some people and two trees, of one release or of two."""
    case = random_case(np.random.default_rng(seed), most_people=9, releases=2)
    versions = tuple(replace(each, shapes=each.shapes[: 2 if len(case.versions) == 1 else 1]) for each in case.versions)
    return replace(case, versions=versions)


def networks(n: int) -> list[tuple[Case, Network]]:
    found = []
    for seed in seeds(n):
        case = two_trees(seed)
        system = system_of(case)
        assert is_network(system)
        trees = np.unique(system.tree[system.tree >= 0]).tolist()
        network = network_of(system, [limits_of_leaves(system, tree) for tree in trees])
        assert network.complete
        found.append((case, network))
    return found


def assignment(network: Network) -> np.ndarray:
    people = network.assignment()
    assert people is not None
    return people


def test_what_a_network_proves_equals_the_enumeration_and_is_verified_by_one_sum() -> None:
    for case, network in networks(200):
        people = assignment(network)
        potential = network.potentials(people)
        fixed, label = network.fixed(potential), case.all_tables()
        for joint in range(network.system.n_classes):
            members = label[:, network.system.class_of == joint]
            impossible = [not (members == value).any() for value in range(2)]
            if not any(network.start[joint] == network.end[joint] == 0 for _ in impossible):
                assert fixed[joint].tolist() == impossible
        cells = np.flatnonzero(fixed.reshape(-1))
        proof = Proof(cells=cells, multipliers=network.multipliers(potential))
        assert check_proof(network.system, proof)


def test_a_class_can_have_one_person_more_or_less_where_some_table_has_it_so() -> None:
    for case, network in networks(120):
        people, label = assignment(network), case.all_tables()
        for joint in range(network.system.n_classes):
            numbers = {int(n) for n in (label[:, network.system.class_of == joint] == 1).sum(axis=1)}
            for step in (-1, 1):
                found = network.changed(people, joint, step)
                assert (found is not None) == (people[joint] + step in numbers)
                if found is not None:
                    assert found[joint] == people[joint] + step
                    by_cell = np.stack([network.system.size - found, found], axis=1).reshape(-1)
                    assert check_witness(network.system, by_cell)


def test_a_proof_with_a_wrong_potential_is_none() -> None:
    refused = 0
    for _, network in networks(60):
        potential = network.potentials(assignment(network))
        cells = np.flatnonzero(network.fixed(potential).reshape(-1))
        for node in range(1, len(potential)):
            other = potential.copy()
            other[node] += 1
            wider = np.flatnonzero(network.fixed(other).reshape(-1))
            if not np.isin(wider, cells).all():
                refused += 1
                assert not check_proof(network.system, Proof(cells=wider, multipliers=network.multipliers(other)))
    assert refused


def test_two_trees_are_decided_without_branching_and_with_one_proof() -> None:
    for case, network in networks(60):
        found = joint_proofs(network.system)
        assert not found.branched.any()
        assert not found.open.any()
        assert len(found.proofs) <= 1, case


@pytest.mark.parametrize("kind", [{"n_labels": 3}, {"n_private": 2}])
def test_other_secrets_are_no_network(kind: dict[str, int]) -> None:
    case = random_case(np.random.default_rng(0), most_people=6, **kind)  # type: ignore[arg-type]
    assert not is_network(system_of(case))


def test_a_time_limit_that_is_over_after_the_networks_keeps_what_two_trees_prove() -> None:
    kept = 0
    for seed in seeds(40):
        case = random_case(np.random.default_rng(seed), most_people=9, releases=3)
        system = system_of(case)
        trees = np.unique(system.tree[system.tree >= 0]).tolist()
        if len(trees) < 3:
            continue
        proved = joint_proofs(system).state == 0
        for pair in ((trees[0], trees[1]), (trees[1], trees[2])):
            network = network_of(system, [limits_of_leaves(system, tree) for tree in pair])
            fixed = network.fixed(network.potentials(assignment(network)))
            assert not (fixed & ~proved).any()
            kept += int(fixed.sum())
    assert kept
