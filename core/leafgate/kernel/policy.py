"""One audit, written down: the models behind a policy file."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SerializeAsAny,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from leafgate.errors import DataError
from leafgate.kernel.components import AttackModel, Component, DataSource, Strict, TreeBuilder
from leafgate.kernel.facts import Asked
from leafgate.kernel.given import WITNESS_LIBRARY
from leafgate.kernel.inheritance import (
    COLUMNS,
    COMPLETED,
    FIXED,
    FREE,
    GRANTED,
    LESS,
    MORE,
    MORE_ITEMS_LOOSER,
    MORE_ITEMS_TIGHTER,
    NAMED,
    READING,
    READING_BY_KEY,
    SECTION,
    SPECIAL,
    Kind,
    fewer,
    one_loosest,
    ordered_by,
    ranked,
    unstated,
)
from leafgate.kernel.knowledge import Knows
from leafgate.kernel.metrics import Metric
from leafgate.kernel.options import DataFile, FiniteFloat, PeopleFile, PositiveFloat
from leafgate.kernel.paths import DocumentPath, canonical, is_number
from leafgate.kernel.release import LEVELS, Level
from leafgate.kernel.schema import DROPPED_ROLES, Column, Hierarchy, Role, Schema, bin_names, parse_hierarchy
from leafgate.kernel.waivers import MAX_DAYS, MOST_DAYS, Approvals, Waiver, waivers_sha256

EXCLUSIVE_ROLES = DROPPED_ROLES | {"key"}
"""Roles that a column can only have alone."""


def _as_tuple(role: Any) -> Any:
    return (role,) if isinstance(role, str) else tuple(role) if isinstance(role, list) else role


ONE_OR_MORE = BeforeValidator(_as_tuple, json_schema_input_type=Role | tuple[Role, ...])
PATTERNS = BeforeValidator(_as_tuple, json_schema_input_type=str | tuple[str, ...])


Edges = Annotated[tuple[FiniteFloat, ...], Field(min_length=3)]
"""The ascending edges of at least two intervals."""
Text = Annotated[str, Field(min_length=1)]


class ColumnSpec(Strict):
    """What one column means."""

    role: Annotated[tuple[Role, ...], SPECIAL, ONE_OR_MORE, Field(min_length=1)] = Field(
        description="Who knows it and what it is for; one role or a list."
    )
    values: Annotated[tuple[str, ...] | None, COMPLETED] = Field(
        None, description="Every value a categorical column may have, as texts."
    )
    public_domain: Annotated[Literal["public"] | None, ordered_by(unstated)] = Field(
        None,
        alias="domain",
        description="For `values` that are a code list which exists without this table, such as all countries: a file "
        "that holds the whole list does not disclose who is in the table.",
    )
    bounds: Annotated[tuple[FiniteFloat, FiniteFloat] | None, COMPLETED] = Field(
        None, description="Lowest and highest number of a numeric column."
    )
    hierarchy: Annotated[DataFile | None, COMPLETED] = Field(
        None, description="A `;`-separated file: value;group;coarser group;..."
    )
    bins: Annotated[Edges | None, COMPLETED] = Field(
        None,
        description="For a secret number or a class of numbers: the ascending edges of the intervals of its values.",
    )
    scale: Annotated[Literal["ratio"] | None, FIXED] = Field(
        None,
        description="For a number from 0 up, such as pay: two are near to each other by their ratio (10 %), not by "
        "their difference (5 % of the bounds or bins).",
    )
    step: Annotated[PositiveFloat | None, ordered_by(unstated)] = Field(
        None,
        description="Of a number: how finely it is public, such as 1 for whole numbers; multiples are nobody's, on "
        "leaves and in a model's file (thresholds, fills, edges of bins).",
    )
    ordered: Annotated[bool, COMPLETED] = Field(False, description="Are the `values` in a meaningful order?")
    aliases: Annotated[dict[str, str], FIXED] = Field(
        {}, description="Other spellings in the file, or of a model's classes, each with the value that it means."
    )
    counts: Annotated[Literal["rows", "people"] | None, ordered_by(ranked(("people", "rows")), default="rows")] = Field(
        None,
        description="For a `weight`: is each row one person (the default), or as many people as its weight says?",
    )
    reason: Annotated[Text | None, FREE] = Field(
        None,
        description="For `counts: people`: why each row stands for so many identical people, all of them in the table.",
    )

    @property
    def roles(self) -> frozenset[Role]:
        """Its roles, in no order."""
        return frozenset(self.role)

    @property
    def domain(self) -> tuple[str, ...]:
        """Its values, or the names of its bins; empty where the policy leaves them open."""
        return self.values or (bin_names(self.bins) if self.bins else ())

    @model_validator(mode="after")
    def _roles_agree(self) -> ColumnSpec:
        roles = set(self.role)
        if len(roles) > 1 and roles & EXCLUSIVE_ROLES:
            raise ValueError(f"the role {sorted(roles & EXCLUSIVE_ROLES)[0]!r} stands alone")
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
        if self.public_domain is not None and self.values is None:
            raise ValueError("`domain: public` needs `values`: every value of the code list, as it is published")
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
            raise ValueError("`bins` are for numbers with the role `sensitive`, `class` or `private`")
        if any(low >= high for low, high in pairwise(self.bins)):
            raise ValueError("`bins` must rise")
        if self.bounds is not None and self.bounds != (self.bins[0], self.bins[-1]):
            raise ValueError("`bins` must begin and end where the `bounds` do")
        return self

    @model_validator(mode="after")
    def _numbers_agree(self) -> ColumnSpec:
        if self.values is not None and (self.scale is not None or self.step is not None):
            raise ValueError("`scale` and `step` are for numbers, not for `values`")
        lowest = min(self.bins or self.bounds or (0.0,))
        if self.scale == "ratio" and lowest < 0:
            raise ValueError("`scale: ratio` is for numbers from 0 up")
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
    step: PositiveFloat | None = Field(
        None,
        description="The smallest `step` that they may have, or a multiple of it; none when left out. Secrets and the "
        "class may have none.",
    )

    def allowed(self, name: str) -> frozenset[str]:
        """The roles that a policy which extends this one may give to the column `name`."""
        exempted = {role for pattern, role in self.exempted if fnmatchcase(name, pattern)}
        return FREE_ROLES | exempted | set(self.role)

    @property
    def exempted(self) -> frozenset[tuple[str, str]]:
        """Each pattern of columns with each role that is allowed for it."""
        return frozenset(
            (pattern, role)
            for exemption in self.exemptions
            for pattern in exemption.columns
            for role in exemption.roles
        )

    def names(self, role: str, column: str) -> bool:
        """Does the policy itself allow this role for the column, not only because the role is free?"""
        exempted = {allowed for pattern, allowed in self.exempted if fnmatchcase(column, pattern)}
        return role in {*self.role, *exempted}

    def allows_step(self, step: Any, roles: Collection[str]) -> bool:
        """May a column with these roles have this step: a multiple of the one that is allowed, and it is no secret?"""
        if self.step is None or not is_number(step) or not {*roles}.isdisjoint({"sensitive", "class"}):
            return False
        times = step / self.step
        return math.isfinite(times) and round(times) >= 1 and math.isclose(times, round(times), rel_tol=1e-9)

    def within(self, outer: Unlisted) -> bool:
        """Does this one allow nothing that the other does not?"""
        roles = set(self.role) <= {*outer.role, "quasi_identifier", "class"} and self.exempted <= outer.exempted
        return roles and (self.step is None or outer.allows_step(self.step, ()))


AS_ROLES = BeforeValidator(_as_roles, json_schema_input_type=Role | tuple[Role, ...] | Unlisted)


def unlisted_of(written: Any) -> Unlisted:
    """Return `data.unlisted` as a model; the default where it is missing or invalid."""
    try:
        return Unlisted() if written is None else _unlisted_adapter().validate_json(json.dumps(written, default=str))
    except ValidationError:
        return Unlisted()


@cache
def _unlisted_adapter() -> TypeAdapter[Unlisted]:
    return TypeAdapter(Annotated[Unlisted, AS_ROLES])


def allowing_less(old: Any, new: Any) -> Kind:
    """Allowing less of columns that are not listed is tighter."""
    before, after = unlisted_of(old), unlisted_of(new)
    return "tighter" if after.within(before) else "looser" if before.within(after) else "different"


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
        scale=spec.scale,
        step=spec.step,
        public_domain=spec.public_domain is not None,
        aliases=spec.aliases,
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

    header: bool = Field(True, description="Does the first line hold the columns' names?")
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = Field(
        ",", description="The character between two cells."
    )
    quote: Annotated[str, Field(min_length=1, max_length=1)] = Field(
        '"', description="The character around a quoted cell."
    )
    skip_initial_space: bool = Field(False, description="Drop spaces after a delimiter?")
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

    path: Annotated[PeopleFile | None, FREE] = Field(
        None, description="The table: CSV, or Parquet by its suffix; DATA overrides it."
    )
    test: Annotated[PeopleFile | None, FREE] = Field(
        None, description="A table for utility metrics; `--test` overrides it."
    )
    population: Annotated[PeopleFile | None, COMPLETED] = Field(
        None, description="A larger table that the people come from, with its public columns."
    )
    control: Annotated[PeopleFile | None, GRANTED] = Field(
        None,
        description="People who are not in the table, for attacks that infer who is in it; `test` when left out.",
    )
    missing: Annotated[tuple[str, ...], READING] = Field(("",), description='Cells that mean "unknown".')
    on_missing: Annotated[Literal["drop", "keep"] | None, READING] = Field(
        None,
        description="Required once cells are missing: drop the rows, whatever else is in them, or keep `missing` as a "
        "value of every column.",
    )
    csv: Annotated[CsvOptions, READING_BY_KEY] = Field(CsvOptions(), description="How to read the file.")
    source: Annotated[AnySource | None, READING] = Field(
        None,
        description="How data are read that the core does not read itself, or where an engine reads them: by the data "
        "source that `use:` names.",
    )
    protect: Annotated[tuple[Protect, ...], MORE_ITEMS_TIGHTER] = Field(
        (), description="Single cells that are secret, in columns that are not."
    )
    unlisted: Annotated[Unlisted, AS_ROLES, ordered_by(allowing_less, default=None)] = Field(
        Unlisted(),
        description="The roles that a policy which extends this one may give to columns that are not listed here.",
    )
    reading: Annotated[Literal["parent", "child"], ordered_by(one_loosest("child"))] = Field(
        "parent",
        description="Who says which rows with missing cells are left out: `child` lets a policy that extends this one "
        "state `missing` freely, and `on_missing: drop`.",
    )
    _file_checks: frozenset[DocumentPath] = PrivateAttr(frozenset())
    columns: Annotated[dict[str, ColumnSpec], COLUMNS] = Field(
        description="Every column, in file order when there is no header."
    )

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
    def file_checks(self) -> frozenset[DocumentPath]:
        """How a policy has its files read beyond what it extends: each file must show that this removes nobody."""
        return self._file_checks

    def with_file_checks(self, paths: frozenset[DocumentPath]) -> Self:
        """The section, with these paths as its `file_checks`."""
        copy = self.model_copy()
        copy._file_checks = paths
        return copy

    @property
    def weight(self) -> tuple[str, ColumnSpec] | None:
        """The column that says how many people a row stands for, and what the policy says of it; None without one."""
        return next(((name, spec) for name, spec in self.columns.items() if "weight" in spec.role), None)

    def meaning(self) -> Schema:
        """The columns that matter, hierarchies read; DataError when a hierarchy does not fit."""
        kept = ((name, spec) for name, spec in self.columns.items() if not set(spec.role) & DROPPED_ROLES)
        dropped = tuple(name for name, spec in self.columns.items() if set(spec.role) & EXCLUSIVE_ROLES)
        return Schema(tuple(column_of(name, spec, self.on_missing) for name, spec in kept), dropped=dropped)


class PublishSpec(Strict):
    """What will be published; the key stands at the top level of a policy, beside `build`."""

    leaves: Annotated[Level, ordered_by(ranked(LEVELS[::-1]))] = Field(
        "counts", description="What leaves publish: labels alone, or also error rates, shares or counts."
    )
    measure: Annotated[bool, LESS] = Field(True, description="Is the selection measure published?")


class ReportSpec(Strict):
    """How careful the public report is."""

    smallest_cell: Annotated[int, MORE, Field(ge=1)] = Field(
        10, description="Public reports mask counts of fewer people."
    )
    digest_key: Annotated[PeopleFile | None, COMPLETED] = Field(
        None, description="A file with a secret key of 16 bytes or more, with which reports key the digest of the data."
    )


@dataclass(frozen=True)
class SourceLine:
    """One line of a policy: the file's name, never an absolute path; the line number, from 1; the text."""

    file: str
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.number}: {self.text}"


Lines = Mapping[DocumentPath, SourceLine]
"""The line of each key of a policy, by its path as errors print it (`metrics[0].at_least`)."""


@dataclass(frozen=True)
class PolicyOrigin:
    """The file that a policy was read from, the policies it extends, and the line of each of its keys.

    `folder` is relative to the root of the policy's repository and empty outside one, so that no absolute path is
    published and nothing depends on the working directory. `elsewhere` maps each file of the policy that does not lie
    below `folder` to its own folder, likewise relative. `given` lists the other arguments of the command line; paths
    among them are likewise relative, or replaced by a word such as DATA.
    """

    file: str = ""
    lines: Lines = field(default_factory=dict)
    extends: tuple[str, ...] = ()
    folder: str = ""
    given: tuple[str, ...] = ()
    elsewhere: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_held_to_organisation(self) -> bool:
        """Must the policy complete or tighten one that an organisation gives with `--org`?"""
        return "--org" in self.given

    @property
    def asks_library(self) -> bool:
        """Shall the library that wrote a model's file open it?"""
        return WITNESS_LIBRARY in self.given

    @property
    def facts(self) -> dict[str, Any]:
        """What a report states about the origin; empty entries are left out."""
        fields = {"file": self.file, "folder": self.folder, "extends": list(self.extends), "given": list(self.given)}
        return {key: value for key, value in fields.items() if value}


IN_MEMORY = PolicyOrigin()
"""The origin of a policy that was not read from a file."""


class Policy(Strict):
    """One audit, written down."""

    model_config = ConfigDict(defer_build=True)  # policies are read by a subclass with the plugins' components

    leafgate: Annotated[Literal[1], SPECIAL] = Field(description="The version of this format.")
    name: Annotated[str, FREE, Field(min_length=1)] = Field(description="What reports call this policy.")
    extends: Annotated[str | None, SPECIAL] = Field(
        None, description="A policy beside this one, which this one completes and tightens."
    )
    data: Annotated[Data, SECTION] = Field(description="Where the people are, and what their columns mean.")
    build: Annotated[TreeBuilder, SPECIAL] = Field(
        description="How the release is made: by the builder that `use:` names."
    )
    publish: Annotated[PublishSpec | None, SECTION] = Field(
        None, description="What will be published; counts and measure by default."
    )
    knows: Annotated[Knows, SECTION] = Field(Knows(), description="What the adversary has besides the public columns.")
    attacks: Annotated[tuple[AttackModel, ...], NAMED] = Field(
        description="The attacks that are run; each names one with `use:`."
    )
    metrics: Annotated[tuple[Metric, ...], NAMED] = Field(
        description="The limits that must hold; each names a metric with `use:`."
    )
    report: Annotated[ReportSpec, SECTION] = Field(ReportSpec(), description="How careful the public report is.")
    waivers: Annotated[tuple[Waiver, ...], MORE_ITEMS_LOOSER] = Field(
        (), description="Findings that may fail; or the name of a file beside this policy."
    )
    max_waiver_days: Annotated[int, LESS, Field(ge=0, le=MOST_DAYS)] = Field(
        MAX_DAYS, description="The most days a waiver may last, from the day it is issued; 0 allows no waiver."
    )
    approvals: Annotated[Approvals | None, SECTION] = Field(
        None, description="Who may approve waivers; anybody but the owner by default."
    )
    seed: Annotated[int, FREE, Field(ge=0, lt=2**63)] = Field(
        0, description="The seed of repeatable builders and of attacks."
    )
    plugins: Annotated[tuple[str, ...] | None, ordered_by(fewer)] = Field(
        None, description="The trusted distributions; no other plugin is loaded."
    )
    _origin: PolicyOrigin = PrivateAttr(IN_MEMORY)

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
        result = self.digested()
        result["data"]["columns"] = list(result["data"]["columns"].items())
        return hashlib.sha256(canonical(result)).hexdigest()

    def digested(self, context: Any = None) -> dict[str, Any]:
        """What the digest is of; columns by their names. With the context UNREAD, files need not be there."""
        # what others may say that extend this policy changes nothing that it asks for
        data = {"path", "unlisted", "reading"}
        exclude: Any = {"data": data, "report": {"digest_key"}, "waivers": True, "extends": True}
        document = self.model_dump(mode="json", exclude=exclude, context=context)
        document["publish"] = document["publish"] or PublishSpec().model_dump()
        return document

    @property
    def identity(self) -> dict[str, str]:
        """The policy's name and digests, as a report prints them; every file that belongs to the policy is read."""
        digests = {"name": self.name, "sha256": self.sha256}
        return digests | ({"waivers_sha256": waivers_sha256(self.waivers)} if self.waivers else {})
