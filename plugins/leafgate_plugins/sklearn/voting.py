"""scikit-learn's voting of trees and forests as neutral trees, where each tree has the same weight."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NoReturn

import numpy as np

from leafgate.api import Combine, Floats, Ids, ReleaseError
from leafgate.bounded.objects import as_tuple
from leafgate.kernel.release import Counted
from leafgate.readers import ObjectView, Sampling, TreeIR
from leafgate_plugins.sklearn import trees as sklearn_trees
from leafgate_plugins.sklearn.bagging import UNKNOWN_RATE, bagging_classifier, bagging_regressor
from leafgate_plugins.sklearn.nearest_models import EACH_MEMBER

MEANS_OF_TREES: Mapping[str, Callable[[ObjectView], sklearn_trees.EstimatorIR]] = {
    "DecisionTreeClassifier": sklearn_trees.tree_classifier,
    "DecisionTreeRegressor": sklearn_trees.tree_regressor,
    "ExtraTreeClassifier": sklearn_trees.tree_classifier,
    "ExtraTreeRegressor": sklearn_trees.tree_regressor,
    "RandomForestClassifier": sklearn_trees.forest_classifier,
    "RandomForestRegressor": sklearn_trees.forest_regressor,
    "ExtraTreesClassifier": sklearn_trees.forest_classifier,
    "ExtraTreesRegressor": sklearn_trees.forest_regressor,
    "BaggingClassifier": bagging_classifier,
    "BaggingRegressor": bagging_regressor,
}
"""The estimators whose answer is the mean of their trees' answers: those that may be members."""

CLOSE = 1e-12
"""Weights of trees that differ by this part of them are equal."""


def voting_classifier(estimator: ObjectView) -> sklearn_trees.EstimatorIR:
    """The mean of the members' shares (`voting="soft"`), or most of the labels of single trees (`voting="hard"`)."""
    classes, voting = sklearn_trees.classes_of(estimator), estimator.get("voting")
    voters = _voters(estimator)
    positions = tuple(str(position) for position in range(len(classes)))
    if any(read.classes != positions for _, read in voters):
        raise ReleaseError("the classes of its members are not its own", place=estimator.place, remedy=EACH_MEMBER)
    if voting == "hard":
        if any(len(read.trees) > 1 for _, read in voters):
            _refuse(estimator, "each member has one vote, and some of them have several trees", 'use `voting="soft"`')
        return _combined(voters, classes, "vote")
    if voting != "soft":
        _refuse(estimator, "its `voting` is neither soft nor hard")
    return _combined(voters, classes, "mean_per_tree")


def voting_regressor(estimator: ObjectView) -> sklearn_trees.EstimatorIR:
    """The mean of the members' numbers."""
    return _combined(_voters(estimator), (), "mean_per_tree")


def _refuse(estimator: ObjectView, why: str, instead: str = "") -> NoReturn:
    remedy = f"{instead}, or {EACH_MEMBER}" if instead else EACH_MEMBER
    raise ReleaseError(f"is a {estimator.kind} that cannot be read: {why}", place=estimator.place, remedy=remedy)


def _voters(estimator: ObjectView) -> tuple[tuple[ObjectView, sklearn_trees.EstimatorIR], ...]:
    """The members with what each comes to; ReleaseError unless each tree of them has the same weight."""
    members = as_tuple(estimator["estimators_"], estimator, "estimators_")
    for member in members:
        kind = member.kind if isinstance(member, ObjectView) else "text"
        if kind not in MEANS_OF_TREES:
            _refuse(estimator, f"one of its members is a {kind}, and not a tree, a forest or bagged trees")
    if not members or len({member.get("n_features_in_") for member in members}) != 1:
        _refuse(estimator, "its members were not given the same features")
    voters = tuple((member, MEANS_OF_TREES[member.kind](member)) for member in members)
    _refuse_other_models(estimator, [read for _, read in voters])
    if any(len(read.trees) > 1 and read.combine != "mean_per_tree" for _, read in voters):
        _refuse(estimator, "the trees of one of its members publish labels alone")
    of_trees = [
        weight / len(read.trees) for weight, (_, read) in zip(_weights(estimator, len(voters)), voters, strict=True)
    ]
    if not all(math.isclose(weight, of_trees[0], rel_tol=CLOSE) for weight in of_trees):
        equal = "give each member a weight (`weights`) in proportion to its number of trees"
        _refuse(estimator, "its trees do not have the same weight, which a release cannot express", equal)
    return voters


def _refuse_other_models(estimator: ObjectView, members: list[sklearn_trees.EstimatorIR]) -> None:
    """ReleaseError where other fitted models are kept beside the members: nothing reads what those disclose."""
    for named in estimator.many("estimators"):
        template = named[1] if isinstance(named, tuple) and len(named) == 2 else None
        if isinstance(template, ObjectView) and template.names & {"tree_", "estimators_"}:
            _refuse(
                estimator,
                "beside its members it keeps estimators that were fitted before it was",
                "give it estimators that were not fitted (`sklearn.base.clone`)",
            )
    named_estimators = estimator.get("named_estimators_")
    if named_estimators is None:
        return
    values = named_estimators.values() if isinstance(named_estimators, Mapping) else [named_estimators]
    others = [each for each in values if each != "drop"]
    same = len(others) == len(members) and all(
        isinstance(other, ObjectView)
        and other.kind in MEANS_OF_TREES
        and _are_same(MEANS_OF_TREES[other.kind](other), member)
        for other, member in zip(others, members, strict=True)
    )
    if not same:
        _refuse(estimator, "its `named_estimators_` are not its `estimators_`")


def _are_same(one: sklearn_trees.EstimatorIR, other: sklearn_trees.EstimatorIR) -> bool:
    """Do two estimators have the same trees, with the same numbers on their nodes?"""
    return len(one.trees) == len(other.trees) and all(
        len(_arrays(tree)) == len(_arrays(twin)) and all(map(_are_equal, _arrays(tree), _arrays(twin)))
        for tree, twin in zip(one.trees, other.trees, strict=True)
    )


def _arrays(tree: TreeIR) -> list[Floats | Ids]:
    return [tree.feature, tree.threshold, tree.low, tree.high, tree.values, *(each.values for each in tree.numbers)]


def _are_equal(one: Floats | Ids, other: Floats | Ids) -> bool:
    return np.array_equal(one, other, equal_nan=True)


def _weights(estimator: ObjectView, members: int) -> list[float]:
    """The weight of each member."""
    given = estimator.get("weights")
    if given is None:
        return [1.0] * members
    weights = np.asarray(given if isinstance(given, tuple | np.ndarray) else [])
    if weights.shape != (members,) or weights.dtype.kind not in "iuf":
        _refuse(estimator, "its `weights` are not one number for each member")
    if not (np.isfinite(weights) & (weights > 0)).all():
        _refuse(estimator, "its `weights` are not all above 0", "fit it without the members whose weight is 0")
    return [float(weight) for weight in weights]


def _combined(
    voters: tuple[tuple[ObjectView, sklearn_trees.EstimatorIR], ...], classes: tuple[str, ...], combine: Combine
) -> sklearn_trees.EstimatorIR:
    """The trees of all members; how their rows were drawn is unknown where members differ in it.

    Forests that were fitted with one seed have the same bootstraps, so those of several members are not independent of
    one another, and tests that count trees do not hold.
    """
    trees = sklearn_trees.counted_alike(tuple(tree for _, read in voters for tree in read.trees))
    ways: set[tuple[Counted, Sampling]] = {(read.counted, read.sampling) for _, read in voters}
    counted, sampling = ways.pop() if len(ways) == 1 else ("unknown", UNKNOWN_RATE)
    if counted == "bootstrap" and len(voters) > 1:
        counted = "unknown"
    if len(trees) == 1:
        combine = "one"
    return sklearn_trees.EstimatorIR(classes, trees, combine, counted, sampling=sampling, voters=voters)
