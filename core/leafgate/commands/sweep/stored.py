"""Stored sweeps, read back strictly, and the words and numbers in which tables and pictures put them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from leafgate.api import InvalidError, ReportDocument, Strict
from leafgate.disclosure.schema import LimitDocument
from leafgate.disclosure.stored import report_bytes
from leafgate.errors import ReportError
from leafgate.io.evidence import MaskedScore
from leafgate.io.json import JsonDocument, JsonObject, canonical, parse_json
from leafgate.kernel.findings import Verdict

SWEEP_FORMAT = "leafgate/sweep/1"


class FindingDocument(Strict):
    """A finding at one point."""

    id: str
    metric: str
    value: MaskedScore | None
    limit: LimitDocument
    passed: bool | None


class PointDocument(Strict):
    """One point: its settings by their places in the policy, and what came of it."""

    values: dict[str, Any]
    folder: str
    verdict: Verdict
    problem: str
    findings: tuple[FindingDocument, ...]
    fails_on: tuple[str, ...] = ()


class SweepDocument(Strict):
    """A sweep, as its file has it."""

    format: Literal["leafgate/sweep/1"]
    audience: Literal["public", "auditor"]
    policy: str = ""
    utility: str | None
    protection: str | None
    best: str | None
    points: tuple[PointDocument, ...]


def read_sweep(path: Path, report: ReportDocument) -> JsonDocument:
    """The sweep in a sweep.json, for a report of the same policy.

    Raises:
        ReportError: it is no sweep, or discloses more than the report's audience may see.
        InvalidError: it is a sweep of another policy.
    """
    result = parse_json(report_bytes(path), ReportError, str(path))
    if not isinstance(result, dict) or result.get("format") != SWEEP_FORMAT:
        raise ReportError("is no sweep", place=str(path), remedy="name the sweep.json of a sweep")
    try:
        SweepDocument.model_validate_json(canonical(result))
    except ValidationError:
        raise ReportError("is no sweep that this version understands", place=str(path)) from None
    if result["audience"] == "auditor" != report["audience"]:
        remedy = "sweep again without --audience auditor"
        raise ReportError("has an auditor's numbers, and the report is for the public", place=str(path), remedy=remedy)
    if result.get("policy", "") != report["policy"]["name"]:
        remedy = "name a sweep of the policy that was audited"
        raise InvalidError("is a sweep of another policy than the report is of", place=str(path), remedy=remedy)
    return result


def worst_finding(findings: Sequence[JsonObject], metric: str | None) -> JsonObject | None:
    """The worst finding of a metric: failed before inconclusive before passed, then by its score."""
    of_metric = [
        finding for finding in findings if finding["metric"] == metric and not finding["id"].startswith("guarantee:")
    ]
    return min(of_metric, key=_badness) if of_metric else None


def _badness(finding: JsonObject) -> tuple[int, float]:
    """Failed before inconclusive before passed, and among equals the worse score."""
    value = near_end(finding["value"])
    worse = 0.0 if value is None else value if "at_least" in finding["limit"] else -value
    return {False: 0, None: 1, True: 2}[finding["passed"]], worse


def near_end(value: Any) -> float | None:
    """A score, or where the public sees a bound or a range only, its near end; None where there is none."""
    if isinstance(value, Mapping):
        return float(next(iter(value.values())))
    return None if value is None else float(value)


def setting_words(value: Any) -> str:
    """The value of an option as a policy has it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {setting_words(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(setting_words, value))}]"
    return value if isinstance(value, str) else json.dumps(value)
