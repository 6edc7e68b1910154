"""What is known of fields on the way down a PMML tree, so that no test is asked whose answer is known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from leafgate.foreign.pmml.fields import Field, Test


@dataclass(frozen=True)
class Left:
    """What a field can still be: a number above `low` and up to `high`, or a value of `values` (None: any but `gone`).

    And perhaps missing.
    """

    low: float = -math.inf
    high: float = math.inf
    values: frozenset[str] | None = None
    gone: frozenset[str] = frozenset()
    missing: bool = True

    @property
    def something(self) -> bool:
        """Can it be anything that is there?"""
        return self.low < self.high and (self.values is None or bool(self.values))


Known = Mapping[str, Left]


def left_of(field: Field, known: Known, *, missing: bool) -> Left:
    """What the tests so far leave of a field; before them it may be missing or not."""
    if field.name in known:
        return known[field.name]
    return Left(values=None if field.values is None else frozenset(field.values), missing=missing)


def split(test: Test, left: Left) -> tuple[Left, Left]:
    """What is left where the test is true, and where it is false; missing where it was, in both."""
    if test.asks == "missing":
        nothing = Left(0, 0, missing=left.missing)
        true, false = nothing, left
    elif test.at is not None:
        top = math.nextafter(test.at, -math.inf) if test.strict else test.at
        true = Left(left.low, min(left.high, top), missing=left.missing)
        false = Left(max(left.low, top), left.high, missing=left.missing)
    elif left.values is not None:
        true = Left(values=left.values & test.chosen, missing=left.missing)
        false = Left(values=left.values - test.chosen, missing=left.missing)
    else:
        true = Left(values=test.chosen - left.gone, missing=left.missing)
        false = Left(gone=left.gone | test.chosen, missing=left.missing)
    return (false, true) if test.turned else (true, false)
