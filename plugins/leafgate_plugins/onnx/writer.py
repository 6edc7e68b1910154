"""ONNX files of models: one ensemble of trees over people's columns, in double precision.

A numeric column is an input of doubles, a missing cell NaN; scalers and imputers before the trees go into the
thresholds. A column of categories is an input of texts, a missing cell the empty text. A LabelEncoder makes of it the
numbers that the trees test: the model's codes, and for each set that a test reads, 1 for its values.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from leafgate.api import Floats, Ids, InconclusiveError, Mask, ReleaseError
from leafgate.lazy_loading import install_command
from leafgate.models.exposure.categories import drop_unused_categories
from leafgate.models.lowering.tests import Split, invert_threshold, splits_in
from leafgate.readers import LEAF, CategoryCodes, MissingIndicator, ModelIR, Numeric, TreeIR
from leafgate_plugins.onnx import LABELS_PRODUCER, PRODUCER
from leafgate_plugins.onnx.written_features import (
    ML,
    OTHER_FORMAT,
    PLACE,
    Columns,
    Question,
    WrittenFeature,
    add_features,
    asked_of,
    questions_of,
)

IR_VERSION, OPSET, ML_OPSET = 8, 17, 3
MOST = sys.float_info.max
WEIGHT_BITS = 2.0**20
"""The weight of one vote has so many binary digits: sums of votes are exact in any order, so that ties stay ties."""


def write(model: ModelIR, original: bytes) -> bytes:
    """The model as an ONNX graph with a TreeEnsembleClassifier, or of a model of numbers a TreeEnsembleRegressor.

    Numbers of people have no place in it: of counts the shares are written. A missing text is the empty text there.
    A value that the model does not take is written as one never seen.

    Args:
        model: Trees with labels, shares or counts that vote or whose mean is taken, trees whose scores are added up,
            or trees with numbers.
        original: Not needed.

    Raises:
        ReleaseError: the trees test sets of scaled numbers, a feature is not known by its column, a leaf says no
            class, or counts of classes are added up.
        InconclusiveError: onnx is not installed.
    """
    try:
        from onnx import TensorProto, helper
    except ImportError as error:
        remedy = install_command("onnx")
        raise InconclusiveError("onnx, which writes such files, is not installed", remedy=remedy) from error
    model = drop_unused_categories(_as_sum(model))
    columns = Columns()
    asked = asked_of(model)
    if not asked:
        raise ReleaseError("asks about nothing, and ONNX has no graph without inputs", place=PLACE, remedy=OTHER_FORMAT)
    columns.taken |= dict.fromkeys((each.column for each in asked.values()), 1)
    given = add_features(columns, asked, TensorProto, helper)
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
    if model.calibrated_sums:
        raise ReleaseError("predicts by calibrated sums of its trees", place=PLACE, remedy=OTHER_FORMAT)
    if model.combine == "exp_sum":
        raise ReleaseError("predicts by the exponential of its trees' sum", place=PLACE, remedy=OTHER_FORMAT)
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
            # 1 over the number of trees, or a little less, so that adding up votes rounds nothing
            scale = WEIGHT_BITS * 2.0 ** math.ceil(math.log2(number))
            says = np.eye(len(model.classes))[says.argmax(axis=1)] * (math.floor(scale / number) / scale)
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


def _filled(tree: TreeIR, values: Floats) -> TreeIR:
    return replace(tree, values=values, counts=None, size=None, numbers=())


def _written(
    model: ModelIR, tree: TreeIR, asked: Mapping[Question, WrittenFeature], position: Mapping[Question, int]
) -> TreeIR:
    """The tree over the features of the file, with tests of doubles alone."""
    inner = tree.feature != LEAF
    threshold, missing_low = np.zeros(tree.nodes), np.where(inner, tree.flag("missing_low"), False)
    low, high, feature = tree.low.copy(), tree.high.copy(), np.full(tree.nodes, LEAF)
    strict, float32 = tree.flag("strict")[tree.compares], tree.flag("float32")[tree.compares]
    threshold[tree.compares] = doubles_going_low(tree.threshold[tree.compares], strict, float32)
    questions = questions_of(tree)
    for node, split in splits_in(tree):
        question = questions[node]
        assert question is not None
        feature[node] = position[question]
        if node in tree.subsets:
            threshold[node], missing_low[node], low[node], high[node] = 0.5, False, tree.high[node], tree.low[node]
            continue
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


def doubles_going_low(thresholds: Floats, strict: Mask, float32: Mask) -> Floats:
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

    def joined(arrays: Sequence[Ids | Mask]) -> list[int]:
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
