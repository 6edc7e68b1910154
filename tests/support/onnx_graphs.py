"""Graphs written by hand around a few stumps, one for each feature that the operators make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

ML = "ai.onnx.ml"
INPUTS: Mapping[str, tuple[int, int]] = {
    "a": (TensorProto.FLOAT, 1),
    "b": (TensorProto.FLOAT, 1),
    "d": (TensorProto.DOUBLE, 1),
    "w": (TensorProto.INT64, 1),
    "t": (TensorProto.STRING, 1),
    "o": (TensorProto.BOOL, 1),
    "m": (TensorProto.FLOAT, 3),
}
"""What graphs here are given, with the type and the number of columns of each."""


def op(kind: str, given: str, made: str = "y", **attributes: Any) -> Any:
    """An operator; its inputs and outputs by names with blanks between."""
    learned = kind in {
        "Scaler",
        "Imputer",
        "OneHotEncoder",
        "LabelEncoder",
        "ArrayFeatureExtractor",
        "FeatureVectorizer",
    }
    named = [name.replace("-", "") for name in given.split(" ")]
    return helper.make_node(kind, named, made.split(" "), domain=ML if learned else "", **attributes)


def graph_of(
    operators: Sequence[Any], constants: Mapping[str, Any] | None = None, *, width: int, made: str = "y"
) -> Any:
    """The operators with stumps behind them; the features come out too."""
    asked = {name for node in operators for name in node.input} | {made}
    given = [
        helper.make_tensor_value_info(name, kind, [None, size])
        for name, (kind, size) in INPUTS.items()
        if name in asked
    ]
    nodes = list(range(width))
    document: dict[str, Any] = {
        "nodes_treeids": [tree for tree in nodes for _ in range(3)],
        "nodes_nodeids": [0, 1, 2] * width,
        "nodes_featureids": [feature for feature in nodes for _ in range(3)],
        "nodes_modes": [b"BRANCH_LEQ", b"LEAF", b"LEAF"] * width,
        "nodes_values": [0.5, 0.0, 0.0] * width,
        "nodes_truenodeids": [1, 0, 0] * width,
        "nodes_falsenodeids": [2, 0, 0] * width,
        "target_treeids": [tree for tree in nodes for _ in range(2)],
        "target_nodeids": [1, 2] * width,
        "target_ids": [0] * 2 * width,
        "target_weights": [float(2**tree * side) for tree in nodes for side in range(2)],
        "n_targets": 1,
    }
    trees = helper.make_node("TreeEnsembleRegressor", [made], ["number"], domain=ML, **document)
    outputs = [helper.make_tensor_value_info("number", TensorProto.FLOAT, None)]
    kept = [
        helper.make_tensor(name, TensorProto.STRING, value.shape, value.ravel().tolist())
        if value.dtype.kind == "U"
        else numpy_helper.from_array(value, name)
        for name, value in ((name, np.asarray(value)) for name, value in (constants or {}).items())
    ]
    made_graph = helper.make_graph([*operators, trees], "g", given, outputs, kept)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(ML, 3)]
    return helper.make_model(made_graph, opset_imports=opsets, ir_version=9)


def with_features(document: Any, made: str = "y") -> Any:
    """The graph with what its trees are given as an output, for runtimes alone."""
    shown = type(document).FromString(document.SerializeToString())
    if made in INPUTS:
        return shown
    shown.graph.output.append(helper.make_empty_tensor_value_info(made))
    return shown


def classifier(
    tests: Sequence[tuple[int, str, float, int, int]],
    shares: Mapping[int, Sequence[float]],
    labels: Sequence[int] | Sequence[str],
    *,
    width: int,
    tracks: int = 0,
) -> Any:
    """A model of one tree, by the operator TreeEnsembleClassifier.

    Args:
        tests: the first nodes: feature, mode, threshold, and the nodes where it is true and where it is not.
        shares: the shares of the classes at each leaf, by its number.
        labels: the classes.
        width: how many numbers the model is given.
        tracks: 1 where missing numbers go where tests are true.
    """
    ends = len(shares)
    features, modes, thresholds, yes, no = zip(*tests, (0, "LEAF", 0.0, 0, 0), strict=True)
    padded = {"featureids": features, "modes": modes, "values": thresholds, "truenodeids": yes, "falsenodeids": no}
    kind = "strings" if isinstance(labels[0], str) else "int64s"
    attributes: dict[str, Any] = {f"classlabels_{kind}": list(labels)}
    for name, column in padded.items():
        attributes[f"nodes_{name}"] = [*column[:-1], *column[-1:] * ends]
    node = helper.make_node(
        "TreeEnsembleClassifier",
        ["X"],
        ["l", "p"],
        domain=ML,
        nodes_treeids=[0] * (len(tests) + ends),
        nodes_nodeids=list(range(len(tests) + ends)),
        nodes_missing_value_tracks_true=[tracks] * len(tests) + [0] * ends,
        class_treeids=[0] * ends * len(labels),
        class_nodeids=[leaf for leaf in shares for _ in labels],
        class_ids=list(range(len(labels))) * ends,
        class_weights=[share for of_leaf in shares.values() for share in of_leaf],
        **attributes,
    )
    given = [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, width])]
    of_labels = TensorProto.STRING if kind == "strings" else TensorProto.INT64
    outputs = [
        helper.make_tensor_value_info("l", of_labels, [None]),
        helper.make_tensor_value_info("p", TensorProto.FLOAT, [None, len(labels)]),
    ]
    sets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, 3)]
    return helper.make_model(helper.make_graph([node], "g", given, outputs), opset_imports=sets, ir_version=9)
