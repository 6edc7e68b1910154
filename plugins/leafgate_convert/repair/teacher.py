"""The teacher: the given model's scores of the table's people, which trees that are grown anew learn.

A model that knows its people by heart has scores that are their classes. So each person is scored by the same estimator
fitted on others, where its class and parameters are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from leafgate.api import Floats, Ids, Learner, Release
from leafgate_convert.repair.distil import given_scores, levels_of, scores_across
from leafgate_convert.repair.people import folds_of, rows_at
from leafgate_convert.repair.trials import Workbench

FOLDS = 3
"""What is fitted anew is fitted on all but one of so many parts of the table, and asked about that one."""


@dataclass(eq=False)
class Teacher:
    """Levels of scores, and the folds of the table.

    Attributes:
        bench: The policy and its tables.
        release: What the audit of the given file made of it.
    """

    bench: Workbench
    release: Release | None

    @cached_property
    def fold(self) -> Ids:
        """In which part of the table each record is."""
        return folds_of(self.bench.session.table, FOLDS)

    @cached_property
    def _learner(self) -> Learner | None:
        return None if self.bench.given is None else self.bench.given.learner

    @cached_property
    def levels(self) -> Ids | None:
        """The level of each record's scores; None where they tell apart no more than the classes do."""
        table = self.bench.session.table
        across = self._across
        return None if across is None else levels_of(across, table)

    @cached_property
    def _across(self) -> Floats | None:
        """Scores by estimators that did not see the people, where one can be fitted; else those of the given model."""
        table, readers = self.bench.session.table, self.bench.session.plugins.readers
        across = None if self._learner is None else scores_across(self._learner, readers, table, self.fold)
        self.is_fitted = across is not None
        if across is not None or self.release is None:
            return across
        return given_scores(self.release, table)

    is_fitted: bool = False

    @cached_property
    def within(self) -> tuple[Ids | None, ...]:
        """For each fold the levels of everybody else by teachers that saw nobody of it; None where there are none."""
        table, readers = self.bench.session.table, self.bench.session.plugins.readers
        if self.levels is None or self._learner is None or not self.is_fitted:
            return (None,) * FOLDS
        found = []
        for number in range(FOLDS):
            others = rows_at(table, self.fold != number)
            inner = scores_across(self._learner, readers, others, folds_of(others, 2))
            found.append(None if inner is None else levels_of(inner, others))
        return tuple(found)
