"""AdaBoost of classification trees as neutral trees: the weight of each tree is the score of its label."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from leafgate.api import Floats, ReleaseError
from leafgate.readers import LEAF, CalibratedSum, ObjectView, TreeIR
from leafgate_plugins.sklearn import bagging
from leafgate_plugins.sklearn.trees import EstimatorIR, class_tree, classes_of

ADABOOST = "AdaBoostClassifier"
ALGORITHMS = frozenset({"SAMME", "deprecated"})
"""What `algorithm` is where trees vote with their weights; from 1.8 scikit-learn has no other and no such setting."""


def adaboost_classifier(estimator: ObjectView) -> EstimatorIR:
    """The scores of classes are what the trees' labels add up to, and their softmax is what the model answers.

    With K classes the label of a tree of weight w adds w / (K - 1), and -w / (K - 1)^2 to each other class, divided by
    the sum of all weights. The trees were grown on all rows with weights of their own, which the file does not have.

    Source: Zhu, Zou, Rosset, Hastie, "Multi-class AdaBoost", Statistics and Its Interface 2, 2009, algorithm 2 and
    equation 15. doi:10.4310/SII.2009.v2.n3.a8
    """
    if estimator.get("algorithm", "SAMME") not in ALGORITHMS:
        raise ReleaseError(
            "is an AdaBoostClassifier of the algorithm SAMME.R, which adds up logarithms of shares",
            place=estimator.place,
            remedy='fit it with `algorithm="SAMME"`, or fit a GradientBoostingClassifier',
        )
    classes, members = classes_of(estimator), bagging.members_of(estimator)
    if any(classes_of(member) != classes for member in members):
        raise ReleaseError("the classes of one of its trees are not those of the ensemble", place=estimator.place)
    trees = tuple(
        _scored(class_tree(member, len(classes), estimator.place), weight)
        for member, weight in zip(members, _weights(estimator, len(members)), strict=True)
    )
    return EstimatorIR(classes, trees, "boost", "unknown", member=bagging.settings_member(members))


def bagging_of_classifiers(estimator: ObjectView) -> EstimatorIR:
    """Bagging of trees, or of AdaBoost, which answers the mean of the shares of its members.

    Which rows a member was given, and with which weights, does not follow from the file.
    """
    members = [bagging.after_samplers(each) for each in estimator.many("estimators_")]
    if not members or any(not isinstance(each, ObjectView) or each.kind != ADABOOST for each in members):
        return bagging.bagging_classifier(estimator)
    classes, read = classes_of(estimator), [adaboost_classifier(each) for each in members]
    if any(each.classes != tuple(map(str, range(len(classes)))) for each in read):
        raise ReleaseError("the classes of one of its members are not those of the ensemble", place=estimator.place)
    trees = tuple(
        bagging.of_unknown_rows(bagging.over_all_features(tree, features, estimator))
        for each, features in zip(read, bagging.features_of(estimator, len(read)), strict=True)
        for tree in each.trees
    )
    sums = tuple(CalibratedSum(len(each.trees), "softmax") for each in read)
    member = bagging.settings_member([each.member for each in read if each.member is not None])
    return EstimatorIR(
        classes, trees, "boost", "unknown", sampling=bagging.UNKNOWN_RATE, member=member, calibrated_sums=sums
    )


def _weights(estimator: ObjectView, members: int) -> Floats:
    """The weight of each tree among all; a boosting that stopped early has zeros after those of its trees."""
    weights = estimator.array("estimator_weights_").astype(np.float64)
    good = weights.ndim == 1 and len(weights) >= members and np.isfinite(weights).all() and weights.sum() > 0
    if not good or weights[members:].any():
        raise ReleaseError("its `estimator_weights_` are not one number for each tree", place=estimator.place)
    return np.asarray(weights[:members] / weights.sum())


def _scored(tree: TreeIR, weight: float) -> TreeIR:
    """The tree with scores of its labels in place of shares, and its rows in place of weights of classes."""
    classes = tree.values.shape[1]
    labels = np.eye(classes)[tree.values.argmax(axis=1)]
    scores = weight / (classes - 1) * np.where(labels == 1, 1.0, -1 / (classes - 1))
    scores[tree.feature != LEAF] = np.nan
    rows = next((each.values for each in tree.numbers if each.name == "n_node_samples"), None)
    return replace(tree, values=scores, counts=None, size=rows)
