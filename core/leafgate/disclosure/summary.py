"""The summary of a report: who is affected, how, what to change and what that costs in use, and its text for terminals.

Each of these is derived here alone, from the report document, so that commands, `leafgate.audit`, notebooks and all
report formats state the same and disclose no more than the document does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leafgate.disclosure import wording
from leafgate.disclosure.intervals import range_of
from leafgate.io.json import JsonObject
from leafgate.io.text import LONGEST, clean, printable_line, shorten
from leafgate.kernel.findings import FINDING_STATES, REPAIR
from leafgate.kernel.release import TABLE_HELD

MAX_LINE_LENGTH = 3000
"""Longer lines are cut; the JSON has all of them."""
MAX_SENTENCES = 6
"""Sentences of one kind in the short words about a report; each finding has its own below."""
MAX_NAMES = 6
"""Limits and attacks that one sentence names."""
LEFT_OUT = {"dropped": "for missing cells", "without_class": "for having no class", "commented": "as comments"}
SOME_PEOPLES = "some people's"
"""Whose secrets a clause of a metric is about, in whose place a sentence has how many people they are."""
UNDECIDED = "That could not be determined, so it must be taken for everybody."
WAIVED = "Some limits are broken and waived: the release passes although more can be learned from it than they allow."


def claims_differential_privacy(report: JsonObject) -> bool:
    """Does the release claim differential privacy?"""
    return bool(set((report.get("method") or {}).get("claims", {})) & {"epsilon", "rho", "mu"})


def findings_by_urgency(report: JsonObject) -> list[JsonObject]:
    """Failed findings first, then inconclusive, waived and passed ones, each in the policy's order."""
    return sorted(
        wording.with_disclosures_once(report["findings"]),
        key=lambda finding: FINDING_STATES.index(wording.finding_state(finding)),
    )


def in_short(report: JsonObject) -> Iterator[tuple[str, list[str]]]:
    """Pairs of a heading and sentences that a reader without knowledge of metrics understands.

    Of a report that does not pass: who is affected, how, what to change, and what that costs in use. Of one that
    passes: why, and what that does not mean.
    """
    if report["verdict"] == "pass":
        yield "Why it passes", list(_why_it_passes(report))
        yield "What that does not mean", list(_no_promise(report))
        return
    yield "Who is affected", [*table_held(report), *who_is_affected(report)]
    yield "How", how_affected(report)
    yield "What to change", what_to_change(report)
    yield "What that costs in use", what_change_costs(report)


def table_held(report: JsonObject) -> list[str]:
    """That a model's file contains the table of the people, a sentence; nothing where it does not."""
    problems = [(finding.get("evidence") or {}).get("problem") for finding in report["findings"]]
    held = [problem for problem in problems if isinstance(problem, str) and problem.startswith(TABLE_HELD)]
    return [clean(f"{held[0][:1].upper()}{held[0][1:]}.", 4 * LONGEST)] if held else []


def who_is_affected(report: JsonObject) -> list[str]:
    """How many people are outside the limits that do not hold, as exactly as the report's audience may know it.

    The limits whose people are not counted, because their number is for auditors or could not be determined, or because
    the limit is not on single people, are named: a count of some of them is given as what it is, a lower bound.

    Args:
        report: a report document.

    Returns:
        Sentences; none where every limit holds or is waived.
    """
    broken = [finding for finding in report["findings"] if wording.finding_state(finding) == "failed"]
    undecided = [finding for finding in report["findings"] if wording.finding_state(finding) == "inconclusive"]
    if not broken:
        return [UNDECIDED] if undecided else []
    on_people = [finding for finding in broken if _is_on_people(finding)]
    uncounted = [finding for finding in on_people if not finding["beyond"]]
    others = [finding for finding in broken if finding not in on_people]
    said = [_fewest_affected(report, on_people, open_end=bool(undecided))] if on_people else []
    if uncounted and len(uncounted) < len(on_people):
        said.append(f"How many people are outside {_limits(uncounted)} is for auditors, and may be all of them.")
    averages = [finding for finding in others if finding["limit"].get("average")]
    of_release = [finding for finding in others if finding not in averages]
    if averages:
        said.append(f"The mean over all people is judged by {_limits(averages)}: no number of people is outside it.")
    if of_release:
        said.append(f"The release as a whole, by {_names(of_release)}: no number of people follows.")
    if undecided:
        said.append(f"Whether more people are affected is not known: {_names(undecided)} could not be determined.")
    return [clean(sentence, 4 * LONGEST) for sentence in said]


def _is_on_people(finding: JsonObject) -> bool:
    """Is it about a limit on each person's score, outside which a number of people are?"""
    if finding["beyond"] is not None:
        return True
    return finding["attack"] is not None and "scored" in finding["limit"] and not finding["limit"].get("average")


def _fewest_affected(report: JsonObject, on_people: Sequence[JsonObject], *, open_end: bool) -> str:
    """How many people are outside one of these limits or more: exactly where that is known, else how many at least."""
    totals = [finding["people"] for finding in on_people if finding["people"] is not None]
    if not totals:
        return f"How many people are outside {_limits(on_people)} is for auditors, and may be all of them."
    everyone = report["data"].get("people", max(totals, key=_lowest))
    most = max(on_people, key=lambda finding: _lowest(finding["beyond"]))
    whose = f"of the {wording.number_words(everyone)} people whom the release was made from"
    covers_all = most["beyond"] is not None and _highest(most["beyond"]) >= _highest(everyone)
    if most["beyond"] and (covers_all or (len(on_people) == 1 and not open_end)):
        beyond = wording.number_words(most["beyond"])
        return wording.as_sentence(f"{beyond} {whose}")
    counted = [finding for finding in on_people if finding["beyond"]]
    exact = report.get("affected") if len(counted) == len(on_people) else None
    least = f"At least {_least_past(report, on_people):,} {whose}" if exact is None else f"{exact:,} {whose}"
    if exact is not None and len(counted) == 1:
        return f"{least}."
    if not counted:
        return f"{least}: how many are outside {_limits(on_people)} is for auditors, and may be all."
    listed = [
        f"{wording.number_words(finding['beyond'])} outside the limit on {wording.metric_words(finding)}"
        for finding in counted[:MAX_NAMES]
    ]
    once = "" if exact is None else ", each counted once"
    return f"{least}{once}: {', '.join(listed)}{_and_more(counted)}."


def _least_past(report: JsonObject, on_people: Sequence[JsonObject]) -> int:
    """The least number of people who are outside one of these broken limits."""
    return max(_at_least_past(finding, weighted="weight" in report["data"]) for finding in on_people)


def _at_least_past(finding: JsonObject, *, weighted: bool) -> int:
    """The least number of people who are outside a broken limit, as it follows from what the report has.

    A limit that allows a share of people to be outside it is broken by more than that share, unless weights broke it.
    """
    people, allow = finding["people"], finding["limit"].get("allow", 0.0)
    tolerated = 0
    if allow and type(people) is int and not weighted:
        tolerated = next(count for count in range(int(allow * people), people + 1) if (count + 1) / people > allow)
    return max(int(_lowest(finding["beyond"])), tolerated + 1)


def _lowest(count: object) -> float:
    """The lowest number that a published count may be; 0 where it is not published."""
    known = range_of(count)  # type: ignore[arg-type]  # a count as JSON
    return 0.0 if known is None else max(known.low, 0.0)


def _highest(count: object) -> float:
    known = range_of(count)  # type: ignore[arg-type]  # a count as JSON
    return 0.0 if known is None else known.high


def _limits(findings: Sequence[JsonObject]) -> str:
    return f"the {'limit' if len(findings) == 1 else 'limits'} on {_names(findings)}"


def _names(findings: Sequence[JsonObject]) -> str:
    """What some findings are about, and how many more there are."""
    names = [shorten(wording.metric_words(finding), wording.MAX_NAME_LENGTH) for finding in findings]
    if len(names) > MAX_NAMES:
        return f"{', '.join(names[:MAX_NAMES])}{_and_more(findings)}"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def _and_more(listed: Sequence[object]) -> str:
    return f", and {len(listed) - MAX_NAMES} more" if len(listed) > MAX_NAMES else ""


def plain_meaning(finding: JsonObject) -> str:
    """The meaning of a broken limit for people who know no metrics; empty where it holds, or the metric gives none."""
    return clean(wording.finding_alarm(finding), 4 * LONGEST)


def counted_meaning(finding: JsonObject) -> str:
    """The meaning of a limit that does not hold, with the number of people where it is broken and the report has one.

    >>> counts = {"passed": False, "beyond": 30, "people": 100, "alarm": "it is certain what some people's income is"}
    >>> counted_meaning(counts)
    'For 30 of 100 people, it is certain what their income is.'
    """
    meaning = plain_meaning(finding)
    if wording.finding_state(finding) != "failed":
        return meaning
    meaning = meaning or "A limit is broken."
    if not finding["beyond"]:
        return meaning
    people = f"{wording.number_words(finding['beyond'])} of {wording.number_words(finding['people'])} people"
    if SOME_PEOPLES in meaning:
        return f"For {people}, {meaning[:1].lower()}{meaning[1:].replace(SOME_PEOPLES, 'their', 1)}"
    if meaning.startswith("People ") and finding["beyond"] != 1:
        return f"{people[:1].upper()}{people[1:]}{meaning.removeprefix('People')}"
    return f"{meaning.removesuffix('.')}: {people}."


def how_affected(report: JsonObject) -> list[str]:
    """What each limit that does not hold means, in plain words, the most urgent first."""
    findings = [
        each for each in findings_by_urgency(report) if wording.finding_state(each) in {"failed", "inconclusive"}
    ]
    return _listed(list(filter(None, map(counted_meaning, findings))))


def remedies_once(report: JsonObject) -> list[str]:
    """What to do about the findings that are not ok, the most urgent first and each remedy once."""
    lines = [
        line for finding in findings_by_urgency(report) for line in wording.remedy_lines(finding, with_costs=False)
    ]
    return list(dict.fromkeys(clean(line.removeprefix("what to do: "), 4 * LONGEST) for line in lines))


def what_to_change(report: JsonObject) -> list[str]:
    """The first of the remedies, and how many there are besides."""
    return _listed(remedies_once(report))


def what_change_costs(report: JsonObject) -> list[str]:
    """What is known of how much worse the release predicts after what is to change.

    An audit measures that of what it tried; the numbers follow from the data and are for auditors.
    """
    remedies = [remedy for finding in findings_by_urgency(report) for remedy in finding.get("remedies", ())]
    measured = [f"{_called(remedy)}: {remedy['details']}" for remedy in remedies if remedy.get("details")]
    if measured:
        return _listed([clean(line, 4 * LONGEST) for line in measured])
    if any(remedy["tried"] for remedy in remedies):
        return ["It was measured for what was tried, and is in the auditor's report."]
    if any(tuple(remedy.get("command", ())) == REPAIR for remedy in remedies):
        return ["Not known before the repair, which says how well the new model predicts beside the given one."]
    return ["Not known: no change was tried with the whole audit."] if remedies else []


def _called(remedy: JsonObject) -> str:
    """A remedy in a few words: its key of the policy, its command, or the learner's parameters."""
    if remedy.get("place"):
        value = remedy.get("value")
        return f"`{remedy['place']}`" + (f" {value}" if isinstance(value, int | str) else "")
    if remedy.get("command"):
        return f"`{' '.join(remedy['command'][:2])}`"
    parameters = [f"`{name}` {wording.number_words(value)}" for name, value in remedy.get("parameters", {}).items()]
    return ", ".join(parameters) or "As a constant"


def _listed(sentences: Sequence[str]) -> list[str]:
    """The first of these sentences, each once, and how many there are besides."""
    distinct = list(dict.fromkeys(sentences))
    more = [f"And {len(distinct) - MAX_SENTENCES} more, beside the findings."] if len(distinct) > MAX_SENTENCES else []
    return [*distinct[:MAX_SENTENCES], *more]


def _why_it_passes(report: JsonObject) -> Iterator[str]:
    """The attacks that were tried, and the limits that hold."""
    attacks = [clean(attack["name"]) for attack in (report.get("method") or {"attacks": ()})["attacks"]]
    if attacks:
        listed = ", ".join(attacks[:MAX_NAMES]) + _and_more(attacks)
        yield f"Attacked by {listed}, with what the policy grants an adversary."
    held = [finding for finding in report["findings"] if finding["passed"]]
    limits = list(dict.fromkeys(clean(wording.finding_result(each), 4 * LONGEST) for each in held if each["limit"]))
    more = f", and {len(limits) - MAX_SENTENCES} more" if len(limits) > MAX_SENTENCES else ""
    kept = "; ".join(limits[:MAX_SENTENCES]) + more
    yield f"{'Every limit holds' if not report['waived'] else 'Every other limit holds'}: {kept}."
    if report["waived"]:
        yield WAIVED
    told_apart = [attack for attack in (report.get("method") or {"attacks": ()})["attacks"] if attack.get("candidates")]
    for attack in told_apart[:MAX_SENTENCES]:
        yield (
            f"{clean(attack['name'])} had at most {wording.number_words(attack['candidates'])} people of the table and "
            "as many others to tell apart: what it would find among more people is bounded by the intervals of its "
            "findings."
        )


def _no_promise(report: JsonObject) -> Iterator[str]:
    """What a pass does not say."""
    yield "Nothing about attacks that were not tried, and about knowledge that the policy does not grant."
    if not claims_differential_privacy(report):
        yield (
            "It is no differential privacy: an adversary with more knowledge than the policy grants may learn more, "
            "and no bound on that follows."
        )
    yield "Nothing about what other releases of the same people add to this one: each release discloses more of them."


def summary(report: JsonObject) -> str:
    """The whole report as text; the first line states the verdict."""
    return "".join(f"{printable_line(shorten(line, MAX_LINE_LENGTH))}\n" for line in _lines(report))


def _left_out_words(data: JsonObject, key: str, why: str) -> str:
    """How many people, or rows of people, were left out; empty where nobody was."""
    if f"{key}_rows" not in data:
        return f"{wording.number_words(data[key])} more left out {why}" if key in data else ""
    rows = data[f"{key}_rows"]
    noun = "row" if rows == 1 else "rows"
    people = wording.number_words(data[key])
    return f"{wording.number_words(rows)} {noun} left out {why}, all rows of {people} people among them"


def _lines(report: JsonObject) -> Iterator[str]:
    yield f"{shorten(report['policy']['name'], wording.MAX_NAME_LENGTH)}: {wording.verdict_words(report)}"
    yield from (f"  {sentence}" for sentence in table_held(report))
    data, release = report["data"], report["release"]
    if file := wording.audited_file(report):
        yield f"  audited file {wording.file_words(file)}"
    if "people" in data:
        left_out = [words for key, why in LEFT_OUT.items() if (words := _left_out_words(data, key, why))]
        yield f"  {wording.people_words(data)}" + (f" ({', '.join(left_out)})" if left_out else "")
    if release is not None:
        yield f"  release by {wording.release_words(release)}, sha256 {release['sha256'][:16]}"
    if words := wording.ledger_words(report):
        yield f"  {words}"
    yield from (f"  {note}" for note in wording.decisions(report["notes"]))
    if report["verdict"] == "fail":
        yield from (f"  who is affected: {sentence}" for sentence in who_is_affected(report))
    for finding in _with_remedies_once(wording.with_disclosures_once(report["findings"])):
        yield from wording.finding_lines(finding)
    yield from (f"  {line}" for line in wording.idle_waiver_lines(report))
    for note in wording.statements(report["notes"]):
        yield f"  note: {note}"


def _with_remedies_once(findings: Sequence[JsonObject]) -> Iterator[JsonObject]:
    """The findings; where all remedies of one stand under an earlier finding, it names that one in their place."""
    above: list[tuple[object, str]] = []
    for finding in findings:
        remedies = finding.get("remedies")
        same = next((name for listed, name in above if listed == remedies), None)
        if remedies and same is None:
            above.append((remedies, finding["id"]))
        elif remedies:
            text = f"the same as for {shorten(str(same), wording.MAX_NAME_LENGTH)}"
            finding = {**finding, "remedies": [{"action": "advise", "text": text, "tried": False}]}
        yield finding
