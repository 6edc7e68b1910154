"""Stored reports, read back strictly: what is not understood is not shown to anyone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from leafgate.errors import Problem, ReportError
from leafgate.policy_problems import plain
from leafgate.report_shape import ReportTold
from leafgate.report_truth import contradictions
from leafgate.strict_json import canonical, parse_json

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
    told = parse_json(content, ReportError, place)
    if not isinstance(told, dict) or told.get("format") != "leafgate/report/1":
        raise ReportError("is no report", place=place, remedy="name the report.json of an audit")
    try:
        ReportTold.model_validate_json(canonical(told))
    except ValidationError as error:
        wrongs = error.errors(include_url=False, include_input=False, include_context=False)
        problems = dict.fromkeys(Problem(_place(place, told, wrong), _said(wrong)) for wrong in wrongs)
        raise ReportError.listing(problems) from None
    if untrue := list(contradictions(told, place)):
        raise ReportError.listing(untrue)
    return told


def _place(file: str, told: Any, wrong: ErrorDetails) -> str:
    """The file, and where in it: as far as the document goes, without the names of models that were tried."""
    parts, here = "", told
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
