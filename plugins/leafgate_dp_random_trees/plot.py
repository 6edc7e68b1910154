"""The largest sampling rate against the number of trees, a line for each k, as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from leafgate_dp_random_trees.accounting import Reached

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 90, 40, 56
COLOURS = ("#1b6ca8", "#c1440e", "#2e7d32", "#6a1b9a", "#8a6d00", "#37474f")


def picture(results: Sequence[Reached], title: str) -> bytes:
    """One line for each k over the numbers of trees, which stand as far apart as their logarithms."""
    return "".join(f"{line}\n" for line in _drawn(results, title)).encode()


def _drawn(found: Sequence[Reached], title: str) -> Iterator[str]:
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img">'
    yield "<style>text{font:13px system-ui,sans-serif;fill:#222}path{fill:none;stroke-width:2}</style>"
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/><title>{escape(title)}</title>'
    yield f'<text x="{LEFT}" y="22">{escape(title)}</text>'
    trees = sorted({one.trees for one in found})
    top = max((one.beta or 0 for one in found), default=0) * 1.1 or 1.0

    def x(n: int) -> float:
        span = math.log(trees[-1]) - math.log(trees[0]) or 1.0
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log(n) - math.log(trees[0])) / span

    def y(beta: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * beta / top

    for n in trees:
        yield f'<text x="{x(n):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{n}</text>'
    for i in range(5):
        rate = top * i / 4
        yield f'<text x="{LEFT - 8}" y="{y(rate) + 4:.1f}" text-anchor="end">{rate:.2f}</text>'
        yield f'<path d="M{LEFT} {y(rate):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>'
    yield f'<text x="{(LEFT + WIDTH - RIGHT) / 2:g}" y="{HEIGHT - 14}" text-anchor="middle">trees</text>'
    for i, k in enumerate(sorted({one.k for one in found})):
        points = [(x(one.trees), y(one.beta)) for one in found if one.k == k and one.beta is not None]
        colour = COLOURS[i % len(COLOURS)]
        if points:
            line = "L".join(f"{px:.1f} {py:.1f}" for px, py in points)
            yield f'<path d="M{line}" stroke="{colour}"/>'
            yield from (f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{colour}"/>' for px, py in points)
            yield f'<text x="{points[-1][0] + 8:.1f}" y="{points[-1][1] + 4:.1f}">k = {k}</text>'
    yield "</svg>"
