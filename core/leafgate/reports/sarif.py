"""A report as SARIF 2.1.0, for code scanning: a rule for each check, a result for each finding that did not pass.

A passed finding has no result: code scanning would show a result of any kind as an alert.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from urllib.parse import quote

from pydantic import JsonValue

from leafgate.disclosure.summary import findings_by_urgency
from leafgate.disclosure.wording import audited_file, decisions, finding_state, idle_waiver_lines
from leafgate.io.json import JsonDocument, JsonObject, readable
from leafgate.io.text import LONGEST, clean
from leafgate.reports import common

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MAX_RESULTS = 5000
"""Code scanning shows no more results of a run."""
MAX_LEAVES = 50
"""Leaves of the tree in one result."""
LIMIT_CHECK = "A limit of the privacy policy"
EXPLAINED = "What it measures, what a good score means, worked out"


def sarif(report: JsonObject) -> bytes:
    """The report as SARIF with one run; a result's location is the policy's line, its logical locations are leaves."""
    findings = findings_by_urgency(report)[:MAX_RESULTS]
    names = sorted({_rule(finding) for finding in findings})
    driver = {
        "name": "leafgate",
        "version": report["versions"].get("leafgate", "0"),
        "rules": [_rule_document(name, findings) for name in names],
    }
    run = {
        "tool": {"driver": driver},
        **_artifacts(report),
        "results": [
            _result(report, finding, names.index(_rule(finding)))
            for finding in findings
            if finding_state(finding) != "passed"
        ],
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": _notifications(report)}],
        "properties": _properties(report),
    }
    return readable({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _artifacts(report: JsonObject) -> JsonDocument:
    """The audited file as the run's only artifact, by its name alone: reports have no path of it."""
    file = audited_file(report)
    if file is None:
        return {}
    location = {"uri": _file_uri(file)}
    return {"artifacts": [{"location": location, "roles": ["analysisTarget"], "hashes": {"sha-256": file["sha256"]}}]}


def _properties(report: JsonObject) -> JsonDocument:
    """The properties of the run: audited file, verdict, policy, release and number of waived limits."""
    file, release = audited_file(report), report["release"]
    return {
        **({} if file is None else {"file": {key: clean(value) for key, value in file.items()}}),
        "verdict": report["verdict"],
        "policy": report["policy"]["sha256"],
        **({} if release is None else {"release": release["sha256"]}),
        "waived": report["waived"],
    }


def _file_uri(file: Mapping[str, str]) -> str:
    """The audited file's name as a relative URI without a folder, a scheme or a query."""
    return quote(clean(file["name"]), safe="")


def _notifications(report: JsonObject) -> list[JsonDocument]:
    """Decisions to make and waivers that do not apply: they are no problems of the release, and so no results."""
    items = [clean(line, 4 * LONGEST) for line in (*decisions(report["notes"]), *idle_waiver_lines(report))]
    return [{"level": "warning", "message": {"text": line}} for line in items]


def _rule(finding: JsonObject) -> str:
    """The name of the check that a finding belongs to."""
    return clean(finding["id"].split("@")[0])


def _rule_document(name: str, findings: list[JsonObject]) -> JsonDocument:
    own = [finding for finding in findings if _rule(finding) == name]
    alarms = {clean(finding.get("alarm", "")) for finding in own}
    uses = clean(own[0].get("use", ""))
    check = f"The check {name}, which uses {uses}." if uses else f"The check {name}."
    what = alarms.pop() if len(alarms) == 1 else ""
    return {
        "id": name,
        "name": name,
        "shortDescription": {"text": f"Raised where {what}." if what else check},
        "fullDescription": {"text": f"{check} {LIMIT_CHECK}, checked by {clean(own[0]['plugin']) or 'leafgate'}."},
        "help": {"text": f"{EXPLAINED}: leafgate explain {_explained_by(own[0])}"},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["privacy"]},
    }


def _explained_by(finding: JsonObject) -> str:
    return clean(finding.get("use") or finding["metric"] or finding["attack"] or "METRIC")


def _result(report: JsonObject, finding: JsonObject, rule: int) -> JsonDocument:
    fields = {
        "ruleId": _rule(finding),
        "ruleIndex": rule,
        "kind": "fail",
        "level": "error",
        "message": {"text": "\n".join([common.message(finding), *common.detail_lines(finding)])},
        **_analysis_target(report),
        "locations": [_location(report, finding)],
        "partialFingerprints": _fingerprints(report, finding),
        "properties": {"state": finding_state(finding), **_remedies(finding)},
    }
    if "waiver" in finding:
        why = f"{clean(finding['waiver']['id'])}: {clean(finding['waiver']['reason'])}"
        fields["suppressions"] = [{"kind": "external", "status": "accepted", "justification": why}]
    return fields


def _remedies(finding: JsonObject) -> JsonDocument:
    """What to do about the finding as scripts read it, as in report.json; nothing where there is none."""
    return {"remedies": _cleaned(finding["remedies"])} if finding.get("remedies") else {}


def _cleaned(value: JsonValue) -> JsonValue:
    """The value with every text in it cleaned."""
    if isinstance(value, dict):
        return {clean(key): _cleaned(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_cleaned(each) for each in value]
    return clean(value, 4 * LONGEST) if isinstance(value, str) else value


def _analysis_target(report: JsonObject) -> JsonDocument:
    """The audited file, by its index among the run's artifacts: a result's location is a line of the policy."""
    file = audited_file(report)
    return {} if file is None else {"analysisTarget": {"uri": _file_uri(file), "index": 0}}


def _location(report: JsonObject, finding: JsonObject) -> JsonDocument:
    where = finding.get("where") or {"file": report["policy"].get("file") or "policy.yaml", "line": 1}
    line = {
        "artifactLocation": {"uri": quote(clean(common.place(report, where)))},
        "region": {"startLine": where["line"]},
    }
    tree = report.get("tree") or {"nodes": []}
    nodes, number = tree["nodes"], tree.get("number", 1)
    leaves = (
        []
        if finding_state(finding) != "failed"
        else [
            (i, node) for i, node in common.marked_leaves(report) if "past" not in node or finding["id"] in node["past"]
        ]
    )
    logical = [
        {"fullyQualifiedName": f"tree {number}/node {i}", "kind": "member", **_named(common.path_conditions(nodes, i))}
        for i, _ in leaves[:MAX_LEAVES]
    ]
    return {"physicalLocation": line} | ({"logicalLocations": logical} if logical else {})


def _named(way: list[str]) -> dict[str, str]:
    return {"name": clean(" and ".join(way))} if way else {}


def _fingerprints(report: JsonObject, finding: JsonObject) -> dict[str, str]:
    """Fingerprints that are equal for the same check of the same policy file, so that an alert stays one alert.

    A check is its metric, attack and secret (the finding's id) in a policy (its file and its name). No score, limit,
    digest, line or text of a line is part of it. Code scanning of GitHub reads `primaryLocationLineHash` alone. Where
    there is none it makes one of the line's text, so that another limit in that line would be another alert.
    """
    policy = report["policy"]
    file = common.place(report, {"file": policy.get("file", "")})
    check = hashlib.sha256(f"{file}\0{policy['name']}\0{finding['id']}".encode()).hexdigest()
    return {"leafgateFinding/v1": check, "primaryLocationLineHash": f"{check[:16]}:1"}
