"""The mathematics of the structure metrics: disclosed classes, generalisation gap, parameters, smallest group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate import InconclusiveError, Release, ScoringContext
from leafgate.algorithms.prediction import predict
from leafgate.types.evidence import AuditorOnly, PeopleCount
from leafgate.types.table import Table
from leafgate.types.tree import Leaf, Node, children
from leafgate_structure.evidence import worst_groups
from leafgate_structure.partitions import Division, class_probabilities, divisions

ZERO_SHARE = 1e-8
"""Shares up to this count as 0, as for numpy's `isclose`."""


@dataclass(frozen=True)
class Disclosed:
    """The share of people in such groups, and the evidence for it."""

    share: float
    evidence: dict[str, Any]


def disclosed(
    case: ScoringContext, groups: str, by_public: bool, form: str, k: int | None, *, derived: bool
) -> Disclosed:
    """The share of people in groups of one class, in groups that lack a class, or with a few people of a class."""
    release, table = case.release, case.table
    if release.target not in table.schema:
        raise InconclusiveError("the table has no class")
    found = divisions(case, groups, by_public)
    marks = [flagged(_people(case, division, derived=derived), form, k) for division in found]
    beyond = np.zeros(len(table), dtype=bool)
    for division, marked in zip(found, marks, strict=True):
        beyond |= marked[division.group]
    document: dict[str, Any] = {"groups": sum(len(division.sizes) for division in found)}
    people = int(table.persons[beyond].sum())
    document["people_beyond"] = AuditorOnly(PeopleCount(people))
    if people:
        document["worst"] = worst_groups(case, list(zip(found, marks, strict=True)), by_public)
    return Disclosed(people / int(table.persons.sum()), document)


def flagged(people: NDArray[np.float64], form: str, k: int | None) -> NDArray[np.bool_]:
    """Which groups disclose their class.

    Args:
        people: People of each class in each group, shape (n_groups, n_classes).
        form: `single`: all have one class; `ruled_out`: nobody has some class; `few`: some class has 1 to k - 1 people.
        k: Of `few`.

    """
    size = people.sum(axis=1, keepdims=True)
    absent = people <= ZERO_SHARE * size
    if form == "single":
        return np.asarray((~absent).sum(axis=1) == 1)
    if form == "ruled_out":
        return np.asarray(absent.any(axis=1))
    return np.asarray(((people > 0) & (people < (k or 0))).any(axis=1))


def _people(case: ScoringContext, division: Division, *, derived: bool) -> NDArray[np.float64]:
    """Each group's people by class: as they are, or as many as the release's shares make of them."""
    if not derived:
        target = case.release.target
        return division.counts(case.table.codes(target), len(case.release.classes))
    result = class_probabilities(case.release, case.table)[division.first]
    return np.asarray(np.where(np.isnan(result), 1 / result.shape[1], result) * division.sizes[:, None])


DECIMALS = 12
"""Decimals to which losses are compared."""


def test_people(case: ScoringContext) -> Table:
    """The test table; InconclusiveError where there is none to compare with."""
    if case.test is None:
        raise InconclusiveError("there is no test table", place="data.test", remedy="name one, or give --test FILE")
    if case.noisy_test:
        raise InconclusiveError("the test people's numbers have noise on them", remedy="leave this metric out")
    if not (case.release.trees or case.release.bayes):
        raise InconclusiveError("the release has no model to predict with", remedy="release one, or leave this out")
    return case.test


def accuracies(case: ScoringContext) -> tuple[float, float]:
    """The share of the table's people who are predicted rightly, and of the test table's."""
    return _accuracy(case, case.table), _accuracy(case, test_people(case))


def _accuracy(case: ScoringContext, table: Table) -> float:
    right = predict(case.release, table) == table.codes(case.release.target)
    return float(table.weight[right].sum() / table.people)


def distance(case: ScoringContext) -> float:
    """How far the losses of the table's people are from the test people's: Kolmogorov and Smirnov's distance.

    The loss of a person is one less the share that the release gives to their class. From 0 to 1.
    """
    test = test_people(case)
    return largest_difference(_losses(case, case.table), case.table.weight, _losses(case, test), test.weight)


def largest_difference(
    first: NDArray[np.float64], weight: NDArray[np.int64], second: NDArray[np.float64], others: NDArray[np.int64]
) -> float:
    """The largest difference between two samples' shares of numbers up to some number."""
    values, place = np.unique(np.round(np.concatenate([first, second]), DECIMALS), return_inverse=True)
    first_shares = np.bincount(place[: len(first)], weights=weight, minlength=len(values)) / weight.sum()
    second_shares = np.bincount(place[len(first) :], weights=others, minlength=len(values)) / others.sum()
    return float(np.abs(np.cumsum(first_shares - second_shares)).max())


def by_chance(distance: float, people: int, others: int) -> float:
    """How likely two samples of one law are as far apart, for large ones: Kolmogorov and Smirnov's test."""
    from scipy.stats import kstwo

    return float(np.clip(kstwo.sf(distance, max(1, round(people * others / (people + others)))), 0, 1))


def _losses(case: ScoringContext, table: Table) -> NDArray[np.float64]:
    result = class_probabilities(case.release, table)
    result = np.where(np.isnan(result), 0, result)
    return np.asarray(1 - result[np.arange(len(table)), table.codes(case.release.target)])


def residual(case: ScoringContext) -> float:
    """People of the table less learned parameters; below 0 where there are more of these."""
    return float(int(case.table.persons.sum()) - parameters(case.release))


def parameters(release: Release) -> int:
    """What the trees of a release have learned: the column and the threshold of each cut, and each leaf's numbers.

    A test of m ways counts m: its column, and where values go but for the last way. A leaf counts one less than there
    are classes, for its shares; with scores, one for each class it speaks for, and no more than that.

    Source: SACRO-ML 2.0, whose tests are all of two ways. Departure: it adds one for each tree of XGBoost's, and
    counts all classes on its leaves, each of which speaks for one.
    """
    if not release.trees:
        raise InconclusiveError("the release has no trees", remedy="leave this metric out")
    found, waiting = 0, list[Node](release.trees)
    while waiting:
        node = waiting.pop()
        below = children(node)
        found += len(below) if below else _of_leaf(node, release)
        waiting.extend(below)
    return found


def _of_leaf(node: Node, release: Release) -> int:
    if not isinstance(node, Leaf) or node.value is not None:
        return 1
    free = len(release.classes) - 1
    if node.scores is None:
        return free
    return min(free, max(1, sum(score != 0 for score in node.scores.values())))


def smallest(case: ScoringContext, groups: str, by_public: bool) -> float:
    """People in the smallest group that holds anybody."""
    return float(min(division.sizes.min() for division in divisions(case, groups, by_public)))


def evidence(case: ScoringContext, groups: str, by_public: bool, holds: Callable[[float], bool]) -> dict[str, Any]:
    """How many groups there are; for auditors how many people are in smaller ones than the limit, and the smallest."""
    found = divisions(case, groups, by_public)
    small = [np.array([not holds(float(size)) for size in division.sizes]) for division in found]
    beyond = np.zeros(len(case.table), dtype=bool)
    for division, marked in zip(found, small, strict=True):
        beyond |= marked[division.group]
    document: dict[str, Any] = {"groups": sum(len(division.sizes) for division in found)}
    document["people_beyond"] = AuditorOnly(PeopleCount(int(case.table.persons[beyond].sum())))
    marks = list(zip(found, small, strict=True))
    return document | ({"worst": worst_groups(case, marks, by_public)} if beyond.any() else {})
