"""ONNX files with one TreeEnsembleClassifier or TreeEnsembleRegressor, read as protocol buffers and nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leafgate.disclosed import RATIOS, SCORES
from leafgate.errors import ReleaseError
from leafgate.foreign.model import LEAF, Floats, Foreign, ForeignTree, Ids
from leafgate.foreign.onnx_around import check_around
from leafgate.foreign.onnx_left import left
from leafgate.foreign.onnx_parts import Graph, Operator, graph_of, numbers, texts
from leafgate.release import Combine

MAX_BYTES = 192 * 2**20
ENSEMBLES = {"TreeEnsembleClassifier": "class", "TreeEnsembleRegressor": "target"}
LOW, STRICT, REVERSED, EQUAL = b"BRANCH_LEQ", {b"BRANCH_LT", b"BRANCH_GTE"}, {b"BRANCH_GT", b"BRANCH_GTE"}, b"BRANCH_EQ"
MODES = {LOW, *STRICT, *REVERSED, EQUAL, b"BRANCH_NEQ", b"LEAF"}
CLOSE = 1e-4


@dataclass(frozen=True)
class Grown:
    """A tree without what its leaves say, its number in the file, and its nodes' ids there."""

    tree: ForeignTree
    number: int
    ids: Ids


def sniff(head: bytes) -> bool:
    """An `ir_version` of one byte, then the producer's name or the like: how every ONNX file found begins."""
    return re.match(rb"\x08[\x01-\x1f](\x12|\x1a|\x22|\x2a|\x32|\x3a|\x42|\x28)", head) is not None


def read(content: bytes, place: str) -> Foreign:
    """The model in an ONNX file, not yet checked."""
    graph = graph_of(content, place)
    found = [op for op in graph.operators if op.kind in ENSEMBLES]
    if len(found) != 1:
        raise ReleaseError("must have one ensemble of trees", place=place)
    check_around(graph, found[0], place)
    trees, width = _trees(found[0], place)
    names = _names(graph, found[0], width, place)
    told = _classifier if found[0].kind == "TreeEnsembleClassifier" else _regressor
    model = told(found[0], trees, place)
    told_more = (*model.discloses, *left(content, graph, found[0], place))
    return replace(model, features=names, discloses=told_more, producer=f"ONNX by {graph.producer}".strip())


def _names(graph: Graph, ensemble: Operator, width: int, place: str) -> tuple[str, ...]:
    """The features: the graph's inputs by name where each is one column, else x0, x1 and so on."""
    made = {out: op for op in graph.operators for out in op.outputs}
    given = _followed(ensemble.inputs[0] if ensemble.inputs else "", made)
    joined = made.get(given)
    if joined is not None and joined.kind == "Concat":
        names = tuple(_followed(name, made) for name in joined.inputs)
        if len(names) >= width and len(set(names)) == len(names) and set(names) <= set(graph.given):
            return names
    if given not in graph.given:
        raise ReleaseError("its trees are not given the graph's own input", place=place)
    return tuple(f"x{i}" for i in range(width))


def _followed(name: str, made: Mapping[str, Operator]) -> str:
    """Where a value comes from, through operators that do not change it."""
    for _ in range(100):
        if name not in made or made[name].kind not in {"Cast", "Identity"} or not made[name].inputs:
            return name
        name = made[name].inputs[0]
    return name


def _trees(ensemble: Operator, place: str) -> tuple[list[Grown], int]:
    """Every tree without what its leaves say, and how many features are asked about."""
    lists = {key: _whole(ensemble, f"nodes_{key}", place) for key in ("treeids", "nodeids", "featureids")}
    ways = {key: _whole(ensemble, f"nodes_{key}", place) for key in ("truenodeids", "falsenodeids")}
    values, modes = numbers(ensemble, "nodes_values", place), texts(ensemble, "nodes_modes")
    tracks = numbers(ensemble, "nodes_missing_value_tracks_true", place)
    tracks = np.zeros(len(modes)) if tracks is None or not len(tracks) else tracks
    if values is None or any(len(one) != len(modes) for one in (*lists.values(), *ways.values(), values, tracks)):
        raise ReleaseError("its lists of nodes are not of one length", place=place)
    if not set(modes) <= MODES:
        raise ReleaseError("asks in a way that is not read here", place=place)
    kinds = np.array(modes, dtype="S12")
    width = int(lists["featureids"].max(initial=0)) + 1
    if not 0 < width <= 100_000 or lists["featureids"].min(initial=0) < 0:
        raise ReleaseError("asks about features that there cannot be", place=place)
    order = np.argsort(lists["treeids"], kind="stable")
    starts = np.flatnonzero(np.diff(lists["treeids"][order], prepend=lists["treeids"][order][:1] - 1))
    parts = np.split(order, starts[1:]) if len(order) else []
    float32 = "nodes_values_as_tensor" not in ensemble.attributes
    made = [_tree({**lists, **ways}, values, kinds, tracks != 0, rows, place, float32=float32) for rows in parts]
    return made, width


def _whole(ensemble: Operator, name: str, place: str) -> Ids:
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
    *,
    float32: bool,
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
    tree = ForeignTree(
        feature=np.where(leaf, LEAF, lists["featureids"][rows]),
        threshold=np.where(leaf, np.nan, at),
        low=np.where(leaf, LEAF, np.where(turned, on_false, on_true)),
        high=np.where(leaf, LEAF, np.where(turned, on_true, on_false)),
        says=np.zeros((len(rows), 1)),
        strict=np.isin(mode, list(STRICT)),
        float32=float32,
        missing_low=np.where(turned, ~missing, missing),
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


def _said(ensemble: Operator, prefix: str, trees: Sequence[Grown], place: str) -> tuple[Any, ...]:
    """What leaves add: for each statement the tree, the node in it, the class or target, and the number."""
    keys = [_whole(ensemble, f"{prefix}_{key}", place) for key in ("treeids", "nodeids", "ids")]
    weights = numbers(ensemble, f"{prefix}_weights", place)
    if weights is None or any(len(key) != len(weights) for key in keys):
        raise ReleaseError("its lists of leaves are not of one length", place=place)
    treeids, nodeids, ids = keys
    starts = np.array([each.number for each in trees])
    tree = np.searchsorted(starts, treeids)
    if not len(trees) or (tree >= len(trees)).any() or (starts[np.minimum(tree, len(trees) - 1)] != treeids).any():
        raise ReleaseError("says something of a tree that there is not", place=place)
    return tree, nodeids, ids, weights


def _with_says(
    ensemble: Operator, prefix: str, trees: Sequence[Grown], width: int, place: str
) -> tuple[ForeignTree, ...]:
    """The trees with what their leaves say; what is said twice of one class is added up."""
    tree, nodeids, ids, weights = _said(ensemble, prefix, trees, place)
    if width > 1_000 or (ids < 0).any() or (ids >= width).any():
        raise ReleaseError("says something of a class that there is not", place=place)
    made = []
    order = np.argsort(tree, kind="stable")
    bounds = np.searchsorted(tree[order], np.arange(len(trees) + 1))
    for i, each in enumerate(trees):
        mine = order[bounds[i] : bounds[i + 1]]
        sorted_ids = np.argsort(each.ids, kind="stable")
        at = _looked_up(sorted_ids, each.ids, nodeids[mine], np.zeros(len(mine), dtype=bool))
        if (at >= each.tree.nodes).any() or (each.tree.feature[at] != LEAF).any():
            raise ReleaseError("says something of a node that is no leaf", place=place)
        says = np.zeros((each.tree.nodes, width))
        np.add.at(says, (at, ids[mine]), weights[mine])
        made.append(replace(each.tree, says=says))
    return tuple(made)


def _classifier(ensemble: Operator, trees: Sequence[Grown], place: str) -> Foreign:
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
    ids = np.unique(_whole(ensemble, "class_ids", place))
    alone = len(classes) == 2 and len(ids) == 1
    made = (
        _with_says(ensemble, "class", trees, 1 if alone else len(classes), place)
        if not alone
        else _alone(ensemble, trees, place)
    )
    leaves = np.concatenate([tree.says[tree.leaves] for tree in made])
    positive = bool((leaves >= 0).all()) and not any(start)
    n = len(made)
    if positive and alone and (leaves <= (1 + CLOSE) / n).all():
        made = tuple(
            replace(tree, says=np.column_stack([1 - n * tree.says, n * tree.says]).clip(0, 1)) for tree in made
        )
        return _shares(classes, made)
    if positive and not alone and (abs(leaves.sum(axis=1) - 1 / n) < CLOSE / n).all():
        return _shares(classes, tuple(replace(tree, says=_scaled(tree)) for tree in made))
    if alone:
        bias = -0.5 if positive else 0.0
        start = ((start[0] if start else 0.0) + bias,)
    return Foreign("onnx", (), classes, made, "scores", "boost", start, discloses=(SCORES,))


def _alone(ensemble: Operator, trees: Sequence[Grown], place: str) -> tuple[ForeignTree, ...]:
    """Trees whose leaves have one number each, whichever class that is written down for."""
    ids = _whole(ensemble, "class_ids", place)
    one = replace(ensemble, attributes={**ensemble.attributes, "class_ids": np.zeros(len(ids), dtype=np.int64)})
    return _with_says(one, "class", trees, 1, place)


def _scaled(tree: ForeignTree) -> Floats:
    """A leaf's numbers as shares that sum to 1."""
    total = tree.says.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(total > 0, tree.says / total, tree.says))


def _shares(classes: tuple[str, ...], trees: tuple[ForeignTree, ...]) -> Foreign:
    combine: Combine = "one" if len(trees) == 1 else "mean_per_tree"
    return Foreign("onnx", (), classes, trees, "shares", combine, discloses=(RATIOS,))


def _regressor(ensemble: Operator, trees: Sequence[Grown], place: str) -> Foreign:
    if ensemble.attributes.get("n_targets", 1) != 1 or ensemble.attributes.get("post_transform", "NONE") != "NONE":
        raise ReleaseError("predicts several numbers, or changes them afterwards", place=place)
    how = ensemble.attributes.get("aggregate_function", "SUM")
    if how not in {"SUM", "AVERAGE"}:
        raise ReleaseError("takes the least or the most of its trees' numbers", place=place)
    base = numbers(ensemble, "base_values", place)
    made = _with_says(ensemble, "target", trees, 1, place)
    if how == "AVERAGE":
        made = tuple(replace(tree, says=tree.says / len(made)) for tree in made)
    start = tuple(map(float, [] if base is None else base.tolist()))
    return Foreign("onnx", (), (), made, "values", "boost", start, discloses=(SCORES,))
