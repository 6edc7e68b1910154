"""Differences of two policies' digests that no changed line explains: content of files, order of lists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from leafgate.api.paths import ABOUT_PEOPLE, UNREADABLE
from leafgate.diff.partial import Compared
from leafgate.policy.sources import name_of
from leafgate.policy.strictness import Change, line_at

NAMED = ("attacks", "metrics")
Place = tuple[str, ...]


def unexplained_changes(old: Compared, new: Compared, changes: Sequence[Change]) -> Iterator[Change]:
    """A change for each place that the two digests cover otherwise, and that no change is at, in or around.

    A file about people that one side cannot read, as where it is in no commit, is compared by its name alone.
    """
    if old.digested is None or new.digested is None:
        return
    result, common = {_key(change) for change in changes}, _names(old.digested) & _names(new.digested)
    for place, before, after in _apart(_by_name(old.digested, common), _by_name(new.digested, common), ()):
        key = ".".join(place)
        if ABOUT_PEOPLE + UNREADABLE in (before, after):
            continue
        if not any(f"{key}.".startswith(f"{one}.") or f"{one}.".startswith(f"{key}.") for one in result):
            was, now = _place(old, place), _place(new, place)
            lines = line_at(old.written, was, value=before), line_at(new.written, now, value=after)
            name = place[1] if place[0] in NAMED and len(place) > 1 else ""
            yield Change("different", was, *_shown(before, after), *lines, name=name)


def uncompared(old: Compared, new: Compared) -> Iterator[Change]:
    """A change for whatever may be another without anybody seeing it: for those who want proof that nothing is.

    That is everything where one side could not be completed, and a file that digests cover and neither side can read.
    The people in a file are no part of a policy's digest.
    """
    if old.digested is None or new.digested is None:
        yield Change("different", "policy", "what cannot be compared", "what cannot be compared")
        return
    common = _names(old.digested) & _names(new.digested)
    unread = (set(_unread(_by_name(each.digested, common), ())) for each in (old, new) if each.digested is not None)
    for place in sorted(set.intersection(*unread)):
        was, now = _place(old, place), _place(new, place)
        lines = line_at(old.written, was, value=UNREADABLE), line_at(new.written, now, value=UNREADABLE)
        yield Change("different", was, UNREADABLE, UNREADABLE, *lines)


def _unread(digested: Any, place: Place) -> Iterator[Place]:
    """The places of files that could not be read."""
    if isinstance(digested, dict):
        for key, inner in digested.items():
            yield from _unread(inner, (*place, str(key)))
    elif isinstance(digested, list):
        for inner in digested:
            yield from _unread(inner, place)
    elif digested == UNREADABLE:
        yield place


def _key(change: Change) -> str:
    """The place of a change, by the names of attacks and metrics, and without numbers of items."""
    head, _, rest = change.place.partition("[")
    option = rest.partition("]")[2] if change.name else ""
    return f"{head}.{change.name}{option}" if change.name else head


def _names(digested: Mapping[str, Any]) -> set[str]:
    """What attacks and metrics are called."""
    return {str(name_of(item)) for key in NAMED for item in digested[key]}


def _by_name(digested: Mapping[str, Any], common: set[str]) -> dict[str, Any]:
    """The same with the common attacks and metrics by their names, and these names in order."""
    listed = {key: {str(name_of(item)): item for item in digested[key]} for key in NAMED}
    kept = {key: {name: item for name, item in items.items() if name in common} for key, items in listed.items()}
    return {**digested, **{key: {**items, "": list(items)} for key, items in kept.items()}}


def _apart(old: Any, new: Any, place: Place) -> Iterator[tuple[Place, Any, Any]]:
    """The innermost places at which two documents differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old | new:
            yield from _apart(old.get(key), new.get(key), (*place, key))
    elif old != new:
        yield place, old, new


def _place(policy: Compared, place: Place) -> str:
    """A place as it is written in a policy's file."""
    if place[0] not in NAMED or len(place) < 2 or not place[1]:
        return ".".join(filter(None, place))
    items = policy.written.document.get(place[0]) or []
    number = next((i for i, item in enumerate(items) if str(name_of(item)) == place[1]), 0)
    return ".".join([f"{place[0]}[{number}]", *place[2:]])


def _shown(old: Any, new: Any) -> tuple[Any, Any]:
    """Both values; of lists that hold the same, that their order is another; of files, their digests.

    Of files about people the output states that they differ, and no digest, on which a reader could test a guess.
    """
    if any(isinstance(result, str) and result.startswith(ABOUT_PEOPLE) for result in (old, new)):
        return old and "people of one file", new and "those of another"
    if isinstance(old, list) and isinstance(new, list) and sorted(map(repr, old)) == sorted(map(repr, new)):
        return "in one order", "in another"
    return _digest(old), _digest(new)


def _digest(document: Any) -> Any:
    return (
        f"sha256 {document[:16]}" if isinstance(document, str) and re.fullmatch("[0-9a-f]{64}", document) else document
    )
