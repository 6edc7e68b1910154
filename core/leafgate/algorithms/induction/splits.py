"""Scoring every test at many nodes at once: gain, split information, and whether it is admitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from leafgate.algorithms.induction.encoding import EncodedTable
from leafgate.algorithms.induction.histograms import Histograms
from leafgate.kernel.arrays import Floats, Mask

Measure = Literal["gain", "gain_ratio", "gini"]


def x_log_x(x: Floats) -> Floats:
    """x log2 x, and 0 at 0."""
    return x * np.log2(x, where=x > 0, out=np.zeros_like(x))


def neg_impurity(counts: Floats, measure: Measure) -> Floats:
    """Minus people times impurity, over the last axis (people per class).

    Entropy: sum_c n_c log2 n_c - n log2 n = -n H. Gini: sum_c n_c^2 / n = n (1 - gini).
    Source: Quinlan, "Induction of Decision Trees", Machine Learning 1, 1986 (information gain);
    Breiman, Friedman, Olshen, Stone, "Classification and Regression Trees", 1984 (gini).
    """
    n = counts.sum(axis=-1)
    if measure == "gini":
        squares = (counts**2).sum(axis=-1)
        return np.asarray(np.divide(squares, n, where=n > 0, out=np.zeros_like(squares)))
    return np.asarray(x_log_x(counts).sum(axis=-1) - x_log_x(n))


TOLERANCE = 1e-12
"""A gain up to this, in bits (or gini) a person, is none; closer gains are ties."""
TENTH, MOST = 0.1, 25.0
"""What Release 8 wants on both sides of a cut: this part of the people per class, but no more than so many."""

Admits = Callable[[Floats], Mask]
"""Which populations (last axis: people per class) are acceptable; somebody is in each."""


@dataclass(frozen=True)
class Tests:
    """Every test there is: a feature on a level of its hierarchy, in the order that breaks ties."""

    feature: NDArray[np.int64]
    level: NDArray[np.int64]

    def index(self, feature: NDArray[np.int64]) -> NDArray[np.int64]:
        """The level-0 tests of features."""
        return np.searchsorted(self.feature, feature)


def tests_of(coded: EncodedTable) -> Tests:
    """All tests of a table, features in policy order, finest level first."""
    pairs = [(i, h) for i, f in enumerate(coded.features) for h in range(len(f.levels))]
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Tests(both[:, 0], both[:, 1])


@dataclass(frozen=True)
class Scores:
    """One row a node and one column a test; -inf gain where the test separates nobody.

    `gain` and `split_info` are in people x bits (gini: people), of the best admitted cut for
    numeric features, whose place is `code`; `plain` is the gain whether admitted or not.
    `admitted` is False where some population would not be acceptable.
    """

    people: Floats
    gain: Floats
    plain: Floats
    split_info: Floats
    admitted: Mask
    code: NDArray[np.int64]


@dataclass(frozen=True)
class Cuts:
    """Every cut between two codes that follow each other in a set: the people per class on both sides."""

    group: NDArray[np.int64]
    feature: NDArray[np.int64]
    code: NDArray[np.int64]
    next_code: NDArray[np.int64]
    low: Floats
    high: Floats
    segment: NDArray[np.int64]


def segments(cells: Histograms) -> NDArray[np.int64]:
    """Where each (set, feature) begins in the cells."""
    return np.flatnonzero(_changes(cells.group) | _changes(cells.feature))


def _changes(keys: NDArray[np.int64]) -> Mask:
    changed = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=changed[1:])
    return changed


def on_level(coded: EncodedTable, cells: Histograms, level: int) -> Histograms:
    """The cells of the categorical features that have this level, codes replaced by its groups."""
    has, start, groups = coded.level_groups[level]
    chosen = has[cells.feature]
    group, feature = cells.group[chosen], cells.feature[chosen]
    code, counts = cells.code[chosen], cells.counts[chosen]
    if level == 0 or not len(code):
        return Histograms(group, feature, code, counts)
    code = groups[start[feature] + code]
    first = np.flatnonzero(_changes(group) | _changes(feature) | _changes(code))
    return Histograms(group[first], feature[first], code[first], np.add.reduceat(counts, first, axis=0))


def cuts_of(coded: EncodedTable, cells: Histograms) -> Cuts:
    """Every cut of every set of records."""
    numeric = coded.numeric[cells.feature]
    part = Histograms(cells.group[numeric], cells.feature[numeric], cells.code[numeric], cells.counts[numeric])
    if not len(part.code):
        return Cuts(part.group, part.feature, part.code, part.code, part.counts, part.counts, part.group)
    start = segments(part)
    length = np.diff(start, append=len(part.code))
    segment = np.repeat(np.arange(len(start)), length)
    running = part.counts.cumsum(axis=0)
    before = np.where((start > 0)[:, None], running[start - 1], 0)
    last = start + length - 1
    inner = np.ones(len(segment), dtype=bool)
    inner[last] = False
    chosen = np.flatnonzero(inner)
    segment = segment[chosen]
    return Cuts(
        part.group[chosen],
        part.feature[chosen],
        part.code[chosen],
        part.code[chosen + 1],
        running[chosen] - before[segment],
        running[last][segment] - running[chosen],
        segment,
    )


class SplitFilter(Protocol):
    """Says which tests leave every population acceptable."""

    def fans(self, part: Histograms, start: NDArray[np.int64], level: int) -> Mask:
        """For each (node, feature) that starts at `start` in the cells of a level: is it admitted?"""
        ...

    def cuts(self, cuts: Cuts) -> Mask:
        """For each cut of the nodes: is it admitted?"""
        ...


@dataclass(frozen=True)
class ChildrenSatisfy:
    """A judge for which the populations are the sons' own people."""

    admits: Admits

    def fans(self, part: Histograms, start: NDArray[np.int64], level: int) -> Mask:
        return np.logical_and.reduceat(self.admits(part.counts), start)

    def cuts(self, cuts: Cuts) -> Mask:
        return self.admits(cuts.low) & self.admits(cuts.high)


def score(
    coded: EncodedTable,
    tests: Tests,
    cells: Histograms,
    counts: Floats,
    measure: Measure,
    judge: SplitFilter | None = None,
    min_leaf: float = 0,
    *,
    penalty: bool = False,
) -> Scores:
    """Score all tests at all nodes; `counts` are the nodes' people per class.

    A test needs two sons (a cut: both) with `min_leaf` people; without a judge all are admitted. With `penalty` a
    column of numbers pays for its many cuts: log2 of how many there are, of the gain; and both sides of a cut need
    a tenth of the node's people per class (25 at most).

    Source of the penalty: Quinlan, "Improved Use of Continuous Attributes in C4.5", JAIR 4, 1996, section 3, and
    his Release 8 (contin.c).
    """
    shape = (len(counts), len(tests.feature))
    people = counts.sum(axis=1)
    scores = Scores(
        people,
        gain=np.full(shape, -np.inf),
        plain=np.full(shape, -np.inf),
        split_info=np.zeros(shape),
        admitted=np.ones(shape, dtype=bool),
        code=np.zeros(shape, dtype=np.int64),
    )
    least = np.full(len(people), min_leaf, dtype=np.float64)
    if penalty:
        least = np.maximum(least, np.minimum(TENTH * people / counts.shape[1], MOST))
    node = _Nodes(neg_impurity(counts, measure), people, x_log_x(people), measure, min_leaf, least, penalty)
    for level in range(len(coded.level_groups)):
        _score_fans(scores, tests, on_level(coded, cells, level), level, node, judge)
    _score_cuts(scores, tests, cuts_of(coded, cells), node, judge)
    return scores


@dataclass(frozen=True)
class _Nodes:
    purity: Floats
    people: Floats
    whole: Floats
    measure: Measure
    min_leaf: float
    cut_least: Floats
    penalty: bool


def _score_fans(
    scores: Scores, tests: Tests, part: Histograms, level: int, node: _Nodes, judge: SplitFilter | None
) -> None:
    if not len(part.code):
        return
    start = segments(part)
    group, test = part.group[start], tests.index(part.feature[start]) + level
    n = part.counts.sum(axis=1)
    enough = np.add.reduceat((n >= node.min_leaf).astype(np.int64), start) >= 2
    gained = np.add.reduceat(neg_impurity(part.counts, node.measure), start) - node.purity[group]
    scores.gain[group, test] = scores.plain[group, test] = np.where(enough, gained, -np.inf)
    scores.split_info[group, test] = node.whole[group] - np.add.reduceat(x_log_x(n), start)
    if judge is not None:
        scores.admitted[group, test] = judge.fans(part, start, level)


def _score_cuts(scores: Scores, tests: Tests, cuts: Cuts, node: _Nodes, judge: SplitFilter | None) -> None:
    if not len(cuts.code):
        return
    low_n, high_n = cuts.low.sum(axis=1), cuts.high.sum(axis=1)
    gained = neg_impurity(cuts.low, node.measure) + neg_impurity(cuts.high, node.measure) - node.purity[cuts.group]
    least = node.cut_least[cuts.group]
    enough = (low_n >= least) & (high_n >= least)
    gained = np.where(enough, gained, -np.inf)
    allowed = gained if judge is None else np.where(judge.cuts(cuts), gained, -np.inf)
    best, top = _best(allowed, cuts, node.people)
    group, test = cuts.group[best], tests.index(cuts.feature[best])
    paid = np.log2(np.maximum(np.add.reduceat(enough, _starts(cuts)), 1)) if node.penalty else 0.0
    scores.gain[group, test], scores.code[group, test] = top - paid, cuts.code[best]
    scores.plain[group, test] = _best(gained, cuts, node.people)[1] - paid
    scores.split_info[group, test] = node.whole[group] - x_log_x(low_n[best]) - x_log_x(high_n[best])


def _starts(cuts: Cuts) -> NDArray[np.int64]:
    """Where each segment begins."""
    return np.flatnonzero(_changes(cuts.segment))


def _best(gained: Floats, cuts: Cuts, people: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Each segment's best cut, the lowest among equals, and its gain."""
    start = _starts(cuts)
    rounded = np.round(gained / people[cuts.group], 12)
    top = np.maximum.reduceat(rounded, start)
    place = np.repeat(np.arange(len(start)), np.diff(start, append=len(gained)))
    at_top = np.flatnonzero(rounded == top[place])
    best = at_top[np.unique(place[at_top], return_index=True)[1]]
    return best, gained[best]
