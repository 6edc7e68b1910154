"""What scikit-learn's imputers and scalers make of features, and the indicators of missing cells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from leafgate import readers
from leafgate.api import ReleaseError
from leafgate.bounded.objects import as_tuple
from leafgate.ir.features import after_steps, recoded
from leafgate_plugins.sklearn.feature import PipelineFeature, Transform, is_missing, is_na, text_of


def _imputer(step: readers.ObjectView, given: Sequence[PipelineFeature]) -> list[PipelineFeature]:
    """The features without gaps; those that were nothing but gaps in training are left out, unless they are kept."""
    _check_gaps(step)
    fills = as_tuple(step["statistics_"], step, "statistics_")
    kept = step.get("keep_empty_features") is True
    made = [_filled(one, fill, step) for one, fill in zip(given, fills, strict=True) if kept or not is_missing(fill)]
    indicator = step.get("indicator_")
    return made + (_indicators(indicator, given, made) if isinstance(indicator, readers.ObjectView) else [])


def _check_gaps(step: readers.ObjectView) -> None:
    missing = step.get("missing_values")
    if not (missing is None or (isinstance(missing, float) and math.isnan(missing)) or is_na(missing)):
        raise ReleaseError(f"its {step.kind} looks for a value that is not a missing cell", place=step.place)


def _filled(made: PipelineFeature, fill: Any, of: readers.ObjectView) -> PipelineFeature:
    """The feature with `fill` wherever it is NaN; a gap that an earlier imputer filled is none any more."""
    if is_missing(fill):
        return made
    match made.origin:
        case readers.Numeric(_, _, None) if isinstance(fill, str):
            named = of.get("strategy") == "constant"
            return made if made.fill_value is not None else replace(made, fill_value=fill, named=named)
        case readers.Numeric(_, _, None) if made.fill_value is None:
            filled = replace(made.origin, fill=float(fill))
            return replace(made, origin=filled, fill_value=text_of(fill), named=True)
        case readers.CategoryCodes() if _gaps(made.origin):
            if made.single or isinstance(fill, str):
                why = f"its {of.kind} fills {made.name!r} with what is no number of double precision"
                raise ReleaseError(why, place=of.place)
            by = float(fill)
            return replace(made, origin=recoded(made.origin, lambda number: by if math.isnan(number) else number))
    return made


def _gaps(origin: readers.CategoryCodes) -> bool:
    """Is any value's number NaN? Those of one group against others never are."""
    numbers = [number for number in (origin.otherwise, origin.missing) if number is not None]
    rest = () if isinstance(origin.codes, readers.OneHot) else origin.codes.values()
    return any(map(math.isnan, (*numbers, *rest)))


def _indicator(step: readers.ObjectView, given: Sequence[PipelineFeature]) -> list[PipelineFeature]:
    _check_gaps(step)
    return _indicators(step, given, ())


def _indicators(
    indicator: readers.ObjectView, given: Sequence[PipelineFeature], beside: Sequence[PipelineFeature]
) -> list[PipelineFeature]:
    """A feature for each column whose gaps are shown; sparse beside sparse ones."""
    sparse = indicator.get("sparse") is True or any(one.sparse for one in beside)
    chosen = [given[i] for i in indicator.array("features_").astype(int)]
    return [PipelineFeature(f"missing {one.name}", _gap(one), sparse=sparse) for one in chosen]


def _gap(made: PipelineFeature) -> readers.Origin:
    """1 where the feature is NaN, else 0."""
    match made.origin:
        case readers.Numeric(column, _, fill):
            return readers.MissingIndicator(column, 0.0, float(fill is None and made.fill_value is None))
        case readers.MissingIndicator(column):
            return readers.MissingIndicator(column, 0.0, 0.0)
        case readers.CategoryCodes(column, readers.OneHot(groups, group, chosen), other, missing):
            rest = [None if number is None else float(math.isnan(number)) for number in (other, missing)]
            return readers.CategoryCodes(column, readers.OneHot(groups, group, chosen, 0.0, 0.0), rest[0], rest[1])
        case readers.CategoryCodes(column, codes, other, missing):
            rest = [None if number is None else float(math.isnan(number)) for number in (other, missing)]
            return readers.CategoryCodes(
                column, {value: float(math.isnan(code)) for value, code in codes.items()}, rest[0], rest[1]
            )
    return made.origin


GAPS: Mapping[str, Transform] = {"SimpleImputer": _imputer, "MissingIndicator": _indicator}


def _scaler(*operations: tuple[str, readers.Operation, str]) -> Transform:
    """A scaler that does these operations one after another with these attributes, where their options say so."""

    def scale(step: readers.ObjectView, given: Sequence[PipelineFeature]) -> list[PipelineFeature]:
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


def _step(operation: readers.Operation, by: float, made: PipelineFeature) -> readers.ArithmeticStep:
    """The operation as it is done: sparse numbers are not divided, but multiplied by the reciprocal."""
    if operation == "over" and made.sparse and by > 0:
        return readers.ArithmeticStep("times", 1.0 / by)
    return readers.ArithmeticStep(operation, by)


def _bounds(step: readers.ObjectView) -> tuple[readers.ArithmeticStep, ...]:
    """Where numbers are cut off: at the ends of the range, which MaxAbsScaler has no choice of."""
    if step.get("clip") is not True:
        return ()
    items = (-1.0, 1.0) if step.kind == "MaxAbsScaler" else as_tuple(step["feature_range"], step, "feature_range")
    least, most = items
    return readers.ArithmeticStep("at_least", float(least)), readers.ArithmeticStep("at_most", float(most))


def _stepped(made: PipelineFeature, step: readers.ArithmeticStep, of: readers.ObjectView) -> PipelineFeature:
    """The feature one step on."""
    if not math.isfinite(step.by) or (step.operation in {"times", "over"} and step.by <= 0):
        raise ReleaseError(f"its {of.kind} scales {made.name!r} by no positive number", place=of.place)
    if made.single:
        raise ReleaseError(f"its {of.kind} scales {made.name!r} in less than double precision", place=of.place)
    match made.origin:
        case readers.Numeric(column, steps, fill):
            filled = None if fill is None else after_steps(fill, (step,))
            return replace(made, origin=readers.Numeric(column, (*steps, step), filled))
        case readers.CategoryCodes() | readers.MissingIndicator() as origin:
            return replace(made, origin=recoded(origin, lambda number: after_steps(number, (step,))))
    return made


SCALERS: Mapping[str, Transform] = {
    "StandardScaler": _scaler(("mean_", "minus", "with_mean"), ("scale_", "over", "with_std")),
    "MinMaxScaler": _scaler(("scale_", "times", ""), ("min_", "plus", "")),
    "MaxAbsScaler": _scaler(("scale_", "over", "")),
    "RobustScaler": _scaler(("center_", "minus", "with_centering"), ("scale_", "over", "with_scaling")),
}
