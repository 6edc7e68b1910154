"""The teacher: the given model's scores of the table's people, which trees that are grown anew learn.

A model that knows its people by heart has scores that are their classes. So each person is scored by the same estimator
fitted on others, where its class and parameters are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from leafgate.algorithms.usefulness import scores_or_labels
from leafgate.api import Floats, Ids, InconclusiveError, LeafgateError, Learner, Release, Table
from leafgate.commands.repair.trials import Workbench
from leafgate.readers import ModelReader
from leafgate.search.people import FOLDS, folds_of, rows_at, weight_at

LEVELS = 8
"""The number of levels of scores that are distinguished, with about as many people each."""

INDEPENDENT_TREES = frozenset(
    f"sklearn.ensemble.{name}" for name in ("RandomForestClassifier", "ExtraTreesClassifier", "BaggingClassifier")
)
"""Estimators whose trees do not build on one another: fewer of them score much as all do."""

MOST_TREES = 30
"""So many of these are fitted on parts of the table to score the others."""


@dataclass(eq=False)
class Teacher:
    """Levels of the given model's scores.

    Attributes:
        bench: The policy and its tables.
        release: What the audit of the given file made of it.
    """

    bench: Workbench
    release: Release | None

    @cached_property
    def _learner(self) -> Learner | None:
        return None if self.bench.given is None else self.bench.given.provenance.learner

    @cached_property
    def _across(self) -> Floats | None:
        """Scores by estimators that did not see the people; None where the given one's class cannot be fitted."""
        table, readers = self.bench.session.table, self.bench.session.plugins.readers
        return None if self._learner is None else scores_across(self._learner, readers, table, self.bench.fold)

    @cached_property
    def levels(self) -> Ids | None:
        """The level of each record's scores; None where they tell apart no more than the classes do."""
        table = self.bench.session.table
        if self._across is not None:
            return levels_of(self._across, table)
        try:
            return None if self.release is None else levels_of(scores_or_labels(self.release, table), table)
        except InconclusiveError:
            return None

    @cached_property
    def within(self) -> tuple[Ids | None, ...]:
        """For each fold the levels of everybody else by teachers that saw nobody of it; None where there are none."""
        table, readers = self.bench.session.table, self.bench.session.plugins.readers
        if self._learner is None or self._across is None:
            return (None,) * FOLDS
        found = []
        for number in range(FOLDS):
            others = rows_at(table, self.bench.fold != number)
            inner = scores_across(self._learner, readers, others, folds_of(others, 2))
            found.append(None if inner is None else levels_of(inner, others))
        return tuple(found)


def scores_across(learner: Learner, readers: Sequence[ModelReader], table: Table, part: Ids) -> Floats | None:
    """The scores that the given model's estimator gives people whom it was not fitted on.

    Args:
        learner: the estimator and its parameters.
        readers: the readers in use, of which one fits the estimator.
        table: the people.
        part: whole numbers, of records or persons as `folds_of` returns them: each part is scored by an estimator that
            is fitted on all others. A record of persons in several parts has the mean of its scores.

    Returns:
        Shape (n_records, n_classes); None where the estimator cannot be fitted.
    """
    reader = next((one for one in readers if one.train and learner.estimator.startswith(one.trains)), None)
    if reader is None or reader.train is None or learner.unknown:
        return None
    trees = learner.parameters.get("n_estimators", MOST_TREES)
    if learner.estimator in INDEPENDENT_TREES and isinstance(trees, int):
        learner = replace(learner, parameters={**learner.parameters, "n_estimators": min(trees, MOST_TREES)})
    scores = np.zeros((len(table), len(table.schema.classes)))
    try:
        for number in np.unique(part):
            own, asked = rows_at(table, part != number), rows_at(table, part == number)
            share = weight_at(table, part == number) / table.weight
            scores[share > 0] += share[share > 0, None] * reader.train(learner, own, asked, 0)
    except LeafgateError:
        return None
    return scores


def levels_of(scores: Floats, table: Table) -> Ids | None:
    """The level of each record's scores: of two classes of the second one's, of more the class with the largest.

    Args:
        scores: shape (n_records, n_classes).
        table: the people.

    Returns:
        Whole numbers from 0; None where the scores tell apart no more than the classes do.
    """
    levels = _quantile_levels(scores[:, 1], table.weight) if scores.shape[1] == 2 else scores.argmax(axis=1)
    found = np.unique(levels, return_inverse=True)[1]
    classes = table.codes(table.schema.target.name)
    pairs = len(set(zip(found.tolist(), classes.tolist(), strict=True)))
    return found if found.max(initial=0) > 0 and pairs > len(np.unique(classes)) else None


def _quantile_levels(scores: Floats, weight: Ids) -> Ids:
    """Levels with about as many people each; equal scores have one level."""
    place = np.unique(scores, return_inverse=True)[1]
    people = np.cumsum(np.bincount(place, weights=weight))
    middle = people - np.bincount(place, weights=weight) / 2
    return np.asarray((LEVELS * middle / people[-1]).astype(np.int64)[place])
