"""A histogram of people's scores: its bars, its edges and where the limit is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leafgate.views.telling import sentence
from leafgate.words import middle, number, wanted

WIDTH, FLOOR, HIGH, SIDE = 420.0, 150.0, 118.0, 14.0


@dataclass(frozen=True)
class Bar:
    """One bar in the picture's own units; `past` is "" for a bar across the limit."""

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

    id: str
    told: str
    wanted: str
    bars: Sequence[Bar]
    edges: Sequence[tuple[float, str]]
    limit: float | None


def histogram(finding: Mapping[str, Any]) -> Histogram:
    """How protection is spread over people, as far as the report tells it."""
    bars = finding["distribution"]
    width = (WIDTH - 2 * SIDE) / len(bars)
    most = max(middle(bar["people"]) for bar in bars) or 1
    drawn = [_bar(bar, SIDE + i * width, width, most) for i, bar in enumerate(bars)]
    marks = [bars[0]["from"], *(bar["to"] for bar in bars)]
    edges = [(SIDE + i * width, "∞" if mark is None else f"{mark:.4g}") for i, mark in enumerate(marks)]
    if "at_most" in finding["limit"] and (marks[0] or 0) < 0 <= (marks[1] or 0):
        edges[0] = (SIDE, "")  # nobody is there: a bar holds its upper end
    bound = next(value for key, value in finding["limit"].items() if key.startswith("at_"))
    at = next((x for (x, _), mark in zip(edges, marks, strict=True) if mark == bound), None)
    return Histogram(finding["id"], sentence(finding), wanted(finding), drawn, edges, at)


def _bar(bar: Mapping[str, Any], x: float, width: float, most: float) -> Bar:
    height = HIGH * middle(bar["people"]) / most
    height = max(height, 2.0) if bar["people"] else 0.0
    past = {True: "past", False: "within", None: "across"}[bar["past"]]
    ends = [
        f"from {bar['from']:.4g}" if bar["from"] is not None else "",
        f"to {bar['to']:.4g}" if bar["to"] is not None else "and more",
    ]
    title = f"{number(bar['people'])} people: {' '.join(filter(None, ends))}"
    return Bar(x + 1.5, FLOOR - height, width - 3, height, past, _short(round(middle(bar["people"]))), title)


def _short(people: int) -> str:
    """A count that fits over a bar."""
    if people < 10_000:
        return f"{people:,}" if people else ""
    return f"{people / 1000:.0f}k" if people < 1_000_000 else f"{people / 1e6:.1f}M"
