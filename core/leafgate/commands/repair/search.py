"""Prunings of any model: one tree above leaves in which limits are violated, or all trees by their smallest leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from leafgate.api import Mask
from leafgate.commands.convert.scrub import LeafContent
from leafgate.commands.repair.pruning import PrunableModel, PrunableTree
from leafgate.commands.repair.trials import Step, Trial, Workbench
from leafgate.kernel.findings import Finding, Report, VisibleTo
from leafgate.readers import ModelIR
from leafgate.search.trials import first_kept

MAX_LEAVES_EACH = 64
"""So many leaves has each tree of a model of few leaves."""

Cuts = Sequence[Mask]
"""For each tree that is kept, the first ones of the model, the nodes that become leaves."""


def is_of_use(finding: Finding) -> bool:
    """Is it a limit on what the model is good for? It is broken by pruning too much, others by pruning too little."""
    at_least = finding.limit is not None and finding.limit.direction == "at_least"
    return at_least and finding.scored is None and finding.attack is None and finding.audience != VisibleTo.EVERYBODY


def protects(report: Report) -> bool:
    """Are all limits kept but those on what the model is good for?"""
    return all(finding.passed or finding.waiver is not None or is_of_use(finding) for finding in report.findings)


@dataclass(eq=False)
class Search:
    """A deterministic search among prunings of a model, with one content of leaves.

    Attributes:
        bench: Where candidates are audited.
        model: The given model.
        base: For each tree the largest pruning to begin with.
        leaves: What stands on the leaves.
        tried: The candidates that have been audited, by their cuts.
    """

    bench: Workbench
    model: PrunableModel
    base: Cuts
    leaves: LeafContent
    tried: dict[tuple[bytes, ...], Trial | None] = field(default_factory=dict)

    @property
    def trees(self) -> Sequence[PrunableTree]:
        """The trees of the given model."""
        return self.model.trees

    def run(self) -> list[Trial]:
        """Every candidate that was audited."""
        if len(self.trees) == 1:
            self._cut_above_crowded_leaves()
        for count in tree_counts(self.model.given):
            self._cut_by_size(count)
        return [trial for trial in self.tried.values() if trial is not None]

    def _trial(self, cuts: Cuts) -> Trial | None:
        """The candidate's audit; None where it cannot be written, or where enough has been audited."""
        key = tuple(tree.leaf_below(cut).tobytes() for tree, cut in zip(self.trees, cuts, strict=False))
        if key not in self.tried:
            if self.bench.has_searched:
                return None
            model = self.model.pruned(cuts, as_given=self.bench.keeps_features)
            words = f"{len(model.trees)} of {len(self.trees)} trees" if len(self.trees) > 1 else ""
            step: Step = "pruning" if len(model.trees) == len(self.trees) else "fewer trees"
            self.tried[key] = self.bench.trial(model, self.leaves, step, words)
        return self.tried[key]

    def _cut_by_size(self, count: int) -> None:
        """The first trees with the least smallest leaf that protects, and with larger ones until a limit on use holds.

        A model that is pruned further may predict others better.
        """
        trees, base = self.trees[:count], self.base[:count]
        sizes = smallest_leaves(max(int(tree.people[0]) for tree in trees))
        rungs = [[cut | by_size(tree, least) for tree, cut in zip(trees, base, strict=True)] for least in sizes]

        def is_kept(position: int) -> bool:
            trial = self._trial(rungs[position])
            return trial is not None and protects(trial.report)

        first = first_kept(len(rungs), is_kept)
        for cuts in [] if first is None else rungs[first:]:
            trial = self._trial(cuts)
            if trial is None or trial.passes:
                return

    def _cut_above_crowded_leaves(self) -> None:
        """The tree pruned above the leaves in which limits are violated, again and again until there are none."""
        [tree], cut = self.trees, np.array(self.base[0])
        while (trial := self._trial([cut])) is not None and not protects(trial.report):
            found = self._crowded(tree, cut, trial.report)
            if not found:
                return
            for node in found:
                cut[max(int(tree.parent[node]), 0)] = True

    def _crowded(self, tree: PrunableTree, cut: Mask, report: Report) -> set[int]:
        """The leaves with the most violations of the broken limits, so many that the rest is allowed."""
        top = tree.leaf_below(cut)[tree.at]
        nodes: set[int] = set()
        for finding in report.findings:
            scored = finding.scored
            if finding.passed or scored is None or not scored.everyone or len(scored.past) != len(top):
                continue
            past = scored.past & (tree.at >= 0)
            people = np.bincount(top[past], weights=scored.weight[past], minlength=tree.tree.nodes)
            allowed = (0 if finding.limit is None else finding.limit.allow) * scored.weight.sum()
            crowded = np.argsort(-people, kind="stable")
            rest = people.sum() - np.cumsum(people[crowded])
            enough = int((rest > allowed).sum()) + 1
            nodes |= {int(node) for node in crowded[:enough] if people[node] > 0 and node}
        return nodes


def tree_counts(model: ModelIR) -> list[int]:
    """How many trees are kept, the first ones: all, a half, a quarter and so on; whole rounds of boosting.

    Calibrated sums keep all, which their links were fitted to.
    """
    if model.calibrated_sums:
        return [len(model.trees)]
    one_each = {tree.output for tree in model.trees} - {None}
    step = max(len(one_each), 1)
    counts, rounds = [], max(len(model.trees) // step, 1)
    while True:
        counts.append(rounds * step if len(model.trees) % step == 0 else len(model.trees))
        if rounds == 1 or len(model.trees) % step:
            return counts
        rounds //= 2


def smallest_leaves(people: int) -> list[int]:
    """Numbers of people that each leaf must have, about two and a half times as many each time, up to all."""
    rungs, least = [], 1
    while least < people:
        rungs.append(least)
        least = {1: 2, 2: 5, 5: 10}[int(str(least)[0])] * 10 ** (len(str(least)) - 1)
    return [*rungs, people + 1]


def by_size(tree: PrunableTree, least: int) -> Mask:
    """The cut that leaves no test with fewer people on a side than `least`."""
    cut = np.array(tree.is_leaf)
    inner = np.flatnonzero(~cut)
    few = np.minimum(tree.people[tree.tree.low[inner]], tree.people[tree.tree.high[inner]]) < least
    cut[inner[few]] = True
    return cut


def few_leaves(tree: PrunableTree) -> Mask:
    """The cut that leaves at most `MAX_LEAVES_EACH` leaves, with the smallest leaves that this allows."""
    for least in smallest_leaves(int(tree.people[0])):
        cut = by_size(tree, least)
        if len(tree.leaves(cut)) <= MAX_LEAVES_EACH:
            return cut
    return tree.root_alone()
