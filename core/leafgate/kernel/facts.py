"""Facts about people: as a policy writes them, as attacks know them, and the rows of a table that they are about."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, Field, field_validator, model_validator

from leafgate.kernel.options import STRICT, FiniteFloat, Share
from leafgate.kernel.schema import Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafgate.kernel.table import Table


@dataclass(frozen=True)
class Between:
    """Numbers from `low` to `high`, both among them."""

    low: float = -math.inf
    high: float = math.inf

    def words(self) -> str:
        """What comes after a column's name: <= 17."""
        if self.low == self.high:
            return f"= {self.low:g}"
        if math.isinf(self.low):
            return f"<= {self.high:g}"
        return f">= {self.low:g}" if math.isinf(self.high) else f"from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Fact:
    """Of the people who meet `where`, a share from `low` to `high` has one of `values` in `column`.

    `where` maps public columns to the values, or the range of numbers, that its people have; it is empty
    for everyone. `column` is categorical and not public; None among `values` is a missing cell. The
    share is of people, who count by their weight.
    """

    where: Mapping[str, tuple[Value, ...] | Between]
    column: str
    values: tuple[Value, ...]
    low: float
    high: float

    def holds_for(self, public: Table) -> NDArray[np.bool_]:
        """Shape (n_rows,): which rows of a table with the public columns meet `where`."""
        import numpy as np

        met = np.ones(len(public), dtype=np.bool_)
        for name, wanted in self.where.items():
            met &= meets(public, name, wanted)
        return met

    def words(self) -> str:
        """The fact in words: no more than 0.2 of the people with age <= 17 are 'Married' (marital)."""
        conditions = ", ".join(f"{name} {_words(wanted)}" for name, wanted in self.where.items())
        people = f"the people with {conditions}" if conditions else "the people"
        return f"{self._share_words()} of {people} are {_words(self.values)} ({self.column})"

    def _share_words(self) -> str:
        if self.low == self.high:
            return {0.0: "none", 1.0: "all"}.get(self.low, f"{self.low:g}")
        if self.low <= 0:
            return f"no more than {self.high:g}"
        return f"at least {self.low:g}" if self.high >= 1 else f"from {self.low:g} to {self.high:g}"


def meets(table: Table, name: str, wanted: tuple[Value, ...] | Between) -> NDArray[np.bool_]:
    """Which rows of a table have one of the values, or a number in the range, in a column."""
    import numpy as np

    if isinstance(wanted, Between):
        numbers = table.numbers(name)
        return (numbers >= wanted.low) & (numbers <= wanted.high)
    domain = table.schema[name].domain
    return np.isin(table.codes(name), [domain.index(value) for value in wanted])


def _words(wanted: tuple[Value, ...] | Between) -> str:
    if isinstance(wanted, Between):
        return wanted.words()
    return " or ".join("missing" if value is None else repr(value) for value in wanted)


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

    where: dict[str, Asked] = Field({}, description="Which people, by their public columns; by default everyone.")
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
