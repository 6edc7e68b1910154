"""Two trees together, for a secret of two values: a network whose cells at 0, or full, are decided without search.

Of people who are alike in both trees some have the second value of the secret. These numbers are flows from the leaves
of one tree to those of the other; what a leaf states limits the flow through it. People of one release alone are flows
from or to a free node. A flow at 0, or at all people, can change where a cycle of the residual graph goes through it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from graphlib import TopologicalSorter

import numpy as np

from leafgate.algorithms.joint_classes import JointSystem
from leafgate.algorithms.leaf_statements import NO_LIMIT
from leafgate.kernel.arrays import Ids, Mask

FREE = 0
"""The node of people who are in no leaf of a tree that states something."""


@dataclass(frozen=True)
class _Upper:
    """Why the people of a leaf with one value are so many at most: a row of the system, the sizes of classes, or both.

    Attributes:
        most: this number.
        row: the position of the constraint; -1 for none.
        multiplier: by which it is multiplied.
        with_sizes: whether the sizes of the leaf's classes are added.
    """

    most: int
    row: int
    multiplier: int
    with_sizes: bool


@dataclass(frozen=True, eq=False)
class LeafLimits:
    """A leaf that limits the people with one value.

    Attributes:
        classes: its joint classes.
        rows: the constraints that say so.
        upper: for each value of the secret the most people.
    """

    classes: Ids
    rows: tuple[int, ...]
    upper: tuple[_Upper, _Upper]


@dataclass(frozen=True, eq=False)
class Network:
    """The network of one tree or two.

    Attributes:
        system: what the releases state.
        start: shape (n_classes,), the node of each class's leaf in the first tree; FREE for none.
        end: shape (n_classes,), the node of its leaf in the second tree; FREE for none.
        low: shape (n_nodes,), the least people with the second value in a leaf; those of the second tree come after
            those of the first. That of FREE means nothing.
        high: shape (n_nodes,), the most.
        leaves: shape (n_nodes - 1,), what is known of each leaf; the first has node 1.
    """

    system: JointSystem
    start: Ids
    end: Ids
    low: Ids
    high: Ids
    leaves: Sequence[LeafLimits]

    @property
    def complete(self) -> bool:
        """Is every constraint of the system in the network?"""
        return sum(len(leaf.rows) for leaf in self.leaves) == len(self.system.low) - self.system.n_classes

    def assignment(self) -> Ids | None:
        """People with the second value in each class that agree with all leaves; None where the solver finds none."""
        from scipy.optimize import linprog
        from scipy.sparse import coo_array, vstack

        n, size = self.system.n_classes, self.system.size
        ones = np.ones(n)
        shape = (len(self.low), n)
        through = coo_array((ones, (self.start, np.arange(n))), shape=shape).tocsr()[1:]
        through = through + coo_array((ones, (self.end, np.arange(n))), shape=shape).tocsr()[1:]
        found = linprog(
            np.zeros(n),
            A_ub=vstack([through, -through], format="csr"),
            b_ub=np.concatenate([self.high[1:], -self.low[1:]]).astype(float),
            bounds=np.column_stack([np.zeros(n), size]),
            method="highs-ds",
        )
        if found.x is None:
            return None
        people = np.rint(found.x).astype(np.int64)
        sums = through @ people
        fits = ((sums >= self.low[1:]) & (sums <= self.high[1:])).all() and ((people >= 0) & (people <= size)).all()
        return people if fits else None

    def residual(self, people: Ids) -> Ids:
        """The arcs along which one more person with the second value can flow: shape (n_arcs, 2), some twice."""
        through, node = self.through(people), np.arange(len(self.low))
        rises, falls = through < self.high, through > self.low
        is_first = node <= self.n_first
        rises[FREE] = falls[FREE] = False
        more, less = people < self.system.size, people > 0
        to_free, from_free = np.where(is_first, falls, rises), np.where(is_first, rises, falls)
        start = [self.start[more], self.end[less], node[to_free], np.full(int(from_free.sum()), FREE)]
        end = [self.end[more], self.start[less], np.full(int(to_free.sum()), FREE), node[from_free]]
        return np.stack([np.concatenate(start), np.concatenate(end)], axis=1)

    def components(self, people: Ids) -> Ids:
        """The strong component of the residual graph that each node is in: shape (n_nodes,)."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        arcs, n = self.residual(people), len(self.low)
        graph = coo_array((np.ones(len(arcs)), (arcs[:, 0], arcs[:, 1])), shape=(n, n)).tocsr()
        return np.asarray(connected_components(graph, directed=True, connection="strong")[1])

    def beside(self, joint: int, value: int) -> Network:
        """The network of all others, where somebody of a class has this value (0 or 1)."""
        size, low, high = self.system.size.copy(), self.low.copy(), self.high.copy()
        size[joint] -= 1
        nodes = [self.start[joint], self.end[joint]]
        low[nodes] -= value
        high[nodes] -= value
        return replace(self, system=replace(self.system, size=size), low=low, high=high)

    @cached_property
    def n_first(self) -> int:
        """How many nodes are leaves of the first tree."""
        return int(self.end[self.end > 0].min(initial=len(self.low))) - 1

    def through(self, people: Ids) -> Ids:
        """The people with the second value in each leaf: shape (n_nodes,); that of FREE means nothing."""
        n = len(self.low)
        first = np.bincount(self.start, weights=people, minlength=n)
        second = np.bincount(self.end, weights=people, minlength=n)
        return (first + second).astype(np.int64)

    def potentials(self, people: Ids) -> Ids:
        """For each node the position of its strong component in an order along the residual arcs; FREE has 0."""
        part = self.components(people)
        n_parts = int(part.max()) + 1
        sorter: TopologicalSorter[int] = TopologicalSorter(dict.fromkeys(range(n_parts), ()))
        for a, b in self.residual(people).tolist():
            if part[a] != part[b]:
                sorter.add(int(part[b]), int(part[a]))  # what an arc leads to comes later
        position = np.zeros(n_parts, dtype=np.int64)
        position[np.array([*sorter.static_order()], dtype=np.int64)] = np.arange(n_parts)
        found: Ids = position[part]
        return np.asarray(found - found[FREE])

    def fixed(self, potential: Ids) -> Mask:
        """For each class which values nobody of it has: shape (n_classes, 2)."""
        ahead = potential[self.start] - potential[self.end]
        return np.stack([ahead > 0, ahead < 0], axis=1)

    def multipliers(self, potential: Ids) -> dict[int, Fraction]:
        """The sum of constraints that proves all that `fixed` says, as `check_proof` verifies it.

        Of the sets of nodes at or above each potential no residual arc leads out, so that the flows across are at their
        ends. The sum of what all these sets state has a leaf as often as its potential says.
        """
        found: dict[int, int] = {}
        n_first = self.n_first
        for number, leaf in enumerate(self.leaves):
            weight, is_first = int(potential[number + 1]), number < n_first
            if weight:
                upper = leaf.upper[int((weight > 0) != is_first)]
                if upper.row >= 0:
                    found[upper.row] = found.get(upper.row, 0) + abs(weight) * upper.multiplier
                if upper.with_sizes:
                    for joint in leaf.classes.tolist():
                        found[joint] = found.get(joint, 0) + abs(weight)
        first, second = potential[self.start], potential[self.end]
        shared = np.where((first > 0) & (second > 0), np.minimum(first, second), 0)
        shared += np.where((first < 0) & (second < 0), np.minimum(-first, -second), 0)
        for joint in np.flatnonzero(shared).tolist():
            found[joint] = found.get(joint, 0) - int(shared[joint])
        return {row: Fraction(each) for row, each in found.items() if each}

    def changed(self, people: Ids, joint: int, step: int) -> Ids | None:
        """An assignment with one person more (step 1) or less (-1) with the second value in a class; None without any.

        The class takes part in the change once, so that its number is `step` more.
        """
        if not 0 <= people[joint] + step <= self.system.size[joint]:
            return None
        begin, goal = int(self.start[joint]), int(self.end[joint])
        if step < 0:
            begin, goal = goal, begin
        if begin == goal:
            return self._with(people, [(joint, step)])
        # from the arc's head back to its tail, without the class itself
        came: dict[int, tuple[int, int, int]] = {goal: (-1, -1, 0)}
        waiting = deque([goal])
        through = self.through(people)
        while waiting and begin not in came:
            node = waiting.popleft()
            for other, via, sign in self._steps(node, people, through, joint):
                if other not in came:
                    came[other] = (node, via, sign)
                    waiting.append(other)
        if begin not in came:
            return None
        changes, node = [(joint, step)], begin
        while node != goal:
            node, via, sign = came[node]
            if via >= 0:
                changes.append((via, sign))
        return self._with(people, changes)

    @cached_property
    def _at(self) -> list[list[int]]:
        """The classes at each node."""
        found: list[list[int]] = [[] for _ in self.low]
        for joint, (a, b) in enumerate(zip(self.start.tolist(), self.end.tolist(), strict=True)):
            found[a].append(joint)
            if b != a:
                found[b].append(joint)
        return found

    def _steps(self, node: int, people: Ids, through: Ids, without: int = -1) -> Iterator[tuple[int, int, int]]:
        """Where one more person can flow from a node: the other node, by which class (-1: by none), and its change."""
        for joint in self._at[node]:
            if joint != without:
                a, b = int(self.start[joint]), int(self.end[joint])
                if a == node and people[joint] < self.system.size[joint]:
                    yield b, joint, 1
                if b == node and people[joint] > 0:
                    yield a, joint, -1
        n_first = self.n_first
        nodes = range(1, len(self.low)) if node == FREE else (node,)
        for each in nodes:
            is_first = each <= n_first
            rises, falls = bool(through[each] < self.high[each]), bool(through[each] > self.low[each])
            if node == FREE:
                if rises if is_first else falls:
                    yield each, -1, 0
            elif falls if is_first else rises:
                yield FREE, -1, 0

    def _with(self, people: Ids, changes: Sequence[tuple[int, int]]) -> Ids:
        found = people.copy()
        for joint, step in changes:
            found[joint] += step
        return found


def limits_of_leaves(system: JointSystem, tree: int) -> list[LeafLimits]:
    """What is known of the leaves of a tree that limit the people with one value.

    Args:
        system: what the releases state of a secret of two values.
        tree: the number of the tree, as `JointSystem.tree` has it.
    """
    rows = np.flatnonzero(system.tree == tree)
    numbers = dict.fromkeys(system.leaf[rows].tolist())
    return [limits for number in numbers if (limits := _limits(system, rows[system.leaf[rows] == number])) is not None]


def is_network(system: JointSystem) -> bool:
    """Has the secret two values, of which each class has one cell?"""
    return len(system.values) == 2 and np.array_equal(system.pair_of_cell, np.arange(2 * system.n_classes))


def network_of(system: JointSystem, trees: Sequence[Sequence[LeafLimits]]) -> Network:
    """The network of one tree or two of a system.

    Args:
        system: one that `is_network`.
        trees: the limits of the leaves of each tree.

    Source: flows and residual graphs, Ahuja, Magnanti, Orlin, "Network Flows", Prentice Hall, 1993, sections 2.4, 6.2;
    cells of a table whose margins are known that have one value: D. Gusfield, SIAM Journal on Computing 17(3), 1988,
    doi:10.1137/0217034.
    """
    node = np.full((2, system.n_classes), FREE)
    leaves: list[LeafLimits] = []
    for side, tree in enumerate(trees):
        for leaf in tree:
            if (node[side, leaf.classes] == FREE).all():
                leaves.append(leaf)
                node[side, leaf.classes] = len(leaves)
    low = [0, *(int(system.size[leaf.classes].sum()) - leaf.upper[0].most for leaf in leaves)]
    high = [0, *(leaf.upper[1].most for leaf in leaves)]
    return Network(system, node[0], node[1], np.array(low), np.array(high), leaves)


def _limits(system: JointSystem, rows: Ids) -> LeafLimits | None:
    """What the constraints of a leaf say of its classes together; None where none limits the people with one value."""
    classes: Ids | None = None
    used: list[int] = []
    best: list[_Upper | None] = [None, None]
    for row in rows.tolist():
        inside = np.unique(system.matrix.indices[system.matrix.indptr[row] : system.matrix.indptr[row + 1]] // 2)
        found = _uppers(system, row, inside)
        if found is None or (classes is not None and not np.array_equal(inside, classes)):
            continue
        classes = inside
        used.append(row)
        for value, upper in enumerate(found):
            own = best[value]
            if upper is not None and (own is None or upper.most < own.most):
                best[value] = upper
    if classes is None:
        return None
    everybody = _Upper(int(system.size[classes].sum()), -1, 0, with_sizes=True)
    return LeafLimits(classes, tuple(used), (best[0] or everybody, best[1] or everybody))


def _uppers(system: JointSystem, row: int, classes: Ids) -> tuple[_Upper | None, _Upper | None] | None:
    """The most people of each value by one constraint; None where it is no plain sum of people with one value."""
    place = slice(system.matrix.indptr[row], system.matrix.indptr[row + 1])
    values, signs = np.unique(system.matrix.indices[place] % 2), np.unique(system.matrix.data[place])
    if len(values) != 1 or len(signs) != 1 or abs(int(signs[0])) != 1:
        return None
    value, sign = int(values[0]), int(signs[0])
    low, high, people = int(system.low[row]), int(system.high[row]), int(system.size[classes].sum())
    least, most = (low, high) if sign > 0 else (-high, -low)
    upper = _Upper(most, row, sign, with_sizes=False) if most < NO_LIMIT else None
    other = _Upper(people - least, row, -sign, with_sizes=True) if least > -NO_LIMIT else None
    return (upper, other) if value == 0 else (other, upper)
