"""The section "Privacy audit" of a model card, as hubs of models show it, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from leafgate.disclosure.questions import questions_not_asked
from leafgate.disclosure.summary import finding_state, findings_by_urgency, in_short
from leafgate.disclosure.text import (
    audited_file,
    decisions,
    idle_waiver_lines,
    people_words,
    quoted_name,
    release_words,
)
from leafgate.io.json import JsonObject
from leafgate.reports.common import command, reproduction_note, sentence
from leafgate.reports.interpretation import BOUNDS, method_lines
from leafgate.reports.manager import outcome_words
from leafgate.reports.markdown import markdown_text

MAX_LIMITS = 50
"""Rows of the table of limits."""
FOR_AUDITORS = "**This was made from an auditor's report. Do not publish it: make it from the public one.**"


def model_card(report: JsonObject) -> bytes:
    """The section of a model card; every text is escaped."""
    return "".join(f"{line}\n" for line in _lines(report)).encode()


def _lines(report: JsonObject) -> Iterator[str]:
    yield from ("## Privacy audit", "")
    if report["audience"] == "auditor":
        yield from (FOR_AUDITORS, "")
    asked = [f"- {markdown_text(note)}" for note in decisions(report["notes"])[:MAX_LIMITS]]
    yield from (*asked, "") if asked else ()
    yield from (markdown_text(outcome_words(report)), "")
    yield from ("| | |", "| --- | --- |")
    yield from (f"| {name} | {text} |" for name, text in _facts(report))
    yield from ("", "### Limits", "", "| outcome | limit |", "| --- | --- |")
    findings = findings_by_urgency(report)
    for finding in findings[:MAX_LIMITS]:
        yield f"| {finding_state(finding)} | {markdown_text(sentence(finding))} |"
    if len(findings) > MAX_LIMITS:
        yield f"| | and {len(findings) - MAX_LIMITS} more, in the report |"
    yield from ("", *(f"- {markdown_text(line)}" for line in list(idle_waiver_lines(report))[:MAX_LIMITS]))
    threat_model = list(method_lines(report))
    if threat_model:
        yield from ("", "### What the attacks assume", "")
        yield from (f"- **{markdown_text(what)}**: {markdown_text(line)}" for what, line in threat_model)
    yield from ("", "### What this does not say", "")
    yield from (f"- Not examined: {markdown_text(question.asks)}" for question in questions_not_asked(report))
    yield from (f"- {markdown_text(line)}" for line in _not_said(report))
    yield from ("", f"{markdown_text(reproduction_note(report))} `{command(report)}`")


def _facts(report: JsonObject) -> Iterator[tuple[str, str]]:
    """What was audited, by which policy and program, with digests."""
    if file := audited_file(report):
        yield "audited file", f"{markdown_text(quoted_name(file['name']))}, sha256 `{file['sha256']}`"
    release = report["release"]
    if release is not None:
        yield "release", f"{markdown_text(release_words(release))}, sha256 `{release['sha256']}`"
    yield "policy", f"{markdown_text(report['policy']['name'])}, sha256 `{report['policy']['sha256']}`"
    if "people" in report["data"]:
        yield "data", markdown_text(people_words(report["data"]))
    if "judged_on" in report:
        yield "waivers judged on", markdown_text(report["judged_on"])
    yield "audited with", markdown_text(f"leafgate {report['versions'].get('leafgate', '')}")


def _not_said(report: JsonObject) -> list[str]:
    """What does not follow from the outcome."""
    not_meant = [lines for heading, lines in in_short(report) if heading == "What that does not mean"]
    return not_meant[0] if not_meant else [*BOUNDS]
