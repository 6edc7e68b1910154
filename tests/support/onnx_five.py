"""Ensembles of ONNX's older operators rewritten by hand as TreeEnsemble (ai.onnx.ml, version 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ML = "ai.onnx.ml"
MODES = {"BRANCH_LEQ": 0, "BRANCH_LT": 1, "BRANCH_GTE": 2, "BRANCH_GT": 3, "BRANCH_EQ": 4, "BRANCH_NEQ": 5, "MEMBER": 6}


def ensemble(
    roots: Sequence[int],
    nodes: Sequence[tuple[int, float, str, tuple[str, int], tuple[str, int]]],
    leaves: Sequence[tuple[int, float]],
    targets: int,
    **more: Any,
) -> Any:
    """`nodes` are feature, threshold, mode, and what is next if true and if false: `node` or `leaf`, number.

    `leaves` are target and weight.
    """
    feature, at, modes, yes, no = zip(*nodes, strict=True)
    document: dict[str, Any] = {
        "n_targets": targets,
        "tree_roots": list(roots),
        "nodes_featureids": list(feature),
        "nodes_splits": numpy_helper.from_array(np.array(at, dtype=np.float32)),
        "nodes_modes": numpy_helper.from_array(np.array([MODES[mode] for mode in modes], dtype=np.uint8)),
        "nodes_truenodeids": [number for _, number in yes],
        "nodes_falsenodeids": [number for _, number in no],
        "nodes_trueleafs": [int(what == "leaf") for what, _ in yes],
        "nodes_falseleafs": [int(what == "leaf") for what, _ in no],
        "leaf_targetids": [target for target, _ in leaves],
        "leaf_weights": numpy_helper.from_array(np.array([weight for _, weight in leaves], dtype=np.float32)),
    }
    return helper.make_node("TreeEnsemble", ["X"], ["scores"], domain=ML, **document | more)


def graph(node: Any, width: int, targets: int, classes: Sequence[Any] | None = None, *, gather: bool = False) -> Any:
    """The operator in a graph; with `classes` (none: their numbers) the label of the largest number comes first."""
    given = [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, width])]
    scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, [None, targets])
    operators, outputs, constants = [node], [scores], []
    if classes is not None:
        operators.append(helper.make_node("ArgMax", ["scores"], ["best"], axis=1, keepdims=0))
        kind = TensorProto.INT64
        if len(classes):
            texts = isinstance(classes[0], str)
            kind = TensorProto.STRING if texts else TensorProto.INT64
            constants.append(helper.make_tensor("classes", kind, [len(classes)], classes))
            choose = {"op_type": "Gather"} if gather else {"op_type": "ArrayFeatureExtractor", "domain": ML}
            operators.append(helper.make_node(inputs=["classes", "best"], outputs=["label"], **choose))
        outputs.insert(0, helper.make_tensor_value_info("label" if len(classes) else "best", kind, None))
    made = helper.make_graph(operators, "g", given, outputs, constants)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(ML, 5)]
    return helper.make_model(made, opset_imports=opsets, ir_version=9)


def rewritten(document: onnx.ModelProto) -> Any:
    """A TreeEnsembleClassifier or Regressor as a TreeEnsemble: each tree becomes one for each class."""
    old = next(node for node in document.graph.node if node.op_type.startswith("TreeEnsemble"))
    fields = {a.name: helper.get_attribute_value(a) for a in old.attribute}
    prefix = "class" if old.op_type.endswith("Classifier") else "target"
    classes = fields.get("classlabels_strings") or fields.get("classlabels_int64s") or [b"number"]
    targets = len(classes)
    weights: dict[tuple[int, int, int], float] = {}
    rows = (fields[f"{prefix}_{key}"] for key in ("treeids", "nodeids", "ids", "weights"))
    for tree, node, target, weight in zip(*rows, strict=True):
        weights[tree, node, target] = weight
    if targets == 2 and len({target for *_, target in weights}) == 1:  # shares of the second class
        n = len({tree for tree, *_ in weights})
        weights |= {(tree, node, 0): 1 / n - weight for (tree, node, _), weight in weights.items()}
        weights |= {(tree, node, 1): 1 / n - weights[tree, node, 0] for tree, node, _ in list(weights)}
    nodes, leaves, roots = list[Any](), list[tuple[int, float]](), list[int]()
    for target in range(targets):
        for number in sorted(set(fields["nodes_treeids"])):
            roots.append(len(nodes))
            _one(fields, number, target, weights, nodes, leaves)
    width = document.graph.input[0].type.tensor_type.shape.dim[1].dim_value
    names = [name.decode() if isinstance(name, bytes) else name for name in classes]
    labelled = None if prefix == "target" else names
    return graph(ensemble(roots, nodes, leaves, targets), width, targets, labelled)


def _one(
    document: Mapping[str, Any],
    number: int,
    target: int,
    weights: Mapping[tuple[int, int, int], float],
    nodes: list[Any],
    leaves: list[tuple[int, float]],
) -> None:
    """One tree for one target, its nodes and leaves put after those there are."""
    mine = [i for i, tree in enumerate(document["nodes_treeids"]) if tree == number]
    where, kinds = dict[int, tuple[str, int]](), [document["nodes_modes"][i].decode() for i in mine]
    n = len(nodes)
    for i, kind in zip(mine, kinds, strict=True):
        node = document["nodes_nodeids"][i]
        if kind == "LEAF":
            where[node] = ("leaf", len(leaves))
            leaves.append((target, weights.get((number, node, target), 0.0)))
        else:
            where[node] = ("node", n)
            n += 1
    for i, kind in zip(mine, kinds, strict=True):
        if kind != "LEAF":
            yes, no = (where[document[f"nodes_{way}nodeids"][i]] for way in ("true", "false"))
            nodes.append((document["nodes_featureids"][i], document["nodes_values"][i], kind, yes, no))
    if len(mine) == 1:
        leaf = where[document["nodes_nodeids"][mine[0]]]
        nodes.append((0, 0.0, "BRANCH_LEQ", leaf, leaf))
