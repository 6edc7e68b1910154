"""What a policy that extends another may say of columns which that one does not list: `data.unlisted`."""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from fnmatch import fnmatchcase
from functools import cache
from typing import Annotated, Any

from pydantic import TypeAdapter, ValidationError

from leafgate.kernel.inheritance import Kind
from leafgate.kernel.paths import is_number
from leafgate.kernel.policy import AS_ROLES, Unlisted

FREE_ROLES = frozenset({"quasi_identifier", "class", "sensitive"})
"""Roles that a policy may give to any column that the policy it extends does not list: attacks judge each of them."""


def unlisted_of(written: Any) -> Unlisted:
    """Return `data.unlisted` as a model; the default where it is missing or invalid."""
    try:
        return Unlisted() if written is None else _adapter().validate_json(json.dumps(written, default=str))
    except ValidationError:
        return Unlisted()


@cache
def _adapter() -> TypeAdapter[Unlisted]:
    return TypeAdapter(Annotated[Unlisted, AS_ROLES])


def roles_allowed(unlisted: Unlisted, column: str) -> frozenset[str]:
    """The roles that a policy which extends this one may give to a column."""
    return FREE_ROLES | roles_named(unlisted, column)


def roles_named(unlisted: Unlisted, column: str) -> frozenset[str]:
    """The roles that the policy itself allows for a column, not only because a role is free."""
    exempted = {role for pattern, role in _exempted(unlisted) if fnmatchcase(column, pattern)}
    return frozenset({*unlisted.role, *exempted})


def allows_step(unlisted: Unlisted, step: Any, roles: Collection[str]) -> bool:
    """May a column with these roles have this step: a multiple of the one that is allowed, and it is no secret?"""
    if unlisted.step is None or not is_number(step) or not {*roles}.isdisjoint({"sensitive", "class"}):
        return False
    times = step / unlisted.step
    return math.isfinite(times) and round(times) >= 1 and math.isclose(times, round(times), rel_tol=1e-9)


def unlisted_change(old: Any, new: Any) -> Kind:
    """Allowing less of columns that are not listed is tighter."""
    before, after = unlisted_of(old), unlisted_of(new)
    return "tighter" if _is_within(after, before) else "looser" if _is_within(before, after) else "different"


def _is_within(inner: Unlisted, outer: Unlisted) -> bool:
    """Does one allow nothing that the other does not?"""
    roles = set(inner.role) <= {*outer.role, "quasi_identifier", "class"} and _exempted(inner) <= _exempted(outer)
    return roles and (inner.step is None or allows_step(outer, inner.step, ()))


def _exempted(unlisted: Unlisted) -> frozenset[tuple[str, str]]:
    """Each pattern of columns with each role that is allowed for it."""
    return frozenset(
        (pattern, role)
        for exemption in unlisted.exemptions
        for pattern in exemption.columns
        for role in exemption.roles
    )
