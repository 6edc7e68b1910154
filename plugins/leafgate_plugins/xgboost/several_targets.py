"""The trees of one of several targets, as the file of a model that predicts that target alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from leafgate.api import ReleaseError
from leafgate.io.json import list_at
from leafgate.ir.arrays import integers_at
from leafgate.readers import object_at
from leafgate_plugins.xgboost.vector_leaves import leaf_width, of_output

EACH_BY_ITSELF = "write each as a file of its own, by `leafgate convert MODEL NEW.json --output 0` and so on"


def of_target(document: Mapping[str, Any], output: int, place: str) -> dict[str, Any]:
    """The document of a model with the trees, or the numbers of its leaves, and the base score of one target.

    Args:
        document: what the file of a model holds.
        output: the number of the target, from 0.
        place: what errors call the file.

    Raises:
        ReleaseError: no target has this number, or the file does not say of which target each tree is.
    """
    learner = object_at(document.get("learner"), f"{place}.learner")
    shape = object_at(learner.get("learner_model_param"), f"{place}.learner.learner_model_param")
    stated = shape.get("num_target", "1")
    number = int(stated) if isinstance(stated, str) and stated.isascii() and stated.isdigit() else 1
    if output >= number:
        raise ReleaseError(f"has no output {output}: it predicts {number} column(s)", place=place)
    if number == 1:
        return dict(document)
    at = f"{place}.learner.gradient_booster"
    booster = object_at(learner.get("gradient_booster"), at)
    within = object_at(booster["gbtree"], f"{at}.gbtree") if "gbtree" in booster else booster
    model = object_at(within.get("model"), f"{at}.model")
    trees = list_at(model, "trees", f"{at}.model")
    groups = integers_at(model, "tree_info", f"{at}.model", len(trees))
    chosen = np.flatnonzero(groups == output)
    if any(leaf_width(tree, f"{at}.model.trees[{i}]") > 1 for i, tree in enumerate(trees)):
        chosen = np.arange(len(trees))
        trees = [of_output(tree, output, number, f"{at}.model.trees[{i}]") for i, tree in enumerate(trees)]
    own = {
        **_with_weights(model, chosen, len(trees), at),
        "trees": [{**object_at(trees[i], f"{at}.model.trees[{i}]"), "id": n} for n, i in enumerate(chosen.tolist())],
        "tree_info": [0] * len(chosen),
        "gbtree_model_param": {
            **object_at(model.get("gbtree_model_param"), f"{at}.model.gbtree_model_param"),
            "num_trees": str(len(chosen)),
        },
    }
    if "iteration_indptr" in model:
        starts = integers_at(model, "iteration_indptr", f"{at}.model")
        own["iteration_indptr"] = np.searchsorted(chosen, starts).tolist()
    changed = {**within, "model": own} if within is booster else {**booster, "gbtree": {**within, "model": own}}
    changed = _with_weights(changed, chosen, len(trees), at)
    params = {**shape, "num_target": "1", "base_score": _base_score(shape.get("base_score"), output, number, place)}
    return {**document, "learner": {**learner, "learner_model_param": params, "gradient_booster": changed}}


def _with_weights(part: Mapping[str, Any], chosen: np.ndarray, trees: int, place: str) -> dict[str, Any]:
    """A part of the booster with the weights of the chosen trees, where it has those of all trees (DART)."""
    if "weight_drop" not in part:
        return dict(part)
    weights = list(part["weight_drop"])
    if len(weights) != trees:
        raise ReleaseError("must be a number for each tree", place=f"{place}.weight_drop")
    return {**part, "weight_drop": [weights[i] for i in chosen.tolist()]}


def _base_score(stated: Any, output: int, number: int, place: str) -> Any:
    """The text of the target's own base score; XGBoost before 3.1 has one for all targets."""
    try:
        scores = json.loads(stated) if isinstance(stated, str) else stated
    except (ValueError, RecursionError):
        return stated
    if not isinstance(scores, list) or len(scores) == 1:
        return stated
    if len(scores) != number:
        where = f"{place}.learner.learner_model_param.base_score"
        raise ReleaseError("must be one number, or one for each target", place=where)
    return json.dumps(scores[output])
