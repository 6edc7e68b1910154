"""Leaves that say the same, made one, and tests that send everybody one way, left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from leafgate.api import Ids
from leafgate.ir.model import FLAGS, topological_order
from leafgate.models.lowering.tests import splits_in
from leafgate.readers import LEAF, CategoryCodes, ModelIR, TreeIR

Codes = Mapping[int, frozenset[float | None]]
"""The codes of each feature that can come to a node."""


def collapse_equal_leaves(tree: TreeIR) -> TreeIR:
    """The same predictions with leaves that say the same made one where nothing else lies between them."""
    feature, says = tree.feature.copy(), tree.values.copy()
    for node in topological_order(tree)[::-1].tolist():
        low, high = int(tree.low[node]), int(tree.high[node])
        if feature[node] != LEAF and feature[low] == feature[high] == LEAF and (says[low] == says[high]).all():
            feature[node], says[node] = LEAF, says[low]
    return compact(replace(tree, feature=feature, values=says, counts=None, size=None, numbers=()))


def without_idle_tests(model: ModelIR) -> ModelIR:
    """The same predictions without tests of a column's codes that send all codes which come to them one way."""
    return replace(model, trees=tuple(_without_idle_tests(model, tree) for tree in model.trees))


def _without_idle_tests(model: ModelIR, tree: TreeIR) -> TreeIR:
    """The tree whose idle nodes have been replaced by the one child that anybody reaches."""
    target = np.arange(tree.nodes)
    for node, child in _only_children(model, tree)[::-1]:
        target[node] = target[child]
    if (target == np.arange(tree.nodes)).all():
        return tree
    return moved(replace(tree, counts=None, size=None, numbers=()), target)


def moved(tree: TreeIR, target: Ids) -> TreeIR:
    """The tree in which other nodes stand in place of some, without those that nobody reaches any more.

    Args:
        tree: without `numbers` and `size`.
        target: shape (n_nodes,), the node that stands in place of each.
    """
    return compact(_at(tree, target))


def _at(tree: TreeIR, nodes: Ids) -> TreeIR:
    """The tree with the arrays of some nodes; `low` and `high` stay as they are."""
    names = ("feature", "threshold", "low", "high", "values", "counts", "size")
    arrays: dict[str, Any] = {name: array[nodes] for name in names if (array := getattr(tree, name)) is not None}
    arrays |= {name: tree.flag(name)[nodes] for name in FLAGS}
    sets = {node: tree.subsets[old] for node, old in enumerate(nodes.tolist()) if old in tree.subsets}
    return replace(tree, **arrays, subsets=sets, numbers=())


def _only_children(model: ModelIR, tree: TreeIR) -> list[tuple[int, int]]:
    """The nodes that send one way all codes of their feature that come to them, each with that child; parents first."""
    coming: dict[int, Codes] = {0: {}}
    found = []
    order = topological_order(tree)
    for node, asked in splits_in(tree, order[tree.feature[order] != LEAF]):
        feature, here = int(tree.feature[node]), coming.pop(node)
        low, high, origin = int(tree.low[node]), int(tree.high[node]), model.given_origins[feature]
        coming |= {low: here, high: here}
        if not isinstance(origin, CategoryCodes):
            continue
        codes = here.get(feature, frozenset(origin.codes.values()) | {origin.otherwise, origin.missing})
        goes_low = frozenset(code for code in codes if code is not None and asked.low(code))
        goes_high = codes - goes_low - {None}
        if not goes_low or not goes_high:
            found.append((node, low if goes_low else high))
        coming |= {low: {**here, feature: goes_low}, high: {**here, feature: goes_high}}
    return found


def compact(tree: TreeIR) -> TreeIR:
    """The nodes that can be reached alone, numbered anew; nothing is left of what was asked where leaves are now."""
    kept = topological_order(tree)
    number = np.full(tree.nodes, LEAF, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    less = _at(tree, kept)
    inner = less.feature != LEAF
    return replace(
        less,
        threshold=np.where(inner, less.threshold, np.nan),
        low=np.where(inner, number[less.low], LEAF),
        high=np.where(inner, number[less.high], LEAF),
        strict=less.flag("strict") & inner,
        float32=less.flag("float32") & inner,
        missing_low=less.flag("missing_low") & inner,
        subsets={node: chosen for node, chosen in less.subsets.items() if inner[node]},
    )
