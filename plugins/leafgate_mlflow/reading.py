"""Reading the report of an audit, if everybody may see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leafgate.errors import InvalidError
from leafgate.expected_run import ExpectedRun
from leafgate.report import EXIT_CODES, Verdict
from leafgate.report_file import parse_report
from leafgate.views.telling import clean

REPORT = "report.json"
ANY_RUN = ExpectedRun()


@dataclass(frozen=True)
class PublicReport:
    """A report for the public: its text as it was read, what a run is tagged with, and a line a waiver that is over.

    The tags and the exit code are those of the report with its waivers judged again.
    """

    text: str
    tags: Mapping[str, str]
    exit_code: int
    lapsed_waivers: Sequence[str] = ()


def read_public(folder: Path, expected: ExpectedRun = ANY_RUN) -> PublicReport:
    """The report in the folder of an audit; InvalidError where it is none, of another run, or for auditors only."""
    path = folder / REPORT
    try:
        content = path.read_bytes()
    except OSError as error:
        remedy = "name the folder given to `leafgate audit --out`"
        raise InvalidError(f"cannot be read: {error.strerror}", place=str(path), remedy=remedy) from None
    stored = parse_report(content, str(path))
    if stored["audience"] != "public":
        raise InvalidError(
            "is for auditors only, and whoever may read the run could read it",
            place=str(path),
            remedy="audit again without --audience auditor",
        )
    report, lapsed = expected.judged(stored, path)
    verdict: Verdict = report["verdict"]
    return PublicReport(content.decode(), _tags(report), EXIT_CODES[verdict], lapsed)


def _tags(report: Mapping[str, Any]) -> dict[str, str]:
    """What a gate or a search asks for; the release is left out where none was built."""
    policy, release = report["policy"], report["release"] or {}
    file = release.get("file", {})
    tags = {f"leafgate.file_{key}": clean(file[key]) for key in ("name", "format", "sha256") if file}
    tags |= {
        "leafgate.verdict": report["verdict"],
        "leafgate.waived": str(report["waived"]),
        "leafgate.policy": policy["name"],
        "leafgate.policy_sha256": policy["sha256"],
    }
    tags |= {"leafgate.release_sha256": release["sha256"]} if release else {}
    return tags | ({"leafgate.judged_on": report["judged_on"]} if report.get("judged_on") else {})
