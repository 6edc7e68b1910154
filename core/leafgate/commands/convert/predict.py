"""Predictions of a model in a file `leafgate/model/1`; needs Python 3.11 or later and NumPy, and nothing else.

    python predict.py MODEL.json PEOPLE.csv > answers.csv

PEOPLE.csv has a header, and the columns that the model reads; an empty cell is missing. answers.csv has one row
for each person: the predicted class or number, empty where the model predicts nothing, and beside it the score of each
class where the model has scores. In Python:

    model = load("model.json")
    model.predict({"age": [31, None], "job": ["nurse", "clerk"]})

This file is the same for every model: nothing in it was made from people.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

FORMAT = "leafgate/model/1"
LEAF = -1
NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
TRUTH = {"false": 0.0, "true": 1.0}
REFUSED = -sys.float_info.max
"""Stands for the code of a value that the model does not take; no code is so large a number."""

Columns = Mapping[str, Sequence[Any]]
Array = Any


def load(path: str | Path) -> Model:
    """The model in a file; ValueError where the file is none."""
    document = json.loads(Path(path).read_text(encoding="utf-8"))
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"{path} is no file of the format {FORMAT}")
    return Model(document)


class Model:
    """A model as its file has it; `empty_is_missing`: an empty text is a missing cell, and no value.

    Attributes:
        classes: The classes it predicts; none where it predicts numbers.
        columns: The columns that it reads.
        has_scores: Does it answer scores of classes, too?
    """

    def __init__(self, document: Mapping[str, Any], *, empty_is_missing: bool = True) -> None:
        self.classes: tuple[str, ...] = tuple(document["classes"])
        self._width = max(len(self.classes), 1)
        self._says, self._combine, self._base = document["says"], document["combine"], document["base"]
        self._trees = [Tree(each) for each in document["trees"]]
        self._sums: list[Mapping[str, Any]] = document.get("calibrated_sums", [])
        self._counted = all(tree.counts is not None for tree in self._trees)
        names, groups = document["features"], document.get("groups", [])
        origins = document.get("origins") or [None] * len(names)
        asked = sorted({feature for tree in self._trees for feature in tree.feature.tolist()} - {LEAF})
        self._place = np.zeros(len(names) + 1, dtype=np.int64)
        self._place[asked] = np.arange(len(asked))
        gaps: set[Any] = {None, ""} if empty_is_missing else {None}
        self._features = [Feature(names[i], origins[i], groups, self._sets(i), gaps) for i in asked]
        self.columns = tuple(dict.fromkeys(each.column for each in self._features))
        has_shares = self._says in {"shares", "counts", "scores"} or self._counted or self._combine == "vote"
        self.has_scores = bool(self.classes) and has_shares and document.get("link", "softmax") == "softmax"

    def predict(self, people: Columns | Sequence[Mapping[str, Any]]) -> list[Any]:
        """The predicted class or number of each person; None where the model predicts nothing.

        Args:
            people: Columns by their names, or one mapping for each person. A missing cell is None, NaN or empty.
        """
        rows = self._rows(people)
        if not self.classes:
            return [None if math.isnan(number) else number for number in self._numbers(rows).tolist()]
        votes, has_vote = self._votes(rows, self._combine)
        best = np.where(has_vote, votes.argmax(axis=1), -1).tolist()
        return [self.classes[i] if i >= 0 else None for i in best]

    def scores(self, people: Columns | Sequence[Mapping[str, Any]]) -> Array:
        """The score of each class, shape (n_people, n_classes), rows sum to 1; NaN where there are none.

        They are the shares on the leaves, the share of votes, or of boosting the softmax of what its trees add up to,
        or the mean of the shares that a calibration makes of it.
        """
        if not self.has_scores:
            raise ValueError("the model has no scores of classes")
        votes, has_vote = self._votes(self._rows(people), "mean_per_tree" if self._combine == "one" else self._combine)
        if self._sums:
            return np.where(has_vote[:, None], votes, np.nan)
        if self._combine == "boost":
            votes = np.exp(votes - votes.max(axis=1, keepdims=True))
        votes = np.maximum(np.where(has_vote[:, None], votes, np.nan), 0)
        total = votes.sum(axis=1, keepdims=True)
        return np.divide(votes, total, out=np.full_like(votes, np.nan), where=total > 0)

    def _sets(self, feature: int) -> set[str | float]:
        """The categories that tests of a feature name."""
        return {each for tree in self._trees for each in tree.named(feature)}

    def _rows(self, people: Columns | Sequence[Mapping[str, Any]]) -> Rows:
        """What each feature is of each person."""
        if isinstance(people, Mapping):
            n = len(next(iter(people.values()), ()))
            columns = {name: people[own] for name, own in columns_called(self.columns, people).items()}
        else:
            n = len(people)
            there = [name for name in (people[0] if n else self.columns) if all(name in each for each in people)]
            called = columns_called(self.columns, there)
            columns = {name: [person[own] for person in people] for name, own in called.items()}
        return Rows([each.cells(columns[each.column]) for each in self._features], self._place, n)

    def _votes(self, rows: Rows, combine: str) -> tuple[Array, Array]:
        """The votes of all trees for each class, and for whom some tree has one."""
        votes, has_vote = np.zeros((rows.n, self._width)), np.zeros(rows.n, dtype=bool)
        if combine == "boost" and self._base:
            votes[:, self._width - len(self._base) :] += self._base
            has_vote[:] = True
        last_tree = dict(zip(np.cumsum([each["trees"] for each in self._sums]).tolist(), self._sums, strict=True))
        shares = np.zeros(votes.shape)
        for number, tree in enumerate(self._trees, 1):
            added, leaf = self._added(tree, combine), tree.leaves(rows)
            votes += added[leaf]
            has_vote |= (leaf >= 0) if combine == "boost" else (added.sum(axis=1) > 0)[leaf]
            if number in last_tree:
                shares += shares_of_sum(votes, last_tree[number])
                votes[:] = 0
        return shares / len(self._sums) if self._sums else votes, has_vote

    def _added(self, tree: Tree, combine: str) -> Array:
        """What each node of a tree adds where it is a leaf; nothing in a last row, of those who come to no leaf."""
        says = np.nan_to_num(tree.says)
        if says.shape[1] < self._width:
            spread = np.zeros((len(says), self._width))
            spread[:, self._width - 1 if tree.output is None else tree.output] = says[:, 0]
            says = spread
        if combine in {"one", "vote"}:
            says = np.eye(self._width)[says.argmax(axis=1)] * (says.any(axis=1) | (self._says != "labels"))[:, None]
        elif combine != "boost":
            says = self._shares(tree, says, combine)
        return np.vstack([says, np.zeros(self._width)])

    def _shares(self, tree: Tree, says: Array, combine: str) -> Array:
        """The counts or shares of each node, of which the mean is taken or which are added up."""
        if self._counted:
            numbers = np.nan_to_num(tree.counts)
            whole = np.rint(numbers)
            says = whole if np.allclose(whole, numbers) else numbers
        elif self._says != "labels":
            with np.errstate(invalid="ignore", divide="ignore"):
                says = np.nan_to_num(says / says.sum(axis=1, keepdims=True))
        if combine != "mean_per_tree":
            return says
        total = np.zeros(len(says))
        for column in says.T:
            total = total + column
        return says / np.maximum(total, 1e-300)[:, None]

    def _numbers(self, rows: Rows) -> Array:
        """The predicted number of each person; NaN where the model predicts none."""
        total = np.full(rows.n, self._base[0] if self._base else 0.0)
        for tree in self._trees:
            total = total + np.append(tree.says[:, 0], np.nan)[tree.leaves(rows)]
        total = np.exp(np.clip(total, -700.0, 700.0)) if self._combine == "exp_sum" else total
        return total / len(self._trees) if self._combine == "mean_per_tree" else total


def shares_of_sum(scores: Array, calibrated: Mapping[str, Any]) -> Array:
    """The shares of classes that a calibration makes of what some trees add up to, shape (n_people, n_classes)."""
    scores = scores / calibrated["trees"] if calibrated.get("mean") else scores
    if calibrated["link"] == "softmax":
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)
    if calibrated["link"] == "logistic":
        with np.errstate(over="ignore"):
            shares = 1 / (1 + np.exp(-scores))
    else:
        shares = np.zeros_like(scores)
        for k, points in enumerate(calibrated["points"]):
            shares[:, k] = np.interp(scores[:, k], *np.array(points, dtype=np.float64).T) if points else 0.0
        if [] in calibrated["points"]:  # of two classes one has what the other leaves
            shares[:, calibrated["points"].index([])] = 1 - shares.sum(axis=1)
            return shares
    total = shares.sum(axis=1, keepdims=True)
    return np.divide(shares, total, out=np.full_like(shares, 1 / shares.shape[1]), where=total > 0)


def columns_called(asked: Sequence[str], names: Collection[str]) -> dict[str, str]:
    """What a table calls the columns that a model reads; ValueError where it lacks one.

    A table has a column also where the model has its name as libraries write it that do not take all signs.
    """
    by_spelling: dict[str, list[str]] = {}
    for name in names:
        # as LightGBM writes it, which takes no spaces, and as skl2onnx does
        for spelling in {name.replace(" ", "_"), re.sub(r"^([0-9])", r"_\1", re.sub(r"[^\w+]", "_", name))}:
            by_spelling.setdefault(spelling, []).append(name)
    found = {name: [name] if name in names else by_spelling.get(name, []) for name in asked}
    if missing := [name for name, listed in found.items() if len(listed) != 1]:
        raise ValueError(f"the model asks about columns that are not there: {', '.join(missing)}")
    return {name: listed[0] for name, listed in found.items()}


class Tree:
    """A tree as lists over its nodes."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        n = len(document["feature"])
        self.feature = np.array(document["feature"], dtype=np.int64)
        self.threshold = np.array(document["threshold"], dtype=np.float64)
        self.low, self.high = (np.array(document[key], dtype=np.int64) for key in ("low", "high"))
        flags = (document.get(key, False) for key in ("strict", "float32", "missing_low"))
        self.strict, self.float32, self.missing_low = (np.broadcast_to(np.array(flag), (n,)) for flag in flags)
        self.sets = {int(node): frozenset(chosen) for node, chosen in (document.get("subsets") or {}).items()}
        self.has_set = np.zeros(n, dtype=bool)
        self.has_set[list(self.sets)] = True
        self.says = _rows_of_numbers(document["says"])
        self.counts: Array = None if document.get("counts") is None else _rows_of_numbers(document["counts"])
        self.output = document.get("output")

    def named(self, feature: int) -> Iterator[str | float]:
        """The categories that tests of a feature name."""
        for node, chosen in self.sets.items():
            if self.feature[node] == feature:
                yield from chosen

    def leaves(self, rows: Rows) -> Array:
        """The leaf that each person comes to; -1 where the model does not take the person's value."""
        at = np.zeros(rows.n, dtype=np.int64)
        waiting = np.flatnonzero(self.feature[at] != LEAF)
        while len(waiting):
            node = at[waiting]
            column = rows.place[self.feature[node]]
            number = rows.numbers[waiting, column]
            with np.errstate(over="ignore"):
                seen = np.where(self.float32[node], number.astype(np.float32).astype(np.float64), number)
            low = np.where(self.strict[node], seen < self.threshold[node], seen <= self.threshold[node])
            taken = number != REFUSED
            low = np.where(np.isnan(number), self.missing_low[node], low)
            for one in np.unique(node[self.has_set[node]]).tolist():
                here = np.flatnonzero(node == one)
                coded = np.isin(seen[here], [each for each in self.sets[one] if not isinstance(each, str)])
                named = rows.named(int(column[here[0]]), self.sets[one], waiting[here])
                low[here] = np.where(np.isnan(number[here]), self.missing_low[one], coded) | named
                taken[here] |= named
            at[waiting] = np.where(taken, np.where(low, self.low[node], self.high[node]), LEAF)
            waiting = waiting[taken]
            waiting = waiting[self.feature[at[waiting]] != LEAF]
        return at


def _rows_of_numbers(rows: Sequence[Sequence[float] | None] | Array) -> Array:
    """The numbers of each node, NaN of those that have none; an array stays as it is."""
    if isinstance(rows, np.ndarray):
        return rows
    width = len(next((row for row in rows if row is not None), [0.0]))
    return np.array([[math.nan] * width if row is None else row for row in rows], dtype=np.float64)


class Cells:
    """What a feature is of each person: a number, NaN where missing; and the text where tests name texts."""

    def __init__(self, numbers: Array, texts: Sequence[str | None] | None = None, text_of: Array = None) -> None:
        self.numbers, self.texts, self.text_of = numbers, texts, text_of


class Rows:
    """What each feature is of each person: `place` has for each feature its column in `numbers`."""

    def __init__(self, cells: Sequence[Cells], place: Array, n: int) -> None:
        self.n, self.place, self._cells = n, place, cells
        self.numbers = np.column_stack([each.numbers for each in cells]) if cells else np.zeros((n, 0))

    def named(self, column: int, chosen: frozenset[str | float], people: Array) -> Array:
        """Which of the people have a text that a set names."""
        cells = self._cells[column]
        if cells.texts is None:
            return np.zeros(len(people), dtype=bool)
        return np.array([text in chosen for text in cells.texts], dtype=bool)[cells.text_of[people]]


class Feature:
    """How a feature is made of a column; `sets` are the categories that tests name, `gaps` what is a missing cell."""

    def __init__(
        self, name: str, origin: Mapping[str, Any] | None, groups: Sequence[Any], sets: set[Any], gaps: set[Any]
    ) -> None:
        self._gaps = gaps
        self._origin: Mapping[str, Any] = {"kind": "number", "column": name} if origin is None else origin
        self.column: str = name if self._origin["kind"] == "unknown" else self._origin["column"]
        self._texts = any(isinstance(each, str) for each in sets)
        self._see = SEEN[self._origin.get("seen", "")]
        if self._origin["kind"] == "coded":
            codes = self._origin["codes"]
            self._codes = _codes_of_group(codes, groups) if isinstance(codes, list) else codes
            self._alike: dict[Any, Any] = {self._comparable(text): code for text, code in self._codes.items()}

    def cells(self, column: Sequence[Any]) -> Cells:
        """What the feature is of each cell of the column."""
        kind = self._origin["kind"]
        if kind == "coded" or (self._texts and kind != "absent"):
            return self._of_texts(column)
        if kind == "absent":
            there, gone = (_number_in_file(self._origin[key]) for key in ("there", "gone"))
            return Cells(np.array([gone if self._is_missing(cell) else there for cell in column], dtype=np.float64))
        numbers = np.array([self._number(cell, row) for row, cell in enumerate(column, 1)], dtype=np.float64)
        made = numbers
        with np.errstate(all="ignore"):
            for operation, by in self._origin.get("steps", ()):
                made = STEPS[operation](made, by)
        if self._origin.get("fill") is not None:
            made = np.where(np.isnan(numbers), self._origin["fill"], made)
        return Cells(np.where(made == 0, np.nan, made) if "zero" in self._origin else made)

    def _of_texts(self, column: Sequence[Any]) -> Cells:
        """The code of each text, and the texts themselves where tests name them."""
        spelled = [None if self._is_missing(cell) else _spelled(cell) for cell in column]
        texts = list(dict.fromkeys(spelled))
        place = {text: i for i, text in enumerate(texts)}
        text_of = np.array([place[text] for text in spelled], dtype=np.int64)
        codes = np.array([self._code(text) for text in texts], dtype=np.float64)
        return Cells(codes[text_of] if len(texts) else np.zeros(0), texts if self._texts else None, text_of)

    def _code(self, text: str | None) -> float:
        """The number of a value: of a missing one, of one that the model knows in some spelling, of any other."""
        if self._origin["kind"] != "coded":
            return math.nan if text is None else 0.0
        if text is None:
            return _number_in_file(self._origin["missing"])
        if text in self._codes:
            return _number_in_file(self._codes[text])
        spellings = (self._comparable(text), TRUTH.get(text.lower()))
        code = next((self._alike[each] for each in spellings if each in self._alike), self._origin["other"])
        return _number_in_file(code)

    def _comparable(self, text: str) -> float | str:
        """What spellings of one value have in common: a number as the model sees it, or a truth value."""
        if NUMBER.fullmatch(text) and math.isfinite(float(text)):
            return self._see(float(text))
        return text.lower() if text.lower() in TRUTH else text

    def _number(self, cell: Any, row: int) -> float:
        """The number in a cell, NaN where it is missing."""
        if self._is_missing(cell):
            return math.nan
        if not isinstance(cell, str):
            return float(cell)
        text = cell.strip()
        if NUMBER.fullmatch(text):
            return float(text)
        if text.lower() in TRUTH:
            return TRUTH[text.lower()]
        raise ValueError(f"row {row} has no number in {self.column!r}; leave missing cells empty")

    def _is_missing(self, cell: Any) -> bool:
        return cell in self._gaps or cell != cell


def _codes_of_group(codes: Sequence[Any], groups: Sequence[Mapping[str, int]]) -> dict[str, Any]:
    """The codes of a feature that is one for the values of a group, and another number for all others."""
    table, group, on, off = codes
    return {value: on if each == group else off for value, each in groups[int(table)].items()}


def _number_in_file(number: Any) -> float:
    """A number of the file: null is the code of what the model does not take, "missing" a missing number."""
    if number is None:
        return REFUSED
    return math.nan if number == "missing" else float(number)


def _spelled(cell: Any) -> str:
    """A cell as a text: whole numbers without a point."""
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return str(int(cell))
    return str(cell)


def _single(number: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(number))


def _whole(number: float) -> float:
    return float(math.trunc(number)) if math.isfinite(number) else number


SEEN: Mapping[str, Callable[[float], float]] = {
    "": float,
    "single": _single,
    "whole": _whole,
    "single_whole": lambda number: _whole(_single(number)),
}
"""How a model rounds numbers before it looks them up."""

STEPS: Mapping[str, Callable[[Array, float], Array]] = {
    "plus": np.add,
    "minus": np.subtract,
    "times": np.multiply,
    "over": np.divide,
    "at_least": np.maximum,
    "at_most": np.minimum,
    "single": lambda numbers, _: numbers.astype(np.float32).astype(np.float64),
}
"""What is done with the numbers of a column before tests compare them."""


def main() -> None:
    """Print the answers to the people in a file."""
    parser = argparse.ArgumentParser(description=f"Predictions of a model in a file {FORMAT}, as CSV.")
    parser.add_argument("model", metavar="MODEL", help="the model's file")
    parser.add_argument("people", metavar="PEOPLE", help="CSV with a header and the columns that the model asks about")
    parser.add_argument("--missing", metavar="WORD", action="append", default=[], help="what stands for a missing cell")
    given = parser.parse_args()
    try:
        model = load(given.model)
        with open(given.people, newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, restval="")
            called = columns_called(model.columns, reader.fieldnames or ())
            people = [{name: row[own] for name, own in called.items()} for row in reader]
        gone = {*given.missing, ""}
        columns = {name: [None if row[name] in gone else row[name] for row in people] for name in model.columns}
        columns = columns or {"": [None] * len(people)}
        predicted = model.predict(columns)
        scores = model.scores(columns).tolist() if model.has_scores else [()] * len(predicted)
    except (OSError, ValueError, KeyError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["prediction", *(model.classes if model.has_scores else ())])
    for answer, row in zip(predicted, scores, strict=True):
        cells = ["" if math.isnan(score) else repr(score) for score in row]
        writer.writerow(["" if answer is None else answer, *cells])


if __name__ == "__main__":
    main()
