"""The features to which the unnamed lists of categories at the end of a LightGBM file belong."""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from leafgate.api import ReleaseError
from leafgate.io.json import are_numbers
from leafgate.ir.features import number_codes
from leafgate.readers import CategoryCodes, Origin, Unresolved

RANGE = re.compile(r"\[([-+.0-9e]{1,40}):([-+.0-9e]{1,40})\]")
CODES = re.compile(r"-?\d{1,9}(:-?\d{1,9})*")
DOUBTFUL = (
    "may be what one of the file's lists of categories (`pandas_categorical`) is of, and the file does not say which: "
    "give `codes`, its values' positions in that list, or `{}` if it is a number itself"
)
STRANGE = "has categories that are neither all texts nor all numbers: give `codes`, their positions"


@dataclass(frozen=True)
class Belonging:
    """Each feature's list where the file leaves no doubt, and the features that a list of the others may be of."""

    lists: Mapping[int, Sequence[Any]] = field(default_factory=dict)
    doubtful: frozenset[int] = frozenset()


def belonging(document: Any, infos: Sequence[str], features: int, place: str) -> Belonging:
    """Which features the lists are of.

    A data frame's columns of categories have a list each, in the columns' order, whether LightGBM treats them as
    categories or, where they are ordered, as numbers; the settings name the first kind alone, and columns without a
    list too. What is known of a column with a list is that it holds positions in it: so a feature with other numbers is
    none, and a list is of the one feature that is left wherever the lists before and behind it are.
    """
    if document is None or document == []:
        return Belonging()
    if not isinstance(document, list) or not all(isinstance(each, list) for each in document):
        raise ReleaseError("must be a list of lists", place=f"{place}.pandas_categorical")
    highest = [_highest(info) for info in infos] if len(infos) == features else [-1.0] * features
    sizes = [len(each) for each in document]
    first = _placed(sizes, highest)
    last = _placed(sizes[::-1], highest[::-1])
    if first is None or last is None:
        return Belonging({}, frozenset(range(features)))
    last = [features - 1 - at for at in last[::-1]]
    sure = {at: document[i] for i, at in enumerate(first) if at == last[i]}
    unsure = [(first[i], last[i], size) for i, size in enumerate(sizes) if first[i] < last[i]]
    return Belonging(sure, _doubtful(unsure, highest))


def _highest(info: str) -> float:
    """The highest position that a feature has; infinite where it has numbers that are none, -1 where it has nothing."""
    if CODES.fullmatch(info):
        return float(max(map(int, info.split(":"))))
    if (found := RANGE.fullmatch(info)) is None:
        return -1.0
    try:
        least, most = map(float, found.groups())
    except ValueError:
        return -1.0
    return most if least >= 0 and least.is_integer() and most.is_integer() else math.inf


def _placed(sizes: Sequence[int], highest: Sequence[float]) -> list[int] | None:
    """The first feature that each list can be of, one after another; None where there are too few."""
    found: list[int] = []
    waiting = iter(enumerate(highest))
    for size in sizes:
        at = next((number for number, most in waiting if most < size), None)
        if at is None:
            return None
        found.append(at)
    return found


def _doubtful(lists: Sequence[tuple[int, int, int]], highest: Sequence[float]) -> frozenset[int]:
    """The features that some list may be of: each is given by the first and the last such feature, and its size."""
    found, open_, waiting = set[int](), list[tuple[int, int]](), 0
    for number, most in enumerate(highest):
        while waiting < len(lists) and lists[waiting][0] <= number:
            _, last, size = lists[waiting]
            heapq.heappush(open_, (-size, last))
            waiting += 1
        while open_ and open_[0][1] < number:
            heapq.heappop(open_)
        if open_ and most < -open_[0][0]:
            found.add(number)
    return frozenset(found)


def texts_in(categories: Any) -> list[str] | None:
    """Categories that are texts; true and false are such beside others."""
    good = (
        isinstance(categories, list)
        and any(isinstance(each, str) for each in categories)
        and all(isinstance(each, str | bool) for each in categories)
    )
    return [str(each) for each in categories] if good and len(set(map(str, categories))) == len(categories) else None


def origin_of(number: int, name: str, of: Belonging, *, by_set: bool) -> Origin | None:
    """What the lists say of a feature, which LightGBM asks for sets of positions, or compares them as numbers.

    What a list does not have is missing; to a set that is as if it had no position of it.
    """
    if number in of.doubtful:
        return Unresolved(name, DOUBTFUL)
    if number not in of.lists:
        return None
    result, texts = of.lists[number], texts_in(of.lists[number])
    if texts is not None:
        codes = {text: float(code) for code, text in enumerate(texts)}
        return None if by_set else CategoryCodes(name, codes, math.nan)  # sets are given by their texts
    if result and all(isinstance(each, bool) for each in result) and len(set(result)) == len(result):
        return CategoryCodes(
            name, {str(each): float(code) for code, each in enumerate(result)}, -1.0 if by_set else math.nan
        )
    if result and are_numbers(result) and len(set(result)) == len(result):
        return number_codes(name, result, -1.0 if by_set else math.nan)
    return Unresolved(name, STRANGE) if result else None
