"""What a report's pictures are drawn from, as its audience may see it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leafgate.disclosure.masking import COARSEST, Audience, CountMask, redact, round_coarsely
from leafgate.types.report import Report


def distributions(report: Report, mask: CountMask, audience: Audience) -> Iterator[list[dict[str, Any]]]:
    """For each finding the people at each score, from low to high; empty where that may not be told.

    For the public bars are joined until neither they nor any sum or difference of what the report tells
    counts fewer people than the smallest cell.
    """
    from leafgate.disclosure.histograms import distribution, suppress_secondary, suppress_small_bins

    public = audience == "public"
    for finding in report.findings:
        hidden = public and (finding.private or report.differentially_private)
        bars = () if hidden else distribution(finding)
        if public and bars:
            total = sum(bar.people for bar in bars)
            bars = bars if _may_add_up(finding.violations, total, mask) else ()
            bars = suppress_secondary(suppress_small_bins(bars, finding, mask.smallest), mask.smallest) if bars else ()
        yield [
            {"from": bar.low, "to": bar.high, "people": mask.total_count(bar.people), "past": bar.past}
            for bar in bars
            if (bar.low, bar.high) != (None, None)  # everybody, somewhere
        ]


def _may_add_up(beyond: int | None, total: int, shown: CountMask) -> bool:
    """Is neither the bars' sum veiled, nor the sum of those past the limit where they are nearly everyone?"""
    everyone = shown.part(total, total)
    nearly = beyond is not None and shown.part(beyond, total) == everyone != total
    return shown.total_count(total) == total and not nearly


def accuracies_shown(report: Report, mask: CountMask, audience: Audience) -> list[dict[str, Any]]:
    """How often each attack's best guess is right, and how often the commonest value is, as shares of the people.

    The public sees them where the release tells as much, and so coarse that fewer people than the smallest cell cannot
    move them by a step.
    """
    public = audience == "public"
    made = []
    for guess in report.guesses:
        step = mask.smallest / guess.people
        if public and (guess.private or (step > COARSEST and mask.smallest > 1)):
            continue
        shares = {"right": guess.correct / guess.people, "commonest": guess.majority_baseline / guess.people}
        exact = {name: round(share, 6) for name, share in shares.items()}
        rounded = {name: round_coarsely(share, step) for name, share in shares.items()} if mask.smallest > 1 else exact
        made.append({"attack": guess.attack, "secret": guess.secret, **rounded})
    return made


def tree_figure(report: Report, mask: CountMask, audience: Audience) -> dict[str, Any] | None:
    """The tree to draw: coloured by risk where the audience may know in which leaves it is, else by its shape alone."""
    view = report.tree
    if view is None:
        return None
    coloured = audience == "auditor" or _may_be_coloured(report)
    nodes = [redact(node, mask, audience) for node in (view.coloured if coloured else view.plain)]
    if audience == "public":  # a leaf that nobody reaches is nobody's business either
        nodes = [node | ({"risk": "within"} if node.get("risk") == "nobody" else {}) for node in nodes]
    return {"trees": view.trees, "number": view.number, "coloured": coloured, "nodes": nodes}


def _may_be_coloured(report: Report) -> bool:
    """May the public know which leaves hold people past a limit? Only that none does: that limits hold says as much.

    Whoever has the tree could look another leaf up: it may be published in spite of all, by a waiver or other limits.
    Where a limit allows for some people past it, nobody may know whether there are any.
    """
    judged = [finding for finding in report.findings if finding.attack is not None]
    safe = all(finding.passed and not (finding.limit and finding.limit.allow) for finding in judged)
    return safe and not report.differentially_private
