"""What a report tells of a number: exactly, or that it lies between two others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from leafgate.api.metrics import lenient

ROUNDED = 1e-6
"""Veiled shares are told to six digits."""
Direction = Literal["at_least", "at_most"]


@dataclass(frozen=True)
class Range:
    """A number is nowhere below `low` nor above `high`; `below`: nor is it `high` itself, `above`: nor `low`."""

    low: float
    high: float
    below: bool = False
    above: bool = False

    def holds(self, direction: Direction, limit: float) -> bool | None:
        """Does the number keep to the limit? None where the range does not tell."""
        if direction == "at_most":
            return self._turned.holds("at_least", -limit)
        bound = lenient(limit, -1)
        if self.low >= bound:
            return True
        return False if self.high < bound or (self.below and self.high <= limit) else None

    def better(self, other: Range, direction: Direction) -> bool | None:
        """Is this number safer than the other? None where they may be equal, or cannot be told apart."""
        if direction == "at_most":
            return self._turned.better(other._turned, "at_least")
        if self.low > lenient(other.high) or (other.below and self.low >= other.high):
            return True
        return False if lenient(self.high) < other.low or (self.below and self.high <= other.low) else None

    @property
    def _turned(self) -> Range:
        """The same with the other sign."""
        return Range(-self.high, -self.low, self.above, self.below)


def range_of(told: Any) -> Range | None:
    """The range of a count or a score as reports have it; None where nothing is told."""
    if isinstance(told, Mapping):
        if "fewer_than" in told:
            return Range(-math.inf, told["fewer_than"], below=True)
        if "more_than" in told:
            return Range(told["more_than"] - ROUNDED, math.inf, above=True)
        exact = all(isinstance(told[key], int) for key in ("from", "to"))
        slack = 0.0 if exact else ROUNDED
        return Range(told["from"] - slack, told["to"] + slack)
    return None if told is None else Range(told, told)


def range_of_value(finding: Mapping[str, Any]) -> Range | None:
    """The range of a finding's score, which the public may be told in steps."""
    told, half = range_of(finding["value"]), finding.get("step", 0.0) / 2
    return told if told is None or not half else Range(told.low - half - ROUNDED, told.high + half + ROUNDED)


def share(part: Any, whole: Any) -> Range | None:
    """The range of one count's share of another."""
    some, everyone = range_of(part), range_of(whole)
    if some is None or everyone is None or everyone.low <= 0:
        return None
    return Range(max(some.low, 0) / everyone.high, some.high / everyone.low, below=some.below)
