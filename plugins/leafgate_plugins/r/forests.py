"""Forests of R's ranger and randomForest.

Source: ranger 0.14.1, src/Tree.cpp and R/predict.R; randomForest 4.7-1.1, src/classTree.c and src/regTree.c.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from leafgate.api import Combine, Floats
from leafgate.ir.arrays import CategoryBudget
from leafgate.readers import (
    LEAF,
    NO_SAMPLING,
    LeafValueKind,
    ModelIR,
    Sampling,
    TreeIR,
)
from leafgate_plugins.r.features import NO_LEVELS, Features, data_classes
from leafgate_plugins.r.serialisation import Kind, RObject
from leafgate_plugins.r.vectors import Place, dimension_names, is_null, numbers_in

NOBODY = "R answers nobody with a missing cell"
MAX_LEVELS = 53
"""Levels of a factor that a double holds as bits."""

WORDS_OF_RANGER = """
    num.trees child.nodeIDs split.varIDs split.values is.ordered class.values levels treetype
    independent.variable.names covariate.levels terminal.class.counts num.samples.nodes node.predictions split.stats
    dependent.varID
"""
KNOWN_OF_RANGER = frozenset(WORDS_OF_RANGER.split())
"""What a forest of ranger 0.11 to 0.16 holds; newer ones that send missing cells on have more."""


def bits_of(number: float, levels: int, place: Place) -> frozenset[float]:
    """The codes of the levels whose bits a number has."""
    if not (0 <= number < 2**MAX_LEVELS and levels <= MAX_LEVELS):
        raise place.refuse("has a set of levels that no bits stand for")
    return frozenset(float(code) for code in range(1, levels + 1) if int(number) >> (code - 1) & 1)


def read_ranger(fit: RObject, place: Place) -> ModelIR:
    """The forest of an object of class `ranger`; what else it holds is for others to disclose."""
    forest = _forest_of_ranger(fit, place)
    kind = place.one_text(forest.get("treetype"), "forest$treetype")
    names = place.texts(forest.get("independent.variable.names"), "forest$independent.variable.names")
    features = Features(names, _levels_of_ranger(forest, names, place), unseen=True)
    classes, order = ([], np.zeros(0)) if kind == "Regression" else _classes_of(forest, place)
    values, combine = KINDS_OF_RANGER[kind]
    return ModelIR(
        format="R",
        features=tuple(names),
        classes=tuple(classes),
        trees=tuple(_trees_of_ranger(forest, values, order, len(names), place)),
        values=values,
        combine=combine,
        origins=features.origins,
        unspecified_missing=NOBODY,
        category_lists=features.lists,
        sampling=_sampling(fit),
    )


KINDS_OF_RANGER: Mapping[str, tuple[LeafValueKind, Combine]] = {
    "Classification": ("labels", "vote"),
    "Probability estimation": ("shares", "mean_per_tree"),
    "Regression": ("values", "mean_per_tree"),
}
"""What a leaf holds, and how trees become a prediction, by what ranger calls the type of a forest."""


def _forest_of_ranger(fit: RObject, place: Place) -> RObject:
    """The forest of a layout that is known."""
    forest = fit.get("forest")
    if is_null(forest) or forest is None:
        raise place.refuse("is a ranger model without its forest", "fit it with `write.forest = TRUE`")
    if place.one_text(forest.get("treetype"), "forest$treetype") not in KINDS_OF_RANGER:
        raise place.refuse("is a ranger forest of another type than classification, probability and regression")
    if unknown := set(forest.elements) - KNOWN_OF_RANGER:
        raise place.refuse(f"is a ranger forest of another version, with {len(unknown)} part(s) that are not known")
    if not is_null(forest.get("dependent.varID")):
        raise place.refuse("is a ranger forest of a version before 0.11.5, which counts features otherwise")
    return forest


def _levels_of_ranger(forest: RObject, names: list[str], place: Place) -> dict[str, list[str]]:
    """The levels by which ranger codes factors, by feature; without `respect.unordered.factors = "order"` none."""
    listed = forest.get("covariate.levels")
    if listed is None or listed.kind != Kind.LIST:
        return {}
    columns = place.objects(listed, "forest$covariate.levels", len(names))
    found = zip(names, columns, strict=True)
    return {name: place.texts(each, "forest$covariate.levels") for name, each in found if not is_null(each)}


def _trees_of_ranger(
    forest: RObject, values: LeafValueKind, order: Floats, n_features: int, place: Place
) -> Iterator[TreeIR]:
    """Each tree; `order` are the codes of the classes."""
    n_trees = place.one_whole(forest.get("num.trees"), "forest$num.trees")
    ordered = place.whole(forest.get("is.ordered"), "forest$is.ordered", n_features) == 1
    children, asked, thresholds = (
        place.objects(forest.get(name), f"forest${name}", n_trees)
        for name in ("child.nodeIDs", "split.varIDs", "split.values")
    )
    counts = "forest$terminal.class.counts"
    shares = place.objects(forest.get("terminal.class.counts"), counts, n_trees) if values == "shares" else []
    budget = CategoryBudget(place.file)
    for i in range(n_trees):
        left, right = place.objects(children[i], "forest$child.nodeIDs", 2)
        low = place.whole(left, "forest$child.nodeIDs")
        high = place.whole(right, "forest$child.nodeIDs", len(low))
        feature = place.whole(asked[i], "forest$split.varIDs", len(low))
        at = place.numbers(thresholds[i], "forest$split.values", len(low))
        leaf = (low == 0) & (high == 0)
        _check_features(feature[~leaf], n_features, place)
        of_leaves = at[:, None]
        if values == "shares":
            of_leaves = _shares_of(place.objects(shares[i], counts, len(low)), leaf, order, place)
        elif values == "labels":
            of_leaves = _labels_of(at, leaf, order, place)
        subsets: dict[int, frozenset[str | float]] = {}
        for node in np.flatnonzero(~leaf & ~ordered[feature.clip(0, n_features - 1)]).tolist():
            subsets[node] = frozenset[str | float](bits_of(at[node], MAX_LEVELS, place))
            budget.spend(len(subsets[node]))
            low[node], high[node] = high[node], low[node]  # levels with a bit, which are listed, go right
        yield _tree(np.where(leaf, LEAF, feature), at, low, high, of_leaves, subsets)


def _sampling(fit: RObject) -> Sampling:
    """How the rows of each tree were drawn: as many as there are, with replacement, where the model says no more."""
    replaced, call = fit.get("replace"), fit.get("call")
    plain = call is None or not {"sample.fraction", "case.weights", "inbag"} & set(call.names)
    drawn = replaced is not None and replaced.kind == Kind.LOGICAL and replaced.value.tolist() == [1]
    return Sampling(draws=1.0) if drawn and plain else NO_SAMPLING


def _classes_of(forest: RObject, place: Place) -> tuple[list[str], Floats]:
    """The classes, and the code of each, as the leaves have them."""
    codes = place.numbers(forest.get("class.values"), "forest$class.values")
    if not np.isfinite(codes).all() or len(set(codes.tolist())) != len(codes):
        raise place.refuse("has classes twice, or without a number")
    listed = forest.get("levels")
    if is_null(listed):
        return [f"{code:.15g}" for code in codes], codes
    levels = place.texts(listed, "forest$levels")
    if not np.isin(codes, np.arange(1, len(levels) + 1)).all():
        raise place.refuse("has classes that are no levels")
    return [levels[int(code) - 1] for code in codes], codes


def _shares_of(nodes: list[RObject], leaf: NDArray[np.bool_], order: Floats, place: Place) -> Floats:
    """The shares of the classes on each leaf."""
    shares = np.zeros((len(leaf), len(order)))
    for node in np.flatnonzero(leaf).tolist():
        shares[node] = place.numbers(nodes[node], "forest$terminal.class.counts", len(order))
    return shares


def _labels_of(codes: Floats, leaf: NDArray[np.bool_], order: Floats, place: Place) -> Floats:
    """1 for the class of each leaf, whose code it has; `order` are the codes of the classes."""
    labels: Floats = (codes[:, None] == order[None, :]).astype(np.float64)
    if not labels[leaf].any(axis=1).all():
        raise place.refuse("has a leaf of a class that there is not")
    return labels


def _check_features(asked: NDArray[np.int64], n_features: int, place: Place) -> None:
    if len(asked) and not (asked.min() >= 0 and asked.max() < n_features):
        raise place.refuse("asks about a feature that it does not list")


def _tree(
    feature: NDArray[np.int64],
    at: Floats,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    values: Floats,
    subsets: Mapping[int, frozenset[str | float]],
) -> TreeIR:
    """The tree of arrays in which a leaf has no children."""
    leaf = feature == LEAF
    by_set = np.isin(np.arange(len(feature)), list(subsets))
    return TreeIR(
        feature=feature,
        threshold=np.where(leaf | by_set, np.nan, at),
        low=np.where(leaf, LEAF, low),
        high=np.where(leaf, LEAF, high),
        values=values,
        subsets=subsets,
    )


INTERIOR = frozenset({1, -3})
"""What `nodestatus` is of tests: 1 in classification, -3 in regression."""

TERMINAL = -1
"""What it is of leaves."""


def read_forest(fit: RObject, place: Place) -> ModelIR:
    """The forest of an object of class `randomForest`; what else it holds is for others to disclose."""
    forest = fit.get("forest")
    kind = place.one_text(fit.get("type"), "type")
    if kind not in {"classification", "regression"}:
        raise place.refuse("is a random forest of another type than classification and regression")
    if is_null(forest) or forest is None:
        raise place.refuse("is a random forest without its trees", "fit it with `keep.forest = TRUE`")
    if not is_null(fit.get("coefs")):
        raise place.refuse("is a random forest that corrects its bias (`corr.bias = TRUE`), which is not read")
    features = _features_of(fit, place)
    classes = place.texts(fit.get("classes"), "classes") if kind == "classification" else []
    weights = _weights(forest, len(classes), place)
    values: LeafValueKind = "values" if not classes else "labels" if weights is None else "scores"
    combine: Combine = "mean_per_tree" if not classes else "vote" if weights is None else "boost"
    return ModelIR(
        format="R",
        features=tuple(features.names),
        classes=tuple(classes),
        trees=tuple(_trees_of_forest(forest, weights, len(classes), len(features.names), place)),
        values=values,
        combine=combine,
        origins=features.origins,
        unspecified_missing=NOBODY,
        category_lists=features.lists,
        link="softmax" if weights is None else "other",
    )


def _trees_of_forest(
    forest: RObject, weights: Floats | None, n_classes: int, n_features: int, place: Place
) -> Iterator[TreeIR]:
    """Each tree; `weights` are what its vote counts for each class, where they differ."""
    n_trees = place.one_whole(forest.get("ntree"), "forest$ntree")
    shape = place.shape(forest.get("nodestatus"), "forest$nodestatus", 2)
    if shape[1] != n_trees:
        raise place.refuse("has not as many trees as it says")
    status, variable = (
        place.whole(forest.get(name), f"forest${name}", shape[0] * n_trees).reshape(shape, order="F")
        for name in ("nodestatus", "bestvar")
    )
    at, predicted = (
        place.numbers(forest.get(name), f"forest${name}", shape[0] * n_trees).reshape(shape, order="F")
        for name in ("xbestsplit", "nodepred")
    )
    left, right = _daughters(forest, (shape[0], n_trees), place)
    categories = place.whole(forest.get("ncat"), "forest$ncat", n_features)
    sizes = place.whole(forest.get("ndbigtree"), "forest$ndbigtree", n_trees)
    if len(sizes) and not (sizes.min() > 0 and sizes.max() <= shape[0]):
        raise place.refuse("has trees of more nodes than there are")
    budget = CategoryBudget(place.file)
    for i, size in enumerate(sizes.tolist()):
        leaf, feature = status[:size, i] == TERMINAL, variable[:size, i] - 1
        if not np.isin(status[:size, i], [TERMINAL, *INTERIOR]).all():
            raise place.refuse("has nodes that are neither tests nor leaves")
        _check_features(feature[~leaf], n_features, place)
        values = predicted[:size, i][:, None]
        if n_classes:
            values = _labels_of(values[:, 0], leaf, np.arange(1.0, n_classes + 1), place)
            values = values if weights is None else values * weights
        subsets: dict[int, frozenset[str | float]] = {}
        for node in np.flatnonzero(~leaf & (categories[feature.clip(0, n_features - 1)] > 1)).tolist():
            subsets[node] = frozenset[str | float](bits_of(at[node, i], int(categories[feature[node]]), place))
            budget.spend(len(subsets[node]))
        nodes = left[:size, i] - 1, right[:size, i] - 1
        yield _tree(np.where(leaf, LEAF, feature), at[:size, i], *nodes, values, subsets)


def _daughters(forest: RObject, shape: tuple[int, int], place: Place) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The nodes below each node, from 1 on: shape (n_nodes, n_trees)."""
    if not is_null(forest.get("treemap")):
        whole = place.shape(forest.get("treemap"), "forest$treemap", 3)
        if whole != (shape[0], 2, shape[1]):
            raise place.refuse("has a map of its trees of another shape than its nodes")
        both = place.whole(forest.get("treemap"), "forest$treemap").reshape(whole, order="F")
        return both[:, 0], both[:, 1]
    left, right = (
        place.whole(forest.get(name), f"forest${name}", shape[0] * shape[1]).reshape(shape, order="F")
        for name in ("leftDaughter", "rightDaughter")
    )
    return left, right


def _weights(forest: RObject, n_classes: int, place: Place) -> Floats | None:
    """What the vote of a tree counts for each class, where `cutoff` is not the same for all."""
    if not n_classes:
        return None
    cutoff = place.numbers(forest.get("cutoff"), "forest$cutoff", n_classes)
    if not (cutoff > 0).all():
        raise place.refuse("has a cutoff that is not above 0")
    return None if (cutoff == cutoff[0]).all() else np.asarray(1 / cutoff)


def _features_of(fit: RObject, place: Place) -> Features:
    """The features of a random forest, whose order is that of `importance`."""
    importance, listed = fit.get("importance"), fit.get("forest", "xlevels")
    names = [] if importance is None else dimension_names(importance, 0) or importance.names
    if not names or len(set(names)) != len(names):
        raise place.refuse("does not name its features")
    levels: dict[str, list[str]] = {}
    if listed is not None and listed.kind == Kind.LIST:
        columns = place.objects(listed, "forest$xlevels", len(names))
        levels = {
            name: place.texts(each, "forest$xlevels")
            for name, each in zip(names, columns, strict=True)
            if each.kind == Kind.TEXTS
        }
    classes = data_classes(fit)
    unresolved = {name: NO_LEVELS for name in names if classes.get(name) == "ordered" and name not in levels}
    return Features(names, levels, unresolved=unresolved)


def number_of_rows(thing: RObject | None) -> int:
    """The number that a vector of one holds; 0 where there is none."""
    if thing is None or thing.kind not in {Kind.INTEGER, Kind.DOUBLE} or len(thing.value) != 1:
        return 0
    number = float(numbers_in(thing)[0])
    return int(number) if math.isfinite(number) and 0 <= number < 2**31 else 0
