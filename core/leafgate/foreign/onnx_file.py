"""ONNX files with one ensemble of trees, read as protocol buffers and nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from leafgate.disclosed import RATIOS, SCORES
from leafgate.errors import ReleaseError
from leafgate.foreign.model import Floats, Foreign, ForeignTree
from leafgate.foreign.onnx_around import check_around
from leafgate.foreign.onnx_before import made_for
from leafgate.foreign.onnx_cells import Wire
from leafgate.foreign.onnx_left import left
from leafgate.foreign.onnx_nodes import Grown, trees_of, whole, with_says
from leafgate.foreign.onnx_parts import Operator, graph_of, numbers, texts
from leafgate.foreign.onnx_tensors import DOUBLE, Tensor
from leafgate.foreign.origins import Number, distinct
from leafgate.release import Combine

MAX_BYTES = 192 * 2**20
ENSEMBLES = {"TreeEnsembleClassifier", "TreeEnsembleRegressor"}
CLOSE = 1e-4
UNTOLD = "the ONNX file does not say what becomes of its missing cells"


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
    trees, width = trees_of(found[0], place)
    asked = made_for(graph, found[0], width, place)
    _check_precision(found[0], asked, place)
    told = _classifier if found[0].kind == "TreeEnsembleClassifier" else _regressor
    model = _of_columns(told(found[0], trees, place), asked)
    told_more = (*model.discloses, *left(content, graph, found[0], place))
    return replace(model, discloses=told_more, producer=f"ONNX by {graph.producer}".strip())


def _check_precision(ensemble: Operator, asked: Wire, place: str) -> None:
    """Thresholds of double precision are for numbers of double precision."""
    as_tensors = [told for told in ensemble.attributes.values() if isinstance(told, Tensor) and told.numeric]
    if any((told.kind == DOUBLE) != (asked.kind == DOUBLE) for told in as_tensors):
        raise ReleaseError("compares numbers of one precision with those of another", place=place)


def _of_columns(model: Foreign, asked: Wire) -> Foreign:
    """The model over what the graph makes of people's columns."""
    cells = asked.cells.tolist()
    plain = all(cell.origin == Number(cell.name) for cell in cells)
    untold = frozenset(cell.origin.column for cell in cells if cell.untold)
    return replace(
        model,
        features=distinct([cell.name for cell in cells]),
        origins=None
        if plain and len({cell.name for cell in cells}) == len(cells)
        else tuple(cell.origin for cell in cells),
        trees=tuple(replace(tree, float32=asked.kind != DOUBLE) for tree in model.trees),
        untold_missing=UNTOLD if untold else "",
        untold_of=untold,
    )


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
