"""How counts of people are shown: exactly, as a step of a grid, or not at all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from leafgate.types.evidence import AuditorOnly, PeopleCount, ReleaseOnly
from leafgate.types.report import Finding, Report, Unit

Audience = Literal["public", "auditor"]


@dataclass(frozen=True)
class CountMask:
    """How counts of people are shown: none below `smallest`, all others as the step of one grid they lie on.

    The steps are as wide as the smallest cell, and the same in every report. So neither sums and differences of what
    one report tells, nor those of two reports on nearly the same people, come to a number of few people. The table's
    `total` is told as it is, and counts of all but fewer people than the smallest cell as one with it. `released`: may
    the release be published as it is?
    """

    smallest: int
    total: int | None = None
    released: bool = False

    def total_count(self, people: int) -> Any:
        """A count that parts may be of: the table's total, or like any other."""
        return people if people == self.total and people >= self.smallest else self.count(people)

    def count(self, people: int) -> Any:
        """A count as it is, or {"fewer_than": n}, or {"from": a, "to": b}."""
        return self.part(people, -1 if self.total is None else self.total)

    def part(self, people: int, total: int) -> Any:
        """A count of some of `total` people, whose rest must not be told either."""
        if self.smallest == 1 or people == 0:
            return people
        if people < self.smallest:
            return {"fewer_than": self.smallest}
        first = max(self.smallest, self._step(total - self.smallest + 1)["from"])
        if not first <= people <= total:
            return self._step(people)
        last = total if total == self.total else self._step(total)["to"]
        return total if first == last else {"from": first, "to": last}

    def _step(self, people: int) -> dict[str, int]:
        start = people - people % self.smallest
        return {"from": start, "to": start + self.smallest - 1}


def shown_in(report: Report, smallest: int) -> CountMask:
    """How the counts of one report are shown."""
    total = report.data.get("people")
    people = total.count if isinstance(total, PeopleCount) else None
    return CountMask(smallest, people, released=report.verdict == "pass")


def share_count(finding: Finding) -> int | None:
    """The people behind a score that is a share of them."""
    of_people = finding.average or finding.attack is None
    if finding.unit != Unit.SHARE or finding.value is None or finding.people is None or not of_people:
        return None
    return round(finding.value * finding.people)


COARSEST = 0.1
"""Shares in coarser steps say nothing."""


def round_coarsely(value: float, step: float) -> float:
    """A number rounded to the next power of ten above a step that must not show."""
    return round(value, -math.ceil(math.log10(step))) + 0.0 if step > 0 else value


def rounding_base(finding: Finding, smallest: int) -> float:
    """In which steps a score that single people move is told: a power of ten, 0 where nobody can move it."""
    moved = 0.0 if smallest == 1 else smallest * finding.sensitivity
    return 10.0 ** math.ceil(math.log10(moved)) if moved > 0 else 0.0


def redact(thing: Any, mask: CountMask, audience: Audience) -> Any:
    """Evidence with counts shown as they may be; what is private falls away for the public."""
    if isinstance(thing, PeopleCount):
        return mask.count(thing.count)
    if isinstance(thing, ReleaseOnly):
        return thing.content if audience == "auditor" else thing.public
    if isinstance(thing, AuditorOnly):
        return redact(thing.content, mask, audience)
    if isinstance(thing, Mapping):
        kept = {str(key): value for key, value in thing.items() if _is_for(value, mask, audience)}
        return {key: redact(value, mask, audience) for key, value in kept.items()}
    if isinstance(thing, Sequence) and not isinstance(thing, str):
        return [redact(item, mask, audience) for item in thing if _is_for(item, mask, audience)]
    return thing


def _is_for(thing: Any, shown: CountMask, audience: Audience) -> bool:
    """May the audience see anything of it?"""
    if audience == "auditor":
        return True
    if isinstance(thing, ReleaseOnly):
        return shown.released and thing.public is not None
    return not isinstance(thing, AuditorOnly)


# --- How the public sees a score of people that counts nothing: as a step of a grid, and of few people not at all ---

STEP = 0.05
"""How wide a step is for scores below 10; ten times as wide for each digit more. Whole numbers are told as they are."""


def is_plain(finding: Finding) -> bool:
    """Is the score one person's, and no count, no share of people and no average?"""
    return finding.scored is not None and not finding.unit and not finding.average


def round_to_grid(value: float) -> dict[str, float]:
    """The step of the grid that a score lies on."""
    low = edge_below(value)
    return {"from": low, "to": round(low + width_at(value), 9)}


def has_small_groups(finding: Finding, smallest: int) -> bool:
    """Is somebody in a group below the smallest cell?"""
    return finding.smallest_group is not None and finding.smallest_group < smallest


def score_shown(value: float | None, finding: Finding, smallest: int) -> Any:
    """A score as it is told: {"from", "to"}, a whole number, or None where few people share it."""
    few = finding.people_at_value is not None and finding.people_at_value < smallest
    if value is None or (few and not float(value).is_integer()):
        return None
    if float(value).is_integer():
        return value
    return round_to_grid(value)


def width_at(value: float) -> float:
    """How wide the grid's steps are there."""
    return STEP * 10.0 ** max(0, math.floor(math.log10(abs(value)))) if value else STEP


def edge_below(value: float) -> float:
    """The last edge of the grid that is not above the value."""
    width = width_at(value)
    return round(math.floor(value / width + 1e-9) * width, 9)
