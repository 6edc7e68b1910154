"""What the trees of a written ONNX file ask about, and the operators that make it of people's columns."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from leafgate.api import ReleaseError
from leafgate.ir.features import LookupPrecision
from leafgate.models.lowering.tests import Split, invert_threshold, parts_zero
from leafgate.readers import LEAF, CategoryCodes, MissingIndicator, ModelIR, Numeric, Origin, TreeIR
from leafgate_plugins.onnx import MISSING_TEXT

PLACE = "ONNX file"
ML = "ai.onnx.ml"
OTHER_FORMAT = "write another format, such as .json"


@dataclass(frozen=True)
class Coding:
    """The number of each value of a column of categories: of its `texts`, of a missing cell, and of any other.

    `fill_value` is the one of the texts that missing cells were filled with, if it need not be a value of the column.
    """

    texts: Mapping[str, float]
    missing: float
    other: float
    seen: LookupPrecision = ""
    fill_value: str = ""


@dataclass(frozen=True)
class WrittenFeature:
    """A feature as the trees of the file test it.

    Attributes:
        column: The column that it is made of.
        coding: How it is made of a column of categories; None of a column of numbers, which is asked about itself.
        sparse: How it is made of a column of numbers, where 0 is missing and goes elsewhere than the numbers around it.
        written: The number in the file for each code of the model, where tests compare codes with thresholds.
    """

    column: str
    coding: Coding | None = None
    sparse: Numeric | None = None
    written: Mapping[float, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """What a test reads: a feature of the model, or whether its code is in a set."""

    feature: int
    chosen: frozenset[str | float] | None = None
    float32: bool = False
    missing_low: bool = False

    @property
    def order(self) -> tuple[int, list[str], bool]:
        """By the feature and the names of categories."""
        return self.feature, sorted(map(str, self.chosen or ())), self.missing_low


@dataclass
class Columns:
    """The graph's inputs, and the operators that make the features of them; `taken` are names that stand for values.

    `taken` has for each name how many more there are that begin so.
    """

    inputs: dict[str, int] = field(default_factory=dict)
    operators: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    taken: dict[str, int] = field(default_factory=dict)

    def fresh(self, name: str) -> str:
        """The name, or one with a number behind it that nothing has yet."""
        found = name
        while found in self.taken:
            self.taken[name] += 1
            found = f"{name}_{self.taken[name]}"
        self.taken[found] = 1
        return found

    def given(self, column: str, kind: int) -> str:
        """The input of a column, which is of one type."""
        if self.inputs.setdefault(column, kind) != kind:
            raise ReleaseError("asks about one column both as a number and as a category", place=PLACE)
        return column


def asked_of(model: ModelIR) -> dict[Question, WrittenFeature]:
    """What the trees test, in the model's order: columns of numbers first, then what is made of categories.

    A feature that no tree tests, and of which the model says no more than its name, stays a column of numbers: a
    policy may say what it is.
    """
    questions = {each for tree in model.trees for each in questions_of(tree) if each is not None}
    pairs = zip(model.features, model.given_origins, strict=True)
    origins = [Numeric(name) if one is None else one for name, one in pairs]
    texts = {one.column for one in origins if isinstance(one, CategoryCodes) and not one.lookup_precision}
    found = {each: _feature(each, origins[each.feature], texts) for each in questions}
    if not found:
        return {}
    for each, one in found.items():
        origin = origins[each.feature]
        if isinstance(origin, Numeric) and origin.zero_is_missing and _sends_zero_apart(model, each.feature, origin):
            found[each] = replace(one, sparse=origin)
    texts |= {each.column for each in found.values() if each.coding is not None and not each.coding.seen}
    looked_up = {each.column for each in found.values() if each.coding is not None and each.coding.seen}
    named = {
        Question(i): WrittenFeature(name)
        for i, (name, one) in enumerate(zip(model.features, origins, strict=True))
        if one == Numeric(name) or (isinstance(one, Numeric) and one.column == name and name in looked_up)
    }
    found |= {each: one for each, one in named.items() if one.column not in texts and each not in found}
    found = dict(sorted(found.items(), key=lambda pair: pair[0].order))
    return dict(sorted(found.items(), key=lambda pair: pair[1].coding is not None))


def _sends_zero_apart(model: ModelIR, feature: int, origin: Numeric) -> bool:
    """Does a test send numbers that come to 0, which is missing to the model, elsewhere than those around them?"""
    if origin.steps:
        below, last = (invert_threshold(Split(0.0, strict, False, False), origin.steps) for strict in (True, False))
        if not last > below:  # no number comes to 0
            return False
    return parts_zero(model, feature)


def questions_of(tree: TreeIR) -> list[Question | None]:
    """What each node tests; None of leaves."""
    float32, missing_low = tree.flag("float32").tolist(), tree.flag("missing_low").tolist()
    return [
        None
        if feature == LEAF
        else Question(feature, tree.subsets[node], float32[node], missing_low[node])
        if node in tree.subsets
        else Question(feature)
        for node, feature in enumerate(tree.feature.tolist())
    ]


def _feature(question: Question, origin: Origin, texts: Collection[str]) -> WrittenFeature:
    """How what is asked about is made of a column; `texts` are the columns that are known to be of texts."""
    chosen = question.chosen
    if isinstance(origin, CategoryCodes):
        return _of_codes(origin) if chosen is None else WrittenFeature(origin.column, _of_set(origin, chosen, question))
    if isinstance(origin, Numeric) and chosen is not None and all(isinstance(each, str) for each in chosen):
        return WrittenFeature(origin.column, _of_set(CategoryCodes(origin.column), chosen, question))
    if isinstance(origin, Numeric) and chosen is not None:
        return WrittenFeature(origin.column, _of_numbers(origin, chosen, question))
    if chosen is not None:
        raise ReleaseError("asks about sets of what is no column", place=PLACE, remedy=OTHER_FORMAT)
    if isinstance(origin, MissingIndicator) and origin.column in texts:
        return WrittenFeature(origin.column, Coding({}, 1.0, 0.0))
    if isinstance(origin, Numeric | MissingIndicator):
        return WrittenFeature(origin.column)
    raise ReleaseError(
        f"its feature number {question.feature} is made in a way that is not known", place=PLACE, remedy=OTHER_FORMAT
    )


def _of_codes(origin: CategoryCodes) -> WrittenFeature:
    """The model's codes, or the place of each among all codes where single precision rounds one."""
    codes = {*origin.codes.values(), *(each for each in (origin.otherwise, origin.missing) if each is not None)}
    ordered = sorted(code for code in codes if not math.isnan(code))
    if not all(map(math.isfinite, ordered)):
        raise ReleaseError("has infinite codes of categories", place=PLACE, remedy=OTHER_FORMAT)
    exact = all(float(np.float32(code)) == code for code in ordered)
    written = {code: code if exact else float(i) for i, code in enumerate(ordered)}
    texts = {value: written.get(code, math.nan) for value, code in origin.codes.items()}
    other = 0.0 if origin.otherwise is None else written.get(origin.otherwise, math.nan)
    missing = other if origin.missing is None else written.get(origin.missing, math.nan)
    return WrittenFeature(
        origin.column, Coding(texts, missing, other, origin.lookup_precision, origin.fill_value), written=written
    )


def _of_set(origin: CategoryCodes, chosen: frozenset[str | float], question: Question) -> Coding:
    """1 for values that a test sends low, which are those of the set, else 0."""
    split = Split(0.0, False, question.float32, question.missing_low, chosen)
    texts = {value: float(split.low(code)) for value, code in origin.codes.items()}
    texts |= {value: 1.0 for value in sorted(map(str, chosen)) if value in chosen}
    other = 0.0 if origin.otherwise is None else float(split.low(origin.otherwise))
    missing = other if origin.missing is None else float(split.low(origin.missing))
    return Coding(texts, missing, other, origin.lookup_precision, origin.fill_value)


def _of_numbers(origin: Numeric, chosen: frozenset[str | float], question: Question) -> Coding:
    """1 for the numbers of a set, which are codes that the file does not explain; a policy does."""
    numbers = sorted(each for each in chosen if not isinstance(each, str))
    exact = len(numbers) == len(chosen) and all(float(np.float32(each)) == each for each in numbers)
    if origin.steps or origin.zero_is_missing or not exact:
        raise ReleaseError("asks about sets of numbers that are no codes", place=PLACE, remedy=OTHER_FORMAT)
    missing = question.missing_low if origin.fill is None else origin.fill in chosen
    texts = {f"{each:.0f}" if each.is_integer() else str(np.float32(each)): 1.0 for each in numbers}
    return Coding(texts, float(missing), 0.0, "single")


def add_features(columns: Columns, asked: Mapping[Question, WrittenFeature], proto: Any, helper: Any) -> str:
    """Adds the operators that make all features of their columns; the name of the features one after another."""
    numbers = [
        _add_sparse(columns, each.sparse, proto, helper) if each.sparse else columns.given(each.column, proto.DOUBLE)
        for each in asked.values()
        if each.coding is None
    ]
    coded = [
        _add_encoder(columns, each.column, each.coding, proto, helper)
        for each in asked.values()
        if each.coding is not None
    ]
    if coded:
        joined, doubled = columns.fresh("codes"), columns.fresh("codes_as_doubles")
        columns.operators.append(helper.make_node("Concat", coded, [joined], axis=1))
        columns.operators.append(helper.make_node("Cast", [joined], [doubled], to=proto.DOUBLE))
        numbers.append(doubled)
    given = columns.fresh("features")
    columns.operators.append(helper.make_node("Concat", numbers, [given], axis=1))
    return given


STEPS = {"plus": "Add", "minus": "Sub", "times": "Mul", "over": "Div"}
"""Operators that do what a step does, in double precision."""


def _add_sparse(columns: Columns, origin: Numeric, proto: Any, helper: Any) -> str:
    """Adds the operators that make a feature whose 0 is missing of a column of numbers; the name of the feature."""

    def constant(number: float) -> str:
        name = columns.fresh("constant")
        columns.constants.append(helper.make_tensor(name, proto.DOUBLE, [1], [number]))
        return name

    def made(kind: str, *given: str, **attributes: Any) -> str:
        name = columns.fresh("number")
        columns.operators.append(helper.make_node(kind, list(given), [name], **attributes))
        return name

    column = columns.given(origin.column, proto.DOUBLE)
    number = column
    for step in origin.steps:
        if step.operation in STEPS:
            number = made(STEPS[step.operation], number, constant(step.by))
        elif step.operation == "single":
            number = made("Cast", made("Cast", number, to=proto.FLOAT), to=proto.DOUBLE)
        else:
            why = "takes 0 for missing in a column whose numbers are cut off at bounds"
            raise ReleaseError(why, place=PLACE, remedy=OTHER_FORMAT)
    number = made("Where", made("Equal", number, constant(0.0)), constant(math.nan), number)
    if origin.fill:  # 0 in place of a missing number is missing
        number = made("Where", made("IsNaN", column), constant(origin.fill), number)
    return number


def _add_encoder(columns: Columns, column: str, coding: Coding, proto: Any, helper: Any) -> str:
    """Adds the operators that give the values of a column their numbers; the name of these."""
    given = columns.given(column, proto.STRING if not coding.seen else proto.DOUBLE)
    texts = {text: number for text, number in coding.texts.items() if not _same(number, coding.other)}
    if coding.seen and not _same(coding.missing, coding.other):
        given = _add_fill(columns, given, coding, proto, helper)
    elif not coding.seen and (not texts or not _same(coding.missing, coding.other)):
        fill = {coding.fill_value: texts.pop(coding.fill_value)} if coding.fill_value in texts else {}
        gap = {MISSING_TEXT: coding.missing}  # by its place the reader knows what fills gaps
        texts = {**texts, **fill, **gap} if fill else {**gap, **texts}
    for kind, precisions in ((proto.FLOAT, ("single", "single_whole")), (proto.INT64, ("whole", "single_whole"))):
        if coding.seen in precisions:
            seen = columns.fresh("seen")
            columns.operators.append(helper.make_node("Cast", [given], [seen], to=kind))
            given = seen
    made = columns.fresh("coded")
    keys = _keys(coding, texts)
    encoder = helper.make_node(
        "LabelEncoder",
        [given],
        [made],
        domain=ML,
        values_floats=list(map(float, texts.values())),
        default_float=float(coding.other),
        **keys,
    )
    columns.operators.append(encoder)
    return made


def _add_fill(columns: Columns, given: str, coding: Coding, proto: Any, helper: Any) -> str:
    """Adds the operators that put a number with the code of a missing one in its place; the name of the numbers."""
    alike = [text for text, number in coding.texts.items() if _same(number, coding.missing)]
    if not alike:
        raise ReleaseError(
            "has a code of its own for missing cells of a column whose numbers are rounded before they are looked up",
            place=PLACE,
            remedy=OTHER_FORMAT,
        )
    constant, absent, filled = (columns.fresh(name) for name in ("constant", "absent", "filled"))
    columns.constants.append(helper.make_tensor(constant, proto.DOUBLE, [1], [float(alike[0])]))
    columns.operators.append(helper.make_node("IsNaN", [given], [absent]))
    columns.operators.append(helper.make_node("Where", [absent, constant, given], [filled]))
    return filled


def _keys(coding: Coding, texts: Iterable[str]) -> dict[str, Any]:
    """The values that an encoder looks up, as it sees them."""
    if not coding.seen:
        return {"keys_strings": list(texts)}
    if coding.seen == "single":
        return {"keys_floats": list(map(float, texts))}
    return {"keys_int64s": [int(float(text)) for text in texts]}


def _same(number: float, other: float) -> bool:
    return number == other or (math.isnan(number) and math.isnan(other))
