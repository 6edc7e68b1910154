"""scikit-learn's trees, forests and gradient boosting as neutral trees."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leafgate.api import Combine, Floats, ReleaseError
from leafgate.bounded.objects import as_tuple
from leafgate.kernel.release import Counted
from leafgate.readers import LEAF, NO_SAMPLING, CalibratedSum, NodeNumbers, ObjectView, Sampling, TreeIR
from leafgate_plugins.sklearn.feature import PipelineFeature


@dataclass(frozen=True)
class EstimatorIR:
    """What an estimator comes to: classes (none for numbers), trees, how they combine, what they count.

    `sampling` says on which rows each tree was grown. `member` is one of the estimators of an ensemble that keeps the
    settings of its trees there alone, `voters` are the estimators of one that combines several, each with what it comes
    to. `calibrated_sums` are those of `ModelIR`.
    """

    classes: tuple[str, ...]
    trees: tuple[TreeIR, ...]
    combine: Combine
    counted: Counted
    base: tuple[float, ...] = ()
    add_features: Callable[[ObjectView, list[PipelineFeature]], list[PipelineFeature]] | None = None
    sampling: Sampling = NO_SAMPLING
    member: ObjectView | None = None
    voters: tuple[tuple[ObjectView, EstimatorIR], ...] = ()
    calibrated_sums: tuple[CalibratedSum, ...] = ()


def classes_of(estimator: ObjectView) -> tuple[str, ...]:
    """The classes as texts."""
    found = as_tuple(estimator["classes_"], estimator, "classes_")
    return tuple(str(int(one)) if isinstance(one, float) and one.is_integer() else str(one) for one in found)


CLOSE = 1e-6


def _structure(tree: ObjectView) -> tuple[dict[str, Any], np.ndarray]:
    """The arrays of scikit-learn's own tree: nodes without their numbers, and the nodes as they are kept."""
    nodes = tree.array("nodes")
    wanted = {"left_child", "right_child", "feature", "threshold", "n_node_samples", "weighted_n_node_samples"}
    if nodes.dtype.names is None or not wanted <= set(nodes.dtype.names) or nodes.ndim != 1:
        raise ReleaseError("its tree's `nodes` are not those of scikit-learn", place=tree.place)
    rows, weights = (nodes[name].astype(np.float64) for name in ("n_node_samples", "weighted_n_node_samples"))
    low, high = nodes["left_child"].astype(np.int64), nodes["right_child"].astype(np.int64)
    leaf = low == LEAF
    counted = not _is_without_people(tree, nodes, leaf)
    for name in ("n_node_samples", "weighted_n_node_samples"):
        _refuse_wrong_sums(nodes[name].astype(np.float64), low, high, tree.place)
    most = float(np.finfo(np.float32).max)  # where only missing cells go high scikit-learn has infinity
    missing = nodes["missing_go_to_left"].astype(bool) if "missing_go_to_left" in nodes.dtype.names else False
    arrays = {
        "feature": np.where(leaf, LEAF, nodes["feature"]).astype(np.int64),
        "threshold": np.where(leaf, np.nan, np.where(nodes["threshold"] == np.inf, most, nodes["threshold"])),
        "low": low,
        "high": np.where(leaf, LEAF, high),
        "float32": True,
        "missing_low": missing,
        "size": rows if counted else None,
        "numbers": (
            NodeNumbers("n_node_samples", "rows", rows),
            NodeNumbers("weighted_n_node_samples", "weight", weights),
        )
        if counted
        else (),
    }
    return arrays, nodes


def _is_without_people(tree: ObjectView, nodes: np.ndarray, leaf: np.ndarray) -> bool:
    """Does nothing of a tree but its tests and its leaves' values say anything? So `writer` writes labels and shares.

    A fitted tree has people at its root. Where rows, weights, impurities, or values of inner nodes are there, all of
    them are read as those of a fitted tree.
    """
    names = ("n_node_samples", "weighted_n_node_samples", "impurity")
    values = tree.array("values")
    silent = all(name in (nodes.dtype.names or ()) and not nodes[name].any() for name in names)
    return silent and len(values) == len(nodes) and not values[~leaf].any()


def says_labels(trees: Sequence[TreeIR]) -> bool:
    """Do the leaves of classification trees say nothing but a class, beside which the file has no numbers of people?"""
    leaves = [tree.values[tree.leaves] for tree in trees if tree.size is None and not tree.numbers]
    return len(leaves) == len(trees) and all(
        bool(np.isin(values, (0.0, 1.0)).all() and (values.sum(axis=1) == 1).all()) for values in leaves
    )


def _refuse_wrong_sums(values: Floats, low: Any, high: Any, place: str) -> None:
    """A node's children have its rows and its weight; whether they are its children is checked elsewhere."""
    inner = np.flatnonzero((low >= 0) & (low < len(low)) & (high >= 0) & (high < len(low)))
    apart = abs(values[inner] - values[low[inner]] - values[high[inner]])
    if (values < 0).any() or (apart > CLOSE * np.maximum(1, values[inner])).any():
        raise ReleaseError("its nodes' rows or weights do not add up", place=place)


def _values(tree: ObjectView, nodes: np.ndarray, width: int | None) -> Floats:
    """The values of each node, a column for each class or one."""
    values = tree.array("values")
    if values.ndim != 3 or values.shape[:2] != (len(nodes), 1) or values.dtype.kind != "f":
        raise ReleaseError("its tree's `values` are not one row for each node", place=tree.place)
    if width is not None and values.shape[2] != width:
        raise ReleaseError("its tree's `values` are not one for each class", place=tree.place)
    return values[:, 0, :].astype(np.float64)


def tree_of(estimator: Any, place: str) -> ObjectView:
    tree = estimator.get("tree_") if isinstance(estimator, ObjectView) else None
    if not isinstance(tree, ObjectView):
        raise ReleaseError("has no `tree_`: was it fitted?", place=place)
    return tree


def class_tree(estimator: Any, classes: int, place: str) -> TreeIR:
    """A classification tree: shares as it predicts with them, counts where its weights are whole numbers of rows.

    Since 1.3 scikit-learn keeps shares and, beside them, the weight of each node; before it kept weights by class.
    """
    tree = tree_of(estimator, place)
    arrays, nodes = _structure(tree)
    values, weight = _values(tree, nodes, classes), nodes["weighted_n_node_samples"].astype(np.float64)
    total = values.sum(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        shares = np.where(abs(total - 1) < CLOSE, values, values / total)
        counts = shares * weight[:, None]
    if arrays["size"] is None:
        return TreeIR(**arrays, values=shares)
    whole = bool((abs(counts - np.rint(counts)) <= CLOSE * np.maximum(1, counts)).all())
    if not whole:
        return _with_shares_of_weight(TreeIR(**arrays, values=shares))
    return TreeIR(**{**arrays, "size": np.rint(weight)}, values=shares, counts=np.rint(counts))


def counted_alike(trees: tuple[TreeIR, ...]) -> tuple[TreeIR, ...]:
    """The trees as they are if all count people by class, else all with shares of their weights in place of counts.

    The shares are then compared with the table, as those of the trees that never had counts are.
    """
    if all(tree.counts is not None for tree in trees):
        return trees
    return tuple(tree if tree.counts is None else _with_shares_of_weight(tree) for tree in trees)


def _with_shares_of_weight(tree: TreeIR) -> TreeIR:
    return replace(tree, counts=None, numbers=(*tree.numbers, NodeNumbers("value", "weight", tree.values)))


def _rows_equal_people(estimator: Any, tree: TreeIR) -> bool:
    """Does each node weigh as much as it has rows? Then no row was weighed or drawn more than once."""
    samples = tree_of(estimator, "").array("nodes")["n_node_samples"]
    return tree.counts is not None and bool((tree.counts.sum(axis=1) == samples).all())


def tree_classifier(estimator: ObjectView) -> EstimatorIR:
    classes = classes_of(estimator)
    tree = class_tree(estimator, len(classes), estimator.place)
    return EstimatorIR(classes, (tree,), "one", "exact" if _rows_equal_people(estimator, tree) else "unknown")


def tree_regressor(estimator: ObjectView) -> EstimatorIR:
    tree = number_tree(estimator, estimator.place)
    return EstimatorIR((), (tree,), "one", "unknown" if tree.size is None else "exact")


def number_tree(estimator: Any, place: str, times: float = 1.0, output: int | None = None) -> TreeIR:
    tree = tree_of(estimator, place)
    arrays, nodes = _structure(tree)
    return TreeIR(**arrays, values=times * _values(tree, nodes, 1), output=output)


def forest_classifier(estimator: ObjectView) -> EstimatorIR:
    """A forest that takes the mean of its trees' shares; on a bootstrap its counts are draws, not people."""
    classes, members = classes_of(estimator), estimator.many("estimators_")
    trees = tuple(class_tree(one, len(classes), estimator.place) for one in members)
    if says_labels(trees):
        return EstimatorIR(classes, trees, "vote", "unknown")
    trees = counted_alike(trees)
    if all(tree.size is None for tree in trees):
        return EstimatorIR(classes, trees, "mean_per_tree", "unknown")
    if _drawn_by_weight(estimator):
        counted: Counted = "unknown"
    elif estimator.get("bootstrap") is True:
        trees = tuple(with_draws(tree) for tree in trees)
        counted = "bootstrap" if trees and trees[0].counts is not None else "unknown"
    else:
        plain = all(_rows_equal_people(one, tree) for one, tree in zip(members, trees, strict=True))
        counted = "exact" if plain else "unknown"
    return EstimatorIR(classes, trees, "mean_per_tree", counted, sampling=_forest_sampling(estimator, members))


def _drawn_by_weight(estimator: ObjectView) -> bool:
    """Are rows drawn by unequal weights of their own or of their classes, as scikit-learn does since 1.9?"""
    weights = estimator.get("_sample_weight")
    if estimator.get("bootstrap") is not True or weights is None:
        return False
    return not isinstance(weights, np.ndarray) or not weights.size or bool((weights != weights.flat[0]).any())


def _rates_by_weight(estimator: ObjectView) -> Sampling:
    """The least and the largest probability of a row to be drawn for a tree, where rows are drawn by weight."""
    weights, draws = estimator.get("_sample_weight"), estimator.get("_n_samples_bootstrap")
    good = isinstance(weights, np.ndarray) and weights.ndim == 1 and weights.dtype.kind in "fiu" and weights.size > 0
    if (
        not good
        or not isinstance(draws, int)
        or draws < 1
        or not (weights >= 0).all()
        or not 0 < weights.sum() < np.inf
    ):
        return Sampling((0.0, 1.0))
    shares = np.clip(weights.astype(np.float64) / weights.sum(), 0, 1)
    with np.errstate(divide="ignore"):
        drawn = -np.expm1(draws * np.log1p(-shares))
    return Sampling((float(drawn.min()), float(drawn.max())))


def bootstrap_sampling(estimator: ObjectView) -> Sampling:
    """How many rows a forest draws for each tree; all of them where it does not draw."""
    if _drawn_by_weight(estimator):
        return _rates_by_weight(estimator)
    if estimator.get("bootstrap") is not True:
        return NO_SAMPLING
    draws = estimator.get("max_samples")
    good = isinstance(draws, int | float) and not isinstance(draws, bool) and 0 < draws < 1e12
    return Sampling(draws=draws if good else 1.0)


def _forest_sampling(estimator: ObjectView, members: Sequence[Any]) -> Sampling:
    """How many rows a forest draws for each tree, and the seeds that give them back, where rows have no weights.

    Files of old versions of scikit-learn have no number of rows.
    """
    sampling = bootstrap_sampling(estimator)
    seeds = [one.get("random_state") for one in members if isinstance(one, ObjectView)]
    are_seeds = all(isinstance(seed, int) and 0 <= seed < 2**32 for seed in seeds)
    if sampling.draws is None or not are_seeds or estimator.get("_sample_weight") is not None:
        return sampling
    rows = estimator.get("_n_samples")
    return replace(sampling, bag_seeds=tuple(seeds), bag_rows=rows if isinstance(rows, int) and rows > 0 else None)


def with_draws(tree: TreeIR) -> TreeIR:
    """The tree with its nodes' weights as numbers of draws, where they are whole; as it is where it has no weights."""
    if len(tree.numbers) < 2:
        return tree
    rows, weight, *others = tree.numbers
    whole = bool((weight.values == np.rint(weight.values)).all())
    return replace(tree, numbers=(rows, replace(weight, kind="draws" if whole else "weight"), *others))


def forest_regressor(estimator: ObjectView) -> EstimatorIR:
    members = estimator.many("estimators_")
    trees = tuple(number_tree(one, estimator.place) for one in members)
    if all(tree.size is None for tree in trees):
        return EstimatorIR((), trees, "mean_per_tree", "unknown")
    if estimator.get("bootstrap") is not True:
        return EstimatorIR((), trees, "mean_per_tree", "exact")
    by_weight = _drawn_by_weight(estimator)
    drawn = trees if by_weight else tuple(with_draws(tree) for tree in trees)
    counted: Counted = "unknown" if by_weight else "bootstrap"
    return EstimatorIR((), drawn, "mean_per_tree", counted, sampling=_forest_sampling(estimator, members))


def _stages(estimator: ObjectView) -> list[tuple[Any, ...]]:
    """Gradient boosting's trees: a row for each stage, a column for each class."""
    return [as_tuple(stage, estimator, "estimators_") for stage in estimator.many("estimators_")]


def _boosted(estimator: ObjectView) -> tuple[TreeIR, ...]:
    rate = float(estimator["learning_rate"])
    return tuple(
        number_tree(one, estimator.place, rate, k if len(stage) > 1 else None)
        for stage in _stages(estimator)
        for k, one in enumerate(stage)
    )


def boosting_classifier(estimator: ObjectView) -> EstimatorIR:
    """Of two classes the score is the second's, and 0 means the second: so that one stands first here."""
    classes, prior, counted = classes_of(estimator), _prior(estimator), _of_subsample(estimator)
    trees = _boosted(estimator)
    if len(classes) > 2:
        return EstimatorIR(classes, trees, "boost", counted, prior, sampling=_subsample(estimator))
    turned = tuple(replace(tree, output=0) for tree in trees)
    return EstimatorIR(classes[::-1], turned, "boost", counted, (prior[-1], 0.0), sampling=_subsample(estimator))


def boosting_regressor(estimator: ObjectView) -> EstimatorIR:
    init, base = estimator.get("init_"), 0.0
    if isinstance(init, ObjectView) and init.kind == "DummyRegressor":
        constant = init.array("constant_").ravel()
        if len(constant) != 1:
            raise ReleaseError("its boosting starts from several numbers", place=estimator.place)
        base = float(constant[0])
    elif init != "zero":
        raise ReleaseError("its boosting starts from another model's predictions", place=estimator.place)
    counted = _of_subsample(estimator)
    return EstimatorIR((), _boosted(estimator), "boost", counted, (base,), sampling=_subsample(estimator))


def _of_subsample(estimator: ObjectView) -> Counted:
    """What the nodes' rows are: some people alone where others were drawn out or set aside to know when to stop."""
    if float(estimator.get("subsample", 1.0)) != 1.0 or estimator.get("n_iter_no_change") is not None:
        return "sampled"
    nodes = [tree_of(one, estimator.place).array("nodes") for stage in _stages(estimator) for one in stage]
    plain = all(np.array_equal(each["n_node_samples"], each["weighted_n_node_samples"]) for each in nodes)
    return "exact" if plain else "unknown"


def _subsample(estimator: ObjectView) -> Sampling:
    """Which part of the rows each tree was grown on, and how many were set aside to know when to stop."""
    rate, held_out = float(estimator.get("subsample", 1.0)), 0.0
    if estimator.get("n_iter_no_change") is not None:
        held_out = float(estimator.get("validation_fraction", 0.1))
    if not 0 < rate <= 1 or not 0 <= held_out < 1:
        raise ReleaseError("its `subsample` or `validation_fraction` is no share", place=estimator.place)
    return Sampling((rate, rate), held_out=held_out)


def _prior(estimator: ObjectView) -> tuple[float, ...]:
    """What boosting of classes starts from: nothing, or the link of the classes' shares, as there."""
    init, classes = estimator.get("init_"), len(as_tuple(estimator["classes_"], estimator, "classes_"))
    if init == "zero":
        return (0.0,) * classes
    if not isinstance(init, ObjectView) or init.kind != "DummyClassifier" or init.get("strategy") != "prior":
        raise ReleaseError("its boosting starts from another model's predictions", place=estimator.place)
    shares = init.array("class_prior_").astype(np.float64)
    least = float(np.finfo(np.float32).eps)  # some versions of scikit-learn take smaller shares for this one
    if shares.shape != (classes,) or shares.min() < least or abs(shares.sum() - 1) > least:
        raise ReleaseError("its boosting starts from shares of classes that are none, or 0", place=estimator.place)
    if classes > 2:  # the multinomial link: logarithms, centred by their geometric mean
        return tuple((np.log(shares) - np.log(shares).mean()).tolist())
    odds = math.log(shares[1] / (1 - shares[1]))
    return (0.0, odds / 2 if estimator.get("loss") == "exponential" else odds)
