"""Growing without regard to anyone: every node takes its best test, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leafgate.algorithms.induction.encoding import EncodedTable
from leafgate.algorithms.induction.growth import GrowingNode, growing_node, may_split, split
from leafgate.algorithms.induction.histograms import Histograms, count_histograms
from leafgate.algorithms.induction.large import EncodedBlocks, grow_in_parts
from leafgate.algorithms.induction.selection import Choice, choose, mean_gain
from leafgate.algorithms.induction.splits import Cuts, Measure, score, tests_of
from leafgate.kernel.arrays import Codes, Mask


@dataclass(frozen=True)
class AllowedFeatures:
    """A judge that admits tests on some features and on no others."""

    features: frozenset[int]

    def fans(self, part: Histograms, start: Codes, level: int) -> Mask:
        return np.isin(part.feature[start], list(self.features))

    def cuts(self, cuts: Cuts) -> Mask:
        return np.isin(cuts.feature, list(self.features))


def grow(
    coded: EncodedTable,
    measure: Measure,
    *,
    average_gain: bool,
    min_leaf: float,
    min_split: float = 0,
    penalty: bool = False,
) -> GrowingNode:
    """The unpruned tree: each node split by the test with the largest measure until none gains.

    With `average_gain` only tests of at least the node's mean gain compete. A test needs two sons
    with `min_leaf` people (a cut: both); a node of fewer than `min_split` people stays a leaf. `penalty` is that of
    Release 8 on columns of many numbers (see `score`).

    Source: Quinlan, "Induction of Decision Trees", 1986; "C4.5", 1993, chapter 2.
    Departure: cuts lie midway between two numbers of the table.
    """
    root = growing_node(coded, np.arange(len(coded.classes)))
    every = frozenset(range(len(coded.features)))
    grow_on(
        coded,
        [root],
        every,
        measure,
        average_gain=average_gain,
        min_leaf=min_leaf,
        min_split=min_split,
        penalty=penalty,
    )
    return root


def grow_large(
    encoded: EncodedBlocks, measure: Measure, *, average_gain: bool, min_leaf: float, min_split: float = 0
) -> GrowingNode:
    """The tree that `grow` grows, of a table that does not fit into memory."""
    every = frozenset(range(len(encoded.features)))

    def look(coded: EncodedTable, nodes: Sequence[GrowingNode], cells: Histograms) -> Sequence[Choice | None]:
        return best_tests(coded, nodes, cells, every, measure, average_gain=average_gain, min_leaf=min_leaf)

    def grow_part(coded: EncodedTable, nodes: Sequence[GrowingNode]) -> None:
        grow_on(coded, nodes, every, measure, average_gain=average_gain, min_leaf=min_leaf, min_split=min_split)

    return grow_in_parts(encoded, look, grow_part, lambda node: may_split(node, min_split))


def grow_on(
    coded: EncodedTable,
    leaves: Sequence[GrowingNode],
    features: frozenset[int],
    measure: Measure,
    *,
    average_gain: bool,
    min_leaf: float,
    min_split: float = 0,
    penalty: bool = False,
) -> None:
    """Grow a tree on from its leaves, as `grow` does, asking about `features` alone."""
    wave = list(leaves)
    while wave := [node for node in wave if may_split(node, min_split)]:
        cells = count_histograms(coded, [node.rows for node in wave])
        choices = best_tests(
            coded, wave, cells, features, measure, average_gain=average_gain, min_leaf=min_leaf, penalty=penalty
        )
        wave = [son for node, c in zip(wave, choices, strict=True) if c for son in split(coded, node, c)]


def best_tests(
    coded: EncodedTable,
    nodes: Sequence[GrowingNode],
    cells: Histograms,
    features: frozenset[int],
    measure: Measure,
    *,
    average_gain: bool,
    min_leaf: float,
    penalty: bool = False,
) -> list[Choice | None]:
    """The best test of each node on one of these features, None where none gains.

    Tests on other features do not count for the mean gain either. `cells` are the histograms of the nodes' people.
    """
    tests, counts = tests_of(coded), np.stack([node.counts for node in nodes])
    barred = ~np.isin(tests.feature, list(features))
    judge = AllowedFeatures(features) if barred.any() else None
    scores = score(coded, tests, cells, counts, measure, judge, min_leaf=min_leaf, penalty=penalty)
    scores.plain[:, barred] = -np.inf
    return choose(scores, tests, measure, mean_gain(scores, tests) if average_gain else None)
