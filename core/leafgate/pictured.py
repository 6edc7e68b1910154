"""What a report's pictures are drawn from, as its audience may see it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from leafgate.report import Finding, Report
from leafgate.shown import COARSEST, Audience, Shown, coarse, pool, told

if TYPE_CHECKING:
    from leafgate.distribution import Bar


def distributions(report: Report, shown: Shown, audience: Audience) -> Iterator[list[dict[str, Any]]]:
    """For each finding the people at each score, from low to high; empty where that may not be told.

    For the public bars are joined until neither they nor any sum or difference of what the report tells
    counts fewer people than the smallest cell.
    """
    from leafgate.distribution import distribution
    from leafgate.veiling import counts_told, veiled

    public = audience == "public"
    known = pool(report, shown.smallest)
    for finding in report.findings:
        hidden = public and (finding.private or report.differentially_private)
        bars = () if hidden else distribution(finding)
        if public and bars:
            total = sum(bar.people for bar in bars)
            bars = bars if _may_add_up(finding.beyond, total, shown) else ()
            joined = _small_groups_joined(bars, finding, shown.smallest) if bars else []
            bars = veiled(joined, shown.smallest, known)
            known = known | {count for count, _ in counts_told(bars)}
        yield [{"from": bar.low, "to": bar.high, "people": bar.people, "past": bar.past} for bar in bars]


def _may_add_up(beyond: int | None, total: int, shown: Shown) -> bool:
    """Is neither the bars' sum veiled, nor the sum of those past the limit where they are everyone?"""
    return shown.count(total) == total and (beyond != total or shown.part(total, total) == total)


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
    if finding.unit == "people" and (kept[0].low or 0) < smallest:
        kept[0] = replace(kept[0], low=limit if kept[0].past is False else 1.0)
    if finding.unit == "one over people" and (kept[-1].high or math.inf) > 1 / smallest:
        kept[-1] = replace(kept[-1], high=limit if kept[-1].past is False else 1.0)
    return kept


def _small(low: Bar, high: Bar, unit: str, smallest: int) -> bool:
    if unit == "people":
        return (high.low or 0) < smallest
    return unit == "one over people" and (low.high or math.inf) > 1 / smallest


def guesses_told(report: Report, shown: Shown) -> list[dict[str, Any]]:
    """How often each attack's best guess is right, and how often the commonest value is, as shares of the people.

    The public sees them where the release tells as much, and so coarse that fewer people than the smallest cell cannot
    move them by a step.
    """
    public = shown.smallest > 1
    made = []
    for guess in report.guesses:
        step = shown.smallest / guess.people
        if public and (guess.private or step > COARSEST):
            continue
        shares = {"right": guess.right / guess.people, "commonest": guess.commonest / guess.people}
        exact = {name: round(share, 6) for name, share in shares.items()}
        rounded = {name: coarse(share, step) for name, share in shares.items()} if public else exact
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
    """May the public know which leaves hold people past a limit? Only that none surely does, or if no number is small.

    Whoever has the tree could look the leaf up: it may be published in spite of all, by a waiver or other limits.
    """
    view = report.tree
    if view is None or report.differentially_private:
        return False
    told = all(finding.passed is not None for finding in report.findings if finding.attack is not None)
    return (not view.leaves_past and told) or report.smallest_cell == 1
