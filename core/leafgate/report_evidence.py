"""What a stored report's evidence must look like where the core or a view reads it; metrics add keys of their own."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from leafgate.report_numbers import Count, Value, Whole

OPEN = ConfigDict(extra="allow", strict=True, frozen=True)


class GroupTold(BaseModel):
    """A group of people."""

    model_config = OPEN

    people: Count
    path: str = ""
    true: dict[str, Count] = {}
    possible_values: Whole | None = None


class TriedTold(BaseModel):
    """What an attack that tried to refute a claim came to."""

    model_config = OPEN


class DisclosedTold(BaseModel):
    """One thing a model's file tells."""

    model_config = OPEN

    severity: Literal["low", "medium", "high"]
    says: str


class EvidenceTold(BaseModel):
    """What stands beside a finding's number."""

    model_config = OPEN

    worst: tuple[GroupTold, ...] = ()
    tried: dict[str, TriedTold] = {}
    discloses: tuple[DisclosedTold, ...] = ()
    derived: Value | None = None
    composition: Value | None = None
    scored_because: str = ""
    unbounded: bool = False
    reason: str = ""
    problem: str = ""
    remedy: str = ""
    says: Any = Field(None)
