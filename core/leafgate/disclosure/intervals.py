"""The interval of numbers that a published number, exact or masked, may stand for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import TypeAdapter

from leafgate.io.evidence import FewerThan, FromTo, MoreThan
from leafgate.io.json import JsonObject
from leafgate.kernel.findings import Direction, lenient

ROUNDING_ERROR = 1e-6
"""Masked shares are published with six digits."""
PublishedNumber = float | FewerThan | MoreThan | FromTo | Mapping[str, float] | None
"""A count or a score as a report has it, parsed or as JSON; None where it is suppressed."""
_MASKED: TypeAdapter[FewerThan | MoreThan | FromTo] = TypeAdapter(FewerThan | MoreThan | FromTo)


@dataclass(frozen=True)
class Range:
    """The numbers from `low` to `high`; without `high` itself if `below`, without `low` itself if `above`."""

    low: float
    high: float
    below: bool = False
    above: bool = False

    def holds(self, direction: Direction, limit: float) -> bool | None:
        """Does every number of the range keep to the limit (True), or none (False)? None where only some do."""
        if direction == "at_most":
            return self._negated.holds("at_least", -limit)
        bound = lenient(limit, -1)
        if self.low >= bound:
            return True
        return False if self.high < bound or (self.below and self.high <= limit) else None

    def better(self, another: Range, direction: Direction) -> bool | None:
        """Is this number safer than the other? None where they may be equal, or the ranges overlap."""
        if direction == "at_most":
            return self._negated.better(another._negated, "at_least")
        if self.low > lenient(another.high) or (another.below and self.low >= another.high):
            return True
        return False if lenient(self.high) < another.low or (self.below and self.high <= another.low) else None

    @property
    def _negated(self) -> Range:
        """The range of the negated numbers."""
        return Range(-self.high, -self.low, self.above, self.below)


def range_of(value: PublishedNumber) -> Range | None:
    """The range of a published count or score; None where it is suppressed."""
    if isinstance(value, Mapping):
        value = _MASKED.validate_python(value, strict=False)
    match value:
        case None:
            return None
        case FewerThan():
            return Range(-math.inf, value.fewer_than, below=True)
        case MoreThan():
            return Range(value.more_than - ROUNDING_ERROR, math.inf, above=True)
        case FromTo():
            exact = isinstance(value.low, int) and isinstance(value.high, int)
            slack = 0.0 if exact else ROUNDING_ERROR
            return Range(value.low - slack, value.high + slack)
        case _:
            return Range(value, value)


def range_of_value(finding: JsonObject) -> Range | None:
    """The range of a finding's score, which public reports may round to a `step`."""
    result, half = range_of(finding["value"]), finding.get("step", 0.0) / 2
    if result is None or not half:
        return result
    return Range(result.low - half - ROUNDING_ERROR, result.high + half + ROUNDING_ERROR)


def share_range(part: PublishedNumber, total: PublishedNumber) -> Range | None:
    """The range of one count's share of another; None where either is suppressed, or the total may be 0."""
    some, everyone = range_of(part), range_of(total)
    if some is None or everyone is None or everyone.low <= 0:
        return None
    return Range(max(some.low, 0) / everyone.high, some.high / everyone.low, below=some.below)
