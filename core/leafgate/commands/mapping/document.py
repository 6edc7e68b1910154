"""The document `leafgate/map/1`: a framework's clauses with the evidence of one report, and every criterion applied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from leafgate.commands.mapping.facts import TITLES, fact_line
from leafgate.commands.mapping.framework import Clause, Evidence, Framework, FrameworkFile
from leafgate.commands.stored_report import StoredReport
from leafgate.disclosure.questions import (
    CHECKS,
    QUESTION_BY_NAME,
    answers_question,
    arises,
    questions_not_asked,
    use_of_attack,
    use_of_finding,
)
from leafgate.disclosure.summary import FINDING_STATES, finding_state
from leafgate.disclosure.text import audited_file, finding_headline, limit_words
from leafgate.errors import InvalidError, Problem, nearest_name
from leafgate.io.json import JsonDocument, JsonObject
from leafgate.io.text import clean
from leafgate.reports.manager import outcome_words

FORMAT = "leafgate/map/1"
NOTHING = "No finding of this report answers it"


def mapped(file: FrameworkFile, report: StoredReport) -> JsonDocument:
    """The document for one framework and one report; equal files give equal documents.

    Each clause says `part` where findings or facts of the report answer a part of it, and `no` otherwise, with the
    reason. What a clause names and the report lacks is listed under `missing`.
    """
    framework, document = file.framework, report.document
    policy, release = document["policy"], document["release"]
    audited = audited_file(document)
    return {
        "format": FORMAT,
        "framework": {
            **{key: getattr(framework, key) for key in ("name", "title", "edition", "source", "about")},
            "sha256": file.sha256,
        },
        "report": {
            "sha256": report.sha256,
            "audience": document["audience"],
            "outcome": outcome_words(document),
            "policy": {"name": policy["name"], "sha256": policy["sha256"]},
            "release": None if release is None else {"sha256": release["sha256"]},
            "file": None if audited is None else dict(audited),
            "versions": dict(document["versions"]),
        },
        "clauses": [_clause(clause, document) for clause in framework.clauses],
        "criteria": [_criterion(finding, document) for finding in document["findings"]],
        "controls": [
            {
                "control": each.control,
                "controlled_by": each.controlled_by,
                "evidence": _evidence(each.evidence, document),
            }
            for each in framework.controls
        ],
        "residual_risks": [_risk(each.risk, each.evidence, document) for each in framework.residual_risks],
        "not_asked": [question.asks for question in questions_not_asked(document)],
        "checklist": list(framework.checklist),
    }


def _clause(clause: Clause, report: JsonObject) -> JsonDocument:
    evidence = _evidence(clause.evidence, report)
    answers, because = _answer(clause, evidence)
    return {
        "clause": clause.clause,
        "asks": clause.asks,
        "answers": answers,
        "because": because,
        "evidence": evidence,
        "to_judge": list(clause.to_judge),
    }


def _answer(clause: Clause, evidence: JsonObject) -> tuple[str, str]:
    """How far a report answers a clause, and why not where it does not.

    Facts alone answer a part only of a clause that names no findings: that an attack is listed proves nothing.
    """
    if clause.answers == "no":
        return "no", "leafgate does not answer it."
    states = [finding["state"] for finding in evidence["findings"]]
    if clause.evidence.names_findings:
        if not states:
            return "no", f"{NOTHING}: the policy asks for nothing of the kind."
        if set(states) == {"inconclusive"}:
            return "no", f"{NOTHING}: what the policy asks for could not be determined."
    elif not evidence["facts"]:
        return "no", "This report states nothing of the kind."
    urgent = [state for state in FINDING_STATES if state in states]
    counted = ", ".join(f"{states.count(state)} {state}" for state in urgent)
    return "part", f"By findings: {counted}." if counted else "By what the report states."


def _evidence(evidence: Evidence, report: JsonObject) -> JsonDocument:
    """The findings and the facts of a report that are evidence, and what it lacks of it."""
    findings = [finding for finding in report["findings"] if _is_evidence(finding, evidence, report)]
    lines = {name: fact_line(report, name) for name in evidence.facts}
    return {
        "findings": [
            {"id": each["id"], "state": finding_state(each), "says": finding_headline(each)} for each in findings
        ],
        "facts": [{"name": name, "is": TITLES[name], "says": line} for name, line in lines.items() if line],
        "missing": [*_missing(evidence, findings, report), *(TITLES[name] for name, line in lines.items() if not line)],
    }


def _is_evidence(finding: JsonObject, evidence: Evidence, report: JsonObject) -> bool:
    return (
        use_of_finding(finding) in evidence.metrics
        or (finding["attack"] is not None and use_of_attack(report, finding["attack"]) in evidence.attacks)
        or any(answers_question(report, finding, QUESTION_BY_NAME[name]) for name in evidence.questions)
    )


def _missing(evidence: Evidence, findings: Iterable[JsonObject], report: JsonObject) -> Iterator[str]:
    """The questions that arise, and the metrics and attacks, that no finding is about."""
    listed = list(findings)
    for question in map(QUESTION_BY_NAME.__getitem__, evidence.questions):
        if arises(report, question) and not any(answers_question(report, each, question) for each in listed):
            yield question.asks
    uses = {use_of_finding(finding) for finding in listed}
    attacks = {use_of_attack(report, finding["attack"]) for finding in listed}
    yield from (f"metric {name}" for name in evidence.metrics if name not in uses)
    yield from (f"attack {name}" for name in evidence.attacks if name not in attacks)


def _criterion(finding: JsonObject, report: JsonObject) -> JsonDocument:
    """One criterion that was applied: what was limited, the limit, and the outcome."""
    attack = finding["attack"]
    return {
        "id": finding["id"],
        "metric": use_of_finding(finding),
        "attack": None if attack is None else use_of_attack(report, attack),
        "secret": finding["secret"],
        "limit": dict(finding["limit"]),
        "limit_in_words": limit_words(finding),
        "outcome": finding_state(finding),
        "score": finding["value"],
        "checked_by": finding["plugin"],
        "where": dict(finding.get("where") or {}),
        **({"waiver": dict(finding["waiver"])} if "waiver" in finding else {}),
    }


def _risk(risk: str, evidence: Evidence, report: JsonObject) -> JsonDocument:
    """A risk, and how far the report is about it."""
    shown = _evidence(evidence, report)
    states = [finding["state"] for finding in shown["findings"]]
    if not states:
        status = "not examined"
    elif "failed" in states:
        status = "examined: a limit is broken"
    elif "inconclusive" in states:
        status = "examined: could not be determined"
    elif "waived" in states:
        status = "examined: a broken limit is waived"
    else:
        status = "examined: no limit is broken"
    return {"risk": risk, "status": status, "evidence": shown}


def check_names(framework: Framework, place: str, report: JsonObject, installed: Iterable[str]) -> None:
    """Raise InvalidError for metrics and attacks that neither an installed plugin nor the report has.

    A misspelt name would never have a finding, and the clause would seem to be about something that was not asked.
    """
    of_report = {use_of_finding(each) for each in report["findings"]}
    of_report |= {use_of_attack(report, each["attack"]) for each in report["findings"] if each["attack"] is not None}
    known = {*installed, *CHECKS, *of_report}
    problems = [
        Problem(
            f"{place}: {where}.{key}[{i}]",
            f"nobody offers {clean(name)!r}",
            nearest_name(name, known, "`leafgate plugins` lists what is installed"),
        )
        for where, evidence in framework.evidence
        for key, names in (("metrics", evidence.metrics), ("attacks", evidence.attacks))
        for i, name in enumerate(names)
        if name not in known
    ]
    if problems:
        raise InvalidError.listing(problems)
