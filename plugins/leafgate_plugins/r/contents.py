"""What a file of R's discloses besides its model: tables, a value for each training row, and variables of functions.

An object that was fitted within a function has a formula whose environment holds all variables of that function, the
table that it was fitted on among them. Everything in the file that the model does not consist of is visited.
"""

from __future__ import annotations

import datetime
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leafgate.api import FileDisclosure
from leafgate.ir.content import HeldVector
from leafgate.readers import (
    COUNTS_DISCLOSURE,
    MANY_NUMBERS,
    RATIOS_DISCLOSURE,
    SIZES_DISCLOSURE,
    CategoryList,
    ModelIR,
    UnreadTracker,
)
from leafgate_plugins.r.forests import KNOWN_OF_RANGER, number_of_rows
from leafgate_plugins.r.serialisation import NUMBERS, PAIRS, Kind, RObject, contained
from leafgate_plugins.r.vectors import (
    Place,
    dimension_names,
    is_frame,
    is_null,
    numbers_in,
    shape_of,
    texts_in,
)

ROWS = "a value of each of {rows} training rows, in {vectors} vector(s)"
TABLES = "{tables} table(s), with {rows} rows in all"
VARIABLES = "{variables} other variable(s) of functions that fitted it, with {values} value(s) in all"
IMPURITY = FileDisclosure(
    "impurity", "medium", "the deviance of every node, from which the spread of its numbers follows"
)
GAINS = FileDisclosure("gains", "low", "how much every test gained, and those that were considered instead of it")
SETTINGS = FileDisclosure("settings", "low", "the call that fitted it and its settings")
ERRORS = FileDisclosure("training_loss", "low", "how often it errs on its training rows, and on those that it left out")
MAX_CELLS = 20_000_000
"""Cells of vectors that are compared with the table; of more the file discloses that they are there."""

MAX_COLUMNS = 1_000
"""Columns of a matrix that are compared one by one."""

FEW = 50
"""Values of a constant in a function that is no data."""

FEW_CONSTANTS = 20
"""Numbers of calls and other short vectors, all together, that are settings."""

MODEL_PARTS: Mapping[str, frozenset[str]] = {
    "rpart": frozenset({"frame", "splits", "csplit", "ordered", "method"}),
    "ranger": frozenset({"forest", "treetype"}),
    "randomForest": frozenset({"forest", "type", "classes", "coefs"}),
}
"""The parts of each class's objects that the model consists of."""

MODEL_WORDS = """
var n wt dev yval complexity ncompete nsurrogate yval2
ndbigtree nodestatus bestvar treemap leftDaughter rightDaughter nodepred xbestsplit pid cutoff ncat maxcat nrnodes ntree
nclass xlevels
"""
WITHIN_MODEL = frozenset(MODEL_WORDS.split()) | KNOWN_OF_RANGER
"""What these parts consist of; others are visited."""

NODE_NUMBERS = ("num.samples.nodes", "node.predictions", "split.stats")
"""Parts of a forest of ranger, by which it counts rows on nodes."""

STATISTIC_WORDS = """
    cptable parms control functions numresp variable.importance xlevels ylevels call
    num.trees num.independent.variables mtry min.node.size prediction.error confusion.matrix splitrule treetype
    importance.mode num.samples replace max.depth r.squared min.bucket dependent.variable.name
    err.rate confusion importance importanceSD ntree mse rsq
    xNames problemType tuneValue obsLevels param
    method modelInfo modelType results bestTune dots metric perfNames maximize yLimits times levels coefnames contrasts
    resample resampledCM ptype
"""
STATISTICS = frozenset(STATISTIC_WORDS.split())
FIGURE_WORDS = """
cptable parms variable.importance xlevels ylevels confusion.matrix err.rate confusion importance importanceSD mse rsq
xNames obsLevels results resample resampledCM levels coefnames modelInfo contrasts
"""
FIGURES = frozenset(FIGURE_WORDS.split())
"""Those of them that have numbers for each feature, class or tree; others have a few."""
"""Parts with settings and figures of all people together, by their names, where they are small."""


def contents_of(whole: RObject, kind: str, model: ModelIR, place: Place) -> dict[str, Any]:
    """Fields of the model that say what its file discloses.

    Args:
        whole: the object in the file.
        kind: the class of the model in it.
        model: the model that was read.
        place: for errors.
    """
    fit = whole.get("finalModel") if "train" in whole.classes else whole
    assert fit is not None
    found = _Inventory(_rows_of(fit, kind), fit, kind, _small(model))
    found.visit(whole)
    tracker = found.tracker
    names = {*model.features, *(each for texts in model.category_lists for each in texts.values), *model.classes}
    if found.short > FEW_CONSTANTS:
        tracker.add("many short vectors", found.short)
    texts = {text for text in found.texts if any(map(str.isalnum, text))}  # and no operators
    tracker.check_texts("texts in calls and settings", texts, names)
    return {
        "discloses": (*_of_model(fit, kind, model), *found.disclosures(), *tracker.disclosures()),
        "category_lists": (*model.category_lists, *_thresholds(fit, kind, place)),
        "texts": tracker.texts,
        "held": tuple(found.held),
    }


def _rows_of(fit: RObject, kind: str) -> int:
    """How many training rows there were, as the object itself says; 0 where it does not."""
    if kind == "ranger":
        return number_of_rows(fit.get("num.samples"))
    vector = fit.get("where" if kind == "rpart" else "predicted")
    if not is_null(vector) and vector is not None and vector.kind in NUMBERS:
        return len(vector.value)
    rows = fit.get("frame", "n")
    return int(rows.value[0]) if rows is not None and rows.kind == Kind.INTEGER and len(rows.value) else 0


def _small(model: ModelIR) -> int:
    """So many numbers a table of settings or figures may have."""
    n_classes, n_features = len(model.classes), len(model.features)
    return 200 + 10 * n_features + n_classes**2 + n_features * (n_classes + 4) + len(model.trees) * (n_classes + 2)


def _of_model(fit: RObject, kind: str, model: ModelIR) -> Iterator[FileDisclosure]:
    """What the model itself discloses."""
    if any(fit.get("forest", name) is not None for name in NODE_NUMBERS):
        yield SIZES_DISCLOSURE
    if kind == "rpart":
        yield COUNTS_DISCLOSURE if model.classes else SIZES_DISCLOSURE
        yield from (IMPURITY, GAINS)
    elif model.values == "shares":
        yield RATIOS_DISCLOSURE
    yield from (SETTINGS, ERRORS)


def _thresholds(fit: RObject, kind: str, place: Place) -> Iterator[CategoryList]:
    """By feature the thresholds of competing and surrogate splits of rpart, which may be anybody's numbers."""
    splits = fit.get("splits") if kind == "rpart" else None
    if splits is None or is_null(splits):
        return
    table, names = place.matrix(splits, "splits"), dimension_names(splits, 0)
    by_name: dict[str, set[str]] = {}
    for name, row in zip(names, table.tolist(), strict=False):
        if row[1] in {-1.0, 1.0}:
            by_name.setdefault(name, set()).add(repr(row[3]))
    yield from (CategoryList(name, frozenset(numbers), numbers=True) for name, numbers in sorted(by_name.items()))


@dataclass
class _Visit:
    """An object to visit, its names from the outermost object on, and where it is."""

    thing: RObject
    path: tuple[str, ...]
    variable: bool = False
    code: bool = False

    def at(self, name: str, thing: RObject) -> _Visit:
        return _Visit(thing, (*self.path, name) if name else self.path, self.variable, self.code)


@dataclass
class _Inventory:
    """What is found besides the model.

    Attributes:
        rows: how many training rows there were.
        fit: the object with the model.
        kind: its class.
        small: so many numbers a table of settings may have.
    """

    rows: int
    fit: RObject
    kind: str
    small: int
    held: list[HeldVector] = field(default_factory=list)
    texts: set[str] = field(default_factory=set)
    tracker: UnreadTracker = field(default_factory=UnreadTracker)
    cells: int = 0
    short: int = 0
    per_row: int = 0
    tables: list[int] = field(default_factory=list)
    variables: list[int] = field(default_factory=list)

    def disclosures(self) -> Iterator[FileDisclosure]:
        """An item for each kind of what was found."""
        if self.tables:
            says = TABLES.format(tables=len(self.tables), rows=sum(self.tables))
            yield FileDisclosure("training_table", "high", says)
        if self.per_row:
            yield FileDisclosure("training_rows", "high", ROWS.format(rows=self.rows, vectors=self.per_row))
        if self.variables:
            values = sum(self.variables)
            says = VARIABLES.format(variables=len(self.variables), values=values)
            yield FileDisclosure("variables", "high" if values >= MANY_NUMBERS else "medium", says)

    def visit(self, whole: RObject) -> None:
        """Visit everything in an object, each object once."""
        seen, waiting = set[int](), deque([_Visit(whole, ())])
        while waiting:  # what is nearest to the outermost object first, so that paths are short
            here = waiting.popleft()
            if id(here.thing) not in seen:
                seen.add(id(here.thing))
                waiting += self._within(here)

    def _within(self, here: _Visit) -> list[_Visit]:
        """Record one object; returns what is to be visited in it."""
        thing = here.thing
        if thing is self.fit:
            parts = [each for each in self._parts(here) if each.path]
            own = [each for each in parts if self._is_model(each)]
            within = [each.at(name, part) for each in own for name, part in contained(each.thing)]
            unknown = [each for each in within if each.path[-1] not in WITHIN_MODEL | FORMS | {"dimnames"}]
            return [*(each for each in parts if not self._is_model(each)), *unknown]
        if is_frame(thing) and not here.code:
            return self._table(here)
        if thing.kind in NUMBERS or thing.kind in {Kind.TEXTS, Kind.ALTREP}:
            self._vector(here)
            return [here.at(name, each) for name, each in thing.attributes.items() if name not in FORMS - {"names"}]
        if thing.kind == Kind.ENVIRONMENT:
            inner = _Visit(thing, here.path, variable=True)
            return [inner.at(name, each) for name, each in contained(thing)]
        if thing.kind in PAIRS and not here.code:
            self._keep_texts(thing)
        if "terms" in thing.classes:
            return [each for each in self._parts(here) if not self._is_of_terms(each)]
        code = here.code or thing.kind in {Kind.CLOSURE, Kind.BYTE_CODE}
        return [_Visit(each.thing, each.path, each.variable, code) for each in self._parts(here)]

    def _parts(self, here: _Visit) -> list[_Visit]:
        """What is directly within an object, but names of its elements, and settings and figures that are small."""
        parts = [here.at(name, each) for name, each in contained(here.thing) if name not in FORMS]
        if here.thing is not self.fit and here.path:
            return parts
        return [each for each in parts if not self._is_statistic(each)]

    def _is_model(self, part: _Visit) -> bool:
        return part.path[-1] in MODEL_PARTS[self.kind]

    def _is_statistic(self, part: _Visit) -> bool:
        """Is it a part with settings and figures of all people together? Its texts are kept."""
        name, thing = part.path[-1] if part.path else "", part.thing
        if name not in STATISTICS or thing.kind in {Kind.CALL, Kind.ENVIRONMENT}:
            return False
        size, largest, texts = _content(thing)
        if size > (self.small if name in FIGURES else FEW) or (largest == self.rows and largest > FEW):
            return False
        self.texts |= texts if name != "modelInfo" else set()  # which is caret's own description
        return True

    def _is_of_terms(self, part: _Visit) -> bool:
        """Is it what R says of a formula's columns: their names and classes, and which of them each term has?"""
        name, thing = part.path[-1], part.thing
        if name in TEXTS_OF_TERMS and thing.kind == Kind.TEXTS:
            self.texts |= {each for each in thing.value if each}
            return True
        small = thing.kind in {Kind.INTEGER, Kind.DOUBLE} and bool(np.isin(thing.value, range(10)).all())
        return name in NUMBERS_OF_TERMS and small

    def _keep_texts(self, pairs: RObject) -> None:
        for tag, each in pairs.value:
            self.texts.add(tag)
            if each.kind == Kind.SYMBOL:
                self.texts.add(each.value)

    def _table(self, here: _Visit) -> list[_Visit]:
        """Record a data frame by its columns."""
        columns = list(zip(here.thing.names, here.thing.value, strict=True))
        rows = max((_length(each) for _, each in columns), default=0)
        if rows > 1:
            self.tables.append(rows)
        table = "$".join(here.path)
        others = list[_Visit]()
        for name, each in columns:
            if _length(each) == rows and rows > 1 and not shape_of(each):
                self._hold((*here.path, name), each, table=table)
            else:
                others.append(here.at(name, each))
        names = here.thing.attributes.get("row.names")
        others += [] if names is None else [here.at("row.names", names)]
        return [*others, *(here.at(n, each) for n, each in here.thing.attributes.items() if n not in FORMS)]

    def _vector(self, here: _Visit) -> None:
        """Record a vector or a matrix that is part of no table."""
        thing, size = here.thing, _length(here.thing)
        if here.code and size <= FEW:
            return
        if here.path[-1:] in {("names",), ("row.names",), ("dimnames",)} and _are_positions(thing):
            return
        shape = shape_of(thing)
        rows = next((each for each in shape or (size,) if each == self.rows and self.rows > 1), 0)
        if thing.kind == Kind.ALTREP or (rows and here.code):
            self.tracker.add("vectors in another form", MANY_NUMBERS)
        elif rows:
            self.per_row += 1 if len(shape) < 2 else int(np.prod(shape)) // rows
            self._hold_all(here, shape)
        elif here.variable and not here.code:
            self.variables.append(size)
            self._hold(here.path, thing)
        elif thing.kind == Kind.TEXTS:
            self.texts |= {each for each in thing.value if each} if size <= FEW else set()
            if size > FEW:
                self.tracker.add_text("texts", *filter(None, thing.value))
        elif size > FEW:
            self.tracker.add("vectors", size)
        else:
            self.short += size

    def _hold_all(self, here: _Visit, shape: tuple[int, ...]) -> None:
        """Record a vector with a value for each row, or the columns of such a matrix."""
        if len(shape) < 2:
            self._hold(here.path, here.thing, per_row=True)
        elif len(shape) == 2 and shape[0] == self.rows and shape[1] <= MAX_COLUMNS and here.thing.kind in NUMBERS:
            names = dimension_names(here.thing, 1)
            columns = here.thing.value.reshape(shape, order="F").T
            for i, column in enumerate(columns):
                name = names[i] if i < len(names) and names[i] else str(i + 1)
                self._hold((*here.path, name), RObject(here.thing.kind, column), per_row=True)

    def _hold(self, path: Collection[str], thing: RObject, *, table: str = "", per_row: bool = False) -> None:
        """Keep the cells of a vector, so that they are compared with the table."""
        self.cells += _length(thing)
        cells = _cells(thing, self.fit) if self.cells <= MAX_CELLS else None
        if cells is not None:
            self.held.append(HeldVector("$".join(path), cells, table, per_row))
        elif table or _length(thing) >= MANY_NUMBERS:
            self.tracker.add("vectors that were not compared with the table", MANY_NUMBERS)


TEXTS_OF_TERMS = frozenset({"term.labels", "dataClasses"})
NUMBERS_OF_TERMS = frozenset({"factors", "order", "intercept", "response"})
"""Attributes of terms."""

FORMS = frozenset({"class", "levels", "dim", "tzone", "row.names", "names"})
"""Attributes that say what an object is: levels are those of its cells, and names of a list are in paths."""


def _length(thing: RObject) -> int:
    return len(thing.value) if isinstance(thing.value, list | np.ndarray) else 1


def _are_positions(names: RObject) -> bool:
    """Are they 1, 2, 3, ..., or R's short form of these?"""
    if names.kind == Kind.INTEGER:
        return (len(names.value) == 2 and names.value[0] < 0) or bool(
            (names.value == np.arange(1, len(names.value) + 1)).all()
        )
    return names.kind == Kind.TEXTS and all(each == str(i) for i, each in enumerate(names.value, 1))


def _cells(thing: RObject, fit: RObject) -> np.ndarray | None:
    """The cells of a vector: numbers with NaN, or texts with None, for missing ones; None where it has none."""
    levels = fit.attributes.get("ylevels")
    if levels is not None and thing is fit.get("y") and thing.kind == Kind.INTEGER:
        thing = RObject(thing.kind, thing.value, {"levels": levels, "class": RObject(Kind.TEXTS, ["factor"])})
    texts = texts_in(thing)
    if texts is None and thing.kind in {Kind.LOGICAL, Kind.INTEGER, Kind.DOUBLE}:
        numbers = numbers_in(thing)
        if "Date" not in thing.classes:
            return numbers
        texts = [_date(number) for number in numbers.tolist()]
    return None if texts is None else np.array(texts, dtype=object)


def _date(days: float) -> str | None:
    """The date that is so many days after the first of 1970."""
    if not abs(days) < 700_000:
        return None
    return str(datetime.date(1970, 1, 1) + datetime.timedelta(days=int(days)))


def _content(thing: RObject) -> tuple[int, int, set[str]]:
    """How many values are in an object, in its largest vector, and its texts, short constants of functions left out."""
    size, largest, texts, seen, waiting = 0, 0, set[str](), set[int](), [(thing, False)]
    while waiting:
        here, code = waiting.pop()
        if id(here) in seen:
            continue
        seen.add(id(here))
        code = code or here.kind in {Kind.CLOSURE, Kind.BYTE_CODE}
        if here.kind in NUMBERS or here.kind == Kind.TEXTS:
            size += 0 if code and len(here.value) <= FEW else len(here.value)
            largest = max(largest, len(here.value))
            texts |= {each for each in here.value if each} if here.kind == Kind.TEXTS and not code else set()
        elif here.kind in {Kind.ENVIRONMENT, Kind.ALTREP} and not isinstance(here.value, str):
            size += MANY_NUMBERS**2
        waiting += [(each, code) for _, each in contained(here)]
    return size, largest, texts


DISCLOSURES = (
    ROWS.format(rows="#", vectors="#"),
    TABLES.format(tables="#", rows="#"),
    VARIABLES.format(variables="#", values="#"),
    *(each.says for each in (IMPURITY, GAINS, SETTINGS, ERRORS)),
)
"""What disclosures of such files say, with `#` for each number."""
