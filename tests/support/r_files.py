"""Files of R in tests, with what R answers to rows, and what leafgate answers to the same rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from installed_readers import read_foreign
from leafgate import Release, Table
from leafgate.algorithms.prediction import class_scores, class_votes, predict, predicted_numbers
from leafgate.api import Column, Floats, Schema
from leafgate.kernel.schema import bin_names
from leafgate.models.lowering.encoding import Encoding
from leafgate.models.lowering.release import lower_model
from leafgate.readers import ModelIR
from producer_archive import files_in
from random_tables import Cell, categorical, numeric, table_of

FOLDER = Path(__file__).resolve().parents[1] / "plugins/r"
WARDS = ["north", "south", "west", "east end", "<30", "zoo", "b", "a"]
GRADES = ["low", "middle", "high"]
CLASSES = ["no", "yes", "maybe", "never"]
VALUES = {"ward": [*WARDS, "unseen"], "grade": GRADES, "smoker": ["FALSE", "TRUE"], "town": ["Ayr", "Bath", "Cork"]}
NUMBERS = frozenset({"age", "bmi", "visits"})
EDGES = (-1e4, 0.0, 1e4)
CODES = {
    name: Encoding(codes={level: float(code) for code, level in enumerate(levels, 1)})
    for name, levels in {"ward": WARDS, "grade": GRADES}.items()
}
"""The levels in the order in which make_r_files.R has them; the script draws as many of the wards as it needs."""


@cache
def files(name: str = "models") -> Mapping[str, bytes]:
    """The files of an archive that make_r_files.py packed, by name."""
    return files_in(FOLDER / f"{name}.tar.xz")


def table_in(content: bytes) -> dict[str, list[str]]:
    """The columns of a CSV file."""
    names, *rows = csv.reader(io.StringIO(content.decode()))
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def schema_of(model: ModelIR, names: list[str]) -> Schema:
    """The columns of the rows, which may have missing cells where the model says where these go, and of the class."""
    gaps = not model.unspecified_missing
    columns = [
        numeric(name, "quasi_identifier", bounds=(-1e6, 1e6), missing=gaps)
        if name in NUMBERS
        else categorical(name, "quasi_identifier", values=VALUES[name], missing=gaps)
        for name in names
    ]
    target = Column("target", frozenset({"class", "sensitive"}), values=bin_names(EDGES), edges=EDGES)
    return Schema((*columns, categorical("target", "class", "sensitive", values=CLASSES) if model.classes else target))


@dataclass(frozen=True)
class Compared:
    """What leafgate and R answer to the rows of a case that both answer.

    Attributes:
        rows: how many these are.
        apart: by how much scores, or numbers, differ at most; 0 where the model has labels alone.
        labels: on how many rows the predicted class is another.
    """

    rows: int
    apart: float
    labels: int


def compared(model: ModelIR, table: Mapping[str, list[str]]) -> Compared:
    """The answers of a model and those in a table that the script in R wrote."""
    names = [name for name in table if name in NUMBERS or name in VALUES]
    schema = schema_of(model, names)
    asked = {model.features[i] for i in model.asked}
    origins = dict(zip(model.features, model.origins or (None,) * len(model.features), strict=True))
    encoding = {name: CODES[name] for name in names if name in CODES and name in asked and origins[name] is None}
    release = lower_model(model, schema, encoding, "m").release
    gaps = not model.unspecified_missing
    rows = rows_of(table, names)
    number = {row: i for i, row in enumerate(rows) if gaps or None not in row}
    cells: list[Cell] = ["no" if model.classes else 1.0]
    people = table_of(schema.columns, [[*row, *cells] for row in number])
    order = [number[_plain(row)] for row in people.frame[names].astype(object).itertuples(index=False)]
    if "number" in table:
        theirs = np.array([float(table["number"][i]) for i in order])
        return Compared(len(order), float(abs(predicted_numbers(release, people) - theirs).max()), 0)
    theirs = _scores_of_r(table)[order]
    mine = theirs if model.combine == "boost" or _has_labels_alone(model) else _scores(release, people)
    given = table.get("label", [""] * len(theirs))
    predicted = [release.classes[i] if i >= 0 else "" for i in predict(release, people)]
    wrong = sum(given[i] not in {"", label} for i, label in zip(order, predicted, strict=True))
    return Compared(len(order), float(abs(mine - theirs).max()), wrong)


def _has_labels_alone(model: ModelIR) -> bool:
    return model.values == "labels" and model.combine != "vote"


def _scores(release: Release, people: Table) -> Floats:
    if release.combine != "vote":
        return class_scores(release, people)
    votes = class_votes(release, people)
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))


def _scores_of_r(table: Mapping[str, list[str]]) -> Floats:
    """R's probabilities, or the shares of its votes: shape (n_rows, n_classes)."""
    found = np.zeros((len(next(iter(table.values()))), len(CLASSES)))
    for i, name in enumerate(CLASSES):
        if f"score.{name}" in table:
            found[:, i] = [float(text) for text in table[f"score.{name}"]]
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def rows_of(table: Mapping[str, list[str]], names: list[str]) -> list[tuple[Cell, ...]]:
    """The rows of a table that R wrote as cells, with None for missing ones."""
    columns = [[_cell(name, text) for text in table[name]] for name in names]
    return list(zip(*columns, strict=True))


def _cell(name: str, text: str) -> Cell:
    if not text:
        return None
    return float(text) if name in NUMBERS else text


def _plain(row: tuple[Cell, ...]) -> tuple[Cell, ...]:
    return tuple(None if cell is None or cell != cell else cell for cell in row)


def model_in(name: str) -> ModelIR:
    """The model in a file of the archive."""
    return read_foreign(files()[name], name)
