"""Models compared with a witness, the own answers of the model that a file was written of, and with what is written."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leafgate.algorithms.prediction import scores_of_votes
from leafgate.algorithms.witness import Answers, first_difference
from leafgate.api import DataError, ReleaseError
from leafgate.commands.convert.sampling import random_cells
from leafgate.commands.convert.scrub import predicted, votes
from leafgate.io.json import parse_number
from leafgate.io.tables.witness import answers_in, read_answer_cells
from leafgate.kernel.policy import CsvOptions
from leafgate.models.lowering.encoding import as_number
from leafgate.models.lowering.release import asked_features
from leafgate.models.points import Cells, known_origins, rows_of, with_coded_sets
from leafgate.readers import CategoryCodes, ModelIR, Numeric

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
        model = with_coded_sets(model, dict(enumerate(known_origins(model))))
        cells, asked = _cells(frame, model, witness.name)
        others = frame[[column for column in frame.columns if column not in asked]]
        said = answers_in(others, [(label,) for label in model.classes], witness.name)
        answers = answers_to(model, cells)
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
    first, second = (answers_to(each, cells) for each in coded)
    if first_difference(first, second) is not None:
        raise ReleaseError(
            "would predict otherwise than the model that it is written of",
            place=name,
            remedy="write another format, such as .json, and report it",
        )


def _cells(frame: pd.DataFrame, model: ModelIR, place: str) -> tuple[Cells, set[str]]:
    """The cells of the columns that the model asks about: numbers, or texts; None where missing."""
    cells: dict[str, list[Any]] = {}
    origins = known_origins(model)
    known: dict[str, set[str]] = {}
    for origin in origins:
        if isinstance(origin, CategoryCodes):
            known.setdefault(origin.column, set()).update(origin.codes)
    for number in asked_features(model):
        origin = origins[number]
        if origin.column not in frame:
            raise DataError(
                f"has no column {origin.column!r}, which the model asks about",
                place=place,
                remedy="write the answers beside the columns that the model was given",
            )
        texts = list(frame[origin.column])
        if isinstance(origin, Numeric):
            cells[origin.column] = _numbers(texts, origin.column, place)
        else:
            cells.setdefault(origin.column, _texts(texts, known.get(origin.column, ())))
    unasked = {origin.column: [None] * len(frame) for origin in origins if origin.column not in cells}
    return {"": [None] * len(frame), **unasked, **cells}, set(cells)  # a model may have no features


def _numbers(texts: Sequence[str], column: str, place: str) -> list[float | None]:
    numbers = [parse_number(text) if text else None for text in texts]
    wrong = next((row for row, number in enumerate(numbers, 1) if number is not None and np.isnan(number)), None)
    if wrong is not None:
        raise DataError(f"row {wrong} has no number in {column!r}", place=place, remedy="leave missing cells empty")
    return numbers


def _texts(texts: Sequence[str], known: Collection[str]) -> list[str | None]:
    """The texts in the spelling of the model's values, which may write the same numbers or truth values otherwise."""
    by_number = {number: value for value in known if math.isfinite(number := parse_number(value))}
    spelled = {text: text if text in known else by_number.get(as_number(text), text) for text in set(texts)}
    return [spelled[text] if text else None for text in texts]


def answers_to(model: ModelIR, cells: Cells) -> Answers:
    """What a model answers for these cells of its columns: scores of classes where it has some, and the classes."""
    rows = rows_of(model, cells)
    if not model.classes:
        return Answers(numbers=votes(model, rows)[:, 0])
    labels = predicted(model, rows)
    if model.values == "labels" or model.combine == "vote":
        return Answers(labels=labels)
    by_shares = replace(model, combine="mean_per_tree") if model.combine == "one" else model
    return Answers(scores_of_votes(votes(by_shares, rows), by_shares.combine), labels)
