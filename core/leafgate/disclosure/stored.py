"""Stored reports, read strictly: a report with an unknown key, or one that contradicts itself, is refused."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from leafgate.disclosure.intervals import range_of_value, share_range
from leafgate.disclosure.schema import ReportDocument, WaiverDocument
from leafgate.errors import Problem, ReportError, plain
from leafgate.io.files import read_bounded
from leafgate.io.json import JsonDocument, JsonObject, canonical, parse_json
from leafgate.io.release_codec import FORMAT as RELEASE_FORMAT
from leafgate.kernel.findings import CHECK_PREFIX, Direction
from leafgate.kernel.paths import format_path
from leafgate.kernel.waivers import MOST_DAYS

MAX_BYTES = 64 * 1024 * 1024
MESSAGES = {
    "extra_forbidden": "has a key that this version does not know",
    "missing": "lacks something",
}
"""Messages by pydantic's types of errors; others keep pydantic's message."""


def read_report(path: Path) -> JsonDocument:
    """The report in a file.

    Raises:
        ReportError: the file is no report, or contradicts itself; the error lists every problem and quotes no content.
    """
    return parse_report(report_bytes(path), str(path))


def report_bytes(path: Path) -> bytes:
    """The bytes of a stored report or sweep; ReportError where it cannot be read, or is too large."""
    content = read_bounded(path, MAX_BYTES, ReportError, str(path))
    if len(content) > MAX_BYTES:
        raise ReportError(f"is larger than {MAX_BYTES // 1024**2} MB", place=str(path))
    return content


def parse_report(content: bytes, place: str) -> JsonDocument:
    """The report in these bytes, as `read_report` reads it; `place` is its name in errors."""
    result = parse_json(content, ReportError, place)
    if not isinstance(result, dict) or result.get("format") != "leafgate/report/1":
        raise ReportError("is no report", place=place, remedy="name the report.json of an audit")
    try:
        ReportDocument.model_validate_json(canonical(result))
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False, include_context=False)
        problems = dict.fromkeys(Problem(_place(place, result, each), _message(each)) for each in errors)
        raise ReportError.listing(problems) from None
    if problems := dict.fromkeys(contradictions(result, place)):
        raise ReportError.listing(problems)
    return result


def _place(file: str, document: object, error: ErrorDetails) -> str:
    """The file and the path in it, as far as the document has it: pydantic's paths contain names of models as well."""
    path: list[str | int] = []
    for part in error["loc"][: -1 if error["type"] in MESSAGES else None]:
        children = dict(enumerate(document)) if isinstance(document, list) else document
        if not isinstance(children, dict) or part not in children:
            break
        document = children[part]
        path.append(part)
    return f"{file}: {format_path(tuple(path))}" if path else file


def _message(error: ErrorDetails) -> str:
    if error["type"] == "missing":
        return f"has no {error['loc'][-1]!r}"
    return MESSAGES.get(error["type"], plain(error["msg"]))


def contradictions(report: JsonObject, file: str) -> Iterator[Problem]:
    """The places where a report contradicts itself, or is for the public and discloses what only auditors may see.

    Args:
        report: a report of the right form (`ReportDocument`).
        file: its name in errors.
    """
    ids = [finding["id"] for finding in report["findings"]]
    for i, finding in enumerate(report["findings"]):
        place = f"{file}: findings[{i}]"
        if finding["id"] in ids[:i]:
            yield Problem(place, "has the id of another finding")
        if finding["passed"] and _breaks_limit(finding, report["audience"]):
            yield Problem(place, "passes, and its own numbers break the limit")
        if "waiver" in finding:
            yield from _waiver_contradictions(finding, report, place)
    applied = [waiver["finding"] for waiver in report.get("waivers", ()) if waiver["status"] == "applied"]
    if sorted(applied) != sorted(finding["id"] for finding in report["findings"] if "waiver" in finding):
        yield Problem(f"{file}: waivers", "are not those that its findings have")
    yield from _file_contradictions(report, file)
    if report["audience"] == "public":
        yield from _auditor_facts(report, file)


def _breaks_limit(finding: JsonObject, audience: str) -> bool:
    """Do the published numbers imply that the limit is broken? Averages in public reports are rounded too coarsely."""
    limit = finding["limit"]
    direction: Direction | None = "at_least" if "at_least" in limit else "at_most" if "at_most" in limit else None
    average, allow = limit.get("average", False), limit.get("allow", 0.0)
    if direction is None or (average and audience == "public"):
        return False
    beyond = None if average else share_range(finding["beyond"], finding["people"])
    if beyond is not None and beyond.low > allow:
        return True
    value = None if allow else range_of_value(finding)
    unbounded = bool(finding["evidence"].get("unbounded")) and not allow
    return unbounded or (value is not None and value.holds(direction, limit[direction]) is False)


def _waiver_contradictions(finding: JsonObject, report: JsonObject, place: str) -> Iterator[Problem]:
    """What is wrong with the waiver on a finding."""
    waiver = finding["waiver"]
    of_check = not finding["metric"] and finding["id"].startswith(CHECK_PREFIX)
    of_limit = finding["metric"] and finding["limit"] and not finding["id"].startswith("guarantee:")
    if not (of_check or of_limit):
        yield Problem(place, "is waived, and is no limit of the policy or finding of a check")
    days = (date.fromisoformat(waiver["expires"]) - date.fromisoformat(waiver["issued"])).days
    if days > MOST_DAYS:
        yield Problem(f"{place}.waiver", f"lasts longer than {MOST_DAYS} days, which no policy allows")
    if not waiver["issued"] <= report.get("judged_on", "") <= waiver["expires"]:
        yield Problem(f"{place}.waiver", "does not hold on the day the report was judged on")
    waivers = report.get("waivers", ())
    applied = [each for each in waivers if (each["status"], each["finding"]) == ("applied", finding["id"])]
    if [{key: each[key] for key in WaiverDocument.model_fields} for each in applied] != [waiver]:
        yield Problem(f"{place}.waiver", "is not the one that the report's `waivers` say applies")
    if report["verdict"] == "pass" and not all(_is_of_the_release(each, report["release"] or {}) for each in applied):
        yield Problem(f"{place}.waiver", "is for another release")


def _is_of_the_release(waiver: JsonObject, release: JsonObject) -> bool:
    """Does the waiver name the digest of this release, or of the file it was read from?"""
    if "file" in waiver:
        return bool(waiver["file"] == release.get("file", {}).get("sha256"))
    return bool(waiver["release"] == release.get("sha256"))


def _file_contradictions(report: JsonObject, place: str) -> Iterator[Problem]:
    """Digests of the audited file that differ: of a release file and its release, of a model file and its finding."""
    release = report.get("release") or {}
    if "file" not in release:
        return
    file = release["file"]
    if file["format"] == RELEASE_FORMAT:
        if file["sha256"] != release["sha256"]:
            yield Problem(f"{place}: release.file", "is a release file, and its digest is not the release's")
        return
    for i, finding in enumerate(report["findings"]):
        if finding["id"] == "published_file" and finding["evidence"].get("file", file["sha256"]) != file["sha256"]:
            yield Problem(f"{place}: findings[{i}].evidence", "is about another file than the release was read from")


def _auditor_facts(report: JsonObject, file: str) -> Iterator[Problem]:
    """Facts for auditors only, in a report for the public."""
    for i, finding in enumerate(report["findings"]):
        if any({"path", "true"} & set(group) for group in finding["evidence"].get("worst", ())):
            yield Problem(f"{file}: findings[{i}].evidence", "has what only auditors may see, and says it is public")
        if any("details" in remedy for remedy in finding.get("remedies", ())):
            yield Problem(f"{file}: findings[{i}].remedies", "has what only auditors may see, and says it is public")
    for i, node in enumerate((report.get("tree") or {"nodes": ()})["nodes"]):
        if {"people", "past", "beliefs"} & set(node):
            yield Problem(f"{file}: tree.nodes[{i}]", "has what only auditors may see, and says it is public")
