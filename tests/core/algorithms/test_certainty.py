"""What is certain of groups: enumeration of insiders, windows and totals on small groups."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate.algorithms.certainty import (
    Window,
    Windows,
    cells_of_few,
    certain_values,
    dominating,
    printed_cells,
    rounded_median,
)
from leafgate.api import Column, Ids

GROUPS = st.lists(st.integers(0, 2), min_size=1, max_size=7)


def is_certain_to_some(group: list[int], who: int, insiders: int) -> bool:
    """Is the value of a person certain to some others of the group who know their own, by trying all of them?"""
    others = [i for i in range(len(group)) if i != who]
    for few in range(min(insiders, len(others)) + 1):
        for chosen in itertools.combinations(others, few):
            left = {group[i] for i in range(len(group)) if i not in chosen}
            if len(left) == 1:
                return True
    return False


@given(GROUPS, st.integers(0, 2))
def test_a_value_is_certain_where_some_insiders_leave_nothing_else(group: list[int], insiders: int) -> None:
    people = np.bincount(group, minlength=3).astype(float)
    found = certain_values(people, insiders)
    assert [bool(found[value]) for value in group] == [
        is_certain_to_some(group, who, insiders) for who in range(len(group))
    ]


NUMBERS = st.lists(st.integers(0, 40), min_size=1, max_size=7)


def in_window(numbers: list[int], window: Window) -> bool:
    """Are all numbers in one window?"""
    low, high = min(numbers), max(numbers)
    return high - low <= max(window.share * high, window.width) + 1e-9


@given(
    st.lists(NUMBERS, min_size=1, max_size=3), st.integers(0, 1), st.sampled_from([Window(share=0.1), Window(width=4)])
)
def test_a_number_is_certain_where_all_but_the_insiders_are_in_one_window_with_it(
    groups: list[list[int]], insiders: int, window: Window
) -> None:
    numbers = np.array([number for group in groups for number in group], dtype=float)
    group = np.repeat(np.arange(len(groups)), [len(each) for each in groups])
    windows = Windows.of(numbers, np.ones(len(numbers), dtype=np.int64), group, window)
    expected = []
    for members in groups:
        for who in range(len(members)):
            others = [i for i in range(len(members)) if i != who]
            left_out = [(), *((i,) for i in others)] if insiders else [()]
            expected.append(
                any(in_window([n for i, n in enumerate(members) if i not in chosen], window) for chosen in left_out)
            )
    assert windows.certain(insiders, np.ones(len(numbers), dtype=bool)).tolist() == expected


@given(NUMBERS, st.sampled_from([Window(share=0.1), Window(width=4)]))
def test_the_largest_share_in_a_window_is_that_among_the_others_of_any_one_person(
    numbers: list[int], window: Window
) -> None:
    windows = Windows.of(
        np.array(numbers, dtype=float),
        np.ones(len(numbers), dtype=np.int64),
        np.zeros(len(numbers), dtype=np.int64),
        window,
    )
    shares = [1.0] if len(numbers) == 1 else []
    for left_out in range(len(numbers)):
        others = [number for i, number in enumerate(numbers) if i != left_out]
        for start in others:
            inside = [n for n in others if n >= start and in_window([start, n], window)]
            shares.append(len(inside) / len(others))
    assert windows.largest_share(np.ones(len(numbers), dtype=bool))[0] == pytest.approx(max(shares))


def test_a_record_of_several_people_counts_as_often_as_they_are() -> None:
    windows = Windows.of(np.array([5.0, 30.0]), np.array([9, 1]), np.array([0, 0]), Window(width=1.0))
    assert windows.certain(1, np.array([True, True])).tolist() == [True, False]
    assert windows.largest_share(np.array([True, True])).tolist() == [1.0]
    assert windows.largest_share(np.array([False, True])).tolist() == [pytest.approx(1 / 9)]


@given(st.lists(NUMBERS, min_size=1, max_size=3), st.integers(0, 1))
def test_a_total_discloses_its_largest_number_where_the_rest_is_less_than_a_tenth_of_it(
    groups: list[list[int]], insiders: int
) -> None:
    numbers = np.array([number for group in groups for number in group], dtype=float)
    group = np.repeat(np.arange(len(groups)), [len(each) for each in groups])
    expected = []
    for members in groups:
        falling = sorted(members, reverse=True)
        rest = sum(falling) - sum(falling[: insiders + 1])
        exposed = rest < 0.1 * falling[0]
        expected += [exposed and number == falling[0] for number in members]
    assert dominating(numbers, np.ones(len(numbers), dtype=np.int64), group, insiders).tolist() == expected


def test_records_in_no_group_dominate_none() -> None:
    assert dominating(np.array([9.0, 9.0]), np.array([1, 1]), np.array([-1, 0])).tolist() == [False, True]


def test_a_published_number_is_a_cell_to_single_precision() -> None:
    numbers = np.array([23417.51, 100.25, 30.0, 7.77])
    printed = np.array([np.float32(23417.51), 100.25, 30.0], dtype=float)
    assert printed_cells(numbers, printed).tolist() == [True, True, True, False]
    assert printed_cells(numbers, np.append(printed, 0.1)).tolist() == [False, True, True, False]  # double precision


def test_a_cell_is_of_few_people_unless_it_is_public_or_many_have_it() -> None:
    numbers = np.array([23417.51, 100.25, 30.0])

    def people_by(group: Ids, size: int) -> Ids:
        return np.bincount(group, weights=[1, 10, 1], minlength=size).astype(np.int64)

    assert cells_of_few(numbers, people_by, 10, 1.0).tolist() == [True, False, False]
    assert cells_of_few(numbers, people_by, 10, None).tolist() == [True, False, True]


def test_windows_are_a_share_of_ratios_and_of_the_bounds_of_other_numbers() -> None:
    pay = Column("pay", frozenset({"class"}), values=("a", "b"), edges=(0.0, 10.0, 200.0), scale="ratio")
    born = Column("born", frozenset({"sensitive"}), bounds=(1900.0, 2000.0), bins=(1900.0, 1950.0, 2000.0))
    assert (Window.of(pay), Window.of(born)) == (Window(share=0.1), Window(width=5.0))


def test_the_rounded_median_has_two_digits() -> None:
    assert rounded_median(np.array([-1234.5, 0.0, 5.0]), np.array([1, 1, 3])) == 5.0
    assert rounded_median(np.array([-1234.5, 1234.5]), np.array([1, 3])) == 1200.0
