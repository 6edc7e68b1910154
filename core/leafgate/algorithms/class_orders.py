"""In which order the numbers of a model's classes fit the values that the table has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leafgate.algorithms.prediction import predicted_classes
from leafgate.kernel.release import Release
from leafgate.kernel.table import Table

Order = tuple[int, ...]
"""For each class of the model the position of the value that it stands for."""

Counts = NDArray[np.int64]
EQUAL = 1e-12
"""Mean shares that differ by less are equal: floating point does so."""


def people_by_class(release: Release, table: Table, values: Sequence[str]) -> Counts:
    """How many people have each value of the class, and are predicted each.

    Args:
        release: a release that predicts classes.
        table: the people.
        values: the values that the model's classes are taken for, in the order of these classes.

    Returns:
        Shape (n_values, n_values): people who have value i and for whom class j of the model is predicted.
    """
    predicted, domain = predicted_classes(release, table), table.schema[release.target].domain
    truth = table.codes(release.target)
    weight = np.asarray(table.weight)
    rows = [truth == domain.index(value) for value in values]
    columns = [predicted == release.classes.index(value) for value in values]
    return np.array([[int(weight[row & column].sum()) for column in columns] for row in rows], dtype=np.int64)


def better_order(people: Counts, order: Order) -> Order | None:
    """An order by which more people, and a larger mean share of each value's people, are predicted rightly.

    Both must be larger, or the mean share equal: a learner that weighs rare values more predicts fewer people rightly
    than one that swaps them.

    Args:
        people: as `people_by_class` returns them.
        order: the order that is in use.

    >>> better_order(np.array([[10, 90], [80, 20]]), (0, 1))
    (1, 0)
    >>> better_order(np.array([[60, 40], [10, 20]]), (0, 1)) is None
    True
    """
    for other in (_best_order(people), _best_order(_shares(people))):
        if (
            _sum(people, other) > _sum(people, order)
            and _sum(_shares(people), other) > _sum(_shares(people), order) - EQUAL
        ):
            return other
    return None


def only_best_order(people: Counts) -> Order | None:
    """The one order that fits best, by people and by the mean share of each value's; None where several do.

    Args:
        people: as `people_by_class` returns them.

    >>> only_best_order(np.array([[10, 90], [80, 20]]))
    (1, 0)
    >>> only_best_order(np.array([[50, 50], [50, 50]])) is None
    True
    """
    best, shares = _best_order(people), _shares(people)
    if _sum(shares, best) < _sum(shares, _best_order(shares)) - EQUAL:
        return None
    for column, row in enumerate(best):
        without = people.copy()
        without[row, column] = -people.sum() - 1
        if _sum(people, _best_order(without)) >= _sum(people, best):
            return None
    return best


def _shares(people: Counts) -> NDArray[np.float64]:
    """The people as shares of those who have the same value."""
    return np.asarray(people / np.maximum(people.sum(axis=1, keepdims=True), 1))


def _sum(fits: NDArray[np.int64] | NDArray[np.float64], order: Order) -> float:
    return float(sum(fits[row, column] for column, row in enumerate(order)))


def _best_order(fits: NDArray[np.int64] | NDArray[np.float64]) -> Order:
    """The order with the largest sum."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(fits, maximize=True)
    return tuple(int(row) for _, row in sorted(zip(columns, rows, strict=True)))
