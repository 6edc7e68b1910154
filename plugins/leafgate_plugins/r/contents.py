"""What a file of R's discloses besides its model: tables, a value for each training row, and variables of functions.

An object that was fitted within a function has a formula whose environment holds all variables of that function, the
table that it was fitted on among them. Everything in the file that the model does not consist of is visited.
"""

from __future__ import annotations

import datetime
import re
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
from leafgate_plugins.r.serialisation import NULL, NUMBERS, PAIRS, Kind, RObject, contained
from leafgate_plugins.r.unread import unread_parts
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
    num.trees num.independent.variables num.random.splits mtry min.node.size prediction.error confusion.matrix
    splitrule treetype
    importance.mode num.samples replace max.depth r.squared min.bucket dependent.variable.name
    err.rate confusion importance importanceSD ntree mse rsq
    xNames problemType tuneValue obsLevels param
    method modelInfo modelType results bestTune dots metric perfNames maximize yLimits times levels coefnames contrasts
    resample resampledCM ptype
"""
STATISTICS = frozenset(STATISTIC_WORDS.split())
"""Parts with settings and figures of all people together, by their names, where they are small."""

FIGURE_WORDS = """
cptable parms variable.importance xlevels ylevels confusion.matrix err.rate confusion importance importanceSD mse rsq
xNames obsLevels results resample resampledCM levels coefnames modelInfo contrasts
"""
FIGURES = frozenset(FIGURE_WORDS.split())
"""Those of them that have numbers for each feature, class or tree; others have a few."""

CONFUSION = frozenset({"confusion", "confusion.matrix"})
COUNTS = CONFUSION | {"num.samples", "resampledCM", "numresp"}
"""Those of them that count people, and may be the number of somebody by accident."""

OTHER_WORDS = """
    where y model x na.action call terms predictions inbag.counts predicted oob.times votes proximity localImportance
    variable.importance.local inbag test control trainingData preProcess finalModel pred contrasts variable
"""
KNOWN_PARTS = STATISTICS | frozenset(OTHER_WORDS.split())
"""The names of what R's own functions write into an object, besides its model."""


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
    found = _Inventory(_rows_of(fit, kind), fit, kind, model)
    found.visit(whole)
    tracker = found.tracker
    names = {*model.features, *(each for texts in model.category_lists for each in texts.values), *model.classes}
    if found.short > FEW_CONSTANTS:
        tracker.add("many short vectors", found.short)
    if len(found.constants) > FEW or sum(map(len, found.words)) > MAX_LETTERS:
        tracker.add("constants of functions", MANY_NUMBERS)
    for part in unread_parts(fit, kind, model):
        tracker.add(part, MANY_NUMBERS)
    texts = {text for text in found.texts if any(map(str.isalnum, text))}  # and no operators
    tracker.check_texts("texts in calls and settings", texts, names)
    return {
        "discloses": (*_of_model(fit, kind, model), *found.disclosures(), *tracker.disclosures()),
        "category_lists": (*model.category_lists, *_thresholds(fit, kind, place)),
        "texts": tracker.texts | found.words | frozenset(map(repr, found.constants | found.numbers)),
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
        model: the model that was read.
        numbers: those of short vectors, settings and figures, which are compared with the table.
        constants: numbers in functions, but small ones.
        words: texts in functions, and names of theirs that are no plain words.
    """

    rows: int
    fit: RObject
    kind: str
    model: ModelIR
    numbers: set[float] = field(default_factory=set)
    constants: set[float] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
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
            yield FileDisclosure("variables", "high", says)

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
        if isinstance(thing.value, str):
            self._keep_name(thing.value, code=here.code)
        self._keep_forms(thing)
        if thing is self.fit:
            parts = self._parts(here)
            own = [each for each in parts if each.path[-1] in MODEL_PARTS[self.kind]]
            others = [each for each in parts if each not in own]
            return [*others, *(inner for each in own for inner in self._within_model(each))]
        if is_frame(thing) and not here.code:
            return self._table(here)
        if thing.kind in NUMBERS or thing.kind in {Kind.TEXTS, Kind.ALTREP}:
            self._vector(here)
            return [here.at(name, each) for name, each in thing.attributes.items() if name not in FORMS]
        if thing.kind == Kind.ENVIRONMENT:
            inner = _Visit(thing, here.path, variable=True)
            return [inner.at(name, each) for name, each in contained(thing)]
        for name in thing.names if thing.kind in PAIRS else ():
            self._keep_name(name, code=here.code)
        code = here.code or thing.kind in FUNCTIONS
        parts = [_Visit(each.thing, each.path, each.variable, code) for each in self._parts(here)]
        return [each for each in parts if not ("terms" in thing.classes and self._is_of_terms(each))]

    def _parts(self, here: _Visit) -> list[_Visit]:
        """What is directly within an object, but its forms, and settings and figures that are small."""
        found = list(_inner(here.thing))
        parts = [here.at(name, each) for name, each in found]
        if here.thing is not self.fit and here.path:
            return parts
        if any(name not in KNOWN_PARTS | MODEL_PARTS[self.kind] and each.kind != Kind.NULL for name, each in found):
            self.tracker.add("parts that R does not write", MANY_NUMBERS)
        return [each for each in parts if each.path and not self._is_statistic(each)]

    def _within_model(self, part: _Visit) -> Iterator[_Visit]:
        """What is in a part of the model, and no part of it: unknown parts, and attributes of known ones."""
        known, waiting = WITHIN_MODEL | {""}, [part]
        while waiting:
            here = waiting.pop()
            self._keep_forms(here.thing)
            self.texts |= {text for text in here.thing.value if text} if here.thing.kind == Kind.TEXTS else set()
            for name, each in _inner(here.thing):
                is_part = here.thing is not part.thing or name in known
                if is_part and each is not here.thing.attributes.get(name):
                    waiting.append(here.at(name, each))
                else:
                    yield here.at(name, each)

    def _keep_forms(self, thing: RObject) -> None:
        """Keep the texts of attributes that say what an object is, such as names, and record those of another kind."""
        for name, each in thing.attributes.items():
            if name not in FORMS:
                continue
            parts = [each]
            if name == "dimnames" and each.kind == Kind.LIST:
                parts = [each.attributes.get("names", NULL), *each.value]
            texts = [text for part in parts if part.kind == Kind.TEXTS for text in part.value if text]
            if not self._is_form(thing, name, each) or any(part.attributes for part in parts):
                self.tracker.add("attributes of another kind than R writes", MANY_NUMBERS)
            if thing is not self.fit.get("frame") or name != "row.names":  # the numbers of its nodes
                self.texts |= {text for text in texts if not (text.isdecimal() and len(text) < FEW_DIGITS)}

    @staticmethod
    def _is_form(thing: RObject, name: str, form: RObject) -> bool:
        """Is an attribute of the kind that R writes under its name?"""
        numbers = form.kind in {Kind.INTEGER, Kind.DOUBLE}
        if name == "dim":
            return numbers and _length(form) <= MAX_DIMENSIONS
        if name == "dimnames":
            right = form.kind == Kind.LIST and {*form.attributes} <= {"names"} and _length(form) <= MAX_DIMENSIONS
            return right and all(part.kind in {Kind.TEXTS, Kind.NULL} for part in form.value)
        return form.kind == Kind.TEXTS or (name == "row.names" and numbers and is_frame(thing))

    def _is_statistic(self, part: _Visit) -> bool:
        """Is it a part with settings and figures of all people together? Its texts and numbers are kept."""
        name, thing = part.path[-1], part.thing
        if name not in STATISTICS or thing.kind in {Kind.CALL, Kind.ENVIRONMENT}:
            return False
        content = _Content.of(thing)
        sizes = list(map(_length, content.vectors))
        largest = max(sizes, default=0)
        many = sum(sizes) > (self._most_figures() if name in FIGURES else FEW)
        n_classes = len(self.model.classes)
        many |= name in CONFUSION and largest > n_classes * (n_classes + 1)
        if content.others or many or (largest == self.rows and largest > FEW):
            return False
        for each in content.things:
            self._keep_forms(each)
        for each in (*content.constants, *(content.vectors if name == "modelInfo" else ())):
            self._constant(each)
        for text in content.names:
            self._keep_name(text, code=True)
        for each in content.vectors if name != "modelInfo" else ():  # which is caret's own description
            self.texts |= {text for text in each.value if text} if each.kind == Kind.TEXTS else set()
            self.numbers |= set() if name in COUNTS else _finite(each)
        return True

    def _most_figures(self) -> int:
        """So many numbers a table of settings or figures may have."""
        n_classes, n_features = len(self.model.classes), len(self.model.features)
        trees = len(self.model.trees)
        return 200 + 10 * n_features + n_classes**2 + n_features * (n_classes + 4) + trees * (n_classes + 2)

    def _constant(self, thing: RObject) -> None:
        """Record a constant of a function: its texts, and numbers that are not small and whole."""
        if thing.kind == Kind.TEXTS:
            self.words |= {text for text in thing.value if text}
        else:
            self.constants |= {number for number in _finite(thing) if abs(number) > 10 or number != int(number)}

    def _keep_name(self, name: str, *, code: bool) -> None:
        """Keep a name; of those in functions only names that are no plain words, as those of functions are."""
        if not code:
            self.texts.add(name)
        elif not PLAIN_WORD.fullmatch(name) and any(map(str.isalnum, name)):
            self.words.add(name)

    def _is_of_terms(self, part: _Visit) -> bool:
        """Is it what R says of a formula's columns: their names and classes, and which of them each term has?"""
        name, thing = part.path[-1], part.thing
        if not {*thing.attributes} <= FORMS:
            return False
        self._keep_forms(thing)
        if name in TEXTS_OF_TERMS and thing.kind == Kind.TEXTS:
            self.texts |= {each for each in thing.value if each}
            return True
        small = thing.kind in {Kind.INTEGER, Kind.DOUBLE} and bool(np.isin(thing.value, range(10)).all())
        return name in NUMBERS_OF_TERMS and small and _length(thing) <= (len(self.model.features) + 2) ** 2

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
            self._constant(thing)
            return
        if here.path[-1:] == ("row.names",) and _are_positions(thing):
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
            self.numbers |= _finite(thing)

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

FORMS = frozenset({"class", "levels", "tzone", "dim", "dimnames", "row.names", "names"})
"""Attributes that say what an object is."""

FEW_DIGITS = 5
"""Names of fewer digits are positions and numbers of nodes."""

MAX_DIMENSIONS = 3
FUNCTIONS = frozenset({Kind.CLOSURE, Kind.BYTE_CODE})
PLAIN_WORD = re.compile(r"[A-Za-z.]+")
MAX_LETTERS = 10_000
"""Letters of the texts in functions, all together; those of rpart have about a thousand."""


def _inner(thing: RObject) -> Iterator[tuple[str, RObject]]:
    """The objects directly within another, but the attributes that say what it is."""
    forms = {name: each for name, each in thing.attributes.items() if name in FORMS}
    yield from ((name, each) for name, each in contained(thing) if forms.get(name) is not each)


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


@dataclass
class _Content:
    """What is in an object of settings or figures.

    Attributes:
        vectors: its vectors, long constants of functions among them.
        constants: short constants of functions.
        names: names in functions.
        things: its objects, but those of functions.
        others: whether it has variables, vectors in another form, or attributes that do not say what something is.
    """

    vectors: list[RObject] = field(default_factory=list)
    constants: list[RObject] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    things: list[RObject] = field(default_factory=list)
    others: bool = False

    @classmethod
    def of(cls, thing: RObject) -> _Content:
        found, seen, waiting = cls(), set[int](), [(thing, False)]
        while waiting:
            here, code = waiting.pop()
            if id(here) in seen:
                continue
            seen.add(id(here))
            code = code or here.kind in FUNCTIONS
            if here.kind in NUMBERS or here.kind == Kind.TEXTS:
                (found.constants if code and len(here.value) <= FEW else found.vectors).append(here)
            elif isinstance(here.value, str):
                found.names.add(here.value)
            found.names |= set(here.names) if here.kind in PAIRS else set()
            found.others |= here.kind in {Kind.ENVIRONMENT, Kind.ALTREP} and not isinstance(here.value, str)
            if not code:
                found.things.append(here)
                found.others |= not {*here.attributes} <= FORMS
            waiting += [(each, code) for _, each in contained(here)]
        return found


def _finite(thing: RObject) -> set[float]:
    """The numbers of a vector, but missing and infinite ones."""
    if thing.kind not in {Kind.INTEGER, Kind.DOUBLE}:
        return set()
    numbers = numbers_in(thing)
    return set(numbers[np.isfinite(numbers)].tolist())


DISCLOSURES = (
    ROWS.format(rows="#", vectors="#"),
    TABLES.format(tables="#", rows="#"),
    VARIABLES.format(variables="#", values="#"),
    *(each.says for each in (IMPURITY, GAINS, SETTINGS, ERRORS)),
)
"""What disclosures of such files say, with `#` for each number."""
