"""Models compared with a witness, the own answers of the model that a file was written of, and with what is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from leafgate.algorithms.witness import Answers, first_difference
from leafgate.api import DataError, ReleaseError
from leafgate.commands.convert.prediction import predictor
from leafgate.commands.convert.sampling import random_cells
from leafgate.io.tables.witness import answers_in, read_answer_cells
from leafgate.kernel.policy import CsvOptions
from leafgate.models.lowering.release import asked_features
from leafgate.models.points import Cells, known_origins, with_coded_sets
from leafgate.readers import ModelIR

WRITTEN_POINTS = 5_000
"""People on whom a written file is compared with the model that it is written of."""


@dataclass(frozen=True)
class AnsweredRows:
    """The rows of a witness with answers that models agree with.

    Attributes:
        rows: how many there are.
        labels_alone: whether the predicted classes were compared, and no scores of classes.
    """

    rows: int
    labels_alone: bool


def rows_answered(models: Mapping[str, ModelIR], witness: Path | None) -> AnsweredRows | None:
    """The rows of the witness with answers, which are those of all these models; None without a witness.

    Its columns are those of the models: the features, or what a file says they are made of; an empty cell is missing.

    Args:
        models: the models by the names of their files: the given one, and those that are written of it.
        witness: the file of rows with the answers of the given model itself.

    Raises:
        DataError: the witness cannot be read, or has not these columns, or no answers.
        ReleaseError: a model answers otherwise; it names the file and the first row. Or there is no witness, and the
            first model's file has keys that its reader does not know.
    """
    given = next(iter(models))
    first = models[given]
    if witness is None:
        if first.unknown:
            raise ReleaseError(
                f"has keys that are not known here and may change what the model predicts: {first.unknown[0]}",
                place=given,
                remedy="name what the model itself answers by --witness",
            )
        return None
    frame = read_answer_cells(witness, CsvOptions(), "--witness")
    answered, labels_alone = 0, False
    for name, model in models.items():
        cells = _cells(frame, model, witness.name)
        others = frame[[column for column in frame.columns if column not in cells]]
        said = answers_in(others, [(label,) for label in model.classes], witness.name)
        try:
            answers = answers_to(model, {"": [None] * len(frame), **cells})  # a model may ask about no column
        except ValueError as error:
            what, _, remedy = str(error).partition("; ")
            raise DataError(what, place=witness.name, remedy=remedy) from None
        answers = answers if first.link == "softmax" else replace(answers, scores=None)
        answered = int(said.given.sum())
        labels_alone |= bool(model.classes) and (said.scores is None or answers.scores is None)
        different = first_difference(said, answers)
        if different is not None:
            raise _disagreement(name, given, different + 1)
    return AnsweredRows(answered, labels_alone)


def _disagreement(name: str, given: str, row: int) -> ReleaseError:
    """The error that a model answers otherwise than its witness in a row: as it was read, or as it would be written."""
    if name != given:
        return ReleaseError(
            f"would not answer as the witness does, first in its row {row}; {given} is read as the witness answers",
            place=name,
            remedy="write another format, such as .json, and report it",
        )
    return ReleaseError(
        f"does not answer as the witness does, first in its row {row}",
        place=name,
        remedy="write the witness by the model of this very file; if it stays so, report it",
    )


def check_written(model: ModelIR, again: ModelIR, name: str) -> None:
    """Refuse a file that was written of a model and, as its format's reader reads it, answers otherwise on points.

    The points have fills, missing cells, unseen values, and numbers on both sides of each threshold.

    Raises:
        ReleaseError: the file named `name` answers otherwise.
    """
    coded = [with_coded_sets(each, dict(enumerate(known_origins(each)))) for each in (model, again)]
    cells = random_cells(coded, WRITTEN_POINTS, np.random.default_rng(0))
    first, second = (answers_to(each, cells) for each in (model, again))
    if first_difference(first, second) is not None:
        raise ReleaseError(
            "would predict otherwise than the model that it is written of",
            place=name,
            remedy="write another format, such as .json, and report it",
        )


def _cells(frame: pd.DataFrame, model: ModelIR, place: str) -> Cells:
    """The cells of the columns that the model asks about; None where they are missing."""
    columns = dict.fromkeys(known_origins(model)[number].column for number in asked_features(model))
    for column in columns:
        if column not in frame:
            raise DataError(
                f"has no column {column!r}, which the model asks about",
                place=place,
                remedy="write the answers beside the columns that the model was given",
            )
    return {column: [text or None for text in frame[column]] for column in columns}


def answers_to(model: ModelIR, cells: Cells) -> Answers:
    """What a model answers for these cells of its columns: scores of classes where it has some, and the classes.

    Raises ValueError where a cell is no number, and the model asks about one.
    """
    asked = predictor(replace(model, link="softmax"))
    predicted = asked.predict(cells)
    if not model.classes:
        return Answers(numbers=np.array(predicted, dtype=np.float64))
    labels = np.array([-1 if name is None else model.classes.index(name) for name in predicted], dtype=np.int64)
    has_scores = model.values != "labels" and model.combine != "vote"
    return Answers(asked.scores(cells) if has_scores else None, labels)
