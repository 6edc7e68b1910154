"""XGBoost's JSON and UBJSON documents, as XGBoost predicts margins.

Source: XGBoost, doc/model.schema, doc/tutorials/saving_model.rst and doc/tutorials/dart.rst; src/common/categorical.h:
the categories that a test lists go right.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np

from evaluators.answers import (
    Answers,
    Columns,
    Flags,
    Floats,
    Ids,
    NoModelError,
    Question,
    Questions,
    leaves,
    numbers,
    of_logarithms,
    softmax,
)

CLASSES = {"binary:logistic", "binary:logitraw", "binary:hinge"}
SEVERAL = {"multi:softprob", "multi:softmax"}
AS_IT_IS = {
    *("reg:squarederror", "reg:linear", "reg:absoluteerror", "reg:pseudohubererror", "reg:squaredlogerror"),
    *("reg:quantileerror", "rank:pairwise", "rank:ndcg", "rank:map", "survival:cox"),
}
LOGIT = {"binary:logistic", "reg:logistic"}
LOGARITHM = {"count:poisson", "reg:gamma", "reg:tweedie", "survival:aft"}


def _features(learner: Any) -> list[str]:
    names = list(learner.get("feature_names", ()))
    return names or [f"f{i}" for i in range(int(learner["learner_model_param"]["num_feature"]))]


def _model(learner: Any) -> tuple[Any, Floats]:
    """The trees' table, and the weight of each tree."""
    booster = learner["gradient_booster"]
    if booster["name"] == "dart":
        model = booster["gbtree"]["model"]
        weights = booster["weight_drop"]
    elif booster["name"] == "gbtree":
        model = booster["model"]
        weights = model.get("weight_drop", booster.get("weight_drop"))
    else:
        raise NoModelError("no booster of trees")
    trees = model["trees"]
    if int(model.get("gbtree_model_param", {}).get("num_trees", len(trees))) != len(trees) or len(
        model["tree_info"]
    ) != len(trees):
        raise NoModelError("another number of trees")
    if sorted(tree["id"] for tree in trees) != list(range(len(trees))):
        raise NoModelError("two trees at one place")
    weights = np.ones(len(trees)) if weights is None else np.asarray(weights, dtype=np.float64)
    if len(weights) != len(trees):
        raise NoModelError("another number of weights")
    return model, weights


def _predicting(model: Any) -> range:
    """The numbers of the trees that predict: from the first round's first tree to the last round's last."""
    starts = [int(each) for each in model.get("iteration_indptr", ())]
    if len(starts) < 2:
        return range(len(model["trees"]))
    if not 0 <= starts[0] <= starts[-1] <= len(model["trees"]):
        raise NoModelError("trees that are not there")
    return range(starts[0], starts[-1])


def _best(learner: Any, model: Any, width: int) -> int:
    """How many trees predict of an estimator that was stopped early."""
    best = learner.get("attributes", {}).get("best_iteration")
    trees = len(model["trees"])
    if best is None:
        return trees
    if not best.isascii() or not best.isdigit():
        raise NoModelError("a round that is no number")
    starts = [int(each) for each in model.get("iteration_indptr", ())]
    if len(starts) > 1:
        if int(best) + 1 >= len(starts):
            raise NoModelError("a round that is not there")
        return starts[int(best) + 1]
    each = width * int(model.get("gbtree_model_param", {}).get("num_parallel_tree", 1))
    if (int(best) + 1) * each > trees:
        raise NoModelError("a round that is not there")
    return (int(best) + 1) * each


def _base(learner: Any, objective: str, width: int) -> Floats:
    document = json.loads(learner["learner_model_param"]["base_score"])
    values = np.array(document if isinstance(document, list) else [document], dtype=np.float32)
    if objective in LOGIT:
        if not ((values > 0) & (values < 1)).all():
            raise NoModelError("no chance")
        values = -np.log(1 / values.astype(np.float64) - 1)
    elif objective in LOGARITHM:
        values = np.log(values)
    if len(values) not in {1, width}:
        raise NoModelError("another number of base scores")
    return np.broadcast_to(values.astype(np.float64), (width,))


def _categories(tree: Any) -> dict[int, set[int]]:
    found = {}
    categories = [int(each) for each in tree.get("categories", ())]
    parts = zip(
        tree.get("categories_nodes", ()),
        tree.get("categories_segments", ()),
        tree.get("categories_sizes", ()),
        strict=True,
    )
    for node, start, length in parts:
        if start < 0 or length < 0 or start + length > len(categories):
            raise NoModelError("categories that are not there")
        found[int(node)] = set(categories[int(start) : int(start + length)])
    return found


def _takes_left(tree: Any, node: int, x: Floats, chosen: dict[int, set[int]]) -> Flags:
    if tree["default_left"][node] not in {0, 1} or ("split_type" in tree and tree["split_type"][node] not in {0, 1}):
        raise NoModelError("neither 0 nor 1")
    if "split_type" in tree and tree["split_type"][node] == 1:
        if node not in chosen:
            raise NoModelError("a test of no categories")
        left = ~np.isin(np.nan_to_num(x, nan=-1.0), sorted(chosen[node]))
    else:
        with np.errstate(over="ignore"):
            left = x.astype(np.float32) < np.float32(tree["split_conditions"][node])
    return np.where(np.isnan(x), bool(tree["default_left"][node]), left)


def _leaves(tree: Any, x: Floats) -> Ids:
    n = len(tree["left_children"])
    per_node = ("right_children", "split_indices", "split_conditions", "default_left")
    if any(len(tree[key]) != n for key in per_node) or int(tree["tree_param"].get("num_nodes", n)) != n:
        raise NoModelError("another number of nodes")
    chosen = _categories(tree)

    def step(node: int, rows: Ids) -> tuple[int, int, Flags] | None:
        left, right = int(tree["left_children"][node]), int(tree["right_children"][node])
        if left == -1:
            return None
        feature = int(tree["split_indices"][node])
        if not (0 <= left < n and 0 <= right < n and 0 <= feature < x.shape[1]):
            raise NoModelError("a link to nowhere")
        return left, right, _takes_left(tree, node, x[rows, feature], chosen)

    return leaves(len(x), step)


def _leaf_values(tree: Any, width: int) -> Floats:
    """What each node says: one number, or one for each class."""
    stated = int(tree["tree_param"].get("size_leaf_vector", "1"))
    if stated <= 1:
        return np.asarray(tree["split_conditions"], dtype=np.float32).astype(np.float64)[:, None]
    children, rows = np.asarray(tree["left_children"]), np.asarray(tree["right_children"], dtype=np.int64)
    values = np.asarray(tree.get("leaf_weights", tree["base_weights"]), dtype=np.float32).astype(np.float64)
    if stated != width or len(values) % width:
        raise NoModelError("leaves of another number of classes")
    values = values.reshape(-1, width)
    if "leaf_weights" in tree:
        if not ((rows >= 0) & (rows < len(values)))[children == -1].all():
            raise NoModelError("a leaf that is not there")
        return np.where(children[:, None] == -1, values[np.where(children == -1, rows, 0)], 0.0)
    if len(values) != len(children):
        raise NoModelError("another number of nodes")
    return values


def _codes(learner: Any, model: Any, features: list[str], columns: Columns) -> Floats:
    """The rows as XGBoost sees them: categories of texts become their positions in the file's lists."""
    encoders = model.get("cats", {}).get("enc", [])
    found = []
    for i, name in enumerate(features):
        encoder = encoders[i] if len(encoders) == len(features) else {}
        if len(encoder.get("values", ())):
            listed = _listed(encoder)
            found.append(
                np.array([np.nan if c is None else listed.index(c) if c in listed else np.nan for c in columns[name]])
            )
        else:
            found.append(numbers(columns[name]))
    return np.column_stack(found) if found else np.empty((0, 0))


def _listed(encoder: Any) -> list[Any]:
    if "offsets" not in encoder:
        return [float(each) for each in encoder["values"]]
    content = bytes(int(each) % 256 for each in encoder["values"])
    offsets = [int(each) for each in encoder["offsets"]]
    return [content[a:b].decode() for a, b in pairwise(offsets)]


def evaluate(document: Any, columns: Columns) -> Answers:
    """The margins, and the classes that follow from them."""
    learner = document["learner"]
    objective = learner["objective"]["name"]
    if objective not in CLASSES | SEVERAL | AS_IT_IS | LOGIT | LOGARITHM:
        raise NoModelError("no such objective")
    classes = int(learner["learner_model_param"]["num_class"])
    if (objective in SEVERAL) != (classes >= 2):
        raise NoModelError("another number of classes")
    width = max(1, classes)
    model, weights = _model(learner)
    features = _features(learner)
    if len(features) != int(learner["learner_model_param"]["num_feature"]):
        raise NoModelError("another number of features")
    x = _codes(learner, model, features, columns)
    scores = np.tile(_base(learner, objective, width), (len(x), 1))
    size = abs(scores).sum(axis=1)
    trees = sorted(model["trees"], key=lambda tree: int(tree["id"]))
    for i in _predicting(model)[: _best(learner, model, width)]:
        tree, group, weight = trees[i], model["tree_info"][i], weights[i]
        if not 0 <= group < width:
            raise NoModelError("a tree of no class")
        ends = _leaves(tree, x)
        added = _leaf_values(tree, width)[ends] * np.float32(weight)
        several = added.shape[1] > 1
        if several and group:
            raise NoModelError("a vector of one class")
        scores[:, slice(None) if several else slice(int(group), int(group) + 1)] += added
        size += abs(added).sum(axis=1)
    if objective not in CLASSES | SEVERAL:
        return of_logarithms(scores, size) if objective in LOGARITHM else Answers(scores=scores, size=size)
    chosen = (scores[:, 0] > 0).astype(int) if objective in CLASSES else scores.argmax(axis=1)
    names = tuple(map(str, range(max(2, classes))))
    shares = softmax(scores) if objective in SEVERAL | LOGIT else None
    return Answers(scores=scores, size=size, labels=tuple(map(str, chosen.tolist())), classes=names, shares=shares)


def questions(document: Any) -> Questions:
    """What each test asks, by feature."""
    learner = document["learner"]
    model, _ = _model(learner)
    features = _features(learner)
    found = {name: Question() for name in features}
    for tree in model["trees"]:
        chosen = _categories(tree)
        for node in range(len(tree["left_children"])):
            if tree["left_children"][node] == -1 or not 0 <= tree["split_indices"][node] < len(features):
                continue
            asked = found[features[int(tree["split_indices"][node])]]
            if "split_type" in tree and tree["split_type"][node] == 1:
                asked.categories |= set(map(float, chosen.get(node, ())))
            else:
                asked.thresholds.add(float(np.float32(tree["split_conditions"][node])))
    return found
