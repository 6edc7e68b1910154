"""What a repaired model is good for: the goal, who it is chosen by and reported on, and what a constant has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from leafgate.algorithms.prediction import class_scores, predict, predicted_numbers
from leafgate.algorithms.ranking import area_under_curve, second_class_ranking
from leafgate.algorithms.sampling import record_hashes
from leafgate.api import Floats, Ids, InconclusiveError, InvalidError, Mask, Release, Table
from leafgate.app import Policy, Session

Goal = Literal["auc", "balanced_accuracy", "accuracy", "loss"]
"""What is kept as high as the limits allow; of `loss` the share of the numbers' variance that is explained."""

GOALS: tuple[Goal, ...] = get_args(Goal)
WORDS: dict[Goal, str] = {
    "auc": "AUC",
    "balanced_accuracy": "balanced accuracy",
    "accuracy": "accuracy",
    "loss": "explained variance",
}
LEAST_OF_CLASS = 10
"""So many people of each class has each half at least of the people that a model is chosen by and reported on."""

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


def goal_of(policy: Policy, keep: str | None, *, of_numbers: bool) -> Goal:
    """The goal of a repair: the one that is asked for, or the one that fits what the policy publishes.

    Raises InvalidError for a goal that there is not, or that does not fit what the model predicts.
    """
    fitting = GOALS[-1:] if of_numbers else GOALS[:-1]
    if keep is None:
        labels = policy.publish is not None and policy.publish.leaves in {"labels", "error_rates"}
        return "loss" if of_numbers else "balanced_accuracy" if labels else "auc"
    for goal in fitting:
        if goal == keep:
            return goal
    what = "numbers" if of_numbers else "classes"
    raise InvalidError(
        f"no model of {what} is kept for this", place="--keep", remedy=f"choose from {', '.join(fitting)}"
    )


def usefulness(release: Release, people: Table, goal: Goal) -> Usefulness:
    """How well a release predicts people, by a goal, with its standard error.

    Of several classes the AUC is the mean over those of one against the rest, and its standard error the mean of
    theirs, which is too large rather than too small.

    Raises InconclusiveError where the people have one class alone, or the release cannot be asked.
    """
    if goal == "loss":
        return _explained(release, people)
    truth = people.codes(release.target)
    known = truth < len(release.classes)
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
        rankings = {1: second_class_ranking(release, people)}
    else:
        scores = _scores(release, people)
        rankings = {int(one): scores[:, one] for one in classes}
    areas = [
        area_under_curve(ranking, np.where(truth == one, weight, 0), np.where(truth == one, 0, weight))
        for one, ranking in rankings.items()
    ]
    return Usefulness(
        float(np.mean([area.value for area in areas])), float(np.mean([area.error for area in areas])), 0.5
    )


def _scores(release: Release, people: Table) -> Floats:
    """The score of each class, of labels alone 1 for the one that is predicted; where there is none, equal ones."""
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
    mean = np.average(numbers, weights=weight)
    guess = np.nan_to_num(predicted_numbers(release, people)[known], nan=mean)
    variance = float(np.average((numbers - mean) ** 2, weights=weight))
    saved = ((numbers - mean) ** 2 - (numbers - guess) ** 2) / variance
    value = float(np.average(saved, weights=weight))
    error = math.sqrt(float(np.average((saved - value) ** 2, weights=weight)) / weight.sum())
    return Usefulness(value, error, 0.0)


@dataclass(frozen=True)
class Parts:
    """Who a model is chosen by, and who it is reported on.

    Attributes:
        choosing: The people of `data.test` by whom it is chosen; None where there are too few.
        reporting: Others, whom nothing is chosen by; None where there are none.
        whose: The section of the policy that names the second.
    """

    choosing: Table | None
    reporting: Table | None
    whose: str = ""


def parts_of(session: Session) -> Parts:
    """The two halves of `data.test`, each with as many people of each class; of `data.control` nobody is chosen by.

    Where the test has fewer than ten people of a class in a half, or is the control, it is reported on as a whole.
    """
    test, control = session.test, session.control
    if test is None:
        return Parts(None, control, "" if control is None else "data.control")
    is_control = control is not None and bool(test.sha256) and test.sha256 == control.sha256
    first = folds_of(test, 2) == 0
    halves = rows_at(test, first), rows_at(test, ~first)
    fewest = min(fewest_of_a_class(half) for half in halves)
    if is_control or fewest < LEAST_OF_CLASS:
        return Parts(None, test, "data.test")
    return Parts(*halves, "data.test")


def folds_of(table: Table, number: int) -> Ids:
    """In which of so many parts each record is, by its cells alone; each part has as many records of each class.

    Returns:
        Shape (n_records,), from 0 to `number` - 1.
    """
    order = np.lexsort((record_hashes(table), table.codes(table.schema.target.name)))
    fold = np.empty(len(table), dtype=np.int64)
    fold[order] = np.arange(len(table)) % number
    return fold


def fewest_of_a_class(people: Table) -> int:
    """How many people the rarest class has, of those that somebody has in the table or in its other half."""
    target = people.schema.target
    codes = people.codes(target.name)
    if target.edges is not None:
        return people.people
    counts = np.bincount(codes, weights=people.weight, minlength=len(target.domain))[: len(target.domain)]
    there = counts if len(target.domain) == 2 else counts[counts > 0]
    return int(there.min()) if len(there) > 1 else 0


def rows_at(table: Table, chosen: Mask) -> Table:
    """The table of the records that are chosen, with the people who share them."""
    return Table(
        table.schema,
        table.frame[chosen].reset_index(drop=True),
        table.weight[chosen].copy(),
        rows=None if table.rows is None else table.rows[chosen].copy(),
        counts_people=table.counts_people,
    )
