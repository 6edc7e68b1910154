"""One audit, written down: the models behind a policy file."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from leafgate.interfaces import AttackModel, Component, Metric, TreeBuilder
from leafgate.policy_column import AS_ROLES, ColumnSpec, Strict, Unlisted, column_of
from leafgate.policy_knows import Knows
from leafgate.policy_paths import PeopleFile
from leafgate.policy_protect import Protect
from leafgate.policy_waivers import MAX_DAYS, MOST_DAYS, Approvals, Waiver
from leafgate.release import Level
from leafgate.schema import Schema
from leafgate.strict_json import canonical

DROPPED = {"weight", "identifier", "ignored"}


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


class Data(Strict):
    """Where the people are, and what is known of them."""

    path: PeopleFile | None = Field(None, description="The table: CSV, or Parquet by its ending; DATA overrides it.")
    test: PeopleFile | None = Field(None, description="A table for utility metrics; `--test` overrides it.")
    population: PeopleFile | None = Field(None, description="A larger table the people come from: the public columns.")
    missing: tuple[str, ...] = Field(("",), description='Cells that mean "unknown".')
    on_missing: Literal["drop", "keep"] | None = Field(
        None,
        description="Required once cells are missing: drop the rows, or keep `missing` as a value of every column.",
    )
    csv: CsvOptions = Field(CsvOptions(), description="How to read the file.")
    protect: tuple[Protect, ...] = Field((), description="Single cells that are secret, in columns that are not.")
    unlisted: Annotated[Unlisted, AS_ROLES] = Field(
        Unlisted(), description="What a policy that extends this one may say of columns that this one does not list."
    )
    columns: dict[str, ColumnSpec] = Field(description="Every column, in file order when there is no header.")

    @field_validator("columns")
    @classmethod
    def _roles_complete(cls, columns: dict[str, ColumnSpec], info: ValidationInfo) -> dict[str, ColumnSpec]:
        def count(role: str) -> int:
            return sum(role in spec.role for spec in columns.values())

        if count("quasi_identifier") == 0 and info.data.get("protect") == ():
            raise ValueError("no column is a quasi_identifier: an adversary who knows nothing of anyone cannot attack")
        for role in ("class", "weight", "key"):
            if count(role) > 1:
                raise ValueError(f"at most one column has the role `{role}`")
        return columns

    @property
    def weight(self) -> tuple[str, ColumnSpec] | None:
        """The column that says how many people a row stands for, and what the policy says of it; None without one."""
        return next(((name, spec) for name, spec in self.columns.items() if "weight" in spec.role), None)

    def meaning(self) -> Schema:
        """The columns that matter, hierarchies read; DataError when a hierarchy does not fit."""
        kept = ((name, spec) for name, spec in self.columns.items() if not set(spec.role) & DROPPED)
        dropped = tuple(name for name, spec in self.columns.items() if set(spec.role) & {*DROPPED, "key"})
        return Schema(tuple(column_of(name, spec, self.on_missing) for name, spec in kept), dropped=dropped)


class PublishSpec(Strict):
    """What will be published."""

    leaves: Level = Field("counts", description="On the leaves: labels, or also error rates, shares or counts.")
    measure: bool = Field(True, description="Is the selection measure known?")


class ReportSpec(Strict):
    """How careful the public report is."""

    smallest_cell: Annotated[int, Field(ge=1)] = Field(10, description="Smaller counts of people are not shown.")
    digest_key: PeopleFile | None = Field(
        None, description="A secret of its owner's, 16 bytes or more: the data's digest is shown keyed with it."
    )


class Policy(Strict):
    """One audit, written down."""

    leafgate: Literal[1] = Field(description="The version of this format.")
    name: Annotated[str, Field(min_length=1)] = Field(description="What reports call this policy.")
    extends: str | None = Field(None, description="A policy beside this one, which this one completes and tightens.")
    data: Data = Field(description="Where the people are, and what their columns mean.")
    build: TreeBuilder = Field(description="How the release is made; `use:` a builder.")
    publish: PublishSpec | None = Field(None, description="What will be published; counts and measure by default.")
    knows: Knows = Field(Knows(), description="What the adversary has besides the public columns.")
    attacks: tuple[AttackModel, ...] = Field(description="What must be tried; each `use:`s an attack.")
    metrics: tuple[Metric, ...] = Field(description="How well everyone must stay protected; each `use:`s a metric.")
    report: ReportSpec = Field(ReportSpec(), description="How careful the public report is.")
    waivers: tuple[Waiver, ...] = Field((), description="Findings that may fail; or the name of a file beside this.")
    max_waiver_days: Annotated[int, Field(ge=0, le=MOST_DAYS)] = Field(
        MAX_DAYS, description="How long a waiver may last, from the day it is issued; 0: there may be none."
    )
    approvals: Approvals | None = Field(None, description="Who may approve waivers; anybody but the owner by default.")
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
        """The digest of all resolved options, files by their content; of files about people only whether there are any.

        It is told to the public, who could try whether a file about people is the one they think it is. The data
        file is left out altogether, and so are the key of its digest and the waivers: what is waived changes nothing
        that the policy asks for. The order of the columns is part of it: it names them where there is no header, and
        breaks ties.
        """
        told = self.digested()
        told["data"]["columns"] = list(told["data"]["columns"].items())
        return hashlib.sha256(canonical(told)).hexdigest()

    def digested(self, context: Any = None) -> dict[str, Any]:
        """What the digest is of; columns by their names. With the context UNREAD, files need not be there."""
        data = {"path", "unlisted"}  # what others may say that extend this policy changes nothing that it asks for
        exclude: Any = {"data": data, "report": {"digest_key"}, "waivers": True, "extends": True}
        told = self.model_dump(mode="json", exclude=exclude, context=context)
        for column in told["data"]["columns"].values():  # digests of policies without them stay what they were
            for key in ("counts", "reason"):
                if column[key] is None:
                    del column[key]
        told["publish"] = told["publish"] or PublishSpec().model_dump()
        if told["approvals"] is None:
            del told["approvals"]  # policies that do not name reviewers keep their digest
        return told
