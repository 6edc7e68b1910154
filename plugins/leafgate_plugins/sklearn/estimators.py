"""Fitted scikit-learn models, in memory or from a file, as neutral trees."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from leafgate.api import ReleaseError
from leafgate.bounded.objects import as_tuple, with_attributes
from leafgate.ir.features import distinct_names
from leafgate.ir.model import LEARNER_SETTINGS, LISTED_SETTINGS
from leafgate.readers import LeafValueKind, LearnerSetting, ModelIR, Numeric, ObjectView, view_object
from leafgate_plugins.sklearn import trees
from leafgate_plugins.sklearn.adaboost import adaboost_classifier, bagging_of_classifiers
from leafgate_plugins.sklearn.bagging import UNKNOWN_RATE, isolation_forest, of_unknown_rows
from leafgate_plugins.sklearn.calibration import CALIBRATED, calibrated_classifier
from leafgate_plugins.sklearn.disclosures import SEARCHES, disclosures
from leafgate_plugins.sklearn.feature import UNKNOWN_CLASS, PipelineFeature, is_sampler, raw
from leafgate_plugins.sklearn.hist_boosting import hist_classifier, hist_regressor
from leafgate_plugins.sklearn.nearest_models import FOREIGN, NEAREST_MODELS
from leafgate_plugins.sklearn.pipeline import transformed
from leafgate_plugins.sklearn.training import learner_of
from leafgate_plugins.sklearn.unread import category_lists, names_in, number_lists, scales_twice, unread_content
from leafgate_plugins.sklearn.voting import MEANS_OF_TREES, voting_classifier, voting_regressor

MAX_STEPS = 1_000
"""So many steps are asked which columns they were given."""


ENSEMBLE_SETTINGS = frozenset({"bootstrap", "n_estimators", "max_samples"})
"""The settings of bagging that mean the same as those of a forest; its `max_features` is another one."""


def model_of(thing: Any, format: str, version: str, place: str, output: int | None = None) -> ModelIR:
    """The neutral model of a fitted estimator or pipeline; ReleaseError names what cannot be expressed.

    Args:
        thing: the estimator or pipeline.
        format: what reports call its format.
        version: of scikit-learn, where the estimator has none.
        place: what errors call it.
        output: of a model that predicts several columns, which one of them, from 0.
    """
    if not isinstance(thing, ObjectView):
        raise ReleaseError("holds no estimator", place=place)
    estimator, outputs = _estimator(thing, place, output)
    version = str(thing.get("_sklearn_version", version))
    read = READERS[estimator.kind](estimator)
    is_resampled = estimator.kind in RESAMPLING or _has_samplers(thing)
    read = resampled(read) if is_resampled else read
    outputs = _given(read.voters[0][0] if read.voters else estimator, outputs)
    if read.add_features is not None:
        outputs = read.add_features(estimator, outputs)
    named = distinct_names([one.name for one in outputs])
    unread, texts = unread_content(thing, outputs)
    scaled = any(isinstance(one.origin, Numeric) and one.origin.steps for one in outputs)
    of_columns = not scales_twice(thing) and not (scaled and "_bin_mapper" in estimator)
    disclosed = disclosures(thing, estimator, read.trees, read.counted, of_columns=of_columns)
    result = any(one.origin != Numeric(one.name) for one in outputs)
    return ModelIR(
        format=format,
        features=named,
        classes=read.classes,
        trees=read.trees,
        values=_leaf_values(read),
        combine=read.combine,
        base=read.base,
        counted=read.counted,
        discloses=tuple(dict.fromkeys((*disclosed, *unread))),
        origins=tuple(one.origin for one in outputs) if result else None,
        producer=f"scikit-learn {version}, {estimator.kind}".replace("  ", " "),
        settings=_settings(estimator, read) | ({"class_weight": True} if is_resampled else {}),
        category_lists=(*category_lists(thing), *number_lists(thing, outputs)),
        texts=texts,
        other_names=names_in(thing),
        sampling=read.sampling,
        link="other" if read.combine == "boost" and estimator.get("loss") == "exponential" else "softmax",
        calibrated_sums=read.calibrated_sums,
        learner=learner_of(estimator) if read.member is None and not read.voters and not is_resampled else None,
    )


def _leaf_values(read: trees.EstimatorIR) -> LeafValueKind:
    """What the leaves of its trees say."""
    if not read.classes:
        return "values"
    if read.combine == "boost":
        return "scores"
    return "labels" if trees.says_labels(read.trees) else "shares"


def settings_of(estimator: ObjectView) -> dict[str, LearnerSetting]:
    """The settings of the learner that are plain values, and True for those that are set to a list or a table."""
    found = {name: estimator.get(name) for name in LEARNER_SETTINGS if name in estimator}
    plain = {name: value for name, value in found.items() if isinstance(value, str | int | float | None)}
    return plain | {name: True for name in found if name in LISTED_SETTINGS and name not in plain}


def _settings(estimator: ObjectView, read: trees.EstimatorIR) -> dict[str, LearnerSetting]:
    """The settings of a learner; of an ensemble that keeps those of its trees in them, both.

    Where it is not known how such an ensemble weighed and drew its rows, `class_weight` does not say it either: then
    nothing may follow from a class that a leaf does not count.
    """
    unknown: dict[str, LearnerSetting] = {"class_weight": True} if read.counted == "unknown" else {}
    if read.voters:
        return _settings_in_common([_settings(voter, of_voter) for voter, of_voter in read.voters]) | unknown
    if read.member is None:
        return settings_of(estimator)
    own = {name: value for name, value in settings_of(estimator).items() if name in ENSEMBLE_SETTINGS}
    return settings_of(read.member) | own | unknown


def _settings_in_common(of_voters: Sequence[Mapping[str, LearnerSetting]]) -> dict[str, LearnerSetting]:
    """The settings that all voters have alike; monotonic constraints of any of them hold for the whole."""
    first, *others = of_voters
    common = {
        name: value
        for name, value in first.items()
        if name != "n_estimators" and all(name in each and each[name] == value for each in others)
    }
    constrained = any(each.get("monotonic_cst") is not None for each in of_voters)
    return common | ({"monotonic_cst": True} if constrained else {})


def _estimator(thing: ObjectView, place: str, output: int | None) -> tuple[ObjectView, list[PipelineFeature] | None]:
    """The estimator at the end of pipelines, and the features made for it; ReleaseError if it is not read."""
    last = output_of(last_estimator(thing, place), output)
    if last.kind not in READERS:
        searched = "save its `best_estimator_` alone; " if "best_estimator_" in last else ""
        readable = f"of scikit-learn these can be read: {', '.join(READERS)}"
        remedy = f"{searched}{FOREIGN.get(last.kind) or NEAREST_MODELS.get(last.kind, readable)}"
        kind = f"a {UNKNOWN_CLASS}" if last.kind == UNKNOWN_CLASS else f"the class {last.kind}"
        what = f"holds a model of {kind}, and not a decision tree or a forest that leafgate reads"
        raise ReleaseError(what, place=place, remedy=remedy)
    return last, end_of_pipelines(thing, place)[1]


def end_of_pipelines(thing: ObjectView, place: str) -> tuple[ObjectView, list[PipelineFeature] | None]:
    """The estimator at the end of pipelines and searches, and the features that those make for it; None if it is alone.

    Raises:
        ReleaseError: a pipeline ends without an estimator, or makes features that cannot be expressed in columns.
    """
    outputs = None
    while thing.kind == "Pipeline" or thing.kind in SEARCHES:
        outputs = features_before(thing, place, outputs) if thing.kind == "Pipeline" else outputs
        thing = _inner(thing, place)
    return thing, outputs


def last_estimator(thing: ObjectView, place: str) -> ObjectView:
    """The estimator at the end of pipelines and searches; their other steps are not looked at."""
    while thing.kind == "Pipeline" or thing.kind in SEARCHES:
        thing = _inner(thing, place)
    return thing


def _inner(thing: ObjectView, place: str) -> ObjectView:
    """The best estimator of a search, or the last step of a pipeline."""
    if thing.kind in SEARCHES:
        return best_estimator(thing)
    steps = thing.many("steps")
    last = steps[-1] if steps else None
    if not isinstance(last, tuple) or len(last) != 2 or not isinstance(last[1], ObjectView):
        raise ReleaseError("its pipeline ends without an estimator", place=place)
    return last[1]


def _has_samplers(thing: ObjectView) -> bool:
    """Does a pipeline before the estimator change the rows that it is fitted on?"""
    while thing.kind == "Pipeline" or thing.kind in SEARCHES:
        steps = thing.many("steps") if thing.kind == "Pipeline" else ()
        if any(is_sampler(step[1]) for step in steps if isinstance(step, tuple) and len(step) == 2):
            return True
        thing = _inner(thing, thing.place)
    return False


def features_before(
    pipeline: ObjectView, place: str, given: Sequence[PipelineFeature] | None = None
) -> list[PipelineFeature]:
    """What the steps of a pipeline make for its last one, of the features `given`, or of the columns of a table."""
    outputs = list(given) if given is not None else _given(_first(pipeline), None)
    for named in pipeline.many("steps")[:-1]:
        outputs = outputs if is_sampler(named[1]) else transformed(named[1], outputs, place)
    return outputs


def best_estimator(search: ObjectView) -> ObjectView:
    """The estimator that a search over settings fitted last, with the best ones; ReleaseError where it kept none."""
    best = search.get("best_estimator_")
    if not isinstance(best, ObjectView):
        remedy = "fit it with `refit=True`, or save a model that was fitted with its `best_params_`"
        raise ReleaseError(f"is a {search.kind} without a `best_estimator_`", place=search.place, remedy=remedy)
    return best


def _first(pipeline: ObjectView) -> ObjectView:
    """The first fitted step that states which columns it was given; a union's parts are all given the same."""
    waiting = [pipeline]
    for _ in range(MAX_STEPS):
        if not waiting:
            break
        here = waiting.pop(0)
        if "n_features_in_" in here:
            return here
        inner = {"Pipeline": "steps", "FeatureUnion": "transformer_list"}.get(here.kind)
        steps = here.many(inner) if inner is not None else ()
        waiting = [named[1] for named in steps if isinstance(named[1], ObjectView)] + waiting
    raise ReleaseError("its pipeline says not which columns it was given: was it fitted?", place=pipeline.place)


def _given(step: ObjectView, outputs: list[PipelineFeature] | None) -> list[PipelineFeature]:
    """The columns a step was fitted on, by the names it kept or by their numbers."""
    if outputs is not None:
        return outputs
    names = step.get("feature_names_in_")
    if names is not None:
        return raw([str(name) for name in as_tuple(names, step, "feature_names_in_")])
    width = step["n_features_in_"]
    if not isinstance(width, int) or not 0 < width < 10**6:
        raise ReleaseError("`n_features_in_` must be a number of features", place=step.place)
    return raw([f"x{i}" for i in range(width)])


def resampled(read: trees.EstimatorIR) -> trees.EstimatorIR:
    """What an estimator comes to whose trees learned from rows that a sampler chose or made."""
    return replace(read, trees=tuple(map(of_unknown_rows, read.trees)), counted="unknown", sampling=UNKNOWN_RATE)


def _resampled_by(reader: Callable[[ObjectView], trees.EstimatorIR]) -> Callable[[ObjectView], trees.EstimatorIR]:
    return lambda estimator: resampled(reader(estimator))


RESAMPLING: Mapping[str, Callable[[ObjectView], trees.EstimatorIR]] = {
    "BalancedRandomForestClassifier": _resampled_by(trees.forest_classifier),
    "BalancedBaggingClassifier": _resampled_by(bagging_of_classifiers),
    "EasyEnsembleClassifier": _resampled_by(bagging_of_classifiers),
    "RUSBoostClassifier": _resampled_by(adaboost_classifier),
}
"""imbalanced-learn's ensembles, whose answer is that of scikit-learn's with the same trees.

Samplers do nothing when a model predicts. Which rows a tree learned from nobody knows, and some may be made up, so that
the numbers on its nodes count no people of the table.

Source: imbalanced-learn 0.14, `imblearn.ensemble` and `imblearn.pipeline`.
"""


READERS: Mapping[str, Callable[[ObjectView], trees.EstimatorIR]] = {
    **MEANS_OF_TREES,
    **RESAMPLING,
    "GradientBoostingClassifier": trees.boosting_classifier,
    "GradientBoostingRegressor": trees.boosting_regressor,
    "HistGradientBoostingClassifier": hist_classifier,
    "HistGradientBoostingRegressor": hist_regressor,
    "AdaBoostClassifier": adaboost_classifier,
    "BaggingClassifier": bagging_of_classifiers,
    "IsolationForest": isolation_forest,
    CALIBRATED: calibrated_classifier,
    "VotingClassifier": voting_classifier,
    "VotingRegressor": voting_regressor,
}


def from_sklearn(model: Any) -> ModelIR:
    """The neutral trees of a fitted scikit-learn estimator or pipeline, as its file would give them.

    Its attributes are read, no method of it is called; of a search over settings its `best_estimator_` is read.
    Raises ReleaseError for what is no tree and no forest, and for features computed in ways that cannot be expressed in
    columns; it names them.
    """
    version = getattr(sys.modules.get("sklearn"), "__version__", "")
    viewed = view_object(model)
    if isinstance(viewed, ObjectView) and viewed.kind in SEARCHES:
        viewed = best_estimator(viewed)
    return model_of(viewed, "scikit-learn in memory", str(version), "model")


ESTIMATOR_PER_OUTPUT = ("MultiOutputClassifier", "MultiOutputRegressor")
"""The classes that fit an estimator for each output."""

EACH_BY_ITSELF = "write each as a file of its own, by `leafgate convert MODEL NEW.json --output 0` and so on"


def output_of(estimator: ObjectView, output: int | None) -> ObjectView:
    """The estimator of one of the columns that an estimator predicts; the estimator itself where it predicts one.

    Args:
        estimator: fitted.
        output: the number of the column, from 0; None where none is chosen.

    Raises:
        ReleaseError: it predicts several columns and none is chosen, or no column has this number.
    """
    is_list = estimator.kind in ESTIMATOR_PER_OUTPUT
    number = len(estimator.many("estimators_")) if is_list else estimator.get("n_outputs_", 1)
    if output is None and number == 1 and not is_list:
        return estimator
    if output is None:
        raise ReleaseError(f"predicts {number} columns at once", place=estimator.place, remedy=EACH_BY_ITSELF)
    if not isinstance(number, int) or output >= number:
        raise ReleaseError(f"has no output {output}: it predicts {number} column(s)", place=estimator.place)
    if is_list:
        return _member(estimator.many("estimators_")[output], estimator)
    return estimator if number == 1 else _alone(estimator, output)


def _alone(estimator: ObjectView, output: int) -> ObjectView:
    """A tree or a forest with the classes and the leaves' values of one output."""
    changes: dict[str, Any] = {"n_outputs_": 1}
    width = 1
    if "classes_" in estimator:
        changes["classes_"] = estimator.many("classes_")[output]
        width = len(as_tuple(changes["classes_"], estimator, "classes_"))
    if "estimators_" in estimator:
        members = (_member(each, estimator) for each in estimator.many("estimators_"))
        changes["estimators_"] = tuple(_alone(each, output) for each in members)
    if "tree_" in estimator:
        tree = _member(estimator["tree_"], estimator)
        values = tree.array("values")
        if values.ndim != 3 or values.shape[1] <= output:
            raise ReleaseError("its tree's `values` are not those of each output", place=tree.place)
        changes["tree_"] = with_attributes(tree, values=values[:, output : output + 1, :width])
    return with_attributes(estimator, **changes)


def _member(thing: Any, estimator: ObjectView) -> ObjectView:
    if not isinstance(thing, ObjectView):
        raise ReleaseError(f"its {estimator.kind} holds something that is no estimator", place=estimator.place)
    return thing
