"""Differences of two policies' digests that no changed line explains: content of files, order of lists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from leafgate.kernel.options import ABOUT_PEOPLE, UNREADABLE
from leafgate.kernel.paths import DocumentPath, format_path
from leafgate.policy.load import PartialPolicy
from leafgate.policy.sources import component_name
from leafgate.policy.strictness import PolicyChange, line_of_value

NAMED = ("attacks", "metrics")


def unexplained_changes(
    old: PartialPolicy, new: PartialPolicy, changes: Sequence[PolicyChange]
) -> Iterator[PolicyChange]:
    """A change for each place that the two digests cover otherwise, and that no change is at, in or around.

    A file about people that one side cannot read, as where it is in no commit, is compared by its name alone.
    """
    if old.digested is None or new.digested is None:
        return
    reported, common = {_named_path(change) for change in changes}, _names(old.digested) & _names(new.digested)
    for path, before, after in _apart(_by_name(old.digested, common), _by_name(new.digested, common), ()):
        if ABOUT_PEOPLE + UNREADABLE in (before, after):
            continue
        if not any(known[: len(path)] == path[: len(known)] for known in reported):
            was, now = _written_path(old, path), _written_path(new, path)
            lines = line_of_value(old.written, was, value=before), line_of_value(new.written, now, value=after)
            name = str(path[1]) if path[0] in NAMED and len(path) > 1 else ""
            yield PolicyChange("different", was, *_printed(before, after), *lines, name=name)


def uncompared(old: PartialPolicy, new: PartialPolicy) -> Iterator[PolicyChange]:
    """A change for whatever may be another without anybody seeing it: for those who want proof that nothing is.

    That is everything where one side could not be completed, and a file that digests cover and neither side can read.
    The people in a file are no part of a policy's digest.
    """
    if old.digested is None or new.digested is None:
        yield PolicyChange("different", ("policy",), "what cannot be compared", "what cannot be compared")
        return
    common = _names(old.digested) & _names(new.digested)
    unread = (set(_unread(_by_name(each.digested, common), ())) for each in (old, new) if each.digested is not None)
    for path in sorted(set.intersection(*unread), key=format_path):
        was, now = _written_path(old, path), _written_path(new, path)
        lines = line_of_value(old.written, was, value=UNREADABLE), line_of_value(new.written, now, value=UNREADABLE)
        yield PolicyChange("different", was, UNREADABLE, UNREADABLE, *lines)


def _unread(digested: Any, path: DocumentPath) -> Iterator[DocumentPath]:
    """The paths of files that could not be read."""
    if isinstance(digested, dict):
        for key, inner in digested.items():
            yield from _unread(inner, (*path, str(key)))
    elif isinstance(digested, list):
        for inner in digested:
            yield from _unread(inner, path)
    elif digested == UNREADABLE:
        yield path


def _named_path(change: PolicyChange) -> DocumentPath:
    """The path of a change with the names of attacks and metrics, as digests have it, and up to an item of a list."""
    if change.name:
        return (change.path[0], change.name, *change.path[2:])
    return tuple(takewhile(lambda step: isinstance(step, str), change.path))


def _names(digested: Mapping[str, Any]) -> set[str]:
    """What attacks and metrics are called."""
    return {str(component_name(item)) for key in NAMED for item in digested[key]}


def _by_name(digested: Mapping[str, Any], common: set[str]) -> dict[str, Any]:
    """The same with the common attacks and metrics by their names, and these names in order."""
    listed = {key: {str(component_name(item)): item for item in digested[key]} for key in NAMED}
    kept = {key: {name: item for name, item in items.items() if name in common} for key, items in listed.items()}
    return {**digested, **{key: {**items, "": list(items)} for key, items in kept.items()}}


def _apart(old: Any, new: Any, path: DocumentPath) -> Iterator[tuple[DocumentPath, Any, Any]]:
    """The innermost paths at which two documents differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old | new:
            yield from _apart(old.get(key), new.get(key), (*path, key))
    elif old != new:
        yield path, old, new


def _written_path(policy: PartialPolicy, path: DocumentPath) -> DocumentPath:
    """The path in a policy's file of what digests have at `path`."""
    if path[0] not in NAMED or len(path) < 2 or not path[1]:
        return tuple(filter(None, path))
    items = policy.written.document.get(str(path[0])) or []
    return (path[0], next((i for i, item in enumerate(items) if str(component_name(item)) == path[1]), 0), *path[2:])


def _printed(old: Any, new: Any) -> tuple[Any, Any]:
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
