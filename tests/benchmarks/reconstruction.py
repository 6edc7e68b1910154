"""Reconstruction beside a tree fit, in one run: python tests/benchmarks/reconstruction.py --root DIR [--write CSV].

DIR holds the folder `adult` with the UCI files. No time is asserted anywhere; medians and ratios are printed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from adult_rows import adult
from leafgate.algorithms.deconvolution import even_cells, reconstructed
from leafgate.api import Noise
from leafgate.kernel.noise import Law, noise_with
from leafgate_plugins.reconstruction.posterior import bin_posterior
from timing import Pair, command, markdown, paired, seconds

START, END = "<!-- reconstruction -->", "<!-- /reconstruction -->"
SIZES = (10_000, 100_000, 1_000_000)
BOUNDS = (17.0, 90.0)
BINS = (17, 25, 35, 45, 55, 65, 90)
Floats = NDArray[np.float64]


def ages(root: Path, people: int, law: Law) -> tuple[Floats, NDArray[np.int64], Noise]:
    """Ages drawn from Adult and shared at a signal-to-noise ratio of 1, with the classes."""
    table = adult(root).table
    rng = np.random.default_rng(7)
    rows = rng.choice(len(table), people, p=table.weight / table.total_weight)
    original = table.numbers("age")[rows]
    noise = noise_with(law, float(original.var()))
    return noise.added(original, rng), table.codes("income")[rows], noise


def law_of(shared: Floats, noise: Noise) -> Floats:
    """The reconstructed law."""
    return reconstructed(shared, np.ones(len(shared)), noise, even_cells(*BOUNDS, noise))


def pairs(root: Path) -> Iterator[Pair]:
    """The law of so many shared ages against one tree fit on them."""
    for people in SIZES:
        for law in ("gaussian", "uniform"):
            shared, classes, noise = ages(root, people, "gaussian" if law == "gaussian" else "uniform")
            peer = partial(DecisionTreeClassifier(random_state=0).fit, shared[:, None], classes)
            target = "under 1" if people == SIZES[-1] else ""
            yield paired(f"{people:,} ages, {law}", partial(law_of, shared, noise), peer, rounds=3, target=target)


def attacks(root: Path) -> Iterator[str]:
    """Seconds of the whole posterior attack, everybody's belief included."""
    yield "| people | posterior attack (s) |"
    yield "| ---: | ---: |"
    for people in SIZES:
        shared, classes, noise = ages(root, people, "gaussian")
        took = seconds(partial(bin_posterior, shared, np.ones(people), classes, noise, BINS, "mean"))
        yield f"| {people:,} | {took:.2f} |"


def report(root: Path) -> str:
    """All of it as Markdown."""
    return "\n\n".join([markdown(pairs(root), "scikit-learn"), "\n".join(attacks(root))])


if __name__ == "__main__":
    command(report, START, END)
