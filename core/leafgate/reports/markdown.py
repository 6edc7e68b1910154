"""A report as Markdown, for a CI job's summary, and the templates of all documents in Markdown."""

from __future__ import annotations

import re
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from leafgate.disclosure.summary import findings_by_urgency, in_short, plain_meaning
from leafgate.disclosure.wording import finding_state, ledger_words, people_words, quoted_name
from leafgate.io.json import JsonObject
from leafgate.io.text import LONGEST, clean
from leafgate.reports.common import detail_lines, report_values, sentence

LINKED = re.compile(r"(?i)(www|https?|ftp|mailto|xmpp)([.:])")
SIGNS = {"failed": "❌", "inconclusive": "❓", "waived": "⚠️", "passed": "✅"}
MAX_DETAILED = 20
"""Findings with their details."""
MAX_LISTED = 1000
"""Findings in the table: a job's summary holds a megabyte."""
MAX_TEXT = 4000
"""Characters of one text, which are more than any sentence of a report has."""


@cache
def markdown_templates() -> Environment:
    """The templates in Markdown: every text is escaped, but for what a template marks as safe."""
    templates = Environment(
        loader=PackageLoader("leafgate.reports", "templates"),
        autoescape=False,  # noqa: S701  every text is escaped for Markdown and HTML by `finalize`
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: markdown_text(value, MAX_TEXT) if type(value) is str else value,
    )
    templates.filters["quoted"] = quoted_name
    return templates


def markdown(report: JsonObject) -> bytes:
    """The verdict, a table of the findings, and details of those that did not pass; every text is escaped."""
    findings = findings_by_urgency(report)
    broken = [finding for finding in findings if finding_state(finding) != "passed"]
    values = report_values(report) | {
        "ledger": ledger_words(report),
        "people": people_words(report["data"]) if "people" in report["data"] else "",
        "in_short": list(in_short(report)),
        "findings": [
            (SIGNS[finding_state(each)], plain_meaning(each), sentence(each), each.get("where"))
            for each in findings[:MAX_LISTED]
        ],
        "more": max(len(findings) - MAX_LISTED, 0),
        "explained": [(each["id"], finding_state(each), detail_lines(each)) for each in broken[:MAX_DETAILED]],
    }
    return markdown_templates().get_template("report.md.j2").render(**values).encode() + b"\n"


def markdown_text(text: object, longest: int = 4 * LONGEST) -> str:
    """The text, escaped for Markdown and HTML."""
    escaped = re.sub(r"([\\`*_{}\[\]()#+!|<>&~@$:-])", _escaped, clean(text, longest))
    return LINKED.sub(lambda link: f"{link[1]}&#{ord(link[2])};", escaped)  # no address may become a link


def _escaped(match: re.Match[str]) -> str:
    char = match.group(1)
    return {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;", "|": "&#124;"}.get(
        char, char if char in ":-()+!" else f"\\{char}"
    )
