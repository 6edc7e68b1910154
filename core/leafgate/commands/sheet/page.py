"""The decision sheet: what it prints, as a self-contained page without scripts, which is two A4 pages in print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from jinja2 import Environment

from leafgate.commands.sheet.facts import MAX_EARLIER, SheetFacts
from leafgate.commands.stored_report import StoredReport
from leafgate.disclosure.questions import (
    QUESTIONS,
    USE_METRICS,
    answers_question,
    questions_not_asked,
    use_of_finding,
)
from leafgate.disclosure.summary import (
    claims_differential_privacy,
    finding_state,
    findings_by_urgency,
    how_affected,
    least_affected,
    what_to_change,
)
from leafgate.disclosure.text import (
    audited_file,
    decisions,
    finding_headline,
    ledger_words,
    number_words,
    people_words,
    statements,
)
from leafgate.io.json import JsonDocument, JsonObject
from leafgate.io.text import clean
from leafgate.reports.html import templates_of
from leafgate.reports.interpretation import published_words
from leafgate.reports.manager import manager_paragraph, outcome_words

MAX_FINDINGS = 8
"""Rows of the table of limits; all are in the report."""
MAX_LINES = 3
"""Lines of one kind: what limits mean, what would help, notes."""
MAX_LISTED = 8
"""Columns and attacks that one line names."""
MAX_LINE = 140
"""Characters of a line."""
DENSE_LENGTH = 3200
"""Characters of a sheet from which on it is set in small print, so that two pages hold it."""
MAX_DECISION = 300
"""Characters of a note that asks for a decision."""
MAX_NAME = 90
"""Characters of a name of a policy, a file or an attack."""
MAX_PARAGRAPH = 1150
KINDS = ("file", "query", "other environment")
REMAINING = (
    "Whoever knows more than the policy assumes, or attacks in another way, may learn more.",
    "Each further output about these people may add to what can be learned from this one.",
    "What has left cannot be called back.",
)
NO_PROMISE = "No differential privacy is promised, so that no bound holds against every adversary."
USEFULNESS = "Is the output of use?"
OTHER_CHECK = "Can the other answers be relied on?"
"""Checks of the core and of organisations, without which a limit that holds would prove nothing."""
CONTENT_OF_TABLE = "records of people, or what was learned of them"


def sheet_content(report: StoredReport, facts: SheetFacts) -> JsonDocument:
    """What the sheet prints; None stands for a line to fill in by hand."""
    document = report.document
    findings = findings_by_urgency(document)
    content: JsonDocument = {
        "for_auditors": report.for_auditors,
        "title": _short(facts.project or document["policy"]["name"], MAX_NAME),
        "request": list(_request(document, facts)),
        "kinds": [(kind, facts.kind == kind) for kind in KINDS],
        "output": list(_output(report)),
        "outcome": outcome_words(document),
        "findings": [_row(finding, document) for finding in findings[:MAX_FINDINGS]],
        "more_findings": max(len(findings) - MAX_FINDINGS, 0),
        "asked": list(_asked(document)),
        "not_asked": [question.asks for question in questions_not_asked(document)],
        "affected": _affected(document),
        "guesses": list(_guesses(document)),
        "how": _lines(how_affected(document)) if document["verdict"] != "pass" else [],
        "remains": [*REMAINING, *([] if claims_differential_privacy(document) else [NO_PROMISE])],
        "waived": _lines(_waived(document)),
        "decisions": [_short(note, MAX_DECISION) for note in decisions(document["notes"])[:MAX_LISTED]],
        "notes": _lines(statements(document["notes"])),
        "would_help": _lines([text.replace("`", "") for text in what_to_change(document)]),
        "paragraph": clean(manager_paragraph(document), MAX_PARAGRAPH),
        "conditions": facts.conditions,
        "review": facts.review,
        "retention": facts.retention,
        "signatures": [("Checker", facts.checker), ("Second checker", facts.second_checker)],
        "author": facts.author,
    }
    return content | {"dense": sum(map(len, _texts(content))) > DENSE_LENGTH}


def _texts(content: object) -> Iterator[str]:
    """Every text in a content."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        yield from _texts(list(content.values()))
    elif isinstance(content, list | tuple):
        for part in content:
            yield from _texts(part)


def _request(report: JsonObject, facts: SheetFacts) -> Iterator[tuple[str, str | None]]:
    """The fields on the request, each with its content."""
    yield "Project", facts.project
    yield "Legal basis or permission", facts.permission
    yield "Requester", facts.requester
    yield "Author of the model", facts.author
    yield "Recipients", facts.recipients
    yield "Licence or contract", facts.licence
    yield "Earlier outputs about these people", _earlier(report, facts)


def _earlier(report: JsonObject, facts: SheetFacts) -> str | None:
    """Earlier outputs that users name, and how many the attacks had."""
    others = (report.get("method") or {}).get("other_releases", 0)
    had = [f"{others} that the attacks had"] if others else []
    named = [*map(_short, facts.earlier_outputs[:MAX_EARLIER]), *had, *filter(None, [ledger_words(report)])]
    return "; ".join(named) or None


def _output(report: StoredReport) -> Iterator[tuple[str, str]]:
    """What the output and the report are, with the digests that link them."""
    document, release = report.document, report.document["release"]
    if file := audited_file(document):
        yield "File", f"{_short(file['name'], MAX_NAME)} ({_short(file['format'], MAX_NAME)})"
        yield "SHA-256 of the file", file["sha256"]
    if release is None:
        yield "Output", "none: nothing could be built that keeps what it must promise"
    else:
        size = f"{number_words(release['trees'])} trees, {number_words(release['leaves'])} leaves"
        one = release["trees"] == 1
        shape = f"1 tree, {number_words(release['leaves'])} leaves" if one else size
        yield "Model", shape if release["trees"] else CONTENT_OF_TABLE
        method = document.get("method") or {}
        if method.get("publishes"):
            yield "Shows", _short(published_words(method))
        yield "SHA-256 as leafgate read it" if file else "SHA-256 of the output", release["sha256"]
    yield "Policy", _short(document["policy"]["name"], MAX_NAME)
    yield "SHA-256 of the policy", document["policy"]["sha256"]
    yield "SHA-256 of the report", report.sha256
    if "people" in document["data"]:
        yield "Learned from", people_words(document["data"])
    judged = f", waivers judged on {document['judged_on']}" if "judged_on" in document else ""
    yield "Checked with", f"leafgate {_short(document['versions'].get('leafgate', ''), MAX_NAME)}{judged}"


def _row(finding: JsonObject, report: JsonObject) -> JsonDocument:
    """One limit: the question that it is about, the limit and its outcome."""
    about = next((each.asks for each in QUESTIONS if answers_question(report, finding, each)), OTHER_CHECK)
    asks = USEFULNESS if use_of_finding(finding) in USE_METRICS else about
    return {"asks": asks, "says": _short(finding_headline(finding)), "state": finding_state(finding)}


def _asked(report: JsonObject) -> Iterator[tuple[str, str]]:
    """Whom the policy assumes as the adversary."""
    method = report.get("method")
    if not method:
        return
    attacks = [_short(attack["name"], 40) for attack in method["attacks"]]
    yield "Attacks", _short(_listed(attacks) if attacks else "none")
    yield "The adversary knows of everybody", _short(_listed(method["known"]) or "nothing")
    if method["granted"]:
        yield "Granted besides", _short(f"{len(method['granted'])} further kinds of knowledge, listed in the report")
    yield "And wants to learn", _short(_listed(method["secret"]) or "no secret")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return ", ".join(clean(name, 40) for name in names[:MAX_LISTED]) + more


def _affected(report: JsonObject) -> str:
    """How many people are affected, as far as the report's audience may know it."""
    if report["verdict"] == "pass" and not report["waived"]:
        return "No more people violate a limit than the limit itself allows."
    if report["verdict"] == "pass":
        return "People outside a limit that is waived. The report says how many, as far as it may."
    least, people = least_affected(report), report["data"].get("people")
    if least is None:
        return "How many people are affected does not follow from this report: it may be all of them."
    whose = f" of {number_words(people)}" if people is not None else ""
    return f"At least {least:,}{whose} people."


def _guesses(report: JsonObject) -> Iterator[str]:
    """How often attacks are right beside a guess that needs no output, where the report's audience may know it."""
    for guess in report.get("guesses", ())[:MAX_LINES]:
        right, without = (f"{100 * guess[key]:.3g} %" for key in ("right", "commonest"))
        yield _short(
            f"The best guess of {clean(guess['attack'], 40)} about {clean(guess['secret'], 40)} is right for {right} "
            f"of people, and for {without} without the output."
        )


def _waived(report: JsonObject) -> Iterator[str]:
    for waiver in report.get("waivers", ()):
        if waiver["status"] == "applied":
            who = f"asked for by {waiver['owner']}, approved by {waiver['approved_by']}"
            yield f"{waiver['finding']} is waived until {waiver['expires']}, {who}: {waiver['reason']}"


def _lines(lines: Sequence[str] | Iterator[str]) -> list[str]:
    """The first of these lines, and how many there are besides."""
    every = list(lines)
    more = [f"And {len(every) - MAX_LINES} more in the report."] if len(every) > MAX_LINES else []
    return [*(_short(line) for line in every[:MAX_LINES]), *more]


def _short(text: object, longest: int = MAX_LINE) -> str:
    return clean(text, longest)


def sheet_page(report: StoredReport, facts: SheetFacts) -> bytes:
    """The page for a report and the facts that its users give; equal ones give equal bytes."""
    content = sheet_content(report, facts)
    return _templates().get_template("sheet.html.j2").render(sheet=content).encode() + b"\n"


@cache
def _templates() -> Environment:
    return templates_of("leafgate.commands.sheet")
