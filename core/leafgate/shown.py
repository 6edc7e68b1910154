"""How counts of people are shown side by side: exactly, as a range, or not at all."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from leafgate.report import Finding, OfRelease, People, Private, Report

Audience = Literal["public", "auditor"]


@dataclass(frozen=True)
class Shown:
    """How counts of people are shown: none below `smallest`, and none that a difference would give away.

    `close` are the counts that differ from another count of the same document by less than the
    smallest cell; they are shown as a range of that width. `released`: may the release be published as it is?
    """

    smallest: int
    close: Collection[int]
    released: bool = False

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
    counts = pool(report, smallest)
    close = {n for n in counts if any(0 < abs(n - m) < smallest for m in counts)}
    return Shown(smallest, close, released=report.verdict == "pass")


def pool(report: Report, smallest: int) -> set[int]:
    """Every count of people, from the smallest cell up, that a report would tell if nothing were veiled."""
    free = Shown(smallest, ())
    findings = [finding for finding in report.findings if not (finding.private and smallest > 1)]
    counts = set(_people_in([report.data, [finding.evidence for finding in findings]]))
    for finding in findings:
        total = finding.people
        parts = [part for part in (finding.beyond, share_count(finding)) if part is not None]
        counts |= {part for part in parts if total is None or not free.near_all(part, total)}
        counts |= {total} if total is not None else set()
        counts |= {int(finding.value)} if finding.unit == "people" and finding.value is not None else set()
        counts |= {round(1 / finding.value)} if finding.unit == "one over people" and finding.value else set()
    return {count for count in counts if count >= smallest}


def _people_in(thing: Any) -> Iterator[int]:
    if isinstance(thing, People):
        yield thing.count
    elif isinstance(thing, Mapping | list | tuple):
        for inside in thing.values() if isinstance(thing, Mapping) else thing:
            yield from _people_in(inside)


def share_count(finding: Finding) -> int | None:
    """The people behind a score that is a share of them."""
    of_people = finding.limit.get("average", finding.attack is None)
    if finding.unit != "share" or finding.value is None or finding.people is None or not of_people:
        return None
    return round(finding.value * finding.people)


COARSEST = 0.1
"""Shares in coarser steps say nothing."""


def coarse(value: float, step: float) -> float:
    """A number rounded to the next power of ten above a step that must not show."""
    return round(value, -math.ceil(math.log10(step))) + 0.0 if step > 0 else value


def step_of(finding: Finding, smallest: int) -> float:
    """In which steps a score that single people move is told: a power of ten, 0 where nobody can move it."""
    moved = 0.0 if smallest == 1 else smallest * finding.moved_by_one
    return 10.0 ** math.ceil(math.log10(moved)) if moved > 0 else 0.0


def told(thing: Any, shown: Shown, audience: Audience) -> Any:
    """Evidence with counts shown as they may be; what is private falls away for the public."""
    if isinstance(thing, People):
        return shown.count(thing.count)
    if isinstance(thing, OfRelease):
        return thing.content if audience == "auditor" else thing.public
    if isinstance(thing, Private):
        return told(thing.content, shown, audience)
    if isinstance(thing, Mapping):
        kept = {str(key): value for key, value in thing.items() if _is_for(value, shown, audience)}
        return {key: told(value, shown, audience) for key, value in kept.items()}
    if isinstance(thing, Sequence) and not isinstance(thing, str):
        return [told(item, shown, audience) for item in thing if _is_for(item, shown, audience)]
    return thing


def _is_for(thing: Any, shown: Shown, audience: Audience) -> bool:
    """May the audience see anything of it?"""
    if audience == "auditor":
        return True
    if isinstance(thing, OfRelease):
        return shown.released and thing.public is not None
    return not isinstance(thing, Private)
