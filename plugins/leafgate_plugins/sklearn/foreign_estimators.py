"""Estimators of XGBoost and LightGBM, alone in skops files and at the end of pipelines, also in memory.

The other library's reader reads the estimator; here its features are traced back to the columns of the table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from leafgate.api import FileDisclosure, ReleaseError
from leafgate.app import load_plugins
from leafgate.bounded.objects import as_tuple
from leafgate.ir.features import distinct_names, with_zero_missing
from leafgate.models.reader import read_foreign
from leafgate.models.writer import model_as_file, object_as_file
from leafgate.readers import CategoryList, ModelIR, ModelReader, Numeric, ObjectView, parse_bounded_json, view_object
from leafgate_plugins.sklearn.disclosures import kept_by
from leafgate_plugins.sklearn.estimators import end_of_pipelines, features_before, last_estimator
from leafgate_plugins.sklearn.feature import PipelineFeature, text_of
from leafgate_plugins.sklearn.nearest_models import FOREIGN
from leafgate_plugins.sklearn.unread import names_in, unread_content

PLACE = "model"
NAME = "model.json"
BOOSTER = "_Booster"
HANDLES = ("handle", "_handle")
"""Where a Booster holds its model: XGBoost as bytes, LightGBM as its text file."""

CATEGORIES_LINE = "\npandas_categorical:"

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
    """The model of a pipeline's last step, as one of the columns that the pipeline is given, for its neutral file.

    Args:
        pipeline: the fitted pipeline.
        model: the model of its last step, as the other library's reader gives it.
    """
    return replace(
        _of_columns(model, features_before(pipeline, PLACE), PLACE),
        discloses=tuple(dict.fromkeys((*_kept_in_neutral_file(model), *kept_by(pipeline)))),
        category_lists=(),
        hessians=None,
        learner=None,
    )


def _of_columns(model: ModelIR, features: Sequence[PipelineFeature], place: str) -> ModelIR:
    """The model of an estimator as one of the columns from which a pipeline makes its features."""
    if len(features) != len(model.features):
        what = f"its last step is for {len(model.features)} features, and gets {len(features)}"
        raise ReleaseError(what, place=place, remedy="fit the whole pipeline")
    if any(model.origins or ()) or any(tree.subsets for tree in model.trees):
        raise ReleaseError(
            "its last step takes categories as such, after other steps",
            place=place,
            remedy="encode them by a step of the pipeline, or fit the last step alone on the columns",
        )
    origins = tuple(feature.origin for feature in features)
    if model.format in ZERO_IS_ABSENT and all(feature.sparse for feature in features):
        origins = tuple(map(with_zero_missing, origins))
    return replace(model, features=distinct_names([feature.name for feature in features]), origins=origins)


def foreign_model(whole: ObjectView, place: str) -> ModelIR | None:
    """The model in a skops file whose estimator is one of XGBoost or LightGBM; None for any other.

    Args:
        whole: the estimator, or the pipeline or search that it is in.
        place: what errors call the file.
    """
    if last_estimator(whole, place).kind not in FOREIGN:
        return None
    estimator, outputs = end_of_pipelines(whole, place)
    read = read_foreign(_booster_file(estimator, place), place, _readers_of(_handle(_booster(estimator, place), place)))
    model = read if outputs is None else _of_columns(read, outputs, place)
    ranges, disclosed = read.category_lists, read.discloses
    if outputs is not None:
        ranges, disclosed = _ranges_of_columns(read, model.features, outputs)
    unread, texts = unread_content(whole, outputs or ())
    return replace(
        model,
        format="skops",
        classes=_classes(estimator, read.classes, place),
        discloses=tuple(dict.fromkeys((*disclosed, *kept_by(whole), *unread))),
        category_lists=ranges,
        texts=read.texts | texts,
        other_names=names_in(whole),
        producer=f"{read.producer}, {estimator.kind}",
    )


def _readers_of(content: bytes | str) -> list[ModelReader]:
    """The reader of a Booster's model, by how its library holds it; no other, so that no file is read within itself."""
    name = "lightgbm" if isinstance(content, str) else "xgboost"
    return [reader for reader in load_plugins().readers if reader.name == name]


def model_content(whole: ObjectView, place: str) -> bytes | str | None:
    """The model of another library as a skops file holds it, bytes or a text; None where there is none."""
    estimator = last_estimator(whole, place)
    return _handle(_booster(estimator, place), place) if estimator.kind in FOREIGN else None


def _booster(estimator: ObjectView, place: str) -> ObjectView:
    booster = estimator if estimator.kind == "Booster" else estimator.get(BOOSTER)
    if not isinstance(booster, ObjectView):
        raise ReleaseError(f"its {estimator.kind} has no Booster: was it fitted?", place=place)
    return booster


def _handle(booster: ObjectView, place: str) -> bytes | str:
    """The model that a Booster holds, as XGBoost's bytes or LightGBM's text."""
    found = [value for name in HANDLES if isinstance(value := booster.get(name), bytes | str)]
    if len(found) != 1:
        raise ReleaseError("its Booster holds no model, or several", place=place, remedy=FOREIGN[booster.kind])
    return found[0]


def _booster_file(estimator: ObjectView, place: str) -> bytes:
    """The model of an estimator as a file of its library; ReleaseError where the estimator predicts something else."""
    booster = _booster(estimator, place)
    content = _handle(booster, place)
    if not isinstance(estimator.get("objective"), str | None):
        raise ReleaseError(
            f"is a {estimator.kind} whose `objective` is a function, so that it is not known what it predicts",
            place=place,
            remedy="fit it with an objective of its library",
        )
    if isinstance(content, bytes):
        if estimator.get("objective") == "binary:logitraw" and estimator.kind.endswith("Classifier"):
            raise ReleaseError(
                f"is a {estimator.kind} of binary:logitraw, which takes sums above 0.5 for its second class",
                place=place,
                remedy='fit it with `objective="binary:logistic"`',
            )
        missing = estimator.get("missing")
        if missing is not None and not (isinstance(missing, float) and math.isnan(missing)):
            raise ReleaseError(
                "takes a number for missing (`missing`), which is not read",
                place=place,
                remedy="fit it on a table with these cells missing",
            )
        return content
    _refuse_other_rounds(booster, content, place)
    last = content.rstrip().rpartition(CATEGORIES_LINE)[2] if CATEGORIES_LINE in content else "null"
    of_text, of_booster = parse_bounded_json(last.encode(), place, with_nan=True), booster.get("pandas_categorical")
    if repr(_listed(of_text or [])) != repr(_listed(of_booster or ())):
        raise ReleaseError("its Booster has other categories than the text of its model", place=place)
    return content.encode()


def _listed(values: Any) -> Any:
    return [_listed(each) for each in values] if isinstance(values, list | tuple) else values


def _refuse_other_rounds(booster: ObjectView, content: str, place: str) -> None:
    """ReleaseError where a Booster of LightGBM predicts with some of its trees alone."""
    best, trees = booster.get("best_iteration"), content.count("\nTree=")
    found = [line for line in content.split("\n", 12) if line.startswith("num_tree_per_iteration=")]
    each = found[0].partition("=")[2] if found else "1"
    if not isinstance(best, int) or best <= 0 or not each.isdigit() or best * int(each) == trees:
        return
    raise ReleaseError(
        "was stopped early (`best_iteration`), and holds trees with which it does not predict",
        place=place,
        remedy="save the model by `booster_.save_model('model.txt')`, which writes those that predict, and audit that",
    )


def _classes(estimator: ObjectView, numbers: tuple[str, ...], place: str) -> tuple[str, ...]:
    """The classes by their names, which a classifier of LightGBM holds; else by their numbers."""
    names = estimator.get("_classes")
    if not numbers or names is None:
        return numbers
    classes = tuple(map(text_of, as_tuple(names, estimator, "_classes")))
    if len(classes) != len(numbers):
        raise ReleaseError(f"has {len(classes)} classes, and its Booster has {len(numbers)}", place=place)
    return classes


def _ranges_of_columns(
    read: ModelIR, names: Sequence[str], outputs: Sequence[PipelineFeature]
) -> tuple[tuple[CategoryList, ...], tuple[FileDisclosure, ...]]:
    """The smallest and largest numbers of features as those of columns, and what the file discloses.

    The numbers of a scaled feature are those of no column, and cannot be compared with the table: `high`.
    """
    ranges = {one.column: one for one in read.category_lists}
    found, scaled = [], False
    for inner, outer, feature in zip(read.features, names, outputs, strict=True):
        if inner in ranges and isinstance(feature.origin, Numeric):
            scaled |= bool(feature.origin.steps)
            found += [] if feature.origin.steps else [replace(ranges[inner], column=outer)]
    severe = (replace(one, severity="high") if scaled and one.kind == "ranges" else one for one in read.discloses)
    return tuple(found), tuple(severe)


def _kept_in_neutral_file(model: ModelIR) -> list[FileDisclosure]:
    """What the neutral file discloses, too: numbers of people on nodes."""
    return [item for item in model.discloses if item.level is not None]
