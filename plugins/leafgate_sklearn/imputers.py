"""What scikit-learn makes of missing cells: imputers fill gaps, indicators show them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from leafgate.api import CategoryCodes, MissingIndicator, Numeric, ObjectView, OneHot, Origin, ReleaseError, as_tuple
from leafgate_sklearn.feature import PipelineFeature, Transform, is_missing, is_na, text_of


def _imputer(step: ObjectView, given: Sequence[PipelineFeature]) -> list[PipelineFeature]:
    """The features without gaps; those that were nothing but gaps in training are left out, unless they are kept."""
    _check_gaps(step)
    fills = as_tuple(step["statistics_"], step, "statistics_")
    kept = step.get("keep_empty_features") is True
    made = [_filled(one, fill, step) for one, fill in zip(given, fills, strict=True) if kept or not is_missing(fill)]
    indicator = step.get("indicator_")
    return made + (_indicators(indicator, given, made) if isinstance(indicator, ObjectView) else [])


def _check_gaps(step: ObjectView) -> None:
    missing = step.get("missing_values")
    if not (missing is None or (isinstance(missing, float) and math.isnan(missing)) or is_na(missing)):
        raise ReleaseError(f"its {step.kind} looks for a value that is not a missing cell", place=step.place)


def _filled(made: PipelineFeature, fill: Any, of: ObjectView) -> PipelineFeature:
    """The feature with `fill` wherever it is NaN; a gap that an earlier imputer filled is none any more."""
    if is_missing(fill):
        return made
    match made.origin:
        case Numeric(_, _, None) if isinstance(fill, str):
            named = of.get("strategy") == "constant"
            return made if made.fill_value is not None else replace(made, fill_value=fill, named=named)
        case Numeric(_, _, None) if made.fill_value is None:
            filled = replace(made.origin, fill=float(fill))
            return replace(made, origin=filled, fill_value=text_of(fill), named=True)
        case CategoryCodes(_, codes, other, missing) if _gaps(made.origin):
            if made.single or isinstance(fill, str):
                why = f"its {of.kind} fills {made.name!r} with what is no number of double precision"
                raise ReleaseError(why, place=of.place)
            by = float(fill)
            full = {value: by if math.isnan(code) else code for value, code in codes.items()}
            rest = [by if number is not None and math.isnan(number) else number for number in (other, missing)]
            codes = codes if isinstance(codes, OneHot) else full
            return replace(made, origin=replace(made.origin, codes=codes, otherwise=rest[0], missing=rest[1]))
    return made


def _gaps(origin: CategoryCodes) -> bool:
    """Is any value's number NaN? Those of one group against others never are."""
    numbers = [number for number in (origin.otherwise, origin.missing) if number is not None]
    rest = () if isinstance(origin.codes, OneHot) else origin.codes.values()
    return any(map(math.isnan, (*numbers, *rest)))


def _indicator(step: ObjectView, given: Sequence[PipelineFeature]) -> list[PipelineFeature]:
    _check_gaps(step)
    return _indicators(step, given, ())


def _indicators(
    indicator: ObjectView, given: Sequence[PipelineFeature], beside: Sequence[PipelineFeature]
) -> list[PipelineFeature]:
    """A feature for each column whose gaps are shown; sparse beside sparse ones."""
    sparse = indicator.get("sparse") is True or any(one.sparse for one in beside)
    chosen = [given[i] for i in indicator.array("features_").astype(int)]
    return [PipelineFeature(f"missing {one.name}", _gap(one), sparse=sparse) for one in chosen]


def _gap(made: PipelineFeature) -> Origin:
    """1 where the feature is NaN, else 0."""
    match made.origin:
        case Numeric(column, _, fill):
            return MissingIndicator(column, 0.0, float(fill is None and made.fill_value is None))
        case MissingIndicator(column):
            return MissingIndicator(column, 0.0, 0.0)
        case CategoryCodes(column, OneHot(groups, group, chosen), other, missing):
            rest = [None if number is None else float(math.isnan(number)) for number in (other, missing)]
            return CategoryCodes(column, OneHot(groups, group, chosen, 0.0, 0.0), rest[0], rest[1])
        case CategoryCodes(column, codes, other, missing):
            rest = [None if number is None else float(math.isnan(number)) for number in (other, missing)]
            return CategoryCodes(
                column, {value: float(math.isnan(code)) for value, code in codes.items()}, rest[0], rest[1]
            )
    return made.origin


GAPS: Mapping[str, Transform] = {"SimpleImputer": _imputer, "MissingIndicator": _indicator}
