"""The files that an audit writes: the release, the report in each format, the timings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from leafgate.errors import ReportError
from leafgate.io.files import EVERYONE, write_files
from leafgate.io.json import parse_json, readable
from leafgate.reports import FILES, Format, view
from leafgate.session.stale_results import RELEASE, REPORT, RESULTS

if TYPE_CHECKING:
    from leafgate.disclosure.masking import Audience
    from leafgate.engine.audit import Audit


def write_results(audit: Audit, audience: Audience, folder: Path, formats: Collection[Format] = ()) -> None:
    """Write release.json, report.json, timings.json and the report in other formats into a folder.

    Only their owner can read an auditor's report and a release that did not pass. Auditors also receive trail.json,
    where the builder recorded one, and origins.json, which names the person behind each published record.
    """
    private = RESULTS - {RELEASE, "timings.json"} if audience == "auditor" else frozenset()
    private |= {RELEASE} if audit.report.verdict != "pass" else set()
    write_files(folder, _results(audit, audience, formats), EVERYONE, private)


def _results(audit: Audit, audience: Audience, formats: Collection[Format]) -> Mapping[str, bytes]:
    """The files in the order in which they take their names: the report last, so that no report exists without them."""
    from leafgate.disclosure.document import document
    from leafgate.models.origins import origins_document

    timings = {"format": "leafgate/timings/1", "seconds": {k: round(v, 6) for k, v in audit.seconds.items()}}
    report = readable(document(audit.report, audience))
    files = {} if audit.artifact is None else {RELEASE: audit.artifact.content}
    files |= {"timings.json": readable(timings)}
    if audit.artifact is not None and audience == "auditor" and audit.artifact.trail:
        trail = {"format": "leafgate/trail/1", "release": audit.artifact.sha256, "steps": list(audit.artifact.trail)}
        files["trail.json"] = readable(trail)
    if audit.artifact is not None and audience == "auditor" and audit.artifact.origins is not None:
        files["origins.json"] = origins_document(audit.artifact)
    files |= {FILES[form]: view(parse_json(report, ReportError, "report"), form) for form in formats}
    return files | {REPORT: report}
