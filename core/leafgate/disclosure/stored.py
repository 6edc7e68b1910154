"""Stored reports, read back strictly: what is not understood is not shown to anyone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from leafgate.api.plan import MOST_DAYS
from leafgate.disclosure.intervals import Direction, range_of_value, share
from leafgate.disclosure.schema import ReportTold
from leafgate.errors import Problem, ReportError, plain
from leafgate.io.contacts import same_person
from leafgate.io.json import canonical, parse_json
from leafgate.io.release_codec import FORMAT as RELEASE_FORMAT

# --- Stored reports held against themselves: a verdict must follow from the numbers beside it, and a waiver be
#     one ---

WHO = ("id", "owner", "approved_by", "reason", "issued", "expires")


def contradictions(report: Mapping[str, Any], file: str) -> Iterator[Problem]:
    """Every place of a report, sound in its form, that cannot be true as it stands."""
    ids = [finding["id"] for finding in report["findings"]]
    for i, finding in enumerate(report["findings"]):
        place = f"{file}: findings[{i}]"
        if finding["id"] in ids[:i]:
            yield Problem(place, "has the id of another finding")
        if finding["passed"] and _broken(finding, report["audience"]):
            yield Problem(place, "is told to hold, and its own numbers break the limit")
        if "waiver" in finding:
            yield from _untrue_waiver(finding, report, place)
    applied = [waiver["finding"] for waiver in report.get("waivers", ()) if waiver["status"] == "applied"]
    if sorted(applied) != sorted(finding["id"] for finding in report["findings"] if "waiver" in finding):
        yield Problem(f"{file}: waivers", "are not those that its findings have")
    yield from _contradictory_file(report, file)
    if report["audience"] == "public":
        yield from _private(report, file)


def _broken(finding: Mapping[str, Any], audience: str) -> bool:
    """Do the numbers break the limit for sure? Averages are told to the public too coarsely to say."""
    limit = finding["limit"]
    direction: Direction | None = "at_least" if "at_least" in limit else "at_most" if "at_most" in limit else None
    average, allow = limit.get("average", False), limit.get("allow", 0.0)
    if direction is None or (average and audience == "public"):
        return False
    beyond = None if average else share(finding["beyond"], finding["people"])
    if beyond is not None and beyond.low > allow:
        return True
    value = None if allow else range_of_value(finding)
    unbounded = bool(finding["evidence"].get("unbounded")) and not allow
    return unbounded or (value is not None and value.holds(direction, limit[direction]) is False)


def _untrue_waiver(finding: Mapping[str, Any], report: Mapping[str, Any], place: str) -> Iterator[Problem]:
    """What a waiver on a finding cannot be."""
    waiver = finding["waiver"]
    if not finding["metric"] or not finding["limit"] or finding["id"].startswith("guarantee:"):
        yield Problem(place, "is waived, and is no limit of the policy")
    if same_person(waiver["owner"], waiver["approved_by"]):
        yield Problem(f"{place}.waiver", "its owner approves it")
    days = (date.fromisoformat(waiver["expires"]) - date.fromisoformat(waiver["issued"])).days
    if days > MOST_DAYS:
        yield Problem(f"{place}.waiver", f"lasts longer than {MOST_DAYS} days, which no policy allows")
    if not waiver["issued"] <= report.get("judged_on", "") <= waiver["expires"]:
        yield Problem(f"{place}.waiver", "does not hold on the day the report was judged on")
    listed = [one for one in report.get("waivers", ()) if (one["status"], one["finding"]) == ("applied", finding["id"])]
    if [{key: one[key] for key in WHO} for one in listed] != [waiver]:
        yield Problem(f"{place}.waiver", "is not the one that the report's `waivers` say applies")
    if report["verdict"] == "pass" and not all(_is_of_the_release(one, report["release"] or {}) for one in listed):
        yield Problem(f"{place}.waiver", "is for another release")


def _is_of_the_release(waiver: Mapping[str, Any], release: Mapping[str, Any]) -> bool:
    """Does the waiver name the digest of this release, or of the file it was read from?"""
    if "file" in waiver:
        return bool(waiver["file"] == release.get("file", {}).get("sha256"))
    return bool(waiver["release"] == release.get("sha256"))


def _contradictory_file(report: Mapping[str, Any], place: str) -> Iterator[Problem]:
    """The audited file told in two ways: a release file is the release, and a model file is the one a finding names."""
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


def _private(report: Mapping[str, Any], file: str) -> Iterator[Problem]:
    """What only auditors are told, in a report that says it is for the public."""
    for i, finding in enumerate(report["findings"]):
        if any({"path", "true"} & set(group) for group in finding["evidence"].get("worst", ())):
            yield Problem(f"{file}: findings[{i}].evidence", "has what only auditors are told, and says it is public")
    for i, node in enumerate((report.get("tree") or {"nodes": ()})["nodes"]):
        if {"people", "past", "beliefs"} & set(node):
            yield Problem(f"{file}: tree.nodes[{i}]", "has what only auditors are told, and says it is public")


SAID = {
    "extra_forbidden": "has a key that this version does not know",
    "missing": "lacks something",
}
MAX_BYTES = 64 * 1024 * 1024


def read_report(path: Path) -> dict[str, Any]:
    """A stored report as its file has it; ReportError says everything that is wrong with it, and quotes nothing."""
    return parse_report(report_bytes(path), str(path))


def report_bytes(path: Path) -> bytes:
    """The bytes of a stored report or sweep; ReportError where there are none, or too many."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ReportError(f"cannot be read: {error.strerror}", place=str(path)) from None
    if len(content) > MAX_BYTES:
        raise ReportError(f"is larger than {MAX_BYTES // 1024**2} MB", place=str(path))
    return content


def parse_report(content: bytes, place: str) -> dict[str, Any]:
    """The report in these bytes; `place` is what errors call it."""
    result = parse_json(content, ReportError, place)
    if not isinstance(result, dict) or result.get("format") != "leafgate/report/1":
        raise ReportError("is no report", place=place, remedy="name the report.json of an audit")
    try:
        ReportTold.model_validate_json(canonical(result))
    except ValidationError as error:
        wrongs = error.errors(include_url=False, include_input=False, include_context=False)
        problems = dict.fromkeys(Problem(_place(place, result, wrong), _said(wrong)) for wrong in wrongs)
        raise ReportError.listing(problems) from None
    if untrue := list(contradictions(result, place)):
        raise ReportError.listing(untrue)
    return result


def _place(file: str, document: Any, wrong: ErrorDetails) -> str:
    """The file, and where in it: as far as the document goes, without the names of models that were tried."""
    parts, here = "", document
    for part in wrong["loc"][: -1 if wrong["type"] in SAID else None]:
        found = (isinstance(here, dict) and part in here) or (isinstance(here, list) and isinstance(part, int))
        if not found:
            break
        here = here[part]
        parts += f"[{part}]" if isinstance(part, int) else f".{part}"
    return f"{file}: {parts.lstrip('.')}" if parts else file


def _said(wrong: ErrorDetails) -> str:
    if wrong["type"] == "missing":
        return f"has no {wrong['loc'][-1]!r}"
    return SAID.get(wrong["type"], plain(wrong["msg"]))
