from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate.same_names import person, seen

JANE = "jane@example.org"
IGNORABLE = [
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
]
"""Default_Ignorable_Code_Point, as Unicode 15.1 lists it."""
BLANK = [*(sign for low, high in IGNORABLE for sign in range(low, high + 1)), 0x2800, 0x13441, 0x16FE4, 0x1D159]
SPACES = [sign for sign in range(sys.maxunicode + 1) if chr(sign).isspace()]


@pytest.mark.parametrize("signs", [BLANK, SPACES], ids=["blank", "spaces"])
def test_a_sign_that_shows_nothing_makes_nobody_somebody_else(signs: list[int]) -> None:
    for sign in map(chr, signs):
        assert {person(f"{JANE}{sign}"), person(f"{sign}{JANE}"), person(f"ja{sign}ne@example.org")} == {JANE}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Straße", "STRASSE"),
        ("i\u0307da", "\u0130da"),
        ("\u03c3\u03b1\u03c2", "\u03a3\u0391\u03a3"),
        ("e\N{COMBINING ACUTE ACCENT}", "\u00c9"),
        ("e\N{COMBINING GRAPHEME JOINER}\N{COMBINING ACUTE ACCENT}", "\u00e9"),
        ("\N{FULLWIDTH LATIN SMALL LETTER J}ane", "Jane"),
    ],
)
def test_case_and_forms_of_letters_make_nobody_somebody_else(one: str, other: str) -> None:
    assert person(one) == person(other)


@pytest.mark.parametrize("other", ["joan@example.org", "jane@example.com", "j\u00e1ne@example.org", "jan@example.org"])
def test_what_is_seen_tells_people_apart(other: str) -> None:
    assert person(other) != person(JANE)


@given(st.text())
def test_a_plain_name_is_plain_already(name: str) -> None:
    assert person(person(name)) == person(name)
    assert seen(seen(name)) == seen(name)


@given(st.text(st.characters(codec="ascii", exclude_categories=["C", "Z"])))
def test_all_of_plain_ascii_is_seen(name: str) -> None:
    assert seen(name) == name
