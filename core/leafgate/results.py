"""The files an audit leaves: what was published, what was found, how long it took."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from leafgate.errors import ReportError
from leafgate.files import EVERYONE, write_files
from leafgate.origins_file import origins_document
from leafgate.strict_json import parse_json, readable
from leafgate.views import FILES, Format, view

if TYPE_CHECKING:
    from leafgate.auditing import Audit
    from leafgate.shown import Audience

RELEASE = "release.json"
VERDICTS = ("report.json", *FILES.values())
"""The report, in every format it may stand in."""
RESULTS = (RELEASE, "timings.json", "trail.json", "origins.json", *VERDICTS)


def write_results(audit: Audit, audience: Audience, folder: Path, formats: Collection[Format] = ()) -> None:
    """Leave an audit's files in a folder: release.json, report.json, timings.json, and the report in other formats.

    An auditor's report is for its owner's eyes only, and so is a release that did not pass. Auditors also
    receive trail.json, where the builder kept one, and origins.json, which says whose the published records are.
    """
    private = set(RESULTS) - {RELEASE, "timings.json"} if audience == "auditor" else set()
    private |= {"release.json"} if audit.report.verdict != "pass" else set()
    write_files(folder, _results(audit, audience, formats), EVERYONE, private)


def _results(audit: Audit, audience: Audience, formats: Collection[Format]) -> Mapping[str, bytes]:
    from leafgate.disclosure import document

    timings = {"format": "leafgate/timings/1", "seconds": {k: round(v, 6) for k, v in audit.seconds.items()}}
    report = document(audit.report, audience)
    files = {"report.json": readable(report), "timings.json": readable(timings)}
    files |= {FILES[form]: view(parse_json(files["report.json"], ReportError, "report"), form) for form in formats}
    if audit.sealed is None:
        return files
    if audience == "auditor" and audit.sealed.trail:
        trail = {"format": "leafgate/trail/1", "release": audit.sealed.sha256, "steps": list(audit.sealed.trail)}
        files["trail.json"] = readable(trail)
    if audience == "auditor" and audit.sealed.origins is not None:
        files["origins.json"] = origins_document(audit.sealed)
    return {"release.json": audit.sealed.content, **files}
