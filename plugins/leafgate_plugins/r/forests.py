"""Forests of R's ranger and randomForest.

Source: ranger 0.14.1, src/Tree.cpp and R/predict.R; randomForest 4.7-1.1, src/classTree.c and src/regTree.c.
"""

from __future__ import annotations

import math
from collections.abc import Mapping


import numpy as np
from numpy.typing import NDArray

from leafgate.api import Combine, Floats
from leafgate.readers import (
    LEAF,
    NO_SAMPLING,
    CategoryBudget,
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

KNOWN_OF_RANGER = frozenset(
    """
    num.trees child.nodeIDs split.varIDs split.values is.ordered class.values levels treetype
    independent.variable.names covariate.levels terminal.class.counts num.samples.nodes node.predictions split.stats
    dependent.varID
    """.split()
)
"""What a forest of ranger 0.11 to 0.16 holds; newer ones that send missing cells on have more."""


def bits_of(number: float, levels: int, place: Place) -> frozenset[float]:
    """The codes of the levels whose bits a number has."""
    if not (0 <= number < 2**MAX_LEVELS and number == int(number) and levels <= MAX_LEVELS):
        raise place.refuse("has a set of levels that no bits stand for")
    return frozenset(float(code) for code in range(1, levels + 1) if int(number) >> (code - 1) & 1)


def read_ranger(fit: RObject, place: Place) -> ModelIR:
    """The forest of an object of class `ranger`; what else it holds is for others to disclose."""
    forest = fit.get("forest")
    if is_null(forest) or forest is None:
        raise place.refuse("is a ranger model without its forest", "fit it with `write.forest = TRUE`")
    if unknown := sorted(set(forest.elements) - KNOWN_OF_RANGER):
        raise place.refuse(f"is a ranger forest of another version, with {len(unknown)} part(s) that are not known")
    if not is_null(forest.get("dependent.varID")):
        raise place.refuse("is a ranger forest of a version before 0.11.5, which counts features otherwise")
    kind = place.texts(forest.get("treetype"), "forest$treetype")[0]
    if kind not in {"Classification", "Regression", "Probability estimation"}:
        raise place.refuse("is a ranger forest of another type than classification, probability and regression")
    names = place.texts(forest.get("independent.variable.names"), "forest$independent.variable.names")
    listed = forest.get("covariate.levels")
    levels: dict[str, list[str]] = {}
    if listed is not None and listed.kind == Kind.LIST:
        columns = place.list(listed, "forest$covariate.levels", len(names))
        levels = {
            name: place.texts(each, "forest$covariate.levels")
            for name, each in zip(names, columns, strict=True)
            if not is_null(each)
        }
    ordered = place.whole(forest.get("is.ordered"), "forest$is.ordered", len(names)) == 1
    features = Features(names, levels, unseen=True)
    classes, order = ([], np.zeros(0)) if kind == "Regression" else _classes_of(forest, place)
    n_trees = place.one_whole(forest.get("num.trees"), "forest$num.trees")
    parts = [
        place.list(forest.get(name), f"forest${name}", n_trees)
        for name in ("child.nodeIDs", "split.varIDs", "split.values")
    ]
    shares = None
    if kind == "Probability estimation":
        shares = place.list(forest.get("terminal.class.counts"), "forest$terminal.class.counts", n_trees)
    budget, trees = CategoryBudget(place.file), list[TreeIR]()
    for i, (nodes, variables, values) in enumerate(zip(*parts, strict=True)):
        left, right = place.list(nodes, "forest$child.nodeIDs", 2)
        low = place.whole(left, "forest$child.nodeIDs")
        high = place.whole(right, "forest$child.nodeIDs", len(low))
        feature = place.whole(variables, "forest$split.varIDs", len(low))
        at = place.numbers(values, "forest$split.values", len(low))
        leaf = (low == 0) & (high == 0)
        _check_features(feature[~leaf], len(names), place)
        of_leaves = at[:, None]
        if shares is not None:
            of_leaves = _shares_of(place.list(shares[i], "forest$terminal.class.counts", len(low)), leaf, order, place)
        elif classes:
            of_leaves = _labels_of(at, leaf, order, place)
        asked = np.where(leaf, LEAF, feature)
        subsets: dict[int, frozenset[str | float]] = {}
        for node in np.flatnonzero(~leaf & ~ordered[feature.clip(0, len(names) - 1)]).tolist():
            subsets[node] = frozenset[str | float](bits_of(math.floor(at[node]), MAX_LEVELS, place))
            budget.spend(len(subsets[node]))
            low[node], high[node] = high[node], low[node]  # levels with a bit, which are listed, go right
        trees.append(_tree(asked, at, low, high, of_leaves, subsets))
    values_of: dict[str, tuple[LeafValueKind, Combine]] = {
        "Classification": ("labels", "vote"),
        "Probability estimation": ("shares", "mean_per_tree"),
        "Regression": ("values", "mean_per_tree"),
    }
    kind_of_value, combine = values_of[kind]
    return ModelIR(
        format="R",
        features=tuple(names),
        classes=tuple(classes),
        trees=tuple(trees),
        values=kind_of_value,
        combine=combine,
        origins=features.origins,
        unspecified_missing=NOBODY,
        category_lists=features.lists,
        sampling=_sampling(fit),
    )


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
    labels = (codes[:, None] == order[None, :]).astype(np.float64)
    if not labels[leaf].any(axis=1).all():
        raise place.refuse("has a leaf of a class that there is not")
    return labels


def _check_features(asked: NDArray[np.int64], n_features: int, place: Place) -> None:
    if len(asked) and not (0 <= asked.min() and asked.max() < n_features):
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


INTERIOR, TERMINAL = frozenset({1, -3}), -1


def read_forest(fit: RObject, place: Place) -> ModelIR:
    """The forest of an object of class `randomForest`; what else it holds is for others to disclose."""
    forest = fit.get("forest")
    kind = place.texts(fit.get("type"), "type")[0]
    if is_null(forest) or forest is None:
        raise place.refuse("is a random forest without its trees", "fit it with `keep.forest = TRUE`")
    if kind not in {"classification", "regression"}:
        raise place.refuse("is a random forest of another type than classification and regression")
    if not is_null(fit.get("coefs")):
        raise place.refuse("is a random forest that corrects its bias (`corr.bias = TRUE`), which is not read")
    features = _features_of(fit, place)
    names = features.names
    n_trees = place.one_whole(forest.get("ntree"), "forest$ntree")
    n_rows, columns = place.shape(forest.get("nodestatus"), "forest$nodestatus", 2)
    if columns != n_trees:
        raise place.refuse("has not as many trees as it says")
    shape = (n_rows, n_trees)
    status, variable = (
        place.whole(forest.get(name), f"forest${name}", n_rows * n_trees).reshape(shape, order="F")
        for name in ("nodestatus", "bestvar")
    )
    at, predicted = (
        place.numbers(forest.get(name), f"forest${name}", n_rows * n_trees).reshape(shape, order="F")
        for name in ("xbestsplit", "nodepred")
    )
    left, right = _daughters(forest, shape, place)
    categories = place.whole(forest.get("ncat"), "forest$ncat", len(names))
    sizes = place.whole(forest.get("ndbigtree"), "forest$ndbigtree", n_trees)
    if len(sizes) and not (0 < sizes.min() and sizes.max() <= n_rows):
        raise place.refuse("has trees of more nodes than there are")
    classes = place.texts(fit.get("classes"), "classes") if kind == "classification" else []
    order = np.arange(1.0, len(classes) + 1)
    weights = _weights(forest, len(classes), place)
    budget, trees = CategoryBudget(place.file), list[TreeIR]()
    for i, size in enumerate(sizes.tolist()):
        own = status[:size, i]
        leaf = own == TERMINAL
        if not np.isin(own, [TERMINAL, *INTERIOR]).all():
            raise place.refuse("has nodes that are neither tests nor leaves")
        feature = variable[:size, i] - 1
        _check_features(feature[~leaf], len(names), place)
        values = predicted[:size, i][:, None]
        if classes:
            values = _labels_of(values[:, 0], leaf, order, place)
            values = values if weights is None else values * weights
        subsets: dict[int, frozenset[str | float]] = {}
        for node in np.flatnonzero(~leaf & (categories[feature.clip(0, len(names) - 1)] > 1)).tolist():
            subsets[node] = frozenset[str | float](bits_of(at[node, i], int(categories[feature[node]]), place))
            budget.spend(len(subsets[node]))
        nodes = left[:size, i] - 1, right[:size, i] - 1
        trees.append(_tree(np.where(leaf, LEAF, feature), at[:size, i], *nodes, values, subsets))
    kind_of_value: LeafValueKind = "values" if not classes else "labels" if weights is None else "scores"
    combine: Combine = "mean_per_tree" if not classes else "vote" if weights is None else "boost"
    return ModelIR(
        format="R",
        features=tuple(names),
        classes=tuple(classes),
        trees=tuple(trees),
        values=kind_of_value,
        combine=combine,
        origins=features.origins,
        unspecified_missing=NOBODY,
        category_lists=features.lists,
        link="softmax" if weights is None else "other",
    )


def _daughters(
    forest: RObject, shape: tuple[int, int], place: Place
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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
    return None if (cutoff == cutoff[0]).all() else 1 / cutoff


def _features_of(fit: RObject, place: Place) -> Features:
    """The features of a random forest, whose order is that of `importance`."""
    importance, listed = fit.get("importance"), fit.get("forest", "xlevels")
    names = [] if importance is None else dimension_names(importance, 0) or importance.names
    if not names or len(set(names)) != len(names):
        raise place.refuse("does not name its features")
    levels: dict[str, list[str]] = {}
    if listed is not None and listed.kind == Kind.LIST:
        columns = place.list(listed, "forest$xlevels", len(names))
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



