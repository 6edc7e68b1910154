"""Cells of a data file as text: which columns they are, which of them are numbers."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from leafgate.errors import DataError, Problem
from leafgate.io.json import parse_number

BELOW = "or name the folder that it is below: --root"
"""What helps besides correcting the policy."""


def read_bytes(path: Path, key: str = "data.path") -> bytes:
    """The bytes of the file a policy names at `key`; DataError when it cannot be read or is empty."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataError("there is no such file", place=path.name, remedy=f"correct `{key}`, {BELOW}") from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", place=path.name) from None
    if not content.strip():
        raise DataError("the file is empty", place=path.name)
    return content


def is_code(text: str) -> bool:
    """Is it no number, or one with a leading zero, which a number would lose?"""
    return not math.isfinite(parse_number(text)) or bool(_LEADING_ZERO.match(text))


_LEADING_ZERO = re.compile(r"[-+]?0[0-9]")


def are_decimal_commas(texts: Iterable[str]) -> bool:
    """Are all of them numbers, and some written with a comma (1,5)?"""
    commas = [bool(_COMMA_NUMBER.fullmatch(text)) for text in texts if is_code(text)]
    return bool(commas) and all(commas)


_COMMA_NUMBER = re.compile(r"[-+]?[0-9]+(,[0-9]+)+")

_SIGNS = r"[$\u20ac\u00a3\u00a5%]"
_THOUSANDS = re.compile(r"[-+]?[0-9]{1,3}(?:(?:,[0-9]{3})+|(?:[ '\u2019\u00a0\u202f][0-9]{3})+)(?:\.[0-9]+)?")
_SIGNED = re.compile(rf"[-+]?{_SIGNS}\s*[-+]?[0-9][0-9., ]*|[-+]?[0-9][0-9., ]*\s*{_SIGNS}")


def unread_numbers(texts: Collection[str]) -> str:
    """What to do where all texts are numbers, some of which are written so that no column of numbers is read.

    Empty where they are no numbers, and where all can be read.

    >>> unread_numbers(["1,234", "12", "1,234,567"])
    'numbers with thousands separators: write 1234 in the file, not 1,234'
    >>> unread_numbers(["n", "1,5"])
    ''
    """
    strange = [text.strip() for text in texts if is_code(text)]
    if not strange:
        return ""
    if all(map(_THOUSANDS.fullmatch, strange)):
        return "numbers with thousands separators: write 1234 in the file, not 1,234"
    if are_decimal_commas(texts):
        return f"numbers with decimal commas: {DECIMAL_POINTS}"
    if all(map(_SIGNED.fullmatch, strange)):
        return "numbers with a currency sign or %: leave the sign out of the file"
    return ""


DECIMAL_POINTS = "write decimal points (1.5) in the file, not commas"
"""What to do where numbers are written with commas."""


MAX_COLUMNS = 10_000
"""Wider tables are refused: a policy, which lists every column in 256 KB, has hardly room for more."""


def refuse_wide(columns: int, place: str) -> None:
    """DataError for more columns than any policy could list."""
    if columns > MAX_COLUMNS:
        remedy = "is the delimiter right? else keep the columns that the policy is about"
        raise DataError(f"has more than {MAX_COLUMNS:,} columns", place=place, remedy=remedy)


def check_width(columns: int, names: Sequence[str], place: str) -> None:
    """DataError unless a table without a header has as many columns as the policy declares."""
    if columns != len(names):
        raise DataError(
            f"the file has {columns} columns, the policy declares {len(names)}",
            place=place,
            remedy="without a header, `data.columns` lists every column in file order",
        )


NO_HEADER = "set `csv: {header: false}`"
"""What to do where the first line of a file is not names."""


def refuse_twice(header: Sequence[str], place: str) -> None:
    twice = len([name for name, count in Counter(header).items() if count > 1])
    if twice:
        remedy = f"rename them, or {NO_HEADER}"
        raise DataError(f"{twice} column name(s) stand twice in the header", place=place, remedy=remedy)


def check_header(header: Sequence[str], names: Sequence[str], place: str) -> None:
    """DataError unless the header has the columns `names`, each once, and no others."""
    refuse_twice(header, place)
    there = set(header)
    if len(header) == 1 < len(names):
        remedy = "say what divides its cells: `csv: {delimiter: ...}`"
        raise DataError(f"the file has 1 column, the policy declares {len(names)}", place=place, remedy=remedy)
    problems = [
        Problem(place, f"the header has no column {name!r}", f"correct `data.columns`, or {NO_HEADER}")
        for name in names
        if name not in there
    ]
    extra = len(there - set(names))
    if extra:
        problems.append(
            Problem(place, f"{extra} column(s) of the header are not in the policy", "declare them, if only `ignored`")
        )
    if problems:
        raise DataError.listing(problems)
