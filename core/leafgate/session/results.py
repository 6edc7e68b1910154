"""The files that an audit writes: the release, the report in each format, the timings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from leafgate.errors import ReportError
from leafgate.io.files import EVERYONE, write_files
from leafgate.io.json import JsonDocument, parse_json, readable
from leafgate.io.locks import claimed_folder
from leafgate.session.report_formats import render
from leafgate.session.stale_results import RELEASE, REPORT, RESULTS, TIMINGS, WRITTEN_FORMATS

if TYPE_CHECKING:
    from leafgate.api.registry import OfferedFormat
    from leafgate.disclosure.masking import Audience
    from leafgate.engine.audit import Audit


def write_results(audit: Audit, audience: Audience, folder: Path, formats: Collection[OfferedFormat] = ()) -> None:
    """Write release.json, report.json, timings.json and the report in other formats into a folder.

    Only their owner can read an auditor's report and a release that did not pass. Auditors also receive trail.json,
    where the builder recorded one, and origins.json, which names the person behind each published record.

    Raises:
        ReportFormatError: a format failed; then nothing is written.
        OutputError: another audit writes into the folder.
    """
    reports = {each.format.filename for each in formats}
    private = (RESULTS | reports) - {RELEASE, TIMINGS} if audience == "auditor" else frozenset()
    private |= {RELEASE} if audit.report.verdict != "pass" else set()
    contents = _results(audit, audience, formats)
    with claimed_folder(folder):
        write_files(folder, contents, EVERYONE, private)


def _results(audit: Audit, audience: Audience, formats: Collection[OfferedFormat]) -> Mapping[str, bytes]:
    """The files in the order in which they take their names: the report last, so that no report exists without them."""
    from leafgate.disclosure.document import document
    from leafgate.models.origins import origins_document

    seconds = {step: round(value, 6) for step, value in audit.seconds.items()}
    timings: JsonDocument = {"format": "leafgate/timings/1", "seconds": seconds}
    if formats:
        timings[WRITTEN_FORMATS] = sorted(each.format.filename for each in formats)
    report = readable(document(audit.report, audience))
    files = {} if audit.artifact is None else {RELEASE: audit.artifact.content}
    files |= {TIMINGS: readable(timings)}
    if audit.artifact is not None and audience == "auditor" and audit.artifact.trail:
        trail = {"format": "leafgate/trail/1", "release": audit.artifact.sha256, "steps": list(audit.artifact.trail)}
        files["trail.json"] = readable(trail)
    if audit.artifact is not None and audience == "auditor" and audit.artifact.origins is not None:
        files["origins.json"] = origins_document(audit.artifact)
    if formats:
        stored = parse_json(report, ReportError, "report")
        files |= {each.format.filename: render(each, stored) for each in formats}
    return files | {REPORT: report}
