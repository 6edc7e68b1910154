"""What a policy says of noise."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, PlainValidator, model_validator

from leafgate.api.components import STRICT
from leafgate.types.noise import Law

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


TINY = 1e-100
"""Smallest amount of noise that is accepted: squares of smaller numbers underflow."""
HUGE = 1e100
"""Largest amount of noise that is accepted: squares of larger numbers overflow."""


def _above_0(number: Any) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and TINY < number < HUGE


def _per_column(document: Any) -> Any:
    """One mistake for whatever is wrong, where a union would list what every member wants."""
    if _above_0(document) or (isinstance(document, dict) and document and all(map(_above_0, document.values()))):
        return {name: float(n) for name, n in document.items()} if isinstance(document, dict) else float(document)
    raise ValueError("must be a number above 0, or a mapping with one for each column")


def _theta(document: Any) -> Any:
    if document == "auto" or (_above_0(document) and document < 1):
        return document
    raise ValueError("must be a number between 0 and 1, or auto")


PerColumn = Annotated[
    float | dict[str, float], PlainValidator(_per_column, json_schema_input_type=Positive | dict[str, Positive])
]
Theta = Annotated[
    float | Literal["auto"],
    PlainValidator(_theta, json_schema_input_type=Annotated[float, Field(gt=0, lt=1)] | Literal["auto"]),
]
KINDS = ("snr", "deviation", "half_width", "privacy")


class NoiseOptions(BaseModel):
    """Which law, and how much: one number for every column of numbers, or a number for each of them."""

    model_config = STRICT

    law: Law = Field("gaussian", description="Gaussian, or uniform between -a and a.")
    snr: PerColumn | None = Field(None, description="Variance of the column over variance of its noise.")
    deviation: PerColumn | None = Field(None, description="The noise's standard deviation, in the column's unit.")
    half_width: PerColumn | None = Field(None, description="Of uniform noise: a, in the column's unit.")
    privacy: PerColumn | None = Field(
        None, description="2^h of the noise, in the column's unit: at most so much is left of a number's privacy."
    )

    @model_validator(mode="after")
    def _one_measure(self) -> NoiseOptions:
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ValueError("say how much noise, by one of `snr`, `deviation`, `half_width`, `privacy`")
        if given == ["half_width"] and self.law != "uniform":
            raise ValueError("`half_width` is of uniform noise; gaussian noise has a `deviation`")
        return self

    @property
    def kind(self) -> str:
        """How the amount is given."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    def amount(self, column: str) -> float | None:
        """The number given for a column; None where others are named and this one is not."""
        given: float | dict[str, float] = getattr(self, self.kind)
        return given.get(column) if isinstance(given, dict) else given

    @property
    def named(self) -> frozenset[str]:
        """The columns that are named one by one."""
        given = getattr(self, self.kind)
        return frozenset(given) if isinstance(given, dict) else frozenset()
