"""The document that people decide by: questions with their answers, and what else a report states, from it alone.

The sheet, the model card and the mapping are templates of this one document, in `templates`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from leafgate.disclosure import summary, wording
from leafgate.disclosure.questions import answers, questions_not_examined
from leafgate.folders import content_digest
from leafgate.io.json import JsonDocument, JsonObject, readable
from leafgate.io.text import clean
from leafgate.reports.common import command, data_digest, limit_row, reproduction_note
from leafgate.reports.html import environment
from leafgate.reports.interpretation import method_lines
from leafgate.reports.markdown import markdown_templates

MAX_COLUMNS = 6
"""Columns that the opening sentences list by name."""
FactName = Literal[
    "file",
    "output",
    "policy",
    "report",
    "data",
    "earlier_outputs",
    "published",
    "secret",
    "adversary",
    "attacks",
    "claims",
    "waivers",
    "masking",
    "versions",
    "reproduction",
]
REMAINING = (
    "Whoever knows more than the policy assumes, or attacks in another way, may learn more.",
    "Each further output about these people may add to what can be learned from this one.",
    "What has left cannot be called back.",
)
NO_PROMISE = "No differential privacy is promised, so that no bound holds against every adversary."
NOTHING_BUILT = "none: nothing could be built that keeps what it must promise"


def rendered(template: str, report: JsonObject, /, **more: object) -> bytes:
    """A template of the document of a report and what else it prints; equal ones give equal bytes."""
    templates = environment() if template.endswith(".html.j2") else markdown_templates()
    return templates.get_template(template).render(**decision_document(report), **more).encode() + b"\n"


def decision_document(report: JsonObject) -> JsonDocument:
    """What a report states for people who decide, without anything that its audience may not know."""
    promise = [] if summary.claims_differential_privacy(report) else [NO_PROMISE]
    return {
        "for_auditors": report["audience"] == "auditor",
        "policy": clean(report["policy"]["name"]),
        "outcome": outcome_words(report),
        "state": {"pass": "passed", "fail": "failed"}.get(report["verdict"], report["verdict"]),
        "examined": [_what_was_examined(report), _adversary(report)],
        "to_decide": wording.decisions(report["notes"]),
        "facts": facts(report),
        "answers": answers(report),
        "not_examined": questions_not_examined(report),
        "affected": _affected(report),
        "guesses": list(_guesses(report)),
        "remedies": [line.replace("`", "") for line in summary.remedies_once(report)],
        "remains": [*REMAINING, *promise, *wording.statements(report["notes"])],
        "limits": [limit_row(finding) for finding in summary.findings_by_urgency(report)],
    }


def facts(report: JsonObject) -> dict[FactName, str]:
    """What a report states besides its findings, each in a line; a framework names what it needs."""
    file, release, policy = wording.audited_file(report), report["release"], report["policy"]
    method = list(method_lines(report))

    def of_method(beginning: str) -> str:
        lines = [(what, line) for what, line in method if what.startswith(beginning)]
        return "; ".join(f"{what.removeprefix(beginning)}: {line}" for what, line in lines)

    digest_of_waivers = f"; its waivers sha256 {policy['waivers_sha256']}" if policy.get("waivers_sha256") else ""
    others = (report.get("method") or {}).get("other_releases", 0)
    had = [f"{others} that the attacks had"] if others else []
    what, digest = data_digest(report)
    lines: dict[FactName, str] = {
        "file": wording.file_words(file) if file else "",
        "output": f"{wording.release_words(release)}, sha256 {release['sha256']}" if release else NOTHING_BUILT,
        "policy": f"{policy['name']}, sha256 {policy['sha256']}{digest_of_waivers}",
        "report": f"sha256 {content_digest(readable(report))}",
        "data": f"{wording.people_words(report['data'])}; {what} {digest}".rstrip()
        if "people" in report["data"]
        else "",
        "earlier_outputs": "; ".join([*had, *filter(None, [wording.ledger_words(report)])]),
        "published": "; ".join(line for what, line in method if what == "Published"),
        "secret": "; ".join(line for what, line in method if what == "Secret"),
        "adversary": ". ".join(f"{what}: {line}" for what, line in method if what.startswith(("The adversary", "It"))),
        "attacks": of_method("Attack "),
        "claims": of_method("The release claims ") or "none",
        "waivers": "; ".join(_waivers(report)) or "none",
        "masking": "none: exact numbers, and the paths of exposed people"
        if report["audience"] == "auditor"
        else "numbers of few people are suppressed, and all others are rounded to one grid",
        "versions": ", ".join(f"{name} {version}" for name, version in report["versions"].items()),
        "reproduction": f"{reproduction_note(report)} {command(report)}",
    }
    return {name: line for name, line in lines.items() if line}


def outcome_words(report: JsonObject) -> str:
    """How many limits hold, in a sentence that decides nothing.

    >>> outcome_words({"findings": [{"passed": True}, {"passed": True}]})
    'No limit is broken: 2 of 2 hold.'
    >>> outcome_words({"findings": [{"passed": False}, {"passed": None}, {"passed": True}]})
    '1 of 3 limits is broken, and of 1 it could not be determined whether it holds.'
    """
    states = [wording.finding_state(finding) for finding in report["findings"]]
    failed, unknown, waived = (states.count(state) for state in ("failed", "inconclusive", "waived"))
    accepted = f"{waived} {'limit is' if waived == 1 else 'limits are'} broken and waived" if waived else ""
    if failed:
        undecided = f"of {unknown} it could not be determined whether {'it holds' if unknown == 1 else 'they hold'}"
        rest = ", and ".join(filter(None, [undecided if unknown else "", accepted]))
        broken = f"{failed} of {len(states)} limits {'is' if failed == 1 else 'are'} broken"
        return f"{broken}, and {rest}." if rest else f"{broken}."
    if unknown or not states:
        held = ", and " + accepted if accepted else ""
        which = (
            f"{unknown} of {len(states)} limits {'holds' if unknown == 1 else 'hold'}" if states else "any limit holds"
        )
        return f"It could not be determined whether {which}{held}."
    held = f"{states.count('passed')} of {len(states)} hold"
    return f"No limit is broken that is not waived: {held}, {accepted}." if waived else f"No limit is broken: {held}."


def _what_was_examined(report: JsonObject) -> str:
    people = report["data"].get("people")
    whose = f"the records of {wording.number_words(people)} people" if people is not None else "records of people"
    release = report["release"]
    if release is None:
        return f"No model could be learned from {whose} that keeps what it must promise."
    what = "A table of records made" if not release["trees"] else "A model learned"
    file = wording.audited_file(report)
    named = f" (the file {wording.quoted_name(file['name'])})" if file else ""
    return f"{what} from {whose}{named} was examined for what it discloses about them."


def _adversary(report: JsonObject) -> str:
    """Who attacked it, and what that adversary wants."""
    method = report.get("method")
    if not method or not method["attacks"]:
        return "It was not attacked: only its numbers were checked."
    known = f"who knows {_listed(method['known'])} of everybody" if method["known"] else "who knows nothing of people"
    wanted = f" and wants to learn {_listed(method['secret'])}" if method["secret"] else ""
    return f"It was attacked as an outsider would attack it {known}{wanted}."


def _listed(columns: Sequence[str]) -> str:
    more = len(columns) - MAX_COLUMNS
    last = [f"{more} more column{'s' if more > 1 else ''}"] if more > 0 else []
    names = [*map(clean, columns[:MAX_COLUMNS]), *last]
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def _affected(report: JsonObject) -> list[str]:
    """How many people are affected, as far as the report's audience may know it."""
    if report["verdict"] != "pass":
        return summary.who_is_affected(report) or [summary.UNDECIDED]
    waived = ", but for limits that are waived" if report["waived"] else ""
    return [f"No more people are outside a limit than it allows{waived}."]


def _guesses(report: JsonObject) -> Iterator[str]:
    """How often attacks are right beside a guess that needs no output, where the report's audience may know it."""
    for guess in report.get("guesses", ()):
        right, without = (f"{100 * guess[key]:.3g} %" for key in ("right", "commonest"))
        about = f"{clean(guess['attack'])} about {clean(guess['secret'])}"
        yield f"The best guess of {about} is right for {right} of people, and for {without} without the output."


def _waivers(report: JsonObject) -> Iterator[str]:
    """The waivers that apply, those that do not, and the day on which they were judged."""
    for waiver in report.get("waivers", ()):
        if waiver["status"] == "applied":
            who = f"asked for by {waiver['owner']}, approved by {waiver['approved_by']}"
            yield f"{waiver['finding']} is waived until {waiver['expires']}, {who}: {waiver['reason']}"
    yield from wording.idle_waiver_lines(report)
    if "judged_on" in report:
        yield f"judged on {report['judged_on']}"
