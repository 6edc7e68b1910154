"""How the public sees a score of people that counts nothing: as a step of a grid, and of few people not at all.

The fraction that a group's confidence is, say 6/7, tells how many people it has; what three groups' are, a fourth's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from leafgate.distribution import Bar
from leafgate.report import Finding

STEP = 0.05
"""How wide a step is for scores below 10; ten times as wide for each digit more. Whole numbers are told as they are."""


def is_plain(finding: Finding) -> bool:
    """Is the score one person's, and no count, no share of people and no average?"""
    return finding.scored is not None and not finding.unit and not finding.limit.get("average")


def step_around(value: float) -> dict[str, float]:
    """The step of the grid that a score lies on."""
    low = _below(value)
    return {"from": low, "to": round(low + _width(value), 9)}


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


def bars_shown(bars: Sequence[Bar], finding: Finding, smallest: int) -> list[Bar]:
    """The bars with edges on the grid alone, and the limit's; where there are small groups, no edge but the limit."""
    if has_small_groups(finding, smallest):
        return _sides(bars)
    limit = next(float(value) for key, value in finding.limit.items() if key.startswith("at_"))
    kept: list[Bar] = []
    for bar in bars:
        if kept and not _may_be_an_edge(kept[-1].high, limit):
            kept[-1] = kept[-1].joined(bar)
        else:
            kept.append(bar)
    return [_outwards(bar, limit) for bar in kept]


def _sides(bars: Sequence[Bar]) -> list[Bar]:
    """One bar for each side of the limit, open at its outer end; nothing where sides are not told apart."""
    sides: list[Bar] = []
    for bar in bars:
        if sides and sides[-1].past == bar.past:
            sides[-1] = sides[-1].joined(bar)
        else:
            sides.append(bar)
    if len(sides) != 2:
        return []
    return [replace(sides[0], low=None), replace(sides[1], high=None)]


def _may_be_an_edge(edge: float | None, limit: float) -> bool:
    return edge is None or edge == limit or math.isclose(_below(edge), edge, abs_tol=1e-9)


def _outwards(bar: Bar, limit: float) -> Bar:
    """The bar with both ends moved outwards to the grid, where they are not the limit."""
    low = bar.low if _may_be_an_edge(bar.low, limit) or bar.low is None else _below(bar.low)
    high = bar.high if _may_be_an_edge(bar.high, limit) or bar.high is None else _below(bar.high) + _width(bar.high)
    return replace(bar, low=low, high=high if high is None else round(high, 9))


def _width(value: float) -> float:
    return STEP * 10.0 ** max(0, math.floor(math.log10(abs(value)))) if value else STEP


def _below(value: float) -> float:
    """The last edge of the grid that is not above the value."""
    width = _width(value)
    return round(math.floor(value / width + 1e-9) * width, 9)
