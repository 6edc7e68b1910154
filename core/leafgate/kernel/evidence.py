"""Evidence: what an attack or a metric states besides its numbers, as JSON, with the parts that only auditors see."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class PeopleCount:
    """A count of people of the table; the public sees on which step of a grid it lies, from the smallest cell up."""

    count: int = field(repr=False)


@dataclass(frozen=True)
class AuditorOnly:
    """What only auditors see, such as something about particular people: a path, a value."""

    content: Any = field(repr=False)


@dataclass(frozen=True)
class ReleaseOnly:
    """Something that the release states: auditors see all of it, the public `public` once it may be published."""

    content: Any = field(repr=False)
    public: Any


OWN_ACCOUNT = "account"
"""The key of evidence that a claim is kept by its builder's own account, which an attack must have tried to refute."""
RESERVED = frozenset(
    {
        *("by_persons", "candidates", "claim", "composition", "covered_by", "derived", "dropped", "interval"),
        *("largest", "no_answer", "problem"),
        *("queries", "reason", "reason_in_full", "refutes", "remedy", "scored_because", "tried", "tries"),
        *("unbounded", "unbreakable", "worst"),
    }
)
"""The keys that mean something to the core; no metric may use them."""


CORE_OF_ATTACKS = RESERVED - {"problem", "reason", "reason_in_full", "remedy"}
"""The keys that the core alone writes beside an attack's evidence; no attack may use them."""
