"""How the public sees a score of people that counts nothing: as a step of a grid, and of few people not at all.

The fraction that a group's confidence is, say 6/7, tells how many people it has; what three groups' are, a fourth's.
"""

from __future__ import annotations

import math
from typing import Any

from leafgate.report import Finding

STEP = 0.05
"""How wide a step is for scores below 10; ten times as wide for each digit more. Whole numbers are told as they are."""


def is_plain(finding: Finding) -> bool:
    """Is the score one person's, and no count, no share of people and no average?"""
    return finding.scored is not None and not finding.unit and not finding.limit.get("average")


def step_around(value: float) -> dict[str, float]:
    """The step of the grid that a score lies on."""
    low = edge_below(value)
    return {"from": low, "to": round(low + width_at(value), 9)}


def has_small_groups(finding: Finding, smallest: int) -> bool:
    """Is somebody in a group below the smallest cell?"""
    return finding.smallest_group is not None and finding.smallest_group < smallest


def score_shown(value: float | None, finding: Finding, smallest: int) -> Any:
    """A score as it is told: {"from", "to"}, a whole number, or None where few people share it."""
    few = finding.fewest is not None and finding.fewest < smallest
    if value is None or (few and not float(value).is_integer()):
        return None
    if float(value).is_integer():
        return value
    return step_around(value)


def width_at(value: float) -> float:
    """How wide the grid's steps are there."""
    return STEP * 10.0 ** max(0, math.floor(math.log10(abs(value)))) if value else STEP


def edge_below(value: float) -> float:
    """The last edge of the grid that is not above the value."""
    width = width_at(value)
    return round(math.floor(value / width + 1e-9) * width, 9)
