"""Finding the tests that competed at every node of a tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from leafgate.routing import NOWHERE
from leafgate.schema import Schema
from leafgate.table import Table
from leafgate.tree import Cut
from leafgate_maxent.choices import Cells, Choices, Mask
from leafgate_maxent.impurity import x_log_x
from leafgate_maxent.marks import stirred
from leafgate_maxent.provable import Rules
from leafgate_maxent.strata import Strata
from leafgate_maxent.walk import Floats, Ids, Walked


@dataclass(frozen=True)
class Places:
    """Which strata are at which node: pairs, and for each the branch that is taken there."""

    node: Ids
    stratum: Ids
    branch: Ids


def places_of(walked: Walked, leaf: Ids) -> Places:
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
    return Places(node, stratum, branch)


def choices_of(
    walked: Walked, strata: Strata, tree: int, public: Table, schema: Schema, weight: Floats, rules: Rules
) -> Choices | None:
    """Every internal constraint of a tree; None when it lets somebody fall through, as no learner would.

    `weight` are the people of each stratum, which is known where `rules.sizes`.
    """
    leaf = strata.leaf[:, tree]
    inside = leaf != NOWHERE
    if not inside[strata.member].all() if strata.member is not None else not inside.all():
        return None
    places = places_of(walked, leaf)
    cells = _cells(places, public, strata.row, schema, rules)
    sons = _adding(places, places.branch, len(strata))
    whole = sp.csr_array((np.ones(len(places.node)), (places.node, places.stratum)), (len(walked.inner), len(strata)))
    tests = _tests(cells, cells.matrix @ weight, rules)
    tests = tests.only(~_same_split(cells, sons, tests))
    ratio = np.ones(len(tests.node))
    if rules.measure == "gain_ratio":
        ratio, comparable = _comparable(walked, cells, tests, sons, weight)
        ratio, tests = ratio[comparable], tests.only(comparable)
    gini = rules.measure == "gini"
    return Choices(
        cells, tests.node, tests.segment, tests.behind, sons.matrix, sons.node, whole, ratio, gini=gini, tree=tree
    )


def _codes(public: Table, name: str) -> Ids:
    """A public column as codes in the order of its values; missing numbers lie below all."""
    if not public.schema[name].numeric:
        return public.codes(name)
    numbers = np.nan_to_num(public.numbers(name), nan=-np.inf)
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)


@dataclass(frozen=True)
class Sums:
    """A matrix that adds strata up: one row for each combination of `node` and `part` that holds any."""

    matrix: sp.csr_array
    node: Ids
    part: Ids


def _adding(places: Places, part: Ids, n_strata: int) -> Sums:
    size = int(part.max(initial=0)) + 1
    keys, row = np.unique(places.node * size + part, return_inverse=True)
    matrix = sp.csr_array((np.ones(len(row)), (row, places.stratum)), shape=(len(keys), n_strata))
    return Sums(matrix, keys // size, keys % size)


@dataclass(frozen=True)
class Tests:
    """Tests that competed at their nodes: a segment's fan (`behind` is -1), or its cut behind a cell."""

    node: Ids
    segment: Ids
    behind: Ids

    def only(self, which: Mask) -> Tests:
        return Tests(self.node[which], self.segment[which], self.behind[which])


def _cells(places: Places, public: Table, row: Ids, schema: Schema, rules: Rules) -> Cells:
    columns = [one for one in schema.features if one.public]
    empty = np.zeros(0, dtype=np.int64)
    matrices, segments, nodes, numbers = [sp.csr_array((0, len(row)))], [empty], [empty], [empty]
    for number, one in enumerate(columns):
        if one.numeric or rules.fans:
            added = _adding(places, _codes(public, one.name)[row[places.stratum]], len(row))
            node, segment = np.unique(added.node, return_inverse=True)
            matrices.append(added.matrix)
            segments.append(segment + sum(map(len, nodes)))
            nodes.append(node)
            numbers.append(np.full(len(node), number))
    names = tuple(one.name for one in columns)
    cuts = np.array([one.numeric for one in columns], dtype=bool)
    column = np.concatenate(numbers)
    stacked = sp.csr_array(sp.vstack(matrices, format="csr"))
    return Cells(stacked, np.concatenate(segments), np.concatenate(nodes), column, cuts[column], names)


def _tests(cells: Cells, people: Floats, rules: Rules) -> Tests:
    """Every test that competed: its sons have enough people, as far as that can be known."""
    start, length = cells.start[:-1], np.diff(cells.start)
    position = np.arange(len(cells.segment))
    last = position == (cells.start[1:] - 1)[cells.segment]
    if not rules.sizes:
        people = np.ones(len(people))
    total = np.bincount(cells.segment, weights=people, minlength=len(start))
    low = people.cumsum() - (people.cumsum() - people)[start][cells.segment]
    high = total[cells.segment] - low
    enough = max(rules.min_leaf, rules.k)
    cut = cells.cuts[cells.segment] & ~last & (low >= enough) & (high >= enough)
    big = np.bincount(cells.segment, weights=people >= rules.min_leaf, minlength=len(start)) >= 2
    small = np.bincount(cells.segment, weights=people < rules.k, minlength=len(start)) > 0
    fan = np.flatnonzero(~cells.cuts & big & ~small & (length > 1))
    segment = np.concatenate([fan, cells.segment[cut]])
    return Tests(cells.node[segment], segment, np.concatenate([np.full(len(fan), -1), position[cut]]))


def _same_split(cells: Cells, sons: Sums, tests: Tests) -> Mask:
    """Which tests divide the people of their node just as the test that was asked.

    Every stratum has a random number of 64 bits, a block the sum of its strata's; a division is known
    by the sum of its blocks' numbers, stirred.
    """
    marks = np.random.default_rng(0).integers(0, 2**63, size=sons.matrix.shape[1], dtype=np.uint64)
    cell = _marked(cells.matrix, marks)
    running = np.concatenate([ZERO, cell.cumsum(dtype=np.uint64)])
    sums = np.concatenate([ZERO, stirred(cell).cumsum(dtype=np.uint64)])
    start, end = cells.start[tests.segment], cells.start[tests.segment + 1]
    after = np.where(tests.behind < 0, start, tests.behind + 1)
    fan = sums[end] - sums[start]
    cut = stirred(running[after] - running[start]) + stirred(running[end] - running[after])
    asked = np.zeros(int(sons.node.max(initial=-1)) + 1, dtype=np.uint64)
    np.add.at(asked, sons.node, stirred(_marked(sons.matrix, marks)))
    return np.asarray(np.where(tests.behind < 0, fan, cut) == asked[tests.node])


ZERO = np.zeros(1, dtype=np.uint64)


def _marked(matrix: sp.csr_array, marks: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The sum of the marks in each row, none of which is empty."""
    if not matrix.shape[0]:
        return ZERO[:0]
    return np.add.reduceat(marks[matrix.indices], matrix.indptr[:-1], dtype=np.uint64)


def _comparable(walked: Walked, cells: Cells, tests: Tests, sons: Sums, weight: Floats) -> tuple[Floats, Mask]:
    """By gain ratio: split information of each test over that of the one asked, and which can be compared.

    Of the cuts of a number a learner takes the one that gains most, and only that competes by gain
    ratio; which one it was is known of the column that was asked alone. There gains are compared.
    """
    asked = [inner.node.column if isinstance(inner.node, Cut) else None for inner in walked.inner]
    pairs = zip(cells.column[tests.segment], tests.node, strict=True)
    own = np.array([cells.names[column] == asked[node] for column, node in pairs], dtype=bool)
    cut = tests.behind >= 0
    people = np.zeros(len(asked)) + np.bincount(sons.node, weights=sons.matrix @ weight, minlength=len(asked))
    info = x_log_x(people)
    mine = info - np.bincount(sons.node, weights=x_log_x(sons.matrix @ weight), minlength=len(asked))
    fan = np.bincount(cells.segment, weights=x_log_x(cells.matrix @ weight), minlength=len(cells.node))
    theirs = info[tests.node] - fan[tests.segment]
    ratio = np.where(cut, 1.0, np.divide(theirs, mine[tests.node], where=mine[tests.node] > 0, out=np.ones(len(cut))))
    return ratio, (~cut | own) & (mine[tests.node] > 0)
