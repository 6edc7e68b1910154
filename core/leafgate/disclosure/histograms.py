"""Histograms of people's scores, cut at the limit, and their masking: merged bars and rounded edges.

The public gets a histogram whose edges are no score of few people (`suppress_small_bins`), and from whose counts no
small count follows by addition or subtraction (`suppress_secondary`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from leafgate.disclosure.masking import edge_below, has_small_groups, width_at
from leafgate.kernel.findings import Finding, ScoredPeople, Unit

STEPS = 10
"""About how many bars a histogram of scores has."""


@dataclass(frozen=True)
class Bar:
    """The people whose scores lie between two numbers (None: without bound).

    `past` says whether they are outside the limit; None for a bar across it, and where an average is judged.
    """

    low: float | None
    high: float | None
    people: int
    past: bool | None

    def joined(self, next_bar: Bar) -> Bar:
        """This bar merged with the next."""
        past = self.past if self.past == next_bar.past else None
        return replace(self, high=next_bar.high, people=self.people + next_bar.people, past=past)


def distribution(finding: Finding) -> tuple[Bar, ...]:
    """The histogram of everyone's scores, from low to high; empty where the finding is not about single people.

    The limit is always an edge. For `at_least` a bar includes its lower edge, for `at_most` its upper edge. Edges of
    group sizes are 1, 2, 5, 10, ...
    """
    scored = finding.scored_people
    if scored is None or not len(scored.scores) or not np.isfinite(scored.scores).any():
        return ()
    limit = finding.bound
    upper, average = finding.limit is not None and finding.limit.direction == "at_most", finding.average
    edges = _edges(scored.scores[np.isfinite(scored.scores)], limit, finding.unit)
    place = np.searchsorted(edges, scored.scores, side="left" if upper else "right") - 1
    place = np.clip(place, 0, len(edges) - 2)
    limit_edge = int(np.searchsorted(edges, limit))
    if not average:
        over = scored.violates if upper else ~scored.violates  # rounding errors put nobody on the wrong side
        place = np.where(over, np.maximum(place, limit_edge), np.minimum(place, limit_edge - 1))
    people = np.bincount(place, weights=scored.weight, minlength=len(edges) - 1)
    bars = [
        Bar(float(low), float(high), int(count), None if average else (i >= limit_edge) == upper)
        for i, (low, high, count) in enumerate(zip(edges[:-1], edges[1:], people, strict=True))
    ]
    held = [i for i, bar in enumerate(bars) if bar.people]
    return _open_ended(bars[held[0] : held[-1] + 1], scored, upper)


def _open_ended(bars: Sequence[Bar], scored: ScoredPeople, upper: bool) -> tuple[Bar, ...]:
    """The bars, the outermost without bound where somebody's score is infinite."""
    if np.isfinite(scored.scores).all():
        return tuple(bars)
    return (*bars[:-1], replace(bars[-1], high=None)) if upper else (replace(bars[0], low=None), *bars[1:])


def _edges(scores: NDArray[np.float64], limit: float, unit: Unit) -> NDArray[np.float64]:
    """Round numbers around all scores; the limit is one of them, and each side of it has at least one."""
    low, high = min(float(scores.min()), limit), max(float(scores.max()), limit)
    step = _nice((high - low) / STEPS or abs(high) / STEPS or 0.1)
    if unit == Unit.PEOPLE:
        edges = _powers(low, high)
    elif unit == Unit.ONE_OVER_PEOPLE:
        edges = [1 / edge for edge in _powers(1 / high, 1 / max(low, 1e-9))] if high > 0 else [0.0]
    else:
        edges = [i * step for i in range(math.floor(low / step), math.ceil(high / step) + 1)]
    near = {round(edge, 12) for edge in edges if not math.isclose(edge, limit, rel_tol=1e-9, abs_tol=1e-12)}
    ends = {min({low, *near}) - step, max({high, *near}) + step}
    return np.array(sorted(near | ends | {limit}))


def _powers(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, ... from at most the lowest group size to above the highest."""
    marks = [factor * 10.0**power for power in range(12) for factor in (1, 2, 5)]
    first = max((i for i, mark in enumerate(marks) if mark <= low), default=0)
    last = min((i for i, mark in enumerate(marks) if mark > high), default=len(marks) - 1)
    return marks[first : last + 1]


def _nice(step: float) -> float:
    """The next of 1, 2, 5, 10, ... times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * (1 - 1e-9))


def suppress_small_bins(bars: Sequence[Bar], finding: Finding, smallest: int) -> list[Bar]:
    """The bars, merged and their edges moved until no edge discloses a score of fewer people than the smallest cell.

    Group sizes below the cell are merged into one bar on each side of the limit. Other scores get edges on the grid
    that scores are rounded to; where there are small groups, the limit is the only edge.
    """
    if smallest == 1:
        return list(bars)
    if finding.unit == Unit.PEOPLE:
        kept = joined(bars, lambda last, bar: last.past == bar.past and (bar.low or 0) < smallest)
        return [_no_small_edge(bar, finding.bound, smallest) for bar in kept]
    if finding.unit == Unit.ONE_OVER_PEOPLE:
        kept = joined(bars, lambda last, bar: last.past == bar.past and (last.high or math.inf) > 1 / smallest)
        return [_no_large_edge(bar, finding.bound, 1 / smallest) for bar in kept]
    if finding.unit and _has_whole_scores(finding):
        return list(bars)
    if has_small_groups(finding.masking, smallest):
        return _sides(bars)
    kept = joined(bars, lambda last, bar: not _is_public_edge(last.high, finding.bound))
    return [_outwards(bar, finding.bound) for bar in kept]


def _has_whole_scores(finding: Finding) -> bool:
    """Are all scores whole numbers? These do not disclose the size of the group they were computed from."""
    scores = np.zeros(0) if finding.scored_people is None else finding.scored_people.scores
    return bool((np.isinf(scores) | (scores == np.floor(scores))).all())


def joined(bars: Sequence[Bar], together: Callable[[Bar, Bar], bool]) -> list[Bar]:
    """The bars, each merged with the one before it where `together` says so."""
    merged: list[Bar] = []
    for bar in bars:
        if merged and together(merged[-1], bar):
            merged[-1] = merged[-1].joined(bar)
        else:
            merged.append(bar)
    return merged


def _no_small_edge(bar: Bar, limit: float, smallest: int) -> Bar:
    """A bar of group sizes without an edge below the smallest cell, except for the limit."""
    if (bar.low or 0) >= smallest:
        return bar
    low = limit if bar.past is False and limit < smallest else 1.0
    high = bar.high if bar.high is None else max(bar.high, limit if bar.past and limit < smallest else smallest)
    return replace(bar, low=low, high=high)


def _no_large_edge(bar: Bar, limit: float, largest: float) -> Bar:
    """A bar of risks without an edge above one over the smallest cell, except for the limit."""
    if bar.high is not None and bar.high <= largest:
        return bar
    high = limit if bar.past is False and limit > largest else 1.0
    low = min(bar.low or 0.0, limit if bar.past and limit > largest else largest)
    return replace(bar, low=low, high=high)


def _sides(bars: Sequence[Bar]) -> list[Bar]:
    """One bar for each side of the limit, without its outer edge; none where the bars do not distinguish the sides."""
    sides = joined(bars, lambda last, bar: last.past == bar.past)
    if len(sides) != 2:
        return []
    return [replace(sides[0], low=None), replace(sides[1], high=None)]


def _is_public_edge(edge: float | None, limit: float) -> bool:
    """Is it the limit, on the grid, or no edge at all?"""
    return edge is None or edge == limit or math.isclose(edge_below(edge), edge, abs_tol=1e-9)


def _outwards(bar: Bar, limit: float) -> Bar:
    """The bar with both edges moved outwards to the grid, except for the limit."""
    low, high = bar.low, bar.high
    if low is not None and not _is_public_edge(low, limit):
        low = edge_below(low)
    if high is not None and not _is_public_edge(high, limit):
        high = round(edge_below(high) + width_at(high), 9)
    return replace(bar, low=low, high=high)


def suppress_secondary(bars: Sequence[Bar], smallest: int) -> tuple[Bar, ...]:
    """The bars, merged until every published count is 0 or at least `smallest` people.

    A histogram publishes the people of each bar and, by addition, those below and above each edge. In the worst case
    one bar of everyone remains.
    """
    kept = list(bars)
    while len(kept) > 1 and (edge := _edge_of_small_count(kept, smallest)) is not None:
        kept[edge - 1 : edge + 1] = [kept[edge - 1].joined(kept[edge])]
    return tuple(kept)


def published_counts(bars: Sequence[Bar]) -> Iterator[tuple[int, int]]:
    """Each count that follows from a histogram, with an edge (1 to bars - 1) whose removal suppresses it."""
    everyone, below = sum(bar.people for bar in bars), 0
    for i, bar in enumerate(bars):
        yield bar.people, min(i + 1, len(bars) - 1)
        if i:
            yield below, i
            yield everyone - below, i
        below += bar.people


def _edge_of_small_count(bars: Sequence[Bar], smallest: int) -> int | None:
    """An edge whose removal suppresses a small count; None where no count is small."""
    for count, edge in published_counts(bars):
        if 0 < count < smallest:
            return edge
    return None
