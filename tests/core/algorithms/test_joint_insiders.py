"""What insiders are certain of equals the enumeration of all tables in which they have what they know of themselves."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from example_counts import seeds
from joint_cases import (
    Case,
    changing_case,
    changing_known_case,
    drawn_case,
    known_case,
    random_case,
    reported_case,
)
from leafgate.algorithms.joint_classes import joint_system
from leafgate.algorithms.joint_insiders import InsiderProofs, insider_proofs
from leafgate.algorithms.joint_proofs import JointProofs, joint_proofs

Rows = set[tuple[tuple[int, int], ...]]
KINDS = {
    "two values": {"most_people": 9},
    "three values": {"most_people": 6, "n_labels": 3},
    "a private column": {"most_people": 5, "n_private": 2},
    "a private number": {"most_people": 4, "n_private": 3},
}
MAKERS = (drawn_case, known_case, changing_case, changing_known_case, reported_case)


def proofs_of(case: Case) -> JointProofs:
    weight, known = np.ones(len(case.label), dtype=np.int64), case.known_people()
    system = joint_system(case.sources(), weight, case.schema, case.schema["y"], change=case.change, known=known)
    return joint_proofs(system)


def rows_of(found: InsiderProofs, insiders: int) -> Rows:
    return {tuple((joint, value) for joint, value in row) for row in found.certain[insiders - 1].tolist()}


def certain_rows(case: Case, class_of: list[int], insiders: int) -> tuple[Rows, set[tuple[int, int]]]:
    """By trying everybody as insiders: what they are certain of by their values, and by more in addition.

    Left out is what fewer of them, or nobody, is certain of.
    """
    states = case.all_states()
    n = len(case.label)
    label = states[:, :, 0] if case.history is None else states[:, np.arange(n), case.latest]
    by_value: dict[tuple[tuple[int, int], ...], list[set[tuple[int, int]]]] = defaultdict(list)
    for who in itertools.combinations(range(n), insiders):
        kinds = np.unique(states[:, list(who)].reshape(len(states), -1), axis=0, return_inverse=True)[1].reshape(-1)
        for kind in np.unique(kinds).tolist():
            same = kinds == kind
            own = tuple(sorted((class_of[i], int(label[same][0, i])) for i in who))
            found = {
                (class_of[i], int(label[same][0, i]))
                for i in range(n)
                if i not in who and (label[same][:, i] == label[same][0, i]).all() and not _is_known(label, i)
            }
            by_value[own].append(found)
    rows: Rows = set()
    sometimes: set[tuple[int, int]] = set()
    for own, all_found in by_value.items():
        common = set.intersection(*all_found)
        rows |= {(*own, pair) for pair in common}
        sometimes |= set.union(*all_found) - common
    return rows, sometimes


def _is_known(label: Any, person: int) -> bool:
    return bool((label[:, person] == label[0, person]).all())


def assert_equal_to_enumeration(case: Case, insiders: int = 1) -> bool:
    """Assert that proofs are what is true of all tables; whether one insider is certain of anything."""
    proofs = proofs_of(case)
    found, class_of = insider_proofs(proofs, insiders=insiders), proofs.system.class_of.tolist()
    rows, sometimes = certain_rows(case, class_of, 1)
    assert rows_of(found, 1) == rows
    for number in range(2, insiders + 1):
        more, more_sometimes = certain_rows(case, class_of, number)
        more = {
            row for row in more if not any((*part, row[-1]) in rows for part in itertools.combinations(row[:-1], 1))
        }
        fewer = {row for row in rows_of(found, number) if not any((each, row[-1]) in rows for each in row[:-1])}
        assert fewer == more
        sometimes |= more_sometimes
    is_open = {(int(joint), int(value)) for joint, value in np.argwhere(found.open)}
    assert is_open == sometimes if insiders == 1 else is_open >= sometimes
    return bool(rows)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", seeds(30))
def test_one_insider_is_certain_of_what_the_enumeration_says(kind: str, seed: int) -> None:
    assert_equal_to_enumeration(random_case(np.random.default_rng(seed), **KINDS[kind]))  # type: ignore[arg-type]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("seed", seeds(15))
def test_one_insider_equals_the_enumeration_where_people_are_drawn_known_or_change(make: Any, seed: int) -> None:
    assert_equal_to_enumeration(make(np.random.default_rng(seed)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", seeds(10))
def test_two_insiders_are_certain_of_what_the_enumeration_says(kind: str, seed: int) -> None:
    assert_equal_to_enumeration(random_case(np.random.default_rng(seed), **KINDS[kind]), 2)  # type: ignore[arg-type]


@pytest.mark.slow
def test_one_insider_of_two_thousand_pairs_and_triples_equals_the_enumeration() -> None:
    tried = with_proofs = 0
    rng = np.random.default_rng(59)
    while tried < 2_000:
        case = random_case(rng, **KINDS["two values" if tried % 4 else "three values"])  # type: ignore[arg-type]
        if len(case.versions) > 1:
            with_proofs += assert_equal_to_enumeration(case)
            tried += 1
    assert with_proofs > 300


@pytest.mark.slow
@pytest.mark.parametrize("make", MAKERS)
def test_one_insider_equals_the_enumeration_in_two_hundred_more_cases(make: Any) -> None:
    for seed in range(200):
        assert_equal_to_enumeration(make(np.random.default_rng(1_000_000 + seed)))


def test_what_insiders_prove_is_open_without_time() -> None:
    checked = set()
    for seed in range(12):
        proofs = proofs_of(random_case(np.random.default_rng(seed), most_people=9))
        (certain,) = insider_proofs(proofs, insiders=1).certain
        without_time = insider_proofs(proofs, insiders=1, time_limit=0.0)
        assert not len(without_time.certain[0])
        assert without_time.open[certain[:, 1, 0], certain[:, 1, 1]].all()
        checked |= {proofs.network is None} if len(certain) else set()
    assert checked == {True, False}
