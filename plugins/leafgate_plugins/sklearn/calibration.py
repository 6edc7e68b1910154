"""CalibratedClassifierCV: of single trees shares that went through the calibration, of one sum of trees scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from leafgate.api import Combine, Floats, ReleaseError
from leafgate.bounded.objects import as_tuple
from leafgate.readers import NO_SAMPLING, NodeNumbers, NumberKind, ObjectView, TreeIR
from leafgate_plugins.sklearn.bagging import UNKNOWN_RATE, bagging_classifier
from leafgate_plugins.sklearn.feature import text_of
from leafgate_plugins.sklearn.hist_boosting import hist_classifier
from leafgate_plugins.sklearn.trees import (
    EstimatorIR,
    boosting_classifier,
    classes_of,
    forest_classifier,
    tree_classifier,
)

CALIBRATED = "CalibratedClassifierCV"
TREES = frozenset({"DecisionTreeClassifier", "ExtraTreeClassifier"})
SUMS: Mapping[str, Callable[[ObjectView], EstimatorIR]] = {
    "RandomForestClassifier": forest_classifier,
    "ExtraTreesClassifier": forest_classifier,
    "BaggingClassifier": bagging_classifier,
    "GradientBoostingClassifier": boosting_classifier,
    "HistGradientBoostingClassifier": hist_classifier,
}
"""What is calibrated by one map of a sum of trees."""

PLAIN_TREE = (
    "calibrate with `ensemble=False`, calibrate a single decision tree, or publish the forest or boosting without "
    "calibration (the `estimator` of each of `calibrated_classifiers_`)"
)
METHODS = ("sigmoid", "isotonic", "temperature")
SMALLEST = 1e-12
"""What scikit-learn adds to a share before it takes its logarithm."""

SMALLEST_GAP = 1e-9
"""Scores that differ by less may be equal but for rounding."""

CLOSE_TO_POINT = 1e-4
"""How near the score of an even chance may be to a point of the calibration, as a part of the smallest gap."""

LARGEST_SCORE = 30.0
"""The logistic functions of larger numbers may be 1 in double precision."""

ROUNDING = 1e-5
"""A calibrated share that is more than 1 by no more than this is 1."""


def calibrated_classifier(estimator: ObjectView) -> EstimatorIR:
    """The mean of trees whose leaves say calibrated shares: of each leaf these follow from its own shares alone.

    Each tree was grown on a part of the rows, and calibrated on the others, unless there is one tree, of which the
    calibration is that of trees that are not kept. Then it was grown on all rows.

    Source: scikit-learn 1.9, `sklearn.calibration._CalibratedClassifier.predict_proba`.
    """
    classes, members = classes_of(estimator), estimator.many("calibrated_classifiers_")
    if len(members) == 1 and (summed := _calibrated_sum(estimator, members[0], classes)) is not None:
        return summed
    pairs = [_tree_and_calibrators(estimator, member) for member in members]
    if not pairs:
        raise ReleaseError("has no calibrated classifiers: was it fitted?", place=estimator.place)
    is_whole = len(pairs) == 1 and estimator.get("ensemble") is False and pairs[0][0] is pairs[0][1]
    trees, positions = [], tuple(map(str, range(len(classes))))
    for (tree, _, calibrators), member in zip(pairs, members, strict=True):
        read = tree_classifier(tree)
        own = tuple(map(text_of, as_tuple(member["classes"], member, "classes")))
        if not {read.classes, own} <= {classes, positions}:
            _refuse(estimator, "the classes of one of its trees are not its own")
        shares = _calibrated(read.trees[0].values, calibrators, member, len(classes))
        trees.append(_with_shares(read, shares, is_whole=is_whole))
    sampling = NO_SAMPLING if is_whole else UNKNOWN_RATE
    combine: Combine = "one" if len(trees) == 1 else "mean_per_tree"
    return EstimatorIR(classes, tuple(trees), combine, "unknown", sampling=sampling, member=pairs[0][0])


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
        kind = tree.kind if isinstance(tree, ObjectView) else "text"
        _refuse(estimator, f"it calibrates a {kind}, whose trees are put together before the calibration")
    method = member.get("method", estimator.get("method"))
    if method not in METHODS:
        _refuse(estimator, "its `method` is none of " + ", ".join(METHODS))
    calibrators = member.many("calibrators")
    if not all(isinstance(each, ObjectView) for each in calibrators):
        _refuse(estimator, "it has no calibrators")
    return tree, given, calibrators


def _inner(member: Any) -> tuple[Any, Any]:
    """What is calibrated, and what holds it: itself, or a FrozenEstimator."""
    given: Any = member.get("estimator", member.get("base_estimator")) if isinstance(member, ObjectView) else None
    is_frozen = isinstance(given, ObjectView) and given.kind == "FrozenEstimator"
    return (given.get("estimator") if is_frozen else given), given


def _calibrated_sum(estimator: ObjectView, member: Any, classes: tuple[str, ...]) -> EstimatorIR | None:
    """A forest or boosting that is calibrated once, as trees whose scores add up; None for anything else.

    The probability of a class rises with its score, so that the class of the largest score is predicted. Of two classes
    and a sigmoid the probabilities are the logistic function of the scores; otherwise the scores are not theirs.
    """
    inner, holder = _inner(member)
    if not isinstance(member, ObjectView) or not isinstance(inner, ObjectView) or inner.kind not in SUMS:
        return None
    read, method, calibrators = SUMS[inner.kind](inner), member.get("method"), member.many("calibrators")
    own = tuple(map(text_of, as_tuple(member["classes"], member, "classes")))
    positions = tuple(map(str, range(len(classes))))
    reverse = inner.kind == "GradientBoostingClassifier" and len(classes) == 2  # whose second class stands first
    if not {read.classes[::-1] if reverse else read.classes, own} <= {classes, positions}:
        _refuse(estimator, "the classes of what it calibrates are not its own")
    expected = 1 if len(classes) == 2 else len(classes)
    if len(calibrators) != expected or not all(isinstance(each, ObjectView) for each in calibrators):
        _refuse(estimator, f"it has not one calibrator for each class of its {inner.kind}")
    values, base = _scores(estimator, read, expected, reverse=reverse)
    if method == "sigmoid" and all(each.kind == "_SigmoidCalibration" for each in calibrators):
        factor, constant = (np.array([-_number(each, name) for each in calibrators]) for name in ("a_", "b_"))
    elif method == "isotonic" and expected == 1:
        factor, constant = np.ones(1), np.array([-_even_chance(estimator, calibrators[0])])
    else:
        _refuse(estimator, f"with this `method` and number of classes the sum of a {inner.kind} is no score")
    base = factor * base + constant
    outputs = [
        slice(None) if tree.output is None or reverse else slice(tree.output, tree.output + 1) for tree in read.trees
    ]
    scaled = [each * factor[of] for each, of in zip(values, outputs, strict=True)]
    _refuse_equal_chances(estimator, base, scaled, outputs)
    is_whole = estimator.get("ensemble") is False and inner is holder
    trees = tuple(
        replace(
            _with_shares(replace(read, trees=(tree,)), each, is_whole=is_whole), output=None if reverse else tree.output
        )
        for tree, each in zip(read.trees, scaled, strict=True)
    )
    add = read.add_features
    return EstimatorIR(
        classes,
        trees,
        "boost",
        "unknown",
        tuple(base.tolist()),
        None if add is None else lambda _, outputs: add(inner, outputs),
        sampling=read.sampling if is_whole else UNKNOWN_RATE,
        member=inner,
        link="softmax" if method == "sigmoid" and expected == 1 else "other",
    )


def _scores(estimator: ObjectView, read: EstimatorIR, width: int, *, reverse: bool) -> tuple[list[Floats], Floats]:
    """What each tree adds to the scores that are calibrated, of two classes to that of the second; and their start."""
    if read.combine == "boost":
        base = np.array(read.base or [0.0] * width)
        return [tree.values for tree in read.trees], base[:1] if reverse else base
    if read.combine != "mean_per_tree":
        _refuse(estimator, "the trees of what it calibrates publish labels alone")
    return [tree.values[:, -width:] / len(read.trees) for tree in read.trees], np.zeros(width)


def _even_chance(estimator: ObjectView, calibrator: ObjectView) -> float:
    """The largest score to which an isotonic calibration gives a probability of at most one half.

    What is added up may be off by its last digits, so this number is none of the points where the probability jumps.
    """
    at, levels = _points(calibrator)
    least, most = -1e30, 1e30
    below = np.flatnonzero(levels <= 0.5)
    if not len(below):
        return least
    i = int(below[-1])
    if i == len(levels) - 1:
        return most
    gap, size = float(at[i + 1] - at[i]), max(1.0, abs(float(at[i])))
    if gap < SMALLEST_GAP * size:
        _refuse(estimator, "its calibration jumps between numbers that are equal but for their last digits")
    share, least_step = float((0.5 - levels[i]) / (levels[i + 1] - levels[i])), CLOSE_TO_POINT * SMALLEST_GAP * size
    return float(at[i]) + min(max(gap * share, least_step), gap - least_step)


def _refuse_equal_chances(
    estimator: ObjectView, base: Floats, trees: Sequence[Floats], outputs: Sequence[slice]
) -> None:
    """ReleaseError where the probabilities of two classes may be the same number while their scores differ."""
    if len(base) == 1:
        return
    most, least = base.copy(), base.copy()
    for values, of in zip(trees, outputs, strict=True):
        most[of] += np.nan_to_num(values).max(axis=0)
        least[of] += np.nan_to_num(values).min(axis=0)
    if np.sort(most)[-2] > LARGEST_SCORE or least.min() < -LARGEST_SCORE:
        _refuse(estimator, "its scores are so large that the probabilities of several classes are 1, or 0")


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
    if at.ndim != 1 or at.shape != levels.shape or not len(at) or (np.diff(at) <= 0).any():
        raise ReleaseError("has points of calibration that do not increase", place=calibrator.place)
    return at, levels


def _number(calibrator: ObjectView, name: str) -> float:
    found = np.asarray(calibrator[name])
    if found.size != 1 or found.dtype.kind not in "iuf" or not np.isfinite(found).all():
        raise ReleaseError(f"`{name}` of its {calibrator.kind} must be a number", place=calibrator.place)
    return float(found.reshape(()))


def _with_shares(read: EstimatorIR, shares: Floats, *, is_whole: bool) -> TreeIR:
    """The tree with calibrated shares on its leaves, and its people by class beside them, which these do not follow.

    Where it was grown on an unknown part of the rows, nobody knows how often a number counts a row.
    """
    tree = read.trees[0]
    numbers = tree.numbers
    if tree.counts is not None:
        kind: NumberKind = "rows" if is_whole and read.counted == "exact" else "weight"
        numbers = (*numbers, NodeNumbers("value", kind, tree.counts))
    if not is_whole:
        numbers = tuple(replace(each, kind="weight") for each in numbers)
    return replace(tree, values=shares, counts=None, numbers=numbers)
