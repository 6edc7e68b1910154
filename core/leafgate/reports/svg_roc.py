"""Geometry of an attack's ROC curve on logarithmic axes: the curve, the band around it, and the line of chance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from leafgate.io.json import JsonObject

LEFT, RIGHT, TOP, FLOOR = 56.0, 396.0, 12.0, 232.0
MOST_DECADES = 6
"""The axes begin at this power of a tenth at the lowest."""


@dataclass(frozen=True)
class RocFigure:
    """A curve in units of the SVG; `x_ticks` and `y_ticks` have a place and words for each power of ten."""

    attack: str
    curve: str
    band: str
    chance: str
    x_ticks: Sequence[tuple[float, str]]
    y_ticks: Sequence[tuple[float, str]]


def roc_figures(findings: Sequence[JsonObject]) -> Iterator[RocFigure]:
    """The curve of each attack that has one in a finding's evidence, once for each attack."""
    drawn = set()
    for finding in findings:
        curve = finding["evidence"].get("roc")
        if curve and finding["attack"] not in drawn and len(curve["fpr"]) > 1:
            drawn.add(finding["attack"])
            yield roc_figure(finding["attack"], curve)


def roc_figure(attack: str, curve: JsonObject) -> RocFigure:
    """The figure of a curve with its intervals.

    Args:
        attack: the name of the attack.
        curve: `fpr`, `tpr`, `low` and `high`, as many rates of each, `fpr` in rising order. Rates that are below the
            first false positive rate lie on the axis.
    """
    smallest = min((rate for rate in curve["fpr"] if rate > 0), default=1.0)
    decades = min(max(1, math.ceil(-math.log10(smallest))), MOST_DECADES)

    def x(rate: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * _along(rate, decades), 1)

    def y(rate: float) -> float:
        return round(FLOOR - (FLOOR - TOP) * _along(rate, decades), 1)

    def line(points: Sequence[tuple[float, float]]) -> str:
        return "M" + "L".join(f"{x(false)} {y(true)}" for false, true in points)

    fpr = curve["fpr"]
    upper, lower = (list(zip(fpr, curve[end], strict=False)) for end in ("high", "low"))
    marks = [(10.0**-decade, f"{10.0 ** (2 - decade):.4g} %") for decade in range(decades, -1, -1)]
    return RocFigure(
        attack,
        line(list(zip(fpr, curve["tpr"], strict=False))),
        line([*upper, *reversed(lower)]) + "Z",
        line([(10.0**-decades, 10.0**-decades), (1.0, 1.0)]),
        [(x(rate), words) for rate, words in marks],
        [(y(rate), words) for rate, words in marks],
    )


def _along(rate: float, decades: int) -> float:
    """How far along its axis a rate lies, from 0 to 1."""
    return min(max(1 + math.log10(rate) / decades, 0.0), 1.0) if rate > 0 else 0.0
