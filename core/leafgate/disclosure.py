"""What an audience may see of a report: everything (auditor), or nothing of a person (public)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from leafgate.pictured import distributions, guesses_told, tree_told
from leafgate.report import FORMAT, Finding, Report
from leafgate.shown import Audience, Shown, coarse, share_count, shown_in, told


def document(report: Report, audience: Audience) -> dict[str, Any]:
    """The report as JSON (design 4.4): same input, same document; no clock is read."""
    smallest = report.smallest_cell if audience == "public" else 1
    shown = shown_in(report, smallest)
    hide_data = audience == "public" and report.differentially_private
    return {
        "format": FORMAT,
        "verdict": report.verdict,
        "audience": audience,
        "waived": report.waived,
        **({"judged_on": report.judged_on} if report.waivers else {}),
        "policy": dict(report.policy),
        "data": {} if hide_data else {key: told(value, shown, audience) for key, value in report.data.items()},
        "release": None if report.release is None else dict(report.release),
        "findings": [
            _finding(finding, shown, audience, hide_data) | {"distribution": bars}
            for finding, bars in zip(report.findings, distributions(report, shown, audience), strict=True)
        ],
        **({"waivers": [dict(waiver) for waiver in report.waivers]} if report.waivers else {}),
        "guesses": [] if hide_data else guesses_told(report, shown),
        "tree": tree_told(report, shown, audience),
        "versions": dict(report.versions),
        "notes": [*report.notes, *([_OUTSIDE] if hide_data else [])],
    }


_OUTSIDE = "The release claims differential privacy; the findings below were computed from the data and are outside it."


def _finding(finding: Finding, shown: Shown, audience: Audience, hide_data: bool) -> dict[str, Any]:
    total, beyond = finding.people, finding.beyond
    if finding.private and audience == "public":
        finding = replace(finding, value=None, evidence=_derivable(finding.evidence))
        beyond = None
    if hide_data and (finding.attack is not None or finding.unit) and audience == "public":
        finding = replace(finding, value=None, evidence=_derivable(finding.evidence))
    if audience == "public":
        finding = replace(finding, evidence=_few_worst(finding, shown.smallest))
    known = total is not None and not hide_data
    return {
        "id": finding.id,
        "attack": finding.attack,
        "secret": finding.secret,
        "metric": finding.metric,
        **({"use": finding.use} if finding.use else {}),
        "value": _value(finding, shown, hide_data),
        "limit": dict(finding.limit),
        "passed": finding.passed,
        "people": shown.count(total) if known and total is not None else None,
        "beyond": None if beyond is None or total is None or hide_data else shown.part(beyond, total),
        "evidence": told(finding.evidence, shown, audience),
        **({"alarm": finding.alarm} if finding.alarm else {}),
        "plugin": finding.plugin,
        "where": dict(finding.where),
        **({"waiver": dict(finding.waiver)} if finding.waiver is not None else {}),
    }


def _derivable(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """What anyone could work out from the release, and why something could not be told."""
    return {key: told for key, told in evidence.items() if key in {"claim", "derived", "problem"}}


def _few_worst(finding: Finding, smallest: int) -> Mapping[str, Any]:
    """The evidence; of small groups only the worst, where their number and `beyond` would tell how small they are."""
    worst = finding.evidence.get("worst")
    if not isinstance(worst, list) or (finding.beyond or 0) > len(worst) * (smallest - 1):
        return finding.evidence
    return {**finding.evidence, "worst": worst[:1]}


def _value(finding: Finding, shown: Shown, hide_data: bool) -> Any:
    """A score; one that is itself a count or a share of people is shown like a count."""
    value, total, people = finding.value, finding.people, share_count(finding)
    average = finding.limit.get("average") and finding.unit != "share"
    if value is not None and finding.unit == "people":
        told = shown.count(int(value))
        return told if isinstance(told, dict) else _coarse(value, finding, shown) if average else value
    if value is not None and total is not None and finding.unit == "people left":
        told = shown.count(total)
        return {key: n - total + int(value) for key, n in told.items()} if isinstance(told, dict) else value
    if value is not None and average:
        return _coarse(value, finding, shown)
    if value is not None and finding.unit == "one over people":
        told = shown.count(round(1 / value))
        return _one_over(told) if isinstance(told, dict) else value
    if people is None or total is None:
        return value
    if hide_data or isinstance(shown.count(total), dict):
        return value if shown.smallest == 1 else None
    told = shown.part(people, total)
    return {key: round(n / total, 6) for key, n in told.items()} if isinstance(told, dict) else value


def _coarse(value: float, finding: Finding, shown: Shown) -> float:
    """An average, so coarse that fewer people than the smallest cell cannot move it by a step."""
    share = shown.smallest * finding.spread / max(finding.people or 1, 1)
    return value if shown.smallest == 1 else coarse(value, share)


def _one_over(told: Mapping[str, int]) -> dict[str, float]:
    """One over a veiled count."""
    if "fewer_than" in told:
        return {"more_than": round(1 / told["fewer_than"], 6)}
    return {"from": round(1 / told["to"], 6), "to": round(1 / told["from"], 6)}
