"""Masking of numbers in public reports: primary and secondary suppression, and rounding to fixed grids.

Primary suppression: no count of fewer people than the smallest cell is published, nor a score that only so few people
share. Secondary suppression: a number is masked as well where its total or its complement would give a suppressed count
by subtraction. Rounding: counts are published as steps of one grid whose rounding base is the smallest cell, and
scores as steps of fixed width. The grids are the same in every report, so that neither sums and differences within a
report nor the difference of two reports on nearly the same people (differencing) isolate few people.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from leafgate.io.evidence import Count, FewerThan, FromTo, MoreThan
from leafgate.io.json import JsonDocument
from leafgate.kernel.evidence import AuditorOnly, PeopleCount, ReleaseOnly
from leafgate.kernel.findings import Finding, Masking, Report, Unit

Audience = Literal["public", "auditor"]
MAX_ROUNDING_BASE = 0.1
"""Shares in coarser steps are suppressed: they would say nothing."""
COUNTING_UNITS = frozenset({Unit.PEOPLE, Unit.ONE_OVER_PEOPLE})
"""Units whose scores are masked as the count of people that they are; in any other unit one person's score is masked as
a score, because it could be a fraction that discloses the size of a group."""
GRID_STEP = 0.05
"""The width of the grid of scores below 10; each digit more makes it ten times as wide."""


@dataclass(frozen=True)
class CountMask:
    """The masking of the counts of one report.

    Attributes:
        smallest: the smallest cell; 1 publishes every count as it is.
        total: the number of people in the table, published as it is. Counts whose complement in it is smaller than the
            smallest cell are merged with it.
        released: whether the release may be published.
    """

    smallest: int
    total: int | None = None
    released: bool = False

    @classmethod
    def of_report(cls, report: Report, smallest: int) -> CountMask:
        """The masking of this report's counts."""
        total = report.data.get("people")
        people = total.count if isinstance(total, PeopleCount) else None
        return cls(smallest, people, released=report.verdict == "pass")

    def total_count(self, people: int) -> Count:
        """The masked count of people that parts are published of: exact if it is the table's total."""
        return people if people == self.total and people >= self.smallest else self.count(people)

    def count(self, people: int) -> Count:
        """The masked count of some of the table's people."""
        return self.part(people, -1 if self.total is None else self.total)

    def part(self, people: int, total: int) -> Count:
        """The masked count of some of `total` people, whose complement must not follow from it."""
        if self.smallest == 1 or people == 0:
            return people
        if people < self.smallest:
            return FewerThan(fewer_than=self.smallest)
        start, end = self._step(people)
        first = max(self.smallest, self._step(total - self.smallest + 1)[0])
        if first <= people <= total:
            start, end = first, total if total == self.total else self._step(total)[1]
            if start == end:
                return total
        return FromTo.between(start, end)

    def _step(self, people: int) -> tuple[int, int]:
        """The first and the last count of the grid's step."""
        start = people - people % self.smallest
        return start, start + self.smallest - 1


def count_behind_share(value: float | None, finding: Finding) -> int | None:
    """The number of people that a finding's score is the share of; None where the score is no share of people."""
    of_people = finding.average or finding.scored_people is None
    if finding.unit != Unit.SHARE or value is None or finding.people is None or not of_people:
        return None
    return round(value * finding.people)


def round_coarsely(value: float, step: float) -> float:
    """The number rounded to the next power of ten above `step`."""
    return round(value, -math.ceil(math.log10(step))) + 0.0 if step > 0 else value


def rounding_base(sensitivity: float, smallest: int) -> float:
    """The rounding base of a score of the release: fewer people than the smallest cell move it by less than one step.

    Returns:
        A power of ten; 0 where no person can move the score.
    """
    moved = 0.0 if smallest == 1 else smallest * sensitivity
    return 10.0 ** math.ceil(math.log10(moved)) if moved > 0 else 0.0


def is_individual_score(finding: Finding) -> bool:
    """Is the score one person's, and neither the size of a group nor an average?"""
    return finding.scored_people is not None and finding.unit not in COUNTING_UNITS and not finding.average


def has_small_groups(masking: Masking, smallest: int) -> bool:
    """Is the smallest group of a finding's people below the smallest cell?"""
    return masking.smallest_group is not None and masking.smallest_group < smallest


def mask_score(value: float | None, masking: Masking, smallest: int) -> float | FromTo | None:
    """The score of one person: whole numbers as they are, others as a step of the grid; None where few people share it.

    Whole numbers do not disclose the size of the group they were computed from; fractions do.
    """
    if value is None or float(value).is_integer():
        return value
    few = masking.people_at_value is not None and masking.people_at_value < smallest
    return None if few else round_to_grid(value)


def round_to_grid(value: float) -> FromTo:
    """The step of the grid that contains a score."""
    low = edge_below(value)
    return FromTo.between(low, round(low + width_at(value), 9))


def width_at(value: float) -> float:
    """The width of the grid's steps at a value."""
    return GRID_STEP * 10.0 ** max(0, math.floor(math.log10(abs(value)))) if value else GRID_STEP


def edge_below(value: float) -> float:
    """The last edge of the grid that is not above the value."""
    width = width_at(value)
    return round(math.floor(value / width + 1e-9) * width, 9)


def redact_object(content: Mapping[str, object], mask: CountMask, audience: Audience) -> JsonDocument:
    """The content with every count masked; the public gets neither what is for auditors nor an unpublished release."""
    visible = {str(key): value for key, value in content.items() if _may_see(value, mask, audience)}
    return {key: redact(value, mask, audience) for key, value in visible.items()}


def redact(content: object, mask: CountMask, audience: Audience) -> JsonValue:
    """The JSON of a value, masked as `redact_object` does it.

    Raises:
        TypeError: the value has no JSON.
    """
    match content:
        case PeopleCount():
            return redact(mask.count(content.count), mask, audience)
        case FewerThan() | MoreThan() | FromTo():
            return content.json_document()
        case ReleaseOnly():
            return redact(content.content if audience == "auditor" else content.public, mask, audience)
        case AuditorOnly():
            return redact(content.content, mask, audience)
        case None | bool() | int() | float() | str():
            return content
        case Mapping():
            return redact_object(content, mask, audience)
        case Sequence():
            return [redact(item, mask, audience) for item in content if _may_see(item, mask, audience)]
    raise TypeError(f"{type(content).__name__} cannot be written as JSON")


def _may_see(content: object, mask: CountMask, audience: Audience) -> bool:
    """May the audience see anything of it?"""
    if audience == "auditor":
        return True
    if isinstance(content, ReleaseOnly):
        return mask.released and content.public is not None
    return not isinstance(content, AuditorOnly)
