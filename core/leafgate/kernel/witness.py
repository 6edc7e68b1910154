"""Witness: rows with a model's own answers, which what was read of its file must answer, too."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from leafgate.kernel.arrays import Floats, Ids, Mask
from leafgate.kernel.table import Table


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model answers for some rows, or what a witness says that it does; at least one of the three.

    Attributes:
        scores: by class, shape (n_rows, n_classes); NaN where there is none. None without any.
        labels: the position of the predicted class of each row; -1 where there is none. None without any.
        numbers: the predicted number of each row; NaN where there is none. None without any.
    """

    scores: Floats | None = field(default=None, repr=False)
    labels: Ids | None = field(default=None, repr=False)
    numbers: Floats | None = field(default=None, repr=False)

    @property
    def scored(self) -> Mask | None:
        """Which rows have a score for each class; None where no row has scores."""
        return None if self.scores is None else np.asarray(~np.isnan(self.scores).any(axis=1))

    @property
    def given(self) -> Mask:
        """Which rows have a number, a class, or a score for each class."""
        labelled = None if self.labels is None else self.labels >= 0
        numbered = None if self.numbers is None else ~np.isnan(self.numbers)
        parts = [part for part in (self.scored, labelled, numbered) if part is not None]
        return np.asarray(np.logical_or.reduce(parts))

    def at(self, rows: Mask) -> Answers:
        """The answers for some of the rows."""
        return Answers(
            None if self.scores is None else self.scores[rows],
            None if self.labels is None else self.labels[rows],
            None if self.numbers is None else self.numbers[rows],
        )


@dataclass(frozen=True, eq=False, repr=False)
class Witness:
    """Rows of the policy's columns in a file's order, the number of each in the file, from 1, and the answers."""

    rows: Table
    numbers: Ids
    answers: Answers

    @property
    def answered(self) -> Witness:
        """The rows that have an answer: no other row shows anything."""
        given = self.answers.given
        frame = self.rows.frame[given].reset_index(drop=True)
        rows = replace(self.rows, frame=frame, weight=np.ones(len(frame), dtype=np.int64))
        return Witness(rows, self.numbers[given], self.answers.at(given))
