"""Trees from shared numbers beside C4.5 on the same: python tests/benchmarks/ppdtc45.py --root DIR [--write CSV].

DIR holds the folder `adult` with the UCI files. 10,000 people, six numbers. No time is asserted anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from adult_rows import POLICIES
from leafgate import Table
from leafgate.app import open_session
from leafgate_plugins.baselines.builders import C45
from leafgate_plugins.ppdtc45.deconvolved_c45 import deconvolved_tree
from leafgate_plugins.ppdtc45.options import NoiseOptions
from leafgate_plugins.ppdtc45.shared import SharedRecords, noise_laws, share_table
from leafgate_plugins.ppdtc45.split_methods import Learner, direct_tree, matched_tree, threshold_tree
from timing import Pair, command, markdown, paired

START, END = "<!-- ppdtc45 -->", "<!-- /ppdtc45 -->"
PEOPLE = 10_000
LEARNER = Learner()


def ways(shared: SharedRecords) -> dict[str, tuple[Callable[[], Any], str]]:
    """Each way of learning, from the shared numbers to a tree."""

    def threshold() -> Any:
        return threshold_tree(direct_tree(shared, LEARNER), shared.noise, 0.3)

    def matched() -> Any:
        return matched_tree(direct_tree(shared, LEARNER), shared)

    def deconvolved() -> Any:
        return deconvolved_tree(shared, LEARNER, "auto", np.random.default_rng(0))

    return {
        "threshold": (threshold, "at most 1.5"),
        "matched": (matched, "at most 3"),
        "deconvolved": (deconvolved, "at most 3"),
    }


def pairs(root: Path) -> Iterator[Pair]:
    """Against the builder `c45` on the same shared numbers."""
    table: Table = open_session(POLICIES / "adult-shared.yaml", root=root).table
    for snr in (1.7, 0.5):
        rng = np.random.default_rng(1)
        shared, _ = share_table(table, noise_laws(NoiseOptions(snr=snr), table), rng)
        shared = shared.select(rng.choice(len(shared.classes), PEOPLE, replace=False))
        peer = partial(C45().build, shared.table, rng)
        for name, (learn, target) in ways(shared).items():
            yield paired(f"{name}, SNR {snr}", learn, peer, 5, target)


def report(root: Path) -> str:
    return markdown(pairs(root), "c45")


if __name__ == "__main__":
    command(report, START, END)
