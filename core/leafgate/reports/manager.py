"""A report as one paragraph for readers who know neither metrics nor attacks, such as a manager."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from leafgate.disclosure.questions import Question, questions_not_asked
from leafgate.disclosure.summary import finding_state, findings_by_urgency, how_affected, least_affected
from leafgate.disclosure.text import audited_file, decisions, file_words, idle_waiver_lines, number_words, quoted_name
from leafgate.io.json import JsonObject
from leafgate.io.text import LONGEST, clean

FOR_AUDITORS = "Made from an auditor's report: for its owner alone. Make what others read from the public report."
MAX_ALARMS = 3
"""Sentences on what broken limits mean."""
MAX_COLUMNS = 6
"""Columns that are listed by name."""
MAX_REMEDY_LENGTH = 220
MAX_PARAGRAPH = 6000
CODE_IN_BRACKETS = re.compile(r"\s*\(`[^`]*`\)")
"""Lines of a policy, which a reader of this paragraph does not write."""


def manager(report: JsonObject) -> bytes:
    """One paragraph in plain words, the decisions that it waits for above it, and below it the file it is about."""
    file = audited_file(report)
    warning = f"{FOR_AUDITORS} " if report["audience"] == "auditor" else ""
    asked = [note.replace("`", "") for note in decisions(report["notes"])]
    lines = [*asked, manager_paragraph(report), *([f"File {file_words(file)}"] if file else [])]
    return "".join(f"{clean(line, MAX_PARAGRAPH)}\n" for line in (warning + lines[0], *lines[1:])).encode()


def manager_paragraph(report: JsonObject) -> str:
    """The sentences of the paragraph, on one line."""
    sentences = [
        _what_was_examined(report),
        _adversary(report),
        outcome_words(report),
        *_idle_waivers(report),
        *_how(report),
        *_who(report),
        *_what_would_help(report),
        *_what_passing_leaves_open(report),
        *_not_examined(questions_not_asked(report)),
        "Whether it may leave is decided by people, and not by this text.",
    ]
    return " ".join(clean(sentence, 4 * LONGEST) for sentence in sentences if sentence)


def outcome_words(report: JsonObject) -> str:
    """How many limits hold, in a sentence that decides nothing.

    >>> outcome_words({"findings": [{"passed": True}, {"passed": True}]})
    'No limit is broken: 2 of 2 hold.'
    >>> outcome_words({"findings": [{"passed": False}, {"passed": None}, {"passed": True}]})
    '1 of 3 limits is broken, and of 1 it could not be determined whether it holds.'
    """
    states = [finding_state(finding) for finding in report["findings"]]
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
    whose = f"the records of {number_words(people)} people" if people is not None else "records of people"
    release = report["release"]
    if release is None:
        return f"No model could be learned from {whose} that keeps what it must promise."
    what = "A table of records made" if not release["trees"] else "A model learned"
    file = audited_file(report)
    named = f" (the file {quoted_name(file['name'])})" if file else ""
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
    more = [f"{len(columns) - MAX_COLUMNS} more columns"] if len(columns) > MAX_COLUMNS else []
    names = [*map(clean, columns[:MAX_COLUMNS]), *more]
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def _idle_waivers(report: JsonObject) -> Iterator[str]:
    count = len(list(idle_waiver_lines(report)))
    if count:
        yield f"{count} {'waiver of the policy does' if count == 1 else 'waivers of the policy do'} not apply."


def _how(report: JsonObject) -> list[str]:
    """What limits that do not hold mean."""
    if report["verdict"] == "pass":
        return []
    alarms = how_affected(report)
    more = ["The report lists more."] if len(alarms) > MAX_ALARMS else []
    return [*alarms[:MAX_ALARMS], *more]


def _who(report: JsonObject) -> Iterator[str]:
    """How many people are affected, as far as the report's audience may know it."""
    if report["verdict"] == "pass":
        return
    least, people = least_affected(report), report["data"].get("people")
    of_everybody = f" of the {number_words(people)}" if people is not None else ""
    if least is not None:
        yield f"At least {least:,}{of_everybody} {'person is' if least == 1 else 'people are'} affected."
    else:
        yield "How many people are affected does not follow from this report: it may be all of them."


def _what_would_help(report: JsonObject) -> Iterator[str]:
    """The best remedy of the most urgent finding that has one, without lines of a policy."""
    for finding in findings_by_urgency(report):
        for remedy in finding.get("remedies", ()):
            if remedy["action"] == "none":
                continue
            text = clean(CODE_IN_BRACKETS.sub("", remedy["text"]).replace("`", ""), MAX_REMEDY_LENGTH)
            tried = " This was tried, and no limit was broken." if remedy["tried"] else ""
            yield f"What would help: {text}{tried}"
            return


def _what_passing_leaves_open(report: JsonObject) -> Iterator[str]:
    if report["verdict"] != "pass":
        return
    if report["waived"]:
        yield "Where a limit is waived, more can be learned about people than it allows."
    which = "no other limit" if report["waived"] else "no limit"
    yield f"That {which} is broken does not mean that nothing can be learned about anybody."


def _not_examined(questions: Sequence[Question]) -> Iterator[str]:
    if questions:
        yield f"Nobody examined: {' '.join(question.asks for question in questions)}"
