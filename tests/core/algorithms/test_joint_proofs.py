"""Joint proofs equal the enumeration of all tables that agree with the releases."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from example_counts import seeds
from joint_cases import (
    Case,
    Forgotten,
    Tables,
    changing_case,
    changing_known_case,
    drawn_case,
    known_case,
    random_case,
    random_rolls,
    reported_case,
)
from leafgate.algorithms.joint_classes import JointSystem, joint_system
from leafgate.algorithms.joint_insiders import insider_proofs
from leafgate.algorithms.joint_proofs import (
    IMPOSSIBLE,
    OPEN,
    POSSIBLE,
    JointProofs,
    Proof,
    check_proof,
    check_witness,
    joint_proofs,
)

MAKERS: dict[str, Callable[[np.random.Generator], Case]] = {
    "drawn": drawn_case,
    "known": known_case,
    "known, with a private column": partial(known_case, n_private=2),
    "changing": changing_case,
    "reported": reported_case,
    "two values": partial(random_case, most_people=9),
    "three values": partial(random_case, most_people=6, n_labels=3),
    "a private column": partial(random_case, most_people=5, n_private=2),
    "a private number": partial(random_case, most_people=4, n_private=3),
}


def proofs_of(case: Case, rolls: Forgotten | None = None) -> JointProofs:
    weight, known = np.ones(len(case.label), dtype=np.int64), case.known_people()
    sources = case.rolled_sources(rolls or {})
    system = joint_system(sources, weight, case.schema, case.schema["y"], change=case.change, known=known)
    assert [i for i, _ in system.unsupported] == [i for i, v in enumerate(case.versions) if v.counted != "exact"]
    return joint_proofs(system)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("seed", seeds(60))
def test_proofs_equal_the_enumeration(kind: str, seed: int) -> None:
    assert_equal_to_enumeration(MAKERS[kind](np.random.default_rng(seed)))


@pytest.mark.parametrize("seed", seeds(60))
def test_proofs_about_an_older_class_equal_the_enumeration_where_the_latest_class_of_some_is_known(seed: int) -> None:
    case = changing_known_case(np.random.default_rng(seed))
    weight, known = np.ones(len(case.label), dtype=np.int64), case.known_people()
    for at in range(len(case.versions)):
        system = joint_system(
            case.sources(), weight, case.schema, case.schema["y"], change=case.change, known=known, at=-at
        )
        found, label = joint_proofs(system), case.all_tables(at)
        for number in range(system.n_classes):
            possible = [(label[:, system.class_of == number] == value).any() for value in range(case.n_labels)]
            assert (found.state[number] == np.where(possible, POSSIBLE, IMPOSSIBLE)).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKERS)
def test_proofs_equal_the_enumeration_in_a_thousand_more_cases(kind: str) -> None:
    for seed in range(1_250):
        assert_equal_to_enumeration(MAKERS[kind](np.random.default_rng(1_000_000 + seed)))


@pytest.mark.parametrize("class_is_public", [False, True])
@pytest.mark.parametrize("seed", seeds(60))
def test_proofs_about_a_column_that_trees_test_equal_the_enumeration(seed: int, class_is_public: bool) -> None:
    rng = np.random.default_rng(seed)
    case = random_case(rng, most_people=5, n_private=2, class_is_public=class_is_public)
    system = joint_system(case.sources(), np.ones(len(case.label), dtype=np.int64), case.schema, case.schema["g"])
    found = joint_proofs(system)
    keys, cells = case.joint_classes(), case.all_tables() % 2
    assert len(set(zip(keys, system.class_of.tolist(), strict=True))) == len(set(keys)) == system.n_classes
    for number in range(system.n_classes):
        members = cells[:, system.class_of == number]
        possible = [(members == value).any() for value in range(2)]
        assert ((found.state[number] == POSSIBLE) == possible).all()
        assert ((found.state[number] == IMPOSSIBLE) == np.logical_not(possible)).all()


@pytest.mark.slow
def test_proofs_equal_the_enumeration_for_fourteen_people_and_for_seven() -> None:
    for seed in range(60):
        assert_equal_to_enumeration(random_case(np.random.default_rng(seed), most_people=14))
        assert_equal_to_enumeration(random_case(np.random.default_rng(seed), most_people=7, n_labels=3))
        assert_equal_to_enumeration(random_case(np.random.default_rng(seed), most_people=7, n_private=2))


def assert_equal_to_enumeration(case: Case) -> None:
    found = proofs_of(case)
    assert found.system.n_classes == len({*found.system.class_of.tolist()})
    assert_equal(found, case, case.joint_classes(), case.all_tables() // case.n_private)


def assert_equal(found: JointProofs, case: Case, keys: list[tuple[object, ...]], label: Tables) -> None:
    """Assert that proofs are what is true of all these tables; the last joint classes may be of forgotten people."""
    joint = found.system.class_of
    of_class = set(zip(keys, joint.tolist(), strict=True))
    n_classes = int(joint.max()) + 1
    assert len(of_class) == n_classes >= len(set(keys))
    assert case.known or n_classes == len(set(keys))
    assert len(label)
    for number in range(n_classes):
        members = label[:, joint == number]
        people = np.stack([(members == value).sum(axis=1) for value in range(case.n_labels)], axis=1)
        possible = (people > 0).any(axis=0)
        assert ((found.state[number] == POSSIBLE) == possible).all()
        assert ((found.state[number] == IMPOSSIBLE) == ~possible).all()
        true = np.unique(case.label[joint == number])
        for value in np.flatnonzero(found.proved[number]).tolist():
            assert true.tolist() == [value]
    assert all(check_witness(found.system, witness) for witness in found.witnesses)
    assert all(check_proof(found.system, proof) for proof in found.proofs)


@pytest.mark.parametrize("make", [random_case, drawn_case, known_case, changing_case, reported_case])
@pytest.mark.parametrize("seed", seeds(30))
def test_rolls_prove_what_the_tables_prove(make: Any, seed: int) -> None:
    case = make(np.random.default_rng(seed))
    rolls = dict.fromkeys(range(int(bool(case.known)), len(case.versions)), ())
    by_table, by_roll = proofs_of(case), proofs_of(case, rolls)
    assert (by_roll.system.class_of == by_table.system.class_of).all()
    assert (by_roll.state == by_table.state).all()
    own, by_table_own = (insider_proofs(each, insiders=1) for each in (by_roll, by_table))
    assert (own.certain[0] == by_table_own.certain[0]).all()
    assert (own.open == by_table_own.open).all()


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("seed", seeds(60))
def test_proofs_equal_the_enumeration_where_people_are_forgotten(n_labels: int, seed: int) -> None:
    assert_equal_where_people_are_forgotten(n_labels, seed)


@pytest.mark.slow
@pytest.mark.parametrize("n_labels", [2, 3])
def test_proofs_equal_the_enumeration_where_people_are_forgotten_in_a_thousand_more_cases(n_labels: int) -> None:
    for seed in range(1_000):
        assert_equal_where_people_are_forgotten(n_labels, 1_000_000 + seed)


def assert_equal_where_people_are_forgotten(n_labels: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = random_case(rng, most_people=7 if n_labels == 2 else 5, n_labels=n_labels)
    rolls = random_rolls(case, rng, most_forgotten=3 if n_labels == 2 else 2)
    assert_equal(proofs_of(case, rolls), case, case.joint_classes(rolls), case.all_tables_but(rolls))


@pytest.mark.parametrize("make", [random_case, drawn_case, changing_case, reported_case])
@pytest.mark.parametrize("seed", seeds(30))
@pytest.mark.thorough
def test_more_forgotten_people_never_prove_more_and_nothing_wrong(make: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = make(rng)
    order = {number: rng.permutation(version.people).tolist() for number, version in enumerate(case.versions)}
    before = np.ones((len(case.label), case.n_labels), dtype=bool)
    for most in range(5):
        found = proofs_of(case, {number: tuple(people[:most]) for number, people in order.items()})
        proved = found.proved[found.system.class_of]
        assert (proved <= before).all()
        assert (case.label[proved.any(axis=1)] == proved.argmax(axis=1)[proved.any(axis=1)]).all()
        before = proved


def test_more_releases_never_prove_less() -> None:
    for seed in seeds(40):
        case = random_case(np.random.default_rng(seed), most_people=9)
        n = len(case.label)
        proved = np.zeros((n, 2), dtype=bool)
        for k in range(1, len(case.versions) + 1):
            part = Case(case.label, case.private, case.n_labels, case.n_private, case.versions[:k])
            found = proofs_of(part)
            now = found.proved[found.system.class_of]
            assert (now | ~proved).all()
            proved = now


def system_of(case_seed: int = 3) -> JointSystem:
    case = random_case(np.random.default_rng(case_seed), most_people=9)
    return joint_system(case.sources(), np.ones(len(case.label), dtype=np.int64), case.schema, case.schema["y"])


@pytest.mark.thorough
def test_a_proof_with_one_multiplier_less_is_none() -> None:
    checked = 0
    for seed in range(40):
        found = joint_proofs(system_of(seed))
        for proof in found.proofs:
            for row in proof.multipliers:
                rest = {key: value for key, value in proof.multipliers.items() if key != row}
                other = check_proof(found.system, Proof(cells=proof.cells, multipliers=rest))
                checked += not other
            wider = np.arange(len(found.system.cell_class))
            possible = found.state.reshape(-1)[found.system.pair_of_cell] == POSSIBLE
            assert not possible.any() or not check_proof(
                found.system, Proof(cells=wider, multipliers=dict(proof.multipliers))
            )
    assert checked


def test_an_assignment_of_one_person_more_is_no_witness() -> None:
    found = joint_proofs(system_of())
    more = found.witnesses[0].copy()
    more[0] += 1
    assert not check_witness(found.system, more)
    assert not check_witness(found.system, more[1:])
    assert not check_witness(found.system, -more)


def test_a_multiplier_of_a_constraint_without_that_limit_proves_nothing() -> None:
    system = system_of()
    cells = np.flatnonzero(system.cell_class == 0)
    assert not check_proof(system, Proof(cells=cells, multipliers={}))
    assert not check_proof(system, Proof(cells=cells, multipliers={0: Fraction(1)}))


def test_nothing_is_proved_without_time() -> None:
    found = joint_proofs(system_of(), time_limit=0.0)
    assert (found.state[found.state != IMPOSSIBLE] == OPEN).all()
    assert not found.witnesses
    assert found.open.any() or not found.proved.all()
