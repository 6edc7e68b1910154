"""The internal constraints: at every node the test that was asked split no worse than any other could have.

For a node N asked about T, and every other test W that provably competed,

    E(N, T) <= E(N, W),   E(N, A) = sum over the branches of A of people x impurity

(by gain ratio: what T gains, relative to its split information, is no less than for W). All of them
are evaluated at once: the people at a node are counted by class for every value of every column (its
cells), fans add up the cells' impurity, cuts that of the sums up to and beyond a cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from leafgate.api import Floats, Ids, Mask, NumericSplit
from leafgate_plugins.maxent.problem.tree_index import StrataSums, Tests, TreeIndex


def x_log_x(x: Floats) -> Floats:
    """x ln x of each element, in nats; 0 where x is 0."""
    x = np.asarray(x, dtype=np.float64)
    return np.asarray(x * np.log(x, where=x > 0, out=np.zeros_like(x)))


def impurity(t: Floats, *, gini: bool) -> Floats:
    """People times impurity of each block: n H(t / n) in nats, or with `gini` n (1 - sum of squared shares).

    Args:
        t: people by class, shape (..., n_classes).
        gini: the Gini impurity instead of the entropy.

    Returns:
        Shape (...); 0 for empty blocks.
    """
    n = t.sum(axis=-1)
    if gini:
        squares = (t**2).sum(axis=-1)
        return np.asarray(n - np.divide(squares, n, where=n > 0, out=np.zeros_like(n)))
    return np.asarray(x_log_x(n) - x_log_x(t).sum(axis=-1))


def gradient(t: Floats, *, gini: bool) -> Floats:
    """The gradient of `impurity`, one row a block; a class nobody has counts as hardly anybody."""
    n = np.maximum(t.sum(axis=-1, keepdims=True), TINY)
    if gini:
        return np.asarray(1 - 2 * t / n + ((t / n) ** 2).sum(axis=-1, keepdims=True))
    return np.asarray(np.log(n) - np.log(np.maximum(t, TINY)))


def hessian_product(t: Floats, along: Floats, *, gini: bool) -> Floats:
    """Minus the Hessian of `impurity`, times a direction: one row a block, never negative along itself."""
    n = np.maximum(t.sum(axis=-1, keepdims=True), TINY)
    total = along.sum(axis=-1, keepdims=True)
    if gini:
        p = t / n
        twice = 2 * (along - p * total) / n
        return np.asarray(twice - (p * twice).sum(axis=-1, keepdims=True))
    return np.asarray(along / np.maximum(t, TINY) - total / n)


TINY = 1e-300


@dataclass(frozen=True)
class NodeCells:
    """The people at every node by each value of every competing column.

    `matrix` adds strata up into cells; cells of one (node, column) follow each other in the order of
    the column's values and form a segment.
    """

    matrix: sp.csr_array
    segment: Ids
    node: Ids
    column: Ids
    cuts: Mask
    """Of each segment: its node, its column, and whether that is cut (numbers) or fanned out."""
    names: tuple[str, ...] = ()

    @cached_property
    def start(self) -> Ids:
        """Where each segment begins; one more for the end."""
        return np.searchsorted(self.segment, np.arange(len(self.node) + 1))


@dataclass(frozen=True)
class SplitConstraints:
    """All internal constraints of one tree.

    Constraint i belongs to node `node[i]` and to the competing test on segment `segment[i]`: a cut
    behind cell `cut_after[i]`, or the whole fan where that is -1. `children` adds strata up into the branches
    of the tests that were asked, `child_node` names their nodes; `parents` adds up each node. The
    constraint is E(W) - ratio E(T) + (ratio - 1) I(N) >= 0; ratio is 1 but for gain ratio.
    """

    cells: NodeCells
    node: Ids
    segment: Ids
    cut_after: Ids
    children: sp.csr_array
    child_node: Ids
    parents: sp.csr_array
    ratio: Floats
    gini: bool
    tree: int = 0

    def __len__(self) -> int:
        return len(self.node)

    def slack(self, people: Floats) -> Floats:
        """By how much each constraint holds (negative: is broken), in people x measure."""
        counts = self.cells.matrix @ people
        asked = np.bincount(
            self.child_node, weights=impurity(self.children @ people, gini=self.gini), minlength=self.parents.shape[0]
        )
        slack = self._competing(counts) - self.ratio * asked[self.node]
        if (self.ratio != 1).any():
            slack += (self.ratio - 1) * impurity(self.parents @ people, gini=self.gini)[self.node]
        return np.asarray(slack)

    def _competing(self, counts: Floats) -> Floats:
        """E(N, W) of every competing test."""
        start = self.cells.start
        found = np.zeros(len(self.segment))
        if len(found):
            found = np.add.reduceat(impurity(counts, gini=self.gini), start[:-1])[self.segment]
        cut = self.cut_after >= 0
        if cut.any():
            low, high = self._sides(counts, self.segment[cut], self.cut_after[cut])
            found[cut] = impurity(low, gini=self.gini) + impurity(high, gini=self.gini)
        return np.asarray(found)

    def _sides(self, counts: Floats, segment: Ids, behind: Ids) -> tuple[Floats, Floats]:
        """The people on both sides of cuts."""
        running = np.concatenate([np.zeros((1, counts.shape[1])), counts.cumsum(axis=0)])
        start, end = self.cells.start[segment], self.cells.start[segment + 1]
        low = running[behind + 1] - running[start]
        return np.maximum(low, 0), np.maximum(running[end] - running[behind + 1], 0)

    def blocks(self, chosen: Ids) -> tuple[sp.csr_array, sp.csr_array]:
        """The blocks that some constraints compare, as sums of strata, and each one's coefficient in each.

        Constraint chosen[i] is `coefficients[i] @ impurity(blocks @ people) >= 0`.
        """
        rows: list[sp.csr_array] = []
        entries: list[tuple[int, int, float]] = []
        numbers: dict[tuple[str, int, int], int] = {}

        def number(key: tuple[str, int, int]) -> int:
            if key not in numbers:
                numbers[key] = len(numbers)
                rows.append(self._block(*key))
            return numbers[key]

        for i, constraint in enumerate(chosen.tolist()):
            entries += [(i, number(key), part) for key, part in self._terms(constraint)]
        row, block, part = zip(*entries, strict=True) if entries else ((), (), ())
        shape = (len(chosen), len(rows))
        stacked = sp.vstack(rows, format="csr") if rows else sp.csr_array((0, self.children.shape[1]))
        return sp.csr_array(stacked), sp.csr_array((part, (row, block)), shape=shape)

    def _terms(self, constraint: int) -> list[tuple[tuple[str, int, int], float]]:
        """The blocks of one constraint, each named, with their coefficients."""
        node, segment, behind = (
            int(self.node[constraint]),
            int(self.segment[constraint]),
            int(self.cut_after[constraint]),
        )
        ratio = float(self.ratio[constraint])
        start, end = int(self.cells.start[segment]), int(self.cells.start[segment + 1])
        terms = [(("child", int(s), int(s) + 1), -ratio) for s in np.flatnonzero(self.child_node == node)]
        if behind < 0:
            terms += [(("cell", c, c + 1), 1.0) for c in range(start, end)]
        else:
            terms += [(("cell", start, behind + 1), 1.0), (("cell", behind + 1, end), 1.0)]
        return terms + ([(("node", node, node + 1), ratio - 1)] if ratio != 1 else [])

    def _block(self, kind: str, start: int, end: int) -> sp.csr_array:
        matrix = {"child": self.children, "cell": self.cells.matrix, "node": self.parents}[kind]
        part = matrix[start:end]
        return sp.csr_array(part if end == start + 1 else sp.csr_array(np.ones((1, end - start))) @ part)


def splitmix64(marks: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64, so that sums of marks of different sets do not collide.

    Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
    """
    mixed = marks + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def same_split(cells: NodeCells, children: StrataSums, tests: Tests) -> Mask:
    """Which tests divide the people of their node just as the test that was asked.

    Every stratum has a random number of 64 bits, a block the sum of its strata's; a division is known
    by the sum of its blocks' numbers, stirred.
    """
    marks = np.random.default_rng(0).integers(0, 2**63, size=children.matrix.shape[1], dtype=np.uint64)
    cell = _marked(cells.matrix, marks)
    running = np.concatenate([ZERO, cell.cumsum(dtype=np.uint64)])
    sums = np.concatenate([ZERO, splitmix64(cell).cumsum(dtype=np.uint64)])
    start, end = cells.start[tests.segment], cells.start[tests.segment + 1]
    after = np.where(tests.cut_after < 0, start, tests.cut_after + 1)
    fan = sums[end] - sums[start]
    cut = splitmix64(running[after] - running[start]) + splitmix64(running[end] - running[after])
    asked = np.zeros(int(children.node.max(initial=-1)) + 1, dtype=np.uint64)
    np.add.at(asked, children.node, splitmix64(_marked(children.matrix, marks)))
    return np.asarray(np.where(tests.cut_after < 0, fan, cut) == asked[tests.node])


ZERO = np.zeros(1, dtype=np.uint64)


def _marked(matrix: sp.csr_array, marks: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The sum of the marks in each row, none of which is empty."""
    if not matrix.shape[0]:
        return ZERO[:0]
    return np.add.reduceat(marks[matrix.indices], matrix.indptr[:-1], dtype=np.uint64)


def split_information_ratios(
    walked: TreeIndex, cells: NodeCells, tests: Tests, children: StrataSums, weight: Floats
) -> Floats:
    """By gain ratio: the split information of each test over that of the one asked; NaN where that has none.

    Of the cuts of a number a learner takes the one that gains most, and only that competes by gain
    ratio. Of the column that was asked it is known: its cuts compare by gain. Of others no cut gains
    more than the ratio of the test asked times the most split information any cut of theirs has.
    """
    people = children.matrix @ weight
    whole = np.zeros(len(walked.inner)) + np.bincount(children.node, weights=people, minlength=len(walked.inner))
    asked = x_log_x(whole) - np.bincount(children.node, weights=x_log_x(people), minlength=len(whole))
    theirs = _split_information(cells, tests, cells.matrix @ weight, x_log_x(whole))
    ratio = np.where(_own(walked, cells, tests), 1.0, theirs / np.where(asked > 0, asked, np.nan)[tests.node])
    return np.asarray(ratio)


def _own(walked: TreeIndex, cells: NodeCells, tests: Tests) -> Mask:
    """Which tests cut the column that was cut."""
    asked = [inner.node.column if isinstance(inner.node, NumericSplit) else None for inner in walked.inner]
    pairs = zip(cells.column[tests.segment], tests.node, strict=True)
    same = np.array([cells.names[column] == asked[node] for column, node in pairs], dtype=bool)
    return np.asarray(same & (tests.cut_after >= 0))


def _split_information(cells: NodeCells, tests: Tests, people: Floats, whole: Floats) -> Floats:
    """Of fans their own, of cuts the most that any cut of the column has that competed at the node."""
    running = np.concatenate([[0.0], people.cumsum()])
    start, end = cells.start[tests.segment], cells.start[tests.segment + 1]
    behind = np.where(tests.cut_after < 0, start, tests.cut_after + 1)
    sides = x_log_x(running[behind] - running[start]) + x_log_x(running[end] - running[behind])
    fan = np.bincount(cells.segment, weights=x_log_x(people), minlength=len(cells.node))[tests.segment]
    info = whole[tests.node] - np.where(tests.cut_after < 0, fan, sides)
    most = np.full(len(cells.node), -np.inf)
    np.maximum.at(most, tests.segment, info)
    return np.asarray(most[tests.segment])
