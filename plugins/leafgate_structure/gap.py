"""How much better a model does on the people it was learned from than on others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leafgate import Case, InconclusiveError
from leafgate.routing import predict
from leafgate.table import Table
from leafgate_structure.predictions import chances

DIGITS = 12
"""So many decimals of two losses are compared."""


def test_people(case: Case) -> Table:
    """The test table; InconclusiveError where there is none to compare with."""
    if case.test is None:
        raise InconclusiveError("there is no test table", place="data.test", remedy="name one, or give --test FILE")
    if case.noisy_test:
        raise InconclusiveError("the test people's numbers have noise on them", remedy="leave this metric out")
    if not (case.release.trees or case.release.bayes):
        raise InconclusiveError("the release has no model to predict with", remedy="release one, or leave this out")
    return case.test


def accuracies(case: Case) -> tuple[float, float]:
    """The share of the table's people who are predicted rightly, and of the test table's."""
    return _accuracy(case, case.table), _accuracy(case, test_people(case))


def _accuracy(case: Case, table: Table) -> float:
    right = predict(case.release, table) == table.codes(case.release.target)
    return float(table.weight[right].sum() / table.people)


def distance(case: Case) -> float:
    """How far the losses of the table's people are from the test people's: Kolmogorov and Smirnov's distance.

    The loss of a person is one less the share that the release gives to their class. From 0 to 1.
    """
    test = test_people(case)
    return apart(_losses(case, case.table), case.table.weight, _losses(case, test), test.weight)


def apart(
    one: NDArray[np.float64], weight: NDArray[np.int64], other: NDArray[np.float64], others: NDArray[np.int64]
) -> float:
    """The largest difference between two samples' shares of numbers up to some number."""
    values, place = np.unique(np.round(np.concatenate([one, other]), DIGITS), return_inverse=True)
    mine = np.bincount(place[: len(one)], weights=weight, minlength=len(values)) / weight.sum()
    theirs = np.bincount(place[len(one) :], weights=others, minlength=len(values)) / others.sum()
    return float(np.abs(np.cumsum(mine - theirs)).max())


def by_chance(distance: float, people: int, others: int) -> float:
    """How likely two samples of one law are as far apart, for large ones: Kolmogorov and Smirnov's test."""
    from scipy.stats import kstwo

    return float(np.clip(kstwo.sf(distance, max(1, round(people * others / (people + others)))), 0, 1))


def _losses(case: Case, table: Table) -> NDArray[np.float64]:
    told = chances(case.release, table)
    told = np.where(np.isnan(told), 0, told)
    return np.asarray(1 - told[np.arange(len(table)), table.codes(case.release.target)])
