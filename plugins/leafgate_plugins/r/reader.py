"""The model in a file of R's, by the class of its object, with what the file discloses besides."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from leafgate.readers import CategoryCodes, ModelIR
from leafgate_plugins.r import forests, rpart
from leafgate_plugins.r.contents import contents_of
from leafgate_plugins.r.features import Features, of_terms
from leafgate_plugins.r.serialisation import RObject, parse_r
from leafgate_plugins.r.vectors import Place, is_null

READ = "rpart, ranger, randomForest, and caret's `train` around one of these"


def _rpart(fit: RObject, place: Place) -> ModelIR:
    return rpart.read(fit, of_terms(fit, place), place)


CARET = " of caret"
"""What the producer of a model ends in that caret's `train` fitted."""


MODELS: Mapping[str, Callable[[RObject, Place], ModelIR]] = {
    "rpart": _rpart,
    "ranger": forests.read_ranger,
    "randomForest": forests.read_forest,
}
"""What reads an object, by its class."""


def read(content: bytes, place: str) -> ModelIR:
    """The model in a file of `saveRDS` or `save`; ReleaseError says why there is none."""
    whole, here = parse_r(content, place), Place(place)
    fit = _final_model(whole, here) if "train" in whole.classes else whole
    kind = next((each for each in fit.classes if each in MODELS), None)
    if kind is None:
        known = ", ".join(sorted({*fit.classes} & REFUSED))
        what = f"holds an object of the class {known}" if known else "holds an object of another class"
        raise here.refuse(f"{what}; read are {READ}", "see docs/how-to/models-of-r.md")
    model = MODELS[kind](fit, here)
    if fit is not whole:
        model = _as_trained_by_caret(model, whole, here)
    contents = contents_of(whole, kind, model, here)
    return replace(model, producer=f"R {kind}" if fit is whole else f"R {kind}{CARET}", **contents)


REFUSED_WORDS = """
    gbm constparty party BinaryTree RandomForest cforest rfsrc lm glm glmnet xgb.Booster lgb.Booster survfit coxph
    data.frame list numeric function C5.0 J48 Weka_classifier model_fit workflow bagging boosting ksvm svm nnet tree
"""
REFUSED = frozenset(REFUSED_WORDS.split())
"""Classes whose names errors print; other names may be anybody's."""


def _final_model(train: RObject, place: Place) -> RObject:
    """The model that caret's `train` fitted at last; ReleaseError where cells are changed before they come to it."""
    if not is_null(train.get("preProcess")):
        raise place.refuse("is a model of caret's with preprocessing, which is not read", "fit it without `preProcess`")
    found = train.get("finalModel")
    if found is None:
        raise place.refuse("is a model of caret's without its final model")
    return found


def _as_trained_by_caret(model: ModelIR, train: RObject, place: Place) -> ModelIR:
    """The model with the columns of which caret made its features: with a formula, one for each level but the first."""
    terms, levels = train.get("terms"), train.get("xlevels")
    dummies = Features(list(model.features))
    if terms is not None and levels is not None and levels.elements:
        contrasts = train.get("contrasts")
        kinds = {} if contrasts is None else contrasts.elements
        made: dict[str, CategoryCodes] = {}
        for name, each in levels.elements.items():
            of_column = place.texts(each, "xlevels")
            kind = kinds.get(name)
            if kind is None or not isinstance(kind.value, list) or kind.value[:1] != ["contr.treatment"]:
                raise place.refuse("has a factor that caret turned into numbers in another way than `contr.treatment`")
            for level in of_column[1:]:
                codes = {other: float(other == level) for other in of_column}
                made[f"{name}{level}"] = CategoryCodes(name, codes, None)
        dummies = replace(dummies, dummies=made)
    origins = tuple(new or old for new, old in zip(dummies.origins, model.given_origins, strict=True))
    return replace(model, origins=origins, unspecified_missing=model.unspecified_missing or forests.NOBODY)


def witness_lines(model: ModelIR, file: str, table: str) -> tuple[str, ...]:
    """Three lines of R that write a model's own answers for the rows of a table, and what they are for."""
    kind = model.producer.removeprefix("R ").partition(" ")[0]
    votes = kind == "randomForest" and model.combine == "vote"
    of_caret = model.producer.endswith(CARET)
    has_scores = bool(model.classes) and (model.values == "shares" or votes)
    asked = "predict(model, people)"
    if has_scores and (votes or of_caret):
        asked = 'predict(model, people, type = "prob")'
    elif kind == "rpart" and model.classes and not has_scores and not of_caret:
        asked = 'predict(model, people, type = "class")'
    elif kind == "ranger" and not of_caret:
        asked = "predict(model, people)$predictions"
    answers = asked if has_scores else f"data.frame(prediction = {asked})"
    return (
        "a witness shows that the file is read right; in R, then `witness: answers.csv` under `build`:",
        f"  model <- readRDS({_in_r(file)}); people <- read.csv({_in_r(table)}, stringsAsFactors = TRUE)",
        f"  answers <- {answers}",
        '  write.csv(cbind(people, answers), "answers.csv", row.names = FALSE)',
    )


def _in_r(text: str) -> str:
    """A text as R writes it."""
    return json.dumps(text)
