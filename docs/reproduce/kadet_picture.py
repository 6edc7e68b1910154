"""The picture of docs/measurements/kadet-on-adult.md: error and exposed people against k."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kadet_findings import Experiment, Findings
from kadet_runs import K_GRID

BLUE, ORANGE = "#1f5f99", "#c8641b"
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "leafgate",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.7,
}


def draw(path: Path, found: Findings) -> None:
    """Write the SVG; equal findings give equal bytes (with one version of matplotlib)."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.5, 4.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        _error(left, found)
        _exposed(right, found)
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def _along_k(axes: Axes, title: str) -> None:
    axes.set_xscale("log")
    ticks = [2, 5, 10, 25, 50, 100, 250, 500, 1000]
    axes.set_xticks(ticks, [f"{k:,}" for k in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("k: people in the smallest group allowed")
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold")


def _curves(axes: Axes, e: Experiment, field: str, color: str, name: str) -> None:
    """Pruned in full, not pruned dashed."""
    for pruned in (True, False):
        values = [getattr(e.row(k, pruned=pruned), field) for k in K_GRID]
        look = "-" if pruned else "--"
        text = "pruned" if pruned else "not pruned"
        axes.plot(K_GRID, values, look, color=color, marker="o", markersize=3, linewidth=1.4, label=f"{name}, {text}")


def _error(axes: Axes, found: Findings) -> None:
    _along_k(axes, "Test error, %")
    _curves(axes, found.id3, "test_error", BLUE, "ID3 setting")
    _curves(axes, found.all, "test_error", ORANGE, "C4.5 setting")
    _level(axes, found.id3.plain("id3", pruned=False).test_error, BLUE, "ID3 without k")
    _level(axes, found.id3.plain("c45", pruned=True).test_error, BLUE, "C4.5 without k, the same 8 attributes")
    _level(axes, found.all.plain("c45", pruned=True).test_error, ORANGE, "C4.5 without k")
    _level(axes, found.id3.plain("one leaf", pruned=True).test_error, "#777777", "a single leaf")
    axes.set_ylim(bottom=13.8)
    axes.axvline(889.5, color="#999999", linewidth=0.8, linestyle=":")
    axes.annotate("ID3's root\nchanges", (889.5, 19.6), (-3, 0), textcoords="offset points", ha="right", fontsize=7.5)


def _level(axes: Axes, error: float, color: str, name: str) -> None:
    """A tree that promises nothing: a thin line across, named below its right end."""
    axes.axhline(error, color=color, linewidth=0.8, alpha=0.7)
    place: dict[str, Any] = {"xytext": (0, -2), "textcoords": "offset points", "ha": "right", "va": "top"}
    axes.annotate(name, (1000, error), color=color, fontsize=7.5, **place)


def _exposed(axes: Axes, found: Findings) -> None:
    _along_k(axes, "Exposed people, %")
    _curves(axes, found.id3, "exposed", BLUE, "ID3 setting")
    _curves(axes, found.all, "exposed", ORANGE, "C4.5 setting")
    axes.set_yscale("symlog", linthresh=0.03, linscale=0.4)
    axes.set_yticks([0, 0.1, 1, 10, 100], ["0", "0.1", "1", "10", "100"])
    axes.set_yticks([], minor=True)
    axes.set_ylim(-0.008, 130)
    axes.axvline(75, color="#999999", linewidth=0.8, linestyle=":")
    axes.annotate("k = 75", (75, 70), (4, 4), textcoords="offset points", fontsize=8)
