"""Validation of evidence: what attacks and metrics state besides their numbers is what reports can hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from leafgate.errors import InconclusiveError
from leafgate.kernel.evidence import RESERVED, AuditorOnly, PeopleCount
from leafgate.kernel.release import SEVERITIES

LARGEST = 1e300
"""The largest absolute value of a number in evidence; larger numbers, infinity and NaN are refused."""
MAX_COUNT = 2**53 - 1
"""The largest count that a report may hold: every whole number up to it is exact in JSON."""

MAX_CHARACTERS = 1_000_000
"""The most that one finding may state: reports are read by people, and kept."""


def checked_evidence(evidence: object, kept: Collection[str], whose: str = "its") -> dict[str, Any]:
    """The evidence, if a report can hold it and it has no key of `kept`; InconclusiveError names what is wrong."""
    if not isinstance(evidence, Mapping) or not is_json_encodable(evidence):
        raise InconclusiveError(f"{whose} evidence is not what JSON can say")
    if (length := _length(evidence)) > MAX_CHARACTERS:
        raise InconclusiveError(f"{whose} evidence has {length:,} characters; a report holds {MAX_CHARACTERS:,} of it")
    taken = sorted(set(evidence) & set(kept))
    if taken:
        what = f"the key `{taken[0]}`, which is the core's" if taken[0] in RESERVED else "a key of the attack's own"
        raise InconclusiveError(f"{whose} evidence has {what}")
    if not _are_groups(evidence.get("worst", ())):
        raise InconclusiveError(f"{whose} `worst` are no groups, each with its people")
    for key, (fits, wanted) in READ_BY_REPORTS.items():
        if key in evidence and not fits(evidence[key]):
            raise InconclusiveError(f"{whose} evidence has `{key}`, and it is not {wanted}")
    return dict(evidence)


def _length(thing: object) -> int:
    """About how many characters it has in a report."""
    if isinstance(thing, Mapping):
        return sum(_length(key) + _length(value) for key, value in thing.items())
    if isinstance(thing, list | tuple):
        return sum(map(_length, thing))
    return _length(thing.content) if isinstance(thing, AuditorOnly) else len(str(thing))


def _are_groups(value: object) -> bool:
    """Are they laid out like the worst groups of people that the core lists?"""
    if not isinstance(value, list | tuple):
        return False
    return all(
        isinstance(group, Mapping)
        and "people" in group
        and all(key in GROUP and GROUP[key](what) for key, what in group.items())
        for group in value
    )


def _plain(value: object) -> object:
    """What auditors read of it."""
    return value.content if isinstance(value, AuditorOnly) else value


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT


def _is_path(value: object) -> bool:
    return isinstance(value, AuditorOnly) and isinstance(value.content, str)


def _is_composition(value: object) -> bool:
    """Is it the people of each value, for auditors alone?"""
    if not isinstance(value, AuditorOnly) or not isinstance(value.content, Mapping):
        return False
    return all(isinstance(count, PeopleCount) or _is_whole(count) for count in value.content.values())


GROUP: Mapping[str, Callable[[object], bool]] = {
    "people": lambda value: isinstance(value, PeopleCount),
    "path": _is_path,
    "true": _is_composition,
    "possible_values": _is_whole,
}
"""The keys of a group of people in evidence, and what they may hold."""


def _is_text(value: object) -> bool:
    return isinstance(_plain(value), str)


def _are_disclosures(value: object) -> bool:
    """Are they what a model's file discloses, each with its severity and a text?"""
    value = _plain(value)
    if not isinstance(value, list | tuple):
        return False
    items = [_plain(item) for item in value]
    return all(
        isinstance(item, Mapping) and item.get("severity") in SEVERITIES and isinstance(item.get("says"), str)
        for item in items
    )


ROC_COLUMNS = ("fpr", "tpr", "low", "high")
"""What a ROC curve in evidence has at each of its points: both rates, and the ends of the second one's interval."""


def _is_roc(value: object) -> bool:
    """Is it a curve for auditors alone, of at least two points, with rates from 0 to 1 in rising order of the first?"""
    curve = value.content if isinstance(value, AuditorOnly) else None
    if not isinstance(curve, Mapping) or set(curve) != set(ROC_COLUMNS):
        return False
    columns = [curve[name] for name in ROC_COLUMNS]
    if any(not isinstance(column, list | tuple) or len(column) != len(columns[0]) for column in columns):
        return False
    rates = [rate for column in columns for rate in column]
    of_rates = all(isinstance(rate, int | float) and not isinstance(rate, bool) and 0 <= rate <= 1 for rate in rates)
    return of_rates and len(columns[0]) > 1 and list(columns[0]) == sorted(columns[0])


READ_BY_REPORTS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    **dict.fromkeys(("problem", "reason", "remedy"), (_is_text, "a text")),
    "discloses": (_are_disclosures, "a list of what a file discloses, each with `severity` and `says`"),
    "roc": (_is_roc, "a curve for auditors alone, with as many rates in `fpr`, `tpr`, `low` and `high`"),
}
"""The keys that attacks and metrics may use and that reports read, and what they may hold."""


def is_json_encodable(thing: object) -> bool:
    """Can it be written as JSON, once counts and private values are masked for an audience?"""
    if isinstance(thing, Mapping):
        return all(
            isinstance(key, str) and is_json_encodable(key) and is_json_encodable(value) for key, value in thing.items()
        )
    if isinstance(thing, list | tuple):
        return all(map(is_json_encodable, thing))
    if isinstance(thing, AuditorOnly):
        return is_json_encodable(thing.content)
    if isinstance(thing, PeopleCount):
        return _is_whole(thing.count)
    if isinstance(thing, str):
        return not any("\ud800" <= letter <= "\udfff" for letter in thing)
    if isinstance(thing, int | float):
        return isinstance(thing, bool) or -LARGEST <= thing <= LARGEST
    return thing is None
