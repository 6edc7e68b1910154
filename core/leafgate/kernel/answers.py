"""Values of a secret that may mean that nothing is recorded: words, marks and codes that stand for no answer."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from itertools import takewhile

from leafgate.kernel.schema import MISSING_WORDS, Column
from leafgate.kernel.spelling import CANONICAL_NUMBER, similar_form

UNANSWERED = frozenset(
    {
        *("unknown", "not known", "unk", "nk", "unclear", "undetermined", "unspecified", "not specified", "not stated"),
        *("refused", "refusal", "refused to answer", "declined", "declined to answer", "prefer not to say"),
        *("prefer not to answer", "no answer", "not answered", "no response", "nonresponse", "non response", "no data"),
        *("not asked", "not recorded", "dont know", "do not know", "dk", "missing", "not reported", "not available"),
        *("not tested", "untested", "not done", "not performed", "not measured", "not collected", "not assessed"),
        *("not examined", "not determined", "not provided", "not disclosed", "not applicable", "na", "n a"),
        *("unbekannt", "keine angabe", "weiss nicht", "nicht bekannt", "nicht getestet", "inconnu", "desconocido"),
        *("no sabe", "no contesta", "sconosciuto", "onbekend"),
    }
)
"""Words for an answer that is not there, in the form that `_words` gives them."""

MARK = re.compile(r"[-?*#/_~ ]*")
"""A similar form of marks alone, such as those of an empty cell, and of dots."""

CODES = frozenset(map(float, (9, 77, 88, 97, 98, 99, 777, 888, 997, 998, 999, 7777, 8888, 9997, 9998, 9999)))
"""Numbers that code lists have for an answer that is not there, also with a minus."""


def unanswered_values(values: Collection[str]) -> list[str]:
    """Those of the values of a secret that may mean that nothing is recorded, in order; never all of them.

    A code says so beside words, and behind a gap, as in 0, 1, 9. A dash beside a plus sign is a value.

    >>> unanswered_values(["no", "Don't know", "yes"]), unanswered_values(["0", "1", "9"])
    (["Don't know"], ['9'])
    >>> unanswered_values(["7", "8", "9"]), unanswered_values(["+", "-", "N.A."]), unanswered_values(["70", "85", "99"])
    ([], ['N.A.'], [])
    """
    has_plus = any(similar_form(value) in ("+", "++") for value in values)
    found = {value for value in values if _is_no_answer(value) and not (has_plus and {*similar_form(value)} == {"-"})}
    others = [value for value in values if value not in found]
    numbers = {value: _number(value) for value in others}
    codes = [value for value, number in numbers.items() if abs(number) in CODES]
    if not any(math.isnan(number) for number in numbers.values()):
        ascending = sorted(set(numbers.values()))
        coded = {*_behind_gap(ascending), *(-each for each in _behind_gap([-each for each in reversed(ascending)]))}
        found |= {value for value in others if numbers[value] in coded}
    elif not any(character.isdigit() for value in others if value not in codes for character in value):
        found |= {*codes}
    return [value for value in values if value in found] if len(found) < len(values) else []


def unstated_answers(column: Column) -> tuple[str, ...]:
    """The values of a secret that may mean that nothing is recorded, where the policy does not say which ones do.

    `None` is a usual value, such as that of no illness. Nothing is left to be judged where one value alone remains.
    """
    if column.values is None or column.holds_numbers or column.states_no_answer:
        return ()
    found = [value for value in unanswered_values(column.values) if value.strip() != "None"]
    return tuple(found) if len(column.values) - len(found) > 1 else ()


def _is_no_answer(value: str) -> bool:
    """Is it a mark or a word, or several words in brackets or behind each other that all say so?"""
    form = similar_form(value)
    text = value.strip()
    if {text, text.upper()} & MISSING_WORDS or MARK.fullmatch(form) or _words(form) in UNANSWERED:
        return True
    return all(_words(part) in UNANSWERED for part in re.split(r"[()\[\],;:/]+", form) if part.strip())


def _words(form: str) -> str:
    return re.sub(r"[\s_/-]+", " ", re.sub(r"['.]", "", form)).strip()


def _number(value: str) -> float:
    form = similar_form(value)
    return float(form) if CANONICAL_NUMBER.fullmatch(form) else math.nan


def _behind_gap(ascending: Sequence[float]) -> list[float]:
    """The codes at the end of numbers, of which two others or more are clearly smaller: 99 is no code beside 85."""
    codes = list(takewhile(CODES.__contains__, reversed(ascending)))
    others = ascending[: len(ascending) - len(codes)]
    return codes if codes and len(others) > 1 and codes[-1] - others[-1] > max(1, codes[-1] / 3 - 3) else []
