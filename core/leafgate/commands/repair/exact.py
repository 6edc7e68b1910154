"""One tree over public columns: the pruning with the least loss that keeps every limit on single people.

Where every test asks about a quasi-identifier, the people who share a leaf are one equivalence class, and whether a
limit is violated for a person depends on the people of that leaf alone. So every node that may become a leaf is audited
once, in a tree in which it is one: no metric is computed here. The programme decides which trees are audited: a node is
measured only where the best pruning below it does not keep all limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from leafgate.api import Ids, Mask, PersonMetric
from leafgate.commands.convert.scrub import LeafContent
from leafgate.commands.repair.pruning import PrunableModel, PrunableTree
from leafgate.commands.repair.trials import Workbench
from leafgate.kernel.findings import Finding
from leafgate.readers import LEAF

MAX_CONFIRMED = 3
"""So many nodes are measured a second time, in another tree."""

NEVER = np.iinfo(np.int64).max // 4
"""What a subtree loses of which no pruning keeps the limits."""


@dataclass(frozen=True, eq=False)
class PersonLimits:
    """The limits that are asked of every person.

    Attributes:
        metrics: The policy's metrics that judge each person.
        attacks: The names of the attacks whose beliefs they judge.
        ids: The ids of their findings.
    """

    metrics: tuple[PersonMetric, ...]
    attacks: frozenset[str]
    ids: tuple[str, ...]

    @property
    def depends_on_leaf_content(self) -> bool:
        """Is some limit judged by what is derived alone, which coarser leaves may keep where finer ones violate it?"""
        return any(metric.scored == "derived" and not metric.groups_only for metric in self.metrics)


def person_limits(metrics: Sequence[PersonMetric], audited: Sequence[Finding], leaves: LeafContent) -> PersonLimits:
    """The limits on people that a first audit could judge, made ready to be asked of single nodes.

    Beside labels alone an adversary knows how often each label is right over the whole tree, which is no fact of one
    leaf. What is judged there by the worse of two distributions is asked of the composition of each leaf, and what is
    judged by what is derived alone is not asked: so less is limited, and the audit of the result judges all of it.
    """
    judged = [
        one for one in audited if one.scored_people is not None and one.scored_people.everyone and not one.average
    ]
    chosen = []
    for metric in metrics:
        own = [one for one in judged if one.metric == metric.called]
        worst = {None if one.limit is None else one.limit.scored for one in own} == {"worst"}
        if leaves != "labels" or metric.groups_only:
            chosen += [metric] if own else []
        elif worst and metric.can_score("composition"):
            chosen.append(metric.model_copy(update={"scored": "composition"}))
    names = {metric.called for metric in chosen}
    judged = [one for one in judged if one.metric in names]
    attacks = frozenset(one.attack for one in judged if one.attack is not None)
    return PersonLimits(tuple(chosen), attacks, tuple(one.id for one in judged))


@dataclass(frozen=True, eq=False)
class Solution:
    """The best pruning of a tree by the limits on single people.

    Attributes:
        cut: The nodes that become leaves; None where no pruning keeps these limits, not even the root alone.
        loss: What it loses, the least of all such prunings.
        broken_by_root: The limits, by the ids of their findings, that even the root alone breaks.
        separable: Did every limit say the same of a leaf's people whatever the other leaves were? Where it did not, the
            solution proves nothing.
    """

    cut: Mask | None
    loss: int = 0
    broken_by_root: tuple[str, ...] = ()
    separable: bool = True


NOT_SEPARABLE = Solution(None, separable=False)
"""The solution where the violations in a leaf depend on other leaves."""


@dataclass(eq=False)
class _Programme:
    """The dynamic programme over one tree; nodes are measured where it needs them.

    Attributes:
        prunable: The tree.
        violations: shape (n_nodes, n_limits), people of the node for whom each limit is violated.
        measured: Which nodes are measured.
        least: What the best pruning below a node loses, as far as it is known.
        cut: The nodes that are leaves in the best pruning below them.
    """

    prunable: PrunableTree
    violations: Ids
    measured: Mask
    cut: Mask
    least: dict[int, int] = field(default_factory=dict)

    def waiting(self) -> list[int]:
        """Compute what can be computed; the nodes, none above another, that have to be measured to go on."""
        tree, needed = self.prunable.tree, []
        for node in self.prunable.order[::-1].tolist():
            is_leaf = tree.feature[node] == LEAF
            sides = [] if is_leaf else [int(tree.low[node]), int(tree.high[node])]
            if node in self.least or not all(side in self.least for side in sides):
                continue
            below = NEVER if is_leaf else min(sum(self.least[side] for side in sides), NEVER)
            own = int(self.prunable.loss[node])
            if below > own and not self.measured[node]:
                needed.append(node)
                continue
            own = NEVER if self.violations[node].any() else own
            self.least[node], self.cut[node] = min(below, own), is_leaf or own < below
        return needed


@dataclass(frozen=True, eq=False)
class NodeLimits:
    """How many people of each node of a tree violate each limit, by the audits of a workbench.

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
        nodes = self.prunable.tree.nodes
        violations = np.zeros((nodes, len(self.limits.ids)), dtype=np.int64)
        nothing_asked = np.full(nodes, not self.limits.ids)
        programme = _Programme(self.prunable, violations, nothing_asked, self.prunable.nothing_pruned())
        while needed := programme.waiting():
            if self.bench.budget.is_late() or not self._measure(needed, programme):
                return NOT_SEPARABLE
        if not self._is_confirmed(programme):
            return NOT_SEPARABLE
        if programme.least[0] < NEVER:
            return Solution(programme.cut, programme.least[0] + self.prunable.lost)
        if not self._measure([0], programme):
            return NOT_SEPARABLE
        broken = (name for name, people in zip(self.limits.ids, programme.violations[0], strict=True) if people)
        return Solution(None, broken_by_root=tuple(sorted(broken)))

    def _measure(self, nodes: Sequence[int], programme: _Programme) -> bool:
        """Ask the limits of these nodes, none above another, and of all leaves of the tree that is audited for them.

        Returns:
            Whether every limit could be judged, and nodes that were measured before have as many violations as then.
        """
        cut = self._around(nodes)
        content = self.bench.unmerged(self.model.pruned([cut]), self.leaves)
        findings = {one.id: one for one in self.bench.findings_of(content, self.limits.metrics, self.limits.attacks)}
        table, prunable = self.bench.session.table, self.prunable
        at = np.where(prunable.at < 0, prunable.at, prunable.leaf_below(cut)[prunable.at])
        weight, columns = np.maximum(table.persons, table.weight), []
        for name in self.limits.ids:
            scored = findings[name].scored_people if name in findings else None
            if scored is None or len(scored.violates) != len(table):
                return False
            violating = scored.violates & (at >= 0)
            people = np.bincount(at[violating], weights=weight[violating], minlength=prunable.tree.nodes)
            columns.append(people.astype(np.int64))
        violations, leaves = np.column_stack(columns), prunable.leaves(cut)
        known = leaves[programme.measured[leaves]]
        programme.violations[leaves] = np.where(
            programme.measured[leaves, None], programme.violations[leaves], violations[leaves]
        )
        programme.measured[leaves] = True
        return bool((programme.violations[known] == violations[known]).all())

    def _is_confirmed(self, programme: _Programme) -> bool:
        """Do some nodes with violations have as many of them where nearly everything else is one leaf?"""
        crowded = np.flatnonzero(programme.violations.any(axis=1))
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
