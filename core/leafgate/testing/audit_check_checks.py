"""The checks of audit checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from leafgate.disclosure.document import document
from leafgate.engine.checks import finding_of
from leafgate.kernel.findings import Report
from leafgate.testing.check import NonConformance
from leafgate.testing.common_checks import COMMON_CHECKS
from leafgate.testing.sandbox import cells, refuse_cells
from leafgate.testing.subjects import CheckSubject


def finds(subject: CheckSubject) -> None:
    """On every release of the kit it returns findings that a report can hold, and prints nothing."""
    for _, scenario in subject.instances():
        subject.run(subject.open(scenario))


def fires(subject: CheckSubject) -> None:
    """It has something against a release of the kit or of the caller: else nothing is known of its findings."""
    if not any(findings for _, _, findings in subject.accepted):
        raise NonConformance(
            "it has nothing against any release that it is tried on, so that none of its findings was ever looked at",
            "give a release that it objects to: conformance(..., on=[Scenario(name, table, release)])",
        )


def states_its_meaning(subject: CheckSubject) -> None:
    """`plain_failure` is a clause: without it the registry refuses the class, and with a full stop sentences break."""
    clause = subject.component.plain_failure
    if not clause.strip() or clause != clause.strip() or clause.endswith("."):
        raise NonConformance(
            f"its `plain_failure` is {clause!r}, which is no clause",
            'write a clause without a full stop: "the release names a column that the organisation forbids"',
        )


def leaks_no_record(subject: CheckSubject) -> None:
    """A public report on its findings holds nothing of a row."""
    remedy = "wrap in AuditorOnly what is about somebody, and leave cells out of `problem`"
    for _, scenario, findings in subject.accepted:
        kind = type(subject.component)
        report = Report(
            policy={"name": "kit", "sha256": "0" * 64},
            data={},
            release=None,
            findings=[finding_of(kind, "kit 1.0", each) for each in findings],
            versions={},
        )
        public = document(report, "public")["findings"]
        refuse_cells(public, cells(scenario.world().table), subject.component.model_dump(), remedy)


AUDIT_CHECK_CHECKS: Mapping[str, Callable[[CheckSubject], None]] = {
    "finds": finds,
    "fires": fires,
    **COMMON_CHECKS,
    "states_its_meaning": states_its_meaning,
    "tells_nobody": leaks_no_record,
}
