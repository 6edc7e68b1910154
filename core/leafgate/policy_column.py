"""What a policy says of one column."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Any

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
