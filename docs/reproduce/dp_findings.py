"""Everything one run of the reproduction found, before it is written down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dp_account import Deltas, Epsilons, deltas, epsilons
from dp_data import FRONTIER, PAPER, Data
from dp_forests import DEPTHS, Cell, cells, same
from dp_frontier import Point, points, summary
from dp_scores import Mean, measured
from leafgate.kernel.table import Table
from leafgate_plugins.baselines.builders import C45

RUNS = 20
FEWER = {("Adult", 5): 8, ("Adult", 6): 3, ("Mushroom", 6): 4, ("Adult, usual split", 5): 5}
LEFT_OUT = {("Adult, usual split", 6)}
"""Deep trees with many branches take long to draw."""


@dataclass(frozen=True)
class Plain:
    """An ordinary decision tree, C4.5, over some runs: Table A1. `most` is the share of the most frequent class."""

    data: str
    runs: int
    most: float
    accuracy: float
    accuracy_error: float | None


@dataclass(frozen=True)
class Findings:
    """The paper's Tables 5, 6 and 7, and A1; then the frontier."""

    deltas: Sequence[Deltas]
    epsilons: Sequence[Epsilons]
    cells: Sequence[Cell]
    plain: Sequence[Plain]
    points: Sequence[Point]
    same: tuple[Mean, Mean, Mean, Mean]
    without: tuple[str, ...]

    def cell(self, data: str, depth: int, trees: int, k: int, beta: float) -> Cell:
        wanted = (data, depth, trees, k, beta if k else 1.0)
        return next(c for c in self.cells if (c.data, c.depth, c.trees, c.k, c.beta) == wanted)

    def tree(self, data: str) -> Plain:
        return next(each for each in self.plain if each.data == data)

    def point(self, data: str, way: str, epsilon: float) -> Point | None:
        found = (p for p in self.points if (p.data, p.way, p.epsilon) == (data, way, epsilon))
        return next(found, None)


def find(root: Path, pythons: dict[str, Path], without: tuple[str, ...]) -> Findings:
    """Run everything; `without` names the libraries that are not there."""
    sets = {name: load(root) for name, load in PAPER.items()}
    grid = [cell for data in sets.values() for cell in _grid(data)]
    plain = [_plain(data) for data in sets.values()]
    frontier = [point for name in FRONTIER for point in points(sets[name], pythons)]
    checked = same(sets["Nursery"].split(0), 3)
    return Findings(list(deltas()), list(epsilons()), grid, plain, frontier, checked, without)


def _grid(data: Data) -> Iterator[Cell]:
    for depth in DEPTHS:
        if (data.name, depth) not in LEFT_OUT:
            yield from cells(data, depth, FEWER.get((data.name, depth), RUNS))


def _plain(data: Data) -> Plain:
    """The learner is deterministic: where the split is fixed one run says all."""
    runs = 1 if data.fixed is not None else RUNS
    rng = np.random.default_rng(0)
    splits = [data.split(run) for run in range(runs)]
    scores = [measured(C45().build(table, rng), test) for table, test in splits]
    return Plain(data.name, runs, Mean.of([_most(*split) for split in splits]).value, *summary(scores)[:2])


def _most(table: Table, test: Table) -> float:
    """The accuracy of always saying the class that most people of the table have."""
    name = table.schema.target.name
    frequent = np.bincount(table.codes(name), weights=table.weight).argmax()
    return float(test.weight[test.codes(name) == frequent].sum() / test.total_weight)
