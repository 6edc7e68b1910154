"""The content of a report's figures as its audience may see it: histograms, accuracies of attacks, the tree."""

from __future__ import annotations

from collections.abc import Iterator

from leafgate.disclosure.masking import MAX_ROUNDING_BASE, Audience, CountMask, redact_object, round_coarsely
from leafgate.disclosure.schema import AttackAccuracyDocument, BarDocument, NodeDocument, TreeDocument
from leafgate.kernel.findings import Report, VisibleTo


def distributions(report: Report, mask: CountMask, audience: Audience) -> Iterator[tuple[BarDocument, ...]]:
    """For each finding the histogram of people's scores, from low to high; empty where it is suppressed.

    For the public, bars are merged until neither they nor any sum or difference of published numbers counts fewer
    people than the smallest cell.
    """
    from leafgate.disclosure.histograms import distribution, suppress_secondary, suppress_small_bins

    public = audience == "public"
    for finding in report.findings:
        suppressed = public and finding.audience == VisibleTo.AUDITORS
        bars = () if suppressed else distribution(finding)
        if public and bars:
            total = sum(bar.people for bar in bars)
            # the sum is published exactly anyway, and not merged with the number of people outside the limit
            everyone = mask.part(total, total)
            merged = finding.violations is not None and mask.part(finding.violations, total) == everyone != total
            bars = bars if mask.total_count(total) == total and not merged else ()
            bars = suppress_secondary(suppress_small_bins(bars, finding, mask.smallest), mask.smallest) if bars else ()
        yield tuple(
            BarDocument.of({"from": bar.low, "to": bar.high, "people": mask.total_count(bar.people), "past": bar.past})
            for bar in bars
            if (bar.low, bar.high) != (None, None)  # one bar of everybody discloses nothing
        )


def attack_accuracies(report: Report, mask: CountMask, audience: Audience) -> tuple[AttackAccuracyDocument, ...]:
    """For each attack and secret, the share of people for whom its best guess, and the most common value, are right.

    The public gets them where they follow from the release, rounded so coarsely that fewer people than the smallest
    cell cannot move them by a step.
    """
    documents = []
    for guess in report.guesses:
        base = mask.smallest / guess.people
        suppressed = guess.audience == VisibleTo.AUDITORS or (base > MAX_ROUNDING_BASE and mask.smallest > 1)
        if audience == "public" and suppressed:
            continue
        shares = {"right": guess.correct / guess.people, "commonest": guess.majority_baseline / guess.people}
        rounded = {
            name: round_coarsely(share, base) if mask.smallest > 1 else round(share, 6)
            for name, share in shares.items()
        }
        documents.append(AttackAccuracyDocument.of({"attack": guess.attack, "secret": guess.secret, **rounded}))
    return tuple(documents)


def tree_figure(report: Report, mask: CountMask, audience: Audience) -> TreeDocument | None:
    """The tree to draw: coloured by risk where the audience may know which leaves are at risk, else its shape alone."""
    view = report.tree
    if view is None:
        return None
    coloured = audience == "auditor" or _can_publish_risks(report)
    nodes = [redact_object(node, mask, audience) for node in (view.coloured if coloured else view.plain)]
    if audience == "public":  # that nobody reaches a leaf follows from the data
        nodes = [node | ({"risk": "within"} if node.get("risk") == "nobody" else {}) for node in nodes]
    documents = tuple(map(NodeDocument.of, nodes))
    return TreeDocument(trees=view.trees, number=view.number, coloured=coloured, nodes=documents)


def _can_publish_risks(report: Report) -> bool:
    """May the public know which leaves hold people outside a limit? Only where none does, which verdicts disclose too.

    A release can be published although a limit fails, by a waiver or under another policy, and whoever has it can look
    a leaf up. A limit that allows a share of people outside it does not disclose whether there are any.
    """
    judged = [finding for finding in report.findings if finding.attack is not None]
    safe = all(finding.passed and not (finding.limit and finding.limit.allow) for finding in judged)
    return safe and not report.differentially_private
