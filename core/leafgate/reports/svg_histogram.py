"""Geometry of a histogram of people's scores: bars, edges and the line of the limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from leafgate.disclosure.summary import counted_meaning
from leafgate.disclosure.wording import as_sentence, finding_result, middle_of_count, number_words
from leafgate.io.json import JsonObject

WIDTH, FLOOR, HIGH, SIDE = 420.0, 150.0, 118.0, 22.0
CHAR_WIDTH = 6.4
"""Approximate width of a character below or above a bar."""


@dataclass(frozen=True)
class Bar:
    """One bar in units of the SVG; `past` is "" for a bar across the limit."""

    x: float
    y: float
    width: float
    height: float
    past: str
    people: str
    title: str


@dataclass(frozen=True)
class Histogram:
    """A finding's histogram; `limit` is where the limit is drawn, None where it lies within a bar."""

    description: str
    bars: Sequence[Bar]
    edges: Sequence[tuple[float, str]]
    limit: float | None


def histogram(finding: JsonObject) -> Histogram:
    """The histogram of a finding's scores."""
    bars = finding["distribution"]
    width = (WIDTH - 2 * SIDE) / len(bars)
    most = max(middle_of_count(bar["people"]) for bar in bars) or 1
    drawn = [_bar(bar, SIDE + i * width, width, most) for i, bar in enumerate(bars)]
    marks = [bars[0]["from"], *(bar["to"] for bar in bars)]
    edges = [(SIDE + i * width, _edge(mark) if i or mark is not None else "") for i, mark in enumerate(marks)]
    if "at_most" in finding["limit"] and (marks[0] or 0) < 0 <= (marks[1] or 0):  # no score is below 0
        edges[:2] = [(SIDE, ""), (SIDE + width / 2, "0") if marks[1] == 0 else edges[1]]
    bound = next(value for key, value in finding["limit"].items() if key.startswith("at_"))
    at = next((x for (x, _), mark in zip(edges, marks, strict=True) if mark == bound), None)
    description = f"{counted_meaning(finding)} {as_sentence(finding_result(finding))}".strip()
    return Histogram(description, drawn, _apart(edges, at), at)


def _edge(mark: float | None) -> str:
    """A score in few characters, for the axis."""
    if mark is None:
        return "∞"
    return _short(int(mark)) or "0" if float(mark).is_integer() and mark >= 10_000 else f"{mark:.4g}"


def _apart(edges: Sequence[tuple[float, str]], limit: float | None) -> list[tuple[float, str]]:
    """The labels of the edges that do not overlap; those of the limit and of the last edge have priority."""
    kept: list[tuple[float, str]] = []
    for x, words in sorted(edges, key=lambda edge: (edge[0] != limit, edge[0] != edges[-1][0], edge[0])):
        if all(abs(x - at) > CHAR_WIDTH * (len(words) + len(label)) / 2 + 3 for at, label in kept):
            kept.append((x, words))
    return sorted(kept)


def _bar(bar: JsonObject, x: float, width: float, most: float) -> Bar:
    height = HIGH * middle_of_count(bar["people"]) / most
    height = max(height, 2.0) if bar["people"] else 0.0
    past = {True: "past", False: "within", None: "across"}[bar["past"]]
    ends = [
        f"from {bar['from']:.4g}" if bar["from"] is not None else "",
        f"to {bar['to']:.4g}" if bar["to"] is not None else "and more",
    ]
    title = f"{number_words(bar['people'])} people: {' '.join(filter(None, ends))}"
    people = number_words(bar["people"]) if bar["people"] else ""
    if CHAR_WIDTH * len(people) >= width:
        about = "~" if isinstance(bar["people"], Mapping) else ""
        people = about + _short(round(middle_of_count(bar["people"])))
    return Bar(x + 1.5, FLOOR - height, width - 3, height, past, people, title)


def _short(count: int) -> str:
    """A count in few characters."""
    for unit, suffix in ((1_000_000, "M"), (1_000, "k")):
        if count >= unit:
            return f"{count / unit:.{0 if count >= 10 * unit else 1}f}{suffix}".replace(".0", "")
    return str(count) if count else ""
