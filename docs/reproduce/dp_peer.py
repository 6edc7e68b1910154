"""What the other libraries' scripts share: tables from a file, and one line of JSON a release.

These scripts run by a Python of their own, with numpy and the library, without leafgate.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Learn = Callable[["Task", float], Iterator[tuple[str, Array]]]
"""From tables and an epsilon to the chances of each class for the people to test, under one name or several."""


class Task:
    """One split: people to learn from (`x`, `y`) and to test on (`z`, `zy`), values and classes as positions.

    `sizes` says how many values each column has (0: it is a number), `bounds` between what it lies.
    """

    def __init__(self, path: Path) -> None:
        held = np.load(path)
        self.x, self.y, self.z, self.zy = (held[name] for name in ("x", "y", "z", "zy"))
        self.sizes, self.bounds = held["sizes"], held["bounds"]
        self.classes, self.delta, self.seed = int(held["classes"]), float(held["delta"]), int(held["seed"])


def serve(learn: Learn) -> None:
    """Arguments: a comma-separated list of epsilons, then files of tables."""
    for path in sys.argv[2:]:
        task = Task(Path(path))
        for epsilon in map(float, sys.argv[1].split(",")):
            for name, chances in learn(task, epsilon):
                fields = {"name": name, "file": Path(path).name, "epsilon": epsilon, **_scores(chances, task.zy)}
                sys.stdout.write(json.dumps(fields) + "\n")


def _scores(chances: Array, right: Array) -> dict[str, float | None]:
    accuracy = float((chances.argmax(axis=1) == right).mean())
    two = chances.shape[1] == 2
    return {"accuracy": accuracy, "area": _area(chances[:, 1] - chances[:, 0], right == 1) if two else None}


def _area(ranked: Array, second: Array) -> float:
    place = np.unique(ranked, return_inverse=True)[1]
    mine, others = (np.bincount(place, weights=each) for each in (second, ~second))
    return float((mine * (np.cumsum(others) - others / 2)).sum() / (mine.sum() * others.sum()))
