"""imbalanced-learn: forests, bagging and boosting of trees that each learned from rows which a sampler chose or made.

Samplers do nothing when a model predicts. Which rows a tree learned from nobody knows, and some may be made up, so that
the numbers on its nodes count no people of the table.

Source: imbalanced-learn 0.14, `imblearn.ensemble` and `imblearn.pipeline`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from leafgate.readers import ObjectView
from leafgate_plugins.sklearn.adaboost import adaboost_classifier, bagging_of_classifiers
from leafgate_plugins.sklearn.bagging import UNKNOWN_RATE, of_unknown_rows
from leafgate_plugins.sklearn.trees import EstimatorIR, forest_classifier


def resampled(read: EstimatorIR) -> EstimatorIR:
    """What an estimator comes to whose trees learned from rows that a sampler chose or made."""
    return replace(read, trees=tuple(map(of_unknown_rows, read.trees)), counted="unknown", sampling=UNKNOWN_RATE)


def _resampled_by(reader: Callable[[ObjectView], EstimatorIR]) -> Callable[[ObjectView], EstimatorIR]:
    return lambda estimator: resampled(reader(estimator))


RESAMPLING: Mapping[str, Callable[[ObjectView], EstimatorIR]] = {
    "BalancedRandomForestClassifier": _resampled_by(forest_classifier),
    "BalancedBaggingClassifier": _resampled_by(bagging_of_classifiers),
    "EasyEnsembleClassifier": _resampled_by(bagging_of_classifiers),
    "RUSBoostClassifier": _resampled_by(adaboost_classifier),
}
"""imbalanced-learn's ensembles, whose answer is that of scikit-learn's with the same trees."""
