"""The picture of docs/measurements/ppdtc45-on-adult.md: accuracy against the threshold, the paper's Figures 1 and 2."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

import matplotlib as mpl
from matplotlib.figure import Figure

from kadet_picture import STYLE
from ppdtc45_parts import THETAS, Moved

COLORS = ("#1f5f99", "#c8641b", "#3b7d3b", "#7a4b9a")
TITLES = {1: "Figure 1: uniform noise, 10,000 rows", 2: "Figure 2: Gaussian noise, 32,561 rows"}


def draw_thresholds(path: Path, found: Sequence[Moved]) -> None:
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.5, 4.2), layout="constrained")
        for axes, number in zip(figure.subplots(1, 2, sharey=True), TITLES, strict=True):
            names = sorted({one.data for one in found if one.figure == number})
            for name, color in zip(names, COLORS, strict=False):
                axes.plot(THETAS, curve(found, name), color=color, label=name)
            axes.axhline(76.38, color="0.6", linestyle=":", label="always <=50K")
            axes.set(title=TITLES[number], xlabel="threshold", xlim=(0, 1))
            axes.legend(frameon=False)
        figure.axes[0].set_ylabel("accuracy on originals (%)")
        figure.savefig(path)


def curve(found: Sequence[Moved], name: str) -> list[float]:
    """Mean accuracy at each threshold."""
    return [mean(one.accuracy for one in found if one.data == name and one.theta == theta) for theta in THETAS]
