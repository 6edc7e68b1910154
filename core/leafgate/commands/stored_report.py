"""A stored report as commands read it to write documents for people, and where such a document may go."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from leafgate.console.output import print_document, say
from leafgate.disclosure.stored import parse_report, report_bytes
from leafgate.errors import InvalidError
from leafgate.io.files import EVERYONE, OWNER_ONLY, clear_file, write_file
from leafgate.io.json import JsonDocument
from leafgate.session.expected_run import ExpectedRun


@dataclass(frozen=True, kw_only=True)
class StoredReport:
    """A report, its waivers judged again, and the digest of its file."""

    document: JsonDocument
    sha256: str

    @property
    def for_auditors(self) -> bool:
        return bool(self.document["audience"] == "auditor")


def open_report(path: Path, expected: ExpectedRun) -> StoredReport:
    """The report in a file; a line on stderr says which waivers are over.

    Raises:
        ReportError: the file is no report.
        InvalidError: the report is of another run than the expected one.
    """
    content = report_bytes(path)
    document, lapsed = expected.judged(parse_report(content, str(path)), path)
    for line in lapsed:
        say(f"leafgate: {line}", err=True)
    return StoredReport(document=document, sha256=hashlib.sha256(content).hexdigest())


def clear_output(out: Path | None, given: Iterable[Path | str | None]) -> None:
    """Delete an older document; OutputError where it is one of the files that were given."""
    if out is not None:
        clear_file(out, [Path(each) for each in given if each is not None])


def write_document(content: bytes, report: StoredReport, out: Path | None) -> None:
    """Write what was made from a report. Of an auditor's report it goes to a file for its owner only."""
    if out is not None:
        write_file(out, content, OWNER_ONLY if report.for_auditors else EVERYONE)
        return
    if report.for_auditors:
        message = "an auditor's report goes to a file, not to stdout"
        raise InvalidError(message, place="--out", remedy="add --out FILE")
    print_document(content)
