"""How protection is spread over people: a histogram of scores, cut at the limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from leafgate.disclosure.masking import edge_below, has_small_groups, width_at
from leafgate.types.report import Finding, ScoredPeople, Unit

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

    def joined(self, next_bar: Bar) -> Bar:
        """This bar and the next one as one."""
        past = self.past if self.past == next_bar.past else None
        return replace(self, high=next_bar.high, people=self.people + next_bar.people, past=past)


def distribution(finding: Finding) -> tuple[Bar, ...]:
    """Everyone's scores as bars from low to high; none where the finding is not about single people.

    The limit is always between two bars, and a bar holds what lies on its side of it: for `at_least` a bar holds
    its lower end, for `at_most` its upper end. Bars of group sizes grow in steps of 1, 2, 5, 10.
    """
    scored = finding.scored
    if scored is None or not len(scored.scores) or not np.isfinite(scored.scores).any():
        return ()
    limit = finding.bound
    upper, average = finding.limit is not None and finding.limit.direction == "at_most", finding.average
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


def _edges(scores: NDArray[np.float64], limit: float, unit: Unit) -> NDArray[np.float64]:
    """Round numbers around all scores; the limit is among them, and at least one lies on each side of it."""
    low, high = min(float(scores.min()), limit), max(float(scores.max()), limit)
    room = _nice((high - low) / STEPS or abs(high) / STEPS or 0.1)
    if unit == Unit.PEOPLE:
        edges = _powers(low, high)
    elif unit == Unit.ONE_OVER_PEOPLE:
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


# --- Histograms of scores as the public may see them: no edge that only few people's score could have ---


def suppress_small_bins(bars: Sequence[Bar], finding: Finding, smallest: int) -> list[Bar]:
    """The bars, joined and their ends moved until no edge tells of fewer people than the smallest cell.

    Sizes of groups below the cell are one bar on each side of the limit. Scores that count nobody have edges on the
    grid they are told on; where there are small groups, the limit alone.
    """
    if smallest == 1:
        return list(bars)
    if finding.unit == Unit.PEOPLE:
        kept = joined(bars, lambda last, bar: last.past == bar.past and (bar.low or 0) < smallest)
        return [_no_small_edge(bar, finding.bound, smallest) for bar in kept]
    if finding.unit == Unit.ONE_OVER_PEOPLE:
        kept = joined(bars, lambda last, bar: last.past == bar.past and (last.high or math.inf) > 1 / smallest)
        return [_no_large_edge(bar, finding.bound, 1 / smallest) for bar in kept]
    if finding.unit:
        return list(bars)
    if has_small_groups(finding, smallest):
        return _sides(bars)
    kept = joined(bars, lambda last, bar: not _may_be_an_edge(last.high, finding.bound))
    return [_outwards(bar, finding.bound) for bar in kept]


def joined(bars: Sequence[Bar], together: Callable[[Bar, Bar], bool]) -> list[Bar]:
    """The bars, each joined to what stands before it where the two belong together."""
    kept: list[Bar] = []
    for bar in bars:
        if kept and together(kept[-1], bar):
            kept[-1] = kept[-1].joined(bar)
        else:
            kept.append(bar)
    return kept


def _no_small_edge(bar: Bar, limit: float, smallest: int) -> Bar:
    """A bar of group sizes without an edge below the smallest cell, but the limit's."""
    if (bar.low or 0) >= smallest:
        return bar
    low = limit if bar.past is False and limit < smallest else 1.0
    high = bar.high if bar.high is None else max(bar.high, limit if bar.past and limit < smallest else smallest)
    return replace(bar, low=low, high=high)


def _no_large_edge(bar: Bar, limit: float, largest: float) -> Bar:
    """A bar of risks without an edge above one over the smallest cell, but the limit's."""
    if bar.high is not None and bar.high <= largest:
        return bar
    high = limit if bar.past is False and limit > largest else 1.0
    low = min(bar.low or 0.0, limit if bar.past and limit > largest else largest)
    return replace(bar, low=low, high=high)


def _sides(bars: Sequence[Bar]) -> list[Bar]:
    """One bar for each side of the limit, open at its outer end; nothing where sides are not told apart."""
    sides = joined(bars, lambda last, bar: last.past == bar.past)
    if len(sides) != 2:
        return []
    return [replace(sides[0], low=None), replace(sides[1], high=None)]


def _may_be_an_edge(edge: float | None, limit: float) -> bool:
    return edge is None or edge == limit or math.isclose(edge_below(edge), edge, abs_tol=1e-9)


def _outwards(bar: Bar, limit: float) -> Bar:
    """The bar with both ends moved outwards to the grid, where they are not the limit."""
    low, high = bar.low, bar.high
    if low is not None and not _may_be_an_edge(low, limit):
        low = edge_below(low)
    if high is not None and not _may_be_an_edge(high, limit):
        high = round(edge_below(high) + width_at(high), 9)
    return replace(bar, low=low, high=high)


# --- Histograms as the public may see them: bars joined until no small number of people can be worked out ---


def suppress_secondary(bars: Sequence[Bar], smallest: int) -> tuple[Bar, ...]:
    """The bars, joined until every count they tell is nobody or at least `smallest` people.

    A histogram tells the people of each bar, and by addition those below and above each edge. None of these
    may be small. At worst one bar is left, which holds everyone.
    """
    kept = list(bars)
    while len(kept) > 1 and (edge := _telling(kept, smallest)) is not None:
        kept[edge - 1 : edge + 1] = [kept[edge - 1].joined(kept[edge])]
    return tuple(kept)


def published_counts(bars: Sequence[Bar]) -> Iterator[tuple[int, int]]:
    """Each count that a histogram tells, with an edge (1 to bars - 1) without which it would not."""
    everyone, below = sum(bar.people for bar in bars), 0
    for i, bar in enumerate(bars):
        yield bar.people, min(i + 1, len(bars) - 1)
        if i:
            yield below, i
            yield everyone - below, i
        below += bar.people


def _telling(bars: Sequence[Bar], smallest: int) -> int | None:
    """An edge without which less is told that must not be; None where all is well."""
    for count, edge in published_counts(bars):
        if 0 < count < smallest:
            return edge
    return None
