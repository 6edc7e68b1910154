"""What the trees of each kind of ONNX ensemble say together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from leafgate.disclosed import RATIOS, SCORES
from leafgate.errors import ReleaseError
from leafgate.foreign.model import Floats, Foreign, ForeignTree
from leafgate.foreign.onnx.around import Role, classes_of
from leafgate.foreign.onnx.five import lists_of, targets_of
from leafgate.foreign.onnx.five_trees import grown
from leafgate.foreign.onnx.nodes import Grown, trees_of, whole, with_says
from leafgate.foreign.onnx.parts import Graph, Operator, numbers, texts
from leafgate.release import Combine

CLOSE = 1e-4
KINDS = ("TreeEnsembleClassifier", "TreeEnsembleRegressor", "TreeEnsemble")


def model_of(ensemble: Operator, graph: Graph, roles: Mapping[str, Role], place: str) -> tuple[Foreign, int]:
    """The model without its features, and how many of them its trees ask about."""
    if ensemble.kind == "TreeEnsemble":
        model = _five(ensemble, graph, roles, place)
        return model, 1 + max(int(tree.feature.max()) for tree in model.trees)
    trees, width = trees_of(ensemble, place)
    return (_classifier if ensemble.kind == "TreeEnsembleClassifier" else _regressor)(ensemble, trees, place), width


def _five(ensemble: Operator, graph: Graph, roles: Mapping[str, Role], place: str) -> Foreign:
    """A sum for each target, or the mean over all trees; the class is the one of the largest, the first of several."""
    targets, how = targets_of(ensemble), ensemble.attributes.get("aggregate_function", 1)
    classes = classes_of(graph, roles, targets, place)
    if ensemble.attributes.get("post_transform", 0) != 0 or (targets == 1) != (not classes) or not targets:
        raise ReleaseError("predicts several numbers, or changes them afterwards", place=place)
    if how not in {0, 1}:
        raise ReleaseError("takes the least or the most of its trees' numbers", place=place)
    trees = grown(lists_of(ensemble, place), targets, place)
    if how == 0:
        trees = [replace(tree, says=tree.says / len(trees)) for tree in trees]
    return Foreign("onnx", (), classes, tuple(trees), "scores" if classes else "values", "boost", discloses=(SCORES,))


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
    ids = np.unique(whole(ensemble, "class_ids", place))
    alone = len(classes) == 2 and len(ids) == 1
    made = (
        with_says(ensemble, "class", trees, 1 if alone else len(classes), place)
        if not alone
        else _alone(ensemble, trees, place)
    )
    leaves = np.concatenate([tree.says[tree.leaves] for tree in made])
    if len(classes) == 2 and not alone:
        _check_two(ensemble, made, leaves, place)
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


def _check_two(ensemble: Operator, trees: Sequence[ForeignTree], leaves: Floats, place: str) -> None:
    """Two classes with a number each: onnxruntime says the second wherever its number is above 0, larger or not.

    Source: onnxruntime, tree_ensemble_aggregator.h, `_set_score_binary`.
    """
    said = len(whole(ensemble, "class_ids", place))
    second = leaves[:, 1] > 0
    if len(trees) > 1 or said != 2 * len(leaves) or (second != (leaves[:, 1] > leaves[:, 0])).any():
        raise ReleaseError(
            "has two classes with numbers of both, of which onnxruntime does not say the larger",
            place=place,
            remedy="leave the numbers of the first class out, as skl2onnx does",
        )


def _alone(ensemble: Operator, trees: Sequence[Grown], place: str) -> tuple[ForeignTree, ...]:
    """Trees whose leaves have one number each, whichever class that is written down for."""
    ids = whole(ensemble, "class_ids", place)
    one = replace(ensemble, attributes={**ensemble.attributes, "class_ids": np.zeros(len(ids), dtype=np.int64)})
    return with_says(one, "class", trees, 1, place)


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
    made = with_says(ensemble, "target", trees, 1, place)
    if how == "AVERAGE":
        made = tuple(replace(tree, says=tree.says / len(made)) for tree in made)
    start = tuple(map(float, [] if base is None else base.tolist()))
    return Foreign("onnx", (), (), made, "values", "boost", start, discloses=(SCORES,))
