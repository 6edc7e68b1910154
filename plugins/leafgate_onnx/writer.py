"""ONNX files of models: one ensemble of trees over people's columns, in double precision.

A numeric column is an input of doubles; scalers and imputers before the trees go into the thresholds. A column of
categories is an input of texts, of which a LabelEncoder makes the numbers that the trees ask about.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
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
    MissingIndicator,
    ModelIR,
    Numeric,
    Origin,
    ReleaseError,
    TreeIR,
)
from leafgate.app import Split, drop_unused_categories, invert_threshold
from leafgate_onnx import LABELS_PRODUCER, PRODUCER

Flags = NDArray[np.bool_]
PLACE = "ONNX file"
ML = "ai.onnx.ml"
IR_VERSION, OPSET, ML_OPSET = 8, 17, 3
MOST = sys.float_info.max
WEIGHT_BITS = 2.0**20
"""The weight of one vote has so many binary digits: sums of votes are exact in any order, so that ties stay ties."""

OTHER_FORMAT = "write another format, such as .json"


@dataclass
class Columns:
    """The graph's inputs, and the operators that make the features of them; `taken` are names that stand for values."""

    inputs: dict[str, int] = field(default_factory=dict)
    operators: list[Any] = field(default_factory=list)
    features: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def fresh(self, name: str) -> str:
        """The name, or one like it that nothing has yet."""
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def given(self, column: str, kind: int) -> str:
        """The input of a column, which is of one type."""
        if self.inputs.setdefault(column, kind) != kind:
            raise ReleaseError("asks about one column both as a number and as a category", place=PLACE)
        return column


@dataclass(frozen=True)
class Asked:
    """A feature as the trees of the file ask about it: its origin and, by codes of the model, the numbers written."""

    origin: Origin
    codes: Mapping[float, float] = field(default_factory=dict)


def write(model: ModelIR, original: bytes) -> bytes:
    """The model as an ONNX graph with a TreeEnsembleClassifier, or of a model of numbers a TreeEnsembleRegressor.

    Numbers of people have no place in it: of counts the shares are written. Missing texts are not told apart in ONNX.

    Args:
        model: Trees with labels, shares or counts that vote or whose mean is taken, or trees with numbers.
        original: Not needed.

    Raises:
        ReleaseError: the trees ask about sets of categories, a feature is not known by its column, or scores of classes
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
    columns.taken |= {each.origin.column for each in asked.values()}
    position = {feature: i for i, feature in enumerate(asked)}
    for feature, each in asked.items():
        _add_feature(columns, model.features[feature], each, TensorProto, helper)
    if not asked:
        raise ReleaseError("asks about nothing, and ONNX has no graph without inputs", place=PLACE, remedy=OTHER_FORMAT)
    given, features = columns.fresh("features"), columns.features
    columns.operators.append(helper.make_node("Concat", features, [given], axis=1))
    trees = [_written(tree, asked, position) for tree in model.trees]
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
    graph = helper.make_graph([*columns.operators, node], "model", inputs, outputs)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
    producer = LABELS_PRODUCER if model.values == "labels" else PRODUCER
    document = helper.make_model(graph, opset_imports=opsets, producer_name=producer, ir_version=IR_VERSION)
    return bytes(document.SerializeToString())


def _as_sum(model: ModelIR) -> ModelIR:
    """The model with leaves whose numbers the ensemble adds up: of classes shares of 1 over the number of trees."""
    number = len(model.trees)
    if not model.classes:
        mean = model.combine == "mean_per_tree"
        return replace(model, trees=tuple(_filled(t, t.values / number if mean else t.values) for t in model.trees))
    added_up = model.combine == "boost" or (number > 1 and model.combine == "sum" and model.values != "labels")
    if model.values == "scores" or added_up:
        raise ReleaseError("adds up scores or counts of classes, which are no shares", place=PLACE, remedy=OTHER_FORMAT)
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


def _weight_of_vote(trees: int) -> float:
    """1 over the number of trees, or a little less, so that adding up votes rounds nothing."""
    scale = WEIGHT_BITS * 2.0 ** math.ceil(math.log2(trees))
    return math.floor(scale / trees) / scale


def _filled(tree: TreeIR, values: Floats) -> TreeIR:
    return replace(tree, values=values, counts=None, size=None, numbers=())


def _asked(model: ModelIR) -> dict[int, Asked]:
    """The features that some tree asks about, by their positions in the model, in that order."""
    features = sorted({int(f) for tree in model.trees for f in np.unique(tree.feature[tree.feature != LEAF])})
    origins = model.origins or (None,) * len(model.features)
    found = {}
    for feature in features:
        origin = origins[feature] or Numeric(model.features[feature])
        if isinstance(origin, CategoryCodes):
            found[feature] = Asked(origin, _written_codes(origin))
        elif isinstance(origin, Numeric) and origin.zero_is_missing:
            raise ReleaseError("takes 0 for missing in a column of numbers", place=PLACE, remedy=OTHER_FORMAT)
        elif isinstance(origin, Numeric | MissingIndicator):
            found[feature] = Asked(origin)
        else:
            raise ReleaseError(
                f"its feature number {feature} is made in a way that is not known", place=PLACE, remedy=OTHER_FORMAT
            )
    if any(tree.subsets for tree in model.trees):
        raise ReleaseError("asks about sets of categories", place=PLACE, remedy=OTHER_FORMAT)
    return found


def _written_codes(origin: CategoryCodes) -> Mapping[float, float]:
    """For each code the number that is written: itself, or its place among all codes where single precision rounds."""
    codes = set(origin.codes.values()) | ({origin.otherwise} if origin.otherwise is not None else set())
    if origin.lookup_precision or not all(map(math.isfinite, codes)):
        raise ReleaseError(
            "has codes of rounded numbers, or codes that are no numbers", place=PLACE, remedy=OTHER_FORMAT
        )
    ordered = sorted(codes)
    exact = all(float(np.float32(code)) == code for code in ordered)
    return {code: code if exact else float(i) for i, code in enumerate(ordered)}


def _add_feature(columns: Columns, name: str, asked: Asked, proto: Any, helper: Any) -> None:
    """The operators that make a feature of its column."""
    origin = asked.origin
    if not isinstance(origin, CategoryCodes):
        columns.features.append(columns.given(origin.column, proto.DOUBLE))
        return
    given = columns.given(origin.column, proto.STRING)
    stand_in = origin.fill_value or None
    codes = {value: asked.codes[code] for value, code in origin.codes.items() if value != stand_in}
    default = asked.codes[origin.otherwise] if origin.otherwise is not None else _usual(origin, asked)
    keys = [value for value, code in codes.items() if code != default] or list(codes)[:1]
    coded, doubled = columns.fresh(f"{origin.column}_coded"), columns.fresh(f"{origin.column}_number")
    encoder = helper.make_node(
        "LabelEncoder",
        [given],
        [coded],
        domain=ML,
        keys_strings=keys,
        values_floats=[codes[value] for value in keys],
        default_float=default,
    )
    columns.operators += [encoder, helper.make_node("Cast", [coded], [doubled], to=proto.DOUBLE)]
    columns.features.append(doubled)


def _usual(origin: CategoryCodes, asked: Asked) -> float:
    """The number for values that the model does not take: 0 of one category's feature, else below all codes."""
    codes = sorted(asked.codes.values())
    return codes[0] if len(codes) == 2 else codes[0] - 1


def _written(tree: TreeIR, asked: Mapping[int, Asked], position: Mapping[int, int]) -> TreeIR:
    """The tree over the features of the file, with tests of doubles alone."""
    inner = tree.feature != LEAF
    threshold, missing_low = np.zeros(tree.nodes), np.where(inner, tree.flag("missing_low"), False)
    low, high = tree.low.copy(), tree.high.copy()
    threshold[inner] = doubles_going_low(tree.threshold[inner], tree.flag("strict")[inner], tree.flag("float32")[inner])
    for node in np.flatnonzero(inner).tolist():
        origin = asked[int(tree.feature[node])].origin
        split = Split(
            float(tree.threshold[node]), bool(tree.flag("strict")[node]), bool(tree.flag("float32")[node]), False
        )
        if isinstance(origin, CategoryCodes):
            threshold[node] = _between_codes(asked[int(tree.feature[node])].codes, split)
        elif isinstance(origin, MissingIndicator):
            threshold[node], missing_low[node] = MOST, False
            low[node], high[node] = (
                (tree.low if split.low(number) else tree.high)[node] for number in (origin.there, origin.gone)
            )
            if low[node] == high[node]:
                raise ReleaseError("asks whether a cell is missing, and sends everybody one way", place=PLACE)
        elif isinstance(origin, Numeric):
            if origin.fill is not None:
                missing_low[node] = split.low(origin.fill)
            if origin.steps:
                threshold[node] = min(max(invert_threshold(split, origin.steps), -MOST), MOST)
    feature = np.array([position[f] if f != LEAF else 0 for f in tree.feature.tolist()])
    return replace(
        tree, feature=np.where(inner, feature, LEAF), threshold=threshold, low=low, high=high, missing_low=missing_low
    )


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
    said = range(1, 2) if len(model.classes) == 2 else range(len(model.classes))
    rows = [(t, int(leaf), k) for t, tree in enumerate(model.trees) for leaf in tree.leaves for k in said]
    weights = [float(model.trees[t].values[leaf, k]) for t, leaf, k in rows]
    whole = all(name == str(int(name)) for name in model.classes if name.lstrip("-").isdecimal())
    numbers = whole and all(name.lstrip("-").isdecimal() and len(name) < 18 for name in model.classes)
    labels: dict[str, Any] = (
        {"classlabels_int64s": list(map(int, model.classes))}
        if numbers
        else {"classlabels_strings": list(model.classes)}
    )
    return {
        "class_treeids": [t for t, _, _ in rows],
        "class_nodeids": [leaf for _, leaf, _ in rows],
        "class_ids": [0 if len(model.classes) == 2 else k for _, _, k in rows],
        "class_weights_as_tensor": helper.make_tensor("weights", proto.DOUBLE, [len(weights)], weights),
        "post_transform": "NONE",
        **labels,
    }


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
