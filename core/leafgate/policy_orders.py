"""Which of two values of a policy is tighter: limits, options, roles, what is told, whom is trusted."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import TypeAdapter, ValidationError

from leafgate.interfaces import Component
from leafgate.policy_column import AS_ROLES, Unlisted
from leafgate.policy_waivers import MAX_DAYS, addresses_of
from leafgate.strict_json import is_number

Kind = Literal["tighter", "looser", "different"]
LEVELS = ("labels", "error_rates", "shares", "counts")
LEARNT = {"quasi_identifier", "sensitive"}


def option_change(kind: type[Component] | None, key: str, old: Any, new: Any, now: dict[str, Any]) -> Kind:
    if key in {"at_least", "at_most"}:
        return (_more if key == "at_least" else _less)(old, new)
    if key == "allow":
        return _less(old, new)
    if key == "scored":
        return "tighter" if new == "worst" else "looser" if old == "worst" else "different"
    if key in {"of", "secret"}:
        return "looser" if old is None else "tighter" if new is None else "different"
    if key == "average":
        return "looser" if new else "different" if now.get("allow") else "tighter"
    if kind is not None and key in kind.stricter_more | kind.stricter_less:
        return (_more if key in kind.stricter_more else _less)(old, new)
    return "different"


def fewer_trusted(old: Any, new: Any) -> Kind:
    """Is the newer list of trusted distributions part of the older one? None trusts everybody."""
    before, after = ({str(pin) for pin in told} if isinstance(told, list) else None for told in (old, new))
    if before is None or after is None:
        return "looser" if after is None else "tighter"
    return "tighter" if after < before else "looser" if before < after else "different"


def _more(old: Any, new: Any) -> Kind:
    """More is tighter."""
    if not _orderable(old) or not _orderable(new):
        return "different"
    return "tighter" if new > old else "looser"


def _less(old: Any, new: Any) -> Kind:
    return _more(new, old)


def _orderable(told: Any) -> bool:
    return isinstance(told, bool) or is_number(told)


def _level(old: Any, new: Any) -> Kind:
    """Leaves that tell less are tighter."""
    if old not in LEVELS or new not in LEVELS:
        return "different"
    return _less(LEVELS.index(old), LEVELS.index(new))


def _fewer_reviewers(old: Any, new: Any) -> Kind:
    """Are the newer reviewers among the older ones? Where none are named, anybody may approve."""
    before, after = (None if told is None else addresses_of(told) for told in (old, new))
    if before is None or after is None:
        return "looser" if after is None else "tighter"
    return "tighter" if after <= before else "looser"


def unlisted_of(told: Any) -> Unlisted:
    """What `data.unlisted` means as it is written, or the default; what cannot be read allows nothing."""
    if told is None:
        return Unlisted()
    try:
        return _UNLISTED.validate_json(json.dumps(told, default=str))
    except ValidationError:
        return Unlisted()


_UNLISTED: TypeAdapter[Unlisted] = TypeAdapter(Annotated[Unlisted, AS_ROLES])


def _unlisted(old: Any, new: Any) -> Kind:
    """Allowing less of columns that are not listed is tighter."""
    before, after = unlisted_of(old), unlisted_of(new)
    return "tighter" if after.within(before) else "looser" if before.within(after) else "different"


def counts_change(old: Any, new: Any) -> Kind:
    """Counting rows is tighter than counting the people they are said to stand for; it is the default."""
    before, after = ("rows" if told is None else told for told in (old, new))
    if {before, after} <= {"rows", "people"}:
        return "looser" if after == "people" else "tighter"
    return "different"


ORDERED: list[tuple[str, Any, Callable[[Any, Any], Kind]]] = [
    ("publish.leaves", "counts", _level),
    ("publish.measure", True, _less),
    ("knows.distribution", False, _more),
    ("knows.sample", 0, _more),
    ("report.smallest_cell", 10, _more),
    ("max_waiver_days", MAX_DAYS, _less),
    ("approvals.reviewers", None, _fewer_reviewers),
    ("data.unlisted", None, _unlisted),
]
"""Places, what is meant where nothing stands, and in which direction they are tighter."""


def role_change(old: set[str], new: set[str]) -> Kind:
    """Knowing a column, or having to keep it secret, is tighter; neither may be lost."""
    lost, won = old - new, new - old
    if lost & LEARNT:
        return "looser"
    return "tighter" if won and won <= LEARNT and lost <= {"private", "ignored", "identifier"} else "different"


def gone_or_come(lost: set[str], won: set[str]) -> Kind:
    return "looser" if lost else "tighter" if won else "different"
