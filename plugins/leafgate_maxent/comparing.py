"""How two tests at a node compare: whether they are the same, and by gain ratio at which rate."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from leafgate.tree import Cut
from leafgate_maxent.choices import Cells, Mask
from leafgate_maxent.impurity import x_log_x
from leafgate_maxent.marks import stirred
from leafgate_maxent.places import Sums, Tests
from leafgate_maxent.walk import Floats, Walked


def same_split(cells: Cells, sons: Sums, tests: Tests) -> Mask:
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


def ratios(walked: Walked, cells: Cells, tests: Tests, sons: Sums, weight: Floats) -> Floats:
    """By gain ratio: the split information of each test over that of the one asked; NaN where that has none.

    Of the cuts of a number a learner takes the one that gains most, and only that competes by gain
    ratio. Of the column that was asked it is known: its cuts compare by gain. Of others no cut gains
    more than the ratio of the test asked times the most split information any cut of theirs has.
    """
    people = sons.matrix @ weight
    whole = np.zeros(len(walked.inner)) + np.bincount(sons.node, weights=people, minlength=len(walked.inner))
    asked = x_log_x(whole) - np.bincount(sons.node, weights=x_log_x(people), minlength=len(whole))
    theirs = _split_information(cells, tests, cells.matrix @ weight, x_log_x(whole))
    ratio = np.where(_own(walked, cells, tests), 1.0, theirs / np.where(asked > 0, asked, np.nan)[tests.node])
    return np.asarray(ratio)


def _own(walked: Walked, cells: Cells, tests: Tests) -> Mask:
    """Which tests cut the column that was cut."""
    asked = [inner.node.column if isinstance(inner.node, Cut) else None for inner in walked.inner]
    pairs = zip(cells.column[tests.segment], tests.node, strict=True)
    same = np.array([cells.names[column] == asked[node] for column, node in pairs], dtype=bool)
    return np.asarray(same & (tests.behind >= 0))


def _split_information(cells: Cells, tests: Tests, people: Floats, whole: Floats) -> Floats:
    """Of fans their own, of cuts the most that any cut of the column has that competed at the node."""
    running = np.concatenate([[0.0], people.cumsum()])
    start, end = cells.start[tests.segment], cells.start[tests.segment + 1]
    behind = np.where(tests.behind < 0, start, tests.behind + 1)
    sides = x_log_x(running[behind] - running[start]) + x_log_x(running[end] - running[behind])
    fan = np.bincount(cells.segment, weights=x_log_x(people), minlength=len(cells.node))[tests.segment]
    info = whole[tests.node] - np.where(tests.behind < 0, fan, sides)
    most = np.full(len(cells.node), -np.inf)
    np.maximum.at(most, tests.segment, info)
    return np.asarray(most[tests.segment])
