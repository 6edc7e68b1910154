"""The SVG picture of candidates, which one of several releases is chosen of: use against protection, and limits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 720, 440
LEFT, RIGHT, TOP, BOTTOM = 76, 24, 44, 60
COLOURS = {"pass": "#1a7f37", "fail": "#c62828", "inconclusive": "#8a6d00"}
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#222}.s{font-size:11px}"
    "line,path{stroke:#bbb}.l{stroke:#555;stroke-dasharray:5 4}"
)


@dataclass(frozen=True)
class Dot:
    """One candidate: its protection, its use, its verdict, and how it is named; empty for one without a name."""

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
        low, high, here = (math.log10(each) if self.log else each for each in (self.low, self.high, value))
        return self.start + (self.end - self.start) * (here - low) / (high - low)

    def ticks(self) -> list[float]:
        if self.log:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            marks = [factor * 10.0**power for power in range(first, last + 1) for factor in (1, 2, 5)]
            return [mark for mark in marks if self.low <= mark <= self.high]
        step = 10.0 ** math.floor(math.log10((self.high - self.low) / 4))
        step *= next(factor for factor in (1, 2, 5, 10) if (self.high - self.low) / (step * factor) <= 6)
        first = math.ceil(self.low / step)
        return [round(step * i, 12) for i in range(first, math.floor(self.high / step + 1e-9) + 1)]


def picture(dots: Sequence[Dot], names: tuple[str, str], limits: tuple[float | None, float | None]) -> bytes:
    """The picture: each candidate a dot (passing ones filled), limits as dashed lines. Equal dots give equal bytes.

    Args:
        dots: the candidates.
        names: of what is drawn across, and of what is drawn up.
        limits: of both, None where there is none.
    """
    return "".join(f"{line}\n" for line in _svg_lines(dots, names, limits)).encode()


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
        yield f'<text x="{LEFT}" y="{HEIGHT / 2:g}">no candidate has both values</text>'
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
    for here in (named for dots_here in places.values() if (named := [each for each in dots_here if each.label])):
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
