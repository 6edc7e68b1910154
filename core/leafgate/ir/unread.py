"""What a model's file holds besides the model: content that no reader needs and no known program writes there."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import numpy as np

from leafgate.bounded.objects import ObjectView
from leafgate.kernel.release import FileDisclosure

OTHER_CONTENT = "other content, which nobody needs to predict"
"""How the description begins of what a file discloses besides everything that the readers know."""

MANY_NUMBERS = 100
"""So many numbers may be the cells of people: from here on unread content is `high`."""

LETTERS_PER_NUMBER = 10
"""So many letters of a text count as one number."""

MAX_TEXT = 199
"""Characters of the longest text that a writer of model files composes of its own words."""

MAX_DIGITS = 24
"""Digits of such a text in all, as in a version and a date."""

MAX_NUMBER = 9
"""Digits of one number in such a text."""

DIGITS = frozenset("0123456789")
TOKEN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^A-Za-z0-9]")
SHORT_TEXT = re.compile(r"""[\w.:<>()/+*\-\[\]{}"'|~!%$?@]{1,60}( [\w.:<>()/+*\-\[\]{}"'|~!%$?@]{1,60}){0,2}""")
"""A name of a step, a feature or a function, or a setting: up to three words."""

MAX_LETTERS = 60
"""Letters of the longest of these."""

MAX_TEXTS = 300
"""No model has more of these; more could be a table."""

STEP_NAMES = FileDisclosure("names", "low", "names that somebody gave the steps of a pipeline")

BETWEEN_WORDS = frozenset(" \t\n_-.:,;()[]{}<>/|'\"=+*!$~%")


class ContentKind(Enum):
    """Kinds of content under a key of a file.

    FLAG is a line that is the key alone, in a format of lines; TEXT, NUMBER and TABLE are one of these, in JSON an
    object for a TABLE, and neither true nor false for a NUMBER; TEXTS, NUMBERS and TABLES are lists of these; ANY is
    plain values, nested or not, true, false and null among them.
    """

    FLAG = auto()
    TEXT = auto()
    NUMBER = auto()
    TEXTS = auto()
    NUMBERS = auto()
    TABLE = auto()
    TABLES = auto()
    ANY = auto()


@dataclass(frozen=True)
class ContentField:
    """What a format holds under one key; a limit is a number, or the name of one in the `limits` of a check.

    Attributes:
        kind: the kind of content.
        pattern: what a text, or each text of a list, looks like.
        length: the exact number of values in a list.
        max_values: the largest number of values in a list, of words in a text, or of plain values in anything else.
        below: numbers are whole, at least 0 and less than this.
        booleans: in a list of numbers, true and false are numbers, too.
        words: the text, or each of a list, is the program's or a short one of the user's; it is kept.
        fields: what the table, or each table of a list, holds in turn; None where the caller checks that.
    """

    kind: ContentKind
    pattern: re.Pattern[str] | None = None
    length: int | str | None = None
    max_values: int | str | None = None
    below: int | str | None = None
    booleans: bool = False
    words: bool = False
    fields: Mapping[str, ContentField] | None = None

    def accepts(self, value: Any, limits: Mapping[str, int]) -> bool:
        """Whether the value is of this kind, form and length; tables within it are not looked into."""
        if not self._has_length(value, limits):
            return False
        match self.kind:
            case ContentKind.FLAG:
                return isinstance(value, str) and not value
            case ContentKind.TEXT:
                return self._is_text(value)
            case ContentKind.NUMBER:
                return type(value) in {int, float} and self._are_numbers([value], limits)
            case ContentKind.TEXTS:
                return isinstance(value, list | np.ndarray) and all(map(self._is_text, value))
            case ContentKind.NUMBERS:
                return self._are_numbers(value, limits)
            case ContentKind.TABLE:
                return isinstance(value, dict)
            case ContentKind.TABLES:
                return isinstance(value, list | np.ndarray) and all(isinstance(each, dict) for each in value)
            case ContentKind.ANY:
                return not isinstance(value, str) or self._is_text(value)

    def _has_length(self, value: Any, limits: Mapping[str, int]) -> bool:
        if self.length is None and self.max_values is None:
            return True
        if self.kind is ContentKind.ANY:
            return self.max_values is None or count_values(value) <= _resolve(self.max_values, limits)
        items: Any = value.split() if isinstance(value, str) else value
        if not isinstance(items, list | np.ndarray):
            return False
        number: int = len(items)
        exact = self.length is None or number == _resolve(self.length, limits)
        return exact and (self.max_values is None or number <= _resolve(self.max_values, limits))

    def _is_text(self, value: Any) -> bool:
        return isinstance(value, str) and (self.pattern is None or self.pattern.fullmatch(value) is not None)

    def _are_numbers(self, value: Any, limits: Mapping[str, int]) -> bool:
        numbers = number_array(value)
        if numbers is None or not (self.booleans or _has_no_booleans(value, numbers)):
            return False
        if not len(numbers) or self.below is None:
            return True
        limit = _resolve(self.below, limits)
        return numbers.dtype.kind in "iub" and bool(((numbers >= 0) & (numbers < limit)).all())


def _resolve(limit: int | str, limits: Mapping[str, int]) -> int:
    return limits[limit] if isinstance(limit, str) else limit


def _has_no_booleans(value: Any, numbers: np.ndarray) -> bool:
    """Whether no number of the list is true or false; NumPy makes 1 and 0 of them where others are beside them."""
    return numbers.dtype.kind != "b" and (isinstance(value, np.ndarray) or bool not in set(map(type, value)))


def number_array(value: Any) -> np.ndarray | None:
    """A list of numbers as an array of shape (n,); None for anything else, also for a list that holds a text."""
    if not isinstance(value, list | np.ndarray):
        return None
    try:
        numbers = np.array(value)
    except (ValueError, TypeError, OverflowError):
        return None
    return numbers if numbers.ndim == 1 and (not len(numbers) or numbers.dtype.kind in "iufb") else None


class UnreadTracker:
    """Collects the parts of one file that are not part of the model, each as its location and how much it holds.

    A reader passes its table of fields, so that a key that the table does not have, or content of another kind or
    length, is recorded. A table decides, not what the reader consumed: a reader that takes one entry of a list, or
    asks whether a key exists, has not accounted for everything under that key.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[str, int]] = []
        self._texts, self._has_names = set[str](), False

    @property
    def texts(self) -> frozenset[str]:
        """The short texts that are of no column; an audit compares them with the cells of the table."""
        return frozenset(self._texts)

    def add(self, location: str, size: int) -> None:
        """Record a part that holds about `size` numbers; `location` holds no text of the file."""
        self._parts.append((location, size))

    def add_text(self, location: str, *texts: str | bytes) -> None:
        """Record texts that nobody needs."""
        self.add(location, text_size(*texts))

    def add_unknown(self, location: str, key: str, value: Any) -> None:
        """Record an entry of a table that its fields do not have."""
        self.add(f"unknown entries of {location or 'the file'}", max(MANY_NUMBERS, content_size(value)))

    def keep(self, *texts: str) -> None:
        """Keep texts that are compared with the cells of the table, such as a date."""
        self._texts |= set(texts) - {""}

    def check_texts(self, location: str, texts: Iterable[str], names: Collection[str] = frozenset()) -> None:
        """Keep short texts, and record long ones as one part; `names` are those that readers account for."""
        unknown = {text for text in set(texts) - {""} if text not in names}
        short = {text for text in unknown if len(text) <= MAX_LETTERS and SHORT_TEXT.fullmatch(text)}
        self.keep(*short)
        if unknown - short:
            self.add_text(location, *(unknown - short))

    def check_names(self, location: str, texts: Collection[str]) -> None:
        """Check names that somebody gave parts of the model, which is disclosed as such."""
        self._has_names |= bool(texts)
        self.check_texts(location, texts)

    def check_line(
        self,
        location: str,
        line: str,
        fields: Mapping[str, ContentField],
        limits: Mapping[str, int],
        separator: str = "=",
    ) -> bool:
        """Record a line `key=value` whose key is unknown or whose value is not what its field accepts; True if not."""
        key, sign, value = line.partition(separator)
        field = fields.get(key)
        if field is None or (field.kind is ContentKind.FLAG) == bool(sign) or not field.accepts(value, limits):
            self.add_text(location, line)
            return False
        if field.words:
            self.check_texts(location, [value])
        return True

    def check_table(
        self,
        document: Mapping[str, Any],
        fields: Mapping[str, ContentField],
        limits: Mapping[str, int],
        location: str = "",
        names: Collection[str] = frozenset(),
    ) -> None:
        """Record entries of a table, and of tables within it, that are unknown or not what their fields accept.

        `names` are texts that the reader accounts for.
        """
        for key, value in document.items():
            field, inner = fields.get(key), f"{location}.{key}".removeprefix(".")
            if field is None:
                self.add_unknown(location, key, value)
            elif not field.accepts(value, limits):
                self.add(inner, content_size(value))
            elif field.fields is not None:
                for each in value if isinstance(value, list) else [value]:
                    self.check_table(each, field.fields, limits, inner, names)
            elif field.words:
                self.check_texts(inner, value if isinstance(value, list) else [value], names)

    def disclosures(self) -> tuple[FileDisclosure, ...]:
        """What parts and names disclose: parts are `high` where they could hold the cells of people."""
        names = (STEP_NAMES,) if self._has_names else ()
        parts = [*self._parts, *([("many short texts", MANY_NUMBERS)] if len(self._texts) > MAX_TEXTS else [])]
        if not parts:
            return names
        locations = list(dict.fromkeys(location for location, _ in parts))
        listed = ", ".join(locations[:8]) + (f" and {len(locations) - 8} more" if len(locations) > 8 else "")
        many = sum(size for _, size in parts) >= MANY_NUMBERS
        says = f"{OTHER_CONTENT}: {len(parts)} part(s) ({listed})"
        return (FileDisclosure("other_content", "high" if many else "medium", says), *names)


def content_size(document: Any) -> int:
    """About how many numbers a parsed value holds; a key counts as a text, and an object as many numbers."""
    size, waiting = 0, [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            size += text_size(*(key for key in value if isinstance(key, str)))
            waiting.extend(value.values())
        elif isinstance(value, list | tuple):
            waiting.extend(value)
        elif isinstance(value, np.ndarray):
            size += value.size
        elif isinstance(value, ObjectView):
            size += MANY_NUMBERS if value.names else 1
        else:
            size += text_size(value) if isinstance(value, str | bytes) else 1
    return size


def count_values(value: Any) -> int:
    """How many plain values something holds; None is none, and objects are looked at on their own."""
    if isinstance(value, np.ndarray):
        return int(value.size)
    if isinstance(value, Mapping):
        return sum(map(count_values, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(count_values, value))
    return 0 if value is None or isinstance(value, ObjectView) else 1


def text_size(*texts: str | bytes) -> int:
    """The size of texts that nobody needs, in numbers: any of them may name a person, however short it is."""
    long = sum(map(len, texts)) // LETTERS_PER_NUMBER
    return max(MANY_NUMBERS, long) if any(text.strip() for text in texts) else long


def has_known_words(text: str, words: Collection[str]) -> bool:
    """Whether a text consists of these words (given in small letters), a few digits and punctuation.

    Words may follow one another as in `TreeEnsemble12` or `concat_result`. A single letter is a word, because people
    give steps such names.
    """
    if len(text) == 1 and text.isascii():
        return True
    if len(text) > MAX_TEXT or sum(sign in DIGITS for sign in text) > MAX_DIGITS:
        return False
    return all(
        token in BETWEEN_WORDS or token.lower() in words or (token[0] in DIGITS and len(token) <= MAX_NUMBER)
        for token in TOKEN.findall(text)
    )


def words_in(text: str) -> frozenset[str]:
    """The words of a text, in small letters, as `has_known_words` takes it apart."""
    return frozenset(token.lower() for token in TOKEN.findall(text) if token.isalpha())
