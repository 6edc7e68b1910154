"""CalibratedClassifierCV of single decision trees: trees whose leaves' shares went through the calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from leafgate.api import Combine, Floats, ReleaseError
from leafgate.bounded.objects import as_tuple
from leafgate.readers import NO_SAMPLING, NodeNumbers, NumberKind, ObjectView, TreeIR
from leafgate_plugins.sklearn.bagging import UNKNOWN_RATE
from leafgate_plugins.sklearn.feature import text_of
from leafgate_plugins.sklearn.trees import EstimatorIR, classes_of, tree_classifier

CALIBRATED = "CalibratedClassifierCV"
TREES = frozenset({"DecisionTreeClassifier", "ExtraTreeClassifier"})
PLAIN_TREE = (
    "calibrate a single decision tree, or publish the forest or boosting without calibration (the `estimator` of each "
    "of `calibrated_classifiers_`)"
)
METHODS = ("sigmoid", "isotonic", "temperature")
SMALLEST = 1e-12
"""What scikit-learn adds to a share before it takes its logarithm."""

ROUNDING = 1e-5
"""A calibrated share that is more than 1 by no more than this is 1."""


def calibrated_classifier(estimator: ObjectView) -> EstimatorIR:
    """The mean of trees whose leaves say calibrated shares: of each leaf these follow from its own shares alone.

    Each tree was grown on a part of the rows, and calibrated on the others, unless there is one tree, of which the
    calibration is that of trees that are not kept. Then it was grown on all rows.

    Source: scikit-learn 1.9, `sklearn.calibration._CalibratedClassifier.predict_proba`.
    """
    classes, members = classes_of(estimator), estimator.many("calibrated_classifiers_")
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
    return [_tree_and_calibrators(estimator, member)[0] for member in estimator.many("calibrated_classifiers_")]


def _refuse(estimator: ObjectView, why: str) -> NoReturn:
    raise ReleaseError(f"is a {CALIBRATED} that cannot be read: {why}", place=estimator.place, remedy=PLAIN_TREE)


def _tree_and_calibrators(estimator: ObjectView, member: Any) -> tuple[ObjectView, ObjectView, tuple[ObjectView, ...]]:
    """The tree of a fold, what holds it (itself, or a FrozenEstimator), and its calibrators."""
    given = member.get("estimator", member.get("base_estimator")) if isinstance(member, ObjectView) else None
    tree = given.get("estimator") if isinstance(given, ObjectView) and given.kind == "FrozenEstimator" else given
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
    if calibrator.kind == "IsotonicRegression" and calibrator.get("out_of_bounds") == "clip":
        at, levels = (calibrator.array(f"{name}_thresholds_").astype(np.float64) for name in ("X", "y"))
        if at.ndim != 1 or at.shape != levels.shape or not len(at) or (np.diff(at) <= 0).any():
            raise ReleaseError("has points of calibration that do not increase", place=calibrator.place)
        return np.asarray(np.interp(shares, at, levels))
    raise ReleaseError("is calibrated in a way that is not read", place=calibrator.place, remedy=PLAIN_TREE)


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
