"""Canonical forms of the text of a cell: what spellings of one value have in common.

Texts with the *same* form mean one value: nobody means two things by them. Texts with a *similar* form usually mean
one, but genotypes AA and Aa, blood groups K and k, ICD codes 250.0 and 250.00, codes 1067 and 01067, and T² and T2 are
different things. Both forms are functions of one text, to be computed once for each distinct text of a column.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable

IGNORABLE = re.compile(
    "[\u0000-\u0008\u000e-\u001b\u007f-\u0084\u0086-\u009f"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Characters that are not visible: control characters but white space, and Default_Ignorable_Code_Point.

Source: DerivedCoreProperties.txt of the Unicode Character Database, version 16.0.
"""

SINGLE_QUOTES = "`\u00b4\u2018\u2019\u201a\u201b\u2032\u02bc\u2039\u203a"
"""Quotation marks, accents, apostrophes and primes that are written for an apostrophe."""

DOUBLE_QUOTES = "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb"
"""Quotation marks and primes that are written for a quotation mark."""

QUOTES = str.maketrans(dict.fromkeys(SINGLE_QUOTES, "'") | dict.fromkeys(DOUBLE_QUOTES, '"'))

MINUS_SIGN = "\u2212"
"""A sign that is no punctuation, and looks like a dash."""

TRAILING = " .,;"
"""What is dropped at the end of a text."""

NUMBER = re.compile(r"([-+]?)([0-9]*)(?:\.([0-9]*))?(?:e([-+]?[0-9]{1,9}))?")
"""A number as people and programs write it, in small letters."""


def same_form(text: str) -> str:
    """What all spellings of a text have in common that nobody takes for another value.

    White space is trimmed and its inner runs are one blank; invisible characters are dropped; the text is in the
    normal form NFC; full width and half width characters, dashes and quotes are the ordinary ones; full stops,
    commas and semicolons at the end are dropped.

    Args:
        text: of a cell.

    Returns:
        The form, which is its own form. An empty form is that of no value: it equals nothing.

    >>> same_form(" <=50K. "), same_form("Not  ill")
    ('<=50K', 'Not ill')
    """
    if text.isascii() and text.isprintable():  # as most are, for which the rest would take long
        ordinary = text.replace("`", "'")
    else:
        visible = "".join(map(_ordinary_width, IGNORABLE.sub("", text)))
        ordinary = "".join(map(_hyphen, unicodedata.normalize("NFC", visible))).translate(QUOTES)
    return " ".join(ordinary.split()).rstrip(TRAILING)


def similar_form(text: str) -> str:
    """What spellings of a text have in common that usually mean one value, although they may mean two.

    In addition to `same_form`, case is folded, the text is in the normal form NFKC, and a number is its value.

    Args:
        text: of a cell.

    Returns:
        The form, which is its own form. Texts with the same `same_form` have the same. An empty form equals nothing.

    >>> similar_form("Yes") == similar_form("yes"), similar_form("1.0") == similar_form("01"), similar_form("T²")
    (True, True, 't2')
    """
    form, folded = "", same_form(text)
    while folded != form:
        form, folded = folded, folded.casefold()
        if not folded.isascii():
            folded = same_form(unicodedata.normalize("NFKC", folded))
    return form if form[:1].isalpha() else _number(form)


def similar_ids(distinct: Iterable[Iterable[str]]) -> Callable[[str], str]:
    """`similar_form` for ids of people, of which those that a policy calls `distinct` keep their `same_form`.

    >>> form = similar_ids([["p1", "P1"]])
    >>> form("p1") == form("P1"), form("p2") == form("P2")
    (False, True)
    """
    different = frozenset(same_form(text) for each in distinct for text in each)

    def form(text: str) -> str:
        same = same_form(text)
        return same if same in different else similar_form(same)

    return form


def spellings_of_one(texts: Iterable[str], form: Callable[[str], str]) -> list[tuple[str, ...]]:
    """The distinct texts that have one form, where two or more have.

    Args:
        texts: distinct texts of a column.
        form: `same_form` or `similar_form`.

    Returns:
        A tuple for each form that is not empty, in the order of its first text; each in the order of `texts`.

    >>> spellings_of_one(["yes", "no", "yes ", ".", ","], same_form)
    [('yes', 'yes ')]
    """
    found: dict[str, list[str]] = {}
    for text in texts:
        found.setdefault(form(text), []).append(text)
    return [tuple(alike) for key, alike in found.items() if key and len(alike) > 1]


def _ordinary_width(character: str) -> str:
    kind, _, code = unicodedata.decomposition(character).partition(" ")
    return chr(int(code, 16)) if kind in ("<wide>", "<narrow>") else character


def _hyphen(character: str) -> str:
    return "-" if character == MINUS_SIGN or unicodedata.category(character) == "Pd" else character


def _number(form: str) -> str:
    """The form; of a number its digits without zeros at either end, and the power of ten that they are multiples of."""
    parts = NUMBER.fullmatch(form)
    if parts is None or not (parts[2] or parts[3]):
        return form
    sign, whole, fraction, power = parts[1], parts[2], parts[3] or "", int(parts[4] or 0)
    digits = (whole + fraction).lstrip("0")
    kept = digits.rstrip("0")
    if not kept:
        return "0"
    exponent = power - len(fraction) + len(digits) - len(kept)
    return f"{sign.replace('+', '')}{kept}" + (f"e{exponent}" if exponent else "")
