"""How protection is spread over people: a histogram of scores, cut at the limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from leafgate.report import Finding, ScoredPeople

STEPS = 10
"""About how many bars a histogram of scores has."""


@dataclass(frozen=True)
class Bar:
    """People whose scores lie between two numbers (None: without bound).

    `past` is None for a bar across the limit, and where an average is judged.
    """

    low: float | None
    high: float | None
    people: int
    past: bool | None

    def joined(self, other: Bar) -> Bar:
        """This bar and the next one as one."""
        past = self.past if self.past == other.past else None
        return replace(self, high=other.high, people=self.people + other.people, past=past)


def distribution(finding: Finding) -> tuple[Bar, ...]:
    """Everyone's scores as bars from low to high; none where the finding is not about single people.

    The limit is always between two bars, and a bar holds what lies on its side of it: for `at_least` a bar holds
    its lower end, for `at_most` its upper end. Bars of group sizes grow in steps of 1, 2, 5, 10.
    """
    scored = finding.scored
    if scored is None or not len(scored.scores) or not np.isfinite(scored.scores).any():
        return ()
    limit = finding.bound
    upper, average = "at_most" in finding.limit, finding.limit.get("average")
    edges = _edges(scored.scores[np.isfinite(scored.scores)], limit, finding.unit)
    place = np.searchsorted(edges, scored.scores, side="left" if upper else "right") - 1
    place = np.clip(place, 0, len(edges) - 2)
    border = int(np.searchsorted(edges, limit))
    if not average:
        over = scored.past if upper else ~scored.past  # what floating point adds or takes away does not count
        place = np.where(over, np.maximum(place, border), np.minimum(place, border - 1))
    people = np.bincount(place, weights=scored.weight, minlength=len(edges) - 1)
    bars = [
        Bar(float(low), float(high), int(count), None if average else (i >= border) == upper)
        for i, (low, high, count) in enumerate(zip(edges[:-1], edges[1:], people, strict=True))
    ]
    held = [i for i, bar in enumerate(bars) if bar.people]
    return _open_ended(bars[held[0] : held[-1] + 1], scored, upper)


def _open_ended(bars: Sequence[Bar], scored: ScoredPeople, upper: bool) -> tuple[Bar, ...]:
    """The bars, the outermost without bound where somebody's score has none."""
    if np.isfinite(scored.scores).all():
        return tuple(bars)
    return (*bars[:-1], replace(bars[-1], high=None)) if upper else (replace(bars[0], low=None), *bars[1:])


def _edges(scores: NDArray[np.float64], limit: float, unit: str) -> NDArray[np.float64]:
    """Round numbers around all scores; the limit is among them, and at least one lies on each side of it."""
    low, high = min(float(scores.min()), limit), max(float(scores.max()), limit)
    room = _nice((high - low) / STEPS or abs(high) / STEPS or 0.1)
    if unit == "people":
        edges = _powers(low, high)
    elif unit == "one over people":
        edges = [1 / edge for edge in _powers(1 / high, 1 / max(low, 1e-9))] if high > 0 else [0.0]
    else:
        edges = [i * room for i in range(math.floor(low / room), math.ceil(high / room) + 1)]
    near = {round(edge, 12) for edge in edges if not math.isclose(edge, limit, rel_tol=1e-9, abs_tol=1e-12)}
    ends = {min({low, *near}) - room, max({high, *near}) + room}
    return np.array(sorted(near | ends | {limit}))


def _powers(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, ... from the lowest group size to above the highest."""
    marks = [factor * 10.0**power for power in range(12) for factor in (1, 2, 5)]
    first = max((i for i, mark in enumerate(marks) if mark <= low), default=0)
    last = min((i for i, mark in enumerate(marks) if mark > high), default=len(marks) - 1)
    return marks[first : last + 1]


def _nice(step: float) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * (1 - 1e-9))
