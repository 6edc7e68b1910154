"""Trains CatBoost's classifiers on other people: what its files say of how they were trained, and fitting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.algorithms.induction import feature_matrix
from leafgate.api import Learner, Table

CLASSIFIER = "catboost.CatBoostClassifier"
LOSSES = ("Logloss", "MultiClass")
"""What CatBoostClassifier chooses by the number of classes."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "boosting_options": ("boosting_type", "learning_rate"),
    "tree_learner_options": (
        *("depth", "grow_policy", "l2_leaf_reg", "leaf_estimation_iterations", "leaf_estimation_method"),
        *("min_data_in_leaf", "random_strength", "rsm", "score_function"),
    ),
    "cat_feature_params": ("one_hot_max_size",),
}
"""The parameters of a classifier by the part of a file's parameters in which they stand."""

BOOTSTRAP = {"type": "bootstrap_type", "subsample": "subsample", "bagging_temperature": "bagging_temperature"}
BINARIZATION = ("border_count", "nan_mode")
COMPLEXITY = "max_ctr_complexity"
FOLLOW = {"Lossguide": ("max_leaves",)}
"""Parameters that CatBoost takes with some ways to grow trees alone."""

PARAMETERS = frozenset(
    {
        *(name for names in GROUPS.values() for name in names),
        *BOOTSTRAP.values(),
        *BINARIZATION,
        *(name for names in FOLLOW.values() for name in names),
        COMPLEXITY,
        "iterations",
    }
)
"""Parameters of a classifier that are part of a model: not those that state how it is computed, nor the seed."""

STATISTICS = frozenset(
    {
        *("combinations_ctr", "counter_calc_method", "ctr_leaf_count_limit", "ctr_target_border_count"),
        *("per_feature_ctr", "simple_ctr", "store_all_simple_ctr"),
    }
)
"""Parameters of statistics of categories, with which no classifier is fitted here."""

COMPUTED = frozenset({"allow_writing_files", "loss_function", "random_seed", "task_type", "thread_count", "verbose"})
"""Parameters that state how a model is computed, or follow from the classes; they are not used."""


def learner_of(
    parameters: Mapping[str, Any], loss: str, rounds: int, categories: frozenset[str], *, statistics: bool
) -> Learner | None:
    """The classifier that was fitted; None for what it is not fitted for, or where rows or features had weights.

    Args:
        parameters: all parameters of training, as the file has them.
        loss: the loss.
        rounds: how many trees of a class there are.
        categories: the names of the features that are categories.
        statistics: whether some test asks for a statistic of categories.
    """
    options = {key: _table(parameters, key) for key in (*GROUPS, "data_processing_options")}
    trees, data = options["tree_learner_options"], options["data_processing_options"]
    weighted = data.get("class_weights") or data.get("auto_class_weights", "None") != "None"
    if statistics and STATISTICS & _table(parameters, "flat_params").keys():
        return None
    if loss not in LOSSES or weighted or trees.get("monotone_constraints") or not trees:
        return None
    found = {name: options[part].get(name) for part, names in GROUPS.items() for name in names}
    found |= {own: _table(trees, "bootstrap").get(name) for name, own in BOOTSTRAP.items()}
    found |= {name: _table(data, "float_features_binarization").get(name) for name in BINARIZATION}
    if statistics:
        found[COMPLEXITY] = options["cat_feature_params"].get(COMPLEXITY)
    found |= {name: trees.get(name) for name in FOLLOW.get(str(trees.get("grow_policy")), ())}
    if found["bootstrap_type"] not in {"MVS", "Bernoulli", "Poisson"}:
        del found["subsample"]
    if not all(isinstance(value, str | int | float | None) for value in found.values()):
        return None
    written = {name: value for name, value in found.items() if value is not None}
    return Learner(CLASSIFIER, {**written, "iterations": rounds}, categories=categories)


def _table(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = document.get(key)
    return found if isinstance(found, dict) else {}


def train(learner: Learner, own: Table, asked: Table, seed: int) -> NDArray[np.float64]:
    """Fit the classifier on people and return the score that it gives each class.

    Args:
        learner: `catboost.CatBoostClassifier`, and parameters of it.
        own: the people to fit it on; each is one row.
        asked: the rows to be scored.
        seed: `random_seed` of the classifier.

    Returns:
        Shape (n_rows of asked, n_classes).

    Raises:
        InconclusiveError: CatBoost is not installed, parameters are unknown, the class is none that is fitted here, or
            it cannot be fitted on these people with these parameters.

    Departure: one thread, while CatBoost takes all; sums may differ in the last digits.
    """
    parameters = feature_matrix.chosen_parameters(learner, {"CatBoostClassifier": PARAMETERS}, COMPUTED)

    def fit(data: feature_matrix.TrainingData) -> feature_matrix.Scores:
        try:
            import catboost
        except ImportError:
            raise feature_matrix.not_installed("CatBoost", "catboost") from None
        categories: list[int] = np.flatnonzero(data.native).tolist()

        def given(features: feature_matrix.FeatureMatrix) -> Any:
            """The features; categories as texts of their codes, which CatBoost does not take as numbers."""
            if not categories:
                return features
            columns: Any = features.astype(object)
            for i in categories:
                columns[:, i] = [str(code) for code in features[:, i].tolist()]
            return columns

        try:
            classifier = catboost.CatBoostClassifier(
                **parameters,
                random_seed=seed,
                thread_count=1,
                verbose=False,
                allow_writing_files=False,
                cat_features=categories or None,
            )
            classifier.fit(given(data.features), data.target)
        except (ValueError, TypeError, catboost.CatBoostError) as error:
            raise feature_matrix.cannot_be_fitted("CatBoostClassifier", error) from None

        def scores(features: feature_matrix.FeatureMatrix) -> NDArray[np.float64]:
            return np.asarray(classifier.predict_proba(given(features)), dtype=np.float64)

        return scores

    return feature_matrix.fit_and_score(learner, own, asked, fit)
