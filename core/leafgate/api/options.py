"""What the models of options have in common: strict reading, and types of numbers, each name with one range."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

STRICT = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True, allow_inf_nan=False)
"""Refuse unknown keys, other types and NaN; leave the input out of error texts."""

FiniteFloat = Annotated[float, Field(allow_inf_nan=False)]
PositiveFloat = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegativeFloat = Annotated[float, Field(ge=0, allow_inf_nan=False)]
PositiveInt = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
"""From none to all."""
ShareBelowOne = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]
"""From none to all but one."""
PositiveShare = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
"""More than none, up to all."""
OpenProbability = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
"""Neither impossible nor certain."""
PruningConfidence = Annotated[float, Field(gt=0, le=0.5, allow_inf_nan=False)]
"""The confidence level of error-based pruning."""
