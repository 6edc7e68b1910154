"""Nested prunings of any model: bisection between the model and single leaves, then subtrees are put back."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from leafgate.api import Mask
from leafgate.commands.convert.scrub import LeafContent
from leafgate.commands.repair.pruning import PrunableModel, PrunableTree
from leafgate.commands.repair.trials import Step, Trial, Workbench
from leafgate.kernel.findings import Finding, Report, VisibleTo
from leafgate.readers import LEAF, ModelIR

MAX_AUDITS = 60
"""So many candidates are audited for each kind of leaves."""

MAX_RUNGS = 24
"""So many prunings stand on one ladder."""

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
    """A deterministic search among prunings of a model, one kind of leaves at a time.

    Attributes:
        bench: Where candidates are audited.
        model: The given model.
        base: For each tree the cut below which nothing is put back.
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
        best: Cuts | None = None
        ladders = []
        for count in tree_counts(self.model.given):
            for ladder in self._ladders(count):
                ladders.append(ladder)
                best = self._better(best, self._bisected(ladder))
            if count == len(self.trees) == 1:
                best = self._better(best, self._guided())
        if best is not None and not self._passes(best):
            best = self._of_more_use(ladders, best)
        if best is not None:
            self._put_back(best)
        return [trial for trial in self.tried.values() if trial is not None]

    def _passes(self, cuts: Cuts) -> bool:
        trial = self._trial(cuts)
        return trial is not None and trial.passes

    def _of_more_use(self, ladders: Sequence[Sequence[Cuts]], best: Cuts) -> Cuts:
        """The best of all rungs: where a limit on use is broken, a model pruned further may predict others better."""
        for cuts in (cuts for ladder in ladders for cuts in ladder):
            best = self._better(best, cuts) or best
        return best

    def _better(self, one: Cuts | None, other: Cuts | None) -> Cuts | None:
        """Of two candidates the one that passes, or else that protects; of equals the more useful one."""
        found = [(cuts, trial) for cuts in (one, other) if cuts is not None and (trial := self._trial(cuts))]
        order = {id(cuts): (not trial.passes, not protects(trial.report), -trial.value) for cuts, trial in found}
        return min((cuts for cuts, _ in found), key=lambda cuts: order[id(cuts)], default=None)

    def _trial(self, cuts: Cuts) -> Trial | None:
        """The candidate's audit; None where it cannot be written, or where enough have been audited."""
        key = tuple(tree.leaf_below(cut).tobytes() for tree, cut in zip(self.trees, cuts, strict=False))
        if key not in self.tried:
            if len(self.tried) >= MAX_AUDITS or self.bench.has_searched:
                return None
            model = self.model.pruned(cuts, as_given=self.bench.keeps_features)
            words = f"{len(model.trees)} of {len(self.trees)} trees" if len(self.trees) > 1 else ""
            step: Step = "pruning" if len(model.trees) == len(self.trees) else "fewer trees"
            self.tried[key] = self.bench.trial(model, self.leaves, step, words)
        return self.tried[key]

    def _ladders(self, count: int) -> Iterator[list[Cuts]]:
        """Nested prunings, from the base to single leaves; of several trees by their smallest leaves alone."""
        trees, base = self.trees[:count], self.base[:count]
        sizes = smallest_leaves(max(int(tree.people[0]) for tree in trees))
        yield [[cut | by_size(tree, least) for tree, cut in zip(trees, base, strict=True)] for least in sizes]
        if count == 1:
            yield [[cut] for cut in by_cost(trees[0], base[0])]

    def _bisected(self, ladder: Sequence[Cuts]) -> Cuts | None:
        """The first rung that protects, if those after it protect as well; None where the last does not."""
        low, high = 0, len(ladder) - 1
        while low < high:
            middle = (low + high) // 2
            if self._protects(ladder[middle]):
                high = middle
            else:
                low = middle + 1
        return ladder[low] if self._protects(ladder[low]) else None

    def _protects(self, cuts: Cuts) -> bool:
        trial = self._trial(cuts)
        return trial is not None and protects(trial.report)

    def _guided(self) -> Cuts | None:
        """The tree pruned above the leaves of people beyond limits, again and again until nobody is."""
        [tree], cut = self.trees, np.array(self.base[0])
        while (trial := self._trial([cut])) is not None:
            if protects(trial.report):
                return [cut]
            found = self._crowded(tree, cut, trial.report)
            if not found:
                return None
            for node in found:
                cut[max(int(tree.parent[node]), 0)] = True
        return None

    def _crowded(self, tree: PrunableTree, cut: Mask, report: Report) -> set[int]:
        """The leaves with the most people beyond the limits that are broken, so many that the rest is allowed."""
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

    def _put_back(self, best: Cuts) -> None:
        """Put children back below leaves of the best candidate, those that save most first, while it passes."""
        cuts = [np.array(cut) for cut in best]
        waiting = [self._gains(cuts)]
        while waiting:
            batch = waiting.pop()
            further = [cut.copy() for cut in cuts]
            for _, number, node in batch:
                _expand(self.trees[number], further[number], node)
            if not batch or len(self.tried) >= MAX_AUDITS:
                continue
            if self._accepts(further, cuts):
                cuts = further
                waiting.append(self._gains(cuts, within={(number, node) for _, number, node in batch}))
            elif len(batch) > 1:
                waiting += [batch[len(batch) // 2 :], batch[: len(batch) // 2]]

    def _accepts(self, further: Cuts, than: Cuts) -> bool:
        """Does the larger model keep what the smaller one keeps?"""
        trial, before = self._trial(further), self._trial(than)
        if trial is None or before is None or trial.value < before.value:
            return False
        return trial.passes or (protects(trial.report) and not before.passes)

    def _gains(self, cuts: Cuts, within: set[tuple[int, int]] | None = None) -> list[tuple[int, int, int]]:
        """The leaves that can have children again, with what their subtrees save, the most first.

        Where `within` is given, only leaves below these nodes.
        """
        found = []
        for number, (tree, cut) in enumerate(zip(self.trees, cuts, strict=False)):
            own = _loss_below(tree, self.base[number])
            for node in tree.leaves(cut).tolist():
                saved = int(tree.loss[node] - own[node])
                is_below = within is None or (number, int(tree.parent[node])) in within
                if not self.base[number][node] and saved > 0 and is_below:
                    found.append((-saved, number, node))
        return sorted(found)


def _expand(tree: PrunableTree, cut: Mask, node: int) -> None:
    """Make the node's children leaves in its place."""
    cut[node] = False
    cut[[tree.tree.low[node], tree.tree.high[node]]] = True


def _loss_below(tree: PrunableTree, base: Mask) -> np.ndarray:
    """For each node what its subtree in the base loses."""
    total = np.where(base, tree.loss, 0)
    for node in tree.order[::-1].tolist():
        if not base[node]:
            total[node] = total[tree.tree.low[node]] + total[tree.tree.high[node]]
    return total


def tree_counts(model: ModelIR) -> list[int]:
    """How many trees are kept, the first ones: all, a half, a quarter and so on; whole rounds of boosting."""
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


def by_cost(tree: PrunableTree, base: Mask) -> list[Mask]:
    """Minimal cost-complexity prunings below the base, from the base to the root, at most `MAX_RUNGS` of them.

    Source: Breiman, Friedman, Olshen, Stone, "Classification and Regression Trees", 1984, section 3.3.
    """
    steps = list(_weakest_links(tree, base))
    chosen = np.unique(np.linspace(0, len(steps), MAX_RUNGS).round().astype(np.int64)).tolist()
    cut, rungs = np.array(base), []
    for i in range(len(steps) + 1):
        if i in chosen:
            rungs.append(cut.copy())
        if i < len(steps):
            cut[steps[i]] = True
    return rungs


def _weakest_links(tree: PrunableTree, base: Mask) -> Iterator[int]:
    """Inner nodes of the pruned tree in the order in which cost-complexity pruning makes leaves of them."""
    low, high, parent = tree.tree.low, tree.tree.high, tree.parent
    loss, leaves = _loss_below(tree, base).astype(float), np.where(base, 1, 0)
    for node in tree.order[::-1].tolist():
        if not base[node]:
            leaves[node] = leaves[low[node]] + leaves[high[node]]
    top = tree.leaf_below(base)
    alive = top == LEAF

    def link(node: int) -> float:
        return float((tree.loss[node] - loss[node]) / max(leaves[node] - 1, 1))

    heap = [(link(node), -depth, node) for depth, node in enumerate(tree.order.tolist()) if alive[node]]
    heapq.heapify(heap)
    while heap:
        value, _, node = heapq.heappop(heap)
        if not alive[node] or value != link(node):
            continue
        yield node
        below = [node]
        while below:
            at = below.pop()
            if alive[at]:
                alive[at] = False
                below += [int(low[at]), int(high[at])]
        fewer, more = leaves[node] - 1, tree.loss[node] - loss[node]
        at = node
        while at != LEAF:
            leaves[at] -= fewer
            loss[at] += more
            at = int(parent[at])
            if at != LEAF:
                heapq.heappush(heap, (link(at), -int(at), at))
