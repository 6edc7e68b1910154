"""Report formats, each drawn from the JSON document of a report alone.

html.py draws a page (with svg_tree.py and svg_histogram.py); markdown.py, sarif.py and junit.py are a format each. The
sheet, the model card and the mapping are templates of decision_document.py. common.py, interpretation.py and
inference_table.py hold what several formats print. Masking has happened before: a format decides what to print, never
who may see it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from leafgate.api import ReportDocument, ReportFormat, hookimpl, lazy
from leafgate.api.report_formats import SHEET_FACTS

if TYPE_CHECKING:
    from leafgate.reports import decision_document, html, junit, mapping, markdown, sarif, sheet
else:
    decision_document, html, junit, mapping, markdown, sarif, sheet = (
        lazy(f"leafgate.reports.{name}")
        for name in ("decision_document", "html", "junit", "mapping", "markdown", "sarif", "sheet")
    )

leafgate_api = ">=3,<4"


def render_html(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    """A self-contained page."""
    return html.html(document)


def render_markdown(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    """Markdown for the summary of a CI job."""
    return markdown.markdown(document)


def render_sarif(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    """SARIF 2.1.0 for code scanning."""
    return sarif.sarif(document)


def render_junit(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    """JUnit XML for the test views of CI systems."""
    return junit.junit(document)


def render_sheet(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    """A decision sheet to print, fill in and sign, for readers who know neither metrics nor attacks."""
    return sheet.sheet(document, attachments.get(SHEET_FACTS, b""))


def render_model_card(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    """The section "Privacy audit" of a model card, in Markdown."""
    return decision_document.rendered("model_card.md.j2", document)


def render_mapping(document: ReportDocument, attachments: Mapping[str, bytes], framework: str = "satre") -> bytes:
    """What the report answers to the clauses of a framework (`mapping:satre`, `mapping:FILE.yaml`), in Markdown."""
    return mapping.mapping(document, framework)


def mapping_onto(framework: str) -> ReportFormat:
    """The format for `--to mapping:FRAMEWORK`, which is the name of a framework or the path of a YAML file."""
    read, _ = mapping.read_framework(framework)
    filename = f"report.mapping.{read.name.replace('_', '')}.md"
    return replace(MAPPING, filename=filename, render=partial(render_mapping, framework=framework))


def render_tree_page(document: ReportDocument) -> bytes:
    """The first tree of a release as a page."""
    return html.tree_page(document).encode()


MAPPING = ReportFormat(
    name="mapping",
    filename="report.mapping.md",
    media_type="text/markdown",
    render=render_mapping,
    variant=mapping_onto,
)
FORMATS = (
    ReportFormat(
        name="html",
        filename="report.html",
        media_type="text/html",
        render=render_html,
        render_tree=render_tree_page,
    ),
    ReportFormat(name="markdown", filename="report.md", media_type="text/markdown", render=render_markdown),
    ReportFormat(name="sarif", filename="report.sarif", media_type="application/sarif+json", render=render_sarif),
    ReportFormat(name="junit", filename="report.junit.xml", media_type="application/xml", render=render_junit),
    ReportFormat(
        name="sheet",
        filename="report.sheet.html",
        media_type="text/html",
        render=render_sheet,
        attachments=frozenset({SHEET_FACTS}),
    ),
    ReportFormat(
        name="model_card", filename="report.modelcard.md", media_type="text/markdown", render=render_model_card
    ),
    MAPPING,
)


@hookimpl
def report_formats() -> list[ReportFormat]:
    return list(FORMATS)
