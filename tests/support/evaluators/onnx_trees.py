"""ONNX graphs of trees over one matrix, as onnxruntime answers: shares of classes, or numbers.

Source: ONNX, docs/Operators-ml.md: TreeEnsembleClassifier, TreeEnsembleRegressor. onnxruntime trusts the links and the
features of a tree, so these are looked at before it is asked. A document has the operators of a graph as tables.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper

from evaluators.answers import Answers, Columns, NoModelError, Question, Questions, numbers

ENSEMBLES = {"TreeEnsembleClassifier", "TreeEnsembleRegressor"}
onnxruntime.set_default_logger_severity(4)


def parse(content: bytes) -> dict[str, Any]:
    """The document in a file's bytes: its operators, and all else as bytes."""
    model = onnx.load_from_string(content)
    operators = [
        {
            "op_type": node.op_type,
            "domain": node.domain,
            "input": list(node.input),
            "output": list(node.output),
            "attributes": {each.name: _value(each) for each in node.attribute},
        }
        for node in model.graph.node
    ]
    return {"operators": operators, "model": content}


def _value(attribute: Any) -> Any:
    found = helper.get_attribute_value(attribute)
    if isinstance(found, bytes):
        return found.decode()
    if isinstance(found, str | int | float):
        return found
    return [each.decode() if isinstance(each, bytes) else each for each in found]


def dump(document: Any) -> bytes:
    """The bytes of a document."""
    model = onnx.load_from_string(document["model"])
    del model.graph.node[:]
    for each in document["operators"]:
        attributes = {key: value for key, value in each.get("attributes", {}).items() if value != []}
        node = helper.make_node(each.get("op_type", ""), each["input"], each["output"], domain=each.get("domain", ""))
        node.attribute.extend(helper.make_attribute(key, value) for key, value in sorted(attributes.items()))
        model.graph.node.append(node)
    return bytes(model.SerializeToString())


def _ensemble(document: Any) -> dict[str, Any]:
    found = [each for each in document["operators"] if each.get("op_type") in ENSEMBLES]
    if len(found) != 1:
        raise NoModelError("no ensemble of trees, or several")
    return dict(found[0]["attributes"])


def _check(trees: dict[str, Any], features: int) -> None:
    """Refuse links that are no trees, features and classes that are not there, and lists of other lengths."""
    keys = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
    columns = [trees[f"nodes_{key}"] for key in keys]
    if len({len(column) for column in columns}) != 1:
        raise NoModelError("another number of nodes")
    nodes = {(tree, node): rest for tree, node, *rest in zip(*columns, strict=True)}
    if len(nodes) != len(columns[0]):
        raise NoModelError("a node twice")
    children = [
        (tree, child) for (tree, _), (*_, mode, yes, no) in nodes.items() if mode != "LEAF" for child in (yes, no)
    ]
    if len(set(children)) != len(children) or not set(children) <= nodes.keys():
        raise NoModelError("links that are no trees")
    roots = nodes.keys() - set(children)
    if len({tree for tree, _ in roots}) != len(roots) or not roots:
        raise NoModelError("several roots, or none")
    reached, waiting = 0, list(roots)
    while waiting:
        tree, node = waiting.pop()
        reached += 1
        *_, mode, yes, no = nodes[tree, node]
        waiting += [] if mode == "LEAF" else [(tree, yes), (tree, no)]
    if reached != len(nodes):
        raise NoModelError("links that lead in a circle")
    if not all(0 <= feature < features for feature, _, mode, *_ in nodes.values() if mode != "LEAF"):
        raise NoModelError("a feature that is not there")
    if len(trees.get("nodes_missing_value_tracks_true", columns[0])) != len(nodes):
        raise NoModelError("another number of nodes")
    _check_leaves(trees, {node for node, (_, _, mode, *_) in nodes.items() if mode == "LEAF"})


def _check_leaves(trees: dict[str, Any], leaves: set[tuple[int, int]]) -> None:
    """Refuse numbers of nodes that are no leaves, and of classes that are not there."""
    kind = "class" if "class_ids" in trees else "target"
    targets = [trees[f"{kind}_{key}"] for key in ("treeids", "nodeids", "ids", "weights")]
    if len({len(column) for column in targets}) != 1 or not set(zip(*targets[:2], strict=True)) <= leaves:
        raise NoModelError("weights of nodes that are no leaves")
    width = trees.get("n_targets", 1) if kind == "target" else len(_labels(trees))
    if not all(0 <= number < width for number in targets[2]) or not 1 <= width < 100:
        raise NoModelError("a class that is not there")


def _labels(trees: dict[str, Any]) -> list[str]:
    texts, whole = trees.get("classlabels_strings", []), trees.get("classlabels_int64s", [])
    return [str(each) for each in texts or whole]


def evaluate(document: Any, columns: Columns) -> Answers:
    """The shares of classes and the classes, or the numbers."""
    trees = _ensemble(document)
    x = np.column_stack([numbers(cells) for cells in columns.values()]).astype(np.float32)
    _check(trees, x.shape[1])
    try:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(dump(document), options, providers=["CPUExecutionProvider"])
        given = np.asarray(x, dtype=np.float64 if "double" in session.get_inputs()[0].type else np.float32)
        found = session.run(None, {session.get_inputs()[0].name: given})
    except Exception as error:  # of many kinds, for files that it does not open
        raise NoModelError(str(error)[:60]) from None
    if len(found) == 1:
        scores = np.asarray(found[0], dtype=np.float64).reshape(len(x), -1)
        weights = np.array(trees["target_weights"], dtype=np.float64)
        return Answers(
            scores=scores, size=abs(scores).sum(axis=1) + abs(weights).max() * len(set(trees["nodes_treeids"]))
        )
    labels, shares = found
    names = tuple(_labels(trees))
    if isinstance(shares, list):
        names = tuple(map(str, shares[0]))
        shares = np.array([list(each.values()) for each in shares])
    shares = np.asarray(shares, dtype=np.float64)
    if shares.shape != (len(x), len(names)) or len(set(names)) != len(names):
        raise NoModelError("another number of classes")
    texts = tuple(map(str, np.asarray(labels).tolist()))
    are_shares = bool((abs(shares.sum(axis=1) - 1) < 1e-4).all() and (shares >= 0).all())
    size = np.ones(len(x))
    return Answers(scores=shares, size=size, labels=texts, classes=names, shares=shares if are_shares else None)


def questions_of(names: list[str], document: Any) -> Questions:
    """What each test asks, by the names of the columns in the order of the features."""
    trees = _ensemble(document)
    found = {name: Question() for name in names}
    nodes = zip(trees["nodes_featureids"], trees["nodes_values"], trees["nodes_modes"], strict=False)
    for feature, value, mode in nodes:
        if mode != "LEAF" and 0 <= feature < len(names):
            found[names[feature]].thresholds.add(float(np.float32(value)))
    return found
