"""The SVG picture of a sweep: utility against protection, and the limits of both."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from leafgate.commands.sweep.words import near_end, setting_words, worst_finding
from leafgate.io.json import JsonObject
from leafgate.io.text import shorten

MAX_SHORT_LENGTH = 32


def _short_words(value: Any) -> str:
    """The value of an option in few letters: of a mapping only its values."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    text = " ".join(map(_short_words, parts)) if isinstance(value, dict | list) and value else setting_words(value)
    return shorten(text, MAX_SHORT_LENGTH)


WIDTH, HEIGHT = 720, 440
LEFT, RIGHT, TOP, BOTTOM = 76, 24, 44, 60
COLOURS = {"pass": "#1a7f37", "fail": "#c62828", "inconclusive": "#8a6d00"}
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#222}.s{font-size:11px}"
    "line,path{stroke:#bbb}.l{stroke:#555;stroke-dasharray:5 4}"
)


@dataclass(frozen=True)
class Dot:
    """One point of the sweep in the picture's own units."""

    x: float
    y: float
    verdict: str
    label: str


@dataclass(frozen=True)
class Scale:
    """From values to places on an axis; by their logarithm when they span more than two powers of ten."""

    low: float
    high: float
    start: float
    end: float
    log: bool

    def at(self, value: float) -> float:
        low, high, here = (self._transformed(each) for each in (self.low, self.high, value))
        return self.start + (self.end - self.start) * (here - low) / (high - low)

    def _transformed(self, value: float) -> float:
        return math.log10(value) if self.log else value

    def ticks(self) -> list[float]:
        if self.log:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            marks = [factor * 10.0**power for power in range(first, last + 1) for factor in (1, 2, 5)]
            return [mark for mark in marks if self.low <= mark <= self.high]
        step = 10.0 ** math.floor(math.log10((self.high - self.low) / 4))
        step *= next(factor for factor in (1, 2, 5, 10) if (self.high - self.low) / (step * factor) <= 6)
        first = math.ceil(self.low / step)
        return [round(step * i, 12) for i in range(first, math.floor(self.high / step + 1e-9) + 1)]


def sweep_picture(sweep: JsonObject) -> bytes:
    """The picture of a sweep: each point a dot (passing ones filled), named by its values; limits as dashed lines.

    Across: protection; up: utility. Without a utility metric protection is drawn over the points in
    their order. Equal documents give equal bytes.
    """
    dots, names, limits = _dots(sweep)
    return "".join(f"{line}\n" for line in _svg_lines(dots, names, limits)).encode()


def _dots(sweep: JsonObject) -> tuple[list[Dot], tuple[str, str], tuple[float | None, float | None]]:
    named = (sweep["protection"], sweep["utility"])
    if None in named:
        named = ("point", sweep["protection"] or sweep["utility"])
    dots, limits = [], (_limit(sweep, named[0]), _limit(sweep, named[1]))
    for i, point in enumerate(sweep["points"]):
        x = float(i + 1) if named[0] == "point" else _score(point, named[0])
        y = _score(point, named[1])
        if x is not None and y is not None:
            label = ", ".join(map(_short_words, point["values"].values()))
            dots.append(Dot(x, y, point["verdict"], label))
    return dots, (str(named[0]), str(named[1])), limits


def _score(point: JsonObject, metric: str | None) -> float | None:
    finding = worst_finding(point["findings"], metric)
    return None if finding is None else near_end(finding["value"])


def _limit(sweep: JsonObject, metric: str | None) -> float | None:
    """The metric's limit, if it is the same at every point."""
    findings = [worst_finding(point["findings"], metric) for point in sweep["points"]]
    limits = {limit for f in findings if f is not None for key, limit in f["limit"].items() if key.startswith("at_")}
    return float(limits.pop()) if len(limits) == 1 else None


def _scale(values: Sequence[float], start: float, end: float) -> Scale:
    low, high = min(values), max(values)
    log = low > 0 and high / low > 100
    if log:
        return Scale(low / 1.3, high * 1.3, start, end, log)
    room = (high - low) * 0.08 or abs(high) * 0.1 or 1.0
    return Scale(low - room, high + room, start, end, log)


def _svg_lines(dots: Sequence[Dot], names: tuple[str, str], limits: tuple[float | None, float | None]) -> Iterator[str]:
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img">'
    yield f"<style>{STYLE}</style>"
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>'
    yield f"<title>{escape(names[1])} against {escape(names[0])}</title>"
    if dots:
        across = _scale([dot.x for dot in dots] + [v for v in limits[:1] if v is not None], LEFT, WIDTH - RIGHT)
        up = _scale([dot.y for dot in dots] + [v for v in limits[1:] if v is not None], HEIGHT - BOTTOM, TOP)
        yield from _axes(across, up, names)
        yield from _borders(across, up, limits)
        yield from _marks(dots, across, up)
    else:
        yield f'<text x="{LEFT}" y="{HEIGHT / 2:g}">no point has both values</text>'
    yield "</svg>"


def _axes(across: Scale, up: Scale, names: tuple[str, str]) -> Iterator[str]:
    floor, left = HEIGHT - BOTTOM, LEFT
    yield f'<path d="M{left} {TOP}V{floor}H{WIDTH - RIGHT}" fill="none"/>'
    for value in across.ticks():
        x = across.at(value)
        yield f'<line x1="{x:.1f}" y1="{floor}" x2="{x:.1f}" y2="{floor + 5}"/>'
        yield f'<text class="s" x="{x:.1f}" y="{floor + 18}" text-anchor="middle">{value:g}</text>'
    for value in up.ticks():
        y = up.at(value)
        yield f'<line x1="{left - 5}" y1="{y:.1f}" x2="{left}" y2="{y:.1f}"/>'
        yield f'<text class="s" x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'
    yield f'<text x="{(left + WIDTH - RIGHT) / 2:g}" y="{HEIGHT - 16}" text-anchor="middle">{escape(names[0])}</text>'
    yield f'<text x="{left - 60}" y="{TOP - 20}">{escape(names[1])}</text>'
    text = "filled: passes; hollow: does not"
    yield f'<text class="s" x="{WIDTH - RIGHT}" y="{TOP - 20}" text-anchor="end">{text}</text>'


def _borders(across: Scale, up: Scale, limits: tuple[float | None, float | None]) -> Iterator[str]:
    """The limits of the policy, where they are the same everywhere."""
    if limits[0] is not None:
        x = across.at(limits[0])
        yield f'<line class="l" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}"/>'
        yield f'<text class="s" x="{x + 4:.1f}" y="{HEIGHT - BOTTOM - 6}">limit {limits[0]:g}</text>'
    if limits[1] is not None:
        y = up.at(limits[1])
        yield f'<line class="l" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>'
        yield f'<text class="s" x="{LEFT + 4}" y="{y - 4:.1f}">limit {limits[1]:g}</text>'


def _marks(dots: Sequence[Dot], across: Scale, up: Scale) -> Iterator[str]:
    """A circle a dot; dots in one place share a name, which stays within the picture."""
    places: dict[tuple[str, str], list[Dot]] = {}
    for dot in dots:
        x, y, colour = across.at(dot.x), up.at(dot.y), COLOURS[dot.verdict]
        fill = colour if dot.verdict == "pass" else "#fff"
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{fill}" stroke="{colour}" stroke-width="2"/>'
        places.setdefault((f"{x:.0f}", f"{y:.0f}"), []).append(dot)
    taken: list[tuple[float, float, float]] = []
    for here in places.values():
        x, y = across.at(here[0].x), up.at(here[0].y)
        name = here[0].label if len(here) == 1 else f"{here[0].label} and {len(here) - 1} more"
        right = x < WIDTH / 2
        start = x + 7 if right else x - 7 - SIGN * len(name)
        line = _free_line(taken, start, start + SIGN * len(name), y - 8)
        side = f'x="{x + 7:.1f}"' if right else f'x="{x - 7:.1f}" text-anchor="end"'
        yield f'<text class="s" {side} y="{line:.1f}">{escape(name)}</text>'


SIGN, LINE = 6.2, 12.0
"""How wide a sign is, and how high a line, about."""


def _free_line(taken: list[tuple[float, float, float]], start: float, end: float, wanted: float) -> float:
    """The line nearest to the wanted one, above it, on which a name runs into no other; it is then taken."""
    line = wanted
    while any(start < other_end and other < end and abs(line - at) < LINE for other, other_end, at in taken):
        line -= LINE
    taken.append((start, end, line))
    return line
