"""Trains LightGBM's estimators on other people: what its files say of how they were trained, and fitting."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.algorithms.induction import feature_matrix
from leafgate.api import Learner, Table

CLASSIFIER, REGRESSOR = "lightgbm.LGBMClassifier", "lightgbm.LGBMRegressor"
SQUARED_ERROR = "regression"
"""What LGBMRegressor learns by."""
NAMES: Mapping[str, str] = {
    "boosting": "boosting_type",
    "bagging_fraction": "subsample",
    "bagging_freq": "subsample_freq",
    "bin_construct_sample_cnt": "subsample_for_bin",
    "feature_fraction": "colsample_bytree",
    "lambda_l1": "reg_alpha",
    "lambda_l2": "reg_lambda",
    "min_data_in_leaf": "min_child_samples",
    "min_gain_to_split": "min_split_gain",
    "min_sum_hessian_in_leaf": "min_child_weight",
}
"""Parameters that LGBMClassifier calls otherwise than files."""

_SWITCHES = (
    "boost_from_average extra_trees is_unbalance quant_train_renew_leaf stochastic_rounding uniform_drop use_missing "
    "use_quantized_grad xgboost_dart_mode zero_as_missing"
)
_SAME_NAMES = (
    "cat_l2 cat_smooth data_sample_strategy drop_rate feature_fraction_bynode learning_rate linear_lambda max_bin "
    "max_cat_threshold max_cat_to_onehot max_delta_step max_depth max_drop min_data_in_bin min_data_per_group "
    "neg_bagging_fraction num_grad_quant_bins num_leaves other_rate path_smooth pos_bagging_fraction scale_pos_weight "
    "sigmoid skip_drop top_rate"
)
SWITCHES = frozenset(_SWITCHES.split())
"""Parameters that are true or false, in files 1 or 0."""

SAME_NAMES = frozenset(_SAME_NAMES.split()) | SWITCHES
"""Parameters that both call the same."""

LISTS = (
    *("cegb_penalty_feature_coupled", "cegb_penalty_feature_lazy", "feature_contri", "forcedbins_filename"),
    *("forcedsplits_filename", "interaction_constraints", "max_bin_by_feature", "monotone_constraints"),
)
"""Parameters that are lists, or files; with one of them no classifier is fitted here."""

PARAMETERS = frozenset({*NAMES.values(), *SAME_NAMES, "class_weight", "n_estimators"})
"""Parameters of a classifier that are part of a model: not those that state how it is computed, nor the seeds."""

COMPUTED = frozenset({"n_jobs", "objective", "random_state", "verbosity"})
"""Parameters that state how a model is computed, or follow from the class; they are not used."""

NUMBER = re.compile(r"-?[0-9]{1,18}")
DECIMAL = re.compile(r"-?[0-9.]{1,24}(e[-+]?[0-9]{1,3})?")
WORD = re.compile(r"[a-z_]{1,20}")


def learner_of(
    settings: Mapping[str, str], objective: str, rounds: int, categories: frozenset[str], *, weighted: bool
) -> Learner | None:
    """The estimator that was fitted, as far as a file discloses; None where the file has no parameters.

    `categories` are the names of the features that are categories; `weighted`: rows or classes had weights, which a
    file does not hold.
    """
    if "num_leaves" not in settings or objective not in {SQUARED_ERROR, "binary", "multiclass", "multiclassova"}:
        return None
    if any(settings.get(name) for name in LISTS) or settings.get("linear_tree", "0") != "0":
        return None
    found: dict[str, Any] = {"n_estimators": rounds}
    for name, text in settings.items():
        if name in NAMES or name in SAME_NAMES:
            value = _value(text)
            if value is None:
                return None
            found[NAMES.get(name, name)] = value == 1 if name in SWITCHES else value
    if objective == SQUARED_ERROR:
        return Learner(REGRESSOR, found, unknown=("sample_weight",) if weighted else (), categories=categories)
    return Learner(CLASSIFIER, found, unknown=("class_weight",) if weighted else (), categories=categories)


def _value(text: str) -> int | float | str | None:
    """A parameter's value; None where it is neither a number nor a word."""
    if NUMBER.fullmatch(text):
        return int(text)
    if DECIMAL.fullmatch(text) and text.count(".") < 2:
        return float(text)
    return text if WORD.fullmatch(text) else None


def train(learner: Learner, own: Table, asked: Table, seed: int) -> NDArray[np.float64]:
    """Fit the classifier on people and return the score that it gives each class.

    Args:
        learner: `lightgbm.LGBMClassifier`, and parameters of it.
        own: the people to fit it on; each is one row.
        asked: the rows to be scored.
        seed: `random_state` of the classifier.

    Returns:
        Shape (n_rows of asked, n_classes).

    Raises:
        InconclusiveError: LightGBM is not installed, parameters are unknown, the class is none that is fitted here, or
            it cannot be fitted on these people with these parameters.

    Departure: one thread, while LightGBM takes all; sums may differ in the last digits. Of the seeds only the one from
    which LightGBM derives the others is set.
    """
    parameters = feature_matrix.chosen_parameters(learner, {"LGBMClassifier": PARAMETERS}, COMPUTED)

    def fitted(data: feature_matrix.TrainingData) -> feature_matrix.Scores:
        return feature_matrix.probabilities_of(_fitted("LGBMClassifier", parameters, data, seed))

    return feature_matrix.fit_and_score(learner, own, asked, fitted, np.float64)


def fit(learner: Learner, features: feature_matrix.FeatureMatrix, target: NDArray[Any], seed: int) -> Any:
    """Fit the estimator on features and return it.

    Args:
        learner: `lightgbm.LGBMClassifier` or `LGBMRegressor`, and parameters of it; those left out have their defaults.
        features: shape (n_people, n_features).
        target: shape (n_people,), whole numbers from 0 of a classifier, of a regressor any numbers.
        seed: `random_state` of the estimator.

    Raises:
        InconclusiveError: LightGBM is not installed, the class is none that is fitted here, or it cannot be fitted on
            these people with these parameters.
    """
    known = {"LGBMClassifier": PARAMETERS, "LGBMRegressor": PARAMETERS}
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
        import lightgbm
    except ImportError:
        raise feature_matrix.not_installed("LightGBM", "lightgbm") from None
    categories: list[int] = np.flatnonzero(data.native).tolist()
    try:
        estimator = getattr(lightgbm, kind)(**parameters, random_state=seed, n_jobs=1, verbosity=-1)
        return estimator.fit(data.features, data.target, categorical_feature=categories or "auto")
    except (ValueError, TypeError, lightgbm.basic.LightGBMError) as error:
        raise feature_matrix.cannot_be_fitted(kind, error) from None
