from __future__ import annotations

import sys
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate.io.contacts import address_of, normalize_person_name, same_person, visible_text

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


def spaces() -> list[int]:
    return [sign for sign in range(sys.maxunicode + 1) if chr(sign).isspace()]


@pytest.mark.parametrize("signs", [lambda: BLANK, spaces], ids=["blank", "spaces"])
def test_a_sign_that_shows_nothing_makes_nobody_somebody_else(signs: Callable[[], list[int]]) -> None:
    for sign in map(chr, signs()):
        assert {
            normalize_person_name(f"{JANE}{sign}"),
            normalize_person_name(f"{sign}{JANE}"),
            normalize_person_name(f"ja{sign}ne@example.org"),
        } == {JANE}


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
    assert normalize_person_name(one) == normalize_person_name(other)


@pytest.mark.parametrize("other", ["joan@example.org", "jane@example.com", "j\u00e1ne@example.org", "jan@example.org"])
def test_what_is_seen_tells_people_apart(other: str) -> None:
    assert normalize_person_name(other) != normalize_person_name(JANE)


@given(st.text())
def test_a_plain_name_is_plain_already(name: str) -> None:
    assert normalize_person_name(normalize_person_name(name)) == normalize_person_name(name)
    assert visible_text(visible_text(name)) == visible_text(name)


@given(st.text(st.characters(codec="ascii", exclude_categories=["C", "Z"])))
def test_all_of_plain_ascii_is_seen(name: str) -> None:
    assert visible_text(name) == name


ALSO_JANE = [
    "Jane <jane@example.org>",
    "Somebody Else <jane@example.org>",
    "jane+dpo@example.org",
    "+jane@example.org",
    "j.a.n.e@example.org",
    "jane-@example.org",
    "-jane@example.org",
    "jane@example.org.",
    "jane@example.org-",
    "jane@EXAMPLE.org",
    "jane @ example.org",
    "ja ne+x@example.org",
    '"jane"@example.org',
    "jane(dpo)@example.org",
    "<jane@example.org>",
    "mailto:jane@example.org",
    "Jane (DPO) jane@example.org",
    "dpo@example.org <jane@example.org>",
    "jane@example.org, dpo@example.org",
    "jane\N{FULLWIDTH COMMERCIAL AT}example.org",
    "jane@example\N{IDEOGRAPHIC FULL STOP}org",
    "jane@exam\N{ZERO WIDTH SPACE}ple.org",
    "jane@[example.org]",
    "Jane",
    "JANE",
    "jane at example.org",
    "Jane Doe",
    "Doe, Jane",
]


@pytest.mark.parametrize("text", ALSO_JANE)
def test_an_address_is_one_person_whatever_stands_around_and_within_it(text: str) -> None:
    assert same_person(JANE, text)
    assert same_person(text, JANE)


@pytest.mark.parametrize(
    "text",
    ["joan@example.org", "jane@example.com", "jane@mail.example.org", "Jane Doe <joan@example.org>", "DPO", "-", ""],
)
def test_another_address_or_another_name_is_somebody_else(text: str) -> None:
    assert not same_person(JANE, text)
    assert not same_person(text, JANE)


@pytest.mark.parametrize("address", ["jane.doe", "doe.jane", "jdoe", "janed", "j.doe+x", "janedoe", "doe"])
def test_a_name_without_an_address_is_whose_local_part_spells_it(address: str) -> None:
    assert same_person("Jane Doe", f"{address}@example.org")
    assert not same_person("Jane Doe <jd7@example.org>", f"{address}@example.org")


def test_equal_names_are_one_person_whatever_their_addresses() -> None:
    assert same_person("Jane Doe <a@example.org>", "Doe, Jane <b@example.com>")
    assert same_person("Jane Doe", "Jane Doe <b@example.com>")
    assert not same_person("Jane Doe", "Joan Doe")


def test_a_domain_is_the_same_in_letters_and_as_dns_has_it() -> None:
    assert same_person("a@xn--bcher-kva.example", "a@B\u00dcCHER.example")
    assert not same_person("a@xn--bcher-kva.example", "a@bucher.example")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("dpo@example.org", "dpo@example.org"),
        ("DPO <Dpo@Example.ORG.>", "dpo@example.org"),
        ("d.p-o@example.org", "d.p-o@example.org"),
        ("dpo+1@example.org", "dpo+1@example.org"),
        ("dpo@xn--bcher-kva.example", "dpo@b\u00fccher.example"),
        ('"dpo@example.org"@example.com', ""),
        ("dpo@example.org <jane@example.org>", ""),
        ("dpo@example.org, jane@example.org", ""),
        ("<dpo@example.org> jane", ""),
        ("<dpo@example.org", ""),
        ("dpo", ""),
        ("dpo@", ""),
        ("@example.org", ""),
        ("dp o@example.org", ""),
    ],
)
def test_somebody_is_known_by_one_address_as_it_is_delivered(text: str, address: str) -> None:
    assert address_of(text) == address


@given(st.text(), st.text())
def test_who_is_the_same_person_does_not_depend_on_the_order(one: str, another: str) -> None:
    assert same_person(one, another) == same_person(another, one)
    assert same_person(one, one)
    assert address_of(address_of(one)) == address_of(one)


@pytest.mark.parametrize(
    "sign", ["a", "@", "<", "(", "()", ". ", "a ", '"', "\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}"]
)
def test_a_long_entry_is_compared_in_no_time(sign: str) -> None:
    long = (sign * 2000)[:2000]
    before = time.process_time()
    same_person(long, JANE)
    same_person(f"{long}@example.org", f"{long} <{JANE}>")
    address_of(long)
    assert time.process_time() - before < 2
