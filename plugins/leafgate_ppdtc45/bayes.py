"""Naive Bayes from shared numbers."""

from __future__ import annotations

import numpy as np

from leafgate.errors import NoReleaseError
from leafgate.naive_bayes import NaiveBayes
from leafgate_ppdtc45.shared import Shared

FLOOR, LEAST = 1e-2, 1e-6
"""No column's variance within a class counts as less than this part of the shared numbers', or of the noise's."""


def naive_bayes(shared: Shared) -> NaiveBayes:
    """Shares of the classes, and each column's mean and variance within each class, of the original numbers.

    The mean is that of the shared numbers, the variance theirs less the noise's, at least FLOOR of theirs.

    Source: Liu, Kantarcioglu, Thuraisingham, section 5.2.
    Departure: the variance is floored, for with much noise the difference may be negative.
    """
    classes = shared.schema.classes
    people = np.bincount(shared.classes, minlength=len(classes))
    normals: dict[str, dict[str, tuple[float, float]]] = {}
    for i, column in enumerate(shared.schema.features):
        normals[column.name] = {
            label: _normal(shared.numbers[shared.classes == code, i], shared.laws[i].variance)
            for code, label in enumerate(classes)
            if people[code] > 1
        }
    shares = {label: float(people[code] / people.sum()) for code, label in enumerate(classes) if people[code] > 1}
    if not shares:
        raise NoReleaseError("naive Bayes needs two people of one class", remedy="share more people")
    return NaiveBayes({label: share / sum(shares.values()) for label, share in shares.items()}, normals)


def _normal(numbers: np.ndarray, noise: float) -> tuple[float, float]:
    spread = float(numbers.var(ddof=1))
    return float(numbers.mean()), max(spread - noise, FLOOR * spread, LEAST * noise)
