"""Limits whose verdict tells more than a public report's numbers: group sizes below the smallest cell above all.

Whether a limit holds is always told, and exactly; that is what a report is for. Where the number beside it is veiled,
the verdict narrows it: "fewer than 10 people, and not fewer than 9" is 9. Nobody can have both, so it is said.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from leafgate.disclosure.intervals import range_of, share
from leafgate.types.report import Finding, Limit, Report, Unit, lenient

SMALL = (
    "whether {metric} is {limit} tells of groups of fewer than {cell} people, which public reports do not show: "
    "choose a limit of {cell} people or more, or say `report.smallest_cell: {people}`"
)
TEST = (
    "whether {metric} is {limit} tells of the fewer than {cell} people who decide it: "
    "take a larger test table, or a lower `report.smallest_cell`"
)
NARROW = (
    "whether {metric} is {limit} tells more than the numbers beside it, which are veiled: "
    "choose a limit further away from them, or a lower `report.smallest_cell`"
)


@dataclass(frozen=True)
class LimitQuery:
    """A limit on a score of this unit, that one person can move by so much, as findings and waivers have it."""

    metric: str
    unit: Unit
    limit: Limit
    moved_by_one: float = 0.0

    @property
    def people(self) -> int | None:
        """How many people a group must have at least; None where the limit is about something else."""
        if self.limit.average:
            return None
        if self.unit == Unit.PEOPLE:
            return math.ceil(lenient(self.limit.bound, -1))
        above_zero = self.unit == Unit.ONE_OVER_PEOPLE and self.limit.bound > 0
        return math.ceil(1 / lenient(self.limit.bound)) if above_zero else None

    def small(self, cell: int) -> bool:
        """Is it about groups that are too small to be shown?"""
        return self.people is not None and 1 < self.people < cell

    def describe(self, words: str, cell: int) -> str:
        from leafgate.disclosure.text import wanted

        limit = wanted({"limit": self.limit.document()})
        return words.format(metric=self.metric, limit=limit, cell=cell, people=self.people)


def leakage_notes(report: Report, published: Sequence[Mapping[str, Any]]) -> list[str]:
    """Notes of a public report on limits and waived limits whose verdict discloses more than what is `published`."""
    limits = [
        (found, found.limit, shown)
        for found, shown in zip(report.findings, published, strict=True)
        if found.limit is not None
    ]
    asked = [(_asked(found, limit), shown) for found, limit, shown in limits if found.passed is not None]
    by_id = {found.id: (found, limit, shown) for found, limit, shown in limits}
    for waiver in report.waivers:
        if waiver.get("limit") and waiver["finding"] in by_id:
            found, limit, shown = by_id[waiver["finding"]]
            asked.append((_asked(found, Limit.from_document(limit.document() | waiver["limit"])), shown))
    said = (_note(each, shown, report.smallest_cell) for each, shown in asked)
    return list(dict.fromkeys(f"{note[0].upper()}{note[1:]}." for note in said if note))


def _asked(finding: Finding, limit: Limit) -> LimitQuery:
    return LimitQuery(finding.metric, finding.unit, limit, finding.sensitivity)


def _note(asked: LimitQuery, shown: Mapping[str, Any], cell: int) -> str:
    value = shown["value"]
    large = isinstance(value, int | float) or (isinstance(value, Mapping) and "from" in value)
    if value is None and asked.moved_by_one * cell > 1:
        return asked.describe(TEST, cell)
    if asked.small(cell) and not large:
        return asked.describe(SMALL, cell)
    return asked.describe(NARROW, cell) if _narrows(asked, shown) else ""


def _narrows(asked: LimitQuery, shown: Mapping[str, Any]) -> bool:
    """Is a number of few people among those shown, which leave open whether the limit holds?

    What a verdict tells of numbers from the smallest cell up narrows a count that might be shown.
    """
    if not asked.limit.average and _few(shown["value"]) and asked.people != 1:
        result = range_of(shown["value"])
        if result is not None and "fewer_than" in shown["value"]:  # and somebody
            whole = isinstance(shown["value"]["fewer_than"], int)
            result = replace(result, low=1 if whole else 0, above=not whole)
        if result is not None and result.holds(asked.limit.direction, asked.limit.bound) is None:
            return True
    allowed = asked.limit.allow
    beyond = share(shown["beyond"], shown["people"]) if allowed and _few(shown["beyond"]) else None
    return beyond is not None and beyond.holds("at_most", allowed) is None


def _few(shown: Any) -> bool:
    """Is it a number below the smallest cell, or one over it?"""
    return isinstance(shown, Mapping) and "from" not in shown
