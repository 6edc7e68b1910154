"""Which people a tree cannot tell apart by their public cells.

Fill a person's public cells into a tree: public tests vanish, private tests stay, and branches no
private value can reach go. People with equal remainders are in one group. For one tree that is the
paper's span (Definition 4): the remainder and the set of its leaves determine each other. Forests
are grouped by the vector of remainders, never coarser than the joint Definition 4.

This shares no code with kADET's bookkeeping of spans: it is the independent check of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.algorithms.feasible import Possible, branch_domains, unrouted_values
from leafgate.algorithms.routing import Cells, Rows, split_rows
from leafgate.types.schema import Schema
from leafgate.types.table import Table
from leafgate.types.tree import Leaf, Node

Ids = NDArray[np.int64]
NOWHERE = (-1,)
"""What is left where no branch takes a value: a bin of its own."""


@dataclass(frozen=True)
class Reached:
    """A leaf somebody can reach, and what the tests on the way leave of each column they asked."""

    leaf: Leaf
    possible: Possible


@dataclass
class Remainders:
    """The different remainders of one tree, numbered; each is a leaf or a private test over others.

    `untaken` says of a private test what is left of each column on those of its ways that end in no leaf.
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
            self._leaves[number] = self._found(number)
        return self._leaves[number]

    def ends_nowhere(self, number: int) -> list[Possible]:
        """What the tests leave of each column where a remainder's private tests lead to no leaf."""
        if number not in self._ends:
            below = [self.ends_nowhere(child) for child in self.asked.get(number, ())]
            self._ends[number] = [*self.untaken.get(number, ()), *(each for ends in below for each in ends)]
        return self._ends[number]

    @property
    def may_end_nowhere(self) -> bool:
        """Is there a private value, among those a test may be asked for, that no branch takes?"""
        nowhere = self._numbers.get(NOWHERE)
        return any(nowhere in below for below in self.asked.values())

    def _found(self, number: int) -> list[Reached]:
        found, waiting = [], [number]
        while waiting:
            here = waiting.pop()
            if here in self.reached:
                found.append(self.reached[here])
            waiting.extend(reversed(self.asked.get(here, ())))
        return found

    def fill_in(self, node: Node, rows: Rows, possible: Possible, ids: Ids) -> None:
        """Write into `ids`, at each of `rows`, the number of the remainder of the tree below `node`."""
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
            below = [(self._apart(child, rows, left), left) for child, left, rest in ways if rest]
            if untaken := unrouted_values(node, possible, self.schema):
                below.append((np.full(len(rows), self._number(NOWHERE)), {**possible, node.column: untaken}))
            ids[rows] = self._join(name, *zip(*below, strict=True))
            return
        ids[rows] = self._number(NOWHERE)
        for (child, left, _), (_, mine) in zip(ways, split_rows(node, self.public, rows, self._cells), strict=True):
            if len(mine):
                self.fill_in(child, mine, left, ids)

    def _apart(self, child: Node, rows: Rows, possible: Possible) -> Ids:
        """The remainders of one way out of a private test, for each of `rows`."""
        ids = np.empty(len(self.public), dtype=np.int64)
        self.fill_in(child, rows, possible, ids)
        return ids[rows]

    def _join(self, name: int, below: Sequence[Ids], possible: Sequence[Possible]) -> Ids:
        """Number a private test's remainders: one for each combination of its children's.

        `possible` is what the tests leave of each column on the way to each child.
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
    """For each row of `public` the number of its remainder of the tree, and what the numbers mean."""
    found = Remainders(public, schema)
    ids = np.empty(len(public), dtype=np.int64)
    found.fill_in(tree, np.arange(len(public)), {}, ids)
    return ids, found


def grouped(keys: Sequence[Ids]) -> tuple[Ids, Ids]:
    """Groups of rows that agree on every key, numbered as they appear: each row's, and each one's first row."""
    group, _ = pd.factorize(keys[0])
    for ids in keys[1:]:
        other, distinct = pd.factorize(ids)
        group, _ = pd.factorize(group * len(distinct) + other)
    first = np.empty(group.max(initial=-1) + 1, dtype=np.int64)
    first[group[::-1]] = np.arange(len(group))[::-1]
    return group, first
