"""A feature on its way through a scikit-learn pipeline."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from leafgate.readers import Numeric, ObjectView, Origin

UNKNOWN_CLASS = "class unknown to leafgate"
"""The kind of an object whose class has a name that may be forged, so that no message repeats it."""


@dataclass(frozen=True)
class PipelineFeature:
    """A feature's name, its origin, a missing text's stand-in, and how its numbers are kept on the way.

    `named`: the stand-in is one that somebody named, which need not be a value of the column.
    `sparse` numbers are multiplied where others are divided; `single` ones are of less than double precision.
    """

    name: str
    origin: Origin
    fill_value: str | None = None
    sparse: bool = False
    single: bool = False
    named: bool = False


Transform = Callable[[ObjectView, Sequence[PipelineFeature]], list[PipelineFeature]]


SAMPLERS = frozenset(
    {
        *("ADASYN", "BorderlineSMOTE", "KMeansSMOTE", "RandomOverSampler", "SMOTE", "SMOTEN", "SMOTENC", "SVMSMOTE"),
        *("AllKNN", "ClusterCentroids", "CondensedNearestNeighbour", "EditedNearestNeighbours", "NearMiss"),
        *("InstanceHardnessThreshold", "NeighbourhoodCleaningRule", "OneSidedSelection", "RandomUnderSampler"),
        *("RepeatedEditedNearestNeighbours", "TomekLinks", "SMOTEENN", "SMOTETomek", "FunctionSampler"),
    }
)
"""Steps of imbalanced-learn's pipelines that change rows when a model is fitted, and do nothing when it predicts."""


def is_sampler(step: Any) -> bool:
    """Is it a step that chooses or makes rows, and leaves features as they are?"""
    return isinstance(step, ObjectView) and step.kind in SAMPLERS


def raw(names: Sequence[str]) -> list[PipelineFeature]:
    """The columns as they are given."""
    return [PipelineFeature(name, Numeric(name)) for name in names]


def is_missing(cell: Any) -> bool:
    """Is it None, NaN or pandas' NA?"""
    return cell is None or is_na(cell) or (isinstance(cell, float) and math.isnan(cell))


def is_na(cell: Any) -> bool:
    return isinstance(cell, ObjectView) and cell.kind == "NAType"


def text_of(value: Any) -> str:
    """A category as a policy spells it: whole numbers without a point."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
