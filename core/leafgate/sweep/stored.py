"""Stored sweeps, read back strictly, to be drawn again beside a report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from leafgate.api.components import Strict
from leafgate.disclosure.schema import LimitDocument, Value
from leafgate.disclosure.stored import report_bytes
from leafgate.errors import ReportError
from leafgate.io.json import canonical, parse_json
from leafgate.sweep.axes import Point
from leafgate.sweep.results import FORMAT, Outcome
from leafgate.sweep.worker import Result
from leafgate.types.report import Verdict


class FindingSwept(Strict):
    """A finding at one point."""

    id: str
    metric: str
    value: Value | None
    limit: LimitDocument
    passed: bool | None


class PointSwept(Strict):
    """One point."""

    values: dict[str, Any]
    folder: str
    verdict: Verdict
    problem: str
    findings: tuple[FindingSwept, ...]


class Swept(Strict):
    """A sweep, as its file has it."""

    format: Literal["leafgate/sweep/1"]
    audience: Literal["public", "auditor"]
    policy: str = ""
    utility: str | None
    protection: str | None
    best: str | None
    points: tuple[PointSwept, ...]


def read_sweep(path: Path, audience: str) -> Outcome:
    """The outcome a sweep.json tells of; ReportError when it is none, or tells more than `audience` may see."""
    result = parse_json(report_bytes(path), ReportError, str(path))
    if not isinstance(result, dict) or result.get("format") != FORMAT:
        raise ReportError("is no sweep", place=str(path), remedy="name the sweep.json of a sweep")
    try:
        Swept.model_validate_json(canonical(result))
    except ValidationError:
        raise ReportError("is no sweep that this version understands", place=str(path)) from None
    if result["audience"] == "auditor" != audience:
        remedy = "sweep again without --audience auditor"
        raise ReportError("has an auditor's numbers, and the report is for the public", place=str(path), remedy=remedy)
    return Outcome(
        [_result(point) for point in result["points"]],
        result["utility"],
        result["protection"],
        result.get("policy", ""),
    )


def _result(point: Mapping[str, Any]) -> Result:
    report = {"verdict": point["verdict"], "findings": point["findings"]}
    return Result(Point(point["values"], {}), report, point["folder"], point["problem"])
