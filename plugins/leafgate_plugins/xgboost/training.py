"""Trains XGBoost's estimators on other people: what its files say of how they were trained, and fitting."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.algorithms.induction import feature_matrix
from leafgate.api import Learner, Table

CLASSIFIER, REGRESSOR = "xgboost.XGBClassifier", "xgboost.XGBRegressor"
OBJECTIVES = ("binary:logistic", "multi:softprob", "multi:softmax")
"""What XGBClassifier chooses by the number of classes: the first for two, the others for more."""
SQUARED_ERROR = "reg:squarederror"
"""What XGBRegressor learns by."""

NOT_IN_FILES = ("learning_rate", "max_depth", "min_child_weight", "subsample", "colsample_bytree", "reg_lambda")
"""Parameters that people set, and that a file does not hold."""

_PARAMETERS = (
    "base_score booster colsample_bylevel colsample_bynode colsample_bytree gamma grow_policy learning_rate max_bin "
    "max_cat_threshold max_cat_to_onehot max_delta_step max_depth max_leaves min_child_weight multi_strategy "
    "n_estimators num_parallel_tree reg_alpha reg_lambda sampling_method scale_pos_weight subsample tree_method"
)
PARAMETERS = frozenset(_PARAMETERS.split())
"""Parameters of a classifier that are part of a model: not those that state how it is computed, nor the seed."""

COMPUTED = frozenset({"device", "enable_categorical", "n_jobs", "objective", "random_state", "verbosity"})
"""Parameters that state how a model is computed, or follow from the columns; they are not used."""


def learner_of(
    objective: str,
    classes: int,
    rounds: int,
    parallel: int,
    positive: float,
    categories: frozenset[str],
    parameters: Mapping[str, Any] | None,
    *,
    vectors: bool,
) -> Learner | None:
    """The estimator that was fitted, as far as a file discloses; None for what it is not fitted for.

    `categories` are the names of the features that are categories, `parameters` the settings that the state of a
    Booster contains beside its model; None of a file that contains the model alone. `vectors`: leaves have a number for
    each class.
    """
    of_numbers = objective == SQUARED_ERROR
    of_classes = objective in OBJECTIVES and (objective == OBJECTIVES[0]) == (classes == 2)
    if not (of_numbers or of_classes) or math.isnan(positive):
        return None
    estimator = REGRESSOR if of_numbers else CLASSIFIER
    found: dict[str, Any] = {"n_estimators": int(rounds), "num_parallel_tree": parallel, "scale_pos_weight": positive}
    found |= {"multi_strategy": "multi_output_tree"} if vectors else {}
    if parameters is not None:
        return Learner(estimator, {**parameters, **found}, categories=categories)
    return Learner(estimator, found, unknown=NOT_IN_FILES, categories=categories)


def train(learner: Learner, own: Table, asked: Table, seed: int) -> NDArray[np.float64]:
    """Fit the classifier on people and return the score that it gives each class.

    Args:
        learner: `xgboost.XGBClassifier`, and parameters of it.
        own: the people to fit it on; each is one row.
        asked: the rows to be scored.
        seed: `random_state` of the classifier.

    Returns:
        Shape (n_rows of asked, n_classes).

    Raises:
        InconclusiveError: XGBoost is not installed, parameters are unknown, the class is none that is fitted here, or
            it cannot be fitted on these people with these parameters.

    Departure: one thread, while XGBoost takes all; sums may differ in the last digits.
    """
    parameters = feature_matrix.chosen_parameters(learner, {"XGBClassifier": PARAMETERS}, COMPUTED)

    def fitted(data: feature_matrix.TrainingData) -> feature_matrix.Scores:
        return feature_matrix.probabilities_of(_fitted("XGBClassifier", parameters, data, seed))

    return feature_matrix.fit_and_score(learner, own, asked, fitted)


def fit(learner: Learner, features: feature_matrix.FeatureMatrix, target: NDArray[Any], seed: int) -> Any:
    """Fit the estimator on features and return it.

    Args:
        learner: `xgboost.XGBClassifier` or `XGBRegressor`, and parameters of it; those left out have their defaults.
        features: shape (n_people, n_features).
        target: shape (n_people,), whole numbers from 0 of a classifier, of a regressor any numbers.
        seed: `random_state` of the estimator.

    Raises:
        InconclusiveError: XGBoost is not installed, the class is none that is fitted here, or it cannot be fitted on
            these people with these parameters.
    """
    known = {"XGBClassifier": PARAMETERS, "XGBRegressor": PARAMETERS}
    kind = learner.estimator.rpartition(".")[2]
    return _fitted(
        kind,
        feature_matrix.chosen_parameters(learner, known, COMPUTED),
        feature_matrix.plain_data(features, target),
        seed,
    )


def _fitted(kind: str, parameters: Mapping[str, Any], data: feature_matrix.TrainingData, seed: int) -> Any:
    """The fitted estimator."""
    try:
        import xgboost
    except ImportError:
        raise feature_matrix.not_installed("XGBoost", "xgboost") from None
    types = np.where(data.native, "c", "q").tolist() if data.native.any() else None
    try:
        estimator = getattr(xgboost, kind)(
            **parameters,
            random_state=seed,
            n_jobs=1,
            verbosity=0,
            enable_categorical=types is not None,
            feature_types=types,
        )
        return estimator.fit(data.features, data.target)
    except (ValueError, TypeError) as error:
        raise feature_matrix.cannot_be_fitted(kind, error) from None
