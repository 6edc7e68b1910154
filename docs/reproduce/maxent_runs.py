"""One maximum-entropy attack on a tree that tells education, in a process of its own: what it found, its cost."""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leafgate.kernel.leaf import Leaf
from leafgate.kernel.tree import CategoricalSplit, Node, children
from leafgate.session.run import Session
from leafgate_plugins.divergence.metrics import divergences, floored
from leafgate_plugins.maxent.problem.build import Model, build_model
from leafgate_plugins.maxent.problem.problem import EntropyMaximum, SolveSettings
from leafgate_plugins.maxent.solve.active_set import solve
from maxent_settings import FLOOR, STARTS, TIME_LIMIT, Floats, Wanted, believed, open_run, released, true_shares


@dataclass(frozen=True)
class Tree:
    """How large a tree is: leaves, those that somebody reaches, and two counts of what competed with its tests.

    `candidates` are, at each inner node, all columns asked neither above nor there, as in the paper;
    `internal` those of them that divide the people there, and otherwise than the test that is asked.
    """

    published: int
    leaves: int
    candidates: int
    internal: int


@dataclass(frozen=True)
class Attacked:
    """What an attack came to.

    `imposed` counts the inequalities that had to be imposed, by kind, `binding` the internal ones with a
    price. `missed` is the worst violation of each kind in the full problem. `found` are the entropies of all
    starts, the best first. `overall` is D_overall at each optimum, `floored` how many cells needed the
    floor there, `individual` has a row of D_individual for each; `people` are those of each public record.
    """

    wanted: Wanted
    tree: Tree
    entropy: float
    bound: float
    gap: float
    convex: bool
    found: list[float]
    imposed: dict[str, int]
    binding: int
    missed: dict[str, float]
    overall: list[float]
    floored: list[int]
    individual: Floats
    people: NDArray[np.int64]
    seconds: float
    worked: float
    megabytes: float

    @property
    def spread(self) -> float:
        """How far the entropies of the starts are apart."""
        return max(self.found) - min(self.found)


def attacked(run: Session, wanted: Wanted, starts: int = STARTS) -> Attacked:
    """The attack in this process; the time is from a release and a table in memory to a checked belief."""
    release, known = released(run, wanted)
    begin, before = time.perf_counter(), _worked()
    model = build_model(release, known, internal=wanted.internal)
    outcome = solve(model.problem, SolveSettings(starts=starts, time_limit=TIME_LIMIT, seed=known.seed))
    cost = (time.perf_counter() - begin, _worked() - before, _megabytes(1 if outcome.convex else starts))
    true = true_shares(run.table)
    beliefs = [believed(model, people, known) for people in (outcome.people, *outcome.alternatives)]
    individual = np.array([divergences(true, each, FLOOR) for each in beliefs])
    return Attacked(
        wanted,
        _tree(release.trees[0], model),
        *_solved(outcome),
        (individual @ known.weight / known.weight.sum()).tolist(),
        [floored(true, each, FLOOR) for each in beliefs],
        individual,
        known.weight,
        *cost,
    )


Solved = tuple[float, float, float, bool, list[float], dict[str, int], int, dict[str, float]]


def _solved(outcome: EntropyMaximum) -> Solved:
    found = sorted(outcome.optima, reverse=True)
    counted = dict(outcome.active), len(outcome.binding), dict(outcome.violations)
    return outcome.entropy, outcome.bound, outcome.gap, outcome.convex, found, *counted


def _tree(tree: Node, model: Model) -> Tree:
    """Every column of the public records can be asked once on a path."""
    columns = len(model.problem.public.schema.columns)
    nodes = list(_nodes(tree))
    published = sum(isinstance(node, Leaf) for node, _ in nodes)
    candidates = sum(columns - above - 1 for node, above in nodes if isinstance(node, CategoricalSplit))
    leaves = len(np.unique(model.problem.strata.leaf[:, 0]))
    return Tree(published, leaves, candidates, sum(map(len, model.problem.split_constraints)))


def _nodes(node: Node, above: int = 0) -> Iterator[tuple[Node, int]]:
    """Every node of a tree, and how many columns are asked above it."""
    yield node, above
    for child in children(node):
        yield from _nodes(child, above + 1)


def _worked() -> float:
    """Seconds of processor time, of this process and of those it started that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _megabytes(starts: int) -> float:
    """The most memory that can have been in use at once: ours, and the largest child's times as many as run at once."""
    mine, child = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return float(mine + child * min(starts, os.cpu_count() or 1)) / 1024


def in_a_child(root: Path, wanted: Wanted) -> Attacked:
    """The attack in a new process, whose memory is then its own."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context, max_tasks_per_child=1) as pool:
        return pool.submit(_alone, root, wanted).result()


def _alone(root: Path, wanted: Wanted) -> Attacked:
    return attacked(open_run(root), wanted)
