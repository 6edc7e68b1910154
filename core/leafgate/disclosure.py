"""What an audience may see of a report: everything (auditor), or nothing of a person (public)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from leafgate.report import FORMAT, Finding, People, Private, Report

Audience = Literal["public", "auditor"]


@dataclass(frozen=True)
class Shown:
    """How counts of people are shown: from `smallest` up, and only if no difference tells a smaller one.

    `counts` are all counts that stand side by side in one document. A count that differs from a
    neighbour by less than the smallest cell is shown as a range of that width, so that subtracting
    one from the other tells nothing new.
    """

    smallest: int
    counts: Collection[int]

    def count(self, people: int) -> Any:
        """A count, or {"fewer_than": n}, or {"from": a, "to": b}."""
        if people == 0:
            return 0
        if people < self.smallest:
            return {"fewer_than": self.smallest}
        if any(0 < people - other < self.smallest for other in self.counts):
            return self._range(people)
        return people

    def below_total(self, people: int, total: int) -> Any:
        """A count of some of `total` people, whose rest must not be told either."""
        if 0 < total - people < self.smallest and people >= self.smallest:
            return self._range(people)
        return self.count(people)

    def _range(self, people: int) -> dict[str, int]:
        start = people - people % self.smallest
        return {"from": start, "to": start + self.smallest - 1}


def document(report: Report, audience: Audience) -> dict[str, Any]:
    """The report as JSON (design 4.4): same input, same document; no clock is read."""
    smallest = report.smallest_cell if audience == "public" else 1
    shown = Shown(smallest, _counts(report))
    hide_data = audience == "public" and report.differentially_private
    return {
        "format": FORMAT,
        "verdict": report.verdict,
        "audience": audience,
        "waived": report.waived,
        "policy": dict(report.policy),
        "data": {} if hide_data else {key: _shown(value, shown, audience) for key, value in report.data.items()},
        "release": None if report.release is None else dict(report.release),
        "findings": [_finding(finding, shown, audience) for finding in report.findings],
        "versions": dict(report.versions),
        "notes": [*report.notes, *([_OUTSIDE] if hide_data else [])],
    }


_OUTSIDE = "The release claims differential privacy; the findings below were computed from the data and are outside it."


def _counts(report: Report) -> set[int]:
    counts = {f.beyond for f in report.findings if f.beyond is not None}
    counts |= {int(f.value) for f in report.findings if f.unit == "people" and f.value is not None}
    return counts | {value.count for value in report.data.values() if isinstance(value, People)}


def _finding(finding: Finding, shown: Shown, audience: Audience) -> dict[str, Any]:
    total = finding.people
    beyond = None
    if finding.beyond is not None and total is not None:
        beyond = shown.below_total(finding.beyond, total)
    return {
        "id": finding.id,
        "attack": finding.attack,
        "secret": finding.secret,
        "metric": finding.metric,
        "value": _value(finding, shown),
        "limit": dict(finding.limit),
        "passed": finding.passed,
        "people": total,
        "beyond": beyond,
        "evidence": _shown(finding.evidence, shown, audience),
        "plugin": finding.plugin,
    }


def _value(finding: Finding, shown: Shown) -> Any:
    """A score; one that is itself a count or a share of people is shown like a count."""
    if finding.value is None or finding.unit not in {"people", "share"}:
        return finding.value
    if finding.unit == "people" and not finding.limit.get("average"):
        return shown.count(int(finding.value))
    if finding.unit == "share" and finding.people and finding.limit.get("average"):
        people = round(finding.value * finding.people)
        told = shown.below_total(people, finding.people)
        if told != people:
            return {key: round(n / finding.people, 6) for key, n in told.items()}
    return finding.value


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
