"""A report as Markdown, for a CI job's summary."""

from __future__ import annotations

import re
from collections.abc import Iterator

from leafgate.disclosure.questions import questions_not_examined
from leafgate.disclosure.summary import finding_state, findings_by_urgency, in_short, plain_meaning
from leafgate.disclosure.text import (
    audited_file,
    decisions,
    idle_waiver_lines,
    ledger_words,
    people_words,
    quoted_name,
    statements,
    verdict_words,
)
from leafgate.io.json import JsonObject
from leafgate.io.text import LONGEST, clean
from leafgate.reports.common import (
    command,
    data_digest,
    detail_lines,
    reproduction_note,
    sentence,
    state_counts,
)
from leafgate.reports.count_tables import MAX_TABLES, count_tables
from leafgate.reports.count_tables import TITLE as COUNTS_TITLE
from leafgate.reports.inference_table import HEADINGS, READING, TITLE, Cell, inference_rows
from leafgate.reports.interpretation import meaning, method_lines

LINKED = re.compile(r"(?i)(www|https?|ftp|mailto|xmpp)([.:])")
SIGNS = {"failed": "❌", "inconclusive": "❓", "waived": "⚠️", "passed": "✅"}
MAX_DETAILED = 20
"""Findings with their details."""
MAX_INFERENCES = 100
"""Rows of the table of inferred inputs."""
MAX_LISTED = 1000
"""Findings in the table: a job's summary holds a megabyte."""


def markdown(report: JsonObject) -> bytes:
    """The verdict, a table of the findings, and details of those that did not pass; every text is escaped."""
    return "".join(f"{line}\n" for line in _lines(report)).encode()


def _lines(report: JsonObject) -> Iterator[str]:
    yield f"# {markdown_text(report['policy']['name'])}: {markdown_text(verdict_words(report))}"
    yield ""
    yield from (f"- {markdown_text(note)}" for note in decisions(report["notes"])[:MAX_LISTED])
    release, data = report["release"], report["data"]
    if file := audited_file(report):
        what = f"{markdown_text(quoted_name(file['name']))} ({markdown_text(file['format'])})"
        yield f"- audited file {what}, sha256 `{file['sha256']}`"
    yield f"- policy `{report['policy']['sha256'][:16]}`"
    if release is not None:
        yield f"- release `{release['sha256'][:16]}` by {markdown_text(release['builder'].get('use', '?'))}"
    if words := ledger_words(report):
        yield f"- {words}"
    if "people" in data:
        what, digest = data_digest(report)
        yield f"- {markdown_text(people_words(data))}, {what}" + (f" `{digest[:16]}`" if digest else "")
    yield "- " + ", ".join(f"{count} {kind}" for kind, count in state_counts(report).items() if count)
    if questions := questions_not_examined(report):
        yield f"- Nobody examined: {markdown_text(' '.join(questions))}"
    for heading, sentences in in_short(report):
        yield from _in_short(heading, sentences)
    yield ""
    yield "| | finding | line |"
    yield "|---|---|---|"
    findings = findings_by_urgency(report)
    for finding in findings[:MAX_LISTED]:
        where = finding.get("where") or {}
        line = f"{markdown_text(where['file'])}:{where['line']}" if where else ""
        yield f"| {SIGNS[finding_state(finding)]} | {_table_cell(finding)} | {line} |"
    if len(findings) > MAX_LISTED:
        yield f"| | and {len(findings) - MAX_LISTED} more | |"
    for finding in [finding for finding in findings if finding_state(finding) != "passed"][:MAX_DETAILED]:
        yield from _explained(finding)
    yield from _inferences(report)
    yield from _counts(report)
    yield from _ending(report)


def _in_short(heading: str, sentences: list[str]) -> Iterator[str]:
    """A heading with its sentences; nothing where there are none."""
    if sentences:
        yield from ("", f"**{heading}**", "")
        yield from (f"- {markdown_text(sentence)}" for sentence in sentences)


def _table_cell(finding: JsonObject) -> str:
    """The meaning of a finding, and below it its result."""
    meaning_text = plain_meaning(finding)
    return (f"**{markdown_text(meaning_text)}**<br>" if meaning_text else "") + markdown_text(sentence(finding))


def _explained(finding: JsonObject) -> Iterator[str]:
    yield ""
    yield f"**{markdown_text(finding['id'])}** ({finding_state(finding)})"
    yield ""
    yield from (f"- {markdown_text(line)}" for line in detail_lines(finding))


def _inferences(report: JsonObject) -> Iterator[str]:
    """The table of what attacks infer of an input; nothing for a report without it."""
    rows = list(inference_rows(report["findings"]))
    if not rows:
        return
    yield from ("", f"**{TITLE}**", "", markdown_text(READING), "")
    yield f"| {' | '.join(HEADINGS)} |"
    yield "|---" * len(HEADINGS) + "|"
    yield from (f"| {' | '.join(map(_inference_cell, row))} |" for row in rows[:MAX_INFERENCES])
    if len(rows) > MAX_INFERENCES:
        yield from ("", f"And {len(rows) - MAX_INFERENCES} more, in the JSON.")


def _inference_cell(cell: Cell) -> str:
    return markdown_text(cell.text) + (f"<br>{markdown_text(cell.note)}" if cell.note else "")


def _counts(report: JsonObject) -> Iterator[str]:
    """The tables of whom attacks count; nothing for a report without them."""
    tables = count_tables(report["findings"])
    if tables:
        yield from ("", f"**{COUNTS_TITLE}**")
    for table in tables[:MAX_TABLES]:
        yield from ("", markdown_text(table.title), "")
        yield f"| {' | '.join(map(markdown_text, table.headings))} |"
        yield "|---" * len(table.headings) + "|"
        yield from (f"| {' | '.join(map(markdown_text, row))} |" for row in table.rows)
    if len(tables) > MAX_TABLES:
        yield from ("", f"And {len(tables) - MAX_TABLES} more, in the JSON.")


def _ending(report: JsonObject) -> Iterator[str]:
    yield ""
    items = [*idle_waiver_lines(report), *statements(report["notes"]), *meaning(report)]
    yield from (f"> {markdown_text(line)}  " for line in items[:MAX_LISTED])
    yield ""
    yield from (
        f"- **{markdown_text(what)}**: {markdown_text(line)}" for what, line in list(method_lines(report))[:MAX_LISTED]
    )
    yield ""
    yield f"{markdown_text(reproduction_note(report))} `{command(report)}`"


def markdown_text(text: object, longest: int = 4 * LONGEST) -> str:
    """The text, escaped for Markdown and HTML."""
    escaped = re.sub(r"([\\`*_{}\[\]()#+!|<>&~@$:-])", _escaped, clean(text, longest))
    return LINKED.sub(lambda link: f"{link[1]}&#{ord(link[2])};", escaped)  # no address may become a link


def _escaped(match: re.Match[str]) -> str:
    char = match.group(1)
    return {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;", "|": "&#124;"}.get(
        char, char if char in ":-()+!" else f"\\{char}"
    )
