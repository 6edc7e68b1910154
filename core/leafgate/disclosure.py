"""What an audience may see of a report: everything (auditor), or nothing of a person (public)."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from leafgate.report import FORMAT, Finding, People, Private, Report

Audience = Literal["public", "auditor"]


@dataclass(frozen=True)
class Shown:
    """How counts of people are shown: none below `smallest`, and none that a difference would give away.

    `close` are the counts that differ from another count of the same document by less than the
    smallest cell; they are shown as a range of that width.
    """

    smallest: int
    close: Collection[int]

    def count(self, people: int) -> Any:
        """A count, or {"fewer_than": n}, or {"from": a, "to": b}."""
        if 0 < people < self.smallest:
            return {"fewer_than": self.smallest}
        return self._range(people) if people in self.close else people

    def part(self, people: int, total: int) -> Any:
        """A count of some of `total` people, whose rest must not be told either."""
        if not self.near_all(people, total):
            return self.count(people)
        if total in self.close:
            return {"from": self._range(total - self.smallest + 1)["from"], "to": self._range(total)["to"]}
        first = max(self.smallest, total - self.smallest + 1)
        return total if first == total else {"from": first, "to": total}

    def near_all(self, people: int, total: int) -> bool:
        """Are they everybody, or everybody but fewer than the smallest cell?"""
        return people >= self.smallest > total - people

    def _range(self, people: int) -> dict[str, int]:
        start = people - people % self.smallest
        return {"from": start, "to": start + self.smallest - 1}


def shown_in(report: Report, smallest: int) -> Shown:
    """How the counts of one report are shown side by side."""
    free = Shown(smallest, ())
    findings = [finding for finding in report.findings if not (finding.private and smallest > 1)]
    counts = set(_people_in([report.data, [finding.evidence for finding in findings]]))
    for finding in findings:
        total = finding.people
        parts = [part for part in (finding.beyond, _share_count(finding)) if part is not None]
        counts |= {part for part in parts if total is None or not free.near_all(part, total)}
        counts |= {total} if total is not None else set()
        counts |= {int(finding.value)} if finding.unit == "people" and finding.value is not None else set()
        counts |= {round(1 / finding.value)} if finding.unit == "one over people" and finding.value else set()
    counts = {count for count in counts if count >= smallest}
    return Shown(smallest, {n for n in counts if any(0 < abs(n - m) < smallest for m in counts)})


def _people_in(thing: Any) -> Iterator[int]:
    if isinstance(thing, People):
        yield thing.count
    elif isinstance(thing, Mapping | list | tuple):
        for inside in thing.values() if isinstance(thing, Mapping) else thing:
            yield from _people_in(inside)


def _share_count(finding: Finding) -> int | None:
    """The people behind a score that is a share of them."""
    of_people = finding.limit.get("average", finding.attack is None)
    if finding.unit != "share" or finding.value is None or finding.people is None or not of_people:
        return None
    return round(finding.value * finding.people)


def document(report: Report, audience: Audience) -> dict[str, Any]:
    """The report as JSON (design 4.4): same input, same document; no clock is read."""
    smallest = report.smallest_cell if audience == "public" else 1
    shown = shown_in(report, smallest)
    hide_data = audience == "public" and report.differentially_private
    return {
        "format": FORMAT,
        "verdict": report.verdict,
        "audience": audience,
        "waived": report.waived,
        "policy": dict(report.policy),
        "data": {} if hide_data else {key: _shown(value, shown, audience) for key, value in report.data.items()},
        "release": None if report.release is None else dict(report.release),
        "findings": [_finding(finding, shown, audience, hide_data) for finding in report.findings],
        "versions": dict(report.versions),
        "notes": [*report.notes, *([_OUTSIDE] if hide_data else [])],
    }


_OUTSIDE = "The release claims differential privacy; the findings below were computed from the data and are outside it."


def _finding(finding: Finding, shown: Shown, audience: Audience, hide_data: bool) -> dict[str, Any]:
    total, beyond = finding.people, finding.beyond
    if finding.private and audience == "public":
        finding = replace(finding, value=None, evidence=_derivable(finding.evidence))
        beyond = None
    if hide_data and (finding.attack is not None or finding.unit) and audience == "public":
        finding = replace(finding, value=None, evidence=_derivable(finding.evidence))
    known = total is not None and not hide_data
    return {
        "id": finding.id,
        "attack": finding.attack,
        "secret": finding.secret,
        "metric": finding.metric,
        "value": _value(finding, shown, hide_data),
        "limit": dict(finding.limit),
        "passed": finding.passed,
        "people": shown.count(total) if known and total is not None else None,
        "beyond": None if beyond is None or total is None or hide_data else shown.part(beyond, total),
        "evidence": _shown(finding.evidence, shown, audience),
        "plugin": finding.plugin,
    }


def _derivable(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """What anyone could work out from the release, and why something could not be told."""
    return {key: told for key, told in evidence.items() if key in {"claim", "derived", "problem"}}


def _value(finding: Finding, shown: Shown, hide_data: bool) -> Any:
    """A score; one that is itself a count or a share of people is shown like a count."""
    value, total, people = finding.value, finding.people, _share_count(finding)
    average = finding.limit.get("average") and finding.unit != "share"
    if value is not None and finding.unit == "people":
        told = shown.count(int(value))
        return told if isinstance(told, dict) else _coarse(value, finding, shown) if average else value
    if value is not None and total is not None and finding.unit == "people left":
        told = shown.count(total)
        return {key: n - total + int(value) for key, n in told.items()} if isinstance(told, dict) else value
    if value is not None and average:
        return _coarse(value, finding, shown)
    if value is not None and finding.unit == "one over people":
        told = shown.count(round(1 / value))
        return _one_over(told) if isinstance(told, dict) else value
    if people is None or total is None:
        return value
    if hide_data or isinstance(shown.count(total), dict):
        return value if shown.smallest == 1 else None
    told = shown.part(people, total)
    return {key: round(n / total, 6) for key, n in told.items()} if isinstance(told, dict) else value


def _coarse(value: float, finding: Finding, shown: Shown) -> float:
    """An average, so coarse that fewer people than the smallest cell cannot move it by a step."""
    share = shown.smallest * finding.spread / max(finding.people or 1, 1)
    if share <= 0 or shown.smallest == 1:
        return value
    digits = -math.ceil(math.log10(share))
    return round(value, digits) + 0.0


def _one_over(told: Mapping[str, int]) -> dict[str, float]:
    """One over a veiled count."""
    if "fewer_than" in told:
        return {"more_than": round(1 / told["fewer_than"], 6)}
    return {"from": round(1 / told["to"], 6), "to": round(1 / told["from"], 6)}


def _shown(thing: Any, shown: Shown, audience: Audience) -> Any:
    """Evidence with counts shown as they may be; what is private falls away for the public."""
    if isinstance(thing, People):
        return shown.count(thing.count)
    if isinstance(thing, Private):
        return _shown(thing.content, shown, audience)
    if isinstance(thing, Mapping):
        return {
            str(key): _shown(value, shown, audience)
            for key, value in thing.items()
            if audience == "auditor" or not isinstance(value, Private)
        }
    if isinstance(thing, Sequence) and not isinstance(thing, str):
        return [
            _shown(item, shown, audience) for item in thing if audience == "auditor" or not isinstance(item, Private)
        ]
    return thing
