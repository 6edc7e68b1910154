"""Canonical forms of texts: which spellings are the same, which are similar, and which are neither."""

import itertools
import unicodedata
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate.kernel.spelling import IGNORABLE, loose_form, same_form, similar_form, spellings_of_one

TEXTS = st.text() | st.text(alphabet="aA1.0,; -\u2013\u2212\u00a0\u200b\ufeff'\u2019\uff02ｶﾞ\u0301é²½…", max_size=8)

SAME = {
    "blanks at the ends": ("yes", " yes "),
    "a tab inside": ("not ill", "not\till"),
    "doubled blanks inside": ("not ill", "not  ill"),
    "a no-break space": ("not ill", "not\u00a0ill"),
    "a full stop at the end": (">50K", ">50K."),
    "a semicolon and a blank at the end": ("yes", "yes; "),
    "a zero-width space": ("yes", "y\u200bes"),
    "a byte order mark": ("yes", "\ufeffyes"),
    "a soft hyphen": ("illness", "ill\u00adness"),
    "NFC and NFD": ("malad\u00e9", "malade\u0301"),
    "full width": ("yes", "\uff59\uff45\uff53"),
    "half width kana": ("ガ", "ｶﾞ"),
    "an en dash": ("18-25", "18\u201325"),
    "a minus sign": ("A-", "A\u2212"),
    "a typographic apostrophe": ("don't", "don\u2019t"),
    "typographic quotes": ('"yes"', "\u201cyes\u201d"),
}
SIMILAR = {
    "case": ("AA", "Aa"),
    "one letter's case": ("K", "k"),
    "sharp s": ("STRASSE", "straße"),
    "a superscript": ("T²", "T2"),
    "a ligature": ("ﬁt", "fit"),
    "decimals that are zero": ("1", "1.0"),
    "more decimals that are zero": ("250.0", "250.00"),
    "a leading zero": ("1067", "01067"),
    "a power of ten": ("1000", "1E+3"),
    "zero and its negative": ("0", "-0.0"),
}
LOOSE = {
    "a hyphen": ("type 2", "type-2"),
    "an underscore": ("type 2", "type_2"),
    "no blank": ("type 2", "type2"),
    "brackets": ("diabetes (type 2)", "diabetes type 2"),
    "an accent": ("diab\u00e8te", "diabete"),
    "a Cyrillic letter": ("yes", "y\u0435s"),
    "a quoted text": ("hiv", "'hiv'"),
    "a mark at the end": ("hiv!", "hiv:"),
    "an entity": ("A & E", "A&amp;E"),
    "a decimal comma": ("1,5", "1.5"),
    "an Arabic digit": ("1", "\u0661"),
    "an umlaut in two letters": ("gr\u00fcn", "gruen"),
    "a Turkish letter": ("IZMIR", "\u0130zmir"),
    "blanks about a dash": ("5 - 10", "5-10"),
}
OTHER_THINGS = [
    *(("250.0", "2500"), ("<=50K", ">50K"), ("-1", "1"), ("(-1)", "(1)"), ("A+", "A-"), ("A", "A-"), ("A", "A*")),
    *(("1-2", "12"), ("1/2", "12"), ("1,5", "15"), ("1,500", "1.5"), ("E11.9", "E119"), ("<.5", "<5"), ("5 -1", "51")),
    *(("grade -1", "grade 1"), ("\u00b5g", "mg"), ("\u22605", "=5"), ("5%", "5"), ("$10", "\u20ac10"), ("AE", "A")),
]
DIFFERENT = [
    ("A+", "A-"),
    ("1", "-1"),
    ("y", "yes"),
    ("12345678901234567890", "12345678901234567891"),
    ("e", "é"),
    ("a b", "ab"),
    ("<=50K", ">50K"),
    ("1.5", "15"),
    (".", ","),
    ("", " "),
]


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME.keys())
def test_spellings_that_nobody_tells_apart_have_the_same_form(pair: tuple[str, str]) -> None:
    assert spellings_of_one(pair, same_form) == [pair]


@pytest.mark.parametrize("pair", SIMILAR.values(), ids=SIMILAR.keys())
def test_spellings_that_may_be_different_things_are_similar_and_not_the_same(pair: tuple[str, str]) -> None:
    assert spellings_of_one(pair, similar_form) == [pair]
    assert spellings_of_one(pair, same_form) == []


@pytest.mark.parametrize("pair", DIFFERENT)
def test_different_values_and_empty_forms_are_not_similar(pair: tuple[str, str]) -> None:
    assert spellings_of_one(pair, similar_form) == []


@pytest.mark.parametrize("pair", LOOSE.values(), ids=LOOSE.keys())
def test_spellings_that_are_to_be_asked_about_have_a_loose_form_and_no_similar_one(pair: tuple[str, str]) -> None:
    assert spellings_of_one(pair, loose_form) == [pair]
    assert spellings_of_one(pair, similar_form) == []


@pytest.mark.parametrize("pair", OTHER_THINGS)
def test_signs_digits_and_units_keep_loose_forms_apart(pair: tuple[str, str]) -> None:
    assert spellings_of_one(pair, loose_form) == []


@given(TEXTS | st.text(alphabet="aeu12-+<,./&;#x(\u0301\u0430 "), TEXTS)
def test_a_loose_form_is_its_own_form_and_follows_from_the_similar_form(text: str, other: str) -> None:
    form = loose_form(text)
    assert loose_form(form) == form == loose_form(similar_form(text))
    assert similar_form(text) != similar_form(other) or form == loose_form(other)


@given(TEXTS)
def test_each_form_is_its_own_form_and_similar_forms_follow_from_the_same_form(text: str) -> None:
    assert same_form(same_form(text)) == same_form(text)
    assert similar_form(similar_form(text)) == similar_form(text) == similar_form(same_form(text))


@given(TEXTS, st.data())
def test_a_form_is_the_same_whatever_invisible_characters_and_blanks_are_added(text: str, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(text)))
    invisible = data.draw(st.sampled_from("\u00ad\u200b\u200d\u2060\ufe0f\ufeff\x00"))
    assert same_form(text[:position] + invisible + text[position:]) == same_form(text)
    assert same_form(f"\u3000\t{text} \u00a0.") == same_form(text)
    assert same_form(unicodedata.normalize("NFD", text)) == same_form(text)


@given(st.lists(TEXTS, max_size=8, unique=True))
def test_spellings_of_one_are_the_pairs_with_one_form(texts: list[str]) -> None:
    for form in (same_form, similar_form):
        found = [{*pair} for alike in spellings_of_one(texts, form) for pair in itertools.combinations(alike, 2)]
        pairs = itertools.combinations(texts, 2)
        assert all(({a, b} in found) == (form(a) == form(b) != "") for a, b in pairs)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9))
def test_numbers_are_similar_where_their_values_are_equal(number: Decimal) -> None:
    text = f"{number:f}"
    assert similar_form(text) == similar_form(f"{text}0") == similar_form(f"{number:.15e}")
    assert similar_form(text) != similar_form(f"{text}1")


def test_white_space_is_not_ignorable() -> None:
    assert not [code for code in range(0x110000) if chr(code).isspace() and IGNORABLE.match(chr(code))]
