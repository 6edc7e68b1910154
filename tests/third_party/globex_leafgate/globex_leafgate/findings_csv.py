"""A report as CSV, a line for each finding."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from typing import Any
from unicodedata import normalize

from leafgate.api import ReportDocument, ReportFormat

COLUMNS = ("finding", "result", "value", "limit", "plugin")


def render(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    """One line for each finding, in the order of the report; a masked number as the report's JSON has it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for finding in document["findings"]:
        numbers = (written(finding.get(key)) for key in ("value", "limit"))
        writer.writerow(map(harmless, (finding["id"], result(finding), *numbers, finding.get("plugin") or "")))
    return text.getvalue().encode()


def result(finding: ReportDocument) -> str:
    if "waiver" in finding:
        return "waived"
    return {True: "passed", False: "failed", None: "inconclusive"}[finding["passed"]]


def written(number: Any) -> str:
    return "" if number in (None, {}) else json.dumps(number, sort_keys=True)


def harmless(text: str) -> str:
    """The text without control characters and such that no spreadsheet takes it for a formula."""
    printable = "".join(char if char.isprintable() else "�" for char in text)
    formula = normalize("NFKC", printable).lstrip().startswith(("=", "+", "-", "@"))
    return f"'{printable}" if formula else printable


CSV = ReportFormat(name="csv", filename="report.csv", media_type="text/csv", render=render)
