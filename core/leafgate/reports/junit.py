"""A report as JUnit XML: one test case a finding, for the test views of CI systems."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from leafgate.disclosure.wording import audited_file, decisions, finding_state, idle_waiver_lines
from leafgate.io.json import JsonObject
from leafgate.io.text import LONGEST, clean
from leafgate.reports.common import detail_lines, message, place, state_counts


def junit(report: JsonObject) -> bytes:
    """The report as JUnit XML: a failed finding is a failure, an inconclusive one an error, a waived one is skipped."""
    count = state_counts(report)
    totals = {
        "tests": str(len(report["findings"])),
        "failures": str(count["failed"]),
        "errors": str(count["inconclusive"]),
        "skipped": str(count["waived"]),
    }
    root = Element("testsuites", {"name": "leafgate", **totals})
    suite = SubElement(root, "testsuite", {"name": clean(report["policy"]["name"]), **totals})
    about = SubElement(suite, "properties")
    for name, value in _facts(report).items():
        SubElement(about, "property", {"name": name, "value": value})
    if lines := [*decisions(report["notes"]), *idle_waiver_lines(report)]:
        SubElement(suite, "system-out").text = "\n".join(clean(line, 4 * LONGEST) for line in lines)
    for finding in report["findings"]:
        _case(suite, report, finding)
    indent(root)
    text: str = tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


def _facts(report: JsonObject) -> dict[str, str]:
    """The properties of the suite: the audited file, the verdict, the policy and the release."""
    file = {f"file_{key}": clean(value) for key, value in (audited_file(report) or {}).items()}
    release = {} if report["release"] is None else {"release": report["release"]["sha256"]}
    return {**file, "verdict": report["verdict"], "policy": report["policy"]["sha256"], **release}


def _case(suite: Element, report: JsonObject, finding: JsonObject) -> None:
    where = finding.get("where") or {}
    line = {"file": clean(place(report, where)), "line": str(where["line"])} if where else {}
    about = clean(finding["attack"] or "release")
    case = SubElement(suite, "testcase", {"classname": about, "name": clean(finding["id"]), "time": "0", **line})
    tag = {"failed": "failure", "inconclusive": "error", "waived": "skipped"}.get(finding_state(finding))
    if tag is not None:
        result = SubElement(case, tag, {"message": message(finding), "type": finding_state(finding)})
        result.text = "\n".join(detail_lines(finding))
