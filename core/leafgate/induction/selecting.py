"""Growing without regard to anyone: every node takes its best test, level by level."""

from __future__ import annotations

import numpy as np

from leafgate.induction.cells import count_cells
from leafgate.induction.choosing import choose, mean_gain
from leafgate.induction.coding import Coded
from leafgate.induction.growing import Sprout, may_split, split, sprout
from leafgate.induction.measures import Measure
from leafgate.induction.splits import score, tests_of


def grow(coded: Coded, measure: Measure, *, average_gain: bool, min_leaf: float) -> Sprout:
    """The unpruned tree: each node split by the test with the largest measure until none gains.

    With `average_gain` only tests of at least the node's mean gain compete. A test needs two sons
    with `min_leaf` people (a cut: both).

    Source: Quinlan, "Induction of Decision Trees", 1986; "C4.5", 1993, chapter 2.
    Departure: cuts lie midway between two numbers of the table; no penalty for many cuts.
    """
    tests = tests_of(coded)
    root = sprout(coded, np.arange(len(coded.classes)))
    wave = [root]
    while wave := [node for node in wave if may_split(node)]:
        counts = np.stack([node.counts for node in wave])
        cells = count_cells(coded, [node.rows for node in wave])
        scores = score(coded, tests, cells, counts, measure, min_leaf=min_leaf)
        means = mean_gain(scores, tests) if average_gain else None
        choices = choose(scores, tests, measure, means)
        wave = [son for node, c in zip(wave, choices, strict=True) if c for son in split(coded, node, c)]
    return root
