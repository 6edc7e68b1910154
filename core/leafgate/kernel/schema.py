"""What the columns mean: roles, domains, and what the adversary knows of them."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, model_validator

from leafgate.errors import DataError, PolicyError
from leafgate.kernel import inheritance
from leafgate.kernel.options import STRICT, DataFile, FiniteFloat, Later, PositiveFloat
from leafgate.kernel.spelling import loose_form, spellings_of_one

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_LINES = 500_000
"""Longer hierarchies are refused: a policy has room for some 50,000 of the values they are for, and a line takes some
600 bytes of memory."""


MISSING_GROUP = "\0missing"
"""The group of a missing cell on every level of a hierarchy."""


@dataclass(frozen=True)
class Hierarchy:
    """For every value its group's name on each level; level 0 is the value itself.

    `groups[value]` has one name a level, finest first, the value itself left out. A level
    whose every value shares one group (the usual `*`) discloses nothing and is not kept.
    """

    groups: Mapping[str | None, tuple[str, ...]]

    @property
    def depth(self) -> int:
        """How many levels coarser than the values themselves say something."""
        return len(next(iter(self.groups.values()), ()))

    def restricted(self, domain: Sequence[str | None], place: str) -> Hierarchy:
        """The hierarchy of `domain` alone; missing (None) is a branch of its own on every level.

        Raises DataError when a value of the domain has no line.
        """
        unknown = [value for value in domain if value is not None and value not in self.groups]
        if unknown:
            raise DataError(
                f"{len(unknown)} value(s) of the domain have no line in the hierarchy",
                place=place,
                remedy=f"add a line for {', '.join(map(repr, unknown[:3]))}",
            )
        kept = {value: self.groups[value] for value in domain if value is not None}
        levels = [h for h in range(self.depth) if len({names[h] for names in kept.values()}) > 1]
        groups: dict[str | None, tuple[str, ...]] = {
            value: tuple(names[h] for h in levels) for value, names in kept.items()
        }
        if None in domain:
            groups[None] = (MISSING_GROUP,) * len(levels)
        return Hierarchy(groups)


def parse_hierarchy(text: str, place: str) -> Hierarchy:
    """The hierarchy that a `;`-separated text describes: value;group;coarser group;...

    The form of ARX, without a header. Raises DataError when a value stands twice, a line has
    another number of levels, a group has two parents, or there are more than MAX_LINES lines.
    """
    if text.count("\n") > MAX_LINES:
        remedy = "keep the lines of the values that the policy declares"
        raise DataError(f"has more than {MAX_LINES:,} lines", place=place, remedy=remedy)
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=";") if row]
    except csv.Error as error:
        raise DataError(f"is no `;`-separated text: {error}", place=place) from None
    if not rows:
        raise DataError("the hierarchy is empty", place=place, remedy="write `value;group;*` lines")
    width = len(rows[0])
    parents: dict[tuple[int, str], str] = {}
    groups: dict[str | None, tuple[str, ...]] = {}
    for number, row in enumerate(rows, 1):
        cells = [cell.strip() for cell in row]
        if len(cells) != width:
            raise DataError(f"line {number} has {len(cells)} levels, line 1 has {width}", place=place)
        if cells[0] in groups:
            raise DataError(f"line {number} repeats an earlier value", place=place)
        for level in range(1, width - 1):
            if parents.setdefault((level, cells[level]), cells[level + 1]) != cells[level + 1]:
                raise DataError(f"line {number}: group {cells[level]!r} of level {level} has two parents", place=place)
        groups[cells[0]] = tuple(cells[1:])
    return Hierarchy(groups)


def bin_names(edges: Sequence[float]) -> tuple[str, ...]:
    """Each bin in words: an edge belongs to the bin above it, the last to the last bin.

    >>> bin_names((0, 10, 20.5))
    ('[0, 10)', '[10, 20.5]')
    """
    written = [short if float(short) == edge else repr(float(edge)) for edge in edges for short in [f"{edge:.15g}"]]
    last = len(edges) - 2
    return tuple(f"[{written[i]}, {written[i + 1]}{']' if i == last else ')'}" for i in range(last + 1))


def bin_of(numbers: NDArray[np.float64], edges: Sequence[float]) -> NDArray[np.int64]:
    """Each number's bin; what lies outside counts to the first or the last."""
    import numpy as np

    return np.searchsorted(np.asarray(edges[1:-1], dtype=float), numbers, side="right").astype(np.int64)


def bins_between(edges: Sequence[float], low: float, high: float, *, open_low: bool = False) -> NDArray[np.bool_]:
    """Which bins hold a float from `low` (itself left out where `open_low`) to `high`.

    An edge belongs to the bin above it, the last to the last bin. The answer is exact: between an edge and the
    float just below it lies no number, so a range that begins there does not touch the bin below.

    >>> bins_between((0, 5000, 10000), math.nextafter(5000, -math.inf), 10000, open_low=True).tolist()
    [False, True]
    """
    import numpy as np

    smallest = math.nextafter(low, math.inf) if open_low else low
    starts = np.asarray(edges[:-1], dtype=float)
    largest = np.nextafter(np.asarray(edges[1:], dtype=float), -np.inf)
    largest[-1] = edges[-1]
    return np.asarray(np.maximum(starts, smallest) <= np.minimum(largest, high))


Role = Literal["quasi_identifier", "sensitive", "private", "class", "key", "weight", "person", "identifier", "ignored"]
ROLES: Mapping[Role, str] = {
    "quasi_identifier": "The adversary knows it of everyone in the table, and nothing else.",
    "sensitive": "A secret that attacks try to infer. Several columns may be secrets.",
    "private": "Unknown to the adversary, but not a secret to be judged. Trees may test it.",
    "class": "What the tree predicts; one column at most. Usually `[class, sensitive]` or `[class, quasi_identifier]`.",
    "key": "Addresses a record, and keeps every row apart. No builder, attack or release sees it.",
    "weight": "How many people the row stands for, a whole number. Limits count each row as one person, unless the "
    "column says `counts: people` and the `reason`.",
    "person": "Numbers the people, of whom one may have several rows; several such columns do so together. Limits "
    "count people by it. No builder, attack or release sees it.",
    "identifier": "A name or a number of a person. Dropped when the file is read.",
    "ignored": "Dropped when the file is read.",
}
"""What each role means, for people who write policies; those that a column can only have alone come last."""
UNUSED_ROLES: frozenset[Role] = frozenset({"identifier", "ignored"})
"""Roles of columns that are only searched for ids of people, in case one of them numbers the people."""
DROPPED_ROLES: frozenset[Role] = UNUSED_ROLES | {"weight", "person"}
"""Roles of columns that are left out of the table when the file is read."""
MISSING_MARKS = frozenset(
    {
        *("", "?", "NA"),  # read.csv of R reads NA alone
        *("#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
        *("<NA>", "N/A", "NULL", "NaN", "n/a", "nan", "null"),
        *("(null)", "\\N"),
    }
)
"""Cells that mean "unknown" wherever they are: those of pandas.read_csv (documentation of pandas 2.2, `na_values`) but
for `None`, of R's read.csv (`na.strings`), and of exports of SQL databases."""
MISSING_WORDS = MISSING_MARKS | {"None", "missing", ".", *(f".{chr(code)}" for code in range(ord("A"), ord("Z") + 1))}
"""The same with those that may be a word of their own among texts: `None` of pandas, `.` of SAS and Stata, `.A` to `.Z`
of SAS (SAS 9.4 Language Reference, "Missing Values"; Stata manual, [U] 12.2.1)."""
Value = str | None
"""A categorical cell; None is a missing one, where the policy keeps those."""


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        name: as in the policy and in the header of the table.
        roles: what the column is to the adversary and to the tree.
        values: the domain of a categorical column; None for numbers.
        bounds: the smallest and the largest number that a numeric column may hold; None where it has no bounds.
        ordered: the order of `values` means something, such as grades of education.
        declared: the policy declares the domain; otherwise it was taken from the data.
        missing: cells may be missing.
        bins: the edges of the intervals into which a posterior divides a secret number.
        hierarchy: how `values` generalise.
        edges: of a numeric class, whose `values` are the names of intervals, the edges of these. A table contains its
            numbers.
        scale: `ratio` where numbers, from 0 up, are near to each other by their ratio, not by their difference.
        step: numbers are public to a multiple of this; None where no number is.
        public_domain: the policy states that `values` are a code list which exists without this table.
        aliases: other spellings, each with the value that it means; no part of a release or of a comparison.
        varies: a person may have several values; no part of a release or of a comparison.
        distinct: values that are spelled alike and are different things; no part of a release or of a comparison.
        independent_of: columns of which it is chance that this one follows from them, or they from it.
        no_answer: those of `values` that say that a person's value is not recorded, and no limit on the secret judges.
        states_no_answer: the policy states which values are `no_answer`, or that none is.
        missing_is_value: having no answer is a secret besides, which limits judge too.
        declares_missing: the policy states that cells may be missing, whether or not some are.
    """

    name: str
    roles: frozenset[str]
    values: tuple[str, ...] | None = None
    bounds: tuple[float, float] | None = None
    ordered: bool = False
    declared: bool = True
    missing: bool = False
    bins: tuple[float, ...] | None = None
    hierarchy: Hierarchy | None = None
    edges: tuple[float, ...] | None = None
    scale: Literal["ratio"] | None = field(default=None, compare=False)
    step: float | None = field(default=None, compare=False)
    public_domain: bool = field(default=False, compare=False)
    aliases: Mapping[str, str] = field(default_factory=dict, compare=False)
    varies: bool = field(default=False, compare=False)
    distinct: tuple[tuple[str, ...], ...] = field(default=(), compare=False)
    independent_of: tuple[str, ...] = field(default=(), compare=False)
    no_answer: tuple[str, ...] = field(default=(), compare=False)
    states_no_answer: bool = field(default=False, compare=False)
    missing_is_value: bool = field(default=False, compare=False)
    declares_missing: bool = field(default=False, compare=False)

    @property
    def numeric(self) -> bool:
        return self.values is None

    @property
    def holds_numbers(self) -> bool:
        """Does a table hold numbers: those of a numeric column, or of a binned class?"""
        return self.values is None or self.edges is not None

    @property
    def countable(self) -> bool:
        """Are there finitely many things to believe of a cell: values, or bins?"""
        return self.values is not None or self.bins is not None

    @property
    def public(self) -> bool:
        """Does the adversary know this of everyone?"""
        return "quasi_identifier" in self.roles

    @cached_property
    def domain(self) -> tuple[Value, ...]:
        """Every value a categorical cell may have, None last where missing is one of them; a number's bins."""
        if self.bins is not None:
            return bin_names(self.bins)
        if self.values is None:
            raise PolicyError("a numeric column has bounds, not values", place=self.name)
        return (*self.values, None) if self.missing else self.values

    @property
    def with_missing_cells(self) -> Column:
        """The column as `on_missing: keep` has it: cells may be missing, but for those of secrets, classes and keys."""
        if self.roles & {"class", "sensitive", "key"}:
            return self
        hierarchy = self.hierarchy
        if hierarchy is not None:
            hierarchy = Hierarchy({**hierarchy.groups, None: (MISSING_GROUP,) * hierarchy.depth})
        return replace(self, missing=True, hierarchy=hierarchy)

    def spelled_alike(self, form: Callable[[str], str]) -> tuple[tuple[str, ...], ...]:
        """The values that have one form, but for those of which the policy states that they are distinct.

        Args:
            form: `same_form`, `similar_form` or `loose_form`.
        """
        found = spellings_of_one(self.values or (), form)
        return tuple(each for each in found if not any({*each} <= {*distinct} for distinct in self.distinct))

    @property
    def asks_for_spellings(self) -> bool:
        """Is it a secret or a class with values that may be one value in several spellings?"""
        is_judged = bool(self.roles & {"class", "sensitive"}) and self.edges is None
        return is_judged and bool(self.spelled_alike(loose_form))

    def with_merged_values(self, merged: Mapping[str, str]) -> Column:
        """The column with one value in place of several: each key of `merged` is the value that it leads to."""
        values = tuple(value for value in self.values or () if merged.get(value, value) == value)
        column = replace(self, values=values)
        hierarchy = None if self.hierarchy is None else self.hierarchy.restricted(column.domain, self.name)
        return replace(column, hierarchy=hierarchy)

    def with_no_answer(self, marks: Sequence[str]) -> Column:
        """The column, whose cells may be one of these texts that say that the value is not recorded.

        Those that are no `values` are one value more, the first of them; of a class none, for whoever has no class is
        left out. Until the column has its `values` nothing changes.
        """
        if not marks or self.values is None:
            return self
        undeclared = [mark for mark in marks if mark not in self.values]
        if not undeclared or "class" in self.roles:
            return replace(self, no_answer=tuple(value for value in self.values if value in marks))
        values, hierarchy = (*self.values, undeclared[0]), self.hierarchy
        if hierarchy is not None:
            hierarchy = Hierarchy({**hierarchy.groups, undeclared[0]: (MISSING_GROUP,) * hierarchy.depth})
        no_answer = tuple(value for value in values if value in marks)
        return replace(self, values=values, hierarchy=hierarchy, no_answer=no_answer)

    @property
    def answered(self) -> Column:
        """The column of the people whose value is recorded: without the values of `no_answer`."""
        values = None if self.values is None else tuple(value for value in self.values if value not in self.no_answer)
        return replace(self, values=values, no_answer=()) if self.no_answer else self

    @property
    def without_missing_cells(self) -> Column:
        """The column with a domain that has no missing cell."""
        hierarchy = self.hierarchy
        if hierarchy is not None:
            hierarchy = Hierarchy({value: names for value, names in hierarchy.groups.items() if value is not None})
        return replace(self, missing=False, hierarchy=hierarchy)

    @cached_property
    def domain_set(self) -> frozenset[Value]:
        """The values of `domain`, to look one up in constant time: a domain may have a hundred thousand."""
        return frozenset(self.domain)

    def described(self) -> dict[str, Any]:
        """The column as a release file has it: what the policy declares, and nothing that comes from the data."""
        document: dict[str, Any] = {"role": sorted(self.roles)}
        if self.values is not None:
            document["values"] = list(self.values)
        if self.bounds is not None:
            document["bounds"] = list(self.bounds)
        document |= {key: True for key in ("ordered", "missing") if getattr(self, key)}
        document |= {"bins": list(self.bins)} if self.bins else {}
        return document | ({"edges": list(self.edges)} if self.edges else {})


EXCLUSIVE_ROLES = DROPPED_ROLES | {"key"}
"""Roles that a column can only have alone."""


def as_tuple(role: Any) -> Any:
    """One role, or a list of them, as a tuple; anything else as it is."""
    return (role,) if isinstance(role, str) else tuple(role) if isinstance(role, list) else role


ONE_OR_MORE = BeforeValidator(as_tuple, json_schema_input_type=Role | tuple[Role, ...])
Edges = Annotated[tuple[FiniteFloat, ...], Field(min_length=3)]
"""The ascending edges of at least two intervals."""
Text = Annotated[str, Field(min_length=1)]


class ColumnSpec(BaseModel):
    """What one column means."""

    model_config = STRICT

    role: Annotated[tuple[Role, ...], inheritance.SPECIAL, ONE_OR_MORE, Field(min_length=1)] = Field(
        description="Who knows it and what it is for; one role or a list."
    )
    values: Annotated[tuple[str, ...] | None, inheritance.COMPLETED] = Field(
        None, description="Every value a categorical column may have, as texts."
    )
    public_domain: Annotated[Literal["public"] | None, inheritance.ordered_by(inheritance.unstated)] = Field(
        None,
        alias="domain",
        description="For `values` that are a code list independent of this table, such as all countries: a file with "
        "the whole list does not disclose who is in the table.",
    )
    bounds: Annotated[tuple[FiniteFloat, FiniteFloat] | None, inheritance.COMPLETED] = Field(
        None, description="Lowest and highest number of a numeric column."
    )
    hierarchy: Annotated[DataFile | None, inheritance.COMPLETED] = Field(
        None, description="A `;`-separated file: value;group;coarser group;..."
    )
    bins: Annotated[Edges | None, inheritance.COMPLETED] = Field(
        None,
        description="For a secret number or a class of numbers: the ascending edges of its intervals.",
    )
    scale: Annotated[Literal["ratio"] | None, inheritance.FIXED] = Field(
        None,
        description="For a number from 0 up, such as pay: nearness is by ratio (10 %), not by difference (5 % of the "
        "bounds or bins).",
    )
    step: Annotated[PositiveFloat | None, inheritance.ordered_by(inheritance.unstated)] = Field(
        None,
        description="Of a number: how finely it is public, such as 1 for whole numbers; multiples are nobody's, on "
        "leaves and in a model's file (thresholds, fills, edges of bins).",
    )
    ordered: Annotated[bool, inheritance.COMPLETED] = Field(
        False, description="Whether the `values` are in a meaningful order."
    )
    aliases: Annotated[dict[str, str], inheritance.FIXED] = Field(
        {}, description="Other spellings in the file or of classes of a model, each with the value it means."
    )
    distinct: Annotated[
        tuple[Annotated[tuple[str, ...], Field(min_length=2)], ...], inheritance.ordered_by(inheritance.fewer), Later()
    ] = Field(
        (),
        description="Of a secret, a class, a person or a key: values that are spelled alike and mean different things, "
        'such as `[["AA", "Aa"]]`.',
    )
    independent_of: Annotated[tuple[str, ...], inheritance.ordered_by(inheritance.fewer), Later()] = Field(
        (),
        description="Columns that determine this one by chance, or that it determines.",
    )
    no_answer: Annotated[tuple[str, ...], inheritance.FIXED, Later(states=True)] = Field(
        (),
        description="For a secret or a class: values and texts in the file that say that it is not recorded, such as "
        "`unknown`; `[]` where all are answers. Limits on the secret judge the others alone; whoever has no class is "
        "left out.",
    )
    missing_is_value: Annotated[bool, inheritance.MORE, Later()] = Field(
        False,
        description="Whether having no answer is a secret too: limits are judged both ways, and the worse counts.",
    )
    missing: Annotated[bool, inheritance.Inherited("ordered", inheritance.less, descriptive=True), Later()] = Field(
        False,
        description="With `on_missing: keep`: adversaries reckon with missing cells of the column, however few there "
        "are; by default where `report.smallest_cell` people of the table miss it.",
    )
    counts: Annotated[
        Literal["rows", "people"] | None, inheritance.ordered_by(inheritance.ranked(("people", "rows")), default="rows")
    ] = Field(
        None,
        description="For a `weight`: whether each row is one person (the default), or as many people as its weight "
        "says.",
    )
    varies: Annotated[bool, inheritance.LESS, Later()] = Field(
        False,
        description="Of a secret where a column has the role `person`: whether a person may have several values, such "
        "as an infection at one visit of many. What follows from everybody having one value is then not judged.",
    )
    reason: Annotated[Text | None, inheritance.FREE] = Field(
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
            alone = sorted(roles & EXCLUSIVE_ROLES)[0]
            raise ValueError(f"the role {alone!r} stands alone: take the others of the column away, or this one")
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
        if self.varies and "sensitive" not in roles:
            raise ValueError("`varies` is for the role `sensitive`")
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
            raise ValueError("the first of the `bounds` is the larger one: write [lowest, highest]")
        if self.values is None and (self.hierarchy is not None or self.ordered):
            raise ValueError("`hierarchy` and `ordered` need `values`")
        if self.values is not None and not set(self.aliases.values()) <= {*self.values, *self.no_answer}:
            raise ValueError("`aliases` must lead to declared `values`, or to `no_answer`")
        if set(self.aliases) & {*(self.values or ()), *self.no_answer}:
            raise ValueError("`aliases` are other spellings; one of them is a value itself")
        if self.distinct and not {"class", "sensitive", "person", "key"} & set(self.role):
            raise ValueError("`distinct` is for the values of a secret or a class, and for ids (`person`, `key`)")
        if self.values is not None and not {value for each in self.distinct for value in each} <= set(self.values):
            raise ValueError("`distinct` must list declared `values`")
        return self

    @model_validator(mode="after")
    def _no_answer_agrees(self) -> ColumnSpec:
        roles, declared = set(self.role), set(self.values or ())
        if self.no_answer and not roles & {"class", "sensitive"}:
            raise ValueError("`no_answer` is for a secret or a class; missing cells of others: `data.missing`")
        if self.no_answer and self.bins is not None and "class" not in roles:
            raise ValueError("`no_answer` is not for a secret number in `bins`; leave these people out of the file")
        if len(set(self.no_answer)) != len(self.no_answer):
            raise ValueError("`no_answer` must list each text once")
        if self.no_answer and declared and declared <= set(self.no_answer):
            raise ValueError("`no_answer` has all `values`, so that nobody's would be recorded")
        if self.missing_is_value and not (self.no_answer and "sensitive" in roles):
            raise ValueError("`missing_is_value` is for a secret with `no_answer`")
        if self.missing_is_value and "class" in roles and not declared & set(self.no_answer):
            raise ValueError(
                "`missing_is_value`: of a class list the mark among its `values`, for nobody else is in it"
            )
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
        varies=spec.varies,
        distinct=spec.distinct,
        independent_of=spec.independent_of,
        states_no_answer="no_answer" in spec.model_fields_set,
        missing_is_value=spec.missing_is_value,
        declares_missing=spec.missing,
    )
    if spec.hierarchy is not None:
        column = replace(column, hierarchy=_hierarchy(spec, column))
    return column.with_no_answer(spec.no_answer)


def _hierarchy(spec: ColumnSpec, column: Column) -> Hierarchy:
    place = f"data.columns.{column.name}.hierarchy"
    try:
        text = spec.hierarchy.read_text(encoding="utf-8-sig") if spec.hierarchy else ""
    except (OSError, UnicodeDecodeError):
        raise DataError("cannot be read", place=place, remedy="name a `;`-separated text file") from None
    return parse_hierarchy(text, place).restricted(column.domain, place)


@dataclass(frozen=True)
class Schema:
    """The columns that matter to builders, attacks and metrics, in the policy's order.

    `dropped` names the columns that the policy declares and no builder is given: identifiers, keys, ignored ones, the
    weight and those that number the people.
    """

    columns: tuple[Column, ...]
    dropped: tuple[str, ...] = field(default=(), compare=False, kw_only=True)

    @cached_property
    def _by_name(self) -> Mapping[str, Column]:
        return {column.name: column for column in self.columns}

    def __getitem__(self, name: str) -> Column:
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    @property
    def with_missing_cells(self) -> Schema:
        """The same columns, whose cells may be missing as `on_missing: keep` has it."""
        return Schema(tuple(column.with_missing_cells for column in self.columns), dropped=self.dropped)

    def with_merged_values(self, merged: Mapping[str, Mapping[str, str]]) -> Schema:
        """The same columns, some with one value in place of several."""
        columns = (each.with_merged_values(merged[each.name]) if each.name in merged else each for each in self.columns)
        return Schema(tuple(columns), dropped=self.dropped)

    def without_missing_cells(self, names: Collection[str]) -> Schema:
        """The same columns, those of these names with domains that have no missing cell."""
        columns = (each.without_missing_cells if each.name in names else each for each in self.columns)
        return Schema(tuple(columns), dropped=self.dropped)

    def with_column(self, column: Column) -> Schema:
        """The same columns, this one in place of that of its name."""
        columns = (column if each.name == column.name else each for each in self.columns)
        return Schema(tuple(columns), dropped=self.dropped)

    def having(self, role: Role) -> tuple[Column, ...]:
        """The columns that carry `role`."""
        return tuple(column for column in self.columns if role in column.roles)

    @cached_property
    def public(self) -> tuple[Column, ...]:
        """The quasi-identifiers: what the adversary knows of everyone."""
        return self.having("quasi_identifier")

    @property
    def secrets(self) -> tuple[Column, ...]:
        return self.having("sensitive")

    @cached_property
    def target(self) -> Column:
        """The class column; PolicyError when the policy names none."""
        targets = self.having("class")
        if not targets:
            raise PolicyError(
                "no column has the role `class`", place="data.columns", remedy="say what the tree predicts"
            )
        return targets[0]

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The class values, in the order the policy declares them."""
        values = self.target.values
        if values is None:
            raise PolicyError(
                "the class is numeric",
                place=f"data.columns.{self.target.name}",
                remedy="declare its `values`; regression trees are not grown here",
            )
        return values

    @cached_property
    def features(self) -> tuple[Column, ...]:
        """Everything a tree may ask about: known to the adversary or not, but never the class."""
        asked = {"quasi_identifier", "private", "sensitive"}
        return tuple(c for c in self.columns if c.roles & asked and "class" not in c.roles)

    @property
    def boundless(self) -> Schema:
        """The same columns without bounds of numbers."""
        return Schema(tuple(replace(c, bounds=None) if c.numeric else c for c in self.columns))

    def described(self) -> dict[str, Any]:
        """What a release states of the columns; the key, which builders never see, is left out."""
        return {c.name: c.described() for c in self.columns if "key" not in c.roles}
