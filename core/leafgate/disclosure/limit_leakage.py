"""Limits whose verdict discloses more than the numbers of a public report, such as the size of a small group.

A report always states whether a limit holds, and exactly. Where the number itself is masked, the verdict narrows it:
"fewer than 10 people, and not fewer than 9" is 9 people. Nothing can be masked then without masking the verdict, so the
report says it in a note.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leafgate.disclosure.intervals import Range, range_of, share_range
from leafgate.disclosure.limit_query import NARROW, SMALL, TEST, LimitQuery
from leafgate.disclosure.schema import FindingDocument
from leafgate.io.evidence import Count, FewerThan, FromTo, MaskedScore, MoreThan
from leafgate.kernel.findings import Finding, Limit, Report, Unit


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
    return LimitQuery(finding.metric, finding.unit, limit, finding.masking.sensitivity)


def _note(query: LimitQuery, public: FindingDocument, cell: int) -> str:
    if public.value is None and query.sensitivity * cell > 1:
        return query.describe(TEST, cell)
    if query.small(cell) and (public.value is None or _is_below_cell(public.value)):
        return query.describe(SMALL, cell)
    return query.describe(NARROW, cell) if _narrows(query, public, cell) else ""


def _narrows(query: LimitQuery, public: FindingDocument, cell: int) -> bool:
    """Does the verdict narrow a number of few people, which the published numbers leave open?

    A number from the smallest cell up may be narrowed: it might be published. A suppressed number may be any.
    """
    limit, value, people = query.limit, public.value, range_of(public.people)
    if limit.allow:
        allowed = Limit("at_most", limit.allow)
        if _splits_few(allowed, public.beyond, share_range(public.beyond, public.people), people, cell):
            return True
    if query.unit == Unit.SHARE and (limit.average or limit.scored is None):
        return _splits_few(limit, value, range_of(value), people, cell)
    if value is None and limit.average and query.unit == Unit.PEOPLE:
        value = FewerThan(fewer_than=cell)
    result = range_of(value) if _is_below_cell(value) and query.people != 1 else None
    if result is not None and isinstance(value, FewerThan):  # a group has at least one person
        result = replace(result, low=1)
    return result is not None and result.holds(limit.direction, limit.bound) is None


def _splits_few(
    limit: Limit, part: Count | MaskedScore | None, share: Range | None, people: Range | None, cell: int
) -> bool:
    """Do some numbers of few people keep a limit on their share of all people, and others not?

    Few people are 1 to `cell` - 1, or all people but so many: the number of the others is masked as well.

    Args:
        limit: on the share.
        part: the number of people, or their share, as published; None where it is suppressed.
        share: the range of their share.
        people: the range of the number of all people; None where it is suppressed, so that no share is a number.
        cell: the smallest cell.
    """
    if people is None:
        return False
    least, most = 1 / people.high, (cell - 1) / max(people.low, 1)
    few = [(least, most)] if part is None or isinstance(part, FewerThan) else []
    if part is None:
        few.append((1 - most, 1 - least))
    elif isinstance(part, FromTo) and share is not None and share.high >= 1:
        few.append((max(1 - most, round(share.low * people.high) / people.high), 1 - least))
    return any(low < high and limit.is_kept(low) != limit.is_kept(high) for low, high in few)


def _is_below_cell(value: MaskedScore | None) -> bool:
    """Is it the masked number of fewer people than the smallest cell, or one over it?"""
    return isinstance(value, FewerThan | MoreThan)
