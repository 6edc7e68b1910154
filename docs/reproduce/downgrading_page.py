"""The measured part of docs/measurements/downgrading-on-votes.md, and its picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure

from kadet_picture import STYLE
from writing import fixed, table

if TYPE_CHECKING:
    from downgrading_on_votes import FrontierRow, WayRow

COLOURS = ("#1f5f99", "#c8641b", "#5b8c3a", "#8a4f9e")
LINES = {"built": "-", "least possible": ":"}


def draw_frontier(path: Path, edge: Sequence[FrontierRow]) -> None:
    """The share of votes withheld against tau, an SVG; equal rows give equal bytes."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.5, 4.4), layout="constrained")
        axes = figure.subplots()
        for kind, line in LINES.items():
            names = dict.fromkeys(row.way for row in edge if row.kind == kind)
            for colour, name in zip(COLOURS, names, strict=False):
                mine = [row for row in edge if row.way == name and row.kind == kind and row.withheld is not None]
                points = [row.tau for row in mine], [100 * (row.withheld or 0) for row in mine]
                axes.plot(*points, line, marker="o", ms=3, color=colour, label=f"{name} ({kind})")
        axes.axhline(100 / 3, color="#888888", lw=0.8, ls="--")
        axes.set_xlabel("tau: nine in ten parties are believed with no more")
        axes.set_ylabel("votes withheld, % of those of the members concerned")
        axes.set_ylim(0, 100)
        axes.legend(frameon=False, fontsize=7)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def lines(ways: Sequence[WayRow]) -> Iterator[str]:
    """What each way withholds, what adversaries still guess, and how often there is no release."""
    head = ("way", "votes withheld", "tree right", "restoration right", "held, tree", "held, all four", "no release")
    rows = []
    for way in ways:
        numbers = (way.withheld, way.right_tree, way.right_restoration, way.held_tree, way.held_all)
        rows.append([way.way, *map(_percent, numbers), f"{way.failed} of {way.draws}"])
    yield from table(head, rows, "l" + "r" * 6)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{fixed(100 * share)} %"
