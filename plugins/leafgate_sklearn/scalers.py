"""What scikit-learn's scalers make of features."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from leafgate.api import (
    ArithmeticStep,
    CategoryCodes,
    MissingIndicator,
    Numeric,
    ObjectView,
    OneHot,
    Operation,
    ReleaseError,
    after_steps,
    as_tuple,
)
from leafgate_sklearn.feature import PipelineFeature, Transform


def _scaler(*operations: tuple[str, Operation, str]) -> Transform:
    """A scaler that does these operations one after another with these attributes, where their options say so."""

    def scale(step: ObjectView, given: Sequence[PipelineFeature]) -> list[PipelineFeature]:
        made = list(given)
        for attribute, operation, option in operations:
            if option and step.get(option, True) is False:
                continue
            by = np.broadcast_to(step.array(attribute).astype(np.float64), (len(given),))
            made = [
                _stepped(one, _step(operation, float(number), one), step) for one, number in zip(made, by, strict=True)
            ]
        for bound in _bounds(step):
            made = [_stepped(one, bound, step) for one in made]
        return made

    return scale


def _step(operation: Operation, by: float, made: PipelineFeature) -> ArithmeticStep:
    """The operation as it is done: sparse numbers are not divided, but multiplied by the reciprocal."""
    if operation == "over" and made.sparse and by > 0:
        return ArithmeticStep("times", 1.0 / by)
    return ArithmeticStep(operation, by)


def _bounds(step: ObjectView) -> tuple[ArithmeticStep, ...]:
    """Where numbers are cut off: at the ends of the range, which MaxAbsScaler has no choice of."""
    if step.get("clip") is not True:
        return ()
    items = (-1.0, 1.0) if step.kind == "MaxAbsScaler" else as_tuple(step["feature_range"], step, "feature_range")
    least, most = items
    return ArithmeticStep("at_least", float(least)), ArithmeticStep("at_most", float(most))


def _stepped(made: PipelineFeature, step: ArithmeticStep, of: ObjectView) -> PipelineFeature:
    """The feature one step on."""
    if not math.isfinite(step.by) or (step.operation in {"times", "over"} and step.by <= 0):
        raise ReleaseError(f"its {of.kind} scales {made.name!r} by no positive number", place=of.place)
    if made.single:
        raise ReleaseError(f"its {of.kind} scales {made.name!r} in less than double precision", place=of.place)
    match made.origin:
        case Numeric(column, steps, fill):
            filled = None if fill is None else after_steps(fill, (step,))
            return replace(made, origin=Numeric(column, (*steps, step), filled))
        case CategoryCodes(column, codes, other, missing):
            changed = codes.stepped(step) if isinstance(codes, OneHot) else _each_stepped(codes, step)
            rest = [None if number is None else after_steps(number, (step,)) for number in (other, missing)]
            return replace(made, origin=replace(made.origin, codes=changed, otherwise=rest[0], missing=rest[1]))
        case MissingIndicator(column, there, gone):
            return replace(
                made, origin=MissingIndicator(column, after_steps(there, (step,)), after_steps(gone, (step,)))
            )
    return made


def _each_stepped(codes: Mapping[str, float], step: ArithmeticStep) -> dict[str, float]:
    return {value: after_steps(code, (step,)) for value, code in codes.items()}


SCALERS: Mapping[str, Transform] = {
    "StandardScaler": _scaler(("mean_", "minus", "with_mean"), ("scale_", "over", "with_std")),
    "MinMaxScaler": _scaler(("scale_", "times", ""), ("min_", "plus", "")),
    "MaxAbsScaler": _scaler(("scale_", "over", "")),
    "RobustScaler": _scaler(("center_", "minus", "with_centering"), ("scale_", "over", "with_scaling")),
}
