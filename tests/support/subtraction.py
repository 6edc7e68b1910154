"""An adversary with a pencil: what the numbers of a report give away when they are added and subtracted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space
from scipy.optimize import linprog


@dataclass
class Sums:
    """Unknown whole numbers with their bounds, and sums of them that are known to be zero."""

    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    veiled: list[bool] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    equations: list[dict[int, float]] = field(default_factory=list)

    def number(self, shown: Any, name: str) -> int:
        """A variable for a number as the report shows it: exact, veiled, or not at all."""
        low, high = _bounds(shown)
        self.low.append(low)
        self.high.append(high)
        self.veiled.append(isinstance(shown, Mapping))
        self.names.append(name)
        return len(self.low) - 1

    def within(self, number: int, low: float, high: float) -> None:
        """A number is known to lie between these, if it is veiled at all."""
        if self.veiled[number]:
            self.low[number], self.high[number] = max(self.low[number], low), min(self.high[number], high)

    def adds_up(self, total: int, *parts: int) -> None:
        self.equations.append({total: 1.0, **dict.fromkeys(parts, -1.0)})

    def matrix(self) -> NDArray[np.float64]:
        rows = np.zeros((len(self.equations), len(self.low)))
        for row, equation in zip(rows, self.equations, strict=True):
            for i, factor in equation.items():
                row[i] = factor
        return rows


def _bounds(shown: Any) -> tuple[float, float]:
    if isinstance(shown, Mapping):
        return (1, shown["fewer_than"] - 1) if "fewer_than" in shown else (shown["from"], shown["to"])
    return (0, np.inf) if shown is None else (shown, shown)


def sums_of(report: Mapping[str, Any]) -> Sums:
    """Everything that adds up in a report document."""
    sums = Sums()
    everyone = sums.number(report["data"].get("people"), "everyone")
    for finding in report["findings"]:
        if finding["people"] is None:
            continue
        people = sums.number(finding["people"], f"{finding['id']}: people")
        if finding["people"] == report["data"].get("people"):
            sums.adds_up(everyone, people)
        beyond, rest = sums.number(finding["beyond"], f"{finding['id']}: beyond"), sums.number(None, "the rest")
        sums.adds_up(people, beyond, rest)
        _groups(sums, people, beyond, finding)
        bars = [(bar["past"], sums.number(bar["people"], f"{finding['id']}: bar")) for bar in finding["distribution"]]
        if bars:
            sums.adds_up(people, *(bar for _, bar in bars))
        if bars and finding["beyond"] is not None and all(past is not None for past, _ in bars):
            sums.adds_up(beyond, *(bar for past, bar in bars if past))
        if not declared(report, finding):
            sums.within(beyond, *_beyond_by_verdict(finding))
    for finding in report["findings"]:
        if (group := _group_told(finding)) is not None and not declared(report, finding):
            sums.within(sums.number(group, f"{finding['id']}: value"), *_value_by_verdict(finding))
    return sums


def declared(report: Mapping[str, Any], finding: Mapping[str, Any]) -> bool:
    """Does the report say that this verdict discloses more than its numbers do? The one exception there is."""
    return any(note.startswith(f"Whether {finding['metric']} is ") for note in report["notes"])


def _group_told(finding: Mapping[str, Any]) -> Mapping[str, int] | None:
    """The veiled people behind a score, where it is a group's size or one over it; the share of people that it is."""
    value, everyone = finding["value"], finding["people"]
    if not isinstance(value, Mapping) or finding["limit"].get("average"):
        return None
    if finding["attack"] is None and everyone is not None and isinstance(value.get("fewer_than"), int):
        return None  # people less parameters: it may be below 0
    if "more_than" in value:
        return {"fewer_than": round(1 / value["more_than"])}
    if isinstance(value.get("fewer_than"), float):
        return {"fewer_than": round(value["fewer_than"] * everyone)} if isinstance(everyone, int) else None
    return value if all(isinstance(number, int) for number in value.values()) else None


def _value_by_verdict(finding: Mapping[str, Any]) -> tuple[float, float]:
    """Between which numbers of people a score lies that keeps to its limit, or that does not."""
    limit, value, beyond = finding["limit"], finding["value"], finding["beyond"]
    holds = finding["passed"]
    if limit.get("allow"):  # who is outside it is disclosed
        holds = None if beyond is None else beyond == 0
    if holds is None:
        return -np.inf, np.inf
    if "at_least" in limit:
        least: float = math.ceil(limit["at_least"] - 1e-9)
        return (least, np.inf) if holds else (-np.inf, least - 1)
    if "more_than" in value:
        least = math.ceil(1 / limit["at_most"] - 1e-9) if limit["at_most"] > 0 else math.inf
        return (least, np.inf) if holds else (-np.inf, least - 1)
    whole = finding["people"] if isinstance(value.get("fewer_than"), float) else 1
    most = math.floor(limit["at_most"] * whole + 1e-9)
    return (-np.inf, most) if holds else (most + 1, np.inf)


def _beyond_by_verdict(finding: Mapping[str, Any]) -> tuple[float, float]:
    """Between which numbers the people outside a limit lie, when some are allowed to and the verdict is known."""
    everyone, allow = finding["people"], finding["limit"].get("allow", 0.0)
    if finding["passed"] is None or not isinstance(everyone, int) or finding["limit"].get("average"):
        return -np.inf, np.inf
    most = math.floor(allow * everyone + 1e-9)
    return (-np.inf, most) if finding["passed"] else (most + 1, np.inf)


def _groups(sums: Sums, people: int, beyond: int, finding: Mapping[str, Any]) -> None:
    """The worst groups are of different people, all outside the limit; where these are all groups, they are all."""
    evidence = finding["evidence"]
    worst = [sums.number(group["people"], f"{finding['id']}: worst") for group in evidence.get("worst", ())]
    left = sums.number(None, "the other groups")
    if worst and evidence.get("groups") == len(worst):
        sums.adds_up(people, *worst)
    elif worst:
        sums.adds_up(people, *worst, left)
    if worst and finding["beyond"] is not None:
        sums.adds_up(beyond, *worst, sums.number(None, "other groups outside the limit"))
    labels = [sums.number(count, f"{finding['id']}: label") for count in evidence.get("labels", {}).values()]
    if labels:
        sums.adds_up(people, *labels)


def given_away(report: Mapping[str, Any], smallest: int) -> Iterator[str]:
    """What the report veils, or counts fewer people than the smallest cell, and can be worked out all the same."""
    sums = sums_of(report)
    for name, least, most, veiled in zip(sums.names, sums.low, sums.high, sums.veiled, strict=True):
        if veiled and least == most < smallest:
            yield f"{name} is {least:g} by the verdict"
    if not sums.equations:
        return
    rows, low, high = sums.matrix(), np.array(sums.low), np.array(sums.high)
    unknown = np.flatnonzero(low != high)
    if not len(unknown):
        return
    constants = -rows[:, low == high] @ low[low == high]
    bounds = list(zip(low[unknown], high[unknown], strict=True))
    free = null_space(rows[:, unknown])
    some = np.linalg.lstsq(rows[:, unknown], constants, rcond=None)[0]
    few = [place for place, i in enumerate(unknown) if sums.veiled[i] and low[i] < smallest]
    open_ = _several_values(rows[:, unknown], constants, bounds) if few else np.zeros(0, dtype=bool)
    for place, i in enumerate(unknown):
        fixed = np.abs(free[place]).max(initial=0.0) < 1e-9
        value = float(some[place]) if fixed else None
        if value is None and place in few and not open_[place]:
            value = _only_value(rows[:, unknown], constants, place, bounds)
        if value is not None and 0 < round(value) < smallest:
            yield f"{sums.names[i]} is {value:g}"


def _several_values(
    rows: NDArray[np.float64], constants: NDArray[np.float64], bounds: list[tuple[float, float]]
) -> NDArray[np.bool_]:
    """Which numbers differ by one or more between two ways to fill everything in: these need no closer look."""
    aims = np.vstack([np.ones(rows.shape[1]), np.resize([1.0, -1.0], rows.shape[1])])
    ends = [linprog(sign * aim, A_eq=rows, b_eq=constants, bounds=bounds) for aim in aims for sign in (1, -1)]
    found = [end.x for end in ends if end.status == 0]
    return np.ptp(found, axis=0) >= 1 - 1e-6 if found else np.zeros(rows.shape[1], dtype=bool)


def _only_value(
    rows: NDArray[np.float64], constants: NDArray[np.float64], place: int, bounds: list[tuple[float, float]]
) -> float | None:
    """The one whole number a veiled count can be within all bounds; None if there are several."""
    aim = np.zeros(rows.shape[1])
    aim[place] = 1
    ends = [linprog(sign * aim, A_eq=rows, b_eq=constants, bounds=bounds) for sign in (1, -1)]
    if any(end.status != 0 for end in ends):
        return None
    least, most = ends[0].fun, -ends[1].fun
    return float(least) if most - least < 1 - 1e-6 else None


def exact_counts(report: Mapping[str, Any]) -> list[Any]:
    """Counts that the report tells as they are, though they are neither nobody nor everybody in the table."""
    items: list[Any] = []
    for finding in report["findings"]:
        groups = finding["evidence"].get("worst", ())
        items += [finding["people"], finding["beyond"], finding["evidence"].get("smallest_group")]
        items += [bar["people"] for bar in finding["distribution"]] + [group["people"] for group in groups]
    return [count for count in items if isinstance(count, int) and count not in (0, report["data"].get("people"))]
