"""Every public report that a test makes is attacked with a pencil: no small number may follow from those it shows.

Side by side, tests stay with their neighbours, with whom they share what was made once.
"""

from typing import Any

import pytest

import leafgate.disclosure.document
from leafgate.disclosure.masking import Audience
from leafgate.types.report import Report
from subtraction import exact_counts, given_away

_document = leafgate.disclosure.document.document


def _attacked(report: Report, audience: Audience) -> dict[str, Any]:
    result = _document(report, audience)
    if audience == "public" and report.smallest_cell > 2:  # fewer than 2 is 1
        found = [*given_away(result, report.smallest_cell), *exact_counts(result)]
        assert not found, f"a public report gives away: {found}"
    return result


leafgate.disclosure.document.document = _attacked  # before any test module imports it


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `-n`, no word on `--dist`: each takes a part of the list, and who is done takes from the others' ends."""
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling  # type: ignore[import-untyped]

    return WorkStealingScheduling(config, log)
