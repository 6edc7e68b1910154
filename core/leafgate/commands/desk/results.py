"""What the page of a result shows of a report: every word and number is the report's own, or was measured."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from leafgate.commands.desk.jobs import BUILT, CHANGED, REMEDIES, Job
from leafgate.commands.desk.policy_text import PolicyText
from leafgate.commands.desk.words import words
from leafgate.disclosure.questions import ANSWER_STATES, answers, questions_not_examined
from leafgate.disclosure.summary import findings_by_urgency, remedies_once
from leafgate.disclosure.wording import decisions, finding_state, number_words, release_words
from leafgate.errors import InvalidError
from leafgate.io.json import JsonDocument, JsonObject
from leafgate.reports.common import exposed_groups, sentence

MAX_GROUPS = 20
MAX_SETTINGS = 4
"""Settings of a builder that are offered."""


def verdict_sentence(report: JsonObject) -> str:
    """The verdict; what is inconclusive states that it is no pass."""
    verdict = "waived" if report["verdict"] == "pass" and report["waived"] else str(report["verdict"])
    number = sum(answer.state == "inconclusive" for answer in answers(report))
    verdict = "one" if verdict == "inconclusive" and number == 1 else verdict
    return str(words()["verdicts"][verdict]).format(number=number)


def job_title(job: Job) -> str:
    """What is audited, in a word or two: nothing was given where the policy builds from the table."""
    report = job.report if job.kind == "audit" else None
    given = job.output if report is None else (report["release"] or {}).get("file")
    is_built = job.kind == "audit" and (not given or str(given).endswith(BUILT))
    return str(words()["runs"]["built" if is_built else job.kind])


def result_context(job: Job, others: Sequence[Job], *, is_public: bool) -> JsonDocument:
    """What the page shows.

    Args:
        job: an audit that ended with a report.
        others: the audit of the given file and of what was tried instead, with reports, this job among them.
        is_public: is it what the public would see?
    """
    report = job.public_report if is_public else job.report
    if report is None:
        raise InvalidError("this report was not written", place="result", remedy="run the audit again")
    found = sorted(answers(report), key=lambda answer: ANSWER_STATES.index(answer.state))
    state = {"fail": "failed"}.get(str(report["verdict"]), str(report["verdict"]))
    findings = findings_by_urgency(report)
    return {
        "title": verdict_sentence(report),
        "report": report,
        "urgent": [answer.says[0] for answer in found if answer.state == state],
        "answers": found,
        "decisions": decisions(report["notes"]),
        "not_examined": questions_not_examined(report),
        "groups": [] if is_public else list(exposed_groups(findings))[:MAX_GROUPS],
        "advice": remedies_once(report),
        "failed": {finding["metric"] for finding in findings if finding_state(finding) == "failed"},
        "examine": words()["examine"],
        "experts": [(finding["id"], finding_state(finding), sentence(finding)) for finding in findings],
        "compared": [] if is_public else compared(others),
    }


def remedies_for(job: Job) -> Sequence[tuple[str, Mapping[str, str]]]:
    """The kinds of jobs that may help, each with its button and what it does, the first the one to try first."""
    report, known = job.report, words()["remedies"]
    model = job.case.facts.model if job.case.is_read else None
    if report is None or report["verdict"] == "pass":
        return []
    failed = {finding["metric"] for finding in report["findings"] if finding_state(finding) == "failed"}
    kinds = ["scrub"] if failed == {"file_disclosure"} else ["repair"]
    offered = kinds if job.kind == "audit" and model is not None and model.kind == "model" else []
    settings = [("set", {**known["set"], "does": does}) for does, _ in settings_of(job) if offered != ["scrub"]]
    return [(kind, known[kind]) for kind in offered] + settings


def settings_of(job: Job) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """How something may be built anew, with the changes of the policy: as its report advises, or in place of a file."""
    report, policy = job.report, job.case.policy
    if report is None:
        return []
    if not job.output.endswith(BUILT):
        built = {"leaves": policy.get("publish", "leaves") or "counts", "measure": True}
        protected = {"build": protected_build(policy), "publish": built}
        return [(words()["remedies"]["set"]["does"], protected)] if job.kind == "audit" else []
    remedies = [each for finding in findings_by_urgency(report) for each in finding.get("remedies", ())]
    advised = [each for each in remedies if each["action"] == "set" and re.match(CHANGED, each.get("place", ""))]
    found = {each["text"]: {**job.record.changes, each["place"]: each["value"]} for each in advised if "value" in each}
    return list(found.items())[:MAX_SETTINGS]


def protected_build(policy: PolicyText) -> dict[str, Any]:
    """A builder that keeps the policy's own limits on groups by construction."""
    limits = policy.get("metrics") or []
    groups = [limit["at_least"] for limit in limits if limit.get("use") == "k_anonymity" and "at_least" in limit]
    required = {"exposure": {"name", "at_most"}, "confidence": {"name"}}
    kept = [(required[limit["use"]], limit) for limit in limits if limit.get("use") in required]
    require = [{key: value for key, value in limit.items() if key not in left_out} for left_out, limit in kept]
    return {"use": "kadet", "k": max([10, *groups]), "require": require}


def compared(jobs: Sequence[Job]) -> JsonDocument:
    """What was measured of the given file and of each other one, side by side."""
    known = [(job, report, job.measured) for job in jobs if (report := job.report) is not None]
    rows = [
        ("Verdict", [str(report["verdict"]) for _, report, _ in known]),
        ("People whom a broken limit is about", [_affected(report) for _, report, _ in known]),
        ("People in the smallest group", [_smallest_group(report) for _, report, _ in known]),
        ("How well it predicts others (0.5 is chance)", [_measured(found.get("auc"), "{:.2f}") for *_, found in known]),
        ("Predictions of others that are right", [_measured(found.get("accuracy"), "{:.0%}") for *_, found in known]),
        ("Size", [release_words(report["release"]) if report["release"] else "none" for _, report, _ in known]),
        ("Columns used", [", ".join(found.get("columns", ())) or "not known" for *_, found in known]),
        ("What the file holds besides", [_held(report) for _, report, _ in known]),
    ]
    uses = [words()["remedies"][job.kind]["use"] if is_usable(job) and not job.is_of_case else "" for job, *_ in known]
    heads = [(job.number, job_title(job)) for job, *_ in known]
    return {"jobs": heads, "rows": rows, "usable": uses if any(uses) else []}


def is_usable(job: Job) -> bool:
    """Did a remedy come to something that passed as it is now, and may take the place of the given file?"""
    report = job.report
    return job.kind in REMEDIES and report is not None and report["verdict"] == "pass" and not job.differences


def _affected(report: JsonObject) -> str:
    affected = report.get("affected")
    if affected is None:
        return "0" if report["verdict"] == "pass" and not report["waived"] else "not known"
    return number_words(affected)


def _smallest_group(report: JsonObject) -> str:
    found = (each["evidence"].get("smallest_group") for each in report["findings"])
    return next((number_words(number) for number in found if number is not None), "not known")


def _measured(value: object, form: str) -> str:
    return form.format(value).replace("%", " %") if isinstance(value, int | float) else "not measured"


def _held(report: Mapping[str, Any]) -> str:
    found = (each["evidence"].get("discloses", ()) for each in report["findings"] if each["metric"] == "published_file")
    held = [str(each["says"]) for each in next(found, ())]
    return "; ".join(held) or words()["on_leaves"][report["method"]["publishes"]]
