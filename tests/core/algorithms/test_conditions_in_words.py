"""Conditions on people in words admit the people whom the tests of a tree admit."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate.algorithms.feasible import Domain, Interval, conditions_in_words
from leafgate.api import Column, Schema

KNOWN = frozenset({"quasi_identifier"})
SCHEMA = Schema((Column("age", KNOWN, bounds=(0, 9), missing=True), Column("job", KNOWN, values=("baker", "smith"))))
ENDS = st.integers(-2, 20).map(lambda half: half / 2)


SAID = re.compile(r"age (?:(at least|above) (-?[\d.]+))?(?: and )?(?:at most (-?[\d.]+))?(?:a number)?|age (-?[\d.]+)")


@given(low=ENDS, width=st.integers(1, 20), is_whole=st.booleans())
def test_words_on_numbers_admit_the_numbers_of_the_interval(low: float, width: int, is_whole: bool) -> None:
    high = low + width / 2
    [words] = conditions_in_words({"age": Interval(low, high, missing=False)}, SCHEMA, ["age"] if is_whole else [])
    said = SAID.fullmatch(words)
    assert said is not None, words
    sign, least, most, alone = said.groups()
    for number in range(10) if is_whole else (half / 2 for half in range(19)):
        above = least is None or number > float(least) or (number == float(least) and sign == "at least")
        below = most is None or number <= float(most)
        admitted = above and below if alone is None else number == float(alone)
        assert admitted == (low < number <= high), words


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        (Interval(-1, 18.5, missing=True), "age at most 18 or missing"),
        (Interval(4.5, 5.5, missing=False), "age 5"),
        (frozenset({"baker"}), "job baker"),
        (frozenset({"smith", "baker"}), "job baker or smith"),
    ],
)
def test_words_are_plain(domain: Domain, words: str) -> None:
    name, schema = words.split()[0], Schema((Column("age", KNOWN, bounds=(0, 90), missing=True), SCHEMA["job"]))
    assert conditions_in_words({name: domain}, schema, ["age"]) == [words]
