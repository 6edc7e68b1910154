"""One audit, written down: the models behind a policy file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SerializeAsAny,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from leafgate.kernel import inheritance, schema
from leafgate.kernel.components import AttackModel, Component, DataSource, TreeBuilder
from leafgate.kernel.facts import Asked
from leafgate.kernel.knowledge import Knows, SecretChange
from leafgate.kernel.metrics import Metric
from leafgate.kernel.options import Later, PeopleFile, PolicyFile, Strict, delete_later
from leafgate.kernel.origin import IN_MEMORY, LedgerHead, PolicyOrigin
from leafgate.kernel.paths import DocumentPath, canonical
from leafgate.kernel.release import Publish
from leafgate.kernel.unlisted import AS_ROLES, Unlisted, allowing_less
from leafgate.kernel.waivers import MAX_DAYS, MOST_DAYS, Approvals, Waiver, waivers_sha256

Key = Annotated[str, Field(min_length=1)] | int


class Protect(Strict):
    """Cells of one column that are secret, of some records."""

    column: str = Field(description="The column whose cells they are.")
    where: dict[str, Asked] = Field({}, description="Which records, by any columns: a value, a list, `{from: , to: }`.")
    keys: tuple[Key, ...] | None = Field(
        None, description="Instead of `where`: the keys of these records, from the column with the role `key`."
    )

    @model_validator(mode="after")
    def _says_which(self) -> Self:
        if bool(self.where) == (self.keys is not None) or self.keys == ():
            raise ValueError("write either `where` or `keys`, to say whose; a whole column has the role `sensitive`")
        return self


class CsvOptions(Strict):
    """How to read the file; the defaults are RFC 4180."""

    header: bool = Field(True, description="Whether the first line holds the columns' names.")
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = Field(
        ",", description="The character between two cells."
    )
    quote: Annotated[str, Field(min_length=1, max_length=1)] = Field(
        '"', description="The character around a quoted cell."
    )
    skip_initial_space: bool = Field(False, description="Drop spaces after a delimiter.")
    comment: Annotated[str, Field(min_length=1)] | None = Field(
        None, description="Lines that start with this text are skipped."
    )
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


def _refuse_source(source: Any) -> Any:
    """Where a data source is installed, policies are read by a model that has the installed ones in this place."""
    use = source.get("use") if isinstance(source, dict) else None
    raise ValueError("nobody offers a data source" if use is None else f"nobody offers {use!r}")


AnySource = Annotated[SerializeAsAny[DataSource], BeforeValidator(_refuse_source)]


class Data(Strict):
    """Where the people are, and what is known of them."""

    path: Annotated[PeopleFile | None, inheritance.FREE] = Field(
        None, description="The table: CSV, or Parquet by its suffix; DATA overrides it."
    )
    test: Annotated[PeopleFile | None, inheritance.FREE] = Field(
        None, description="A table for utility metrics; `--test` overrides it."
    )
    population: Annotated[PeopleFile | None, inheritance.COMPLETED] = Field(
        None, description="A larger table that the people come from, with its public columns."
    )
    control: Annotated[PeopleFile | None, inheritance.GRANTED] = Field(
        None,
        description="People who are not in the table, for membership and attribute attacks; by default `test`.",
    )
    missing: Annotated[tuple[str, ...], inheritance.READING] = Field(("",), description='Cells that mean "unknown".')
    on_missing: Annotated[Literal["drop", "keep"] | None, inheritance.READING] = Field(
        None,
        description="Required once cells are missing: drop the rows, or keep `missing` as a value of every column.",
    )
    csv: Annotated[CsvOptions, inheritance.READING_BY_KEY] = Field(CsvOptions(), description="How to read the file.")
    source: Annotated[AnySource | None, inheritance.READING] = Field(
        None,
        description="The data source that reads the data, where the core does not read them itself or an engine does.",
    )
    rows: Annotated[Literal["people"] | None, inheritance.FREE, Later()] = Field(
        None, description="`people`: each row is a person, although a column looks as if it numbered them."
    )
    rows_at_most: Annotated[int | None, inheritance.COMPLETED, Later(), Field(ge=1)] = Field(
        None,
        description="The most rows that a person may have, by the columns with the role `person`; a table with more is "
        "refused. Claims of differential privacy need it, because noise hides single rows.",
    )
    protect: Annotated[tuple[Protect, ...], inheritance.MORE_ITEMS_TIGHTER] = Field(
        (), description="Single cells that are secret, in columns that are not."
    )
    unlisted: Annotated[Unlisted, AS_ROLES, inheritance.ordered_by(allowing_less, default=None)] = Field(
        Unlisted(),
        description="The roles that a policy which extends this one may give to columns that are not listed here.",
    )
    reading: Annotated[Literal["parent", "child"], inheritance.ordered_by(inheritance.one_loosest("child"))] = Field(
        "parent",
        description="`child` lets a policy that extends this one state `missing` freely, and `on_missing: drop`.",
    )
    _file_checks: frozenset[DocumentPath] = PrivateAttr(frozenset())
    columns: Annotated[dict[str, schema.ColumnSpec], inheritance.COLUMNS] = Field(
        description="Every column, in file order when there is no header."
    )

    @field_validator("columns")
    @classmethod
    def _roles_complete(
        cls, columns: dict[str, schema.ColumnSpec], info: ValidationInfo
    ) -> dict[str, schema.ColumnSpec]:
        def count(role: str) -> int:
            return sum(role in spec.role for spec in columns.values())

        if count("quasi_identifier") == 0 and info.data.get("protect") == ():
            raise ValueError("no column is a quasi_identifier: an adversary who knows nothing of anyone cannot attack")
        for role in ("class", "weight", "key"):
            if count(role) > 1:
                raise ValueError(f"at most one column has the role `{role}`")
        if count("person") and count("weight"):
            raise ValueError("`person` says which rows are one person's, and `weight` how many people a row is; choose")
        for name, spec in columns.items():
            if unknown := sorted({*spec.independent_of} - columns.keys()):
                raise ValueError(f"`independent_of` of {name!r} lists {unknown[0]!r}, which is no column")
        return columns

    @model_validator(mode="after")
    def _rows_agree(self) -> Self:
        if self.persons and self.rows is not None:
            raise ValueError("`rows: people` says that each row is a person, and the role `person` that it is not")
        if self.rows_at_most is not None and not self.persons:
            raise ValueError("`rows_at_most` needs a column with the role `person`, which says whose each row is")
        varying = next((name for name, spec in self.columns.items() if spec.varies), None)
        if varying is not None and not self.persons:
            raise ValueError(f"`varies` of {varying!r} needs a column with the role `person`")
        return self

    @property
    def file_checks(self) -> frozenset[DocumentPath]:
        """How a policy has its files read beyond what it extends: each file must show that this removes nobody."""
        return self._file_checks

    def with_file_checks(self, paths: frozenset[DocumentPath]) -> Self:
        """The section, with these paths as its `file_checks`."""
        copy = self.model_copy()
        copy._file_checks = paths
        return copy

    @property
    def weight(self) -> tuple[str, schema.ColumnSpec] | None:
        """The column that says how many people a row stands for, and what the policy says of it; None without one."""
        return next(((name, spec) for name, spec in self.columns.items() if "weight" in spec.role), None)

    @property
    def persons(self) -> tuple[str, ...]:
        """The columns that together number the people; empty where each row is a person."""
        return tuple(name for name, spec in self.columns.items() if "person" in spec.role)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy; one with other columns has another meaning."""
        copy = super().model_copy(update=update, deep=deep)
        if update and not update.keys().isdisjoint({"columns", "on_missing"}):
            copy.__dict__.pop("_meaning", None)
        return copy

    def meaning(self) -> schema.Schema:
        """The columns that matter, hierarchies read, each once; DataError when a hierarchy does not fit."""
        return self._meaning

    @cached_property
    def _meaning(self) -> schema.Schema:
        kept = ((name, spec) for name, spec in self.columns.items() if not set(spec.role) & schema.DROPPED_ROLES)
        dropped = tuple(name for name, spec in self.columns.items() if set(spec.role) & schema.EXCLUSIVE_ROLES)
        return schema.Schema(
            tuple(schema.column_of(name, spec, self.on_missing) for name, spec in kept), dropped=dropped
        )


class ReleaseSpec(Strict):
    """A release that the adversary has beside the one that is audited."""

    path: PolicyFile = Field(
        description="The release file or model file as it left, beside the policy; with `counts` a frequency table."
    )
    counts: Annotated[tuple[str, ...], Field(min_length=1)] | None = Field(
        None,
        description="The columns of a frequency table (CSV) besides `count` or `share`, the class among them. Each "
        "row says how many people have these cells, or what share of those with the same other cells has "
        "this class; nobody has combinations without a row.",
    )
    data: Literal["same"] | PeopleFile | None = Field(
        None,
        description="The people it was learned from, read as the table is; `same` is the table itself. Without, what "
        "uses the release is inconclusive; a report needs none.",
    )

    @property
    def table(self) -> Path | None:
        """The table of its people, where it is not the audited one."""
        return self.data if isinstance(self.data, Path) else None

    @property
    def table_identity(self) -> object:
        """What releases of one table have in common; None where it is the audited table."""
        return self.table


class LedgerRelease(ReleaseSpec):
    """A release that a line of a ledger names, given on the command line; no policy can write one."""

    line: int = Field(description="The number of the line.")
    problem: str = Field("", description="Why nothing is known of it; empty where its files are as the line says.")
    remedy: str = Field("", description="What to do about the problem.")
    roll: Path | None = Field(None, description="The roll in place of the table of its people, which is gone.")
    roll_key: Path | None = Field(None, description="The file with the key of the roll.")
    people: str = Field("", description="The keyed digest of the table that is gone.")

    @property
    def table_identity(self) -> object:
        """What releases of one table have in common; None where it is the audited table."""
        return self.table if self.roll is None else self.people


class ChangedPeople(Strict):
    """How many people may have changed."""

    at_most: Annotated[int, Field(ge=0, le=2**31)] = Field(
        description="People who may have another secret in some table."
    )


YES_OR_NO: Mapping[Any, bool] = {"no": False, "yes": True}
"""YAML files of leafgate have these words as texts."""


def _yes_or_no(value: Any) -> Any:
    return YES_OR_NO.get(value, value) if isinstance(value, str) else value


YesOrNo = Annotated[
    bool, BeforeValidator(_yes_or_no), WithJsonSchema({"anyOf": [{"enum": [*YES_OR_NO]}, {"type": "boolean"}]})
]
"""Yes or no, by these words or as `true` or `false`."""


def fewer_changes(old: Any, new: Any) -> inheritance.Kind:
    """Allowing fewer changes is tighter: the adversary may exclude more."""
    return "tighter" if _allows_no_more(new, old) else "looser" if _allows_no_more(old, new) else "different"


def _allows_no_more(one: Any, other: Any) -> bool:
    one, other = (_yes_or_no(each) for each in (one, other))
    if other is True or one in (False, [], {"at_most": 0}):
        return True
    if isinstance(one, list) and isinstance(other, list):
        return all(pair in other for pair in one)
    limits = [each.get("at_most") for each in (one, other) if isinstance(each, dict)]
    numbers = [limit for limit in limits if isinstance(limit, int)]
    return len(numbers) == 2 and numbers[0] <= numbers[1]


class ReportSpec(Strict):
    """How careful the public report is."""

    smallest_cell: Annotated[int, inheritance.MORE, Field(ge=1)] = Field(
        10, description="Public reports mask counts of fewer people (small cells)."
    )
    digest_key: Annotated[PeopleFile | None, inheritance.COMPLETED] = Field(
        None, description="A file with a secret key of 16 bytes or more, which keys the digest of the data in reports."
    )


class Policy(Strict):
    """One audit, written down."""

    model_config = ConfigDict(defer_build=True)  # policies are read by a subclass with the plugins' components

    leafgate: Annotated[Literal[1], inheritance.SPECIAL] = Field(description="The version of this format.")
    name: Annotated[str, inheritance.FREE, Field(min_length=1)] = Field(description="What reports call this policy.")
    extends: Annotated[str | None, inheritance.SPECIAL] = Field(
        None, description="A policy beside this one, which this one completes and tightens."
    )
    data: Annotated[Data, inheritance.SECTION] = Field(description="Where the people are, and what their columns mean.")
    build: Annotated[TreeBuilder, inheritance.COMPONENT] = Field(description="The builder that makes the release.")
    publish: Annotated[Publish | None, inheritance.SECTION] = Field(
        None, description="What will be published; counts and measure by default."
    )
    knows: Annotated[Knows, inheritance.SECTION] = Field(
        Knows(), description="What the adversary has besides the public columns."
    )
    releases: Annotated[tuple[ReleaseSpec, ...], inheritance.GRANTED] = Field(
        (),
        description="Other releases of these people that the adversary has: `joint` derives what all prove together, "
        "and `differential_privacy` judges the total of their claims. People are matched by the column "
        "with the role `key`.",
    )
    secret_may_change: Annotated[
        YesOrNo | tuple[tuple[str, str], ...] | ChangedPeople,
        inheritance.ordered_by(fewer_changes, default=False),
    ] = Field(
        False,
        description="Whether somebody's class, where it is a secret, may differ between the tables of two releases, "
        "listed from the oldest to the newest: `no`; pairs of an older and a newer value; `{at_most: 5}` "
        "people; or `yes`, which leaves limits on what releases prove together inconclusive unless they "
        "are broken.",
    )
    ledger: Annotated[
        Literal["optional", "required"], inheritance.ordered_by(inheritance.ranked(("optional", "required"))), Later()
    ] = Field(
        "optional",
        description="Whether every audit must be given the ledger of releases that left (`leafgate audit --ledger`).",
    )
    attacks: Annotated[tuple[AttackModel, ...], inheritance.NAMED] = Field(description="The attacks that are run.")
    metrics: Annotated[tuple[Metric, ...], inheritance.NAMED] = Field(description="The limits that must hold.")
    report: Annotated[ReportSpec, inheritance.SECTION] = Field(
        ReportSpec(), description="How careful the public report is."
    )
    waivers: Annotated[tuple[Waiver, ...], inheritance.MORE_ITEMS_LOOSER] = Field(
        (), description="Findings that may fail, or the name of a file with them beside this policy."
    )
    max_waiver_days: Annotated[int, inheritance.LESS, Field(ge=0, le=MOST_DAYS)] = Field(
        MAX_DAYS, description="The most days a waiver may last, from the day it is issued; 0 allows no waiver."
    )
    approvals: Annotated[Approvals | None, inheritance.SECTION] = Field(
        None, description="Who may approve waivers, anybody but the owner by default; how many people decide."
    )
    seed: Annotated[int, inheritance.FREE, Field(ge=0, lt=2**63)] = Field(
        0, description="The seed of repeatable builders and of attacks."
    )
    plugins: Annotated[tuple[str, ...] | None, inheritance.ordered_by(inheritance.pinned)] = Field(
        None, description="The trusted distributions; no other plugin is loaded."
    )
    _origin: PolicyOrigin = PrivateAttr(IN_MEMORY)

    @property
    def secret_change(self) -> SecretChange:
        """How the secrets that people have in the tables of two releases may differ."""
        may_change = self.secret_may_change
        if isinstance(may_change, ChangedPeople):
            return SecretChange(None, may_change.at_most)
        return SecretChange(None if may_change is True else frozenset(may_change or ()))

    @property
    def origin(self) -> PolicyOrigin:
        """Where it was read from; nowhere for a policy that was changed since, whose lines are no longer those."""
        return self._origin

    def with_origin(self, origin: PolicyOrigin) -> Self:
        """The policy, which was read from there."""
        copy = self.model_copy()
        copy._origin = origin
        return copy

    def with_given(self, *words: str) -> Self:
        """The policy, to which the command line has given these further arguments."""
        return self.with_origin(replace(self.origin, given=(*self.origin.given, *words)))

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy; one with other values comes from no file."""
        copy = super().model_copy(update=update, deep=deep)
        if update:
            copy._origin = IN_MEMORY
        return copy

    @property
    def placed_releases(self) -> list[tuple[str, ReleaseSpec]]:
        """The other releases, each with what errors and reports call its place: a key of the policy, or a line."""
        first = sum(isinstance(each, LedgerRelease) for each in self.releases)
        return [
            (f"ledger line {each.line}" if isinstance(each, LedgerRelease) else f"releases[{i - first}]", each)
            for i, each in enumerate(self.releases)
        ]

    @property
    def reads_releases(self) -> bool:
        """Does some attack or limit use other releases?"""
        attacked = any("releases" in attack.needs for attack in self.attacks)
        return attacked or any(metric.reads_releases for metric in self.metrics)

    def with_ledger(self, releases: tuple[LedgerRelease, ...], head: LedgerHead) -> Self:
        """The policy with the releases of a ledger, which are before its own ones and no part of its digest."""
        copy = self.model_copy(update={"releases": (*releases, *self.releases)})
        return copy.with_origin(replace(self.origin, ledger=head))

    def knows_of(self, attack: AttackModel) -> Knows:
        """What an attack is granted: what its own `knows` says if it has one, else the policy's."""
        return self.knows if attack.knows is None else attack.knows

    def has_own_knowledge(self, attack: AttackModel) -> bool:
        """Is an attack granted something else than the policy's `knows` says?"""
        return self.knows_of(attack) != self.knows

    def knows_place(self, attack: AttackModel) -> str:
        """Where the policy has what an attack of it is granted, for errors: `knows`, or `attacks[1].knows`."""
        names = [each.called for each in self.attacks]
        own = self.has_own_knowledge(attack) and attack.called in names
        return f"attacks[{names.index(attack.called)}].knows" if own else "knows"

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
        return self._digests["sha256"]

    @property
    def _digests(self) -> dict[str, str]:
        """The digest, and where the builder reads a file also the one without this file, by their keys in reports."""
        result = self.digested()
        result["data"]["columns"] = list(result["data"]["columns"].items())
        digests = {"sha256": hashlib.sha256(canonical(result)).hexdigest()}
        if result["build"].pop(self.build.audited_option, None) is None:
            return digests
        return digests | {"sha256_without_file": hashlib.sha256(canonical(result)).hexdigest()}

    def digested(self, context: Any = None) -> dict[str, Any]:
        """What the digest is of; columns by their names. With the context UNREAD, files need not be there."""
        own = tuple(each for each in self.releases if not isinstance(each, LedgerRelease))
        if len(own) < len(self.releases):
            return self.model_copy(update={"releases": own}).digested(context)
        # what others may say that extend this policy changes nothing that it asks for
        data = {"path", "unlisted", "reading"}
        exclude: Any = {"data": data, "report": {"digest_key"}, "waivers": True, "extends": True}
        chosen = ("build", "attacks", "metrics")  # a changed policy may have others than its model knows
        document = self.model_dump(mode="json", exclude=exclude | dict.fromkeys(chosen, True), context=context)
        document["build"] = self.build and self.build.model_dump(mode="json", context=context)
        document["attacks"] = [attack.model_dump(mode="json", context=context) for attack in self.attacks]
        document["metrics"] = [metric.model_dump(mode="json", context=context) for metric in self.metrics]
        if not self.releases:  # digests of older policies stay what they are
            del document["releases"]
            if self.secret_may_change is False:
                del document["secret_may_change"]
        delete_later(self, document)
        document["publish"] = document["publish"] or Publish().model_dump()
        for attack, options in zip(self.attacks, document["attacks"], strict=True):
            if not attack.limits_itself():
                options.pop("time_limit", None)  # a time that is over never makes an audit pass or fail
        return document

    @property
    def identity(self) -> dict[str, str]:
        """The policy's name and digests, as a report prints them; every file that belongs to the policy is read."""
        digests = {"name": self.name, **self._digests}
        return digests | ({"waivers_sha256": waivers_sha256(self.waivers)} if self.waivers else {})
