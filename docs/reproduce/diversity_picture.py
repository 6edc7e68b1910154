"""The picture of docs/measurements/diversity-on-adult.md: six small panels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diversity_findings import ALL, ID3, Findings
from diversity_limits import Limited, l_of
from diversity_page import NAMES, TITLES
from diversity_pooled import LIMIT
from kadet_picture import BLUE, ORANGE, STYLE
from kadet_runs import K_GRID

COLORS = {"kadet": BLUE, "tds": ORANGE, "tds both": "#8a5a9e", "mondrian": "#3b8a57"}
GREY = "#777777"
WAYS = ((ID3, False, BLUE, "-"), (ID3, True, BLUE, "--"), (ALL, True, ORANGE, "-"), (ALL, False, ORANGE, "--"))


def draw(path: Path, found: Findings) -> None:
    """Write the SVG; equal findings give equal bytes (with one version of matplotlib)."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(12.5, 7.6), layout="constrained")
        (exposed, error, leaves), (id3, every, case) = figure.subplots(2, 3)
        _exposed(exposed, found)
        _limits(error, found, "test_error", "Test error under a limit, %")
        _limits(leaves, found, "leaves", "Leaves under a limit")
        leaves.set_yscale("log")
        _errors(id3, found, ID3, ylim=(17, 25))
        _errors(every, found, ALL, ylim=(14, 25))
        _case(case, found)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def _title(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold")


def _along_k(axes: Axes, title: str) -> None:
    axes.set_xscale("log")
    ticks = [2, 5, 10, 25, 75, 250, 1000]
    axes.set_xticks(ticks, [f"{k:,}" for k in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("k")
    _title(axes, title)


def _line(axes: Axes, xs: Sequence[float], ys: Sequence[float | None], color: str, look: str, name: str) -> None:
    values = [float("nan") if y is None else y for y in ys]
    axes.plot(xs, values, look, color=color, marker="o", markersize=3, linewidth=1.4, label=name)


def _exposed(axes: Axes, found: Findings) -> None:
    _along_k(axes, "Exposed people, kADET, %")
    for setting, pruned, color, look in WAYS:
        name = f"{TITLES[setting]}, {'' if pruned else 'not '}pruned"
        _line(axes, K_GRID, [found.row(setting, "kadet", k, pruned=pruned).exposed for k in K_GRID], color, look, name)
    axes.set_yscale("symlog", linthresh=0.03, linscale=0.4)
    axes.set_yticks([0, 0.1, 1, 10, 100], ["0", "0.1", "1", "10", "100"])
    axes.set_yticks([], minor=True)
    axes.set_ylim(-0.008, 130)
    axes.axvline(75, color=GREY, linewidth=0.8, linestyle=":")
    axes.legend(frameon=False, fontsize=7.5)


def _limits(axes: Axes, found: Findings, field: str, title: str) -> None:
    for setting, pruned, color, look in WAYS[:3]:
        rows = found.limited(setting, "confidence", pruned=pruned)
        name = f"{TITLES[setting]}, {'' if pruned else 'not '}pruned"
        _line(axes, [100 * row.limit for row in rows], [_value(row, field) for row in rows], color, look, name)
    ticks = [75, 80, 85, 90, 95, 99]
    axes.set_xticks(ticks, [f"{tick}\n{l_of(tick / 100):.2f}" for tick in ticks])
    axes.set_xlabel("confidence limit, % (below: the entropy l that is the same)")
    axes.axvline(85, color=GREY, linewidth=0.8, linestyle=":")
    _title(axes, title)
    axes.legend(frameon=False, fontsize=7.5)


def _value(row: Limited, field: str) -> float | None:
    value: float | None = getattr(row, field)
    return value


def _errors(axes: Axes, found: Findings, setting: str, ylim: tuple[float, float]) -> None:
    _along_k(axes, f"{TITLES[setting]}: test error, pruned, %")
    for builder, color in COLORS.items():
        rows = [found.row(setting, builder, k, pruned=True) for k in K_GRID]
        _line(axes, K_GRID, [row.test_error for row in rows], color, "-", NAMES[builder])
    axes.set_ylim(*ylim)
    axes.legend(frameon=False, fontsize=7.5)


def _case(axes: Axes, found: Findings) -> None:
    """Each group a dot: its own surest class across, what is derived of it up."""
    _title(axes, "Sex and relationship private: the groups")
    limit = 100 * LIMIT
    axes.plot([50, 100], [50, 100], color=GREY, linewidth=0.8)
    axes.axhline(limit, color=GREY, linewidth=0.8, linestyle=":")
    axes.axvline(limit, color=GREY, linewidth=0.8, linestyle=":")
    for group in found.groups:
        color = ORANGE if group.surest_derived > limit else BLUE
        axes.plot(group.surest, group.surest_derived, "o", color=color, markersize=6)
        name = group.who if group.who.count(",") == 0 else group.who.split(",")[0] + " and others"
        place = (-5, 5) if group.surest_derived - group.surest > 2 else (-5, -11)
        where = (group.surest, group.surest_derived)
        axes.annotate(name, where, place, textcoords="offset points", ha="right", fontsize=7)
    axes.set_xlim(35, 95)
    axes.set_ylim(75, 95)
    axes.set_xlabel("largest class of the group, %")
    axes.set_ylabel("as the attack derives it, %")
