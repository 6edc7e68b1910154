"""The file a release is read from: which one it is, and what a model's file tells beyond its predictions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from leafgate.types.release import OTHER_CONTENT, FileDisclosure

RATIOS = FileDisclosure(
    "ratios", "medium", "shares to the last digit: of small leaves they betray how many people are in them"
)
COUNTS = FileDisclosure("counts", "high", "how many people of each class are at the leaves", "counts")
SIZES = FileDisclosure("sizes", "high", "how many people are at the leaves", "counts")
SCORES = FileDisclosure("scores", "low", "each leaf's score, without which nobody could predict")
NUMBERS = FileDisclosure(
    "numbers",
    "low",
    "each leaf's number, without which nobody could predict: often the mean of its people's",
)

PEOPLE = 100
"""So many numbers may be what people have."""
SIGNS = 10
"""So many letters of a text count as one number."""

MAX_TEXT = 199
"""Signs of the longest text that writers of model files make up of their own words."""

MAX_DIGITS, MAX_NUMBER = 24, 9
"""Digits of such a text in all, as in a version and a date, and of one number in it."""

DIGITS = frozenset("0123456789")
TOKEN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^A-Za-z0-9]")
BETWEEN_WORDS = frozenset(" \t\n_-.:,;()[]{}<>/|'\"=+*!$~%")


def text_size(*texts: str | bytes) -> int:
    """What texts that nobody needs count in `other_content`: any of them may name somebody, however short it is."""
    long = sum(map(len, texts)) // SIGNS
    return max(PEOPLE, long) if any(text.strip() for text in texts) else long


def has_known_words(text: str, words: Collection[str]) -> bool:
    """Is a text made of these words (in small letters) and a few digits alone, with or without signs between them?

    Words may follow one another as in `TreeEnsemble12` or `concat_result`. One letter alone is a word: people name
    steps so.
    """
    if len(text) == 1 and text.isascii() and text.isalpha():
        return True
    if len(text) > MAX_TEXT or sum(sign in DIGITS for sign in text) > MAX_DIGITS:
        return False
    return all(
        token in BETWEEN_WORDS or token.lower() in words or (token[0] in DIGITS and len(token) <= MAX_NUMBER)
        for token in TOKEN.findall(text)
    )


def unread_texts(
    place: str, texts: Iterable[str], words: Collection[str], names: Collection[str] = frozenset()
) -> Iterator[tuple[str, int]]:
    """For `other_content`: the texts that are none of `names`, which readers account for, nor made of known words.

    A text may also be one of the names and known words behind it, as in `age_cast1`. No text is part of the result.
    """
    strange = {text for text in set(texts) - {""} if text not in names and not _derived(text, words, names)}
    if strange:
        yield place, text_size(*strange)


def _derived(text: str, words: Collection[str], names: Collection[str]) -> bool:
    """Is it made of known words, perhaps behind a name?"""
    if has_known_words(text, words):
        return True
    ends = range(min(len(text), 2 * MAX_TEXT) - 1, 0, -1)
    return any(text[:end] in names and has_known_words(text[end:], words) for end in ends)


def other_content(parts: Iterable[tuple[str, int]]) -> tuple[FileDisclosure, ...]:
    """What stands in a file and was not read: for each part its kind and place in words, and how many numbers it holds.

    `high` where they could be people's; nothing where there is nothing.
    """
    found = list(parts)
    if not found:
        return ()
    places = list(dict.fromkeys(place for place, _ in found))
    listed = ", ".join(places[:8]) + (f" and {len(places) - 8} more" if len(places) > 8 else "")
    many = sum(size for _, size in found) >= PEOPLE
    says = f"{OTHER_CONTENT}: {len(found)} part(s) ({listed})"
    return (FileDisclosure("other_content", "high" if many else "medium", says),)
