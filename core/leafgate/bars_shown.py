"""Histograms of scores as the public may see them: no edge that only few people's score could have."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from leafgate.distribution import Bar
from leafgate.report import Finding
from leafgate.score_shown import edge_below, has_small_groups, width_at


def without_few(bars: Sequence[Bar], finding: Finding, smallest: int) -> list[Bar]:
    """The bars, joined and their ends moved until no edge tells of fewer people than the smallest cell.

    Sizes of groups below the cell are one bar on each side of the limit. Scores that count nobody have edges on the
    grid they are told on; where there are small groups, the limit alone.
    """
    if smallest == 1:
        return list(bars)
    if finding.unit == "people":
        kept = joined(bars, lambda last, bar: last.past == bar.past and (bar.low or 0) < smallest)
        return [_no_small_edge(bar, finding.bound, smallest) for bar in kept]
    if finding.unit == "one over people":
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
