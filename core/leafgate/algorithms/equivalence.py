"""Equivalence classes of people whom a tree does not distinguish by their public cells.

Evaluating a tree on a person's public cells removes its public tests and leaves a remainder of private tests, without
the branches that no private value can reach. People with equal remainders are in one equivalence class. For one tree
this is the paper's span (Definition 4): the remainder and the set of its leaves determine each other. For a forest the
class is the vector of remainders, which is never coarser than the joint Definition 4.

This module shares no code with kADET's own computation of spans, so that it can check it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.algorithms.feasible import Possible, branch_domains, has_unrouted_value
from leafgate.algorithms.routing import Cells, Rows, split_rows
from leafgate.types.schema import Schema
from leafgate.types.table import Table
from leafgate.types.tree import Leaf, Node

Ids = NDArray[np.int64]
NOWHERE = (-1,)
"""The remainder of people whose value no branch takes: an equivalence class of its own."""


@dataclass(frozen=True)
class Reached:
    """A leaf that somebody can reach, and the remaining domain of each column tested on its path."""

    leaf: Leaf
    possible: Possible


@dataclass
class Remainders:
    """The distinct remainders of one tree, numbered; each is a leaf or a private test above other remainders.

    `untaken` has for a private test the remaining domains on each of its branches that end in no leaf.
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
        """The leaves a remainder can end in, from left to right; the same list at every call."""
        if number not in self._leaves:
            self._leaves[number] = self._reachable(number)
        return self._leaves[number]

    def ends_nowhere(self, number: int) -> list[Possible]:
        """The remaining domains on each path of a remainder's private tests that leads to no leaf."""
        if number not in self._ends:
            below = [self.ends_nowhere(child) for child in self.asked.get(number, ())]
            self._ends[number] = [*self.untaken.get(number, ()), *(each for ends in below for each in ends)]
        return self._ends[number]

    @property
    def may_end_nowhere(self) -> bool:
        """Is there a private value that reaches a test and that none of its branches takes?"""
        nowhere = self._numbers.get(NOWHERE)
        return any(nowhere in below for below in self.asked.values())

    def _reachable(self, number: int) -> list[Reached]:
        leaves, waiting = [], [number]
        while waiting:
            here = waiting.pop()
            if here in self.reached:
                leaves.append(self.reached[here])
            waiting.extend(reversed(self.asked.get(here, ())))
        return leaves

    def fill_in(self, node: Node, rows: Rows, possible: Possible, ids: Ids) -> None:
        """Write into `ids`, at each of `rows`, the number of the remainder of the tree below `node`."""
        self._nodes += 1
        name = self._nodes
        if isinstance(node, Leaf):
            ids[rows] = number = self._number((name,))
            self.reached[number] = Reached(node, possible)
            return
        children = [
            (child, {**possible, node.column: rest}, rest)
            for child, rest in branch_domains(node, possible, self.schema)
        ]
        if not self.schema[node.column].public:
            below = [(self._remainders(child, rows, domains), domains) for child, domains, rest in children if rest]
            if untaken := has_unrouted_value(node, possible, self.schema):
                below.append((np.full(len(rows), self._number(NOWHERE)), {**possible, node.column: untaken}))
            ids[rows] = self._join(name, *zip(*below, strict=True))
            return
        ids[rows] = self._number(NOWHERE)
        parts = split_rows(node, self.public, rows, self._cells)
        for (child, domains, _), (_, part) in zip(children, parts, strict=True):
            if len(part):
                self.fill_in(child, part, domains, ids)

    def _remainders(self, child: Node, rows: Rows, possible: Possible) -> Ids:
        """The number of the remainder below one branch of a private test, for each of `rows`."""
        ids = np.empty(len(self.public), dtype=np.int64)
        self.fill_in(child, rows, possible, ids)
        return ids[rows]

    def _join(self, name: int, below: Sequence[Ids], possible: Sequence[Possible]) -> Ids:
        """Number a private test's remainders: one for each combination of its children's remainders.

        `possible` has the remaining domains on the path to each child.
        """
        if len(below) == 1:
            return below[0]
        which, first = grouped(below)
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


def remainders(tree: Node, public: Table, schema: Schema) -> tuple[Ids, Remainders]:
    """Return the number of each row's remainder of the tree, shape (n_rows,), and what the numbers mean."""
    numbered = Remainders(public, schema)
    ids = np.empty(len(public), dtype=np.int64)
    numbered.fill_in(tree, np.arange(len(public)), {}, ids)
    return ids, numbered


def grouped(keys: Sequence[Ids]) -> tuple[Ids, Ids]:
    """Group the rows that agree on every key, groups numbered in order of appearance.

    Args:
        keys: one or more arrays of shape (n_rows,).

    Returns:
        The group of each row, shape (n_rows,), and the first row of each group, shape (n_groups,).
    """
    group, _ = pd.factorize(keys[0])
    for ids in keys[1:]:
        other, distinct = pd.factorize(ids)
        group, _ = pd.factorize(group * len(distinct) + other)
    first = np.empty(group.max(initial=-1) + 1, dtype=np.int64)
    first[group[::-1]] = np.arange(len(group))[::-1]
    return group, first
