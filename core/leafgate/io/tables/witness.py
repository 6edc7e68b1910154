"""A witness: a file of rows with a model's own answers, as its owner writes it beside a policy."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from leafgate.algorithms.witness import Answers, Witness
from leafgate.errors import DataError
from leafgate.io.json import parse_number
from leafgate.io.tables.cells import read_bytes
from leafgate.io.tables.reader import file_cells
from leafgate.io.tables.records import Records
from leafgate.io.tables.typed_cells import missing_cells, typed_columns, typed_frame
from leafgate.kernel.arrays import Floats, Ids
from leafgate.kernel.policy import CsvOptions, Data
from leafgate.kernel.schema import Schema
from leafgate.kernel.table import Table

PREDICTION = "prediction"
"""The column of a witness with the predicted class, or the predicted number."""

SCORES = f"add a column of scores for each class, by its name, or a column `{PREDICTION}` with the class"
NUMBERS = f"add a column `{PREDICTION}` with the predicted numbers"


def read_answer_cells(path: Path, options: CsvOptions, place: str) -> pd.DataFrame:
    """Every cell of a witness as text, its columns by their names: CSV with a header, or Parquet.

    Raises:
        DataError: it cannot be read, or two columns have one name.
    """
    frame = file_cells(read_bytes(path, place), options.model_copy(update={"header": True}), path.name)
    if not frame.columns.is_unique:
        raise DataError("has two columns of one name", place=path.name, remedy="give each column a name of its own")
    if not len(frame):
        raise DataError("holds no rows", place=path.name, remedy="write answers for the rows of the table")
    return frame


def read_witness(
    data: Data,
    schema: Schema,
    asked: Collection[str],
    classes: Sequence[Collection[str]],
    path: Path,
    place: str,
) -> Witness:
    """The rows of a witness over the columns that a model asks about, read as the policy reads its table.

    Rows with a missing cell are left out where the policy drops such people. `classes` are as for `answers_in`.

    Raises:
        DataError: the file cannot be read, has not these columns, or has cells that are no values of them.
    """
    cells = read_answer_cells(path, data.csv, place)
    lacking = sorted(set(asked) - set(cells.columns))
    if lacking:
        raise DataError(
            f"has no column {lacking[0]!r}, which the model asks about",
            place=path.name,
            remedy="write answers beside the columns of the table",
        )
    columns = tuple(column for column in schema.columns if column.name in asked)
    wanted = Schema(columns, dropped=schema.dropped)
    records = Records.of(cells[[column.name for column in columns]])
    incomplete = records.marked(missing_cells(records, wanted, data))[0] & (data.on_missing == "drop")
    kept = cells[~incomplete].reset_index(drop=True)
    if not len(kept):
        raise DataError("has a missing cell in every row", place=path.name, remedy="write answers for complete rows")
    records = Records.of(kept[[column.name for column in columns]])
    known, values = typed_columns(records, wanted, data, None, path.name)
    frame = typed_frame(records, known, values)  # without columns where a tree of one leaf asks about none
    rows = Table(known, frame, np.ones(len(kept), dtype=np.int64))
    others = kept[[name for name in kept.columns if name not in asked]]
    return Witness(rows, np.flatnonzero(~incomplete) + 1, answers_in(others, classes, path.name))


def answers_in(cells: pd.DataFrame, classes: Sequence[Collection[str]], place: str) -> Answers:
    """The answers in the columns of a file.

    Args:
        cells: the texts of each column, by its name; an empty text is no answer.
        classes: for each class the names that a column of its scores may have, and that `prediction` may say; no name
            for a class that the model does not know, whose score is 0. Empty for a model that predicts numbers.
        place: what errors call the file.

    Raises:
        DataError: no row has a number, a class, or a score for each class; a score or a number is none; or `prediction`
            is no class of the model.
    """
    answers = _answers_in(cells, classes, place)
    if not answers.given.any():
        raise DataError("has no answers", place=place, remedy=SCORES if classes else NUMBERS)
    return answers


def _answers_in(cells: pd.DataFrame, classes: Sequence[Collection[str]], place: str) -> Answers:
    predicted = list(cells[PREDICTION]) if PREDICTION in cells else None
    if not classes:
        if predicted is None:
            raise DataError("has no answers", place=place, remedy=NUMBERS)
        return Answers(numbers=_numbers(predicted, PREDICTION, place))
    columns = [next((name for name in names if name in cells and name != PREDICTION), None) for names in classes]
    if predicted is None and not any(columns):
        raise DataError("has no answers", place=place, remedy=SCORES)
    labels = None if predicted is None else _labels(predicted, classes, place)
    if not any(columns):
        return Answers(labels=labels)
    scores = np.column_stack(
        [
            np.full(len(cells), np.nan if names else 0.0) if name is None else _numbers(list(cells[name]), name, place)
            for name, names in zip(columns, classes, strict=True)
        ]
    )
    if len(classes) == 2:  # the other one follows
        scores = np.where(np.isnan(scores), 1 - scores[:, ::-1], scores)
    return Answers(scores, labels)


def _numbers(texts: Sequence[str], name: str, place: str) -> Floats:
    numbers = np.array([parse_number(text) if text else np.nan for text in texts])
    wrong = [row for row, text in enumerate(texts, 1) if text and not np.isfinite(numbers[row - 1])]
    if wrong:
        raise DataError(f"row {wrong[0]} has no number in {name!r}", place=place, remedy="write the model's answers")
    return numbers


def _labels(texts: Sequence[str], classes: Sequence[Collection[str]], place: str) -> Ids:
    by_text = {name: i for i, names in reversed(list(enumerate(classes))) for name in names}
    by_number = {number: i for name, i in by_text.items() if np.isfinite(number := parse_number(name))}
    of_text = {text: by_text.get(text, by_number.get(parse_number(text), -1)) for text in set(texts)}
    wrong = [row for row, text in enumerate(texts, 1) if text and of_text[text] < 0]
    if wrong:
        raise DataError(
            f"row {wrong[0]} has no class of the model in {PREDICTION!r}",
            place=place,
            remedy="write what the model predicts, by the names of the policy's values or of the model's classes",
        )
    return np.array([of_text[text] if text else -1 for text in texts], dtype=np.int64)
