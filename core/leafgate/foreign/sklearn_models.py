"""Fitted scikit-learn models, in memory or from a file, as neutral trees."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leafgate.errors import ReleaseError
from leafgate.foreign.category_sets import BitSets, Budget
from leafgate.foreign.model import LEAF, SETTINGS, Floats, Foreign, ForeignTree, Setting
from leafgate.foreign.origins import Number, distinct
from leafgate.foreign.seen import Seen, as_tuple
from leafgate.foreign.sklearn_columns import Made, raw, transformed
from leafgate.foreign.sklearn_left import left
from leafgate.foreign.sklearn_tells import tells
from leafgate.release import Combine, Counted

CLOSE = 1e-6


def model_of(thing: Any, format: str, version: str, place: str) -> Foreign:
    """The neutral model of a fitted estimator or pipeline; ReleaseError names what cannot be told."""
    if not isinstance(thing, Seen):
        raise ReleaseError("holds no estimator", place=place)
    estimator, made = _estimator(thing, None, place)
    version = str(thing.get("_sklearn_version", version))
    read = READERS[estimator.kind](estimator)
    made = _given(estimator, made) if made is None else made
    if read.made is not None:
        made = read.made(estimator, made)
    named = distinct([one.name for one in made])
    told = any(one.origin != Number(one.name) for one in made)
    return Foreign(
        format=format,
        features=named,
        classes=read.classes,
        trees=read.trees,
        says="values" if not read.classes else "scores" if read.combine == "boost" else "shares",
        combine=read.combine,
        base=read.base,
        counted=read.counted,
        discloses=tuple(dict.fromkeys((*tells(thing, estimator, read.trees, read.counted), *left(thing, made)))),
        origins=tuple(one.origin for one in made) if told else None,
        producer=f"scikit-learn {version}, {estimator.kind}".replace("  ", " "),
        settings=settings_of(estimator),
    )


def settings_of(estimator: Seen) -> dict[str, Setting]:
    """How it was told to learn, as far as these are plain values."""
    found = {name: estimator.get(name) for name in SETTINGS if name in estimator}
    return {name: value for name, value in found.items() if isinstance(value, str | int | float | None)}


def _estimator(thing: Seen, made: list[Made] | None, place: str) -> tuple[Seen, list[Made] | None]:
    """The estimator at the end of pipelines, and the features that those make for it."""
    while thing.kind == "Pipeline":
        *before, last = thing.many("steps")
        given = made if made is not None else _given(_first(thing), None)
        for named in before:
            given = transformed(named[1], given, place)
        thing, made = last[1], given
        if not isinstance(thing, Seen):
            raise ReleaseError("its pipeline ends without an estimator", place=place)
    if thing.kind not in READERS:
        remedy = f"of scikit-learn these can be read: {', '.join(READERS)}"
        raise ReleaseError(f"is a {thing.kind}, which is no tree and no forest known here", place=place, remedy=remedy)
    return thing, made


def _first(pipeline: Seen) -> Seen:
    """The first fitted step that says which columns it was given."""
    for named in pipeline.many("steps"):
        if isinstance(named[1], Seen) and named[1].kind == "Pipeline":
            return _first(named[1])
        if isinstance(named[1], Seen) and "n_features_in_" in named[1]:
            return named[1]
    raise ReleaseError("its pipeline says not which columns it was given: was it fitted?", place=pipeline.place)


def _given(step: Seen, made: list[Made] | None) -> list[Made]:
    """The columns a step was fitted on, by the names it kept or by their numbers."""
    if made is not None:
        return made
    names = step.get("feature_names_in_")
    if names is not None:
        return raw([str(name) for name in as_tuple(names, step, "feature_names_in_")])
    width = step["n_features_in_"]
    if not isinstance(width, int) or not 0 < width < 10**6:
        raise ReleaseError("`n_features_in_` must be a number of features", place=step.place)
    return raw([f"x{i}" for i in range(width)])


@dataclass(frozen=True)
class _Read:
    """What an estimator comes to: classes (none for numbers), trees, how they combine, what they count."""

    classes: tuple[str, ...]
    trees: tuple[ForeignTree, ...]
    combine: Combine
    counted: Counted
    base: tuple[float, ...] = ()
    made: Callable[[Seen, list[Made]], list[Made]] | None = None


def _classes(estimator: Seen) -> tuple[str, ...]:
    """The classes as texts; ReleaseError for a model of several outputs."""
    if estimator.get("n_outputs_", 1) != 1:
        raise ReleaseError("predicts several columns at once", place=estimator.place)
    found = as_tuple(estimator["classes_"], estimator, "classes_")
    return tuple(str(int(one)) if isinstance(one, float) and one.is_integer() else str(one) for one in found)


def _structure(tree: Seen) -> tuple[dict[str, Any], np.ndarray]:
    """The arrays of scikit-learn's own tree: nodes without their numbers, and the nodes as they are kept."""
    nodes = tree.array("nodes")
    wanted = {"left_child", "right_child", "feature", "threshold", "n_node_samples", "weighted_n_node_samples"}
    if nodes.dtype.names is None or not wanted <= set(nodes.dtype.names) or nodes.ndim != 1:
        raise ReleaseError("its tree's `nodes` are not those of scikit-learn", place=tree.place)
    low, high = nodes["left_child"].astype(np.int64), nodes["right_child"].astype(np.int64)
    leaf = low == LEAF
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
        "size": nodes["n_node_samples"].astype(np.float64),
    }
    return arrays, nodes


def _refuse_wrong_sums(told: Floats, low: Any, high: Any, place: str) -> None:
    """A node's children have its rows and its weight; whether they are its children is checked elsewhere."""
    inner = np.flatnonzero((low >= 0) & (low < len(low)) & (high >= 0) & (high < len(low)))
    apart = abs(told[inner] - told[low[inner]] - told[high[inner]])
    if (told < 0).any() or (apart > CLOSE * np.maximum(1, told[inner])).any():
        raise ReleaseError("its nodes' rows or weights do not add up", place=place)


def _values(tree: Seen, nodes: np.ndarray, width: int | None) -> Floats:
    """The values of each node, a column for each class or one."""
    values = tree.array("values")
    if values.ndim != 3 or values.shape[:2] != (len(nodes), 1) or values.dtype.kind != "f":
        raise ReleaseError("its tree's `values` are not one row for each node", place=tree.place)
    if width is not None and values.shape[2] != width:
        raise ReleaseError("its tree's `values` are not one for each class", place=tree.place)
    return values[:, 0, :].astype(np.float64)


def _tree_of(estimator: Any, place: str) -> Seen:
    tree = estimator.get("tree_") if isinstance(estimator, Seen) else None
    if not isinstance(tree, Seen):
        raise ReleaseError("has no `tree_`: was it fitted?", place=place)
    return tree


def _class_tree(estimator: Any, classes: int, place: str) -> ForeignTree:
    """A classification tree: shares as it predicts with them, counts where its weights are whole numbers of rows.

    Since 1.3 scikit-learn keeps shares and, beside them, the weight of each node; before it kept weights by class.
    """
    tree = _tree_of(estimator, place)
    arrays, nodes = _structure(tree)
    values, weight = _values(tree, nodes, classes), nodes["weighted_n_node_samples"].astype(np.float64)
    total = values.sum(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        shares = np.where(abs(total - 1) < CLOSE, values, values / total)
        counts = shares * weight[:, None]
    whole = bool((abs(counts - np.rint(counts)) <= CLOSE * np.maximum(1, counts)).all())
    if not whole:
        return ForeignTree(**arrays, says=shares)
    return ForeignTree(**{**arrays, "size": np.rint(weight)}, says=shares, counts=np.rint(counts))


def _rows_equal_people(estimator: Any, tree: ForeignTree) -> bool:
    """Does each node weigh as much as it has rows? Then no row was weighed or drawn more than once."""
    samples = _tree_of(estimator, "").array("nodes")["n_node_samples"]
    return tree.counts is not None and bool((tree.counts.sum(axis=1) == samples).all())


def _tree_classifier(estimator: Seen) -> _Read:
    classes = _classes(estimator)
    tree = _class_tree(estimator, len(classes), estimator.place)
    return _Read(classes, (tree,), "one", "exact" if _rows_equal_people(estimator, tree) else "unknown")


def _tree_regressor(estimator: Seen) -> _Read:
    return _Read((), (_number_tree(estimator, estimator.place),), "one", "exact")


def _number_tree(estimator: Any, place: str, times: float = 1.0, output: int | None = None) -> ForeignTree:
    tree = _tree_of(estimator, place)
    arrays, nodes = _structure(tree)
    return ForeignTree(**arrays, says=times * _values(tree, nodes, 1), output=output)


def _forest_classifier(estimator: Seen) -> _Read:
    """A forest that takes the mean of its trees' shares; on a bootstrap its counts are draws, not people."""
    classes, members = _classes(estimator), estimator.many("estimators_")
    trees = tuple(_class_tree(one, len(classes), estimator.place) for one in members)
    if not all(tree.counts is not None for tree in trees):
        trees = tuple(replace(tree, counts=None) for tree in trees)
    if estimator.get("bootstrap") is True:
        counted: Counted = "bootstrap" if trees and trees[0].counts is not None else "unknown"
    else:
        plain = all(_rows_equal_people(one, tree) for one, tree in zip(members, trees, strict=True))
        counted = "exact" if plain else "unknown"
    return _Read(classes, trees, "mean_per_tree", counted)


def _forest_regressor(estimator: Seen) -> _Read:
    members = estimator.many("estimators_")
    trees = tuple(_number_tree(one, estimator.place) for one in members)
    return _Read((), trees, "mean_per_tree", "bootstrap" if estimator.get("bootstrap") is True else "exact")


def _stages(estimator: Seen) -> list[tuple[Any, ...]]:
    """Gradient boosting's trees: a row for each stage, a column for each class."""
    return [as_tuple(stage, estimator, "estimators_") for stage in estimator.many("estimators_")]


def _boosted(estimator: Seen) -> tuple[ForeignTree, ...]:
    rate = float(estimator["learning_rate"])
    return tuple(
        _number_tree(one, estimator.place, rate, k if len(stage) > 1 else None)
        for stage in _stages(estimator)
        for k, one in enumerate(stage)
    )


def _boosting_classifier(estimator: Seen) -> _Read:
    """Of two classes the score is the second's, and 0 means the second: so that one stands first here."""
    classes, prior, counted = _classes(estimator), _prior(estimator), _of_subsample(estimator)
    trees = _boosted(estimator)
    if len(classes) > 2:
        return _Read(classes, trees, "boost", counted, prior)
    return _Read(classes[::-1], tuple(replace(tree, output=0) for tree in trees), "boost", counted, (prior[-1], 0.0))


def _boosting_regressor(estimator: Seen) -> _Read:
    init, base = estimator.get("init_"), 0.0
    if isinstance(init, Seen) and init.kind == "DummyRegressor":
        base = float(init.array("constant_").ravel()[0])
    elif init != "zero":
        raise ReleaseError("its boosting starts from another model's predictions", place=estimator.place)
    return _Read((), _boosted(estimator), "boost", _of_subsample(estimator), (base,))


def _of_subsample(estimator: Seen) -> Counted:
    """What the nodes' rows are: some people alone where others were drawn out or set aside to know when to stop."""
    if float(estimator.get("subsample", 1.0)) != 1.0 or estimator.get("n_iter_no_change") is not None:
        return "sampled"
    nodes = [_tree_of(one, estimator.place).array("nodes") for stage in _stages(estimator) for one in stage]
    plain = all(np.array_equal(each["n_node_samples"], each["weighted_n_node_samples"]) for each in nodes)
    return "exact" if plain else "unknown"


def _of_validation(estimator: Seen) -> Counted:
    """The same of histogram boosting, which keeps no weights: whether every row weighed 1 cannot be seen."""
    stops = estimator.get("do_early_stopping_", estimator.get("early_stopping", True))
    return "sampled" if stops and estimator.get("validation_fraction", 0.1) is not None else "unknown"


def _prior(estimator: Seen) -> tuple[float, ...]:
    """What boosting of classes starts from: nothing, or the link of the classes' shares, as there."""
    init, classes = estimator.get("init_"), len(as_tuple(estimator["classes_"], estimator, "classes_"))
    if init == "zero":
        return (0.0,) * classes
    if not isinstance(init, Seen) or init.kind != "DummyClassifier" or init.get("strategy") != "prior":
        raise ReleaseError("its boosting starts from another model's predictions", place=estimator.place)
    least = float(np.finfo(np.float64).eps)
    shares = np.clip(init.array("class_prior_").astype(np.float64), least, 1 - least)
    if classes > 2:  # the multinomial link: logarithms, centred by their geometric mean
        return tuple((np.log(shares) - np.log(shares).mean()).tolist())
    odds = math.log(shares[1] / (1 - shares[1]))
    return (0.0, odds / 2 if estimator.get("loss") == "exponential" else odds)


def _hist(estimator: Seen, trees_per_stage: int) -> tuple[ForeignTree, ...]:
    stages, budget = estimator.many("_predictors"), Budget(estimator.place)
    return tuple(
        _hist_tree(estimator, one, budget, k if trees_per_stage > 1 else None)
        for stage in stages
        for k, one in enumerate(as_tuple(stage, estimator, "_predictors"))
    )


def _hist_tree(estimator: Seen, predictor: Any, budget: Budget, output: int | None) -> ForeignTree:
    """One of HistGradientBoosting's trees: doubles, sets of categories as bits, infinity where only gaps go high."""
    if not isinstance(predictor, Seen):
        raise ReleaseError("its `_predictors` are no trees", place=estimator.place)
    nodes: Any = predictor.array("nodes")
    wanted = {"value", "count", "feature_idx", "num_threshold", "missing_go_to_left", "left", "right", "is_leaf"}
    if nodes.dtype.names is None or not wanted <= set(nodes.dtype.names) or nodes.ndim != 1:
        raise ReleaseError("its predictor's `nodes` are not those of scikit-learn", place=estimator.place)
    leaf = nodes["is_leaf"].astype(bool)
    threshold = nodes["num_threshold"].astype(np.float64)
    threshold = np.where(threshold == np.inf, np.finfo(np.float64).max, threshold)
    return ForeignTree(
        feature=np.where(leaf, LEAF, nodes["feature_idx"]).astype(np.int64),
        threshold=np.where(leaf, np.nan, threshold),
        low=np.where(leaf, LEAF, nodes["left"].astype(np.int64)),
        high=np.where(leaf, LEAF, nodes["right"].astype(np.int64)),
        says=nodes["value"].astype(np.float64)[:, None],
        missing_low=nodes["missing_go_to_left"].astype(bool),
        subsets=dict(_bit_sets(predictor, nodes, leaf, budget)),
        size=nodes["count"].astype(np.float64),
        output=output,
    )


def _bit_sets(
    predictor: Seen, nodes: Any, leaf: np.ndarray, budget: Budget
) -> Iterator[tuple[int, frozenset[str | float]]]:
    """The categories, by their codes, that a node's bits send low."""
    if "is_categorical" not in (nodes.dtype.names or ()):
        return
    bits, sets = predictor.array("raw_left_cat_bitsets"), BitSets(budget)
    for node in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf).tolist():
        row = int(nodes["bitset_idx"][node])
        if bits.ndim != 2 or not row < len(bits):
            raise ReleaseError("its predictor names a set of categories that there is not", place=predictor.place)
        yield node, sets.of_codes(row, bits[row])


def _hist_columns(estimator: Seen, given: list[Made]) -> list[Made]:
    """Its own encoder puts the columns of categories first."""
    inner, marks = estimator.get("_preprocessor"), estimator.get("is_categorical_")
    if inner is None:
        return given
    if not isinstance(inner, Seen) or not isinstance(marks, np.ndarray) or len(marks) != len(given):
        raise ReleaseError("its own preprocessor is not one of scikit-learn's", place=estimator.place)
    encoder = next((part[1] for part in inner.many("transformers_") if part[0] == "encoder"), None)
    first = [one for one, mark in zip(given, marks, strict=True) if mark]
    rest = [one for one, mark in zip(given, marks, strict=True) if not mark]
    return [*(transformed(encoder, first, estimator.place) if first else []), *rest]


def _hist_classifier(estimator: Seen) -> _Read:
    classes = _classes(estimator)
    several = len(classes) if len(classes) > 2 else 1
    base = tuple(map(float, estimator.array("_baseline_prediction").ravel().tolist()))
    return _Read(classes, _hist(estimator, several), "boost", _of_validation(estimator), base, _hist_columns)


def _hist_regressor(estimator: Seen) -> _Read:
    if estimator.get("loss", "squared_error") not in {"squared_error", "absolute_error", "quantile"}:
        raise ReleaseError("predicts by the exponential of its trees' sum", place=estimator.place)
    base = tuple(map(float, estimator.array("_baseline_prediction").ravel().tolist()))
    return _Read((), _hist(estimator, 1), "boost", _of_validation(estimator), base, _hist_columns)


READERS: Mapping[str, Callable[[Seen], _Read]] = {
    "DecisionTreeClassifier": _tree_classifier,
    "DecisionTreeRegressor": _tree_regressor,
    "ExtraTreeClassifier": _tree_classifier,
    "ExtraTreeRegressor": _tree_regressor,
    "RandomForestClassifier": _forest_classifier,
    "RandomForestRegressor": _forest_regressor,
    "ExtraTreesClassifier": _forest_classifier,
    "ExtraTreesRegressor": _forest_regressor,
    "GradientBoostingClassifier": _boosting_classifier,
    "GradientBoostingRegressor": _boosting_regressor,
    "HistGradientBoostingClassifier": _hist_classifier,
    "HistGradientBoostingRegressor": _hist_regressor,
}
