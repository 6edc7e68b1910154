"""What the features of a scikit-learn pipeline are, in terms of the columns it was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from leafgate.api import ReleaseError
from leafgate.bounded.objects import as_tuple
from leafgate.readers import ObjectView, Unresolved
from leafgate_plugins.sklearn.encoders import ENCODERS
from leafgate_plugins.sklearn.feature import UNKNOWN_CLASS, PipelineFeature, Transform
from leafgate_plugins.sklearn.numeric_transformers import GAPS, SCALERS

MAX_FEATURES = 100_000

FUNCTION = "is made by a function, which is not run here"
"""Why a feature that a FunctionTransformer makes is not known."""


def transformed(step: Any, given: Sequence[PipelineFeature], place: str) -> list[PipelineFeature]:
    """What a fitted transformer makes of features; ReleaseError names one that cannot be expressed in columns."""
    if step is None or step == "passthrough":
        return list(given)
    if not isinstance(step, ObjectView) or step.kind not in TRANSFORMS:
        kind = step.kind if isinstance(step, ObjectView) else str(step)[:40]
        whose = f"a transformer of a {UNKNOWN_CLASS}" if kind == UNKNOWN_CLASS else repr(kind)
        remedy = f"of scikit-learn's transformers these can be told in columns: {', '.join(TRANSFORMS)}"
        raise ReleaseError(
            f"its features are made by {whose}, which mixes columns or cannot be read", place=place, remedy=remedy
        )
    width = step.get("n_features_in_")
    if isinstance(width, int) and width != len(given):
        raise ReleaseError(f"its {step.kind} is for {width} features, and gets {len(given)}", place=place)
    step.charge_budget(len(given))
    outputs = TRANSFORMS[step.kind](step, given)
    step.charge_budget(len(outputs))
    return outputs


def _pipeline(step: ObjectView, given: Sequence[PipelineFeature]) -> list[PipelineFeature]:
    outputs = list(given)
    for named in step.many("steps"):
        outputs = transformed(named[1], outputs, step.place)
    return outputs


def _columns(step: ObjectView, given: Sequence[PipelineFeature]) -> list[PipelineFeature]:
    """A ColumnTransformer: each part's features one after another, in the order it keeps them."""
    if step.get("transformer_weights") is not None:
        raise ReleaseError("its ColumnTransformer weighs its parts", place=step.place)
    outputs: list[PipelineFeature] = []
    for part in step.many("transformers_"):
        _, transformer, chosen = part
        columns = [] if transformer == "drop" else [given[i] for i in _chosen(chosen, given, step)]
        outputs += transformed(transformer, columns, step.place) if columns else []  # of no columns it was never fitted
        _refuse_many(outputs, step)
    return [replace(one, sparse=step.get("sparse_output_") is True) for one in outputs]


def _union(step: ObjectView, given: Sequence[PipelineFeature]) -> list[PipelineFeature]:
    if step.get("transformer_weights") is not None:
        raise ReleaseError("its FeatureUnion weighs its parts", place=step.place)
    outputs: list[PipelineFeature] = []
    for _, part in step.many("transformer_list"):
        outputs += [] if part == "drop" else transformed(part, given, step.place)
        _refuse_many(outputs, step)
    sparse = any(one.sparse for one in outputs)
    return [replace(one, sparse=sparse) for one in outputs]


def _refuse_many(outputs: Sequence[PipelineFeature], step: ObjectView) -> None:
    if len(outputs) > MAX_FEATURES:
        raise ReleaseError(f"its {step.kind} makes more than {MAX_FEATURES:,} features", place=step.place)


def _chosen(chosen: Any, given: Sequence[PipelineFeature], step: ObjectView) -> list[int]:
    """The positions of a part's columns: names, numbers, a mask or a slice."""
    if isinstance(chosen, ObjectView) and "data" in chosen:
        chosen = chosen["data"]
    names = {outputs.name: i for i, outputs in reversed(list(enumerate(given)))}
    if isinstance(chosen, slice) and not isinstance(chosen.start, str) and not isinstance(chosen.stop, str):
        return list(range(len(given)))[chosen]
    if isinstance(chosen, slice):
        start = 0 if chosen.start is None else names[chosen.start]
        return list(range(start, len(given) if chosen.stop is None else names[chosen.stop] + 1))
    listed = (chosen,) if isinstance(chosen, str | int) else as_tuple(chosen, step, "transformers_")
    if listed and all(isinstance(one, bool) for one in listed):
        return [i for i, one in enumerate(listed) if one]
    if not all(one in names if isinstance(one, str) else isinstance(one, int) for one in listed):
        raise ReleaseError("its ColumnTransformer names columns that it is not given", place=step.place)
    return [names[one] if isinstance(one, str) else range(len(given))[one] for one in listed]


def _function(step: ObjectView, given: Sequence[PipelineFeature]) -> list[PipelineFeature]:
    if step.get("func") is not None:
        return [replace(outputs, origin=Unresolved(outputs.name, FUNCTION)) for outputs in given]
    return list(given)


TRANSFORMS: Mapping[str, Transform] = {
    "Pipeline": _pipeline,
    "ColumnTransformer": _columns,
    "FeatureUnion": _union,
    "FunctionTransformer": _function,
    **GAPS,
    **SCALERS,
    **ENCODERS,
}
