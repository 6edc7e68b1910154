"""The page of a decision sheet: self-contained, without scripts, and two A4 pages when it is printed."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment

from leafgate.commands.sheet.content import sheet_content
from leafgate.commands.sheet.facts import SheetFacts
from leafgate.commands.stored_report import StoredReport
from leafgate.reports.html import templates_of


def sheet_page(report: StoredReport, facts: SheetFacts) -> bytes:
    """The page for a report and the facts that its users give; equal ones give equal bytes."""
    content = sheet_content(report, facts)
    return _templates().get_template("sheet.html.j2").render(sheet=content).encode() + b"\n"


@cache
def _templates() -> Environment:
    return templates_of("leafgate.commands.sheet")
