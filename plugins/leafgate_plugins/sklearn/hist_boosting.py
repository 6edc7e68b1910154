"""scikit-learn's histogram boosting as neutral trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from leafgate.api import ReleaseError
from leafgate.bounded.objects import as_tuple
from leafgate.ir.arrays import BitSets, CategoryBudget
from leafgate.kernel.release import Combine, Counted
from leafgate.readers import LEAF, NO_SAMPLING, NodeNumbers, ObjectView, Sampling, TreeIR
from leafgate_plugins.sklearn.feature import PipelineFeature
from leafgate_plugins.sklearn.pipeline import transformed
from leafgate_plugins.sklearn.trees import EstimatorIR, classes_of

OF_SUMS = ("squared_error", "absolute_error", "quantile")
"""Losses of regressors that predict the sum of their trees' numbers."""

OF_LOGS = ("poisson", "gamma")
"""Losses of regressors that predict the exponential of that sum."""


def _of_validation(estimator: ObjectView) -> Counted:
    """What the numbers of histogram boosting count: whether every row weighed 1 cannot be seen in it."""
    stops = estimator.get("do_early_stopping_", estimator.get("early_stopping", True))
    return "sampled" if stops and estimator.get("validation_fraction", 0.1) is not None else "unknown"


def _held_out(estimator: ObjectView) -> Sampling:
    """How many rows were set aside to know when to stop."""
    result = estimator.get("validation_fraction", 0.1)
    if _of_validation(estimator) != "sampled":
        return NO_SAMPLING
    if not isinstance(result, int | float) or not 0 < result < 1e12:
        raise ReleaseError("its `validation_fraction` is neither a share nor a number of rows", place=estimator.place)
    return Sampling(held_out=float(result))


def _hist(estimator: ObjectView, trees_per_stage: int) -> tuple[TreeIR, ...]:
    stages, budget = estimator.many("_predictors"), CategoryBudget(estimator.place)
    return tuple(
        _hist_tree(estimator, one, budget, k if trees_per_stage > 1 else None)
        for stage in stages
        for k, one in enumerate(as_tuple(stage, estimator, "_predictors"))
    )


def _hist_tree(estimator: ObjectView, predictor: Any, budget: CategoryBudget, output: int | None) -> TreeIR:
    """One of HistGradientBoosting's trees: doubles, sets of categories as bits, infinity where only gaps go high.

    From scikit-learn 1.4 on an encoder makes values missing that training did not have, before a tree sees them.
    """
    if not isinstance(predictor, ObjectView):
        raise ReleaseError("its `_predictors` are no trees", place=estimator.place)
    nodes: Any = predictor.array("nodes")
    wanted = {"value", "count", "feature_idx", "num_threshold", "missing_go_to_left", "left", "right", "is_leaf"}
    if nodes.dtype.names is None or not wanted <= set(nodes.dtype.names) or nodes.ndim != 1:
        raise ReleaseError("its predictor's `nodes` are not those of scikit-learn", place=estimator.place)
    leaf = nodes["is_leaf"].astype(bool)
    threshold = nodes["num_threshold"].astype(np.float64)
    threshold = np.where(threshold == np.inf, np.finfo(np.float64).max, threshold)
    low, high = (nodes[side].astype(np.int64) for side in ("left", "right"))
    missing_low, subsets = nodes["missing_go_to_left"].astype(bool), dict(_bit_sets(predictor, nodes, leaf, budget))
    if estimator.get("_preprocessor") is None:
        tests = nodes["feature_idx"][[node for node in np.flatnonzero(~leaf).tolist() if node not in subsets]]
        if np.isin(tests, np.flatnonzero(np.asarray(estimator.get("is_categorical_", False)))).any():
            raise ReleaseError("compares categories with a number", place=predictor.place)
    for node in subsets if estimator.get("_preprocessor") is None else ():
        known = _known_codes(estimator, int(nodes["feature_idx"][node]))
        if not subsets[node] <= known:
            raise ReleaseError("its sets name categories that training did not have", place=predictor.place)
        if missing_low[node]:  # what training did not have goes low, too
            subsets[node] = known - subsets[node]
            low[node], high[node], missing_low[node] = high[node], low[node], False
    return TreeIR(
        feature=np.where(leaf, LEAF, nodes["feature_idx"]).astype(np.int64),
        threshold=np.where(leaf, np.nan, threshold),
        low=np.where(leaf, LEAF, low),
        high=np.where(leaf, LEAF, high),
        values=nodes["value"].astype(np.float64)[:, None],
        missing_low=missing_low,
        subsets=subsets,
        size=nodes["count"].astype(np.float64),
        numbers=(NodeNumbers("count", "rows", nodes["count"].astype(np.float64)),),
        output=output,
    )


def _bit_sets(
    predictor: ObjectView, nodes: Any, leaf: np.ndarray, budget: CategoryBudget
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


def _known_codes(estimator: ObjectView, feature: int) -> frozenset[str | float]:
    """The codes of a feature that training had."""
    mapper = estimator.get("_bin_mapper")
    listed = mapper.get("bin_thresholds_") if isinstance(mapper, ObjectView) else None
    codes = listed[feature] if isinstance(listed, Sequence) and feature < len(listed) else None
    if not isinstance(codes, np.ndarray) or codes.ndim != 1 or codes.dtype.kind not in "iuf":
        raise ReleaseError("does not say which categories it knows", place=f"{estimator.place}._bin_mapper")
    return frozenset(map(float, codes.tolist()))


def _hist_columns(estimator: ObjectView, given: list[PipelineFeature]) -> list[PipelineFeature]:
    """Its own encoder puts the columns of categories first."""
    inner, marks = estimator.get("_preprocessor"), estimator.get("is_categorical_")
    if inner is None:
        return given
    if not isinstance(inner, ObjectView) or not isinstance(marks, np.ndarray) or len(marks) != len(given):
        raise ReleaseError("its own preprocessor is not one of scikit-learn's", place=estimator.place)
    encoder = next((part[1] for part in inner.many("transformers_") if part[0] == "encoder"), None)
    first = [one for one, mark in zip(given, marks, strict=True) if mark]
    rest = [one for one, mark in zip(given, marks, strict=True) if not mark]
    return [*(transformed(encoder, first, estimator.place) if first else []), *rest]


def hist_classifier(estimator: ObjectView) -> EstimatorIR:
    classes = classes_of(estimator)
    several = len(classes) if len(classes) > 2 else 1
    base = tuple(map(float, estimator.array("_baseline_prediction").ravel().tolist()))
    return EstimatorIR(
        classes,
        _hist(estimator, several),
        "boost",
        _of_validation(estimator),
        base,
        _hist_columns,
        _held_out(estimator),
    )


def hist_regressor(estimator: ObjectView) -> EstimatorIR:
    loss = estimator.get("loss", "squared_error")
    if loss not in {*OF_SUMS, *OF_LOGS}:
        raise ReleaseError("has a loss that is not read", place=estimator.place)
    combine: Combine = "exp_sum" if loss in OF_LOGS else "boost"
    base = tuple(map(float, estimator.array("_baseline_prediction").ravel().tolist()))
    return EstimatorIR(
        (), _hist(estimator, 1), combine, _of_validation(estimator), base, _hist_columns, _held_out(estimator)
    )
