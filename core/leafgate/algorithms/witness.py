"""Witnesses: rows with a model's own answers, compared with what was read; they find misreadings, not forgers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from leafgate.algorithms.prediction import class_scores, predict, predicted_numbers
from leafgate.algorithms.routing import NOWHERE, route
from leafgate.errors import InconclusiveError
from leafgate.kernel.arrays import Floats, Ids, Mask
from leafgate.kernel.release import Release
from leafgate.kernel.table import Table

TOLERANCE = 1e-5
"""Scores of classes may differ by this much, and predicted numbers by this part of the largest: libraries add up in
single precision (measured: 2e-7 for each of some dozens of trees), and answers are written with six digits or more."""


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


def first_difference(said: Answers, read: Answers) -> int | None:
    """The first row where what the model says is not what was read of it; None where all rows agree.

    Scores are compared where both have them. Where only the witness has scores, or only labels, the likeliest class is
    compared, but for rows whose two likeliest classes are equally likely within `TOLERANCE`.
    """
    differs = _differences(said, read)
    return int(differs.argmax()) if differs.any() else None


def _differences(said: Answers, read: Answers) -> NDArray[np.bool_]:
    if said.numbers is not None and read.numbers is not None:
        scale = np.nanmax(np.abs(said.numbers), initial=0.0)
        return _apart(said.numbers, read.numbers, TOLERANCE * max(scale, np.finfo(float).tiny))
    differs = np.zeros(len(said.given), dtype=bool)
    if said.scores is not None and read.scores is not None:
        differs |= _apart(said.scores, read.scores, TOLERANCE).any(axis=1)
    labels = said.labels
    if labels is None and said.scores is not None and read.scores is None:
        complete = ~np.isnan(said.scores).any(axis=1)
        likeliest = np.nan_to_num(said.scores, nan=-np.inf).argmax(axis=1)
        labels = np.where(complete & ~_tied(said.scores), likeliest, -1)
    if labels is not None and read.labels is not None:
        clear = labels >= 0 if read.scores is None else (labels >= 0) & ~_tied(read.scores)
        differs |= clear & (labels != read.labels)
    return differs


def _apart(said: Floats, read: Floats, most: float) -> NDArray[np.bool_]:
    """Where the two are further apart than `most`, or only what was read is missing."""
    with np.errstate(invalid="ignore"):
        return np.asarray(~np.isnan(said) & ~(np.abs(said - read) <= most))


def _tied(scores: Floats) -> NDArray[np.bool_]:
    """The rows whose two likeliest classes are equally likely within `TOLERANCE`."""
    if scores.shape[1] < 2:
        return np.zeros(len(scores), dtype=bool)
    ordered = np.sort(np.nan_to_num(scores, nan=-np.inf), axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(~(ordered[:, -1] - ordered[:, -2] > TOLERANCE))


def answers_of(release: Release, rows: Table) -> Answers:
    """What was read of a model answers for these rows: its scores where its leaves have some, and the classes."""
    if release.predicts_numbers:
        return Answers(numbers=predicted_numbers(release, rows))
    try:
        scores = class_scores(release, rows)
    except InconclusiveError:
        return Answers(labels=predict(release, rows))
    votes = release.combine == "vote"  # no library answers the share of the votes of labels
    return Answers(None if votes else scores, predict(release, rows))


def unreached_share(release: Release, people: Table, rows: Table) -> float:
    """The largest share of the table's people, of any tree, who come to leaves that none of the rows comes to."""
    largest = 0.0
    for tree in release.trees:
        leaf = route(tree, people).leaf
        unreached = (leaf != NOWHERE) & ~np.isin(leaf, route(tree, rows).leaf)
        largest = max(largest, float(people.weight[unreached].sum() / people.total_weight))
    return largest
