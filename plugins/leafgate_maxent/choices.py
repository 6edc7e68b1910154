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
import scipy.sparse as sp
from numpy.typing import NDArray

from leafgate_maxent.impurity import impurity
from leafgate_maxent.walk import Floats, Ids

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Cells:
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
class Choices:
    """All internal constraints of one tree.

    Constraint i belongs to node `node[i]` and to the competing test on segment `segment[i]`: a cut
    behind cell `behind[i]`, or the whole fan where that is -1. `sons` adds strata up into the branches
    of the tests that were asked, `son_node` names their nodes; `whole` adds up each node. The
    constraint is E(W) - ratio E(T) + (ratio - 1) I(N) >= 0; ratio is 1 but for gain ratio.
    """

    cells: Cells
    node: Ids
    segment: Ids
    behind: Ids
    sons: sp.csr_array
    son_node: Ids
    whole: sp.csr_array
    ratio: Floats
    gini: bool
    tree: int = 0

    def __len__(self) -> int:
        return len(self.node)

    def slack(self, people: Floats) -> Floats:
        """By how much each constraint holds (negative: is broken), in people x measure."""
        counts = self.cells.matrix @ people
        asked = np.bincount(
            self.son_node, weights=impurity(self.sons @ people, gini=self.gini), minlength=self.whole.shape[0]
        )
        slack = self._competing(counts) - self.ratio * asked[self.node]
        if (self.ratio != 1).any():
            slack += (self.ratio - 1) * impurity(self.whole @ people, gini=self.gini)[self.node]
        return np.asarray(slack)

    def _competing(self, counts: Floats) -> Floats:
        """E(N, W) of every competing test."""
        start = self.cells.start
        found = np.zeros(len(self.segment))
        if len(found):
            found = np.add.reduceat(impurity(counts, gini=self.gini), start[:-1])[self.segment]
        cut = self.behind >= 0
        if cut.any():
            low, high = self._sides(counts, self.segment[cut], self.behind[cut])
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
        stacked = sp.vstack(rows, format="csr") if rows else sp.csr_array((0, self.sons.shape[1]))
        return sp.csr_array(stacked), sp.csr_array((part, (row, block)), shape=shape)

    def _terms(self, constraint: int) -> list[tuple[tuple[str, int, int], float]]:
        """The blocks of one constraint, each named, with their coefficients."""
        node, segment, behind = int(self.node[constraint]), int(self.segment[constraint]), int(self.behind[constraint])
        ratio = float(self.ratio[constraint])
        start, end = int(self.cells.start[segment]), int(self.cells.start[segment + 1])
        terms = [(("son", int(s), int(s) + 1), -ratio) for s in np.flatnonzero(self.son_node == node)]
        if behind < 0:
            terms += [(("cell", c, c + 1), 1.0) for c in range(start, end)]
        else:
            terms += [(("cell", start, behind + 1), 1.0), (("cell", behind + 1, end), 1.0)]
        return terms + ([(("node", node, node + 1), ratio - 1)] if ratio != 1 else [])

    def _block(self, kind: str, start: int, end: int) -> sp.csr_array:
        matrix = {"son": self.sons, "cell": self.cells.matrix, "node": self.whole}[kind]
        part = matrix[start:end]
        return sp.csr_array(part if end == start + 1 else sp.csr_array(np.ones((1, end - start))) @ part)
