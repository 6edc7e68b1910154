"""What a policy that extends another may say of columns which that one does not list: `data.unlisted`."""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from fnmatch import fnmatchcase
from functools import cache
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from leafgate.kernel.inheritance import Kind
from leafgate.kernel.options import PositiveFloat, Strict
from leafgate.kernel.paths import is_number
from leafgate.kernel.schema import ONE_OR_MORE, Role, as_tuple

PATTERNS = BeforeValidator(as_tuple, json_schema_input_type=str | tuple[str, ...])
FREE_ROLES = frozenset({"quasi_identifier", "class", "sensitive"})
"""Roles that a policy may give to any column that the policy it extends does not list: attacks judge each of them."""


class Exemption(Strict):
    """Columns to which a policy that extends this one may give further roles."""

    columns: Annotated[tuple[str, ...], PATTERNS, Field(min_length=1)] = Field(
        description="A column's name, or a pattern with `*`, `?` and `[...]`; or a list of them."
    )
    roles: Annotated[tuple[Role, ...], ONE_OR_MORE, Field(min_length=1)] = Field(
        description="The roles that these columns may have; one role or a list."
    )


def _as_roles(unlisted: Any) -> Any:
    """A role or a list of them as the mapping they stand for; lists within a mapping as the tuples that models have."""
    if isinstance(unlisted, str | list | tuple):
        return {"role": unlisted}
    if isinstance(unlisted, dict) and isinstance(unlisted.get("except"), list):
        return {**unlisted, "except": tuple(unlisted["except"])}
    return unlisted


class Unlisted(Strict):
    """What holds for columns that a policy does not list, and one that extends it does."""

    role: Annotated[tuple[Role, ...], ONE_OR_MORE, Field(min_length=1)] = Field(
        ("quasi_identifier",), description="The roles they may have, besides `class` and `sensitive`."
    )
    exemptions: tuple[Exemption, ...] = Field(
        (), alias="except", description="Columns, by name or pattern, that may have other roles."
    )
    step: PositiveFloat | None = Field(
        None,
        description="The smallest `step` that they may have, or a multiple of it; none when left out. Secrets and the "
        "class may have none.",
    )

    @property
    def exempted(self) -> frozenset[tuple[str, str]]:
        """Each pattern of columns with each role that is allowed for it."""
        return frozenset((pattern, role) for each in self.exemptions for pattern in each.columns for role in each.roles)

    def roles_named(self, column: str) -> frozenset[str]:
        """The roles that the policy itself allows for a column, not only because a role is free."""
        return frozenset({*self.role, *(role for pattern, role in self.exempted if fnmatchcase(column, pattern))})

    def allows_step(self, step: Any, roles: Collection[str] = ()) -> bool:
        """May a column with these roles have this step: a multiple of the one that is allowed, and it is no secret?"""
        if self.step is None or not is_number(step) or not {*roles}.isdisjoint({"sensitive", "class"}):
            return False
        times = step / self.step
        return math.isfinite(times) and round(times) >= 1 and math.isclose(times, round(times), rel_tol=1e-9)

    def is_within(self, other: Unlisted) -> bool:
        """Does it allow nothing that the other does not?"""
        roles = {*self.role} <= {*other.role, "quasi_identifier", "class"} and self.exempted <= other.exempted
        return roles and (self.step is None or other.allows_step(self.step))


AS_ROLES = BeforeValidator(_as_roles, json_schema_input_type=Role | tuple[Role, ...] | Unlisted)


def unlisted_of(written: Any) -> Unlisted:
    """Return `data.unlisted` as a model; the default where it is missing or invalid."""
    try:
        return Unlisted() if written is None else _adapter().validate_json(json.dumps(written, default=str))
    except ValidationError:
        return Unlisted()


@cache
def _adapter() -> TypeAdapter[Unlisted]:
    return TypeAdapter(Annotated[Unlisted, AS_ROLES])


def allowing_less(old: Any, new: Any) -> Kind:
    """Allowing less of columns that are not listed is tighter."""
    before, after = unlisted_of(old), unlisted_of(new)
    return "tighter" if after.is_within(before) else "looser" if before.is_within(after) else "different"
