"""ONNX files of models: one ensemble of trees over people's columns, in double precision.

A numeric column is an input of doubles, a missing cell NaN; scalers and imputers before the trees go into the
thresholds. A column of categories is an input of texts, a missing cell the empty text. A LabelEncoder makes of it the
numbers that the trees ask about: the model's codes, and for each set that a test asks about 1 for its values.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.api import (
    LEAF,
    CategoryCodes,
    Floats,
    Ids,
    InconclusiveError,
    LookupPrecision,
    MissingIndicator,
    ModelIR,
    Numeric,
    Origin,
    ReleaseError,
    TreeIR,
)
from leafgate.app import Split, drop_unused_categories, invert_threshold
from leafgate_onnx import LABELS_PRODUCER, MISSING_TEXT, PRODUCER

Flags = NDArray[np.bool_]
PLACE = "ONNX file"
ML = "ai.onnx.ml"
IR_VERSION, OPSET, ML_OPSET = 8, 17, 3
MOST = sys.float_info.max
WEIGHT_BITS = 2.0**20
"""The weight of one vote has so many binary digits: sums of votes are exact in any order, so that ties stay ties."""

OTHER_FORMAT = "write another format, such as .json"


@dataclass(frozen=True)
class Coding:
    """The number of each value of a column of categories: of its `texts`, of a missing cell, and of any other."""

    texts: Mapping[str, float]
    missing: float
    other: float
    seen: LookupPrecision = ""


@dataclass(frozen=True)
class Asked:
    """A feature as the trees of the file ask about it.

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
    """What a test asks about: a feature of the model, or whether its code is in a set."""

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


def write(model: ModelIR, original: bytes) -> bytes:
    """The model as an ONNX graph with a TreeEnsembleClassifier, or of a model of numbers a TreeEnsembleRegressor.

    Numbers of people have no place in it: of counts the shares are written. A missing text is the empty text there.
    A value that the model does not take is written as one never seen.

    Args:
        model: Trees with labels, shares or counts that vote or whose mean is taken, trees whose scores are added up,
            or trees with numbers.
        original: Not needed.

    Raises:
        ReleaseError: the trees ask about sets of numbers, a feature is not known by its column, or counts of classes
            are added up.
        InconclusiveError: onnx is not installed.
    """
    try:
        from onnx import TensorProto, helper
    except ImportError as error:
        remedy = 'pip install "leafgate[onnx]"'
        raise InconclusiveError("onnx, which writes such files, is not installed", remedy=remedy) from error
    model = drop_unused_categories(_as_sum(model))
    columns = Columns()
    asked = _asked(model)
    if not asked:
        raise ReleaseError("asks about nothing, and ONNX has no graph without inputs", place=PLACE, remedy=OTHER_FORMAT)
    columns.taken |= dict.fromkeys((each.column for each in asked.values()), 1)
    given = _add_features(columns, asked, TensorProto, helper)
    position = {question: i for i, question in enumerate(asked)}
    trees = [_written(model, tree, asked, position) for tree in model.trees]
    attributes = _node_lists(trees, TensorProto, helper)
    if model.classes:
        label, scores = columns.fresh("label"), columns.fresh("probabilities")
        attributes |= _class_lists(model, TensorProto, helper)
        kind = TensorProto.INT64 if "classlabels_int64s" in attributes else TensorProto.STRING
        outputs = [
            helper.make_tensor_value_info(label, kind, [None]),
            helper.make_tensor_value_info(scores, TensorProto.FLOAT, [None, len(model.classes)]),
        ]
        node = helper.make_node("TreeEnsembleClassifier", [given], [label, scores], domain=ML, **attributes)
    else:
        variable = columns.fresh("variable")
        attributes |= _target_lists(model, TensorProto, helper)
        outputs = [helper.make_tensor_value_info(variable, TensorProto.FLOAT, [None, 1])]
        node = helper.make_node("TreeEnsembleRegressor", [given], [variable], domain=ML, **attributes)
    inputs = [helper.make_tensor_value_info(name, kind, [None, 1]) for name, kind in columns.inputs.items()]
    graph = helper.make_graph([*columns.operators, node], "model", inputs, outputs, initializer=columns.constants)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
    producer = LABELS_PRODUCER if model.values == "labels" else PRODUCER
    document = helper.make_model(graph, opset_imports=opsets, producer_name=producer, ir_version=IR_VERSION)
    return bytes(document.SerializeToString())


def _as_sum(model: ModelIR) -> ModelIR:
    """The model with leaves whose numbers the ensemble adds up: of classes scores, or parts of a share of 1."""
    number = len(model.trees)
    if not model.classes:
        mean = model.combine == "mean_per_tree"
        return replace(model, trees=tuple(_filled(t, t.values / number if mean else t.values) for t in model.trees))
    if model.values == "scores":
        return _as_scores(model)
    if model.combine == "boost" or (number > 1 and model.combine == "sum" and model.values != "labels"):
        raise ReleaseError("adds up counts of classes, which are no shares", place=PLACE, remedy=OTHER_FORMAT)
    labels = model.values == "labels" or (number > 1 and model.combine == "vote")
    trees = []
    for tree in model.trees:
        says = np.where((tree.feature == LEAF)[:, None], tree.values, 1.0)
        if (says.sum(axis=1) <= 0).any():
            raise ReleaseError("has a leaf that says no class", place=PLACE)
        if labels:
            says = np.eye(len(model.classes))[says.argmax(axis=1)] * _weight_of_vote(number)
        else:
            says = says / says.sum(axis=1, keepdims=True) if model.values == "counts" else says
            says = says / number if number > 1 else says
        trees.append(_filled(tree, says))
    return replace(model, trees=tuple(trees), values="labels" if labels else "shares")


def _as_scores(model: ModelIR) -> ModelIR:
    """The model with scores to add up; of two classes what the second has more than the first."""
    width = len(model.classes)
    base = np.zeros(width)
    base[width - len(model.base) :] = model.base
    if width > 2:
        return replace(
            model, base=tuple(base.tolist()), trees=tuple(_filled(tree, tree.values) for tree in model.trees)
        )
    start, scores = float(base[1] - base[0]), [_of_second(tree) for tree in model.trees]
    if all((each[tree.leaves] >= 0).all() for each, tree in zip(scores, model.trees, strict=True)):
        # onnxruntime says the second class above a half, not above 0, where no weight is negative
        most = 2.0 ** math.ceil(math.log2(1.0 + scores[0][model.trees[0].leaves].max()))
        start, scores[0] = start + most, scores[0] - most
    trees = (replace(_filled(tree, each), output=None) for each, tree in zip(scores, model.trees, strict=True))
    return replace(model, base=(start,), trees=tuple(trees))


def _of_second(tree: TreeIR) -> Floats:
    """What each node of a tree adds to the second of two classes more than to the first: shape (n_nodes, 1)."""
    if tree.values.shape[1] == 1:
        return -tree.values if tree.output == 0 else tree.values
    return tree.values[:, 1:] - tree.values[:, :1]


def _weight_of_vote(trees: int) -> float:
    """1 over the number of trees, or a little less, so that adding up votes rounds nothing."""
    scale = WEIGHT_BITS * 2.0 ** math.ceil(math.log2(trees))
    return math.floor(scale / trees) / scale


def _filled(tree: TreeIR, values: Floats) -> TreeIR:
    return replace(tree, values=values, counts=None, size=None, numbers=())


def _asked(model: ModelIR) -> dict[Question, Asked]:
    """What the trees ask about, in the model's order: columns of numbers first, then what is made of categories.

    A feature that no tree asks about, and of which the model says no more than its name, stays a column of numbers: a
    policy may say what it is.
    """
    questions = {each for tree in model.trees for each in _questions(tree) if each is not None}
    given = model.origins or (None,) * len(model.features)
    origins = [Numeric(name) if one is None else one for name, one in zip(model.features, given, strict=True)]
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
        Question(i): Asked(name)
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
    for tree in model.trees:
        nodes = np.flatnonzero(tree.feature == feature)
        at, strict, missing_low = tree.threshold[nodes], tree.flag("strict")[nodes], tree.flag("missing_low")[nodes]
        if (np.where(strict, at > 0, at >= 0) != missing_low).any():
            return True
    return False


def _questions(tree: TreeIR) -> list[Question | None]:
    """What each node asks about; None of leaves."""
    float32, missing_low = tree.flag("float32").tolist(), tree.flag("missing_low").tolist()
    return [
        None
        if feature == LEAF
        else Question(feature, tree.subsets[node], float32[node], missing_low[node])
        if node in tree.subsets
        else Question(feature)
        for node, feature in enumerate(tree.feature.tolist())
    ]


def _feature(question: Question, origin: Origin, texts: Collection[str]) -> Asked:
    """How what is asked about is made of a column; `texts` are the columns that are known to be of texts."""
    chosen = question.chosen
    if isinstance(origin, CategoryCodes):
        return _of_codes(origin) if chosen is None else Asked(origin.column, _of_set(origin, chosen, question))
    if isinstance(origin, Numeric) and chosen is not None and all(isinstance(each, str) for each in chosen):
        return Asked(origin.column, _of_set(CategoryCodes(origin.column), chosen, question))
    if isinstance(origin, Numeric) and chosen is not None:
        return Asked(origin.column, _of_numbers(origin, chosen, question))
    if chosen is not None:
        raise ReleaseError("asks about sets of what is no column", place=PLACE, remedy=OTHER_FORMAT)
    if isinstance(origin, MissingIndicator) and origin.column in texts:
        return Asked(origin.column, Coding({}, 1.0, 0.0))
    if isinstance(origin, Numeric | MissingIndicator):
        return Asked(origin.column)
    raise ReleaseError(
        f"its feature number {question.feature} is made in a way that is not known", place=PLACE, remedy=OTHER_FORMAT
    )


def _of_codes(origin: CategoryCodes) -> Asked:
    """The model's codes, or the place of each among all codes where single precision rounds one."""
    codes = {*origin.codes.values(), *(each for each in (origin.otherwise, origin.missing) if each is not None)}
    ordered = sorted(code for code in codes if not math.isnan(code))
    if not all(map(math.isfinite, ordered)):
        raise ReleaseError("has infinite codes of categories", place=PLACE, remedy=OTHER_FORMAT)
    exact = all(float(np.float32(code)) == code for code in ordered)
    written = {code: code if exact else float(i) for i, code in enumerate(ordered)}
    texts = {value: written.get(code, math.nan) for value, code in _known(origin)}
    other = 0.0 if origin.otherwise is None else written.get(origin.otherwise, math.nan)
    missing = other if origin.missing is None else written.get(origin.missing, math.nan)
    return Asked(origin.column, Coding(texts, missing, other, origin.lookup_precision), written=written)


def _of_set(origin: CategoryCodes, chosen: frozenset[str | float], question: Question) -> Coding:
    """1 for values that a test sends low, which are those of the set, else 0."""
    split = Split(0.0, False, question.float32, question.missing_low, chosen)
    texts = {value: float(split.low(code)) for value, code in _known(origin)}
    texts |= {value: 1.0 for value in sorted(map(str, chosen)) if value in chosen}
    other = 0.0 if origin.otherwise is None else float(split.low(origin.otherwise))
    missing = other if origin.missing is None else float(split.low(origin.missing))
    return Coding(texts, missing, other, origin.lookup_precision)


def _of_numbers(origin: Numeric, chosen: frozenset[str | float], question: Question) -> Coding:
    """1 for the numbers of a set, which are codes that the file does not explain; a policy does."""
    numbers = sorted(each for each in chosen if not isinstance(each, str))
    exact = len(numbers) == len(chosen) and all(float(np.float32(each)) == each for each in numbers)
    if origin.steps or origin.zero_is_missing or not exact:
        raise ReleaseError("asks about sets of numbers that are no codes", place=PLACE, remedy=OTHER_FORMAT)
    missing = question.missing_low if origin.fill is None else origin.fill in chosen
    texts = {f"{each:.0f}" if each.is_integer() else str(np.float32(each)): 1.0 for each in numbers}
    return Coding(texts, float(missing), 0.0, "single")


def _known(origin: CategoryCodes) -> Iterator[tuple[str, float]]:
    """The values and their codes, but for a word that stands in for gaps."""
    return ((value, code) for value, code in origin.codes.items() if not value or value != origin.fill_value)


def _add_features(columns: Columns, asked: Mapping[Question, Asked], proto: Any, helper: Any) -> str:
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
        texts[MISSING_TEXT] = coding.missing
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
        values_floats=list(texts.values()),
        default_float=coding.other,
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


def _written(model: ModelIR, tree: TreeIR, asked: Mapping[Question, Asked], position: Mapping[Question, int]) -> TreeIR:
    """The tree over the features of the file, with tests of doubles alone."""
    inner = tree.feature != LEAF
    threshold, missing_low = np.zeros(tree.nodes), np.where(inner, tree.flag("missing_low"), False)
    low, high, feature = tree.low.copy(), tree.high.copy(), np.full(tree.nodes, LEAF)
    by_threshold = inner.copy()
    by_threshold[list(tree.subsets)] = False
    strict, float32 = tree.flag("strict"), tree.flag("float32")
    threshold[by_threshold] = doubles_going_low(
        tree.threshold[by_threshold], strict[by_threshold], float32[by_threshold]
    )
    for node, question in enumerate(_questions(tree)):
        if question is None:
            continue
        feature[node] = position[question]
        if node in tree.subsets:
            threshold[node], missing_low[node], low[node], high[node] = 0.5, False, tree.high[node], tree.low[node]
            continue
        split = Split(float(tree.threshold[node]), bool(strict[node]), bool(float32[node]), bool(missing_low[node]))
        origin = None if model.origins is None else model.origins[question.feature]
        if isinstance(origin, CategoryCodes):
            threshold[node] = _between_codes(asked[question].written, split)
        elif isinstance(origin, MissingIndicator):
            numbers = origin.there, origin.gone
            there, gone = ((tree.low if split.low(number) else tree.high)[node] for number in numbers)
            if there == gone:
                raise ReleaseError("asks whether a cell is missing, and sends everybody one way", place=PLACE)
            threshold[node], missing_low[node] = MOST if asked[question].coding is None else 0.5, False
            low[node], high[node] = there, gone
        elif isinstance(origin, Numeric) and asked[question].sparse is None:
            threshold[node], missing_low[node] = _of_number(origin, split, float(threshold[node]))
    return replace(tree, feature=feature, threshold=threshold, low=low, high=high, missing_low=missing_low, subsets={})


def _of_number(origin: Numeric, split: Split, threshold: float) -> tuple[float, bool]:
    """The threshold for a column's own numbers, and whether a missing one goes low; `threshold` is without steps."""
    missing_low = split.missing_low if origin.fill is None else split.low(origin.fill)
    if not origin.steps:
        return threshold, missing_low
    return min(max(invert_threshold(split, origin.steps), -MOST), MOST), missing_low


def _between_codes(codes: Mapping[float, float], split: Split) -> float:
    """A number that parts the written codes as the test parts those of the model."""
    if all(code == written for code, written in codes.items()):
        return math.nextafter(split.at, -math.inf) if split.strict else split.at
    return sum(split.low(code) for code in codes) - 0.5


def doubles_going_low(thresholds: Floats, strict: Flags, float32: Flags) -> Floats:
    """For each test the largest double that goes low.

    Args:
        thresholds: finite numbers.
        strict: where `<` is asked, else `<=`.
        float32: where numbers are rounded to single precision before, to the nearest and of two to the even one.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        single = thresholds.astype(np.float32)
        beyond = np.where(strict, single >= thresholds, single > thresholds)
        single = np.where(beyond, np.nextafter(single, np.float32(-np.inf)), single)
        following = np.nextafter(single, np.float32(np.inf)).astype(np.float64)
        following = np.where(np.isinf(following), 2.0**128, following)
        middle = single.astype(np.float64) / 2.0 + following / 2.0
        rounded = np.where(middle.astype(np.float32) == single, middle, np.nextafter(middle, -np.inf))
    plain = np.where(strict, np.nextafter(thresholds, -np.inf), thresholds)
    return np.asarray(np.clip(np.where(float32, rounded, plain), -MOST, MOST))


def _node_lists(trees: Sequence[TreeIR], proto: Any, helper: Any) -> dict[str, Any]:
    """The lists of nodes of all trees."""
    leaf = np.concatenate([tree.feature == LEAF for tree in trees])

    def joined(arrays: Sequence[Ids | Flags]) -> list[int]:
        return [int(number) for number in np.where(leaf, 0, np.concatenate(arrays))]

    thresholds = np.where(leaf, 0.0, np.concatenate([tree.threshold for tree in trees])).tolist()
    return {
        "nodes_treeids": [number for number, tree in enumerate(trees) for _ in range(tree.nodes)],
        "nodes_nodeids": [node for tree in trees for node in range(tree.nodes)],
        "nodes_featureids": joined([tree.feature for tree in trees]),
        "nodes_modes": ["LEAF" if each else "BRANCH_LEQ" for each in leaf.tolist()],
        "nodes_values_as_tensor": helper.make_tensor("values", proto.DOUBLE, [len(thresholds)], thresholds),
        "nodes_truenodeids": joined([tree.low for tree in trees]),
        "nodes_falsenodeids": joined([tree.high for tree in trees]),
        "nodes_missing_value_tracks_true": joined([tree.flag("missing_low") for tree in trees]),
    }


def _class_lists(model: ModelIR, proto: Any, helper: Any) -> dict[str, Any]:
    """What leaves say of classes; of two classes what they say of the second, which wins above a half.

    That stands under the first class's number, as skl2onnx writes it: else onnxruntime gives the first no probability.
    """
    two, scores = len(model.classes) == 2, model.values == "scores"
    rows = [
        (t, int(leaf), k, column)
        for t, tree in enumerate(model.trees)
        for leaf in tree.leaves
        for k, column in _said(tree, len(model.classes))
    ]
    weights = [float(model.trees[t].values[leaf, column]) for t, leaf, _, column in rows]
    whole = all(name == str(int(name)) for name in model.classes if name.lstrip("-").isdecimal())
    numbers = whole and all(name.lstrip("-").isdecimal() and len(name) < 18 for name in model.classes)
    base = list(model.base)
    labels: dict[str, Any] = (
        {"classlabels_int64s": list(map(int, model.classes))}
        if numbers
        else {"classlabels_strings": list(model.classes)}
    )
    return {
        "class_treeids": [t for t, _, _, _ in rows],
        "class_nodeids": [leaf for _, leaf, _, _ in rows],
        "class_ids": [0 if two else k for _, _, k, _ in rows],
        "class_weights_as_tensor": helper.make_tensor("weights", proto.DOUBLE, [len(weights)], weights),
        "post_transform": "NONE" if not scores or model.link != "softmax" else "LOGISTIC" if two else "SOFTMAX",
        **({"base_values_as_tensor": helper.make_tensor("base", proto.DOUBLE, [len(base)], base)} if scores else {}),
        **labels,
    }


def _said(tree: TreeIR, classes: int) -> list[tuple[int, int]]:
    """Of which classes the leaves of a tree say something, and in which columns; of two classes of the second alone."""
    if tree.values.shape[1] == 1:
        return [(classes - 1 if tree.output is None else tree.output, 0)]
    return [(k, k) for k in (range(1, 2) if classes == 2 else range(classes))]


def _target_lists(model: ModelIR, proto: Any, helper: Any) -> dict[str, Any]:
    """What leaves add to the number."""
    rows = [(t, int(leaf)) for t, tree in enumerate(model.trees) for leaf in tree.leaves]
    weights = [float(model.trees[t].values[leaf, 0]) for t, leaf in rows]
    base = helper.make_tensor("base", proto.DOUBLE, [1], list(model.base)) if model.base else None
    return {
        "target_treeids": [t for t, _ in rows],
        "target_nodeids": [leaf for _, leaf in rows],
        "target_ids": [0] * len(rows),
        "target_weights_as_tensor": helper.make_tensor("weights", proto.DOUBLE, [len(weights)], weights),
        "aggregate_function": "SUM",
        "n_targets": 1,
        "post_transform": "NONE",
        **({"base_values_as_tensor": base} if base is not None else {}),
    }
