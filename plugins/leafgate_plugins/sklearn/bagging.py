"""scikit-learn's bagging of trees, and its IsolationForest, as neutral trees: a mean over their members."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from leafgate.api import Floats, Ids, ReleaseError
from leafgate.bounded.objects import as_tuple, with_attributes
from leafgate.kernel.release import Counted
from leafgate.models.exposure.implied import average_path_length
from leafgate.readers import LEAF, NO_SAMPLING, ObjectView, Sampling, TreeIR
from leafgate_plugins.sklearn import trees as sklearn_trees
from leafgate_plugins.sklearn.feature import is_sampler

BAGGED_TREES = frozenset(
    {"DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"}
)
UNKNOWN_RATE = Sampling((0.0, 1.0))
"""Each row may or may not be among those of a tree, with a probability that the file does not state."""

Drawn = tuple[Counted, Sampling]


def bagging_classifier(estimator: ObjectView) -> sklearn_trees.EstimatorIR:
    """Bagged classification trees; each answers the shares of its own classes, over its own features."""
    classes, members = sklearn_trees.classes_of(estimator), members_of(estimator)
    trees = tuple(
        over_all_features(_over_all_classes(member, len(classes)), features, estimator)
        for member, features in zip(members, features_of(estimator, len(members)), strict=True)
    )
    if sklearn_trees.says_labels(trees):
        return sklearn_trees.EstimatorIR(classes, trees, "vote", "unknown", member=settings_member(members))
    read = sklearn_trees.EstimatorIR(
        classes, sklearn_trees.counted_alike(trees), "mean_per_tree", "unknown", member=settings_member(members)
    )
    return _with_drawn_rows(estimator, read)


def bagging_regressor(estimator: ObjectView) -> sklearn_trees.EstimatorIR:
    """Bagged regression trees, each over its own features."""
    members = members_of(estimator)
    trees = tuple(
        over_all_features(sklearn_trees.number_tree(member, estimator.place), features, estimator)
        for member, features in zip(members, features_of(estimator, len(members)), strict=True)
    )
    return _with_drawn_rows(
        estimator, sklearn_trees.EstimatorIR((), trees, "mean_per_tree", "unknown", member=settings_member(members))
    )


def members_of(estimator: ObjectView) -> tuple[ObjectView, ...]:
    """The trees of bagging or AdaBoost; ReleaseError where they are of anything else."""
    members = tuple(map(after_samplers, as_tuple(estimator["estimators_"], estimator, "estimators_")))
    kinds = {member.kind if isinstance(member, ObjectView) else "" for member in members}
    if not kinds or not kinds <= BAGGED_TREES:
        raise ReleaseError(
            f"is a {estimator.kind} of other models than single trees",
            place=estimator.place,
            remedy="fit it with decision trees or extra trees as its `estimator`, or fit a random forest",
        )
    return members


def after_samplers(member: Any) -> Any:
    """The last step of a pipeline whose other steps are samplers; any other thing as it is."""
    if not isinstance(member, ObjectView) or member.kind != "Pipeline":
        return member
    *others, last = [step[1] for step in member.many("steps") if isinstance(step, tuple) and len(step) == 2] or [None]
    return last if others and all(map(is_sampler, others)) else member


def settings_member(members: Sequence[ObjectView]) -> ObjectView:
    """The member whose settings are those of all: one with monotonic constraints, where some have them."""
    return next((member for member in members if member.get("monotonic_cst") is not None), members[0])


def features_of(estimator: ObjectView, members: int) -> list[Ids]:
    """For each member the positions of its features among those of the ensemble."""
    listed = as_tuple(estimator["estimators_features_"], estimator, "estimators_features_")
    width, found = estimator["n_features_in_"], list[Ids]()
    for each in listed:
        positions = np.asarray(each)
        good = positions.ndim == 1 and positions.dtype.kind in "iu" and positions.size > 0
        if not good or not ((positions >= 0) & (positions < width)).all():
            raise ReleaseError("`estimators_features_` must be positions of features", place=estimator.place)
        found.append(positions.astype(np.int64))
    if len(found) != members:
        raise ReleaseError("`estimators_features_` must be a list for each of its trees", place=estimator.place)
    return found


def over_all_features(tree: TreeIR, features: Ids, estimator: ObjectView) -> TreeIR:
    """The tree with the ensemble's features in place of its own."""
    asks = tree.feature != LEAF
    if (tree.feature[asks] >= len(features)).any() or (tree.feature[asks] < 0).any():
        raise ReleaseError("one of its trees asks about a feature that it was not given", place=estimator.place)
    return replace(tree, feature=np.where(asks, features[np.where(asks, tree.feature, 0)], LEAF))


def _over_all_classes(member: ObjectView, classes: int) -> TreeIR:
    """A member's tree with a column for each class of the ensemble; its own classes are positions of them."""
    own = np.asarray(member["classes_"])
    good = own.ndim == 1 and own.dtype.kind in "iuf" and own.size > 0 and member.get("n_outputs_", 1) == 1
    if not good or not np.isin(own, np.arange(classes)).all() or (np.diff(own) <= 0).any():
        raise ReleaseError("the classes of one of its trees are not those of the ensemble", place=member.place)
    tree, positions = sklearn_trees.class_tree(member, len(own), member.place), own.astype(np.int64)
    if len(own) == classes:
        return tree

    def widened(values: Any) -> Any:
        wide = np.zeros((len(values), classes))
        wide[:, positions] = values
        return wide

    return replace(
        tree,
        values=widened(tree.values),
        counts=None if tree.counts is None else widened(tree.counts),
        numbers=tuple(
            replace(each, values=widened(each.values)) if each.values.ndim == 2 else each for each in tree.numbers
        ),
    )


def _with_drawn_rows(estimator: ObjectView, read: sklearn_trees.EstimatorIR) -> sklearn_trees.EstimatorIR:
    """The trees with what their numbers count, and how their rows were drawn."""
    if all(tree.size is None for tree in read.trees):
        return read
    counted, sampling = _drawn(estimator)
    trees = read.trees
    if counted == "bootstrap":
        trees = tuple(sklearn_trees.with_draws(tree) for tree in trees)
    elif counted == "unknown":
        trees = tuple(of_unknown_rows(tree) for tree in trees)
    return replace(read, trees=trees, counted=counted, sampling=sampling)


def of_unknown_rows(tree: TreeIR) -> TreeIR:
    """The tree with numbers of which nobody knows how often they count a row."""
    return replace(tree, numbers=tuple(replace(each, kind="weight") for each in tree.numbers))


def _drawn(estimator: ObjectView) -> Drawn:
    """What the numbers of bagged trees count, and how their rows were drawn.

    With replacement a tree's weights count draws and its rows different people, as in a random forest; without, both
    count the people of a sample. They must agree with how many rows the file states were drawn. Where they do not,
    where rows or classes had weights, and where rows were copied before fitting (scikit-learn does so with metadata
    routing), nothing is known of the sample, so that nothing follows from who is not counted.
    """
    drawn, people = estimator.get("_max_samples"), estimator.get("_n_samples")
    members = members_of(estimator)
    weighted = estimator.get("_sample_weight") is not None
    weighted |= any(member.get("class_weight") is not None for member in members)
    if weighted or not isinstance(drawn, int) or not isinstance(people, int) or drawn < 1 or people < 1:
        return "unknown", UNKNOWN_RATE
    nodes = [sklearn_trees.tree_of(member, estimator.place).array("nodes") for member in members]
    rows = [each["n_node_samples"].astype(np.float64) for each in nodes]
    weights = [each["weighted_n_node_samples"].astype(np.float64) for each in nodes]
    if any(weight[0] != drawn or (weight != np.rint(weight)).any() for weight in weights):
        return "unknown", UNKNOWN_RATE
    if estimator.get("bootstrap") is True:
        copied = drawn > 1 and any(each[0] == drawn for each in rows)
        return ("unknown", UNKNOWN_RATE) if copied else ("bootstrap", sklearn_trees.bootstrap_sampling(estimator))
    once = all(np.array_equal(each, weight) for each, weight in zip(rows, weights, strict=True))
    if estimator.get("bootstrap") is not False or not once or drawn > people:
        return "unknown", UNKNOWN_RATE
    rate = drawn / people
    return ("exact", NO_SAMPLING) if drawn == people else ("sampled", Sampling((rate, rate)))


CLOSE = 1e-12
"""Average path lengths differ by no more than this part of them."""


def isolation_forest(estimator: ObjectView) -> sklearn_trees.EstimatorIR:
    """The anomaly score, from 0 to 1: the opposite of scikit-learn's `score_samples`.

    It is 2 to the power of minus the mean path length of the trees, divided by the length that is usual for as many
    rows as each tree was grown on.

    Source: Liu, Ting, Zhou, "Isolation Forest", ICDM 2008, equations 1 and 2. doi:10.1109/ICDM.2008.17
    """
    rows, width, members = estimator["_max_samples"], estimator["n_features_in_"], len(estimator.many("estimators_"))
    if not isinstance(rows, int) or rows < 1:
        raise ReleaseError("its `_max_samples` is not a number of rows", place=estimator.place)
    given = estimator["estimators_features_"]
    if estimator["_max_features"] == width:  # then scikit-learn does not ask which features a tree was given
        given = (np.arange(width),) * members
    read = bagging_regressor(with_attributes(estimator, estimators_features_=given, max_samples=rows))
    depths, averages = (estimator.many(name) for name in ("_decision_path_lengths", "_average_path_length_per_tree"))
    if not len(depths) == len(averages) == members:
        raise ReleaseError("its path lengths are not those of its trees", place=estimator.place)
    usual = float(average_path_length(np.array([rows]))[0])
    trees = []
    for tree, depth, average in zip(read.trees, depths, averages, strict=True):
        lengths = _path_lengths(tree, depth, average, estimator.place)
        scores = np.ones(tree.nodes) if rows == 1 else lengths / usual
        trees.append(replace(tree, values=-math.log(2) / members * scores[:, None]))
    return replace(read, trees=tuple(trees), combine="exp_sum")


def _path_lengths(tree: TreeIR, depth: Any, average: Any, place: str) -> Floats:
    """By node how many tests lead to it, and how many more would part its rows from each other on average.

    Raises:
        ReleaseError: the file has other numbers of these (`depth`, which is 1 at the root, and `average`), with which
            scikit-learn predicts.
    """
    rows = next((each.values for each in tree.numbers if each.name == "n_node_samples"), np.zeros(0))
    lengths = average_path_length(rows)
    inner = np.flatnonzero(tree.feature != LEAF)
    above, below = np.tile(inner, 2), np.concatenate([tree.low[inner], tree.high[inner]])
    if (
        all(_is_of_nodes(each, tree) for each in (depth, average, rows))
        and ((below > 0) & (below < tree.nodes)).all()
        and (depth[:1] == 1).all()
        and (depth[below] == depth[above] + 1).all()
        and np.allclose(average, lengths, rtol=CLOSE, atol=0)
    ):
        return np.asarray(depth - 1 + lengths)
    raise ReleaseError("its path lengths are not those of its trees", place=place)


def _is_of_nodes(numbers: Any, tree: TreeIR) -> bool:
    """Is it an array with a number for each node?"""
    return isinstance(numbers, np.ndarray) and numbers.dtype.kind in "iuf" and numbers.shape == (tree.nodes,)
