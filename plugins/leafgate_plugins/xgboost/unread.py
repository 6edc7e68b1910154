"""Content of an XGBoost file that is not part of the model: entries and values that XGBoost does not write.

A key that is unknown where the file says what the model predicts may change the predictions, so the file is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from leafgate.io.json import KEY
from leafgate.ir.arrays import reachable_nodes
from leafgate.ir.unread import number_array
from leafgate.readers import LEAF, ContentField, ContentKind, UnreadTracker, content_size, read_shape
from leafgate_plugins.xgboost.saved_state import check_settings
from leafgate_plugins.xgboost.vector_leaves import leaf_width

ROOT = 2**31 - 1
"""The parent that XGBoost writes for a root."""

SHAPE = read_shape("leafgate_plugins.xgboost")
"""Everything that XGBoost 1.3 to 3.4 writes; names of features and texts of categories are disclosed as such by the
reader."""

FILE, TREE, LEARNER = SHAPE.tables["file"], SHAPE.tables["tree"], SHAPE.tables["file"]["learner"].fields or {}
NOT_PREDICTING = {"leaf_child_counts": ContentField(ContentKind.NUMBERS, length="nodes")}
"""Keys of a tree that predict nothing and are other content: XGBoost 1.0 to 1.2 wrote them."""


def unknown_keys(learner: Mapping[str, Any], trees: Sequence[Any]) -> tuple[str, ...]:
    """The keys of a learner that the reader does not know, except among the attributes, which nobody needs."""
    deciding = {key: value for key, value in learner.items() if key != "attributes"}
    of_tree = {**TREE, **NOT_PREDICTING}
    at = "learner.gradient_booster.model.trees"
    of_trees = (each for i, tree in enumerate(trees) for each in _unknown_keys(tree, of_tree, f"{at}[{i}]"))
    found = (*_unknown_keys(deciding, LEARNER, "learner"), *of_trees)
    return tuple(f"{where}.{key}" if KEY.fullmatch(key) else f"one of {where} that is no name" for where, key in found)


def _unknown_keys(document: Any, fields: Mapping[str, ContentField], location: str) -> Iterator[tuple[str, str]]:
    """Each unknown key of a table and of the tables within it, after the location of its table."""
    for key, value in document.items() if isinstance(document, dict) else ():
        field = fields.get(key)
        if field is None:
            yield location, key
        elif field.fields is not None:
            for each in value if isinstance(value, list) else [value]:
                yield from _unknown_keys(each, field.fields, f"{location}.{key}")


def unread_content(document: Mapping[str, Any], settings: Mapping[str, Any] | None) -> UnreadTracker:
    """What the file holds besides the model; `settings` are those of the state of a Booster."""
    tracker = UnreadTracker()
    learner = document["learner"]
    booster = learner["gradient_booster"]
    model = booster.get("gbtree", booster)["model"]
    trees, features = model["trees"], int(learner["learner_model_param"]["num_feature"])
    limits = {"trees": len(trees), "features": max(1, features)}
    tracker.check_table(document, FILE, limits)
    types = learner.get("feature_types")
    if isinstance(types, list) and types and len(types) != features:
        tracker.add("learner.feature_types", content_size(types))
    starts = number_array(model.get("iteration_indptr"))
    if starts is not None and not _are_equal_rounds(starts, len(trees)):
        tracker.add("iteration_indptr", starts.size)
    _check_categories(tracker, model.get("cats"), features)
    for tree in trees:
        _check_tree(tracker, tree, limits)
    if settings is not None:
        check_settings(tracker, settings)
    return tracker


def _are_equal_rounds(starts: np.ndarray, trees: int) -> bool:
    """Whether these are the first trees of rounds of one length, with the number of trees at the end."""
    return len(starts) > 0 and starts[0] == 0 and starts[-1] == trees and len(set(np.diff(starts).tolist())) <= 1


def _check_categories(tracker: UnreadTracker, document: Any, features: int) -> None:
    """Check numbers that follow from the lists of categories: where each begins, and the order of its entries."""
    encoders: Any = document.get("enc", []) if isinstance(document, dict) else None
    if not isinstance(document, dict) or not ContentField(ContentKind.TABLES).accepts(encoders, {}):
        return
    if len(encoders) and len(encoders) != features:
        tracker.add("cats.enc", content_size(encoders))
    for each in encoders:
        if "offsets" in each and _length(each["offsets"]) < 2 and _length(each.get("values")):
            tracker.add("cats.enc", content_size(each))
    sizes = np.array([_categories_of(each) for each in encoders], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    order = np.concatenate([np.arange(n) for n in sizes.tolist()]) if len(sizes) else np.zeros(0)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    segments, ranks = (number_array(document.get(key, [])) for key in ("feature_segments", "sorted_idx"))
    if segments is not None and len(segments) and not np.array_equal(segments, starts):
        tracker.add("cats.feature_segments", segments.size)
    if ranks is not None and len(ranks) and not _is_order(ranks, owner, order):
        tracker.add("cats.sorted_idx", ranks.size)


def _is_order(ranks: np.ndarray, owner: np.ndarray, order: np.ndarray) -> bool:
    """Whether the ranks of each feature's categories are a permutation of 0, 1, ..."""
    return len(ranks) == len(order) and np.array_equal(ranks[np.lexsort((ranks, owner))], order)


def _length(document: Any) -> int:
    return len(document) if isinstance(document, Sequence | np.ndarray) else 0


def _categories_of(encoder: Mapping[str, Any]) -> int:
    """The number of categories of a feature."""
    return max(0, _length(encoder["offsets"]) - 1) if "offsets" in encoder else _length(encoder.get("values"))


def _check_tree(tracker: UnreadTracker, tree: Mapping[str, Any], limits: Mapping[str, int]) -> None:
    """Check the entries of a tree, and numbers that follow from others of it."""
    nodes, width = len(tree["left_children"]), leaf_width(tree, "trees")
    leaves = sum(child == LEAF for child in tree["left_children"]) if width > 1 else 0
    sized = {**limits, "nodes": nodes, "numbers of nodes": nodes * width, "numbers of leaves": leaves * width}
    tracker.check_table(tree, TREE, sized, "trees")
    _check_category_lists(tracker, tree)
    _check_links(tracker, tree)


def _check_category_lists(tracker: UnreadTracker, tree: Mapping[str, Any]) -> None:
    """Check that each category in the tree belongs to a test of categories, and stands where the test says."""
    keys = ("categories_nodes", "categories_segments", "categories_sizes", "categories")
    nodes, starts, sizes, categories = (number_array(tree.get(key, [])) for key in keys)
    if nodes is None or starts is None or sizes is None or categories is None:
        return  # lists that are no numbers are noted already, or refused by the reader
    if not len(nodes) == len(starts) == len(sizes) or not np.array_equal(starts, np.cumsum(sizes) - sizes):
        tracker.add("trees.categories_segments", starts.size + sizes.size)
    if sizes.sum() != len(categories):
        tracker.add("trees.categories", categories.size)


def _check_links(tracker: UnreadTracker, tree: Mapping[str, Any]) -> None:
    """Check that parents agree with children, leaves have no statistics of splits, and every node is in the tree."""
    left, right = (np.array(tree[key], dtype=np.int64) for key in ("left_children", "right_children"))
    n, leaf = len(left), left == -1
    reached = reachable_nodes(left, right, leaf)
    if reached is None:
        return  # the links form no tree, which validation refuses
    if len(reached) < n:
        tracker.add("nodes that pruning removed", (n - len(reached)) * 8)
    inner, leaves = reached[~leaf[reached]], reached[leaf[reached]]
    parent = np.full(n, ROOT)
    parent[left[inner]] = parent[right[inner]] = inner
    parents, gains = _per_node(tracker, tree, "parents", n), _per_node(tracker, tree, "loss_changes", n)
    if parents is not None and not ((parents == parent) | ((parents == -1) & (parent == ROOT)))[reached].all():
        tracker.add("trees.parents", n)
    if gains is not None and np.nan_to_num(gains[leaves]).any():
        tracker.add("trees.loss_changes", n)
    if (right[leaves] != -1).any() and "leaf_weights" not in tree:  # which has a row for each leaf
        tracker.add("trees.right_children", n)


def _per_node(tracker: UnreadTracker, tree: Mapping[str, Any], key: str, nodes: int) -> np.ndarray | None:
    """The numbers under a key, one for each node; None where they are none, which is recorded, or not there."""
    if key not in tree:
        return None
    numbers = number_array(tree[key])
    if numbers is not None and len(numbers) == nodes:
        return numbers
    tracker.add(f"trees.{key}", content_size(tree[key]))
    return None
