"""CalibratedClassifierCV: of single trees shares that went through the calibration, of forests and boosting scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from leafgate.api import Combine, Floats, ReleaseError
from leafgate.bounded.objects import as_tuple
from leafgate.readers import NO_SAMPLING, CalibratedSum, NodeNumbers, NumberKind, ObjectView, TreeIR
from leafgate_plugins.sklearn import trees as sklearn_trees
from leafgate_plugins.sklearn.bagging import UNKNOWN_RATE, bagging_classifier
from leafgate_plugins.sklearn.feature import PipelineFeature, text_of
from leafgate_plugins.sklearn.hist_boosting import hist_classifier

CALIBRATED = "CalibratedClassifierCV"
TREES = frozenset({"DecisionTreeClassifier", "ExtraTreeClassifier"})
SUMS: Mapping[str, Callable[[ObjectView], sklearn_trees.EstimatorIR]] = {
    "RandomForestClassifier": sklearn_trees.forest_classifier,
    "ExtraTreesClassifier": sklearn_trees.forest_classifier,
    "BaggingClassifier": bagging_classifier,
    "GradientBoostingClassifier": sklearn_trees.boosting_classifier,
    "HistGradientBoostingClassifier": hist_classifier,
}
"""What is calibrated by a map of a sum of trees."""

PLAIN_TREE = (
    "calibrate a decision tree, a forest or boosting by `sigmoid` or `isotonic`, or publish the model without "
    "calibration (the `estimator` of each of `calibrated_classifiers_`)"
)
METHODS = ("sigmoid", "isotonic", "temperature")
SMALLEST = 1e-12
"""What scikit-learn adds to a share before it takes its logarithm."""

SMALLEST_GAP = 1e-9
"""Scores that differ by less, as a part of them where they are above 1, may be equal but for rounding."""

ROUNDING = 1e-5
"""A calibrated share that is more than 1 by no more than this is 1."""


def calibrated_classifier(estimator: ObjectView) -> sklearn_trees.EstimatorIR:
    """The mean of trees whose leaves say calibrated shares: of each leaf these follow from its own shares alone.

    Each tree was grown on a part of the rows, and calibrated on the others, unless there is one tree, of which the
    calibration is that of trees that are not kept. Then it was grown on all rows.

    Source: scikit-learn 1.9, `sklearn.calibration._CalibratedClassifier.predict_proba`.
    """
    classes, members = sklearn_trees.classes_of(estimator), estimator.many("calibrated_classifiers_")
    sums = [each for each in members if isinstance(each, ObjectView) and _kind_of(_inner(each)[0]) in SUMS]
    if sums and len(sums) == len(members):
        return _calibrated_sums(estimator, sums, classes)
    pairs = [_tree_and_calibrators(estimator, member) for member in members]
    if not pairs:
        raise ReleaseError("has no calibrated classifiers: was it fitted?", place=estimator.place)
    is_whole = len(pairs) == 1 and estimator.get("ensemble") is False and pairs[0][0] is pairs[0][1]
    trees, positions = [], tuple(map(str, range(len(classes))))
    for (tree, _, calibrators), member in zip(pairs, members, strict=True):
        read = sklearn_trees.tree_classifier(tree)
        own = tuple(map(text_of, as_tuple(member["classes"], member, "classes")))
        if not {read.classes, own} <= {classes, positions}:
            _refuse(estimator, "the classes of one of its trees are not its own")
        shares = _calibrated(read.trees[0].values, calibrators, member, len(classes))
        trees.append(_with_shares(read, read.trees[0], shares, is_whole=is_whole))
    sampling = NO_SAMPLING if is_whole else UNKNOWN_RATE
    combine: Combine = "one" if len(trees) == 1 else "mean_per_tree"
    return sklearn_trees.EstimatorIR(classes, tuple(trees), combine, "unknown", sampling=sampling, member=pairs[0][0])


def calibrated_trees(estimator: ObjectView) -> list[ObjectView]:
    """The trees of a calibrated classifier."""
    members = estimator.many("calibrated_classifiers_")
    return [each for each, _ in map(_inner, members) if isinstance(each, ObjectView)]


def _refuse(estimator: ObjectView, why: str) -> NoReturn:
    raise ReleaseError(f"is a {CALIBRATED} that cannot be read: {why}", place=estimator.place, remedy=PLAIN_TREE)


def _tree_and_calibrators(estimator: ObjectView, member: Any) -> tuple[ObjectView, ObjectView, tuple[ObjectView, ...]]:
    """The tree of a fold, what holds it (itself, or a FrozenEstimator), and its calibrators."""
    tree, given = _inner(member)
    if not isinstance(given, ObjectView) or not isinstance(tree, ObjectView) or tree.kind not in TREES:
        _refuse(estimator, f"it calibrates a {_kind_of(tree)}")
    method = member.get("method", estimator.get("method"))
    if method not in METHODS:
        _refuse(estimator, "its `method` is none of " + ", ".join(METHODS))
    calibrators = member.many("calibrators")
    if not all(isinstance(each, ObjectView) for each in calibrators):
        _refuse(estimator, "it has no calibrators")
    return tree, given, calibrators


def _kind_of(given: Any) -> str:
    return given.kind if isinstance(given, ObjectView) else "text"


def _inner(member: Any) -> tuple[Any, Any]:
    """What is calibrated, and what holds it: itself, or a FrozenEstimator."""
    given: Any = member.get("estimator", member.get("base_estimator")) if isinstance(member, ObjectView) else None
    is_frozen = isinstance(given, ObjectView) and given.kind == "FrozenEstimator"
    return (given.get("estimator") if is_frozen else given), given


def _calibrated_sums(
    estimator: ObjectView, members: Sequence[ObjectView], classes: tuple[str, ...]
) -> sklearn_trees.EstimatorIR:
    """Forests or boostings as trees whose scores add up to a sum for each, which answer the mean of its shares.

    One sum of which the shares are the softmax is boosting, which more formats know.
    """
    inner, holder = _inner(members[0])
    is_whole = len(members) == 1 and estimator.get("ensemble") is False and inner is holder
    read = [_calibrated_sum(estimator, member, classes, is_whole=is_whole) for member in members]
    sums = tuple(each for _, each in read)
    add = read[0][0].add_features

    def features(_: ObjectView, outputs: list[PipelineFeature]) -> list[PipelineFeature]:
        """The features as every fold makes them: its own encoder may not have seen each value."""
        found = [outputs if add is None else add(_inner(member)[0], outputs) for member in members]
        if any(repr(each) != repr(found[0]) for each in found):
            _refuse(estimator, "its folds do not know the same values of a column of categories")
        return found[0]

    return sklearn_trees.EstimatorIR(
        classes,
        tuple(tree for each, _ in read for tree in each.trees),
        "boost",
        "unknown",
        add_features=features,
        sampling=read[0][0].sampling if is_whole else UNKNOWN_RATE,
        member=inner,
        calibrated_sums=() if len(sums) == 1 and sums[0].link == "softmax" else sums,
    )


def _calibrated_sum(
    estimator: ObjectView, member: ObjectView, classes: tuple[str, ...], *, is_whole: bool
) -> tuple[sklearn_trees.EstimatorIR, CalibratedSum]:
    """A forest or boosting of a fold with the scores that its link takes, and the link.

    What a calibration multiplies by is in all scores, what it adds and boosting starts from in those of the first tree
    of each class: so they are added up in the order of scikit-learn, to the last bit where nothing is multiplied.
    """
    inner, _ = _inner(member)
    read, method, calibrators = SUMS[inner.kind](inner), member.get("method"), member.many("calibrators")
    own = tuple(map(text_of, as_tuple(member["classes"], member, "classes")))
    positions = tuple(map(str, range(len(classes))))
    reverse = inner.kind == "GradientBoostingClassifier" and len(classes) == 2  # whose second class stands first
    if not {read.classes[::-1] if reverse else read.classes, own} <= {classes, positions}:
        _refuse(estimator, "the classes of what it calibrates are not its own")
    if read.combine not in {"boost", "mean_per_tree"}:
        _refuse(estimator, "the trees of what it calibrates publish labels alone")
    width, n_trees, is_forest = 1 if len(classes) == 2 else len(classes), len(read.trees), read.combine != "boost"
    base = np.zeros(width) if is_forest else _start(inner, read)[:width]
    kinds = [each.kind if isinstance(each, ObjectView) else "" for each in calibrators]
    factor, link = np.ones(width), CalibratedSum(n_trees, "softmax")
    if method == "sigmoid" and kinds == ["_SigmoidCalibration"] * width:
        factor, constant = (np.array([-_number(each, name) for each in calibrators]) for name in ("a_", "b_"))
        base = factor * base + constant
        factor = factor / n_trees if is_forest else factor
        link = replace(link, link="softmax" if width == 1 else "logistic")
    elif method == "temperature" and kinds == ["_TemperatureScaling"] and not is_forest:
        factor = factor * _number(calibrators[0], "beta_") * (2 if width == 1 else 1)
        base = factor * base
    elif method == "isotonic" and len(kinds) == width:
        points = tuple(_points_of_sum(estimator, each) for each in calibrators)
        link = CalibratedSum(n_trees, "isotonic", is_forest, ((), *points) if width == 1 else points)
    else:
        _refuse(estimator, f"this `method` and these calibrators of a {inner.kind} are not read")
    trees = []
    for tree in read.trees:
        output = None if reverse else tree.output
        of = slice(None) if output is None else slice(output, output + 1)
        scores = factor[of] * tree.values[:, -width:] + base[of]
        base[of] = 0
        trees.append(replace(_with_shares(read, tree, scores, is_whole=is_whole), output=output))
    return replace(read, trees=tuple(trees)), link


def _start(inner: ObjectView, read: sklearn_trees.EstimatorIR) -> Floats:
    """The scores that boosting starts from, to the last bit: the link of the shares of classes, as scikit-learn has it.

    Before 1.4 it did not centre the logarithms of several shares.
    """
    from scipy.special import logit

    init = inner.get("init_")
    if not isinstance(init, ObjectView):
        return np.array(read.base)
    shares = init.array("class_prior_").astype(np.float64)
    if len(shares) == 2:
        return np.asarray(logit(shares[1:]) * (0.5 if inner.get("loss") == "exponential" else 1.0))
    if _kind_of(inner.get("_loss")) == "MultinomialDeviance":
        return np.asarray(np.log(shares))
    return np.asarray(np.log(shares / np.exp(np.log(shares).mean())))


def _points_of_sum(estimator: ObjectView, calibrator: ObjectView) -> tuple[tuple[float, float], ...]:
    """The points of an isotonic calibration; refused where it jumps, for sums may be off by their last digits."""
    at, levels = _points(calibrator)
    near = np.diff(at) < SMALLEST_GAP * np.maximum(1.0, abs(at[1:]))
    if (near & (np.diff(levels) > SMALLEST_GAP)).any():
        _refuse(estimator, "its calibration jumps between numbers that are equal but for their last digits")
    return tuple(zip(at.tolist(), levels.tolist(), strict=True))


def _calibrated(shares: Floats, calibrators: Sequence[ObjectView], member: ObjectView, classes: int) -> Floats:
    """The calibrated shares of rows of shares: shape (n_rows, n_classes)."""
    if member.get("method") == "temperature":
        scores = _number(calibrators[0], "beta_") * np.log(shares + SMALLEST)
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))
    of_classes = range(1, 2) if classes == 2 else range(classes)
    if len(calibrators) != len(of_classes):
        raise ReleaseError("has not one calibrator for each class", place=member.place)
    found = np.zeros((len(shares), classes))
    for k, calibrator in zip(of_classes, calibrators, strict=True):
        found[:, k] = _predicted(calibrator, shares[:, k])
    if classes == 2:
        found[:, 0] = 1 - found[:, 1]
    else:
        total = found.sum(axis=1, keepdims=True)
        found = np.divide(found, total, out=np.full_like(found, 1 / classes), where=total != 0)
    return np.where((found > 1) & (found <= 1 + ROUNDING), 1.0, found)


def _predicted(calibrator: ObjectView, shares: Floats) -> Floats:
    """What a calibrator makes of shares: a logistic function of them, or lines between points."""
    if calibrator.kind == "_SigmoidCalibration":
        with np.errstate(over="ignore"):
            return np.asarray(1 / (1 + np.exp(_number(calibrator, "a_") * shares + _number(calibrator, "b_"))))
    return np.asarray(np.interp(shares, *_points(calibrator)))


def _points(calibrator: ObjectView) -> tuple[Floats, Floats]:
    """The points between which an isotonic calibration is linear: scores, and the probabilities of them."""
    if calibrator.kind != "IsotonicRegression" or calibrator.get("out_of_bounds") != "clip":
        raise ReleaseError("is calibrated in a way that is not read", place=calibrator.place, remedy=PLAIN_TREE)
    at, levels = (calibrator.array(f"{name}_thresholds_").astype(np.float64) for name in ("X", "y"))
    if at.ndim != 1 or at.shape != levels.shape or not len(at) or not (np.diff(at) > 0).all():
        raise ReleaseError("has points of calibration that do not increase", place=calibrator.place)
    if (_number(calibrator, "X_min_"), _number(calibrator, "X_max_")) != (at[0], at[-1]):
        raise ReleaseError("is cut off elsewhere than at its points", place=calibrator.place)
    if not (abs(levels - 0.5) <= 0.5 + ROUNDING).all():
        raise ReleaseError("has points of calibration whose levels are no shares", place=calibrator.place)
    return at, np.clip(levels, 0, 1)


def _number(calibrator: ObjectView, name: str) -> float:
    found = np.asarray(calibrator[name])
    if found.size != 1 or found.dtype.kind not in "iuf" or not np.isfinite(found).all():
        raise ReleaseError(f"`{name}` of its {calibrator.kind} must be a number", place=calibrator.place)
    return float(found.reshape(()))


def _with_shares(read: sklearn_trees.EstimatorIR, tree: TreeIR, shares: Floats, *, is_whole: bool) -> TreeIR:
    """A tree with calibrated shares or scores on its leaves, and its people by class beside them, which differ.

    Where it was grown on an unknown part of the rows, nobody knows how often a number counts a row.
    """
    numbers = tree.numbers
    if tree.counts is not None:
        kind: NumberKind = "rows" if is_whole and read.counted == "exact" else "weight"
        numbers = (*numbers, NodeNumbers("value", kind, tree.counts))
    if not is_whole:
        numbers = tuple(replace(each, kind="weight") for each in numbers)
    return replace(tree, values=shares, counts=None, numbers=numbers)
