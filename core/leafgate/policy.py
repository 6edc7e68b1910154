"""One audit, written down: the models behind a policy file."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, field_validator, model_validator

from leafgate.errors import DataError
from leafgate.hierarchy import Hierarchy, parse_hierarchy
from leafgate.interfaces import STRICT, AttackModel, Component, Limit, Metric, TreeBuilder
from leafgate.policy_knows import Knows
from leafgate.policy_paths import DataFile
from leafgate.release import Level
from leafgate.schema import Column, Role, Schema
from leafgate.strict_json import canonical

ALONE = {"key", "weight", "identifier", "ignored"}
DROPPED = {"weight", "identifier", "ignored"}


class Strict(BaseModel):
    """Unknown keys, other types, NaN: refused; error texts without the input."""

    model_config = STRICT


def _as_tuple(role: Any) -> Any:
    return (role,) if isinstance(role, str) else tuple(role) if isinstance(role, list) else role


ONE_OR_MORE = BeforeValidator(_as_tuple, json_schema_input_type=Role | tuple[Role, ...])


class CsvOptions(Strict):
    """How to read the file; the defaults are RFC 4180."""

    header: bool = Field(True, description="Is the first line the columns' names?")
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = Field(",", description="Between two cells.")
    quote: Annotated[str, Field(min_length=1, max_length=1)] = Field('"', description="Around a cell.")
    skip_initial_space: bool = Field(False, description="Drop spaces after a delimiter?")
    comment: Annotated[str, Field(min_length=1)] | None = Field(None, description="Lines that start so are skipped.")
    encoding: str = Field("utf-8-sig", description="The text's encoding, by its Python name.")

    @model_validator(mode="after")
    def _readable(self) -> CsvOptions:
        if not all(sign.isascii() and (sign.isprintable() or sign == "\t") for sign in (self.delimiter, self.quote)):
            raise ValueError("`delimiter` and `quote` are plain signs of one byte")
        if self.delimiter == self.quote:
            raise ValueError("`delimiter` and `quote` must differ")
        try:
            "a,b".encode(self.encoding).decode(self.encoding)
        except (LookupError, ValueError):
            raise ValueError("`encoding` is not one that Python knows; try utf-8 or latin-1") from None
        return self


class ColumnSpec(Strict):
    """What one column means."""

    role: Annotated[tuple[Role, ...], ONE_OR_MORE, Field(min_length=1)] = Field(
        description="Who knows it and what it is for; one role or a list."
    )
    values: tuple[str, ...] | None = Field(None, description="Every value a categorical column may have, as texts.")
    bounds: tuple[Limit, Limit] | None = Field(None, description="Lowest and highest number of a numeric column.")
    hierarchy: DataFile | None = Field(None, description="A `;`-separated file: value;group;coarser group;...")
    ordered: bool = Field(False, description="Do the `values` stand in a meaningful order?")
    aliases: dict[str, str] = Field({}, description="Other spellings in the file, and the value each means.")

    @model_validator(mode="after")
    def _consistent(self) -> ColumnSpec:
        roles = set(self.role)
        if len(roles) > 1 and roles & ALONE:
            raise ValueError(f"the role {sorted(roles & ALONE)[0]!r} stands alone")
        if {"sensitive", "quasi_identifier"} <= roles:
            raise ValueError("what the adversary knows of everyone (`quasi_identifier`) is not `sensitive`; choose")
        if "private" in roles and roles & {"quasi_identifier", "sensitive"}:
            raise ValueError("`private` means neither quasi_identifier nor sensitive; choose")
        if self.values is not None and self.bounds is not None:
            raise ValueError("`values` (categorical) or `bounds` (numeric), not both")
        if self.values is not None and (len(set(self.values)) != len(self.values) or not self.values):
            raise ValueError("`values` must list each value once")
        if self.bounds is not None and self.bounds[0] > self.bounds[1]:
            raise ValueError("`bounds` are [lowest, highest]")
        if roles & {"sensitive", "class"} and self.bounds is not None:
            raise ValueError("a class or a secret needs `values`, not `bounds`")
        if self.values is None and (self.hierarchy is not None or self.ordered):
            raise ValueError("`hierarchy` and `ordered` need `values`")
        if self.values is not None and not set(self.aliases.values()) <= set(self.values):
            raise ValueError("`aliases` must lead to declared `values`")
        return self


class Data(Strict):
    """Where the people are, and what is known of them."""

    path: DataFile | None = Field(None, description="The table: CSV, or Parquet by its ending; DATA overrides it.")
    test: DataFile | None = Field(None, description="A table for utility metrics; `--test` overrides it.")
    population: DataFile | None = Field(None, description="A larger table the people come from: the public columns.")
    missing: tuple[str, ...] = Field(("",), description='Cells that mean "unknown".')
    on_missing: Literal["drop", "keep"] | None = Field(
        None,
        description="Required once cells are missing: drop the rows, or keep `missing` as a value of every column.",
    )
    csv: CsvOptions = Field(CsvOptions(), description="How to read the file.")
    columns: dict[str, ColumnSpec] = Field(description="Every column, in file order when there is no header.")

    @field_validator("columns")
    @classmethod
    def _roles_complete(cls, columns: dict[str, ColumnSpec]) -> dict[str, ColumnSpec]:
        def count(role: str) -> int:
            return sum(role in spec.role for spec in columns.values())

        if count("quasi_identifier") == 0:
            raise ValueError("no column is a quasi_identifier: an adversary who knows nothing of anyone cannot attack")
        for role in ("class", "weight", "key"):
            if count(role) > 1:
                raise ValueError(f"at most one column has the role `{role}`")
        return columns

    def meaning(self) -> Schema:
        """The columns that matter, hierarchies read; DataError when a hierarchy does not fit."""
        kept = ((name, spec) for name, spec in self.columns.items() if not set(spec.role) & DROPPED)
        return Schema(tuple(column_of(name, spec, self.on_missing) for name, spec in kept))


def column_of(name: str, spec: ColumnSpec, on_missing: str | None) -> Column:
    """What a policy's column means, its hierarchy read; DataError when that does not fit."""
    column = Column(
        name,
        frozenset(spec.role),
        values=spec.values,
        bounds=spec.bounds,
        ordered=spec.ordered,
        declared=spec.values is not None or spec.bounds is not None,
        missing=on_missing == "keep" and not set(spec.role) & {"class", "sensitive", "key"},
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


class PublishSpec(Strict):
    """What will be published."""

    leaves: Level = Field("counts", description="On the leaves: labels, or also error rates, shares or counts.")
    measure: bool = Field(True, description="Is the selection measure known?")


class ReportSpec(Strict):
    """How careful the public report is."""

    smallest_cell: Annotated[int, Field(ge=1)] = Field(10, description="Smaller counts of people are not shown.")


class Policy(Strict):
    """One audit, written down."""

    leafgate: Literal[1] = Field(description="The version of this format.")
    name: Annotated[str, Field(min_length=1)] = Field(description="What reports call this policy.")
    data: Data = Field(description="Where the people are, and what their columns mean.")
    build: TreeBuilder = Field(description="How the release is made; `use:` a builder.")
    publish: PublishSpec | None = Field(None, description="What will be published; counts and measure by default.")
    knows: Knows = Field(Knows(), description="What the adversary has besides the public columns.")
    attacks: tuple[AttackModel, ...] = Field(description="What must be tried; each `use:`s an attack.")
    metrics: tuple[Metric, ...] = Field(description="How well everyone must stay protected; each `use:`s a metric.")
    report: ReportSpec = Field(ReportSpec(), description="How careful the public report is.")
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(0, description="For builders that repeat, and for attacks.")
    plugins: tuple[str, ...] | None = Field(None, description="The distributions trusted; nothing else is loaded.")

    @field_validator("attacks", "metrics")
    @classmethod
    def _not_empty(cls, chosen: tuple[Component, ...]) -> tuple[Component, ...]:
        if not chosen:
            raise ValueError("list at least one; an audit that checks nothing proves nothing")
        return chosen

    @property
    def sha256(self) -> str:
        """The digest of all resolved options, files by their content, the data file left out.

        The order of the columns is part of it: it names them where there is no header, and breaks ties.
        """
        told = self.model_dump(mode="json", exclude={"data": {"path"}})
        told["data"]["columns"] = list(told["data"]["columns"].items())
        told["publish"] = told["publish"] or PublishSpec().model_dump()
        return hashlib.sha256(canonical(told)).hexdigest()
