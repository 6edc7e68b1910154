"""Every public report that a test makes is attacked with a pencil: no small number may follow from those it shows."""

from typing import Any

import leafgate.disclosure
from leafgate.report import Report
from leafgate.shown import Audience
from subtraction import given_away, near_counts

_document = leafgate.disclosure.document


def _attacked(report: Report, audience: Audience) -> dict[str, Any]:
    told = _document(report, audience)
    if audience == "public" and report.smallest_cell > 2:  # fewer than 2 is 1
        found = [*given_away(told, report.smallest_cell), *near_counts(told, report.smallest_cell)]
        assert not found, f"a public report gives away: {found}"
    return told


leafgate.disclosure.document = _attacked  # before any test module imports it
