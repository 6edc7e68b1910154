"""Pipelines of scikit-learn that end in an estimator of another library: their model, and the file that is audited.

The other library's reader reads the estimator; here its features are traced back to the columns of the table.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from leafgate.api import (
    FileDisclosure,
    ModelIR,
    ObjectView,
    ReleaseError,
    distinct_names,
    view_object,
    with_zero_missing,
)
from leafgate.app import load_plugins, model_as_file, object_as_file, read_foreign
from leafgate_sklearn.disclosures import kept_by
from leafgate_sklearn.estimators import features_before

PLACE = "model"
NAME = "model.json"

ZERO_IS_ABSENT = frozenset({"xgboost"})
"""Readers of libraries that take the absent entries of a sparse matrix, which are its zeros, for missing."""


def pipeline_file(pipeline: Any) -> tuple[str, bytes] | None:
    """The name and the bytes of the neutral file of a fitted pipeline; None where nobody reads its last step.

    Raises:
        ReleaseError: the last step or a step before it cannot be read.
    """
    readers = load_plugins().readers
    written = object_as_file(pipeline.steps[-1][1], readers)
    if written is None:
        return None
    name, content = written
    model = with_pipeline(view_object(pipeline), read_foreign(content, name, readers))
    return NAME, model_as_file(model, content, NAME, readers)


def with_pipeline(pipeline: ObjectView, model: ModelIR) -> ModelIR:
    """The model of a pipeline's last step, as one of the columns that the pipeline is given.

    Args:
        pipeline: the fitted pipeline.
        model: the model of its last step, as the other library's reader gives it.
    """
    features = features_before(pipeline, PLACE)
    if len(features) != len(model.features):
        what = f"its last step is for {len(model.features)} features, and gets {len(features)}"
        raise ReleaseError(what, place=PLACE, remedy="fit the whole pipeline")
    if any(model.origins or ()) or any(tree.subsets for tree in model.trees):
        raise ReleaseError(
            "its last step takes categories as such, after other steps",
            place=PLACE,
            remedy="encode them by a step of the pipeline, or fit the last step alone on the columns",
        )
    origins = tuple(feature.origin for feature in features)
    if model.format in ZERO_IS_ABSENT and all(feature.sparse for feature in features):
        origins = tuple(map(with_zero_missing, origins))
    return replace(
        model,
        features=distinct_names([feature.name for feature in features]),
        origins=origins,
        discloses=tuple(dict.fromkeys((*_kept_in_neutral_file(model), *kept_by(pipeline)))),
        category_lists=(),
        hessians=None,
        learner=None,
    )


def _kept_in_neutral_file(model: ModelIR) -> list[FileDisclosure]:
    """What the neutral file discloses, too: numbers of people on nodes."""
    return [item for item in model.discloses if item.level is not None]
