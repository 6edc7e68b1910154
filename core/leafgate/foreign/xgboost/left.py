"""What of an XGBoost file is not read, and what it tells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from leafgate.disclosed import PEOPLE, Disclosure, other_content, text_size, unread_texts
from leafgate.foreign.xgboost.odd import odd, version_odd

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


def left(told: Mapping[str, Any]) -> tuple[Disclosure, ...]:
    """What the file tells besides the model."""
    learner = told["learner"]
    booster = learner["gradient_booster"]
    model = booster.get("gbtree", booster)["model"]
    features = int(learner["learner_model_param"]["num_feature"])
    strange = odd(learner, model, features, _size)
    texts = [str(value) for value in learner.get("attributes", {}).values()] if _is_table(learner) else []
    texts += [text for part in (booster, learner["objective"]) for text in _texts(part)]
    words = unread_texts("texts that XGBoost does not write", texts, WORDS)
    return other_content([*_unread(told, ""), *version_odd(told.get("version"), _size), *strange, *words])


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


def _texts(told: Any) -> Iterator[str]:
    """Every text in a part of the file, besides categories, which are looked at as such."""
    waiting = [(told, "")]
    while waiting:
        here, key = waiting.pop()
        if isinstance(here, dict):
            waiting.extend((value, name) for name, value in here.items() if name not in {"cats", "categories"})
        elif isinstance(here, list):
            waiting.extend((value, key) for value in here if not isinstance(value, int | float))
        elif isinstance(here, str):
            yield here


def _unread(told: Any, place: str) -> Iterator[tuple[str, int]]:
    if isinstance(told, list):
        for each in told:
            yield from _unread(each, place)
    elif isinstance(told, dict) and place in PARTS:
        for key, value in told.items():
            if key in PARTS[place]:
                yield from _unread(value, f"{place}.{key}" if place else key)
            elif not (place == "learner.attributes" and key in OWN and OWN[key].fullmatch(str(value))):
                yield f"unknown entries of {place or 'the file'}", max(PEOPLE, _size(value))


def _size(told: Any) -> int:
    """About how many numbers it holds."""
    found, waiting = 0, [told]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict | list):
            waiting.extend(here.values() if isinstance(here, dict) else here)
        else:
            found += here.size if isinstance(here, np.ndarray) else text_size(here) if isinstance(here, str) else 1
    return found
