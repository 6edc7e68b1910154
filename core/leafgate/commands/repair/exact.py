"""One tree over public columns: the pruning with the least loss that keeps every limit on single people.

Where every test asks about a quasi-identifier, the people who share a leaf are one equivalence class, and what a limit
says of a person depends on the people of that leaf alone. So the limits are asked once of every node that may become a
leaf, by audits of trees in which these nodes are leaves: nothing of a metric is computed here. Which trees are audited
follows from the programme: a node is looked at only where the best pruning below it does not keep all limits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from leafgate.api import Ids, Mask, PersonMetric, Table
from leafgate.commands.convert.scrub import LeafContent
from leafgate.commands.repair.fronts import AS_LEAF, Front, joined, leaf_front, points_kept, with_leaf
from leafgate.commands.repair.pruning import PrunableModel, PrunableTree
from leafgate.commands.repair.trials import Workbench
from leafgate.kernel.findings import Finding
from leafgate.readers import LEAF

MAX_CONFIRMED = 3
"""So many nodes are measured a second time, in another tree."""


@dataclass(frozen=True, eq=False)
class PersonLimits:
    """The limits that are asked of every person.

    Attributes:
        metrics: The policy's metrics that judge each person.
        attacks: The names of the attacks whose beliefs they judge.
        allowed: The ids of their findings, in the order of the limits, with the share of people that may be beyond.
    """

    metrics: tuple[PersonMetric, ...]
    attacks: frozenset[str]
    allowed: tuple[tuple[str, float], ...]

    @property
    def hides_composition(self) -> bool:
        """Is some limit judged by what is derived alone? Then leaves that say less may keep what others break."""
        return any(metric.scored == "derived" and not metric.groups_only for metric in self.metrics)


def person_limits(metrics: Sequence[PersonMetric], audited: Sequence[Finding], leaves: LeafContent) -> PersonLimits:
    """The limits on people that a first audit could judge, made ready to be asked of single nodes.

    Beside labels alone an adversary knows how often each label is right over the whole tree, which is no fact of one
    leaf. What is judged there by the worse of two distributions is asked of the composition of each leaf, and what is
    judged by what is derived alone is not asked: so less is limited, and the audit of the result judges all of it.
    """
    judged = [one for one in audited if one.scored is not None and one.scored.everyone and not one.average]
    chosen = []
    for metric in metrics:
        own = [one for one in judged if one.metric == metric.called]
        worst = {None if one.limit is None else one.limit.scored for one in own} == {"worst"}
        if leaves != "labels" or metric.groups_only:
            chosen += [metric] if own else []
        elif worst and metric.can_score("composition"):
            chosen.append(metric.model_copy(update={"scored": "composition"}))
    allow = {metric.called: metric.allow for metric in chosen}
    judged = [one for one in judged if one.metric in allow]
    attacks = frozenset(one.attack for one in judged if one.attack is not None)
    return PersonLimits(tuple(chosen), attacks, tuple((one.id, allow[one.metric]) for one in judged))


@dataclass(frozen=True, eq=False)
class Solution:
    """The best pruning of a tree by the limits on single people.

    Attributes:
        cut: The nodes that become leaves; None where no pruning keeps these limits, not even the root alone.
        loss: What it loses; of all such prunings the least, where `complete`.
        complete: Were all prunings compared? False where too many had to be left out.
        at_least: No pruning that keeps these limits loses less.
        broken_by_root: The limits, by the ids of their findings, that even the root alone breaks.
        separable: Did every limit say the same of a leaf's people whatever the other leaves were? Where it did not, the
            solution proves nothing.
    """

    cut: Mask | None
    loss: int
    complete: bool
    at_least: int
    broken_by_root: tuple[str, ...] = ()
    separable: bool = True


NOT_SEPARABLE = Solution(None, 0, complete=False, at_least=0, separable=False)
"""What comes out where a limit says something else of a leaf's people once other leaves change."""


@dataclass(eq=False)
class _Programme:
    """The dynamic programme over one tree; nodes are measured where it needs them."""

    prunable: PrunableTree
    budgets: Ids
    hard: Mask
    beyond: Ids
    measured: Mask
    fronts: dict[int, Front] = field(default_factory=dict)
    expanded: dict[int, Front] = field(default_factory=dict)

    @property
    def most(self) -> int:
        """How many points of a front are kept."""
        return points_kept(self.prunable.tree.nodes)

    def waiting(self) -> list[int]:
        """Compute what can be computed; the nodes, none above another, that have to be measured to go on."""
        tree, needed = self.prunable.tree, []
        for node in self.prunable.order[::-1].tolist():
            if node in self.fronts:
                continue
            if tree.feature[node] == LEAF:
                if self.measured[node]:
                    self.fronts[node] = self._as_leaf(node)
                else:
                    needed.append(node)
                continue
            low, high = int(tree.low[node]), int(tree.high[node])
            if low not in self.fronts or high not in self.fronts:
                continue
            if node not in self.expanded:
                self.expanded[node] = joined(self.fronts[low], self.fronts[high], self.budgets, self.most)
            front = self.expanded[node]
            if front.beats(int(self.prunable.loss[node])):
                self.fronts[node] = front
            elif self.measured[node]:
                self.fronts[node] = with_leaf(front, self._as_leaf(node), self.most)
            else:
                needed.append(node)
        return needed

    def _as_leaf(self, node: int) -> Front:
        beyond = self.beyond[node]
        allowed = not beyond[self.hard].any()
        return leaf_front(beyond[~self.hard], int(self.prunable.loss[node]), self.budgets, allowed=allowed)

    def chosen(self, point: int) -> Mask:
        """The cut of one point of the root's front."""
        tree, cut = self.prunable.tree, self.prunable.nothing_pruned()
        below = [(0, point)]
        while below:
            node, i = below.pop()
            front = self.fronts[node]
            if front.low[i] == AS_LEAF:
                cut[node] = True
            else:
                below += [(int(tree.low[node]), int(front.low[i])), (int(tree.high[node]), int(front.high[i]))]
        return cut


@dataclass(frozen=True, eq=False)
class NodeLimits:
    """What each limit on people says of the nodes of a tree, asked of the audits of a workbench.

    Attributes:
        bench: Where trees are audited.
        model: The model with the one tree.
        leaves: What stands on the leaves.
        limits: The limits.
    """

    bench: Workbench
    model: PrunableModel
    leaves: LeafContent
    limits: PersonLimits

    @property
    def prunable(self) -> PrunableTree:
        """The tree."""
        [tree] = self.model.trees
        return tree

    def solve(self) -> Solution:
        """The pruning with the least loss."""
        table = self.bench.session.table
        budgets = np.array([budget for budget, _ in self._dimensions(table)], dtype=np.int64)
        hard = budgets == 0
        programme = _Programme(
            self.prunable,
            budgets[~hard],
            hard,
            np.zeros((self.prunable.tree.nodes, len(budgets)), dtype=np.int64),
            np.zeros(self.prunable.tree.nodes, dtype=bool),
        )
        if not len(budgets):
            programme.measured[:] = True
        while needed := programme.waiting():
            if self.bench.budget.is_late() or not self._measure(needed, programme):
                return NOT_SEPARABLE
        if not self._is_confirmed(programme):
            return NOT_SEPARABLE
        front = programme.fronts[0]
        if not len(front):
            if not front.complete or not self._measure([0], programme):
                return NOT_SEPARABLE
            beyond = zip(self._dimensions(table), programme.beyond[0].tolist(), strict=True)
            broken = {name for (budget, name), people in beyond if people > budget}
            return Solution(None, 0, complete=True, at_least=0, broken_by_root=tuple(sorted(broken)))
        loss = int(front.loss[0]) + self.prunable.lost
        bound = loss if front.complete else self._bound(programme)
        return Solution(programme.chosen(0), loss, front.complete, bound)

    def _dimensions(self, table: Table) -> list[tuple[int, str]]:
        """How many people each limit allows beyond it, and its finding's id; twice where weights count apart."""
        weights = [table.persons, table.weight] if table.weighted else [table.persons]
        return [(_budget(allow, int(weight.sum())), name) for name, allow in self.limits.allowed for weight in weights]

    def _measure(self, nodes: Sequence[int], programme: _Programme) -> bool:
        """Ask the limits of these nodes, none above another, and of all leaves of the tree that is audited for them.

        Returns:
            Whether each could be asked, and says of nodes that were measured before what it said then.
        """
        cut = self._around(nodes)
        content = self.bench.unmerged(self.model.pruned([cut]), self.leaves)
        findings = {one.id: one for one in self.bench.findings_of(content, self.limits.metrics, self.limits.attacks)}
        table, prunable = self.bench.session.table, self.prunable
        at = np.where(prunable.at < 0, prunable.at, prunable.leaf_below(cut)[prunable.at])
        columns = []
        for name, _ in self.limits.allowed:
            scored = findings[name].scored if name in findings else None
            if scored is None or len(scored.past) != len(table):
                return False
            past = scored.past & (at >= 0)
            for weight in [table.persons, table.weight] if table.weighted else [table.persons]:
                people = np.bincount(at[past], weights=weight[past], minlength=prunable.tree.nodes)
                columns.append(people.astype(np.int64))
        beyond, leaves = np.column_stack(columns), prunable.leaves(cut)
        known = leaves[programme.measured[leaves]]
        programme.beyond[leaves] = np.where(programme.measured[leaves, None], programme.beyond[leaves], beyond[leaves])
        programme.measured[leaves] = True
        return bool((programme.beyond[known] == beyond[known]).all())

    def _is_confirmed(self, programme: _Programme) -> bool:
        """Do the limits say the same of some nodes with people beyond them where nearly everything else is one leaf?"""
        crowded = np.flatnonzero(programme.beyond.any(axis=1))
        positions = np.linspace(0, max(len(crowded) - 1, 0), MAX_CONFIRMED).astype(np.int64)
        return all(self._measure([int(crowded[i])], programme) for i in np.unique(positions)[: len(crowded)])

    def _around(self, nodes: Sequence[int]) -> Mask:
        """The cut with these nodes in which everything beside the ways to them is a leaf."""
        above = np.zeros(self.prunable.tree.nodes, dtype=bool)
        for node in nodes:
            parent = int(self.prunable.parent[node])
            while parent >= 0 and not above[parent]:
                above[parent] = True
                parent = int(self.prunable.parent[parent])
        return ~above

    def _bound(self, programme: _Programme) -> int:
        """Fewest loss by each limit that allows people beyond it, the others of the kind left out."""
        best = 0
        for i in range(len(programme.budgets)):
            soft = np.flatnonzero(~programme.hard)
            kept = np.sort(np.append(np.flatnonzero(programme.hard), soft[i]))
            alone = _Programme(
                self.prunable,
                programme.budgets[i : i + 1],
                programme.hard[kept],
                programme.beyond[:, kept],
                programme.measured,
            )
            alone.waiting()
            best = max(best, int(alone.fronts[0].loss[0]))
        return best + self.prunable.lost


def _budget(allow: float, people: int) -> int:
    """The most people beyond a limit that the share `allow` of so many people lets pass."""
    budget = math.floor(allow * people) + 1
    while budget > 0 and budget / people > allow:
        budget -= 1
    return budget
