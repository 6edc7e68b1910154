"""Models held against a witness: rows with the own answers of the model that a file was written of."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leafgate.algorithms.prediction import scores_of_votes
from leafgate.algorithms.witness import Answers, first_difference
from leafgate.api import DataError, ReleaseError
from leafgate.commands.convert.scrub import predicted, votes
from leafgate.io.json import parse_number
from leafgate.io.tables.witness import answers_in, read_answer_cells
from leafgate.kernel.policy import CsvOptions
from leafgate.models.lowering.release import asked_features
from leafgate.models.points import Cells, known_origins, rows_of
from leafgate.readers import CategoryCodes, ModelIR, Numeric


def rows_answered(models: Sequence[ModelIR], witness: Path | None, place: str) -> int:
    """How many rows of the witness have answers, which are those of all these models; 0 without a witness.

    Its columns are those of the models: the features, or what a file says they are made of; an empty cell is missing.

    Raises:
        DataError: the witness cannot be read, or has not these columns, or no answers.
        ReleaseError: a model answers otherwise; it names the first row. Or there is no witness, and the first model's
            file has keys that its reader does not know.
    """
    if witness is None:
        if models[0].unknown:
            raise ReleaseError(
                f"has keys that are not known here and may change what the model predicts: {models[0].unknown[0]}",
                place=place,
                remedy="name what the model itself answers by --witness",
            )
        return 0
    frame = read_answer_cells(witness, CsvOptions(), "--witness")
    knows_scores = models[0].link == "softmax"
    answered = 0
    for model in map(with_coded_categories, models):
        cells, asked = _cells(frame, model, witness.name)
        others = frame[[name for name in frame.columns if name not in asked]]
        said = answers_in(others, [(name,) for name in model.classes], witness.name)
        answers, answered = answers_to(model, cells), int(said.given.sum())
        different = first_difference(said, answers if knows_scores else replace(answers, scores=None))
        if different is not None:
            raise ReleaseError(
                f"does not answer as the witness does, first in its row {different + 1}",
                place=place,
                remedy="write the witness by the model of this very file; if it stays so, report it",
            )
    return answered


def with_coded_categories(model: ModelIR) -> ModelIR:
    """The model whose tests name numbers in place of texts of categories, which are codes of its columns."""
    texts = {i: sorted(feature.chosen) for i, feature in asked_features(model).items() if feature.chosen}
    if not texts:
        return model
    codes = {i: {text: float(code) for code, text in enumerate(known)} for i, known in texts.items()}
    trees = tuple(
        replace(
            tree,
            subsets={
                node: frozenset(codes.get(int(tree.feature[node]), {}).get(str(each), each) for each in chosen)
                for node, chosen in tree.subsets.items()
            },
        )
        for tree in model.trees
    )
    origins = list(known_origins(model))
    for i, known in codes.items():
        origins[i] = CategoryCodes(origins[i].column, known, otherwise=-1.0)
    return replace(model, trees=trees, origins=tuple(origins))


def _cells(frame: pd.DataFrame, model: ModelIR, place: str) -> tuple[Cells, set[str]]:
    """The cells of the columns that the model asks about: numbers, or texts; None where missing."""
    cells: dict[str, list[Any]] = {}
    origins = known_origins(model)
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
            codes = origin.codes if isinstance(origin, CategoryCodes) else {}
            cells.setdefault(origin.column, _texts(texts, codes))
    unasked = {origin.column: [None] * len(frame) for origin in origins if origin.column not in cells}
    return {"": [None] * len(frame), **unasked, **cells}, set(cells)  # a model may have no features


def _numbers(texts: Sequence[str], column: str, place: str) -> list[float | None]:
    numbers = [parse_number(text) if text else None for text in texts]
    wrong = next((row for row, number in enumerate(numbers, 1) if number is not None and np.isnan(number)), None)
    if wrong is not None:
        raise DataError(f"row {wrong} has no number in {column!r}", place=place, remedy="leave missing cells empty")
    return numbers


def _texts(texts: Sequence[str], known: Collection[str]) -> list[str | None]:
    """The texts in the spelling of the model's values, which may write the same numbers otherwise."""
    by_number = {number: value for value in known if math.isfinite(number := parse_number(value))}
    spelled = {text: text if text in known else by_number.get(parse_number(text), text) for text in set(texts)}
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
