"""Equivalence classes of people whom a tree cannot distinguish by their public cells.

Evaluate a tree partially, on a person's public cells: tests of public columns are resolved, tests of private columns
stay, and branches that no private value can reach are dropped. What stays is the person's residual tree. People with
equal residual trees are in one class. For one tree that is the paper's span (Definition 4): a residual tree and the
set of its leaves determine each other. People of a forest are classed by the vector of their residual trees, which is
never coarser than the joint Definition 4.

This shares no code with kADET's bookkeeping of spans, so that each can verify the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from leafgate.algorithms.feasible import Possible, branch_domains, unrouted_values
from leafgate.algorithms.routing import Cells, split_rows
from leafgate.types.arrays import Ids, Rows
from leafgate.types.schema import Schema
from leafgate.types.table import Table
from leafgate.types.tree import Leaf, Node

NOWHERE = (-1,)
"""The residual tree of people whose value no branch takes: a class of their own."""


@dataclass(frozen=True)
class Reached:
    """A leaf that somebody can reach, and the values of each tested column that lead to it."""

    leaf: Leaf
    possible: Possible


@dataclass
class ResidualTrees:
    """The different residual trees of one tree, numbered; each is a leaf, or a private test over others.

    `untaken` has, for a private test, the values of each column that lead to no leaf.
    """

    public: Table
    schema: Schema
    reached: dict[int, Reached] = field(default_factory=dict)
    asked: dict[int, tuple[int, ...]] = field(default_factory=dict)
    untaken: dict[int, list[Possible]] = field(default_factory=dict)
    _numbers: dict[tuple[int, ...], int] = field(default_factory=dict)
    _cells: Cells = field(default_factory=dict)
    _nodes: int = 0
    _leaves: dict[int, list[Reached]] = field(default_factory=dict)
    _ends: dict[int, list[Possible]] = field(default_factory=dict)

    def leaves(self, number: int) -> list[Reached]:
        """The leaves of a residual tree, from left to right; the same list at every call."""
        if number not in self._leaves:
            self._leaves[number] = self._collect_leaves(number)
        return self._leaves[number]

    def ends_nowhere(self, number: int) -> list[Possible]:
        """The values of each column that lead a residual tree's private tests to no leaf."""
        if number not in self._ends:
            below = [self.ends_nowhere(child) for child in self.asked.get(number, ())]
            self._ends[number] = [*self.untaken.get(number, ()), *(each for ends in below for each in ends)]
        return self._ends[number]

    @property
    def may_end_nowhere(self) -> bool:
        """Is there a private value, among those that reach a test, that no branch of it takes?"""
        nowhere = self._numbers.get(NOWHERE)
        return any(nowhere in below for below in self.asked.values())

    def _collect_leaves(self, number: int) -> list[Reached]:
        leaves, waiting = [], [number]
        while waiting:
            here = waiting.pop()
            if here in self.reached:
                leaves.append(self.reached[here])
            waiting.extend(reversed(self.asked.get(here, ())))
        return leaves

    def evaluate(self, node: Node, rows: Rows, possible: Possible, ids: Ids) -> None:
        """Write into `ids`, at each of `rows`, the number of the residual tree below `node`."""
        self._nodes += 1
        name = self._nodes
        if isinstance(node, Leaf):
            ids[rows] = number = self._number((name,))
            self.reached[number] = Reached(node, possible)
            return
        ways = [
            (child, {**possible, node.column: rest}, rest)
            for child, rest in branch_domains(node, possible, self.schema)
        ]
        if not self.schema[node.column].public:
            below = [(self._branch(child, rows, remaining), remaining) for child, remaining, rest in ways if rest]
            if untaken := unrouted_values(node, possible, self.schema):
                below.append((np.full(len(rows), self._number(NOWHERE)), {**possible, node.column: untaken}))
            ids[rows] = self._join(name, *zip(*below, strict=True))
            return
        ids[rows] = self._number(NOWHERE)
        for (child, remaining, _), (_, taken) in zip(
            ways, split_rows(node, self.public, rows, self._cells), strict=True
        ):
            if len(taken):
                self.evaluate(child, taken, remaining, ids)

    def _branch(self, child: Node, rows: Rows, possible: Possible) -> Ids:
        """The residual trees below one branch of a private test, for each of `rows`."""
        ids = np.empty(len(self.public), dtype=np.int64)
        self.evaluate(child, rows, possible, ids)
        return ids[rows]

    def _join(self, name: int, below: Sequence[Ids], possible: Sequence[Possible]) -> Ids:
        """Number a private test's residual trees: one for each combination of its children's.

        `possible` has the values of each column that lead to each child.
        """
        if len(below) == 1:
            return below[0]
        which, first = group_by_keys(below)
        keys = [tuple(int(ids[position]) for ids in below) for position in first]
        nowhere = self._number(NOWHERE)
        numbers = [nowhere if set(key) == {nowhere} else self._number((name, *key)) for key in keys]
        for number, key in zip(numbers, keys, strict=True):
            if number != nowhere:
                self.asked[number] = key
                self.untaken[number] = [rest for child, rest in zip(key, possible, strict=True) if child == nowhere]
        return np.array(numbers, dtype=np.int64)[which]

    def _number(self, key: tuple[int, ...]) -> int:
        return self._numbers.setdefault(key, len(self._numbers))


def residual_trees(tree: Node, public: Table, schema: Schema) -> tuple[Ids, ResidualTrees]:
    """For each row of `public` the number of its residual tree, and the trees that the numbers stand for."""
    residuals = ResidualTrees(public, schema)
    ids = np.empty(len(public), dtype=np.int64)
    residuals.evaluate(tree, np.arange(len(public)), {}, ids)
    return ids, residuals


def group_by_keys(keys: Sequence[Ids]) -> tuple[Ids, Ids]:
    """Number the groups of rows that agree on every key: each row's group, and each group's first row."""
    group, _ = pd.factorize(keys[0])
    for ids in keys[1:]:
        other, distinct = pd.factorize(ids)
        group, _ = pd.factorize(group * len(distinct) + other)
    first = np.empty(group.max(initial=-1) + 1, dtype=np.int64)
    first[group[::-1]] = np.arange(len(group))[::-1]
    return group, first
