"""Stored reports, read strictly: an unknown key, or a verdict that does not follow from the findings, is refused.

Whoever edits a report consistently is not found out: a reader who cannot trust where it comes from audits again.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from leafgate.disclosure.schema import ReportDocument
from leafgate.errors import Problem, ReportError, plain
from leafgate.io.files import read_bounded
from leafgate.io.json import JsonDocument, canonical, parse_json
from leafgate.kernel.paths import format_path

MAX_BYTES = 64 * 1024 * 1024
MESSAGES = {
    "extra_forbidden": "has a key that this version does not know",
    "missing": "lacks something",
}
"""Messages by pydantic's types of errors; others keep pydantic's message."""


def read_report(path: Path) -> JsonDocument:
    """The report in a file.

    Raises:
        ReportError: the file is no report; the error lists every problem and quotes no content.
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
