"""Views of a report: text, Markdown, HTML, SARIF and JUnit, each made from the report's JSON alone."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Format(StrEnum):
    """What a report can be turned into."""

    html = "html"
    markdown = "markdown"
    sarif = "sarif"
    junit = "junit"
    text = "text"


FILES: Mapping[Format, str] = {
    Format.html: "report.html",
    Format.markdown: "report.md",
    Format.sarif: "report.sarif",
    Format.junit: "report.junit.xml",
    Format.text: "report.txt",
}


def view(report: Mapping[str, Any], form: Format, frontier: bytes = b"") -> bytes:
    """A report document in another format: same document, same bytes, and no more than it tells.

    A page also shows the `frontier`, an SVG picture, where there is one.
    """
    match form:
        case Format.html:
            from leafgate.reports.html import html

            return html(report, frontier)
        case Format.markdown:
            from leafgate.reports.markdown import markdown

            return markdown(report)
        case Format.sarif:
            from leafgate.reports.sarif import sarif

            return sarif(report)
        case Format.junit:
            from leafgate.reports.junit import junit

            return junit(report)
        case Format.text:
            from leafgate.disclosure.text import summary

            return summary(report).encode()
