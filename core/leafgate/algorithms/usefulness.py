"""How useful a release is to people: AUC, accuracy or explained variance, with standard errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from leafgate.algorithms.prediction import class_scores, predict, predicted_numbers
from leafgate.algorithms.ranking import area_under_curve, second_class_ranking
from leafgate.errors import InconclusiveError
from leafgate.kernel.arrays import Floats, Ids
from leafgate.kernel.release import Release
from leafgate.kernel.table import Table

Goal = Literal["auc", "balanced_accuracy", "accuracy", "loss"]
"""What a release is good for; of `loss` the share of the numbers' variance that is explained."""

QUANTILE = 1.2815515655446004
"""Of the normal distribution: a bound below which the value lies in 10 % of samples."""


@dataclass(frozen=True)
class Usefulness:
    """How well a release predicts some people.

    Attributes:
        value: The goal, larger is better.
        error: Its standard error over samples of people.
        constant: What a model has that predicts the same for everybody.
    """

    value: float
    error: float
    constant: float

    @property
    def least(self) -> float:
        """The lower bound of its value, which is below it in 90 % of samples."""
        return self.value - QUANTILE * self.error

    @property
    def is_useful(self) -> bool:
        """Is it better than a constant, beyond chance?"""
        return self.least > self.constant


def mean_use(uses: Sequence[Usefulness]) -> Usefulness:
    """The mean of what is known of several groups of people."""
    value, error = (float(np.mean(numbers)) for numbers in zip(*((one.value, one.error) for one in uses), strict=True))
    return Usefulness(value, error / math.sqrt(len(uses)), uses[0].constant)


def joint_use(one: Usefulness | None, other: Usefulness | None) -> Usefulness | None:
    """What two independent estimates say together, each weighted by the inverse of its variance."""
    if one is None or other is None or not math.isfinite(other.error):
        return one or other
    least = 1e-9
    weights = [1 / max(use.error, least) ** 2 for use in (one, other)]
    value = (weights[0] * one.value + weights[1] * other.value) / sum(weights)
    return Usefulness(value, 1 / math.sqrt(sum(weights)), one.constant)


def usefulness(release: Release, people: Table, goal: Goal) -> Usefulness:
    """How well a release predicts people, by a goal, with its standard error.

    Of several classes the AUC is the mean over those of one against the rest, and its standard error the mean of
    theirs, which is too large rather than too small.

    Args:
        release: one that predicts numbers for `loss`, else classes.
        people: those whose class or number is missing are left out.
        goal: what is measured.

    Raises:
        InconclusiveError: the people have one class or number alone, or the release cannot be asked.
    """
    if goal == "loss":
        return _explained(release, people)
    truth = people.codes(release.target)
    known = (truth >= 0) & (truth < len(release.classes))
    weight = np.where(known, people.weight, 0)
    by_class = np.bincount(truth[known], weights=weight[known], minlength=len(release.classes))
    classes = np.flatnonzero(by_class)
    if len(classes) < 2:
        raise InconclusiveError("the people have one class alone")
    if goal == "auc":
        return _auc(release, people, truth, weight, classes)
    right = (predict(release, people) == truth) & known
    if goal == "accuracy":
        value = float(weight[right].sum() / weight.sum())
        return Usefulness(value, _error(value, weight.sum()), float(by_class.max() / by_class.sum()))
    recalls = [float(weight[right & (truth == one)].sum() / by_class[one]) for one in classes]
    variance = sum(_error(recall, by_class[one]) ** 2 for recall, one in zip(recalls, classes, strict=True))
    return Usefulness(sum(recalls) / len(classes), math.sqrt(variance) / len(classes), 1 / len(classes))


def _error(share: float, people: float) -> float:
    """The standard error of a share, as if there were one person more on each side."""
    smoothed = (share * people + 1) / (people + 2)
    return math.sqrt(smoothed * (1 - smoothed) / people)


def _auc(release: Release, people: Table, truth: Ids, weight: Ids, classes: Ids) -> Usefulness:
    if len(release.classes) == 2:
        return mean_area({1: second_class_ranking(release, people)}, truth, weight)
    scores = scores_or_labels(release, people)
    return mean_area({int(one): scores[:, one] for one in classes}, truth, weight)


def mean_area(rankings: Mapping[int, Floats], truth: Ids, weight: Ids) -> Usefulness:
    """The mean area under the ROC curve over some classes, each against all others.

    Args:
        rankings: by class, shape (n_records,), by what a model ranks people as that class.
        truth: shape (n_records,), each record's class.
        weight: shape (n_records,), its people, 0 for whom is not asked.
    """
    areas = [
        area_under_curve(ranking, np.where(truth == one, weight, 0), np.where(truth == one, 0, weight))
        for one, ranking in rankings.items()
    ]
    return Usefulness(
        float(np.mean([area.value for area in areas])), float(np.mean([area.error for area in areas])), 0.5
    )


def scores_or_labels(release: Release, people: Table) -> Floats:
    """Return the score of each class, of labels alone 1 for the one that is predicted; where there is none, equal ones.

    Returns:
        Shape (n_rows, n_classes).
    """
    try:
        scores = class_scores(release, people)
    except InconclusiveError:
        scores = (np.arange(len(release.classes)) == predict(release, people)[:, None]).astype(np.float64)
    return np.nan_to_num(scores, nan=1 / len(release.classes))


def _explained(release: Release, people: Table) -> Usefulness:
    """The share of the variance of the numbers that is explained, and 0 for the mean."""
    truth = people.numbers(release.target)
    known = ~np.isnan(truth)
    numbers, weight = truth[known], people.weight[known].astype(np.float64)
    if not len(numbers) or np.ptp(numbers) == 0:
        raise InconclusiveError("the people have one number alone")
    guess = predicted_numbers(release, people)[known]
    return explained_variance(numbers, np.where(np.isnan(guess), np.average(numbers, weights=weight), guess), weight)


def explained_variance(truth: Floats, guess: Floats, weight: Floats | Ids) -> Usefulness:
    """The share of the variance of numbers, of which two differ, that is explained by guesses."""
    mean = np.average(truth, weights=weight)
    variance = float(np.average((truth - mean) ** 2, weights=weight))
    saved = ((truth - mean) ** 2 - (truth - guess) ** 2) / variance
    value = float(np.average(saved, weights=weight))
    error = math.sqrt(float(np.average((saved - value) ** 2, weights=weight)) / weight.sum())
    return Usefulness(value, error, 0.0)
