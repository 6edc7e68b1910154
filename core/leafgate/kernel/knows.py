"""Knows: the options by which a policy, or one attack of it, grants knowledge beyond the public columns."""

from __future__ import annotations

import math
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from leafgate.kernel.knowledge import Between, Fact
from leafgate.kernel.options import STRICT, FiniteFloat, PeopleFile, PositiveInt, Share
from leafgate.kernel.schema import Value


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

    @property
    def wanted(self) -> tuple[Value, ...] | Between:
        """The values or the numbers that it asks for."""
        if self.values is not None:
            return self.values
        return Between(-math.inf if self.low is None else self.low, math.inf if self.high is None else self.high)


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

    @property
    def fact(self) -> Fact:
        """The fact as attacks have it."""
        where = {name: condition.wanted for name, condition in self.where.items()}
        low, high = self.share.low, self.share.high
        return Fact(where, self.column, self.values, 0.0 if low is None else low, 1.0 if high is None else high)


MAX_CANDIDATES = 10_000
"""At most so many people of the table, and so many of the control, are candidates unless a policy says otherwise."""


MAX_AUXILIARY = 2_000
"""At most so many people of the control are known with all their columns unless a policy says otherwise."""


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
    label_accuracies: bool = Field(
        True,
        description="How often each label is right, where no number of its leaf says so. Somebody with test data knows "
        "this; `false` assumes a weaker adversary, who has none.",
    )
    facts: tuple[FactSpec, ...] = Field((), description="Rules about people that are known.")
    facts_known: Annotated[int, Field(ge=0)] | None = Field(
        None, description="How many of the `facts` are granted, the first ones; all when left out."
    )

    candidates: PositiveInt | None = Field(
        None,
        description="For attacks that infer who is in the table, or an input of the model: at most how many people of "
        f"the table, and how many of `data.control`, these are; {MAX_CANDIDATES:,} when left out.",
    )
    class_known: bool = Field(
        False, alias="class", description="For attacks that infer an input of the model: the class of each person."
    )
    auxiliary: PositiveInt | None = Field(
        None,
        description="For attacks that infer an input of the model: at most how many people of `data.control` the "
        f"adversary knows all columns of; {MAX_AUXILIARY:,} when left out.",
    )
    columns: tuple[str, ...] | None = Field(
        None,
        description="For attacks that infer an input of the model: the columns that the adversary knows of each "
        "person, besides the public ones; all but the secret when left out.",
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

    @property
    def granted_facts(self) -> tuple[Fact, ...]:
        """The facts that are granted, the first ones of those that are listed."""
        return tuple(spec.fact for spec in self.facts[: self.facts_known])

    @property
    def most_candidates(self) -> int:
        """At most so many people of the table, and so many of the control, are candidates or targets."""
        return self.candidates or MAX_CANDIDATES

    @property
    def most_auxiliary(self) -> int:
        """At most of so many people of the control all columns are known."""
        return self.auxiliary or MAX_AUXILIARY
