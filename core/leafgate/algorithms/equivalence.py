"""Equivalence classes of people whom a tree cannot distinguish by their public cells.

Evaluate a tree partially, on a person's public cells: tests of public columns are resolved, tests of private columns
stay, and branches that no private value can reach are dropped. What stays is the person's residual tree. People with
equal residual trees are in one class. For one tree that is the paper's span (Definition 4): a residual tree and the
set of its leaves determine each other. People of a forest are classed by the vector of their residual trees, which is
never coarser than the joint Definition 4.

This shares no code with kADET's bookkeeping of spans, so that each can verify the other.

Values of a column put people into groups, too: a column determines another one whose value is the same in each group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from leafgate.algorithms.feasible import Domain, Possible, branch_domains, unrouted_values
from leafgate.algorithms.routing import Router, leaf_numbers
from leafgate.kernel.arrays import CompactIds, Ids, Mask, Rows
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.schema import Column, Schema
from leafgate.kernel.table import Table
from leafgate.kernel.tree import Node, TreeArrays, tree_arrays

NOWHERE = 0
"""The residual tree of people whose value no branch takes: a class of their own."""


@dataclass(frozen=True)
class Reached:
    """A leaf that somebody can reach; `find_possible` computes `possible` on first use."""

    leaf: Leaf
    find_possible: Callable[[], Possible] = field(repr=False, compare=False)

    @cached_property
    def possible(self) -> Possible:
        """The values of each tested column that lead to the leaf."""
        return self.find_possible()


class CompactNumbers(NamedTuple):
    """The number of each row's residual tree, `above` more than its integer in `ids`, which is as small as can be."""

    ids: CompactIds
    above: int

    def of(self, rows: Rows) -> Ids:
        """The numbers of some rows."""
        return self.ids.take(rows).astype(np.int64) + self.above


@dataclass
class ResidualTrees:
    """The different residual trees of one tree, numbered: each is a leaf, or a private test over others.

    NOWHERE is 0, the tree's leaves from left to right are 1, 2, ..., and private tests have the numbers that follow.
    `asked` has for a private test the residual trees below it, `untaken` the values of each column that lead to no
    leaf.
    """

    tree: Node
    public: Table
    schema: Schema
    asked: dict[int, tuple[int, ...]] = field(default_factory=dict)
    untaken: dict[int, list[Possible]] = field(default_factory=dict)
    _joined: dict[tuple[int, ...], int] = field(default_factory=dict)
    _leaves: dict[int, list[Reached]] = field(default_factory=dict)
    _ends: dict[int, list[Possible]] = field(default_factory=dict)

    @cached_property
    def arrays(self) -> TreeArrays:
        """The tree as arrays."""
        return tree_arrays(self.tree)

    def leaves(self, number: int) -> list[Reached]:
        """The leaves of a residual tree, from left to right; the same list at every call."""
        if number not in self._leaves:
            self._leaves[number] = self._collect_leaves(number)
        return self._leaves[number]

    def single_leaves(self, numbers: CompactIds) -> Ids:
        """The leaf that each residual tree is, from 0; -1 for those that are no single leaf."""
        wide = numbers.astype(np.int64)
        if not self.asked:
            return wide - 1
        return np.where(wide <= self.arrays.n_leaves, wide - 1, -1)

    def labels(self, number: int) -> list[str | None]:
        """The labels of a residual tree's leaves, from left to right."""
        if 0 < number <= self.arrays.n_leaves:
            return [self.arrays.labels[number - 1]]
        return [each.leaf.label for each in self.leaves(number)]

    def ends_nowhere(self, number: int) -> list[Possible]:
        """The values of each column that lead a residual tree's private tests to no leaf."""
        if number not in self._ends:
            below = [self.ends_nowhere(child) for child in self.asked.get(number, ())]
            self._ends[number] = [*self.untaken.get(number, ()), *(each for ends in below for each in ends)]
        return self._ends[number]

    @property
    def may_end_nowhere(self) -> bool:
        """Is there a private value, among those that reach a test, that no branch of it takes?"""
        return any(NOWHERE in below for below in self.asked.values())

    def _collect_leaves(self, number: int) -> list[Reached]:
        leaves, waiting = [], [number]
        while waiting:
            here = waiting.pop()
            if 0 < here <= self.arrays.n_leaves:
                leaves.append(Reached(self.arrays.leaves[here - 1], partial(self._possible, here - 1)))
            waiting.extend(reversed(self.asked.get(here, ())))
        return leaves

    def _possible(self, leaf: int) -> Possible:
        """The values of each tested column that lead to a leaf."""
        node, possible = self.tree, dict[str, Domain]()
        for position in self.arrays.path(leaf):
            assert not isinstance(node, Leaf)
            child, rest = branch_domains(node, possible, self.schema)[position]
            possible[node.column] = rest
            node = child
        return possible

    def compact_numbers(self) -> CompactNumbers:
        """The numbers of all rows of `public` in little memory, none where the rows are routed by public columns."""
        if self._asks_public_alone:
            return CompactNumbers(leaf_numbers(self.tree, self.public), 1)
        numbers = self.numbers()
        return CompactNumbers(numbers.astype(np.min_scalar_type(-int(numbers.max(initial=0)) - 1)), 0)

    @property
    def _asks_public_alone(self) -> bool:
        return all(self.schema[name].public for name in self.arrays.columns_asked)

    def numbers(self) -> Ids:
        """The number of the residual tree of each row of `public`."""
        if self._asks_public_alone:
            return leaf_numbers(self.tree, self.public).astype(np.int64) + 1
        ids = np.empty(len(self.public), dtype=np.int64)
        self._evaluate(self.tree, 0, np.arange(len(self.public)), {}, ids)
        self.__dict__.pop("_router", None)  # its copies of columns would be kept for every tree of a forest
        return ids

    def numbers_of(self, public: Table) -> Ids:
        """The same for the rows of another table: equal residual trees have equal numbers in all tables."""
        return replace(self, public=public).numbers()

    @cached_property
    def _router(self) -> Router:
        return Router(self.arrays, self.public)

    @cached_property
    def _asks_private(self) -> Mask:
        """Of each inner node: does it or any test below it read a column that is not public?"""
        own = np.array([not self.schema[name].public for name, _ in self.arrays.columns])[self.arrays.column]
        parent, asks = self.arrays.parent[self.arrays.position[0]].tolist(), own.tolist()
        for node in range(len(asks) - 1, 0, -1):  # children have higher numbers
            if asks[node]:
                asks[parent[node]] = True
        return np.array(asks, dtype=bool)

    def _evaluate(self, node: Node, number: int, rows: Rows, possible: Possible, ids: Ids) -> None:
        """Write into `ids`, at each of `rows`, the number of the residual tree below a node.

        `number` is the node's own in `arrays`: an inner node's, or the complement of a leaf's.
        """
        if isinstance(node, Leaf):
            ids[rows] = ~number + 1
            return
        if not self._asks_private[number]:
            ids[rows] = self._router.leaf_of(number, rows) + 1
            return
        first = int(self.arrays.first_child[number])
        ways = [
            (child, int(self.arrays.child[first + i]), {**possible, node.column: rest}, rest)
            for i, (child, rest) in enumerate(branch_domains(node, possible, self.schema))
        ]
        if not self.schema[node.column].public:
            below = [
                (self._branch(child, at, rows, remaining), remaining) for child, at, remaining, rest in ways if rest
            ]
            if untaken := unrouted_values(node, possible, self.schema):
                below.append((np.full(len(rows), NOWHERE), {**possible, node.column: untaken}))
            ids[rows] = self._join(number, *zip(*below, strict=True))
            return
        ids[rows] = NOWHERE
        for (child, at, remaining, _), (_, takes) in zip(ways, self._router.divide(number, rows), strict=True):
            if takes.any():
                self._evaluate(child, at, rows.compress(takes), remaining, ids)

    def _branch(self, child: Node, number: int, rows: Rows, possible: Possible) -> Ids:
        """The residual trees below one branch of a private test, for each of `rows`."""
        ids = np.empty(len(self.public), dtype=np.int64)
        self._evaluate(child, number, rows, possible, ids)
        return ids[rows]

    def _join(self, node: int, below: Sequence[Ids], possible: Sequence[Possible]) -> Ids:
        """Number a private test's residual trees: one for each combination of its children's.

        `possible` has the values of each column that lead to each child.
        """
        if len(below) == 1:
            return below[0]
        which, first = group_by_keys(below)
        keys = [tuple(int(ids[position]) for ids in below) for position in first]
        numbers = [NOWHERE if set(key) == {NOWHERE} else self._number((node, *key)) for key in keys]
        for number, key in zip(numbers, keys, strict=True):
            if number != NOWHERE:
                self.asked[number] = key
                self.untaken[number] = [rest for child, rest in zip(key, possible, strict=True) if child == NOWHERE]
        return np.array(numbers, dtype=np.int64)[which]

    def _number(self, key: tuple[int, ...]) -> int:
        return self._joined.setdefault(key, self.arrays.n_leaves + 1 + len(self._joined))


def distinct_ids(ids: CompactIds) -> tuple[Ids, Ids]:
    """The different numbers in ascending order, and for each of `ids` its place among them; in linear time.

    As NumPy's `unique` with `return_inverse`, for numbers from 0 to about as many as there are.
    """
    there = np.zeros(int(ids.max(initial=-1)) + 1, dtype=bool)
    there[ids] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1).take(ids)


def group_by_keys(keys: Sequence[CompactIds]) -> tuple[Ids, Ids]:
    """Number the groups of rows that agree on every key: each row's group, and each group's first row.

    Groups are numbered as they first occur. Only rows that agree with others so far are looked at again.
    """
    group = np.zeros(len(keys[0]), dtype=np.int64)
    alike, among, n_groups = np.arange(len(group)), group, 1
    for ids in keys:
        other, distinct = pd.factorize(ids.take(alike))
        among, _ = pd.factorize(among * len(distinct) + other)
        group[alike] = n_groups + among
        n_groups += len(alike)
        several = np.bincount(among)[among] > 1
        alike, among = alike.compress(several), among.compress(several)
        if not len(alike):
            break
    group, _ = pd.factorize(group)
    first = np.empty(group.max(initial=-1) + 1, dtype=np.int64)
    first[group[::-1]] = np.arange(len(group))[::-1]
    return group, first


FEWEST_PEOPLE = 20
"""So many people with the same value as somebody of their group before them are no chance."""
DETERMINED_SHARE = 0.99
"""Of the people without a column's most common value, a column that determines it tells the values of so many."""
DENSE = 8
"""Pairs of values are counted in an array if that is at most so many times as long as the table."""


def dependent_columns(table: Table) -> Iterator[tuple[Column, Column]]:
    """Pairs of a column and one that it determines, whose roles are declared as if it did not.

    The one is known of everyone, and the other is not; or the other is a secret, and the one may be learned. A column
    that is known so is in one pair alone.
    """
    schema, groups = table.schema, _Groups(table)
    private = schema.having("private")
    known = set[str]()
    for column in private:
        others = (other for other in schema.public if groups.determine(other, column))
        if (other := next(others, None)) is not None:
            known.add(column.name)
            yield other, column
    for other in (*private, *schema.having("class")):
        if other.countable and "sensitive" not in other.roles and other.name not in known:
            yield from ((other, secret) for secret in schema.secrets if groups.determine(other, secret))


class _Groups:
    """The people of a table in groups with equal values of a column."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._numbers: dict[str, Ids] = {}
        self._shared: dict[str, Mask] = {}

    def numbers(self, column: Column) -> Ids:
        """The number of each record's group, from 0; a missing cell is a value."""
        if column.values is not None:
            return self.table.codes(column.name)
        if column.name not in self._numbers:
            numbers = self.table.numbers(column.name)
            self._numbers[column.name] = np.unique(numbers, return_inverse=True)[1].reshape(-1)
        return self._numbers[column.name]

    def shared(self, column: Column) -> Mask:
        """Which records are in a group of several people."""
        if column.name not in self._shared:
            group = self.numbers(column)
            self._shared[column.name] = self.table.people_by(group, int(group.max(initial=0)) + 1)[group] > 1
        return self._shared[column.name]

    def determine(self, other: Column, column: Column) -> bool:
        """Do groups by one column tell the other's value of nearly all people who are in one with somebody else?

        People whose value says that it is not recorded do not count.
        """
        if other.name in column.independent_of or column.name in other.independent_of:
            return False
        group, value, counted = self.numbers(other), self.numbers(column), self.shared(other)
        if column.no_answer:
            counted = counted & ~np.isin(value, [column.domain.index(each) for each in column.no_answer])
        n_values = int(value.max(initial=0)) + 1
        pair, people = (group * n_values + value)[counted], self.table.persons[counted]
        if (int(group.max(initial=0)) + 1) * n_values <= DENSE * len(group):
            by_pair = np.bincount(pair, weights=people)
            pairs = np.flatnonzero(by_pair)
            by_pair = by_pair[pairs]
        else:
            pairs, place = np.unique(pair, return_inverse=True)
            by_pair = np.bincount(place.reshape(-1), weights=people)
        groups, of_group = np.unique(pairs // n_values, return_inverse=True)
        most = np.zeros(len(groups))
        np.maximum.at(most, of_group.reshape(-1), by_pair)
        commonest = np.bincount(pairs % n_values, weights=by_pair).max(initial=0)
        told, others, repeated = most.sum() - commonest, by_pair.sum() - commonest, by_pair.sum() - len(groups)
        return bool(others > 0 and repeated >= FEWEST_PEOPLE and told >= DETERMINED_SHARE * others)
