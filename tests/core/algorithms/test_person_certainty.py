"""What is certain of persons with several rows, compared with enumeration and with cases checked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from leafgate.algorithms.person_certainty import RowsOfPersons, certain_of_fixed, certain_of_varying
from literal_persons import certain_by_enumeration, random_rows, stated_of


def one_leaf(*persons: tuple[int, int]) -> RowsOfPersons:
    """Persons in one leaf, each with her value and her rows."""
    value, rows = np.array(persons).T
    return RowsOfPersons(
        person=np.arange(len(persons)),
        leaf=np.zeros((1, len(persons)), dtype=np.int64),
        value=value,
        rows=rows,
        n_persons=len(persons),
        n_values=2,
    )


def test_sums_of_rows_expose_everybody_where_they_add_up_in_one_way() -> None:
    rows = one_leaf((1, 30), (1, 30), *[(0, 1)] * 8)
    found = certain_of_fixed(rows, rows.composition)
    assert found.certain.sum(axis=1).tolist() == [1] * 10
    assert found.certain[np.arange(10), rows.value].all()


def test_persons_with_as_many_rows_hide_each_other() -> None:
    rows = one_leaf((1, 30), (0, 30), *[(0, 1)] * 8)
    assert not certain_of_fixed(rows, rows.composition).certain[:2].any()


def test_an_insider_removes_her_own_rows() -> None:
    rows = one_leaf((1, 2), (0, 2), (0, 5))
    alone, with_insider = (certain_of_fixed(rows, rows.composition, insiders=n).certain for n in (0, 1))
    assert alone.tolist() == [[False, False], [False, False], [True, False]]
    assert with_insider.tolist() == [[False, True], [True, False], [True, False]]


def test_single_rows_of_others_settle_without_a_search_who_can_have_another_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError("searched")

    monkeypatch.setattr("leafgate.algorithms.person_certainty._ComponentSearch._assignment", refuse)
    rng = np.random.default_rng(0)
    person = np.append(np.repeat(np.arange(100), 3), np.arange(100, 200))
    leaf = np.append(rng.integers(4, size=300), np.arange(100) % 4)
    rows = RowsOfPersons(
        person=person,
        leaf=leaf[None, :],
        value=np.append(np.repeat(np.arange(100) % 2, 3), np.arange(100) // 4 % 2),
        rows=np.ones(400, dtype=np.int64),
        n_persons=200,
        n_values=2,
    )
    found = certain_of_fixed(rows, rows.composition, insiders=1)
    assert not found.certain.any()
    assert not found.open.any()


def test_a_mistyped_row_does_not_make_everybody_safe() -> None:
    """The rows of the person who has both values are free; those of the other one, of 30 rows, are not."""
    rows = one_leaf((1, 30), (1, 29), *[(0, 1)] * 8)
    mistyped = RowsOfPersons(
        person=np.append(rows.person, 1),
        leaf=np.zeros((1, 11), dtype=np.int64),
        value=np.append(rows.value, 0),
        rows=np.append(rows.rows, 1),
        n_persons=10,
        n_values=2,
    )
    assert certain_of_fixed(mistyped, mistyped.composition).certain.any(axis=1).tolist() == [True] + [False] * 9


def test_of_a_varying_secret_a_value_is_certain_where_rows_outnumber_those_without_it() -> None:
    rows = one_leaf((1, 6), (0, 3), (0, 2))
    assert certain_of_varying(rows, rows.composition).certain.tolist() == [
        [False, True],
        [False, False],
        [False, False],
    ]


@pytest.mark.parametrize("seed", range(4))
def test_certainty_equals_enumeration(seed: int) -> None:
    compare_with_enumeration(seed, cases=12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 130))
def test_certainty_equals_enumeration_on_3000_tables(seed: int) -> None:
    compare_with_enumeration(seed, cases=100)


def compare_with_enumeration(seed: int, cases: int) -> None:
    rng = np.random.default_rng(seed)
    while cases:
        rows, insiders = random_rows(rng, int(rng.integers(1, 3))), int(rng.integers(3))
        stated = stated_of(rows, rng.choice(["counts", "shares", "labels"]))
        fixed = bool(rng.integers(2))
        expected = certain_by_enumeration(rows, stated, insiders, fixed=fixed)
        if expected is None:
            continue
        found = (certain_of_fixed if fixed else certain_of_varying)(rows, stated, insiders=insiders)
        assert not found.open.any()
        assert found.certain.tolist() == expected.tolist(), (rows, insiders, fixed)
        cases -= 1
