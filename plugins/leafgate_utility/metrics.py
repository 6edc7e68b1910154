"""Area under the curve on the test table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from leafgate import InconclusiveError, ScoringContext
from leafgate.algorithms.prediction import class_votes, predict
from leafgate.types.release import Release
from leafgate.types.table import Table


def area_under_curve(case: ScoringContext) -> float:
    """How likely a person of one class is ranked above one of the other, ties counting one half: 0 to 1.

    People are ranked by what the trees say for the second class against the first; whom no leaf speaks about stands
    in the middle. Raises InconclusiveError where there are not two classes, or nobody of one in the test table.
    """
    if case.test is None:
        raise InconclusiveError("there is no test table", place="data.test", remedy="name one, or give --test FILE")
    if case.noisy_test:
        raise InconclusiveError("the test people's numbers have noise on them", remedy="use accuracy_on_perturbed")
    if not (case.release.trees or case.release.bayes):
        raise InconclusiveError("the release has no model to predict with", remedy="release one, or leave this out")
    if len(case.release.classes) != 2:
        raise InconclusiveError("there are not two classes", remedy="leave this out; `accuracy` takes any number")
    people = _of_each_class(case.release, case.test)
    ranking = _ranking(case.release, class_votes(_graded(case.release), case.test))
    ranked = np.unique(np.round(ranking, 12), return_inverse=True)[1]  # what rounding tells apart is a tie
    mine, others = (np.bincount(ranked, weights=each) for each in people)
    below = np.cumsum(others) - others / 2
    return float((mine * below).sum() / (mine.sum() * others.sum()))


def rarest(case: ScoringContext) -> int:
    """How many people of the test table have the rarer class: each of them moves the area by up to one in so many."""
    assert case.test is not None
    return int(min(each.sum() for each in _of_each_class(case.release, case.test)))


def _of_each_class(release: Release, test: Table) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of each record the people of the second class and those of the first; InconclusiveError where one has nobody."""
    second = test.codes(release.target) == 1
    people = test.weight * second, test.weight * ~second
    if not people[0].sum() or not people[1].sum():
        raise InconclusiveError("the test table has nobody of one class", place="data.test")
    return people


def _graded(release: Release) -> Release:
    """One tree, or trees that vote, rank by their leaves' shares where these are told."""
    result = release.publish.leaves in {"counts", "shares"}
    return replace(release, combine="mean_per_tree") if result and release.combine in {"one", "vote"} else release


def _ranking(release: Release, votes: NDArray[np.float64]) -> NDArray[np.float64]:
    if release.combine == "boost":
        return np.asarray(np.nan_to_num(votes[:, 1] - votes[:, 0]))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nan_to_num(votes[:, 1] / votes.sum(axis=1), nan=0.5))


# --- Accuracy on the test table ---


def accuracy(case: ScoringContext) -> float:
    """People predicted rightly over people, from 0 to 1; a person no leaf speaks about is an error."""
    if case.test is None:
        raise InconclusiveError("there is no test table", place="data.test", remedy="name one, or give --test FILE")
    if case.noisy_test:
        raise InconclusiveError("the test people's numbers have noise on them", remedy="use accuracy_on_perturbed")
    if not (case.release.trees or case.release.bayes):
        raise InconclusiveError("the release has no model to predict with", remedy="release one, or leave this out")
    right = predict(case.release, case.test) == case.test.codes(case.release.target)
    return float(case.test.weight[right].sum() / case.test.people)
