"""The pictures of docs/measurements/dp-random-trees-results.md: accuracy against epsilon, delta against epsilon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dp_account import EPSILONS as TOTALS
from dp_account import KS, TREES
from dp_data import FRONTIER
from dp_findings import Findings
from dp_frontier import EPSILONS, NOISY
from kadet_picture import STYLE

BROWNS = ("#f2c9a8", "#e39a63", "#c8641b", "#7d3a0a")
LOOKS: dict[str, tuple[str, str]] = {
    "sampled, evidence": ("#1f5f99", "-"),
    "sampled, normalised": ("#1f5f99", "--"),
    "sampled, sum": ("#1f5f99", ":"),
    **dict(
        zip((f"noise, {trees} trees, evidence" for trees in NOISY), ((color, "-") for color in BROWNS), strict=True)
    ),
    "DP-EBM": ("#3b7d3b", "-"),
    "diffprivlib, positions": ("#7a4b9a", "-"),
    "diffprivlib, 0 and 1": ("#7a4b9a", "--"),
}
COLORS = ("#1f5f99", "#c8641b", "#3b7d3b")


def draw_frontier(path: Path, found: Findings) -> None:
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.5, 4.8), layout="constrained")
        panels = figure.subplots(1, len(FRONTIER))
        handles: dict[str, Any] = {}
        for axes, name in zip(panels, FRONTIER, strict=True):
            handles |= _accuracies(axes, found, name)
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=5, frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def _accuracies(axes: Axes, found: Findings, name: str) -> dict[str, Any]:
    axes.set_title(name, loc="left", fontsize=10, fontweight="bold")
    _logarithmic(axes, EPSILONS)
    drawn: dict[str, Any] = {}
    for way, (color, dashes) in LOOKS.items():
        points = [p for e in EPSILONS if (p := found.point(name, way, e))]
        if points:
            at, values = [p.epsilon for p in points], [p.accuracy for p in points]
            errors = [p.accuracy_error or 0 for p in points]
            drawn[way] = axes.errorbar(
                at, values, errors, linestyle=dashes, color=color, marker="o", markersize=3, linewidth=1.3
            )
    drawn["the most frequent class"] = axes.axhline(found.tree(name).most, color="#999999", linewidth=0.8)
    drawn["C4.5, no privacy"] = axes.axhline(found.tree(name).accuracy, color="#222222", linewidth=0.8)
    return drawn


def _logarithmic(axes: Axes, ticks: tuple[float, ...]) -> None:
    axes.set_xscale("log")
    axes.set_xticks(list(ticks), [f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("epsilon, all trees together")


def draw_deltas(path: Path, found: Findings) -> None:
    """One panel a k, beta 0.1: the theorem dashed, the tight account in full; below the panel rounding errors count."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.5, 4), layout="constrained")
        panels = figure.subplots(1, len(KS), sharey=True)
        for axes, k in zip(panels, KS, strict=True):
            axes.set_title(f"delta, k = {k}, beta = 0.1", loc="left", fontsize=10, fontweight="bold")
            _logarithmic(axes, TOTALS)
            _deltas(axes, found, k)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def _deltas(axes: Axes, found: Findings, k: int) -> None:
    axes.set_yscale("log")
    axes.set_ylim(1e-13, 3)
    for trees, color in zip(TREES, COLORS, strict=True):
        rows = [each for each in found.deltas if (each.k, each.beta, each.trees) == (k, 0.1, trees)]
        at = [row.epsilon for row in rows]
        noun = "tree" if trees == 1 else "trees"
        axes.plot(at, [float(row.tight) for row in rows], color=color, label=f"{trees} {noun}, tight")
        axes.plot(at, [float(row.theorem) for row in rows], "--", color=color, label=f"{trees} {noun}, theorem")
    axes.axhline(1e-6, color="#999999", linewidth=0.8)
