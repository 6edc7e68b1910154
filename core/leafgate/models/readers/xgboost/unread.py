"""What stands in an XGBoost file under keys of its own and is not what XGBoost writes there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from leafgate.models.exposure.disclosures import PEOPLE, other_content, text_size, unread_texts
from leafgate.models.ir.arrays import used
from leafgate.types.release import FileDisclosure

Part = tuple[str, int]
"""Something nobody reads: where it stands, and how many numbers it holds."""

Size = Callable[[Any], int]
"""About how many numbers something holds."""

TYPES = {"int", "float", "i", "q", "c", "categorical"}
ROOT = 2**31 - 1
"""What XGBoost gives for the parent of a root."""

PLAIN = re.compile(r"[-+.eE\d\[\], ]{0,40}")
"""A parameter: a number as a text, or a short list."""


def anomalies(learner: Mapping[str, Any], model: Mapping[str, Any], features: int, size: Size) -> Iterator[Part]:
    """Values of another kind or length than the format has; numbers are held against what follows from others."""
    for place in ("objective", "learner_model_param"):
        yield from _params(learner.get(place), f"learner.{place}", size)
    yield from _params(model.get("gbtree_model_param"), "gbtree_model_param", size)
    types = _listed(learner.get("feature_types"))
    if types and (len(types) != features or not set(map(str, types)) <= TYPES):
        yield "feature_types", size(learner["feature_types"])
    trees = model["trees"]
    yield from _wrong(model, ("tree_info",), lambda value: len(value) == len(trees) and _few(value, 1000), size)
    yield from _wrong(model, ("iteration_indptr",), lambda document: _even(document, len(trees)), size)
    yield from _cats(model.get("cats"), features, size)
    for number, tree in enumerate(trees):
        yield from _of_tree(tree, number, features, size)


def version_anomalies(version: Any, size: Size) -> Iterator[Part]:
    """A version that is no three or four small numbers."""
    if version is not None and not (len(_listed(version)) <= 4 and _small(_listed(version))):
        yield "version", size(version)


def _params(document: Any, place: str, size: Size) -> Iterator[Part]:
    """Parameters that are no short numbers; the base score, which is read, may be a long list."""
    for key, value in (document or {}).items():
        if isinstance(value, dict):
            yield from _params(value, place, size)
        elif key not in {"name", "base_score"} and not (isinstance(value, str) and PLAIN.fullmatch(value)):
            yield f"entries of {place}", size(value)


def _listed(document: Any) -> Sequence[Any]:
    return (
        list(document.tolist()) if isinstance(document, np.ndarray) else document if isinstance(document, list) else []
    )


def _small(items: Sequence[Any]) -> bool:
    return all(type(one) is int and 0 <= one < 10_000 for one in items)


def _few(values: np.ndarray, most: int) -> bool:
    """Are they whole numbers from 0 on, below `most`?"""
    return not len(values) or (values.dtype.kind in "iub" and bool(((values >= 0) & (values < most)).all()))


def _even(values: np.ndarray, trees: int) -> bool:
    """Are they where each of the rounds begins, all of one length?"""
    return len(values) > 0 and values[0] == 0 and values[-1] == trees and len(set(np.diff(values).tolist())) <= 1


def _wrong(
    document: Mapping[str, Any], keys: Sequence[str], right: Callable[[np.ndarray], bool], size: Size
) -> Iterator[Part]:
    """The keys whose numbers are not right."""
    for key in keys:
        if key not in document:
            continue
        try:
            numbers = np.array(_listed(document[key]))
            fits = numbers.ndim == 1 and (not len(numbers) or numbers.dtype.kind in "iufb") and right(numbers)
        except (ValueError, TypeError, OverflowError, IndexError):
            fits = False
        if not fits:
            yield key, size(document[key])


def _many(document: Any) -> int:
    """How many categories a feature has."""
    if not isinstance(document, dict):
        return 0
    return (
        max(0, len(_listed(document["offsets"])) - 1) if "offsets" in document else len(_listed(document.get("values")))
    )


def _cats(document: Any, features: int, size: Size) -> Iterator[Part]:
    """Beside the categories: where each feature's begin, and their order."""
    if not isinstance(document, dict):
        return
    kept = _listed(document.get("enc"))
    if kept and len(kept) != features:
        yield "cats.enc", size(kept)
    each = np.array([_many(one) for one in kept], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(each)])
    yield from _wrong(document, ("feature_segments",), lambda n: not len(n) or np.array_equal(n, starts), size)
    order = np.concatenate([np.arange(n) for n in each.tolist()]) if len(each) else np.zeros(0)
    parts = np.repeat(np.arange(len(each)), each)

    def permuted(numbers: np.ndarray) -> bool:
        return len(numbers) == len(order) and np.array_equal(numbers[np.lexsort((numbers, parts))], order)

    yield from _wrong(document, ("sorted_idx",), lambda n: not len(n) or permuted(n), size)
    for one in kept:
        known = isinstance(one, dict) and set(one) <= {"offsets", "values", "type"}
        if not (known and isinstance(one.get("type", 0), int)):
            yield "cats.enc", size(one)


def _of_tree(tree: Mapping[str, Any], number: int, features: int, size: Size) -> Iterator[Part]:
    """A tree's numbers: links that agree, flags that are flags, statistics of its nodes, and nothing on dead nodes."""
    left, right = (np.array(_listed(tree[key]), dtype=np.int64) for key in ("left_children", "right_children"))
    n, leaf = len(left), left == -1
    yield from _params(tree.get("tree_param"), "tree_param", size)
    if tree.get("id", number) != number:
        yield "a tree's id", size(tree["id"])
    alive = used(left, right, leaf)
    if alive is None:
        return  # no tree at all, which the check will say
    if len(alive) < n:
        yield "nodes that pruning left behind", (n - len(alive)) * 8
    inner, ends = alive[~leaf[alive]], alive[leaf[alive]]
    parent = np.full(n, ROOT)
    parent[left[inner]] = parent[right[inner]] = inner

    def whole(values: np.ndarray) -> bool:
        return len(values) == n

    def agrees(values: np.ndarray) -> bool:
        return len(values) == n and bool(((values == parent) | ((values == -1) & (parent == ROOT)))[alive].all())

    yield from _wrong(tree, ("parents",), agrees, size)
    yield from _wrong(tree, ("base_weights", "sum_hessian"), whole, size)
    yield from _wrong(
        tree, ("loss_changes",), lambda value: whole(value) and not np.nan_to_num(value[ends]).any(), size
    )
    yield from _wrong(
        tree, ("default_left", "split_type"), lambda document: len(document) == n and _few(document, 2), size
    )
    yield from _wrong(tree, ("split_indices",), lambda content: _few(content, max(1, features)), size)
    yield from _wrong(tree, ("right_children",), lambda result: bool((result[ends] == -1).all()), size)


# --- What of an XGBoost file is not read, and what it tells ---

TREE = frozenset(
    [
        "base_weights",
        "categories",
        "categories_nodes",
        "categories_segments",
        "categories_sizes",
        "default_left",
        "id",
        "left_children",
        "loss_changes",
        "parents",
        "right_children",
        "split_conditions",
        "split_indices",
        "split_type",
        "sum_hessian",
        "tree_param",
    ]
)
MODEL = frozenset(["cats", "gbtree_model_param", "iteration_indptr", "tree_info", "trees"])
OBJECTIVES: Mapping[str, frozenset[str]] = {
    "reg_loss_param": frozenset({"scale_pos_weight"}),
    "softmax_multiclass_param": frozenset({"num_class"}),
    "quantile_loss_param": frozenset({"quantile_alpha"}),
    "pseudo_huber_param": frozenset({"huber_slope"}),
}
FOREST = frozenset({"num_parallel_tree", "num_trees", "size_leaf_vector"})
SHAPE = frozenset({"num_deleted", "num_feature", "num_nodes", "size_leaf_vector"})
PARTS: Mapping[str, frozenset[str]] = {
    "": frozenset({"learner", "version"}),
    "learner": frozenset(
        ["attributes", "feature_names", "feature_types", "gradient_booster", "learner_model_param", "objective"]
    ),
    "learner.gradient_booster": frozenset({"name", "model", "gbtree", "weight_drop"}),
    "learner.gradient_booster.model": MODEL,
    "learner.gradient_booster.model.trees": TREE,
    "learner.gradient_booster.model.cats": frozenset({"enc", "feature_segments", "sorted_idx"}),
    "learner.gradient_booster.gbtree": frozenset({"name", "model"}),
    "learner.gradient_booster.gbtree.model": MODEL,
    "learner.gradient_booster.gbtree.model.trees": TREE,
    "learner.gradient_booster.gbtree.model.cats": frozenset({"enc", "feature_segments", "sorted_idx"}),
    "learner.attributes": frozenset(),
    "learner.objective": frozenset(["name", *OBJECTIVES]),
    **{f"learner.objective.{key}": only for key, only in OBJECTIVES.items()},
    "learner.learner_model_param": frozenset(
        ["base_score", "boost_from_average", "num_class", "num_feature", "num_target"]
    ),
    **{f"learner.gradient_booster.{model}.gbtree_model_param": FOREST for model in ("model", "gbtree.model")},
    **{f"learner.gradient_booster.{model}.trees.tree_param": SHAPE for model in ("model", "gbtree.model")},
}
"""What XGBoost itself writes, by place; whatever else stands there is somebody's own."""

OWN = {
    "scikit_learn": re.compile(r"[^\0]{0,199}"),
    **dict.fromkeys(("best_iteration", "best_ntree_limit"), re.compile(r"\d{1,7}")),
}
"""XGBoost's own attributes: that a classifier was saved, and before 2.0 which of its rounds was the best."""


def unread_content(document: Mapping[str, Any]) -> tuple[FileDisclosure, ...]:
    """What the file tells besides the model."""
    learner = document["learner"]
    booster = learner["gradient_booster"]
    model = booster.get("gbtree", booster)["model"]
    features = int(learner["learner_model_param"]["num_feature"])
    strange = anomalies(learner, model, features, _size)
    texts = [str(value) for value in learner.get("attributes", {}).values()] if _is_table(learner) else []
    texts += [text for part in (booster, learner["objective"]) for text in _texts(part)]
    words = unread_texts("texts that XGBoost does not write", texts, WORDS)
    return other_content([*_unread(document, ""), *version_anomalies(document.get("version"), _size), *strange, *words])


WRITTEN = """
absoluteerror at auc base best binary booster categorical classes classifier dart e encoder error estimator exact f
false forest gain gamma gbtree hinge hist huber i inf iteration label limit linear log logistic logitraw lossguide
mape ml mlogloss multi n name nan none normalized ntree null objective param poisson prob pseudohubererror quantile
quantileerror ranker reg regressor rf rmse score softmax softprob squarederror squaredlogerror tree true tweedie type
uniform use weighted xgb
"""
WORDS = frozenset(WRITTEN.split())
"""Words that XGBoost and its scikit-learn classes write as values of parameters and attributes."""


def _is_table(learner: Mapping[str, Any]) -> bool:
    return isinstance(learner.get("attributes"), dict)


def _texts(document: Any) -> Iterator[str]:
    """Every text in a part of the file, besides categories, which are looked at as such."""
    waiting = [(document, "")]
    while waiting:
        here, key = waiting.pop()
        if isinstance(here, dict):
            waiting.extend((value, name) for name, value in here.items() if name not in {"cats", "categories"})
        elif isinstance(here, list):
            waiting.extend((value, key) for value in here if not isinstance(value, int | float))
        elif isinstance(here, str):
            yield here


def _unread(document: Any, place: str) -> Iterator[tuple[str, int]]:
    if isinstance(document, list):
        for each in document:
            yield from _unread(each, place)
    elif isinstance(document, dict) and place in PARTS:
        for key, value in document.items():
            if key in PARTS[place]:
                yield from _unread(value, f"{place}.{key}" if place else key)
            elif not (place == "learner.attributes" and key in OWN and OWN[key].fullmatch(str(value))):
                yield f"unknown entries of {place or 'the file'}", max(PEOPLE, _size(value))


def _size(document: Any) -> int:
    """About how many numbers it holds."""
    found, waiting = 0, [document]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict | list):
            waiting.extend(here.values() if isinstance(here, dict) else here)
        else:
            found += here.size if isinstance(here, np.ndarray) else text_size(here) if isinstance(here, str) else 1
    return found
