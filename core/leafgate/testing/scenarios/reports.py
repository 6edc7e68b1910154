"""Report documents that formats are tried on, for the public and for auditors, and the same with hostile names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from leafgate.io.json import JsonDocument, JsonObject


@dataclass(frozen=True)
class ReportScenario:
    """One report in the form for the public and in the form for auditors."""

    name: str
    public: JsonObject
    auditor: JsonObject


PLANTED = "planted"
"""The word in every text that the auditor's documents of this module have and the public ones lack."""

HOSTILE_NAMES: Mapping[str, str] = {
    "markup": "<script>alert(1)</script><b onmouseover=alert(1)>",
    "attribute": '" onload="alert(1)" x=\'',
    "end of a CDATA section": "]]></testcase>&amp;<![CDATA[",
    "separators": 'a,b;c\t"d"|e',
    "line ends": "one\ntwo\r\nthree\u2028four",
    "control characters": "\x1b[31mred\x07\x00",
    "direction": "\u202etxt.exe\u2066",
    "template": "{{ 7 * 7 }}{% raw %}",
    "formula": "=1+1",
}
"""Texts that a format must escape or replace, wherever a policy, a table or a plugin brings them."""

CONTROLLED = frozenset(
    {
        *("format", "verdict", "audience", "sha256", "keyed_sha256", "release", "kind", "risk", "status", "scored"),
        *("judged_on", "issued", "expires", "publishes", "severity"),
    }
)
"""Keys whose texts leafgate itself chooses."""


FREE_KEYS = frozenset({"believed", "true", "past"})
"""Keys of mappings whose own keys are values of columns and ids of findings."""


def with_texts(document: JsonObject, change: Callable[[str], str]) -> JsonDocument:
    """The document with every text changed that comes from a policy, a table, a file name or a plugin."""
    changed: JsonDocument = _changed(document, change, "")
    return changed


def _changed(content: Any, change: Callable[[str], str], key: str) -> Any:
    if key == "versions":
        return content
    if isinstance(content, Mapping):
        free = key in FREE_KEYS
        return {change(name) if free else name: _changed(each, change, name) for name, each in content.items()}
    if isinstance(content, list | tuple):
        return [_changed(each, change, key) for each in content]
    return change(content) if isinstance(content, str) and key not in CONTROLLED else content


_WAIVER: JsonDocument = {
    "id": "W-1",
    "owner": "data office",
    "approved_by": "privacy board",
    "reason": "the district is small",
    "issued": "2026-01-01",
    "expires": "2026-02-01",
}


def _finding(identity: str, *, passed: bool | None, auditor: bool, line: int, **content: Any) -> JsonDocument:
    """A finding about 400 people; `identity` is its id."""
    metric, _, attacked = identity.partition("@")
    attack, _, secret = attacked.partition("#")
    return {
        "id": identity,
        "attack": attack or None,
        "secret": secret or None,
        "metric": metric,
        "value": 0.5,
        "limit": {"at_most": 0.0, "average": False, "allow": 0.0, "scored": "worst"},
        "passed": passed,
        "people": 412 if auditor else 400,
        "beyond": 0,
        "evidence": {},
        "alarm": "it is certain what some people's illness is",
        "plugin": "leafgate 0.1.0",
        "where": {"file": "ward.yaml", "line": line},
    } | content


def _failed(auditor: bool) -> JsonDocument:
    group = {
        "people": 3,
        "path": f"district = {PLANTED} and age <= 37.5",
        "possible_values": 1,
        "believed": {"flu": 1.0},
        "true": {"flu": 3},
    }
    bars: list[JsonDocument] = [{"from": -0.1, "to": 0.0, "people": 409, "past": False}]
    bars += [{"from": 0.0, "to": 1.0, "people": 3, "past": True}]
    return _finding(
        "exposure@linking#illness",
        passed=False,
        auditor=auditor,
        line=21,
        value=1.0 if auditor else None,
        beyond=3 if auditor else {"fewer_than": 10},
        evidence={"groups": 7, "worst": [group]} if auditor else {},
        **({"distribution": bars} if auditor else {}),
    )


def _unclear(auditor: bool) -> JsonDocument:
    return _finding(
        "confidence@maxent#illness",
        passed=None,
        auditor=auditor,
        line=22,
        value=None,
        people=None,
        beyond=None,
        evidence={"reason": "the solver did not converge"},
    )


def _waived(auditor: bool) -> JsonDocument:
    return _finding(
        "k_anonymity@linking#illness",
        passed=False,
        auditor=auditor,
        line=23,
        value=3.0 if auditor else {"fewer_than": 10},
        limit={"at_least": 20.0, "average": False, "allow": 0.0, "scored": "derived"},
        beyond=12 if auditor else 10,
        alarm="people stand in groups that are too small",
        waiver=dict(_WAIVER),
    )


def _passed(auditor: bool) -> JsonDocument:
    return _finding(
        "t_closeness@linking#illness",
        passed=True,
        auditor=auditor,
        line=24,
        value=0.125 if auditor else 0.1,
        limit={"at_most": 0.25, "average": False, "allow": 0.0, "scored": "worst"},
        alarm="groups differ from everybody",
    )


def _tree(auditor: bool) -> JsonDocument:
    leaf: JsonDocument = {"parent": 0, "kind": "leaf", "leaves": 1}
    if not auditor:
        return {
            "trees": 1,
            "number": 1,
            "coloured": False,
            "nodes": [{"parent": None, "kind": "test", "leaves": 2}, leaf],
        }
    root = {
        "parent": None,
        "kind": "test",
        "leaves": 2,
        "risk": "past",
        "leaves_past": 1,
        "people": 412,
        "words": "age",
    }
    small = {"risk": "past", "people": 3, "past": {"exposure@linking#illness": 3}, "way": "<= 37.5", "words": PLANTED}
    large = {"risk": "within", "people": 409, "way": "> 37.5", "words": "common cold"}
    return {"trees": 1, "number": 1, "coloured": True, "nodes": [root, leaf | small, leaf | large]}


def _document(auditor: bool, verdict: str, findings: list[JsonDocument], **content: Any) -> JsonDocument:
    audience = "auditor" if auditor else "public"
    data = {"people": 412, "distinct": 398, "sha256": "a" * 64} if auditor else {"people": 400}
    return {
        "format": "leafgate/report/1",
        "verdict": verdict,
        "audience": audience,
        "waived": sum("waiver" in finding for finding in findings),
        "policy": {"name": "ward", "sha256": "b" * 64, "file": "ward.yaml", "folder": "policies"},
        "data": data,
        "release": {"sha256": "c" * 64, "builder": {"use": "kadet", "k": 20}, "trees": 1, "leaves": 2},
        "findings": findings,
        "method": {
            "known": ["age", "district"],
            "secret": ["illness"],
            "unknown": ["smoker"],
            "granted": [],
            "attacks": [{"name": "linking", "assumes": "The adversary has the release and the public columns."}],
            "publishes": "counts",
            "claims": {"k": 20},
        },
        "versions": {"python": "3.11.7", "leafgate": "0.1.0"},
        "notes": ["The declared bounds of 'age' end at the largest number that occurs."],
    } | content


def _broken(auditor: bool) -> JsonDocument:
    findings = [_failed(auditor), _unclear(auditor), _waived(auditor), _passed(auditor)]
    applied = _WAIVER | {
        "finding": "k_anonymity@linking#illness",
        "release": "c" * 64,
        "status": "applied",
        "message": "until 2026-02-01",
        "where": {"file": "waivers.yaml", "line": 3},
    }
    idle = applied | {
        "id": "W-2",
        "finding": "t_closeness@linking#illness",
        "status": "unused",
        "message": "the limit holds",
    }
    guesses = [{"attack": "linking", "secret": "illness", "right": 0.75, "commonest": 0.5}]
    more = {"judged_on": "2026-01-15", "waivers": [applied, idle], "guesses": guesses, "tree": _tree(auditor)}
    return _document(auditor, "fail", findings, **more)


def _kept(auditor: bool) -> JsonDocument:
    return _document(auditor, "pass", [_passed(auditor)])


def _unbuilt(auditor: bool) -> JsonDocument:
    problem = _finding(
        "build",
        passed=None,
        auditor=auditor,
        line=12,
        value=None,
        limit={},
        people=None,
        beyond=None,
        evidence={"reason": f"no release keeps the promise of {PLANTED}" if auditor else "no release keeps it"},
    )
    return _document(auditor, "inconclusive", [problem], release=None)


REPORTS = tuple(
    ReportScenario(name, draft(False), draft(True))
    for name, draft in (("a broken limit", _broken), ("a pass", _kept), ("no release", _unbuilt))
)
"""A failing, a passing and an inconclusive report; between them every state a finding can be in."""
