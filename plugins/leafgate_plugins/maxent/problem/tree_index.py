"""The nodes and leaves of a tree, numbered from left to right, with the people who can be in each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse as sp

from leafgate.algorithms.feasible import Domain, Possible, branch_domains, rest_of, unrouted_values
from leafgate.algorithms.routing import NOWHERE, split_rows
from leafgate.api import CategoricalSplit, Ids, Leaf, Mask, Node, NumericSplit, Schema, Table, children


@dataclass(frozen=True)
class InnerNode:
    """A node that asks: the leaves below it are those from `first` up to but not including `end`.

    `path` are the answers that lead to it: (node above, which of its children).
    """

    node: NumericSplit | CategoricalSplit
    path: tuple[tuple[int, int], ...]
    first: int
    end: int
    edges: tuple[int, ...]
    """Where each child's leaves begin."""


@dataclass(frozen=True)
class TreeIndex:
    """One tree, its leaves and inner nodes numbered."""

    leaves: tuple[Leaf, ...]
    paths: tuple[tuple[tuple[int, int], ...], ...]
    inner: tuple[InnerNode, ...]

    def answers(self, path: Sequence[tuple[int, int]]) -> Iterator[tuple[NumericSplit | CategoricalSplit, int]]:
        """The tests on a path, and which child is taken."""
        for above, child in path:
            yield self.inner[above].node, child


def index_tree(tree: Node) -> TreeIndex:
    """Number a tree's leaves and inner nodes, parents before children."""
    leaves: list[Leaf] = []
    paths: list[tuple[tuple[int, int], ...]] = []
    found: list[tuple[NumericSplit | CategoricalSplit, tuple[tuple[int, int], ...]]] = []
    starts: dict[int, list[int]] = {}
    waiting: list[tuple[Node, tuple[tuple[int, int], ...]]] = [(tree, ())]
    while waiting:
        node, path = waiting.pop()
        if path:
            starts[path[-1][0]].append(len(leaves))
        if isinstance(node, Leaf):
            leaves.append(node)
            paths.append(path)
            continue
        number = len(found)
        found.append((node, path))
        starts[number] = []
        waiting.extend((child, (*path, (number, i))) for i, child in reversed(list(enumerate(children(node)))))
    ends = _ends(paths, len(found))
    inner = (InnerNode(n, p, starts[i][0], ends[i], tuple(starts[i])) for i, (n, p) in enumerate(found))
    return TreeIndex(tuple(leaves), tuple(paths), tuple(inner))


def _ends(paths: Sequence[tuple[tuple[int, int], ...]], size: int) -> list[int]:
    """For each inner node the number after that of its last leaf."""
    ends = [0] * size
    for leaf, path in enumerate(paths):
        for above, _ in path:
            ends[above] = leaf + 1
    return ends


@dataclass(frozen=True)
class ReachableCase:
    """Rows of the public table, what their unknown cells can be, and the leaf this leads to in each tree."""

    rows: Ids
    possible: Mapping[str, Domain] = field(default_factory=dict)
    leaf: tuple[int, ...] = ()


def cases_through(tree: Node, way: ReachableCase, public: Table, schema: Schema) -> Iterator[ReachableCase]:
    """The leaves the people of a way can reach in one more tree; NOWHERE where no branch takes them."""
    waiting: list[tuple[Node, Ids, Possible]] = [(tree, way.rows, way.possible)]
    number = 0
    while waiting:
        node, rows, possible = waiting.pop()
        if isinstance(node, Leaf):
            if len(rows):
                yield ReachableCase(rows, possible, (*way.leaf, number))
            number += 1
            continue
        waiting.extend(reversed(list(_children(node, rows, possible, public, schema))))
        lost, left = _lost(node, rows, possible, public, schema)
        if len(lost):
            yield ReachableCase(lost, left, (*way.leaf, NOWHERE))


def _children(
    node: NumericSplit | CategoricalSplit, rows: Ids, possible: Possible, public: Table, schema: Schema
) -> Iterator[tuple[Node, Ids, Possible]]:
    if schema[node.column].public:
        parts = split_rows(node, public, rows) if len(rows) else ((child, rows) for child in children(node))
        yield from ((child, mine, possible) for child, mine in parts)
        return
    for child, rest in branch_domains(node, possible, schema):
        yield child, rows if rest else rows[:0], {**possible, node.column: rest}


def _lost(
    node: NumericSplit | CategoricalSplit, rows: Ids, possible: Possible, public: Table, schema: Schema
) -> tuple[Ids, Possible]:
    """The rows that no branch takes, and what their unknown cells then are."""
    if not schema[node.column].public:
        if not unrouted_values(node, possible, schema):
            return rows[:0], possible
        rest = rest_of(schema[node.column], possible)
        assert isinstance(node, CategoricalSplit)
        assert isinstance(rest, frozenset)
        named = {value for branch in node.branches for value in branch.values}
        return rows, {**possible, node.column: rest - named}
    taken = [mine for _, mine in split_rows(node, public, rows)] if len(rows) else [rows]
    return np.setdiff1d(rows, np.concatenate(taken)), possible


@dataclass(frozen=True)
class NodeMembership:
    """Which strata are at which node: pairs, and for each the branch that is taken there."""

    node: Ids
    stratum: Ids
    branch: Ids


def node_membership(walked: TreeIndex, leaf: Ids) -> NodeMembership:
    """The strata at each inner node of a tree; `leaf` is each stratum's."""
    order = np.argsort(leaf, kind="stable")
    at = np.searchsorted(leaf[order], np.arange(len(walked.leaves) + 1))
    nodes, strata, branches = [], [], []
    for number, inner in enumerate(walked.inner):
        mine = order[at[inner.first] : at[inner.end]]
        nodes.append(np.full(len(mine), number))
        strata.append(mine)
        branches.append(np.searchsorted(inner.edges, leaf[mine], side="right") - 1)
    empty = np.zeros(0, dtype=np.int64)
    node, stratum, branch = (np.concatenate([empty, *part]) for part in (nodes, strata, branches))
    return NodeMembership(node, stratum, branch)


@dataclass(frozen=True)
class StrataSums:
    """A matrix that adds strata up: one row for each combination of `node` and `part` that holds any."""

    matrix: sp.csr_array
    node: Ids
    part: Ids


def sum_strata(places: NodeMembership, part: Ids, n_strata: int) -> StrataSums:
    """Add up the strata of each node that are in one part; `part` has the part of each entry of `places`."""
    size = int(part.max(initial=0)) + 1
    keys, row = np.unique(places.node * size + part, return_inverse=True)
    matrix = sp.csr_array((np.ones(len(row)), (row, places.stratum)), shape=(len(keys), n_strata))
    return StrataSums(matrix, keys // size, keys % size)


@dataclass(frozen=True)
class Tests:
    """Tests that competed at their nodes: a segment's fan (`cut_after` is -1), or its cut behind a cell."""

    node: Ids
    segment: Ids
    cut_after: Ids

    def select(self, which: Mask) -> Tests:
        return Tests(self.node[which], self.segment[which], self.cut_after[which])
