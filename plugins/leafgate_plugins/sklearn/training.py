"""Trains scikit-learn's estimators on other people: what their files say of how they were trained, and fitting."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.algorithms.induction.feature_matrix import (
    FeatureMatrix,
    Scores,
    TrainingData,
    cannot_be_fitted,
    chosen_parameters,
    fit_and_score,
    not_installed,
    plain_data,
)
from leafgate.api import InconclusiveError, Learner, Table
from leafgate.readers import ObjectView

TREE = (
    "ccp_alpha class_weight criterion max_depth max_features max_leaf_nodes min_impurity_decrease min_samples_leaf "
    "min_samples_split min_weight_fraction_leaf monotonic_cst"
)
FOREST = f"{TREE} bootstrap max_samples n_estimators"
BOOSTING = (
    "ccp_alpha criterion init learning_rate loss max_depth max_features max_leaf_nodes min_impurity_decrease "
    "min_samples_leaf min_samples_split min_weight_fraction_leaf n_estimators n_iter_no_change subsample tol "
    "validation_fraction"
)
HISTOGRAMS = (
    "class_weight early_stopping interaction_cst l2_regularization learning_rate loss max_bins max_depth max_features "
    "max_iter max_leaf_nodes min_samples_leaf monotonic_cst n_iter_no_change scoring tol validation_fraction"
)
BAGGING = "bootstrap bootstrap_features max_features max_samples n_estimators"
PARAMETERS: Mapping[str, frozenset[str]] = {
    "DecisionTreeClassifier": frozenset([*TREE.split(), "splitter"]),
    "ExtraTreeClassifier": frozenset([*TREE.split(), "splitter"]),
    "RandomForestClassifier": frozenset(FOREST.split()),
    "ExtraTreesClassifier": frozenset(FOREST.split()),
    "GradientBoostingClassifier": frozenset(BOOSTING.split()),
    "HistGradientBoostingClassifier": frozenset(HISTOGRAMS.split()),
    "BaggingClassifier": frozenset(BAGGING.split()),
}
"""The classifiers that are fitted here, and the parameters of each that are part of a model: not those that state how
it is computed, nor the seed. A forest of `BaggingClassifier` is one of its default, decision trees."""

ESTIMATORS: Mapping[str, frozenset[str]] = {
    **PARAMETERS,
    **{
        name.replace("Classifier", "Regressor"): known - {"class_weight"} | {"alpha", "quantile"}
        for name, known in PARAMETERS.items()
    },
}
"""The same with the regressors, which are fitted on features alone."""


def learner_of(estimator: ObjectView) -> Learner | None:
    """The estimator that was fitted, with its parameters; None where these are more than numbers and texts."""
    known = ESTIMATORS.get(estimator.kind)
    if known is None:
        return None
    found = {name: estimator.get(name) for name in sorted(known & estimator.names)}
    if not all(isinstance(value, str | int | float | bool | None) for value in found.values()):
        return None
    return Learner(f"sklearn.{_module(estimator.kind)}.{estimator.kind}", found)


def _module(kind: str) -> str:
    stem = kind.removesuffix("Classifier").removesuffix("Regressor")
    return "tree" if stem in {"DecisionTree", "ExtraTree"} else "ensemble"


def train(learner: Learner, own: Table, asked: Table, seed: int) -> NDArray[np.float64]:
    """Fit the classifier on people and return the score that it gives each class.

    Args:
        learner: the name of a class in PARAMETERS, and parameters of it.
        own: the people to fit it on; each is one row.
        asked: the rows to be scored.
        seed: `random_state` of the classifier.

    Returns:
        Shape (n_rows of asked, n_classes).

    Raises:
        InconclusiveError: scikit-learn is not installed, the class is none that is fitted here, or it cannot be fitted
            on these people with these parameters.

    Departure: HistGradientBoosting is fitted in double precision, as it is, the others in single precision, as their
    trees are. GradientBoosting takes no missing numbers; they become the medians of the people whom it is fitted on.
    """
    kind = learner.estimator.rpartition(".")[2]
    parameters = chosen_parameters(learner, PARAMETERS, COMPUTED)
    histograms = kind.startswith("Hist")

    def fit(data: TrainingData) -> Scores:
        filled = _medians(data.features) if kind in WITHOUT_GAPS else None
        classifier = _fitted(kind, parameters, replace(data, features=_filled(data.features, filled)), seed)

        def scores(features: FeatureMatrix) -> NDArray[np.float64]:
            with _one_thread(kind):
                result: NDArray[np.float64] = classifier.predict_proba(_filled(features, filled))
            return result

        return scores

    return fit_and_score(learner, own, asked, fit, np.float64 if histograms else np.float32)


COMPUTED = frozenset({"n_jobs", "oob_score", "random_state", "verbose", "warm_start"})
"""Parameters that state how a model is computed; they are not used."""


def fit(learner: Learner, features: FeatureMatrix, target: NDArray[Any], seed: int) -> Any:
    """Fit the estimator on features and return it.

    Args:
        learner: the name of a class in ESTIMATORS, and parameters of it.
        features: shape (n_people, n_features).
        target: shape (n_people,), whole numbers from 0 of a classifier, of a regressor any numbers.
        seed: `random_state` of the estimator.

    Raises:
        InconclusiveError: scikit-learn is not installed, the class is none that is fitted here, or it cannot be fitted
            on these people with these parameters.
    """
    kind = learner.estimator.rpartition(".")[2]
    if kind in WITHOUT_GAPS and np.isnan(features).any():
        raise InconclusiveError(f"scikit-learn's {kind} takes no missing numbers")
    return _fitted(kind, chosen_parameters(learner, ESTIMATORS, COMPUTED), plain_data(features, target), seed)


def _fitted(kind: str, parameters: Mapping[str, Any], data: TrainingData, seed: int) -> Any:
    """The fitted estimator."""
    given = dict(parameters, random_state=seed)
    if data.native.any():
        if not kind.startswith("Hist"):
            raise InconclusiveError(f"scikit-learn's {kind} takes no categories, only numbers")
        given["categorical_features"] = data.native
    try:
        from sklearn import ensemble, tree
    except ImportError:
        raise not_installed("scikit-learn", "sklearn") from None
    try:
        estimator = getattr({"tree": tree, "ensemble": ensemble}[_module(kind)], kind)(**given)
        with _one_thread(kind):
            return estimator.fit(data.features, data.target)
    except (ValueError, TypeError) as error:
        raise cannot_be_fitted(kind, error) from None


WITHOUT_GAPS = frozenset({"GradientBoostingClassifier", "GradientBoostingRegressor"})
"""Estimators that take no missing numbers, so that something before them has filled them."""


def _medians(features: FeatureMatrix) -> FeatureMatrix:
    """The median of each feature, 0 where all are missing: shape (n_features,)."""
    empty = np.isnan(features).all(axis=0)
    return np.nanmedian(np.where(empty, 0, features), axis=0)


def _filled(features: FeatureMatrix, by: FeatureMatrix | None) -> FeatureMatrix:
    """The features, missing ones replaced by the numbers of their columns; as they are where there is none."""
    return features if by is None else np.where(np.isnan(features), by, features)


def _one_thread(kind: str) -> AbstractContextManager[Any]:
    """Histogram boosting in one thread: several classifiers that each take all cores wait for each other."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, user_api="openmp") if kind.startswith("Hist") else nullcontext()
