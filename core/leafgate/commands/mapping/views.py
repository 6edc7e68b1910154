"""The document of a mapping as Markdown and as a page, each drawn from that document alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from jinja2 import Environment

from leafgate.io.json import JsonObject
from leafgate.io.text import LONGEST, clean
from leafgate.reports.html import templates_of
from leafgate.reports.markdown import markdown_text

MAX_CRITERIA = 400
"""Rows of the table of criteria; the JSON has all of them."""
MAX_FINDINGS = 12
"""Findings below one clause."""
BOUNDS = (
    "This mapping says which parts of a clause a report answers, and what people must still judge. It says of no "
    "clause that it is met, and it decides nothing."
)
ANSWERS = {"part": "a part", "no": "nothing"}


def markdown(document: JsonObject) -> bytes:
    """The mapping as Markdown; every text is escaped."""
    return "".join(f"{line}\n" for line in _lines(document)).encode()


def page(document: JsonObject) -> bytes:
    """The mapping as a self-contained page without scripts."""
    values = {
        "map": document,
        "bounds": BOUNDS,
        "answers": ANSWERS,
        "most": MAX_CRITERIA,
        "most_findings": MAX_FINDINGS,
    }
    return _templates().get_template("map.html.j2").render(**values).encode() + b"\n"


@cache
def _templates() -> Environment:
    templates = templates_of("leafgate.commands.mapping")
    templates.globals["output_words"] = output_words
    templates.globals["evidence_words"] = evidence_words
    return templates


def output_words(document: JsonObject) -> str:
    """The digests of the output that a report is about."""
    report = document["report"]
    release, file = report["release"], report["file"]
    named = f"file {file['name']} ({file['format']}), sha256 {file['sha256']}" if file else ""
    sealed = f"release sha256 {release['sha256']}" if release else "no output: none was built"
    return "; ".join(filter(None, [named, sealed]))


def _lines(document: JsonObject) -> Iterator[str]:
    framework, report = document["framework"], document["report"]
    yield f"# {markdown_text(framework['title'])}: what one report answers"
    yield ""
    if report["audience"] == "auditor":
        yield from ("**For the owner only: made from an auditor's report.**", "")
    yield f"- edition: {markdown_text(framework['edition'])}; {markdown_text(framework['source'])}"
    yield f"- report: sha256 `{report['sha256']}`; {markdown_text(report['outcome'])}"
    yield f"- output: {markdown_text(output_words(document))}"
    yield f"- policy: {markdown_text(report['policy']['name'])}, sha256 `{report['policy']['sha256']}`"
    yield f"- mapping: sha256 `{framework['sha256']}`"
    yield from ("", markdown_text(framework["about"]), "", f"> {markdown_text(BOUNDS)}")
    for clause in document["clauses"]:
        yield from _clause(clause)
    yield from _controls(document["controls"])
    yield from _risks(document["residual_risks"])
    if document["not_asked"]:
        yield from ("", "## What nobody asked", "")
        yield from (f"- {markdown_text(question)}" for question in document["not_asked"])
    yield from _criteria(document["criteria"])
    if document["checklist"]:
        yield from ("", "## Before a decision", "")
        yield from (f"- [ ] {markdown_text(item)}" for item in document["checklist"])


def _clause(clause: JsonObject) -> Iterator[str]:
    yield from ("", f"## {markdown_text(clause['clause'])}", "")
    yield from (f"Asks: {markdown_text(clause['asks'])}", "")
    yield f"This report answers {ANSWERS[clause['answers']]}. {markdown_text(clause['because'])}"
    yield ""
    yield from _evidence(clause["evidence"])
    yield from (f"- to judge: {markdown_text(item)}" for item in clause["to_judge"])


def _evidence(evidence: JsonObject) -> Iterator[str]:
    findings = evidence["findings"]
    for finding in findings[:MAX_FINDINGS]:
        yield f"- {finding['state']}: {markdown_text(finding['says'])}"
    if len(findings) > MAX_FINDINGS:
        yield f"- and {len(findings) - MAX_FINDINGS} more findings"
    yield from (f"- {fact['is']}: {markdown_text(fact['says'])}" for fact in evidence["facts"])
    if evidence["missing"]:
        yield f"- not in this report: {'; '.join(map(markdown_text, evidence['missing']))}"


def evidence_words(evidence: JsonObject) -> str:
    """Evidence in one cell of a table."""
    findings = [f"{finding['state']}: {finding['says']}" for finding in evidence["findings"][:MAX_FINDINGS]]
    facts = [f"{fact['is']}: {fact['says']}" for fact in evidence["facts"]]
    return clean("; ".join([*findings, *facts]), 4 * LONGEST) or "nothing in this report"


def _controls(controls: list[JsonObject]) -> Iterator[str]:
    if not controls:
        return
    yield from ("", "## Controls, by who controls each", "", "| control | controlled by | in this report |")
    yield "| --- | --- | --- |"
    for each in controls:
        cells = each["control"], each["controlled_by"], evidence_words(each["evidence"])
        yield f"| {' | '.join(map(markdown_text, cells))} |"


def _risks(risks: list[JsonObject]) -> Iterator[str]:
    if not risks:
        return
    yield from ("", "## Residual risks", "", "| risk | in this report |", "| --- | --- |")
    yield from (f"| {markdown_text(each['risk'])} | {markdown_text(each['status'])} |" for each in risks)


def _criteria(criteria: list[JsonObject]) -> Iterator[str]:
    yield from ("", "## Every criterion that was applied", "", "| criterion | limit | outcome |", "| --- | --- | --- |")
    for each in criteria[:MAX_CRITERIA]:
        cells = each["id"], each["limit_in_words"] or "a check without a number", each["outcome"]
        yield f"| {' | '.join(map(markdown_text, cells))} |"
    if len(criteria) > MAX_CRITERIA:
        yield f"| and {len(criteria) - MAX_CRITERIA} more, in the JSON | | |"
