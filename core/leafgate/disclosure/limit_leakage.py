"""Limits whose verdict discloses more than the numbers of a public report, such as the size of a small group.

A report always states whether a limit holds, and exactly. Where the number itself is masked, the verdict narrows it:
"fewer than 10 people, and not fewer than 9" is 9 people. Nothing can be masked then without masking the verdict, so the
report says it in a note.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leafgate.disclosure.intervals import range_of, share_range
from leafgate.disclosure.limit_query import NARROW, SMALL, TEST, LimitQuery
from leafgate.disclosure.schema import FewerThan, FindingDocument, MaskedScore, MoreThan
from leafgate.types.report import Finding, Limit, Report


def leakage_notes(report: Report, published: Sequence[FindingDocument]) -> list[str]:
    """Notes of a public report on limits and waived limits whose verdict discloses more than what is `published`."""
    limits = [
        (finding, finding.limit, public)
        for finding, public in zip(report.findings, published, strict=True)
        if finding.limit is not None
    ]
    queries = [(_query(finding, limit), public) for finding, limit, public in limits if finding.passed is not None]
    by_id = {finding.id: (finding, limit, public) for finding, limit, public in limits}
    for waiver in report.waivers:
        if waiver.get("limit") and waiver["finding"] in by_id:
            finding, limit, public = by_id[waiver["finding"]]
            weaker = Limit.from_document(limit.document() | waiver["limit"])
            queries.append((_query(finding, weaker), public))
    notes = (_note(query, public, report.smallest_cell) for query, public in queries)
    return list(dict.fromkeys(f"{note[0].upper()}{note[1:]}." for note in notes if note))


def _query(finding: Finding, limit: Limit) -> LimitQuery:
    return LimitQuery(finding.metric, finding.unit, limit, finding.sensitivity)


def _note(query: LimitQuery, public: FindingDocument, cell: int) -> str:
    if public.value is None and query.sensitivity * cell > 1:
        return query.describe(TEST, cell)
    if query.small(cell) and (public.value is None or _is_below_cell(public.value)):
        return query.describe(SMALL, cell)
    return query.describe(NARROW, cell) if _narrows(query, public) else ""


def _narrows(query: LimitQuery, public: FindingDocument) -> bool:
    """Does the verdict narrow a number of few people, which its masked value leaves open?

    A number from the smallest cell up may be narrowed: it might be published.
    """
    if not query.limit.average and _is_below_cell(public.value) and query.people != 1:
        result = range_of(public.value)
        if result is not None and isinstance(public.value, FewerThan):  # a masked count is positive
            whole = isinstance(public.value.fewer_than, int)
            result = replace(result, low=1 if whole else 0, above=not whole)
        if result is not None and result.holds(query.limit.direction, query.limit.bound) is None:
            return True
    allowed = query.limit.allow
    beyond = share_range(public.beyond, public.people) if allowed and _is_below_cell(public.beyond) else None
    return beyond is not None and beyond.holds("at_most", allowed) is None


def _is_below_cell(value: MaskedScore | None) -> bool:
    """Is it the masked number of fewer people than the smallest cell, or one over it?"""
    return isinstance(value, FewerThan | MoreThan)
