"""Views of a report: text, Markdown, HTML, SARIF and JUnit, each made from the report's JSON alone.

`view` calls html.py (a page, with its templates, svg_tree.py and svg_histogram.py), markdown.py, sarif.py, junit.py or
`disclosure.text`; notebook.py puts a page into a frame. common.py and interpretation.py hold the sentences and cleaned
texts that several views print. Masking has happened before: a view decides what to print, never who may see it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from leafgate.io.json import JsonObject


class Format(StrEnum):
    """The format of a view."""

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


def view(report: JsonObject, form: Format, frontier: bytes = b"") -> bytes:
    """A report document in another format.

    Args:
        report: the JSON of a report.
        form: the format.
        frontier: an SVG picture of a sweep for the page; empty if there is none.

    Returns:
        The content of the file; equal documents give equal bytes.
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
