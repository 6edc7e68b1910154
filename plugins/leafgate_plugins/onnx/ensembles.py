"""The lists of an ONNX TreeEnsembleClassifier or TreeEnsembleRegressor as trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leafgate.api import Combine, Floats, Ids, ReleaseError
from leafgate.readers import LEAF, RATIOS_DISCLOSURE, SCORES_DISCLOSURE, ModelIR, NodeNumbers, NumberKind, TreeIR
from leafgate_plugins.onnx import LABELS_PRODUCER
from leafgate_plugins.onnx.ensemble_v5 import finite_thresholds, grown, lists_of, targets_of
from leafgate_plugins.onnx.graph import Graph, Operator, numbers, texts
from leafgate_plugins.onnx.postprocessing import Role, classes_of

LOW, STRICT, REVERSED, EQUAL = b"BRANCH_LEQ", {b"BRANCH_LT", b"BRANCH_GTE"}, {b"BRANCH_GT", b"BRANCH_GTE"}, b"BRANCH_EQ"
MODES = {LOW, *STRICT, *REVERSED, EQUAL, b"BRANCH_NEQ", b"LEAF"}


@dataclass(frozen=True)
class Grown:
    """A tree without what its leaves say, its number in the file, and its nodes' ids there."""

    tree: TreeIR
    number: int
    ids: Ids


def trees_of(ensemble: Operator, place: str) -> tuple[list[Grown], int]:
    """Every tree without what its leaves say, and how many features are asked about."""
    lists = {key: integer_attribute(ensemble, f"nodes_{key}", place) for key in ("treeids", "nodeids", "featureids")}
    ways = {key: integer_attribute(ensemble, f"nodes_{key}", place) for key in ("truenodeids", "falsenodeids")}
    values, modes = numbers(ensemble, "nodes_values", place), texts(ensemble, "nodes_modes")
    tracks = numbers(ensemble, "nodes_missing_value_tracks_true", place)
    tracks = np.zeros(len(modes)) if tracks is None or not len(tracks) else tracks
    if values is None or any(len(one) != len(modes) for one in (*lists.values(), *ways.values(), values, tracks)):
        raise ReleaseError("its lists of nodes are not of one length", place=place)
    if not np.isin(tracks, (0, 1)).all():
        raise ReleaseError("says neither yes nor no where missing numbers go", place=place)
    if not set(modes) <= MODES:
        raise ReleaseError("asks in a way that is not read here", place=place)
    kinds = np.array(modes, dtype="S12")
    width = int(lists["featureids"].max(initial=0)) + 1
    if not 0 < width <= 100_000 or lists["featureids"].min(initial=0) < 0:
        raise ReleaseError("asks about features that there cannot be", place=place)
    order = np.argsort(lists["treeids"], kind="stable")
    starts = np.flatnonzero(np.diff(lists["treeids"][order], prepend=lists["treeids"][order][:1] - 1))
    parts = np.split(order, starts[1:]) if len(order) else []
    built = [_tree({**lists, **ways}, values, kinds, tracks != 0, rows, place) for rows in parts]
    return _with_rates(built, numbers(ensemble, "nodes_hitrates", place), parts), width


def _with_rates(trees: list[Grown], rates: Floats | None, parts: Sequence[Ids]) -> list[Grown]:
    """The trees with how often each node was reached, where the file has it; converters write 0 or 1 everywhere."""
    if rates is None or len(rates) != sum(map(len, parts)) or np.isin(rates, (0, 1)).all():
        return trees
    result = rates.astype(np.float64)
    kind: NumberKind = "rows" if result.max() > 1 and (result == np.rint(result)).all() else "weight"
    return [
        replace(each, tree=replace(each.tree, numbers=(NodeNumbers("nodes_hitrates", kind, result[rows]),)))
        for each, rows in zip(trees, parts, strict=True)
    ]


def integer_attribute(ensemble: Operator, name: str, place: str) -> Ids:
    found = numbers(ensemble, name, place)
    if found is None or found.dtype != np.int64:
        raise ReleaseError(f"`{name}` must be a list of whole numbers", place=place)
    return found


def _tree(
    lists: Mapping[str, Ids],
    values: Floats,
    kinds: np.ndarray,
    tracks: np.ndarray,
    rows: Ids,
    place: str,
) -> Grown:
    """One tree: its nodes numbered in the order they stand, the root first."""
    ids, mode = lists["nodeids"][rows], kinds[rows]
    leaf = mode == b"LEAF"
    where = _positions(ids, place)
    on_true, on_false = (_looked_up(where, ids, lists[key][rows], leaf) for key in ("truenodeids", "falsenodeids"))
    turned = np.isin(mode, [*REVERSED, b"BRANCH_NEQ"])
    missing = tracks[rows]
    at = values[rows]
    equal = np.isin(mode, [EQUAL, b"BRANCH_NEQ"])
    threshold, strict = finite_thresholds(at, np.isin(mode, list(STRICT)), equal)
    tree = TreeIR(
        feature=np.where(leaf, LEAF, lists["featureids"][rows]),
        threshold=np.where(leaf, np.nan, threshold),
        low=np.where(leaf, LEAF, np.where(turned, on_false, on_true)),
        high=np.where(leaf, LEAF, np.where(turned, on_true, on_false)),
        values=np.zeros((len(rows), 1)),
        strict=strict,
        missing_low=np.where(mode == b"BRANCH_NEQ", False, np.where(turned, ~missing, missing)),
        subsets={int(node): frozenset({float(at[node])}) for node in np.flatnonzero(equal)},
    )
    return Grown(tree, int(lists["treeids"][rows[0]]), ids)


def _positions(ids: Ids, place: str) -> Ids:
    """The order of the nodes by their ids; no id stands twice."""
    order = np.argsort(ids, kind="stable")
    if (np.diff(ids[order]) == 0).any():
        raise ReleaseError("has two nodes of one number in a tree", place=place)
    return order


def _looked_up(order: Ids, ids: Ids, wanted: Ids, leaf: np.ndarray) -> Ids:
    """The position of each wanted id; one beyond all nodes where there is none."""
    ranked = ids[order]
    at = np.minimum(np.searchsorted(ranked, wanted), len(ids) - 1)
    return np.where(ranked[at] == wanted, order[at], np.where(leaf, LEAF, len(ids)))


def _weight_lists(ensemble: Operator, prefix: str, trees: Sequence[Grown], place: str) -> tuple[Any, ...]:
    """What leaves add: for each statement the tree, the node in it, the class or target, and the number."""
    keys = [integer_attribute(ensemble, f"{prefix}_{key}", place) for key in ("treeids", "nodeids", "ids")]
    weights = numbers(ensemble, f"{prefix}_weights", place)
    if weights is None or any(len(key) != len(weights) for key in keys):
        raise ReleaseError("its lists of leaves are not of one length", place=place)
    treeids, nodeids, ids = keys
    starts = np.array([each.number for each in trees])
    tree = np.searchsorted(starts, treeids)
    if not len(trees) or (tree >= len(trees)).any() or (starts[np.minimum(tree, len(trees) - 1)] != treeids).any():
        raise ReleaseError("says something of a tree that there is not", place=place)
    return tree, nodeids, ids, weights


def with_says(ensemble: Operator, prefix: str, trees: Sequence[Grown], width: int, place: str) -> tuple[TreeIR, ...]:
    """The trees with what their leaves say; of a class said twice onnxruntime takes one number or adds both up."""
    tree, nodeids, ids, weights = _weight_lists(ensemble, prefix, trees, place)
    if width > 1_000 or (ids < 0).any() or (ids >= width).any():
        raise ReleaseError("says something of a class that there is not", place=place)
    built = []
    order = np.argsort(tree, kind="stable")
    bounds = np.searchsorted(tree[order], np.arange(len(trees) + 1))
    for i, each in enumerate(trees):
        own = order[bounds[i] : bounds[i + 1]]
        sorted_ids = np.argsort(each.ids, kind="stable")
        at = _looked_up(sorted_ids, each.ids, nodeids[own], np.zeros(len(own), dtype=bool))
        if (at >= each.tree.nodes).any() or (each.tree.feature[at] != LEAF).any():
            raise ReleaseError("says something of a node that is no leaf", place=place)
        if len(np.unique(at * width + ids[own])) < len(own):
            raise ReleaseError("says two numbers of one class at one leaf", place=place)
        says = np.zeros((each.tree.nodes, width))
        says[at, ids[own]] = weights[own]
        built.append(replace(each.tree, values=says))
    return tuple(built)


CLOSE = 1e-4
KINDS = ("TreeEnsembleClassifier", "TreeEnsembleRegressor", "TreeEnsemble")


def model_of(ensemble: Operator, graph: Graph, roles: Mapping[str, Role], place: str) -> tuple[ModelIR, int]:
    """The model without its features, and how many of them its trees ask about."""
    if ensemble.kind == "TreeEnsemble":
        model = _five(ensemble, graph, roles, place)
        return model, 1 + max(int(tree.feature.max()) for tree in model.trees)
    trees, width = trees_of(ensemble, place)
    if ensemble.kind == "TreeEnsembleRegressor":
        return _regressor(ensemble, trees, place), width
    model = _classifier(ensemble, trees, place)
    return (_as_labels(model, ensemble, place) if graph.producer == LABELS_PRODUCER else model), width


def _as_labels(model: ModelIR, ensemble: Operator, place: str) -> ModelIR:
    """The model that leafgate wrote with labels, where each leaf gives its class the same weight; else as it is."""
    weights = numbers(ensemble, "class_weights", place)
    if model.values != "shares" or weights is None or len(np.unique(weights[weights != 0])) > 1:
        return model
    whole = [np.rint(tree.values) for tree in model.trees]
    said = [(rounded[tree.leaves], tree.values[tree.leaves]) for rounded, tree in zip(whole, model.trees, strict=True)]
    if not all((rounded.sum(axis=1) == 1).all() and (abs(rounded - says) < CLOSE).all() for rounded, says in said):
        return model
    trees = tuple(replace(tree, values=values) for tree, values in zip(model.trees, whole, strict=True))
    combine: Combine = "vote" if len(trees) > 1 else "one"
    return replace(model, trees=trees, values="labels", combine=combine, discloses=())


def _five(ensemble: Operator, graph: Graph, roles: Mapping[str, Role], place: str) -> ModelIR:
    """A sum for each target, or the mean over all trees; the class is the one of the largest, the first of several."""
    targets, how = targets_of(ensemble), ensemble.attributes.get("aggregate_function", 1)
    classes = classes_of(graph, roles, targets, place)
    if ensemble.attributes.get("post_transform", 0) != 0 or (targets == 1) != (not classes) or not targets:
        raise ReleaseError("predicts several numbers, or changes them afterwards", place=place)
    if how not in {0, 1}:
        raise ReleaseError("takes the least or the most of its trees' numbers", place=place)
    trees = grown(lists_of(ensemble, place), targets, place)
    if how == 0:
        trees = [replace(tree, values=tree.values / len(trees)) for tree in trees]
    return ModelIR(
        "onnx", (), classes, tuple(trees), "scores" if classes else "values", "boost", discloses=(SCORES_DISCLOSURE,)
    )


def _classifier(ensemble: Operator, trees: Sequence[Grown], place: str) -> ModelIR:
    """Shares, where all leaves' numbers are such; else scores. Two classes may share one list of numbers.

    Then the number is of the second class: it wins above 0, or above a half where all numbers are positive.
    Source: onnxruntime, tree_ensemble_aggregator.h, `write_scores` and the class's binary case.
    """
    found = numbers(ensemble, "classlabels_int64s", place)
    if found is None:
        found = numbers(ensemble, "classlabels_ints", place)
    named = [label.decode("utf-8", "replace") for label in texts(ensemble, "classlabels_strings")]
    classes = tuple(named) if named else tuple(map(str, [] if found is None else found.tolist()))
    base = numbers(ensemble, "base_values", place)
    start = tuple(map(float, [] if base is None else base.tolist()))
    ids = np.unique(integer_attribute(ensemble, "class_ids", place))
    alone = len(classes) == 2 and len(ids) == 1
    built = (
        with_says(ensemble, "class", trees, 1 if alone else len(classes), place)
        if not alone
        else _alone(ensemble, trees, place)
    )
    leaves = np.concatenate([tree.values[tree.leaves] for tree in built])
    if len(classes) == 2 and not alone:
        _check_two(ensemble, built, leaves, place)
    positive = bool((leaves >= 0).all()) and not any(start)
    n = len(built)
    transform = ensemble.attributes.get("post_transform", "NONE")
    if positive and alone and (leaves <= (1 + CLOSE) / n).all():
        _check_transform(transform, ("NONE",), place)
        built = tuple(
            replace(tree, values=np.column_stack([1 - n * tree.values, n * tree.values]).clip(0, 1)) for tree in built
        )
        return _shares(classes, built)
    if positive and not alone and (abs(leaves.sum(axis=1) - 1 / n) < CLOSE / n).all():
        _check_transform(transform, ("NONE",), place)
        return _shares(classes, tuple(replace(tree, values=_scaled(tree)) for tree in built))
    _check_transform(transform, ("NONE", "LOGISTIC") if alone else ("NONE", "LOGISTIC", "SOFTMAX"), place)
    if alone:
        bias = -0.5 if positive else 0.0
        start = ((start[0] if start else 0.0) + bias,)
    model = ModelIR("onnx", (), classes, built, "scores", "boost", start, discloses=(SCORES_DISCLOSURE,))
    return replace(model, link="other") if transform == "NONE" else model


def _check_transform(transform: Any, known: Sequence[str], place: str) -> None:
    """Refuse numbers of classes that are changed after the trees in a way that makes other shares of them."""
    if transform not in known:
        raise ReleaseError(
            "changes what its trees say of the classes in a way that is not read here",
            place=f"{place}.post_transform",
            remedy=f"read: {', '.join(known)}",
        )


def _check_two(ensemble: Operator, trees: Sequence[TreeIR], leaves: Floats, place: str) -> None:
    """Two classes with a number each: onnxruntime says the second wherever its number is above 0, larger or not.

    Source: onnxruntime, tree_ensemble_aggregator.h, `_set_score_binary`.
    """
    weights_in_file = len(integer_attribute(ensemble, "class_ids", place))
    second = leaves[:, 1] > 0
    if len(trees) > 1 or weights_in_file != 2 * len(leaves) or (second != (leaves[:, 1] > leaves[:, 0])).any():
        raise ReleaseError(
            "has two classes with numbers of both, of which onnxruntime does not say the larger",
            place=place,
            remedy="leave the numbers of the first class out, as skl2onnx does",
        )


def _alone(ensemble: Operator, trees: Sequence[Grown], place: str) -> tuple[TreeIR, ...]:
    """Trees whose leaves have one number each, whichever class that is written down for."""
    ids = integer_attribute(ensemble, "class_ids", place)
    one = replace(ensemble, attributes={**ensemble.attributes, "class_ids": np.zeros(len(ids), dtype=np.int64)})
    return with_says(one, "class", trees, 1, place)


def _scaled(tree: TreeIR) -> Floats:
    """A leaf's numbers as shares that sum to 1."""
    total = tree.values.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(total > 0, tree.values / total, tree.values))


def _shares(classes: tuple[str, ...], trees: tuple[TreeIR, ...]) -> ModelIR:
    combine: Combine = "one" if len(trees) == 1 else "mean_per_tree"
    return ModelIR("onnx", (), classes, trees, "shares", combine, discloses=(RATIOS_DISCLOSURE,))


def _regressor(ensemble: Operator, trees: Sequence[Grown], place: str) -> ModelIR:
    if ensemble.attributes.get("n_targets", 1) != 1 or ensemble.attributes.get("post_transform", "NONE") != "NONE":
        raise ReleaseError("predicts several numbers, or changes them afterwards", place=place)
    how = ensemble.attributes.get("aggregate_function", "SUM")
    if how not in {"SUM", "AVERAGE"}:
        raise ReleaseError("takes the least or the most of its trees' numbers", place=place)
    base = numbers(ensemble, "base_values", place)
    built = with_says(ensemble, "target", trees, 1, place)
    if how == "AVERAGE":
        built = tuple(replace(tree, values=tree.values / len(built)) for tree in built)
    start = tuple(map(float, [] if base is None else base.tolist()))
    return ModelIR("onnx", (), (), built, "values", "boost", start, discloses=(SCORES_DISCLOSURE,))
