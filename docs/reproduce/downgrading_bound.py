"""The least anyone must withhold, row by row: every set of a member's votes is tried."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from downgrading_votes import FILE, drawn
from leafgate_plugins.downgrading.adversaries import FittedAdversary, TreeAdversary
from leafgate_plugins.downgrading.c45_missing import TreeOptions
from leafgate_plugins.downgrading.conditioning import ConditioningAdversary
from leafgate_plugins.downgrading.grid import HIDDEN, Grid
from leafgate_plugins.downgrading.naive_bayes import NaiveBayesAdversary

VALUES = ("y", "n", "?")
PARTIES = ("democrat", "republican")


def fewest(root: Path, draw: int, taus: Sequence[float]) -> dict[tuple[str, float], NDArray[np.float64]]:
    """For each adversary and tau the least number of votes each member of a draw must withhold (inf: none will do).

    Exact for adversaries that learn the party from the others alone: what is withheld of a member whose party is
    withheld changes nothing in what they have learned, so each member is a problem of its own with 2^16 answers.
    """
    grid = _grid(root, draw)
    sets = np.array([[bool(number >> bit & 1) for bit in range(16)] for number in range(2**16)])
    sizes = sets.sum(axis=1)
    learned: dict[str, FittedAdversary] = {
        "tree_inference": TreeAdversary(grid, TreeOptions()),
        "conditioning": ConditioningAdversary(grid),
        "naive_bayes": NaiveBayesAdversary(grid),
    }
    found: dict[tuple[str, float], list[float]] = {}
    for member in drawn(root, draw).tolist():
        records = np.repeat(grid.codes[[member]], len(sets), axis=0)
        records[:, 1:][sets] = HIDDEN
        own = np.full(len(sets), member)
        sure = {name: one.posterior(records, own, [0])[0][1].max(axis=1) for name, one in learned.items()}
        sure["these three"] = np.maximum.reduce(list(sure.values()))
        for name, belief in sure.items():
            for tau in taus:
                will_do = sizes[belief <= tau + 1e-9]
                found.setdefault((name, tau), []).append(float(will_do.min()) if len(will_do) else np.inf)
    return {key: np.array(each) for key, each in found.items()}


def share_for_nine_in_ten(least: NDArray[np.float64]) -> float:
    """The share of votes withheld when the dearest tenth of the members is left as it is."""
    kept = np.sort(least)[: len(least) - int(len(least) * 0.1)]
    return float(kept.sum() / (16 * len(least)))


def _grid(root: Path, draw: int) -> Grid:
    rows = [line.split(",") for line in (root / FILE).read_text().split()]
    codes = np.array([[PARTIES.index(row[0]), *(VALUES.index(vote) for vote in row[1:])] for row in rows])
    codes[drawn(root, draw), 0] = HIDDEN
    return Grid(codes, (2,) + (3,) * 16, (False,) * 17, np.ones(len(codes)))
