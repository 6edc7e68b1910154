"""The own answers of an estimator in memory, as the witness of its file."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leafgate.io.tables.frames import FrameColumn, csv_blocks, has_names, pandas_frame, single_column, table_columns
from leafgate.io.tables.witness import PREDICTION
from leafgate.ir.model import ModelIR
from leafgate.kernel.policy import CsvOptions
from leafgate.models.points import column_edges, numbers_around

WITNESS_FILE = "answers.csv"
MOST_ROWS = 50_000
"""So many rows of the table are answered; of more a random choice."""

MOST_POINTS = 4_000
"""So many more have one cell changed: a number to one beside a threshold, any other cell to that of another row."""

MOST_EDGES = 200
"""Thresholds of a column that are tried; of more a random choice."""


def estimator_answers(
    model: Any,
    table: Any,
    columns: Sequence[FrameColumn],
    specs: Mapping[str, Mapping[str, Any]],
    read: ModelIR,
    class_order: Sequence[str],
    missing: str,
) -> bytes | None:
    """A CSV file of rows with what the estimator answers for them; None where it cannot be asked.

    It is asked about the rows of the table, and about rows that have one cell changed. It cannot be asked where it has
    no `predict` that takes the table, as boosters of XGBoost and LightGBM, or where one of its classes is called like a
    column.

    Args:
        model: the estimator.
        table: X, as it was fitted on.
        columns: its columns as text.
        specs: what the policy says of them.
        read: the model as it was read of its file.
        class_order: the classes of the estimator in its order; empty where it has none.
        missing: the text of a missing cell.
    """
    if isinstance(model, str | Path) or not callable(getattr(model, "predict", None)):
        return None
    rows = _given_rows(model, pandas_frame(table, "X"))
    names = [column.name for column in columns]
    names = [str(name) for name in rows.columns] if has_names(rows) else names[: rows.shape[1]]
    own = [column for column in columns if column.name in names]
    if len(own) != rows.shape[1] or set(read.classes) & {PREDICTION, *names}:
        return None
    classes = class_order if set(class_order) == set(read.classes) else read.classes  # which may number them
    rng = np.random.default_rng(0)
    asked = _taken(rows, np.sort(rng.permutation(len(rows))[:MOST_ROWS]))
    points = _points(rows, own, specs, read, rng)
    for each in (pd.concat([asked, points], ignore_index=True), asked):
        answers = _answers(model, each.to_numpy() if isinstance(table, np.ndarray) else each, classes)
        if answers is not None:
            written = [*table_columns(each.set_axis(names, axis=1), "X"), *answers]
            return b"".join(csv_blocks(written, missing, CsvOptions()))
    return None


def _given_rows(model: Any, rows: pd.DataFrame) -> pd.DataFrame:
    """The columns of the table that the estimator takes, in its order, where it names them."""
    listed = [str(name) for name in getattr(model, "feature_names_in_", ())]
    return rows[listed] if listed and set(listed) <= set(rows.columns) else rows


def _taken(rows: pd.DataFrame, chosen: np.ndarray) -> pd.DataFrame:
    return rows.iloc[chosen].reset_index(drop=True)


def _points(
    rows: pd.DataFrame,
    columns: Sequence[FrameColumn],
    specs: Mapping[str, Mapping[str, Any]],
    read: ModelIR,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Rows with one cell changed each."""
    edges = column_edges(read)
    parts = []
    for position, column in enumerate(columns):
        most = max(1, MOST_POINTS // len(columns))
        base = _taken(rows, rng.integers(0, len(rows), most))
        label, spec = base.columns[position], specs.get(column.name, {})
        if column.name in edges and column.kind == "number" and "values" not in spec:
            numbers = numbers_around(edges[column.name], MOST_EDGES, spec.get("step"), spec.get("bounds"), rng)
            base = base.iloc[: len(numbers)] if len(numbers) < most else base
            base[label] = rng.permutation(numbers)[: len(base)]
        else:
            other = _taken(rows, rng.integers(0, len(rows), most))
            base[label] = other[label]
        parts.append(base)
    return pd.concat(parts, ignore_index=True)


def _answers(model: Any, rows: Any, classes: Sequence[str]) -> list[FrameColumn] | None:
    """The columns of answers: scores of classes, or predicted classes or numbers; None where it refuses the rows."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if classes and callable(getattr(model, "predict_proba", None)):
                scores = np.asarray(model.predict_proba(rows), dtype=np.float64)
                if scores.shape != (len(rows), len(classes)) or not np.isfinite(scores).all():
                    return None
                return [_numbers(scores[:, i], name) for i, name in enumerate(classes)]
            is_anomaly_score = not classes and callable(getattr(model, "score_samples", None))
            predicted = -model.score_samples(rows) if is_anomaly_score else model.predict(rows)
            predicted = np.asarray(predicted).reshape(len(rows), -1)[:, 0]
            return [_numbers(predicted, PREDICTION) if not classes else _texts(predicted)]
    except Exception:  # whatever a library raises for rows that it does not take
        return None


def _numbers(numbers: np.ndarray, name: str) -> FrameColumn:
    return single_column(np.asarray(numbers, dtype=np.float64), name, name)


def _texts(labels: np.ndarray) -> FrameColumn:
    return single_column(pd.Series(labels.tolist(), name=PREDICTION), PREDICTION, PREDICTION)
