"""Canonical forms of the text of a cell: what spellings of one value have in common.

Texts with the *same* form mean one value: nobody means two things by them. Texts with a *similar* form usually mean
one, but genotypes AA and Aa, blood groups K and k, ICD codes 250.0 and 250.00, codes 1067 and 01067, and T² and T2 are
different things. Texts with a *loose* form may mean one, which is only asked where it matters. All three forms are
functions of one text, to be computed once for each distinct text of a column.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache

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

CANONICAL_NUMBER = re.compile(r"-?[0-9]+(e-?[0-9]+)?")
"""A number as `similar_form` writes it."""

DECIMAL_COMMA = re.compile(r"([-+]?[0-9]+),([0-9]{1,2}|[0-9]{4,})")
"""A number with a decimal comma: before three digits a comma may separate thousands."""

ACCENTS = re.compile("[\u0300-\u0337\u0339-\u036f]")
"""Marks of Latin, Greek and Cyrillic letters, but for the stroke that makes another sign of `=`."""

CYRILLIC = "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0456\u0458\u0455"
"""Small Cyrillic letters that look like Latin ones, or whose capitals do."""

GREEK = "\u03b1\u03b2\u03b5\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7"
"""Small Greek letters that look like Latin ones, or whose capitals do; without that of micrograms."""

LATIN = "\u0131\u00f8\u0142\u0111"
"""Latin letters that are a letter with a mark, and have no decomposition."""

LOOK_ALIKES = str.maketrans(CYRILLIC + GREEK + LATIN, "abekmhopctyxijs" + "abeikvoptyx" + "iold") | str.maketrans(
    {"\u00e6": "ae", "\u0153": "oe"}
)

UMLAUT = re.compile("(?<=[aou])e(?=[a-z])")
"""The second letter of an umlaut that is written as two letters."""

SEPARATING_HYPHEN = re.compile(r"(?<=[^\W\d_])-(?=[^\W_])|(?<=\d)-(?=[^\W\d_])")
"""A hyphen within a word, or between a word and a number; another one may be a sign, or mean `to`."""

KEPT_MARKS = "#%&*@-"
"""Punctuation that makes another value, as in A*, C# and 5%."""


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
    if not different:
        return similar_form

    def form(text: str) -> str:
        same = same_form(text)
        return same if same in different else similar_form(same)

    return form


def loose_form(text: str) -> str:
    """What spellings of a text have in common that may mean one value, and often mean two: no values are merged by it.

    In addition to `similar_form`, accents, blanks and punctuation are dropped, but for those between digits and for
    hyphens that may be a sign or mean `to`; letters that look like Latin ones are these; HTML entities, digits of all
    scripts and decimal commas are the ordinary ones.

    Args:
        text: of a cell.

    Returns:
        The form, which is its own form. Texts with the same `similar_form` have the same. An empty form equals nothing.

    >>> loose_form("Type-2 (diab\u00e8te)"), loose_form("A -"), loose_form("-1"), loose_form("1/2")
    ('type2diabete', 'a-', '-1', '1 2')
    """
    form, folded = "", similar_form(text)
    while folded != form:
        form, folded = folded, similar_form(_letters(folded))
    return form


def spellings_of_one(texts: Iterable[str], form: Callable[[str], str]) -> list[tuple[str, ...]]:
    """The distinct texts that have one form, where two or more have.

    Args:
        texts: distinct texts of a column.
        form: `same_form`, `similar_form` or `loose_form`.

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


def _letters(text: str) -> str:
    """A similar form without accents and punctuation; a blank stays in place of it between digits and before signs."""
    if CANONICAL_NUMBER.fullmatch(text):
        return text
    letters = html.unescape(text)
    if not letters.isascii():
        letters = ACCENTS.sub("", unicodedata.normalize("NFKD", letters)).translate(LOOK_ALIKES)
        letters = re.sub(r"\d", lambda digit: str(unicodedata.digit(digit[0])), letters)
    if number := DECIMAL_COMMA.fullmatch(letters):
        return f"{number[1]}.{number[2]}"
    letters = SEPARATING_HYPHEN.sub("", re.sub(r"\s+-\s+", "-", UMLAUT.sub("", letters)))
    letters = re.sub(r"(?<!\w)\.(?=\d)", "0.", letters)
    kept = "".join(map(_kept, letters))
    return re.sub(r"(?<=\d) +(?=\d)|(?<=\w) +(?=-\d)", "\0", kept).replace(" ", "").replace("\0", " ")


@lru_cache
def _kept(character: str) -> str:
    return character if character in KEPT_MARKS or unicodedata.category(character)[0] in "LMNS" else " "


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
