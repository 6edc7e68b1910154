"""A limit of a metric, and what to say of one whose verdict discloses more than masked numbers do.

It imports no document model: `leafgate validate` warns of such limits without loading any.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from leafgate.disclosure.wording import limit_words
from leafgate.kernel.findings import Limit, Unit, lenient

SMALL = (
    "whether {metric} is {limit} discloses groups of fewer than {cell} people, which public reports do not show: "
    "choose a limit of {cell} people or more, or say `report.smallest_cell: {people}`"
)
TEST = (
    "whether {metric} is {limit} discloses something about the fewer than {cell} people who decide it: "
    "take a larger test table, or more candidates, or a lower `report.smallest_cell`"
)
NARROW = (
    "whether {metric} is {limit} discloses more than the masked numbers beside it: "
    "choose a limit further away from them, or a lower `report.smallest_cell`"
)


@dataclass(frozen=True)
class LimitQuery:
    """A limit of a metric, as findings and waivers have it.

    Attributes:
        metric: the metric's name.
        unit: the unit of its scores.
        limit: the bound, and how scores are judged by it.
        sensitivity: by how much one person can move a score of the release.
    """

    metric: str
    unit: Unit
    limit: Limit
    sensitivity: float = 0.0

    @property
    def people(self) -> int | None:
        """The least number of people that a group must have; None where the limit is not about the size of groups."""
        if self.limit.average:
            return None
        if self.unit == Unit.PEOPLE:
            return math.ceil(lenient(self.limit.bound, -1))
        above_zero = self.unit == Unit.ONE_OVER_PEOPLE and self.limit.bound > 0
        return math.ceil(1 / lenient(self.limit.bound)) if above_zero else None

    def small(self, cell: int) -> bool:
        """Is it a limit on groups that are smaller than the smallest cell?"""
        return self.people is not None and 1 < self.people < cell

    def describe(self, words: str, cell: int) -> str:
        """One of the messages of this module about this limit."""
        limit = limit_words({"limit": self.limit.document()})
        return words.format(metric=self.metric, limit=limit, cell=cell, people=self.people)
