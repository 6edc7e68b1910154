"""Report formats, each drawn from the JSON document of a report alone.

html.py draws a page (with its templates, svg_tree.py and svg_histogram.py); markdown.py, sarif.py, junit.py, manager.py
and model_card.py are a format each. common.py, interpretation.py and inference_table.py hold what several formats
print. Masking has happened before: a format decides what to print, never who may see it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from leafgate.api import ReportDocument, ReportFormat, hookimpl, lazy
from leafgate.api.report_formats import SWEEP_PICTURE

if TYPE_CHECKING:
    from leafgate.reports import html, junit, manager, markdown, model_card, sarif
else:
    html, junit, manager, markdown, model_card, sarif = (
        lazy(f"leafgate.reports.{name}") for name in ("html", "junit", "manager", "markdown", "model_card", "sarif")
    )

leafgate_api = ">=3,<4"


def render_html(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    """A self-contained page, with the picture of a sweep if it is attached."""
    return html.html(document, attachments.get(SWEEP_PICTURE, b""))


def render_markdown(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    """Markdown for the summary of a CI job."""
    return markdown.markdown(document)


def render_sarif(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    """SARIF 2.1.0 for code scanning."""
    return sarif.sarif(document)


def render_junit(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    """JUnit XML for the test views of CI systems."""
    return junit.junit(document)


def render_manager(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    """One paragraph in plain words, for readers who know neither metrics nor attacks."""
    return manager.manager(document)


def render_model_card(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    """The section "Privacy audit" of a model card, in Markdown."""
    return model_card.model_card(document)


def render_tree_page(document: ReportDocument) -> bytes:
    """The first tree of a release as a page."""
    return html.tree_page(document).encode()


FORMATS = (
    ReportFormat(
        name="html",
        filename="report.html",
        media_type="text/html",
        render=render_html,
        attachments=frozenset({SWEEP_PICTURE}),
        render_tree=render_tree_page,
    ),
    ReportFormat(name="markdown", filename="report.md", media_type="text/markdown", render=render_markdown),
    ReportFormat(name="sarif", filename="report.sarif", media_type="application/sarif+json", render=render_sarif),
    ReportFormat(name="junit", filename="report.junit.xml", media_type="application/xml", render=render_junit),
    ReportFormat(name="manager", filename="report.manager.txt", media_type="text/plain", render=render_manager),
    ReportFormat(
        name="model_card", filename="report.modelcard.md", media_type="text/markdown", render=render_model_card
    ),
)


@hookimpl
def report_formats() -> list[ReportFormat]:
    return list(FORMATS)
