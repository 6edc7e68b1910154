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
from leafgate.readers import RATIOS_DISCLOSURE, ObjectView, TreeIR
from leafgate_plugins.sklearn.calibration import CALIBRATED, calibrated_trees
from leafgate_plugins.sklearn.trees import says_labels

ROWS = "how many rows reach every node (n_node_samples)"
WEIGHTS_AND_ROWS = "how many rows reach every node, and the weight of each class there: in the first tree its people"
KEPT: Mapping[str, FileDisclosure] = {
    "oob_decision_function_": FileDisclosure(
        "training_rows", "high", "what the forest says of every single row it was trained on (oob_decision_function_)"
    ),
    "oob_prediction_": FileDisclosure(
        "training_rows", "high", "what the forest says of every single row it was trained on (oob_prediction_)"
    ),
    "_sample_weight": FileDisclosure(
        "training_rows",
        "high",
        "the weight of every single row it was trained on, which class_weight makes its class's",
    ),
    "data_min_": FileDisclosure(
        "extremes", "medium", "the smallest and the largest number of a column (data_min_, data_max_)"
    ),
    "max_abs_": FileDisclosure("extremes", "medium", "the number of a column that is farthest from 0 (max_abs_)"),
    "bin_thresholds_": FileDisclosure(
        "values",
        "medium",
        "where a column's values lie: all of them where they are few, else quantiles (bin_thresholds_)",
    ),
    "mean_": FileDisclosure(
        "moments", "medium", "mean and spread of a column, and how many rows there are (mean_, var_)"
    ),
    "center_": FileDisclosure("moments", "medium", "median and quartiles of a column (center_, scale_)"),
    "statistics_": FileDisclosure(
        "moments", "medium", "what replaces missing cells: a column's mean, median or commonest value"
    ),
    "class_prior_": FileDisclosure("class_shares", "medium", "the share of each class among all rows (class_prior_)"),
    "_baseline_prediction": FileDisclosure(
        "class_shares", "medium", "the share of each class among all rows (its first score)"
    ),
    "y_thresholds_": FileDisclosure(
        "class_shares",
        "high",
        "the share of each class among people held out whom a tree gives one share (y_thresholds_)",
    ),
    "train_score_": FileDisclosure("training_loss", "low", "the loss after each stage of training (train_score_)"),
    "oob_improvement_": FileDisclosure(
        "training_loss", "low", "how well each stage did on rows left out of it (oob_improvement_, oob_scores_)"
    ),
    "estimator_errors_": FileDisclosure(
        "training_loss", "low", "the error of each stage on the rows it was trained on (estimator_errors_)"
    ),
    "validation_score_": FileDisclosure("training_loss", "low", "the loss on rows set aside (validation_score_)"),
    **dict.fromkeys(
        ("_evals_result", "evals_result_", "_best_score", "best_score"),
        FileDisclosure("training_loss", "low", "the loss after each round of training (evals_result)"),
    ),
    "oob_score_": FileDisclosure("training_loss", "low", "how well it did on rows left out (oob_score_)"),
    "categories_": FileDisclosure("categories", "low", "which values a column had in training (categories_)"),
    "_infrequent_indices": FileDisclosure(
        "rare_values", "medium", "which values of a column were rare in training (infrequent_categories_)"
    ),
}
"""Attributes that disclose something, whatever kind of object has them. Numbers that are the cells of a few people are
found by an audit, which compares them with the table."""

CALIBRATION = FileDisclosure(
    "calibration", "high", "how many people of each class are at every node, which its shares do not say", "counts"
)
"""What a file of calibrated trees holds: attacks are given the calibrated shares, and more follows from the file."""

CELLS = frozenset({"extremes", "values"})
"""Kinds of numbers that are somebody's cells; `high` where they are those of no column, and cannot be compared."""

MOMENTS_ALONE = FileDisclosure("moments", "medium", "mean and spread of a column (mean_, var_)")
"""What a scaler discloses whose number of rows was taken away."""


SEARCHES = frozenset({"GridSearchCV", "RandomizedSearchCV"})
"""Searches over settings, which keep the best model with all that they tried."""

BAGGING = frozenset({"BaggingClassifier", "BaggingRegressor"})
"""Ensembles that draw the rows of each tree by seeds of their own (`_seeds`)."""

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
    if estimator.kind == CALIBRATED and any(tree.size is not None for tree in trees):
        yield CALIBRATION
    elif any(tree.counts is not None for tree in trees):
        says = {
            "exact": "how many people of each class are at every node, exactly (shares times weighted_n_node_samples)",
            "bootstrap": "how often people of each class were drawn to every node, and how many different ones",
            "sampled": "how many of each tree's own people of each class are at every node, exactly",
        }.get(counted, "the weight of each class at every node")
        yield FileDisclosure("counts", "high", says, "counts")
    elif estimator.kind == "AdaBoostClassifier" and any(tree.size is not None for tree in trees):
        yield FileDisclosure("counts", "high", WEIGHTS_AND_ROWS, "counts")
    elif any(tree.size is not None for tree in trees):
        yield FileDisclosure(
            "sizes", "high", ROWS if "Hist" not in estimator.kind else "how many rows reach every node", "counts"
        )


def _impurity(estimator: ObjectView, trees: Sequence[TreeIR]) -> Iterator[FileDisclosure]:
    """Two classes' shares follow from Gini's index or the entropy; gains follow from hessians alike.

    Trees without sizes have no impurities; shares that their leaves say disclose ratios.
    """
    if all(tree.size is None and not tree.numbers for tree in trees):
        if "classes_" in estimator and "Boosting" not in estimator.kind and not says_labels(trees):
            yield RATIOS_DISCLOSURE
    elif estimator.kind.startswith("Hist"):
        yield FileDisclosure("gains", "medium", "how much every test gained (gain)")
    else:
        yield FileDisclosure(
            "impurity", "medium", "the impurity of every node, from which shares of classes follow", "shares"
        )


def _coins(estimator: ObjectView) -> Iterator[FileDisclosure]:
    """Seeds, and with a bootstrap what follows from them."""
    members = estimator.get("estimators_")
    first = members[0] if isinstance(members, tuple) and members and isinstance(members[0], ObjectView) else None
    seeded = "_seeds" in estimator or isinstance(estimator.get("random_state"), int)
    drawn = estimator.get("bootstrap") is True and first is not None and isinstance(first.get("random_state"), int)
    if estimator.kind in BAGGING:
        sample = estimator.get("bootstrap") is not False or estimator.get("_max_samples") != estimator.get("_n_samples")
        if seeded and sample:
            says = "which rows every tree was grown on: they are drawn again from the ensemble's seeds"
            yield FileDisclosure("bootstrap_rows", "high", says)
    elif drawn:
        says = "which rows every tree was grown on: they are drawn again from each tree's random_state"
        yield FileDisclosure("bootstrap_rows", "high", says)
    if seeded or isinstance(estimator.get("_random_seed"), int | np.ndarray):
        yield FileDisclosure("seed", "medium", "the seed, with which training on a guessed table can be repeated")


def kept_by(whole: ObjectView) -> Iterator[FileDisclosure]:
    """What every object in the file keeps; trees themselves are dealt with."""
    for each in _without_trees(whole):
        for name, result in KEPT.items():
            if name in each and _something(each.get(name)):
                yield MOMENTS_ALONE if name == "mean_" and "n_samples_seen_" not in each else result
        if each.kind in SEARCHES and "cv_results_" in each:
            parts = each.get("n_splits_")
            few = isinstance(parts, int) and parts <= MAX_PARTS and _are_results(each.get("cv_results_"), parts)
            yield FileDisclosure("search_results", "medium" if few else "high", TRIED)
        if each.kind == "RobustScaler" and _something(each.get("scale_")):
            yield KEPT["center_"]


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
            trees = {"_predictors", "tree_"} if here.kind in VOTING else {"estimators_", "_predictors", "tree_"}
            waiting.extend(here.get(name) for name in sorted(here.names - trees))
        elif isinstance(here, tuple) and len(here) < 10_000:
            waiting.extend(here)
        elif isinstance(here, Mapping):
            waiting.extend(here.values())


def _something(document: Any) -> bool:
    """Is there anything in it?"""
    if isinstance(document, tuple):
        return any(map(_something, document))
    if isinstance(document, np.ndarray):
        return document.size > 0
    return document is not None and not (isinstance(document, float) and math.isnan(document))


DISCLOSURES = tuple(
    """
    how many of each tree's own people of each class are at every node, exactly
    how many people of each class are at every node, which its shares do not say
    how many people of each class are at every node, exactly (shares times weighted_n_node_samples)
    how many rows reach every node
    how many rows reach every node, and the weight of each class there: in the first tree its people
    how many rows reach every node (n_node_samples)
    how much every test gained
    how much every test gained (gain)
    how often people of each class were drawn to every node, and how many different ones
    how well each stage did on rows left out of it (oob_improvement_, oob_scores_)
    how well every setting that was tried did on parts of the table it was trained on (cv_results_)
    how well it did on rows left out (oob_score_)
    mean and spread of a column (mean_, var_)
    mean and spread of a column, and how many rows there are (mean_, var_)
    median and quartiles of a column (center_, scale_)
    the error of each stage on the rows it was trained on (estimator_errors_)
    the impurity of every node, from which shares of classes follow
    the loss after each round of training (evals_result)
    the loss after each stage of training (train_score_)
    the loss on rows set aside (validation_score_)
    the names of # column(s) that the model does not use (feature_names_in_)
    the number of a column that is farthest from # (max_abs_)
    the seed, with which training on a guessed table can be repeated
    the share of each class among all rows (class_prior_)
    the share of each class among people held out whom a tree gives one share (y_thresholds_)
    the share of each class among all rows (its first score)
    the smallest and the largest number of a column (data_min_, data_max_)
    the state of the generator of random numbers that it was trained with
    the weight of each class at every node
    the weight of every single row it was trained on, which class_weight makes its class's
    what replaces missing cells: a column's mean, median or commonest value
    what the forest says of every single row it was trained on (oob_decision_function_)
    what the forest says of every single row it was trained on (oob_prediction_)
    where a column's values lie: all of them where they are few, else quantiles (bin_thresholds_)
    which rows every tree was grown on: they are drawn again from each tree's random_state
    which rows every tree was grown on: they are drawn again from the ensemble's seeds
    which values a column had in training (categories_)
    which values of a column were rare in training (infrequent_categories_)
    """.replace("\n    ", "\n")
    .strip()
    .splitlines()
)
"""What disclosures of such files say, with `#` for each number."""
