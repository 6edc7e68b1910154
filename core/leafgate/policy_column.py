"""What a policy says of one column."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, model_validator

from leafgate.bins import bin_names
from leafgate.errors import DataError
from leafgate.hierarchy import Hierarchy, parse_hierarchy
from leafgate.interfaces import STRICT, Limit
from leafgate.policy_paths import DataFile
from leafgate.schema import Column, Role

ALONE = {"key", "weight", "identifier", "ignored"}


class Strict(BaseModel):
    """Unknown keys, other types, NaN: refused; error texts without the input."""

    model_config = STRICT


def _as_tuple(role: Any) -> Any:
    return (role,) if isinstance(role, str) else tuple(role) if isinstance(role, list) else role


ONE_OR_MORE = BeforeValidator(_as_tuple, json_schema_input_type=Role | tuple[Role, ...])
PATTERNS = BeforeValidator(_as_tuple, json_schema_input_type=str | tuple[str, ...])


class ColumnSpec(Strict):
    """What one column means."""

    role: Annotated[tuple[Role, ...], ONE_OR_MORE, Field(min_length=1)] = Field(
        description="Who knows it and what it is for; one role or a list."
    )
    values: tuple[str, ...] | None = Field(None, description="Every value a categorical column may have, as texts.")
    bounds: tuple[Limit, Limit] | None = Field(None, description="Lowest and highest number of a numeric column.")
    hierarchy: DataFile | None = Field(None, description="A `;`-separated file: value;group;coarser group;...")
    bins: Annotated[tuple[Limit, ...], Field(min_length=3)] | None = Field(
        None, description="Of a secret number, or a class of numbers: the edges of the intervals it is told in, rising."
    )
    ordered: bool = Field(False, description="Do the `values` stand in a meaningful order?")
    aliases: dict[str, str] = Field({}, description="Other spellings in the file, and the value each means.")
    counts: Literal["rows", "people"] | None = Field(
        None,
        description="Of a `weight`: is each row one person (the default), or as many people as its weight says?",
    )
    reason: Annotated[str, Field(min_length=1)] | None = Field(
        None, description="Of `counts: people`: why each row stands for so many alike people, all of them in the table."
    )

    @model_validator(mode="after")
    def _roles_agree(self) -> ColumnSpec:
        roles = set(self.role)
        if len(roles) > 1 and roles & ALONE:
            raise ValueError(f"the role {sorted(roles & ALONE)[0]!r} stands alone")
        if {"sensitive", "quasi_identifier"} <= roles:
            raise ValueError("what the adversary knows of everyone (`quasi_identifier`) is not `sensitive`; choose")
        if "private" in roles and roles & {"quasi_identifier", "sensitive"}:
            raise ValueError("`private` means neither quasi_identifier nor sensitive; choose")
        if "class" in roles and self.bounds is not None:
            raise ValueError("a class needs `values`, or a number's `bins`, not `bounds`")
        if "sensitive" in roles and self.bounds is not None and self.bins is None:
            raise ValueError("a secret number needs `bins`: the edges of the intervals it is believed to lie in")
        if "weight" not in roles and (self.counts is not None or self.reason is not None):
            raise ValueError("`counts` and `reason` are for the role `weight`")
        if self.counts == "people" and not (self.reason or "").strip():
            raise ValueError(
                "`counts: people` needs a `reason`: why each row stands for so many alike people in the table"
            )
        return self

    @model_validator(mode="after")
    def _domain_agrees(self) -> ColumnSpec:
        if self.values is not None and self.bounds is not None:
            raise ValueError("`values` (categorical) or `bounds` (numeric), not both")
        if self.values is not None and (len(set(self.values)) != len(self.values) or not self.values):
            raise ValueError("`values` must list each value once")
        if self.bounds is not None and self.bounds[0] > self.bounds[1]:
            raise ValueError("`bounds` are [lowest, highest]")
        if self.values is None and (self.hierarchy is not None or self.ordered):
            raise ValueError("`hierarchy` and `ordered` need `values`")
        if self.values is not None and not set(self.aliases.values()) <= set(self.values):
            raise ValueError("`aliases` must lead to declared `values`")
        if set(self.aliases) & set(self.values or ()):
            raise ValueError("`aliases` are other spellings; one of them is a value itself")
        return self

    @model_validator(mode="after")
    def _bins_agree(self) -> ColumnSpec:
        if self.bins is None:
            return self
        if not {"sensitive", "private", "class"} & set(self.role) or self.values is not None:
            raise ValueError(
                "`bins` are for numbers with the role `sensitive` or `class`, or `private` if cells are protected"
            )
        if any(low >= high for low, high in pairwise(self.bins)):
            raise ValueError("`bins` must rise")
        if self.bounds is not None and self.bounds != (self.bins[0], self.bins[-1]):
            raise ValueError("`bins` must begin and end where the `bounds` do")
        return self


class Exemption(Strict):
    """Columns to which a policy that extends this one may give further roles."""

    columns: Annotated[tuple[str, ...], PATTERNS, Field(min_length=1)] = Field(
        description="A column's name, or a pattern with `*`, `?` and `[...]`; or a list of them."
    )
    roles: Annotated[tuple[Role, ...], ONE_OR_MORE, Field(min_length=1)] = Field(
        description="The roles that these columns may have; one role or a list."
    )


FREE_ROLES = frozenset({"quasi_identifier", "class", "sensitive"})
"""Roles that a policy may give to any column that the policy it extends does not list: attacks judge each of them."""


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

    def allowed(self, name: str) -> frozenset[str]:
        """The roles that a policy which extends this one may give to the column `name`."""
        exempted = {role for pattern, role in self.exempted if fnmatchcase(name, pattern)}
        return FREE_ROLES | exempted | set(self.role)

    @property
    def exempted(self) -> frozenset[tuple[str, str]]:
        """Each pattern of columns with each role that is allowed for it."""
        return frozenset((pattern, role) for one in self.exemptions for pattern in one.columns for role in one.roles)

    def names(self, role: str, column: str) -> bool:
        """Does the policy itself allow this role for the column, not only because the role is free?"""
        exempted = {allowed for pattern, allowed in self.exempted if fnmatchcase(column, pattern)}
        return role in {*self.role, *exempted}

    def within(self, other: Unlisted) -> bool:
        """Does this one allow nothing that the other does not?"""
        return set(self.role) <= {*other.role, "quasi_identifier", "class"} and self.exempted <= other.exempted


AS_ROLES = BeforeValidator(_as_roles, json_schema_input_type=Role | tuple[Role, ...] | Unlisted)


def column_of(name: str, spec: ColumnSpec, on_missing: str | None) -> Column:
    """What a policy's column means, its hierarchy read; DataError when that does not fit."""
    edges = spec.bins if "class" in spec.role else None
    column = Column(
        name,
        frozenset(spec.role),
        values=bin_names(edges) if edges else spec.values,
        bounds=spec.bounds if spec.bins is None or edges else (spec.bins[0], spec.bins[-1]),
        ordered=spec.ordered or spec.bins is not None,
        declared=spec.values is not None or spec.bounds is not None or spec.bins is not None,
        missing=on_missing == "keep" and not set(spec.role) & {"class", "sensitive", "key"},
        bins=None if edges else spec.bins,
        edges=edges,
    )
    if spec.hierarchy is None:
        return column
    return replace(column, hierarchy=_hierarchy(spec, column))


def _hierarchy(spec: ColumnSpec, column: Column) -> Hierarchy:
    place = f"data.columns.{column.name}.hierarchy"
    try:
        text = spec.hierarchy.read_text(encoding="utf-8-sig") if spec.hierarchy else ""
    except (OSError, UnicodeDecodeError):
        raise DataError("cannot be read", place=place, remedy="name a `;`-separated text file") from None
    return parse_hierarchy(text, place).restricted(column.domain, place)
