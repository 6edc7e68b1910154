"""Reports in plain words, made from the report document alone: what it does not show is not said."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from leafgate.types.report import DERIVED_ALONE, GROUPS_ALONE, HIDDEN_CELLS

VERDICTS = {
    "pass": "PASS: every limit of the policy holds.",
    "waived": "PASS: every limit of the policy holds or is waived",
    "fail": "FAIL: do not publish this release.",
    "inconclusive": "INCONCLUSIVE: could not tell, so do not publish.",
}
COMMAND = re.compile(r"^(?=\s*::)|#(?=#\[)")
"""Where a line would begin as GitHub's `::command::`, or hold an Azure `##[command]`."""
NAME, LINE = 200, 3000
"""So many signs of a name, and of a line, are printed; the JSON has all of them."""
LEFT_OUT = {"dropped": "for missing cells", "commented": "as comments"}
MARKS = {True: "ok  ", False: "FAIL", None: "????"}


def number(value: Any) -> str:
    """A number or a veiled count, as people read it."""
    if isinstance(value, Mapping):
        if "fewer_than" in value:
            limit = value["fewer_than"]
            return f"{'less' if isinstance(limit, float) else 'fewer'} than {number(limit)}"
        if "more_than" in value:
            return f"more than {number(value['more_than'])}"
        return f"{number(value['from'])} to {number(value['to'])}"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.4g}"
    return f"{int(value):,}" if isinstance(value, int | float) else str(value)


def middle(count: Any) -> float:
    """A count, or the middle of the step that it is shown as."""
    if isinstance(count, Mapping):
        return float(count.get("from", 0) + count.get("to", count.get("fewer_than", 0))) / 2
    return float(count)


def printable(line: str) -> str:
    """The line without what moves a terminal's cursor, starts a line of its own, or is a command to a CI runner."""
    plain = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in line)
    return COMMAND.sub("\N{REPLACEMENT CHARACTER}", plain)


def cut(text: str, longest: int) -> str:
    """The text, or as much of it as can be read."""
    return text if len(text) <= longest else f"{text[: longest - 1]}\N{HORIZONTAL ELLIPSIS}"


def _many(count: Any, noun: str) -> str:
    plural = {"leaf": "leaves"}.get(noun, f"{noun}s")
    return f"{number(count)} {noun if count == 1 else plural}"


def summary(report: Mapping[str, Any]) -> str:
    """The whole report in a screen of text; the verdict is the first line."""
    return "".join(f"{printable(cut(line, LINE))}\n" for line in _lines(report))


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    yield f"{cut(report['policy']['name'], NAME)}: {verdict_words(report)}"
    data, release = report["data"], report["release"]
    if file := audited_file(report):
        yield f"  audited file {file_words(file)}"
    if "people" in data:
        left_out = [f"{number(data[key])} more left out {why}" for key, why in LEFT_OUT.items() if key in data]
        yield f"  {people_words(data)}" + (f" ({', '.join(left_out)})" if left_out else "")
    if release is not None:
        yield f"  release by {release_words(release)}, sha256 {release['sha256'][:16]}"
    for finding in report["findings"]:
        yield from finding_lines(finding)
    yield from (f"  {line}" for line in idle_waivers(report))
    for note in report["notes"]:
        yield f"  note: {note}"


def people_words(data: Mapping[str, Any]) -> str:
    """How many people there are, and the rows they stand in or the weights of their rows, where there are weights."""
    people = f"{number(data['people'])} people"
    if "rows" in data:
        return f"{people} in {_many(data['rows'], 'row')}"
    return f"{people}, a row each, whose weights add up to {number(data['weight'])}" if "weight" in data else people


def audited_file(report: Mapping[str, Any]) -> Mapping[str, str] | None:
    """The name, format and SHA-256 of the file that was audited; None where the release was not read from a file."""
    file: Mapping[str, str] | None = (report["release"] or {}).get("file")
    return file


def file_words(file: Mapping[str, str]) -> str:
    """Which file it is, in a line."""
    return f"{quoted(file['name'])} ({cut(file['format'], NAME)}), sha256 {file['sha256']}"


def quoted(name: str) -> str:
    """A file's name in quotes; its own quotes and control characters are escaped, so that it ends where it seems to."""
    return json.dumps(cut(name, NAME), ensure_ascii=False)


def release_words(release: Mapping[str, Any]) -> str:
    """Who built a release, and how large it is."""
    nouns = {"trees": "tree", "leaves": "leaf", "records": "record"}
    size = ", ".join(_many(release[key], noun) for key, noun in nouns.items() if release.get(key))
    return f"{release['builder'].get('use', '?')}: {size}"


def verdict_words(report: Mapping[str, Any]) -> str:
    """The first sentence; what passed by a waiver says so there."""
    if report["verdict"] == "pass" and report["waived"]:
        return f"{VERDICTS['waived']} ({number(report['waived'])} waived)."
    return VERDICTS[report["verdict"]]


def idle_waivers(report: Mapping[str, Any]) -> Iterator[str]:
    """Every waiver that does not apply, and why."""
    for waiver in report.get("waivers", ()):
        if waiver["status"] != "applied":
            yield f"waiver {waiver['id']} of {waiver['finding']} does not apply: {waiver['message']}"


def finding_lines(finding: Mapping[str, Any]) -> Iterator[str]:
    """One finding for a terminal: its mark and headline, and below it the details."""
    mark = "waiv" if "waiver" in finding else MARKS[finding["passed"]]
    yield f"  {mark}  {headline(finding)}"
    yield from (f"          {said}" for said in [alarm(finding)] if said)
    yield from (f"          {line}" for line in details(finding))


def headline(finding: Mapping[str, Any]) -> str:
    """What was scored, the score, and what was wanted."""
    limit = wanted(finding)
    return f"{finding['id']}{_value(finding)}" + (f" (wanted {limit})" if limit else "")


def alarm(finding: Mapping[str, Any]) -> str:
    """What a limit that does not hold means, in a sentence for people who know no metrics; nothing of one that does."""
    clause = finding.get("alarm", "")
    if finding["passed"] or not clause:
        return ""
    if finding["passed"] is None:
        return f"It could not be told whether {clause}."
    return f"{clause[0].upper()}{clause[1:]}."


def wanted(finding: Mapping[str, Any]) -> str:
    """The limit in words."""
    limit = " ".join(
        f"{key.replace('_', ' ')} {number(value)}" for key, value in finding["limit"].items() if key.startswith("at_")
    )
    allowed = finding["limit"].get("allow")
    whom = f" for all but {100 * allowed:g} % of people" if allowed else ""
    whom = " on average" if finding["limit"].get("average") else whom
    whom += " by the groups' composition" if finding["limit"].get("scored") == "composition" else ""
    return f"{limit}{whom}" if limit else ""


def details(finding: Mapping[str, Any]) -> Iterator[str]:
    """How many people are past the limit, who waived it, why it could not be told, and the worst groups."""
    if finding["beyond"]:
        yield f"{number(finding['beyond'])} of {number(finding['people'])} people are past the limit"
    if "waiver" in finding:
        waiver = finding["waiver"]
        yield f"waived until {waiver['expires']} by {waiver['approved_by']} for {waiver['owner']}: {waiver['reason']}"
    evidence = finding["evidence"]
    yield from _distribution_lines(finding)
    yield from (f"the file tells ({item['severity']}): {item['says']}" for item in evidence.get("discloses", ()))
    yield from (str(evidence[key]) for key in ("reason", "reason_in_full", "problem", "remedy") if evidence.get(key))
    tried = evidence["tried"].items() if "tried" in evidence else [(finding["attack"], evidence)]
    yield from (f"{name}: {found['says']}" for name, found in tried if found.get("says"))
    if finding["passed"] is False:
        yield from dict.fromkeys(group_words(group, finding["secret"]) for group in evidence.get("worst", ()))


def _value(finding: Mapping[str, Any]) -> str:
    if finding["value"] is not None:
        return f" is {'about ' if 'step' in finding else ''}{number(finding['value'])}"
    if finding["evidence"].get("unbounded"):
        return " is unbounded"
    return (
        "" if finding["passed"] is None or not finding["limit"] else (" holds" if finding["passed"] else " is broken")
    )


def _distribution_lines(finding: Mapping[str, Any]) -> Iterator[str]:
    """By which distribution of the secret was judged, where that makes a difference, and the scores by the others."""
    evidence, scored = finding["evidence"], finding["limit"].get("scored", "derived")
    if scored == "worst" and {"derived", "composition"} & set(evidence):
        yield "judged is the worse of what is derived and the group's true composition"
    reason = evidence.get("scored_because")
    if reason and reason not in {GROUPS_ALONE, DERIVED_ALONE, HIDDEN_CELLS}:  # nobody expects these to be otherwise
        yield f"judged is what is derived: {reason}"
    if "derived" in evidence:
        text = "unbounded" if evidence["derived"] is None else number(evidence["derived"])
        yield f"what the adversary can derive is {text}"
    if "composition" in evidence:
        text = "unbounded" if evidence["composition"] is None else number(evidence["composition"])
        yield f"the groups' true composition is {text}"


def group_words(group: Mapping[str, Any], secret: str | None) -> str:
    """A group of people and what the release gives away about them."""
    people = number(group["people"])
    alone, shared = ("published cells", "the same published cells") if "shares" in group else ("a path", "one path")
    who = f"1 person has {alone} alone" if people == "1" else f"{people} people share {shared}"
    left = group.get("possible_values")
    what = "" if left is None else f", and it leaves {'one value' if left == 1 else f'{left} values'} possible"
    path = f": {group['path']}" if "path" in group else ""
    return f"{who}{what}{_in_truth(group.get('true', {}), secret)}{path}"


def _in_truth(truth: Mapping[str, Any], secret: str | None) -> str:
    """What is true of a group's secret; only auditors are told."""
    if not truth:
        return ""
    if len(truth) > 1:
        return f"; in truth {secret or 'the secret'} is " + ", ".join(
            f"{value} for {number(n)}" for value, n in truth.items()
        )
    [(value, people)] = truth.items()
    whose = {"1": "", "2": " for both"}.get(number(people), f" for all {number(people)}")
    return f"; in truth {secret or 'the secret'} is {value}{whose}"
