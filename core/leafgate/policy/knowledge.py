"""What a policy grants the adversary: the models of its `knows` section."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from leafgate.api.components import STRICT
from leafgate.api.options import FiniteFloat, Share
from leafgate.api.paths import PeopleFile
from leafgate.errors import DataError, PolicyError, Problem
from leafgate.types.adversary import Between, Fact
from leafgate.types.schema import Column, Value

if TYPE_CHECKING:
    from leafgate.types.table import Table


"""A part of the people, from nobody to everybody."""


class Bounds(BaseModel):
    """A lowest and a highest number, both allowed; open where left out."""

    model_config = STRICT

    low: FiniteFloat | None = Field(None, alias="from", description="The lowest.")
    high: FiniteFloat | None = Field(None, alias="to", description="The highest.")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError("`from` is above `to`")
        return self


class Condition(Bounds):
    """What the cell of a public column must be; for short a value, or a list of values."""

    values: tuple[Value, ...] | None = Field(None, alias="in", description="Any of these, if the column has values.")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        ranged = self.low is not None or self.high is not None
        if ranged == (self.values is not None) or self.values == ():
            raise ValueError("asks for one value or more, or for numbers `{from: , to: }`")
        return self


class ShareBounds(Bounds):
    """How many of the people, from 0 to 1; for short a number."""

    low: Share | None = Field(None, alias="from", description="At least.")
    high: Share | None = Field(None, alias="to", description="At most.")

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.low is None and self.high is None:
            raise ValueError("is a number, or `{from: , to: }`")
        return self


def _written_out(written: Any) -> bool:
    """Is it a mapping already, and not what stands for a number that is not finite?"""
    return isinstance(written, dict) and "not finite" not in written


def _condition(written: Any) -> Any:
    if _written_out(written):
        return written
    values = tuple(written) if isinstance(written, list) else (written,)
    if not all(value is None or isinstance(value, str) for value in values):
        raise ValueError("must be a text, a list of texts, or `{from: , to: }` for numbers; quote texts")
    return {"in": values}


def _share(written: Any) -> Any:
    if _written_out(written):
        return written
    if isinstance(written, bool) or not isinstance(written, int | float) or not 0 <= written <= 1:
        raise ValueError("must be a number from 0 to 1, or `{from: , to: }`")
    return {"from": written, "to": written}


Asked = Annotated[
    Condition,
    BeforeValidator(_condition, json_schema_input_type=Value | tuple[Value, ...] | Condition),
]
Shared = Annotated[ShareBounds, BeforeValidator(_share, json_schema_input_type=Share | ShareBounds)]


class FactSpec(BaseModel):
    """How many of some people have some values of a column that is not public."""

    model_config = STRICT

    where: dict[str, Asked] = Field({}, description="Which people, by their public columns; everyone when left out.")
    column: str = Field(description="A categorical column that is not public.")
    values: tuple[Value, ...] = Field(alias="in", description="Values of that column.")
    share: Shared = Field(description="The share of these people who have one of them, or `{from: , to: }`.")

    @field_validator("values")
    @classmethod
    def _not_empty(cls, values: tuple[Value, ...]) -> tuple[Value, ...]:
        if not values:
            raise ValueError("lists no value; name one or more")
        return values


class Knows(BaseModel):
    """What the adversary has besides the public columns."""

    model_config = STRICT

    distribution: bool = Field(False, description="The overall shares of each secret.")
    people: PeopleFile | None = Field(
        None, description="A table of people whose secrets are known: the public columns, and one secret or more."
    )
    sample: Share | None = Field(
        None, description="Instead: the share of the people, drawn by the seed, whose secrets are known."
    )
    facts: tuple[FactSpec, ...] = Field((), description="Rules about people that are known.")
    facts_known: Annotated[int, Field(ge=0)] | None = Field(
        None, description="How many of the `facts` are granted, the first ones; all when left out."
    )

    @field_validator("sample")
    @classmethod
    def _one_source(cls, sample: float | None, info: ValidationInfo) -> float | None:
        if sample is not None and info.data.get("people") is not None:
            raise ValueError("`people` names those who are known, `sample` draws them; choose one")
        return sample

    @field_validator("facts_known")
    @classmethod
    def _so_many(cls, known: int | None, info: ValidationInfo) -> int | None:
        listed = len(info.data.get("facts", ()))
        if known is not None and "facts" in info.data and known > listed:
            raise ValueError(f"is more than the {listed} fact(s) that are listed")
        return known


Columns = Mapping[str, Column | None]
"""Columns by name; None where the policy is wrong about the column itself."""


def to_predicate(condition: Condition) -> tuple[Value, ...] | Between:
    """The values or the numbers a condition asks for."""
    if condition.values is not None:
        return condition.values
    low, high = condition.low, condition.high
    return Between(-math.inf if low is None else low, math.inf if high is None else high)


@cache
def _condition_adapter() -> TypeAdapter[Condition]:
    return TypeAdapter(Asked)


def condition_problems(written: Any, column: Column, place: str) -> Iterator[Problem]:
    """Yield what is wrong with a condition on a column; of an open domain nothing is known before the table is read."""
    try:
        condition = _condition_adapter().validate_python(written)
    except ValidationError:
        return
    if not is_open(column):
        yield from _checked(condition, column, place)


def _checked(condition: Condition, column: Column, place: str) -> Iterator[Problem]:
    if column.numeric and condition.values is not None:
        yield Problem(place, "the column is numeric", "ask for numbers: {from: , to: }")
    elif condition.values is not None:
        yield from value_problems([(place, value) for value in condition.values], column)
    elif not column.numeric:
        yield Problem(place, "the column has values, not numbers", "ask for a value, or a list of values")
    elif column.declared and column.bounds is not None:
        low, high = column.bounds
        wanted = to_predicate(condition)
        if isinstance(wanted, Between) and (wanted.low > high or wanted.high < low):
            yield Problem(place, "lies outside the column's `bounds`, where nobody can be", "ask for numbers within")


def value_problems(values: Iterable[tuple[str, Any]], column: Column) -> Iterator[Problem]:
    """Yield a problem for each value that a column lacks; similar values are suggested only from a declared domain."""
    for place, value in values:
        if value in column.domain or not (value is None or isinstance(value, str)):
            continue
        close = get_close_matches(value or "", column.values or (), 1) if column.declared else []
        what = "cells of this column are never missing" if value is None else f"{value!r} is no value of the column"
        yield Problem(place, what, _meant(close, "write one of its `values`"))


def is_open(column: Column) -> bool:
    """Is its domain only known when the table is read?"""
    return column.values is None and column.bounds is None


def unknown_column(name: str, columns: Columns, place: str) -> Problem:
    """That no column has this name."""
    close = get_close_matches(name, columns, 1)
    return Problem(place, f"there is no column {name!r}", _meant(close, "name one of `data.columns`"))


def _meant(close: list[str], otherwise: str) -> str:
    return f"did you mean {close[0]!r}?" if close else otherwise


def facts_of(knows: Knows, table: Table) -> tuple[Fact, ...]:
    """The facts a policy grants, of the people in `table`.

    Raises PolicyError for what does not fit the table's columns, DataError for facts about nobody.
    """
    columns = {column.name: column for column in table.schema.columns}
    items = [spec.model_dump(by_alias=True) for spec in knows.facts]
    problems = [problem for i, fact in enumerate(items) for problem in fact_problems(fact, columns, place_of(i))]
    if problems:
        raise PolicyError.listing(problems)
    facts = tuple(map(_fact, knows.facts))
    nobody = [i for i, fact in enumerate(facts) if not fact.holds_for(table.public[0]).any()]
    if nobody:
        message, remedy = "nobody in the table is meant by this", "ask for people who are there, or leave the fact out"
        raise DataError.listing(Problem(f"{place_of(i)}.where", message, remedy) for i in nobody)
    return facts[: knows.facts_known]


def place_of(number: int) -> str:
    """Where a policy has its fact `number`."""
    return f"knows.facts[{number}]"


def _fact(spec: FactSpec) -> Fact:
    where = {name: to_predicate(condition) for name, condition in spec.where.items()}
    low, high = spec.share.low, spec.share.high
    return Fact(where, spec.column, spec.values, 0.0 if low is None else low, 1.0 if high is None else high)


def fact_problems(fact: Mapping[str, Any], columns: Columns, place: str) -> Iterator[Problem]:
    """What is wrong with one fact as the policy has it; tolerant of what the models refuse."""
    where = fact.get("where")
    for name, written in where.items() if isinstance(where, dict) else ():
        yield from _where_problems(name, written, columns, f"{place}.where.{name}")
    if isinstance(fact.get("column"), str):
        yield from _column_problems(fact["column"], fact.get("in"), columns, place)


def _where_problems(name: str, written: Any, columns: Columns, place: str) -> Iterator[Problem]:
    column = columns.get(name)
    if name not in columns:
        yield unknown_column(name, columns, place)
    elif column is not None and not column.public:
        yield Problem(place, "the adversary does not know this column of anyone", "ask for public columns only")
    elif column is not None:
        yield from condition_problems(written, column, place)


def _column_problems(name: str, values: Any, columns: Columns, place: str) -> Iterator[Problem]:
    column, here = columns.get(name), f"{place}.column"
    if name not in columns:
        yield unknown_column(name, columns, here)
    elif column is not None and column.public:
        yield Problem(here, "the adversary knows this column of everyone", "speak of one that is not public")
    elif column is not None and not column.roles & {"sensitive", "private", "class"}:
        yield Problem(here, "attacks know nothing of this column", "speak of a secret, private or class column")
    elif column is not None and column.bounds is not None:
        yield Problem(here, "the column is numeric", "speak of one that has `values`")
    elif column is not None and not is_open(column) and isinstance(values, list | tuple):
        yield from value_problems([(f"{place}.in[{i}]", value) for i, value in enumerate(values)], column)
