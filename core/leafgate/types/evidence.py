"""Evidence: what an attack or a metric states besides its numbers, as JSON, with the parts that only auditors see."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from leafgate.errors import InconclusiveError


@dataclass(frozen=True)
class PeopleCount:
    """A count of people of the table; the public sees on which step of a grid it lies, from the smallest cell up."""

    count: int = field(repr=False)


@dataclass(frozen=True)
class AuditorOnly:
    """Something about particular people: a path, a value. Only auditors see it."""

    content: Any = field(repr=False)


@dataclass(frozen=True)
class ReleaseOnly:
    """Something that the release states: auditors see all of it, the public `public` once it may be published."""

    content: Any = field(repr=False)
    public: Any


LARGEST = 1e300
"""Numbers beyond it are no evidence; NaN is not within it either."""

RESERVED = frozenset(
    {
        *("claim", "composition", "derived", "problem", "reason", "reason_in_full", "refutes", "remedy"),
        *("scored_because", "tried", "tries", "unbounded", "worst"),
    }
)
"""The keys that mean something to the core; no metric may use them."""


GROUP: Mapping[str, Any] = {"people": PeopleCount, "path": AuditorOnly, "true": AuditorOnly, "possible_values": int}
"""The keys of a group of people in evidence, and their types."""


def checked_evidence(evidence: object, kept: Collection[str], whose: str = "its") -> dict[str, Any]:
    """The evidence, if it is JSON and has no key of `kept`; InconclusiveError names what is wrong."""
    if not isinstance(evidence, Mapping) or not is_json_encodable(evidence):
        raise InconclusiveError(f"{whose} evidence is not what JSON can say")
    taken = sorted(set(evidence) & set(kept))
    if taken:
        what = f"the key `{taken[0]}`, which is the core's" if taken[0] in RESERVED else "a key of the attack's own"
        raise InconclusiveError(f"{whose} evidence has {what}")
    if not _are_groups(evidence.get("worst", ())):
        raise InconclusiveError(f"{whose} `worst` are no groups, each with its people")
    return dict(evidence)


def _are_groups(value: object) -> bool:
    """Are they laid out like the worst groups of people that the core lists?"""
    if not isinstance(value, list | tuple):
        return False
    groups = [group for group in value if isinstance(group, Mapping) and "people" in group]
    fits = all(isinstance(what, GROUP.get(key, ())) for group in groups for key, what in group.items())
    truths = [group["true"].content for group in groups if fits and "true" in group]
    return fits and len(groups) == len(value) and all(isinstance(truth, Mapping) for truth in truths)


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
        return isinstance(thing.count, int) and is_json_encodable(thing.count)
    if isinstance(thing, str):
        return not any("\ud800" <= letter <= "\udfff" for letter in thing)
    if isinstance(thing, int | float):
        return isinstance(thing, bool) or -LARGEST <= thing <= LARGEST
    return thing is None
