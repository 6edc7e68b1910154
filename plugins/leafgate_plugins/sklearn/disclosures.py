"""What a fitted scikit-learn model discloses beyond its predictions."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from leafgate.api import FileDisclosure
from leafgate.kernel.release import Counted
from leafgate.readers import RATIOS_DISCLOSURE, ObjectView, TreeIR, read_shape
from leafgate_plugins.sklearn.bagging import after_samplers
from leafgate_plugins.sklearn.calibration import CALIBRATED, calibrated_trees
from leafgate_plugins.sklearn.trees import says_labels

DISCLOSURES = read_shape("leafgate_plugins.sklearn").disclosures
"""What files disclose; the name of an attribute stands for objects of any kind that have it. Numbers that are the cells
of a few people are found by an audit, which compares them with the table."""

CELLS = frozenset({"extremes", "values"})
"""Kinds of numbers that are somebody's cells; `high` where they are those of no column, and cannot be compared."""

SEARCHES = frozenset({"GridSearchCV", "RandomizedSearchCV"})
"""Searches over settings, which keep the best model with all that they tried."""

BAGGING = frozenset({"BaggingClassifier", "BaggingRegressor", "IsolationForest"})
"""Ensembles that draw the rows of each tree by seeds of their own (`_seeds`)."""

AUTOMATIC_OFFSET = -0.5
"""The `offset_` of an isolation forest that was told no share of outliers; any other is a quantile of scores."""

VOTING = frozenset({"VotingClassifier", "VotingRegressor"})
"""Ensembles of estimators that each keep something of their own."""

MAX_PARTS = 20
"""A search that divides the table into more parts may score each of a few people."""

TRIED = "how well every setting that was tried did on parts of the table it was trained on (cv_results_)"


def disclosures(
    root: ObjectView, estimator: ObjectView, trees: Sequence[TreeIR], counted: Counted, *, of_columns: bool
) -> tuple[FileDisclosure, ...]:
    """Everything the estimator and the transformers before it keep that nobody needs to predict.

    `of_columns`: the numbers of scalers and binners are those of columns, and not of what another scaler made of them.
    """
    members = estimator.many("estimators_") if estimator.kind in VOTING else ()
    voters = [each for each in members if isinstance(each, ObjectView)]
    voters += calibrated_trees(estimator) if estimator.kind == CALIBRATED else []
    coins = [coin for each in (estimator, *voters) for coin in _coins(each)]
    found = [*_numbers(estimator, trees, counted), *_impurity(estimator, trees), *coins, *kept_by(root)]
    severe = (one if of_columns or one.kind not in CELLS else replace(one, severity="high") for one in found)
    return tuple(dict.fromkeys(severe))


def _numbers(estimator: ObjectView, trees: Sequence[TreeIR], counted: Counted) -> Iterator[FileDisclosure]:
    sized = any(tree.size is not None for tree in trees)
    if estimator.kind == CALIBRATED and sized:
        yield DISCLOSURES["people of nodes"]
    elif any(tree.counts is not None for tree in trees):
        yield DISCLOSURES.get(f"{counted} counts", DISCLOSURES["weights of classes"])
    elif sized and (estimator.kind == "AdaBoostClassifier" or _has_ensembles(estimator)):
        yield DISCLOSURES["weights and rows"]
    elif sized:
        yield DISCLOSURES["rows of histograms" if "Hist" in estimator.kind else "rows of nodes"]
    if estimator.get("offset_", AUTOMATIC_OFFSET) != AUTOMATIC_OFFSET:
        yield DISCLOSURES["quantile of scores"]


def _impurity(estimator: ObjectView, trees: Sequence[TreeIR]) -> Iterator[FileDisclosure]:
    """Two classes' shares follow from Gini's index or the entropy; gains follow from hessians alike.

    Trees without sizes have no impurities; shares that their leaves say disclose ratios.
    """
    if all(tree.size is None and not tree.numbers for tree in trees):
        if "classes_" in estimator and "Boosting" not in estimator.kind and not says_labels(trees):
            yield RATIOS_DISCLOSURE
    elif estimator.kind.startswith("Hist"):
        yield DISCLOSURES["gains of histograms"]
    elif estimator.kind != "IsolationForest":  # its trees learn random numbers
        yield DISCLOSURES["impurities of nodes"]


def _coins(estimator: ObjectView) -> Iterator[FileDisclosure]:
    """Seeds, and with a bootstrap what follows from them."""
    members = estimator.get("estimators_")
    first = members[0] if isinstance(members, tuple) and members and isinstance(members[0], ObjectView) else None
    seeded = "_seeds" in estimator or isinstance(estimator.get("random_state"), int)
    drawn = estimator.get("bootstrap") is True and first is not None and isinstance(first.get("random_state"), int)
    if estimator.kind in BAGGING:
        sample = estimator.get("bootstrap") is not False or estimator.get("_max_samples") != estimator.get("_n_samples")
        if seeded and sample:
            yield DISCLOSURES["rows of members"]
    elif drawn:
        yield DISCLOSURES["rows of trees"]
    if seeded or isinstance(estimator.get("_random_seed"), int | np.ndarray):
        yield DISCLOSURES["the seed"]


def kept_by(whole: ObjectView) -> Iterator[FileDisclosure]:
    """What every object in the file keeps; trees themselves are dealt with."""
    for each in _without_trees(whole):
        for name, result in DISCLOSURES.items():
            if name in each and _something(each.get(name)):
                alone = name == "mean_" and "n_samples_seen_" not in each
                yield DISCLOSURES["moments without rows"] if alone else result
        if each.kind in SEARCHES and "cv_results_" in each:
            parts = each.get("n_splits_")
            few = isinstance(parts, int) and parts <= MAX_PARTS and _are_results(each.get("cv_results_"), parts)
            yield FileDisclosure("search_results", "medium" if few else "high", TRIED)
        if each.kind == "RobustScaler" and _something(each.get("scale_")):
            yield DISCLOSURES["center_"]


RESULT = re.compile(r"(mean|std|rank)_[a-z_0-9]{1,40}|params|param_\w{1,80}|split([0-9]{1,2})_[a-z_0-9]{1,40}")


def _are_results(document: Any, parts: int) -> bool:
    """Are they scores of each setting on each part, and no more?"""
    if not isinstance(document, Mapping) or not all(isinstance(name, str) for name in document):
        return False
    settings = document.get("params")
    if not isinstance(settings, tuple):
        return False
    for name, values in document.items():
        match = RESULT.fullmatch(name)
        masked = isinstance(values, ObjectView) and name.startswith("param_")  # arrays of a file that are not read
        sized = masked or (isinstance(values, tuple | np.ndarray) and len(values) == len(settings))
        if match is None or not sized or (match[2] is not None and int(match[2]) >= parts):
            return False
    return True


def _without_trees(whole: ObjectView) -> Iterator[ObjectView]:
    """Every object but the trees of an ensemble."""
    waiting: list[Any] = [whole]
    while waiting:
        here = waiting.pop()
        if isinstance(here, ObjectView):
            yield here
            keeps_more = here.kind in VOTING or _has_ensembles(here)
            trees = {"_predictors", "tree_"} if keeps_more else {"estimators_", "_predictors", "tree_"}
            waiting.extend(here.get(name) for name in sorted(here.names - trees))
        elif isinstance(here, tuple) and len(here) < 10_000:
            waiting.extend(here)
        elif isinstance(here, Mapping):
            waiting.extend(here.values())


def _has_ensembles(estimator: ObjectView) -> bool:
    """Are its members ensembles, such as AdaBoost, which keep something of their own?"""
    members = estimator.get("estimators_")
    first = after_samplers(members[0]) if isinstance(members, tuple) and members else None
    return isinstance(first, ObjectView) and "estimators_" in first


def _something(document: Any) -> bool:
    """Is there anything in it?"""
    if isinstance(document, tuple):
        return any(map(_something, document))
    if isinstance(document, np.ndarray):
        return document.size > 0
    return document is not None and not (isinstance(document, float) and math.isnan(document))
