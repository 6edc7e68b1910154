"""Is a foreign model a model at all? Nothing runs on one that was not checked."""

from __future__ import annotations

import numpy as np

from leafgate.errors import ReleaseError
from leafgate.ir.arrays import refuse_many_categories
from leafgate.ir.model import LEAF, ModelIR, TreeIR, levels
from leafgate.ir.node_numbers import MISCOUNTED
from leafgate.kernel.arrays import Floats, Ids, Mask
from leafgate.kernel.release import LATER_TREES, are_sums_of
from leafgate.kernel.tree import MAX_DEPTH, MAX_TREES

MAX_LOOKS = 3_000_000
"""Tests above others that are looked at, and categories in their sets."""


def best_iteration_key(best: int) -> str:
    """What `ModelIR.unknown` has of such a file: the key that says up to which round it predicts, and the round."""
    return f"learner.attributes.best_iteration {best}"


def stopped_early(place: str) -> ReleaseError:
    """The error that a file does not say by itself with which of its trees the model predicts."""
    return ReleaseError(
        "was stopped early, so that it is not clear which of its trees predict",
        place=place,
        remedy="save booster[:best_iteration + 1], which holds those alone",
    )


def refuse_later_trees(model: ModelIR, place: str) -> None:
    """Raise ReleaseError where the file holds trees with which the model may not predict."""
    if any(item.kind == LATER_TREES for item in model.discloses):
        raise stopped_early(f"{place}.learner.attributes.best_iteration")


def contradictory(tree: TreeIR, parent: Ids, place: str = "tree") -> int | None:
    """A node to which no value of the feature asked just above it can come, None where there is none.

    Every way is held against the ways above it that ask about the same feature; a missing value, where all of them
    let it pass, is enough to come there. Sets of categories are held against sets, numbers against numbers.
    """
    cut = np.flatnonzero((parent != -1) & tree.compares[parent])
    wrong = cut[_empty_intervals(tree, parent, cut)]
    if len(wrong):
        return int(wrong[0])
    chosen = np.flatnonzero((parent != -1) & ~tree.compares[parent])
    looks = 0
    for node in chosen.tolist():
        empty, looked = _empty_set(tree, parent, node)
        looks += looked
        if empty:
            return node
        if looks > MAX_LOOKS:
            raise ReleaseError("its tests by sets stand below one another too often to be checked", place=place)
    return None


def _empty_intervals(tree: TreeIR, parent: Ids, nodes: Ids) -> Mask:
    """Which of the nodes, each below a cut, no number can reach by the cuts above, nor a missing one."""
    top, missing_low = _tops(tree), tree.flag("missing_low")
    feature = tree.feature[parent[nodes]]
    least, most = np.full(len(nodes), -np.inf), np.full(len(nodes), np.inf)
    missing = np.ones(len(nodes), dtype=bool)
    left, below = np.arange(len(nodes)), nodes
    while len(left):
        above = parent[below]
        same = (tree.feature[above] == feature[left]) & tree.compares[above]
        at, own = above[same], left[same]
        low = tree.low[at] == below[same]
        most[own] = np.where(low, np.minimum(most[own], top[at]), most[own])
        least[own] = np.where(low, least[own], np.maximum(least[own], top[at]))
        missing[own] &= missing_low[at] == low
        further = parent[above] != -1
        left, below = left[further], above[further]
    return (least >= most) & ~missing


def _tops(tree: TreeIR) -> Floats:
    """The largest number that goes low at each node, up to float32's rounding."""
    return np.where(tree.flag("strict"), np.nextafter(tree.threshold, -np.inf), tree.threshold)


def _empty_set(tree: TreeIR, parent: Ids, node: int) -> tuple[bool, int]:
    """Can no category, nor a missing one, come to the node by the sets asked above? And how much was looked at."""
    feature, missing_low = tree.feature[parent[node]], tree.flag("missing_low")
    within, outside = list[frozenset[str | float]](), list[frozenset[str | float]]()
    missing, looked, below = True, 0, node
    while (above := int(parent[below])) != -1:
        looked += 1
        if above in tree.subsets and tree.feature[above] == feature:
            low = bool(tree.low[above] == below)
            missing &= bool(missing_low[above]) == low
            (within if low else outside).append(tree.subsets[above])
        below = above
    if missing or not within:
        return False, looked
    for category in min(within, key=len):
        looked += len(within) + len(outside)
        if all(category in each for each in within) and not any(category in each for each in outside):
            return False, looked
    return True, looked


MAX_NODES, MAX_FEATURES, MAX_CLASSES = 4_000_000, 100_000, 1_000
MOST = 1e150
"""Larger numbers on leaves could not be added up."""

CLOSE = 1e-6
"""Numbers of children may differ from their parent's by this part of it: floating point does."""


def check_model(model: ModelIR, place: str) -> ModelIR:
    """The same model; ReleaseError says what makes it none, and in which tree and node."""
    _check_whole(model, place)
    for number, tree in enumerate(model.trees):
        here = f"{place}.trees[{number}]"
        _check_shapes(model, tree, here)
        _check_numbers(model, tree, here)
        parent = parents(tree, here)
        _check_depth(tree, here)
        _check_counts(tree, here)
        wrong = contradictory(tree, parent, here)
        if wrong is not None:
            remedy = MISCOUNTED if model.producer.startswith("scikit-learn") else ""
            text = "no value could take both this way and those above it"
            raise ReleaseError(text, place=f"{here}.nodes[{wrong}]", remedy=remedy)
    return model


def _check_whole(model: ModelIR, place: str) -> None:
    if not model.trees or len(model.trees) > MAX_TREES:
        raise ReleaseError(f"must have trees, at most {MAX_TREES:,}", place=place)
    if sum(tree.nodes for tree in model.trees) > MAX_NODES:
        raise ReleaseError(f"has more than {MAX_NODES:,} nodes", place=place)
    refuse_many_categories(sum(len(chosen) for tree in model.trees for chosen in tree.subsets.values()), place)
    if len(model.features) > MAX_FEATURES or len(set(model.features)) != len(model.features):
        raise ReleaseError(f"must have different features, at most {MAX_FEATURES:,}", place=place)
    if len(model.classes) == 1 or len(model.classes) > MAX_CLASSES or len(set(model.classes)) != len(model.classes):
        raise ReleaseError(f"must have two different classes or more, at most {MAX_CLASSES:,}", place=place)
    if model.combine == "one" and len(model.trees) > 1:
        raise ReleaseError("says `one`, and there are several trees", place=place)
    if not all(abs(base) <= MOST for base in model.base) or len(model.base) not in {0, 1, len(model.classes)}:
        raise ReleaseError("its base scores must be finite, one for each class", place=place)
    sums = model.calibrated_sums
    plain = model.values == "scores" and not model.base and model.link == "softmax"
    if not are_sums_of(sums, len(model.trees), model.combine, len(model.classes)) or (sums and not plain):
        raise ReleaseError("its calibrated sums are not those of its trees and classes", place=place)
    if bool(model.classes) == (model.values == "values"):
        raise ReleaseError("must predict classes or numbers, not both", place=place)


def _check_shapes(model: ModelIR, tree: TreeIR, place: str) -> None:
    """Every array speaks of every node."""
    n = tree.nodes
    outputs = 1 if model.values == "values" or tree.values.shape[-1:] == (1,) else len(model.classes)
    shapes = [tree.threshold.shape, tree.low.shape, tree.high.shape]
    items = [] if tree.size is None else [tree.size.shape]
    if n == 0 or any(shape != (n,) for shape in (*shapes, *items)) or tree.values.shape != (n, outputs):
        raise ReleaseError("its arrays are not of one length", place=place)
    sizes = [len(each.values) if each.members is None else n for each in tree.numbers]
    if any(size != n for size in sizes):
        raise ReleaseError("its numbers are not one for each node", place=place)
    if tree.counts is not None and tree.counts.shape != (n, len(model.classes)):
        raise ReleaseError("its counts are not one for each class", place=place)
    if outputs == 1 and model.classes and not (tree.output is None or 0 <= tree.output < len(model.classes)):
        raise ReleaseError("adds to a class that there is not", place=place)
    if outputs == 1 and model.classes and tree.output is None and len(model.classes) != 2:
        raise ReleaseError("says not which class its scores are of", place=place)


def _check_numbers(model: ModelIR, tree: TreeIR, place: str) -> None:
    """Features there are, finite thresholds, leaves that say something."""
    asks = tree.feature != LEAF
    _refuse(asks & ((tree.feature < 0) | (tree.feature >= len(model.features))), "asks about no feature", place)
    if not all(0 <= node < tree.nodes and asks[node] for node in tree.subsets):
        raise ReleaseError("has a set of categories where nothing is asked", place=place)
    _refuse(tree.compares & ~np.isfinite(tree.threshold), "has a threshold that is no finite number", place)
    stated = abs(tree.values) <= MOST
    if model.values == "values" and model.combine == "one":
        stated |= np.isnan(tree.values)
    _refuse(~asks & ~stated.all(axis=1), f"says no finite number, or one beyond {MOST:g}", place)
    if model.values not in {"scores", "values"}:
        _refuse(~asks & (tree.values < 0).any(axis=1), "says less than nothing of a class", place)
    if model.values == "shares":
        _refuse(~asks & _unlike(tree.values.sum(axis=1), np.ones(tree.nodes)), "its shares do not sum to 1", place)


def parents(tree: TreeIR, place: str) -> Ids:
    """Each node's parent, -1 for the root; ReleaseError unless all nodes are one tree below node 0."""
    n, inner = tree.nodes, np.flatnonzero(tree.feature != LEAF)
    below = np.concatenate([tree.low[inner], tree.high[inner]])
    if ((below < 0) | (below >= n)).any():
        wrong = np.concatenate([inner, inner])[(below < 0) | (below >= n)][0]
        raise ReleaseError("has a child that there is not", place=f"{place}.nodes[{wrong}]")
    if len(inner) and np.bincount(below, minlength=n).max() > 1:
        wrong = int(np.bincount(below, minlength=n).argmax())
        raise ReleaseError("has two parents", place=f"{place}.nodes[{wrong}]")
    parent = np.full(n, -1, dtype=np.int64)
    parent[below] = np.concatenate([inner, inner])
    orphans = np.flatnonzero(parent == -1)
    if len(orphans) != 1 or orphans[0] != 0:
        raise ReleaseError("is no tree: not just its first node has no parent", place=place)
    return parent


def _check_depth(tree: TreeIR, place: str) -> None:
    """Every node hangs on the root, not too far below."""
    reached = 0
    for depth, rows in enumerate(levels(tree)):
        if depth > MAX_DEPTH:
            raise ReleaseError(f"is deeper than {MAX_DEPTH} tests", place=place)
        reached += len(rows)
    if reached < tree.nodes:
        raise ReleaseError("goes in circles apart from its first node", place=place)


def _check_counts(tree: TreeIR, place: str) -> None:
    """Numbers of people are none below nothing, and a node's children together have its own."""
    inner = np.flatnonzero(tree.feature != LEAF)
    for result in (tree.size, tree.counts):
        if result is None:
            continue
        rows = result.reshape(tree.nodes, -1)
        invalid = np.asarray(((rows < 0) | np.isinf(rows)).any(axis=1))
        _refuse(invalid, "counts less than nobody, or no number", place)
        apart = abs(rows[inner] - rows[tree.low[inner]] - rows[tree.high[inner]])
        wrong = (apart > CLOSE * np.maximum(1.0, rows[inner])).any(axis=1)
        if wrong.any():
            raise ReleaseError("its children count not as many as it does", place=f"{place}.nodes[{inner[wrong][0]}]")
    for each in tree.numbers:
        rows = each.values.reshape(len(each.values), -1)
        invalid = np.asarray(((rows < 0) | np.isinf(rows)).any(axis=1))
        _refuse(invalid, f"`{each.name}` is less than nobody, or no number", place)
    if tree.counts is not None and tree.size is not None:
        _refuse(_unlike(tree.counts.sum(axis=1), tree.size), "its classes count not as many as all", place)


def _unlike(one: Floats, other: Floats) -> Mask:
    return np.asarray(abs(one - other) > CLOSE * np.maximum(1.0, other))


def _refuse(wrong: Mask, why: str, place: str) -> None:
    if wrong.any():
        raise ReleaseError(why, place=f"{place}.nodes[{int(wrong.argmax())}]")
