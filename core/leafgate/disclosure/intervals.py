"""What a report tells of a number: exactly, or that it lies between two others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from leafgate.types.report import lenient

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

    def better(self, another: Range, direction: Direction) -> bool | None:
        """Is this number safer than the other? None where they may be equal, or cannot be told apart."""
        if direction == "at_most":
            return self._turned.better(another._turned, "at_least")
        if self.low > lenient(another.high) or (another.below and self.low >= another.high):
            return True
        return False if lenient(self.high) < another.low or (self.below and self.high <= another.low) else None

    @property
    def _turned(self) -> Range:
        """The same with the other sign."""
        return Range(-self.high, -self.low, self.above, self.below)


def range_of(value: Any) -> Range | None:
    """The range of a count or a score as reports have it; None where nothing is told."""
    if isinstance(value, Mapping):
        if "fewer_than" in value:
            return Range(-math.inf, value["fewer_than"], below=True)
        if "more_than" in value:
            return Range(value["more_than"] - ROUNDED, math.inf, above=True)
        exact = all(isinstance(value[key], int) for key in ("from", "to"))
        slack = 0.0 if exact else ROUNDED
        return Range(value["from"] - slack, value["to"] + slack)
    return None if value is None else Range(value, value)


def range_of_value(finding: Mapping[str, Any]) -> Range | None:
    """The range of a finding's score, which the public may be told in steps."""
    result, half = range_of(finding["value"]), finding.get("step", 0.0) / 2
    return result if result is None or not half else Range(result.low - half - ROUNDED, result.high + half + ROUNDED)


def share(part: Any, total: Any) -> Range | None:
    """The range of one count's share of another."""
    some, everyone = range_of(part), range_of(total)
    if some is None or everyone is None or everyone.low <= 0:
        return None
    return Range(max(some.low, 0) / everyone.high, some.high / everyone.low, below=some.below)
