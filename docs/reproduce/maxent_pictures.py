"""The pictures of docs/measurements/maxent-on-adult.md: divergence, averages, cost; and risk against knowledge."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kadet_picture import BLUE, ORANGE, STYLE
from leafgate.kernel.release import Level
from maxent_findings import MEASURES, Findings
from maxent_knowledge import LEVELS
from maxent_rows import NAMES, RATES
from maxent_runs import Attacked
from maxent_settings import LARGE, MIN_SPLIT, Measure, Wanted

GREY = "#777777"
COLOURS: dict[tuple[Measure, int], str] = {
    ("gini", MIN_SPLIT): BLUE,
    ("gini", LARGE): GREY,
    ("gain", MIN_SPLIT): ORANGE,
}
KINDS: tuple[tuple[Level, bool], ...] = (
    ("labels", True),
    (RATES, False),
    (RATES, True),
    ("counts", False),
    ("counts", True),
)
WORDS = ("labels", "error\nrates", "error rates,\nchoices", "counts", "counts,\nchoices")


def draw(path: Path, found: Findings) -> None:
    """Figures 3, 4, 6 (left), 8 (right), and 9 (below)."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.5, 8), layout="constrained")
        axes: Any = figure.subplots(2, 2)
        _overall(axes[0][0], found)
        _averages(axes[0][1], found)
        _cost(axes[1][0], found, "seconds", "Time, seconds")
        axes[1][0].set_yscale("log")
        _cost(axes[1][1], found, "megabytes", "Memory at most, MB")
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def draw_knowledge(path: Path, found: Findings) -> None:
    """Risk against the share of people who are known, and against the number of facts."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.5, 3.8), layout="constrained")
        left, middle, right = figure.subplots(1, 3)
        _by_people(left, found, "divergence", "D_overall")
        _by_people(middle, found, "exposed", "Exposed people, %")
        _by_facts(right, found)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def _titled(axes: Axes, title: str, across: str = "") -> None:
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
    axes.set_xlabel(across)


def _bars(axes: Axes, found: Findings, document: Any) -> None:
    """A bar for each kind of release and tree; `document` gives an attack's height and its spread."""
    by_wanted = {each.wanted: each for each in found.attacks}
    for number, ((measure, min_split), colour) in enumerate(COLOURS.items()):
        wanted = [Wanted(measure, level, internal, min_split) for level, internal in KINDS]
        there = [(place, by_wanted[each]) for place, each in enumerate(wanted) if each in by_wanted]
        heights, errors = zip(*(document(each) for _, each in there), strict=True)
        places = [place + 0.27 * (number - 1) for place, _ in there]
        spread: Any = [[low for low, _ in errors], [high for _, high in errors]]
        label = f"{NAMES[measure]}, {there[0][1].tree.leaves:,} leaves"
        axes.bar(places, heights, 0.25, color=colour, label=label, yerr=spread, error_kw={"linewidth": 0.8})
    axes.set_xticks(range(len(WORDS)), WORDS)
    axes.legend(frameon=False)


def _overall(axes: Axes, found: Findings) -> None:
    def mean_and_range(each: Attacked) -> tuple[float, tuple[float, float]]:
        best = each.overall[0]
        return best, (best - min(each.overall), max(each.overall) - best)

    _bars(axes, found, mean_and_range)
    _titled(axes, "D_overall, nats (lines: over all optima found)")


def _cost(axes: Axes, found: Findings, field: str, title: str) -> None:
    _bars(axes, found, lambda each: (getattr(each, field), (0, 0)))
    _titled(axes, title)


def _averages(axes: Axes, found: Findings) -> None:
    for measure in MEASURES:
        for level, look in ((RATES, "-"), ("counts", "--")):
            _average(axes, found, measure, level, look)
    axes.set_xscale("log")
    axes.axhline(0, color="#999999", linewidth=0.8)
    axes.legend(frameon=False)
    _titled(axes, "Average of the K largest differences KL2 - KL1", "K")


def _average(axes: Axes, found: Findings, measure: Measure, level: Any, look: str) -> None:
    means = found.averages(measure, level)
    label = f"{NAMES[measure]}, {level.replace('_', ' ')}"
    axes.plot([m.k for m in means], [m.difference for m in means], look, color=COLOURS[measure, MIN_SPLIT], label=label)


def _by_people(axes: Axes, found: Findings, field: str, title: str) -> None:
    for released, colour in zip(dict.fromkeys(each.released for each in found.people), (ORANGE, BLUE), strict=True):
        mine = [each for each in found.people if each.released == released]
        values = [getattr(each, field) for each in mine]
        axes.plot([100 * each.known for each in mine], values, marker="o", markersize=3, color=colour, label=released)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    _titled(axes, title, "people whose education is known, %")


def _by_facts(axes: Axes, found: Findings) -> None:
    for level, colour in zip(LEVELS, (GREY, BLUE, ORANGE), strict=True):
        mine = [each for each in found.facts if each.released == level]
        _line(
            axes, [each.known for each in mine], [each.divergence / mine[0].divergence for each in mine], level, colour
        )
    axes.set_xticks([0, 1, 2, 3])
    axes.legend(frameon=False)
    _titled(axes, "D_overall, relative", "facts known")


def _line(axes: Axes, x: Sequence[float], y: Sequence[float], level: str, colour: str) -> None:
    axes.plot(x, y, marker="o", markersize=3, color=colour, label=level.replace("_", " "))
