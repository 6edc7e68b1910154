"""What a report's pictures are drawn from, as its audience may see it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from leafgate.report import Finding, Report
from leafgate.shown import COARSEST, Audience, Shown, coarse, told

if TYPE_CHECKING:
    from leafgate.distribution import Bar


def distributions(report: Report, shown: Shown, audience: Audience) -> Iterator[list[dict[str, Any]]]:
    """For each finding the people at each score, from low to high; empty where that may not be told.

    For the public bars are joined until neither they nor any sum or difference of what the report tells
    counts fewer people than the smallest cell.
    """
    from leafgate.distribution import distribution
    from leafgate.veiling import veiled

    public = audience == "public"
    for finding in report.findings:
        hidden = public and (finding.private or report.differentially_private)
        bars = () if hidden else distribution(finding)
        if public and bars:
            total = sum(bar.people for bar in bars)
            bars = bars if _may_add_up(finding.beyond, total, shown) else ()
            joined = _few_joined(bars, finding, shown.smallest) if bars else []
            bars = tuple(bar for bar in veiled(joined, shown.smallest) if (bar.low, bar.high) != (None, None))
        yield [{"from": bar.low, "to": bar.high, "people": shown.whole(bar.people), "past": bar.past} for bar in bars]


def _may_add_up(beyond: int | None, total: int, shown: Shown) -> bool:
    """Is neither the bars' sum veiled, nor the sum of those past the limit where they are nearly everyone?"""
    everyone = shown.part(total, total)
    nearly = beyond is not None and shown.part(beyond, total) == everyone != total
    return shown.whole(total) == total and not nearly


def _few_joined(bars: Sequence[Bar], finding: Finding, smallest: int) -> list[Bar]:
    """The bars without an edge that only few people's score could have."""
    from leafgate.score_shown import bars_shown

    if smallest == 1 or finding.unit:
        return _small_groups_joined(bars, finding, smallest)
    return bars_shown(bars, finding, smallest)


def _small_groups_joined(bars: Sequence[Bar], finding: Finding, smallest: int) -> list[Bar]:
    """No group size below the smallest cell is told apart from another on the same side of the limit.

    Nor does the outer edge tell how small or large the smallest group is.
    """
    kept: list[Bar] = []
    for bar in bars:
        last = kept[-1] if kept else None
        if last is not None and last.past == bar.past and _small(last, bar, finding.unit, smallest):
            kept[-1] = last.joined(bar)
        else:
            kept.append(bar)
    limit = next(float(value) for key, value in finding.limit.items() if key.startswith("at_"))
    if finding.unit == "people":
        return [_no_small_edge(bar, limit, smallest) for bar in kept]
    if finding.unit == "one over people":
        return [_no_large_edge(bar, limit, 1 / smallest) for bar in kept]
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


def _small(low: Bar, high: Bar, unit: str, smallest: int) -> bool:
    if unit == "people":
        return (high.low or 0) < smallest
    return unit == "one over people" and (low.high or math.inf) > 1 / smallest


def guesses_told(report: Report, shown: Shown, audience: Audience) -> list[dict[str, Any]]:
    """How often each attack's best guess is right, and how often the commonest value is, as shares of the people.

    The public sees them where the release tells as much, and so coarse that fewer people than the smallest cell cannot
    move them by a step.
    """
    public = audience == "public"
    made = []
    for guess in report.guesses:
        step = shown.smallest / guess.people
        if public and (guess.private or (step > COARSEST and shown.smallest > 1)):
            continue
        shares = {"right": guess.right / guess.people, "commonest": guess.commonest / guess.people}
        exact = {name: round(share, 6) for name, share in shares.items()}
        rounded = {name: coarse(share, step) for name, share in shares.items()} if shown.smallest > 1 else exact
        made.append({"attack": guess.attack, "secret": guess.secret, **rounded})
    return made


def tree_told(report: Report, shown: Shown, audience: Audience) -> dict[str, Any] | None:
    """The tree to draw: coloured by risk where the audience may know in which leaves it is, else by its shape alone."""
    view = report.tree
    if view is None:
        return None
    coloured = audience == "auditor" or _may_be_coloured(report)
    nodes = [told(node, shown, audience) for node in (view.coloured if coloured else view.plain)]
    if audience == "public":  # a leaf that nobody reaches is nobody's business either
        nodes = [node | ({"risk": "within"} if node.get("risk") == "nobody" else {}) for node in nodes]
    return {"trees": view.trees, "number": view.number, "coloured": coloured, "nodes": nodes}


def _may_be_coloured(report: Report) -> bool:
    """May the public know which leaves hold people past a limit? Only that none does: that limits hold says as much.

    Whoever has the tree could look another leaf up: it may be published in spite of all, by a waiver or other limits.
    Where a limit allows for some people past it, nobody may know whether there are any.
    """
    judged = [finding for finding in report.findings if finding.attack is not None]
    safe = all(finding.passed and not finding.limit.get("allow") for finding in judged)
    return safe and not report.differentially_private
