"""Reports in plain words, made from the report document alone, so that they disclose no more than it does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from leafgate.io.json import JsonObject
from leafgate.io.text import shorten
from leafgate.kernel.findings import DERIVED_ALONE, GROUPS_ALONE, HIDDEN_CELLS, TO_DECIDE, FindingState, Limit, state_of

VERDICTS = {
    "pass": "PASS: every limit of the policy holds.",
    "waived": "PASS: every limit of the policy holds or is waived",
    "fail": "FAIL: do not publish this release.",
    "inconclusive": "INCONCLUSIVE: could not tell, so do not publish.",
}
MAX_NAME_LENGTH = 200
"""Longer names are cut; the JSON has all of them."""
MARKS: Mapping[FindingState, str] = {"passed": "ok  ", "failed": "FAIL", "inconclusive": "????", "waived": "waiv"}


def finding_state(finding: JsonObject) -> FindingState:
    """The state of a finding of a report."""
    return state_of(finding["passed"], waived="waiver" in finding)


def number_words(value: object) -> str:
    """A number, exact or masked, in words: `1,234`, `fewer than 10`, `20 to 29`."""
    if isinstance(value, Mapping):
        if "fewer_than" in value:
            limit = value["fewer_than"]
            return f"{'less' if isinstance(limit, float) else 'fewer'} than {number_words(limit)}"
        if "more_than" in value:
            return f"more than {number_words(value['more_than'])}"
        return f"{number_words(value['from'])} to {number_words(value['to'])}"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.4g}"
    return f"{int(value):,}" if isinstance(value, int | float) else str(value)


def middle_of_count(count: float | JsonObject) -> float:
    """A count, or the middle of its masked interval."""
    if isinstance(count, Mapping):
        return float(count.get("from", 0) + count.get("to", count.get("fewer_than", 0))) / 2
    return float(count)


def _many(count: object, noun: str) -> str:
    plural = {"leaf": "leaves"}.get(noun, f"{noun}s")
    return f"{number_words(count)} {noun if count == 1 else plural}"


def people_words(data: JsonObject) -> str:
    """The number of people, with the number of rows or the sum of the weights where the table has weights."""
    people = f"{number_words(data['people'])} people"
    if "rows" in data:
        return f"{people} in {_many(data['rows'], 'row')}"
    return (
        f"{people}, a row each, whose weights add up to {number_words(data['weight'])}" if "weight" in data else people
    )


def audited_file(report: JsonObject) -> Mapping[str, str] | None:
    """The name, format and SHA-256 of the file that was audited; None where the release was not read from a file."""
    file: Mapping[str, str] | None = (report["release"] or {}).get("file")
    return file


def file_words(file: Mapping[str, str]) -> str:
    """The name, format and digest of a file in one line."""
    return f"{quoted_name(file['name'])} ({shorten(file['format'], MAX_NAME_LENGTH)}), sha256 {file['sha256']}"


def quoted_name(name: str) -> str:
    """A file's name in quotes, with its own quotes and control characters escaped."""
    return json.dumps(shorten(name, MAX_NAME_LENGTH), ensure_ascii=False)


def release_words(release: JsonObject) -> str:
    """The builder of a release, and its size."""
    nouns = {"trees": "tree", "leaves": "leaf", "records": "record"}
    size = ", ".join(_many(release[key], noun) for key, noun in nouns.items() if release.get(key))
    return f"{release['builder'].get('use', '?')}: {size}"


def ledger_words(report: JsonObject) -> str:
    """The head of the ledger whose releases were taken into account; empty where none was given."""
    ledger = report.get("ledger")
    return f"ledger of {_many(ledger['number'], 'release')}, sha256 {ledger['sha256']}" if ledger else ""


def verdict_words(report: JsonObject) -> str:
    """The verdict as a sentence, which states if it passes by waivers."""
    if report["verdict"] == "pass" and report["waived"]:
        return f"{VERDICTS['waived']} ({number_words(report['waived'])} waived)."
    return VERDICTS[report["verdict"]]


def idle_waiver_lines(report: JsonObject) -> Iterator[str]:
    """A line for each waiver that does not apply, with the reason."""
    for waiver in report.get("waivers", ()):
        if waiver["status"] != "applied":
            yield f"waiver {waiver['id']} of {waiver['finding']} does not apply: {waiver['message']}"


def decisions(notes: Sequence[str]) -> list[str]:
    """The notes of a report that ask for a decision."""
    return [note for note in notes if note.startswith(TO_DECIDE)]


def statements(notes: Sequence[str]) -> list[str]:
    """The notes of a report that ask for nothing."""
    return [note for note in notes if not note.startswith(TO_DECIDE)]


def with_disclosures_once(findings: Sequence[JsonObject]) -> list[JsonObject]:
    """The findings, those that hold without the disclosures that stand under a finding that does not."""
    broken = [finding for finding in findings if finding["passed"] is False]
    listed = [item for finding in broken for item in finding["evidence"].get("discloses", ())]
    return [_without_disclosures(finding, listed) if finding["passed"] and listed else finding for finding in findings]


def remedy_lines(finding: JsonObject, *, with_costs: bool = True) -> Iterator[str]:
    """What to do about a finding that is not ok, a line for each remedy, the best first, with what each costs."""
    for remedy in finding.get("remedies", ()):
        details = f" {remedy['details']}" if with_costs and remedy.get("details") else ""
        tried = " Tried: the whole audit then passes." if remedy["tried"] else ""
        yield f"what to do: {remedy['text']}{details}{tried}"


def _without_disclosures(finding: JsonObject, listed: Sequence[object]) -> JsonObject:
    evidence = finding["evidence"]
    if "discloses" not in evidence:
        return finding
    rest = [item for item in evidence["discloses"] if item not in listed]
    return {**finding, "evidence": {**evidence, "discloses": rest}}


def finding_lines(finding: JsonObject) -> Iterator[str]:
    """The lines of one finding in a terminal: its mark and headline, then the details."""
    yield f"  {MARKS[finding_state(finding)]}  {finding_headline(finding)}"
    yield from (f"          {line}" for line in filter(None, [finding_alarm(finding), *finding_details(finding)]))


def finding_headline(finding: JsonObject) -> str:
    """The id of a finding, its score and its limit."""
    limit = limit_words(finding)
    return f"{finding['id']}{_value(finding)}" + (f" (wanted {limit})" if limit else "")


def finding_result(finding: JsonObject) -> str:
    """What a finding is about, its score and its limit, for a page that has the id at another place."""
    outcome = {True: " holds", False: " is broken", None: " could not be determined"}[finding["passed"]]
    limit = limit_words(finding)
    return f"{metric_words(finding)}{_value(finding) or outcome}" + (f" (wanted {limit})" if limit else "")


OF_ONE_LETTER = re.compile(r"\b([klt]) (?=anonymity|diversity|closeness)")
"""Names of metrics that are written with a hyphen."""


def metric_words(finding: JsonObject) -> str:
    """The metric of a finding in words, with the secret that it is about; where it has no metric, what it is about.

    >>> metric_words({"metric": "k_anonymity", "secret": "illness"})
    'k-anonymity (illness)'
    >>> metric_words({"metric": "", "id": "attack:joint", "secret": None})
    'attack joint'
    """
    name = str(finding["metric"] or finding["id"].replace(":", " "))
    metric = OF_ONE_LETTER.sub(r"\1-", name.replace("_", " "))
    return f"{metric} ({finding['secret']})" if finding["secret"] else metric


def as_sentence(clause: str) -> str:
    """A clause with a capital and a full stop.

    >>> as_sentence("it rains")
    'It rains.'
    """
    return f"{clause[:1].upper()}{clause[1:]}."


def finding_alarm(finding: JsonObject) -> str:
    """The meaning of a limit that does not hold, in a sentence for people who know no metrics; empty if it holds."""
    clause = finding.get("alarm", "")
    if finding["passed"] or not clause:
        return ""
    if finding["passed"] is None:
        return f"It could not be determined whether {clause}."
    return as_sentence(clause)


def limit_words(finding: JsonObject) -> str:
    """The limit in words."""
    limit = " ".join(
        f"{key.replace('_', ' ')} {number_words(value)}"
        for key, value in finding["limit"].items()
        if key.startswith("at_")
    )
    allowed = finding["limit"].get("allow")
    whom = f" for all but {100 * allowed:g} % of people" if allowed else ""
    whom = " on average" if finding["limit"].get("average") else whom
    whom += " by the groups' composition" if finding["limit"].get("scored") == "composition" else ""
    return f"{limit}{whom}" if limit else ""


def finding_details(finding: JsonObject) -> Iterator[str]:
    """Lines on people outside the limit, the waiver, why a finding is inconclusive, the worst groups, what to do."""
    if finding["beyond"]:
        yield f"{number_words(finding['beyond'])} of {number_words(finding['people'])} people are outside the limit"
    if "waiver" in finding:
        waiver = finding["waiver"]
        yield f"waived until {waiver['expires']} by {waiver['approved_by']} for {waiver['owner']}: {waiver['reason']}"
    evidence = finding["evidence"]
    if "judged_values" in evidence:
        values = ", ".join(map(str, evidence["judged_values"]))
        others = evidence.get("people_with_others")
        yield f"values judged: {values}" + ("" if others is None else f"; {number_words(others)} people have others")
    yield from no_answer_words(evidence.get("no_answer", {}))
    yield from _distribution_lines(finding)
    yield from (f"the file discloses ({item['severity']}): {item['says']}" for item in evidence.get("discloses", ()))
    yield from (str(evidence[key]) for key in ("reason", "reason_in_full", "problem") if evidence.get(key))
    if "dropped" in evidence:
        yield f"people left out for missing cells, whom the file may count: {number_words(evidence['dropped'])}"
    candidates = evidence.get("candidates")
    if isinstance(candidates, dict) and "copies_seen" in candidates:
        yield copies_words(candidates["copies_seen"])
    tried = evidence["tried"].items() if "tried" in evidence else [(finding["attack"], evidence)]
    yield from (f"{name}: {result['says']}" for name, result in tried if result.get("says"))
    if finding["passed"] is False:
        yield from dict.fromkeys(group_words(group, finding["secret"]) for group in evidence.get("worst", ()))
    yield from remedy_lines(finding)


def no_answer_words(document: JsonObject) -> Iterator[str]:
    """Who is not judged because their value is not recorded, and how many of them are in groups outside the limit."""
    if document.get("judged"):
        yield "judged with `no_answer` as a value (`missing_is_value`)"
    if "people" in document:
        yield f"{number_words(document['people'])} people gave no answer and are not judged"
    if "beyond" in document and document["beyond"] != 0:
        beyond = number_words(document["beyond"])
        yield f"{beyond} of them are in groups outside the limit: the same is believed of them"


def copies_words(seen: JsonObject) -> str:
    """From which share of the control copies of people of the table would have been noticed.

    >>> copies_words({"from_share": 0.2, "unless_they_differ_in": ["income"]})
    'copies of people of the table would be noticed from 20 % of the control on, unless they differ in income'
    """
    if seen["from_share"] is None:
        return "copies of people of the table would not be noticed in the control: too many people are alike"
    unless = ", ".join(map(str, seen.get("unless_they_differ_in", ())))
    words = f"copies of people of the table would be noticed from {100 * seen['from_share']:g} % of the control on"
    return f"{words}, unless they differ in {unless}" if unless else words


def _value(finding: JsonObject) -> str:
    if finding["value"] is not None and not _is_split(finding, finding["value"]):
        return f" is {'about ' if 'step' in finding else ''}{number_words(finding['value'])}"
    if finding["evidence"].get("unbounded"):
        return " is unbounded"
    return (
        "" if finding["passed"] is None or not finding["limit"] else (" holds" if finding["passed"] else " is broken")
    )


def _is_split(finding: JsonObject, value: object) -> bool:
    """Holds a limit that only some numbers of the masked value keep? Beside that value it would seem broken."""
    if not finding["passed"] or not isinstance(value, Mapping) or "from" not in value or not finding["limit"]:
        return False
    limit = Limit.from_document(finding["limit"])
    return limit.is_kept(value["from"]) != limit.is_kept(value["to"])


def _distribution_lines(finding: JsonObject) -> Iterator[str]:
    """The distribution of the secret that was judged, where that makes a difference, and the secondary scores."""
    evidence, scored = finding["evidence"], finding["limit"].get("scored", "derived")
    if scored == "worst" and {"derived", "composition"} & set(evidence):
        yield "the limit is compared with the stricter of what an outsider can derive and the groups' true composition"
    reason = evidence.get("scored_because")
    if reason and reason not in {GROUPS_ALONE, DERIVED_ALONE, HIDDEN_CELLS}:  # there is no alternative in these cases
        yield f"the limit is compared with what an outsider can derive: {reason}"
    if "derived" in evidence and not (scored == "worst" and _is_split(finding, evidence["derived"])):
        text = "unbounded" if evidence["derived"] is None else number_words(evidence["derived"])
        yield f"what an outsider can derive is {text}"
    if "composition" in evidence:
        text = "unbounded" if evidence["composition"] is None else number_words(evidence["composition"])
        yield f"the groups' true composition is {text}"
    if "by_persons" in evidence:
        text = "unbounded" if evidence["by_persons"] is None else number_words(evidence["by_persons"])
        yield f"by persons in place of rows it is {text}"


def group_words(group: JsonObject, secret: str | None) -> str:
    """A group of people, what is published of them, and what the release discloses about them."""
    people, count = number_words(group["people"]), group.get("possible_values")
    who = "1 person alone" if people == "1" else f"a group of {people} people"
    possible = "" if count is None else "one value is possible" if count == 1 else f"{count} values are possible"
    said = "; ".join(filter(None, [group.get("path", ""), possible, _true_values(group.get("true", {}), secret)]))
    return f"{who}: {said}" if said else who


def exposed_words(group: JsonObject, secret: str | None) -> str:
    """The same for readers who know no metrics, in sentences, without what the group's leaves publish.

    >>> group = {"people": 2, "conditions": "age at most 18, job baker", "possible_values": 1, "true": {"no": 2}}
    >>> exposed_words(group, "ill")
    '2 people: age at most 18, job baker. An outsider is certain. In truth ill is no for both.'
    """
    people, count = number_words(group["people"]), group.get("possible_values")
    who = f"{people} {'person' if people == '1' else 'people'}"
    conditions = group.get("conditions") or group.get("path", "").partition(" -> ")[0]
    possible = "An outsider is certain" if count == 1 else f"An outsider has {count} values to choose from"
    truth = _true_values(group.get("true", {}), secret)
    said = [f"{who}: {conditions}" if conditions else who, possible if count else "", truth]
    return " ".join(as_sentence(each) for each in said if each)


def _true_values(truth: JsonObject, secret: str | None) -> str:
    """The true values of a group's secret, which only auditors' reports have."""
    if not truth:
        return ""
    if len(truth) > 1:
        return f"in truth {secret or 'the secret'} is " + ", ".join(
            f"{value} for {number_words(n)}" for value, n in truth.items()
        )
    [(value, people)] = truth.items()
    whose = {"1": "", "2": " for both"}.get(number_words(people), f" for all {number_words(people)}")
    return f"in truth {secret or 'the secret'} is {value}{whose}"
