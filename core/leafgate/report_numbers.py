"""Numbers as stored reports have them: exact, or veiled."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from leafgate.policy_column import Strict

Whole = Annotated[int, Field(ge=0, lt=2**53)]


class FewerThan(Strict):
    """A veiled number: below this."""

    fewer_than: float


class MoreThan(Strict):
    """A veiled number: above this."""

    more_than: float


class FromTo(Strict):
    """A veiled number: between these, both included."""

    low: float = Field(alias="from")
    high: float = Field(alias="to")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.low > self.high:
            raise ValueError("`from` is above `to`")
        return self


Count = Whole | FewerThan | FromTo
Value = float | FewerThan | MoreThan | FromTo
