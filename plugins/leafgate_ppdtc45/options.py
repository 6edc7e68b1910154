"""What a policy says of noise."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, model_validator

from leafgate.interfaces import STRICT
from leafgate.noise import Law

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
PerColumn = Positive | dict[str, Positive]
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
        given: PerColumn = getattr(self, self.kind)
        return given.get(column) if isinstance(given, dict) else given

    @property
    def named(self) -> frozenset[str]:
        """The columns that are named one by one."""
        given = getattr(self, self.kind)
        return frozenset(given) if isinstance(given, dict) else frozenset()
