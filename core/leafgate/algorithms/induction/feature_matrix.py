"""Tables as matrices of features, as the estimators of other libraries are fitted on them and asked about them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.algorithms.sampling import record_hashes
from leafgate.errors import InconclusiveError
from leafgate.kernel.release import FeatureEncoding, Learner
from leafgate.kernel.schema import Column, Schema
from leafgate.kernel.table import Table
from leafgate.lazy_loading import install_command

FeatureMatrix = NDArray[np.floating[Any]]

Precision = type[np.float32] | type[np.float64]


@dataclass(frozen=True)
class TrainingData:
    """What an estimator is fitted on: a row for each person.

    Attributes:
        features: shape (n_people, n_features).
        target: shape (n_people,), whole numbers from 0 to n - 1, where n classes have people; of a regressor numbers.
        positions: shape (n,), the position of each of these classes in the class's domain; empty where it is not asked.
        native: shape (n_features,), whether a feature has the codes of categories that the library itself tells apart.
    """

    features: FeatureMatrix
    target: NDArray[Any]
    positions: NDArray[np.int64]
    native: NDArray[np.bool_]


def plain_data(features: FeatureMatrix, target: NDArray[Any]) -> TrainingData:
    """Numbers with the classes of people or what a regressor learns; no feature has the codes of categories."""
    return TrainingData(features, target, np.arange(0), np.zeros(features.shape[1], dtype=np.bool_))


Scores = Callable[[FeatureMatrix], NDArray[np.float64]]
"""The score of each class with people, shape (n_rows, n), for rows of features."""


def probabilities_of(classifier: Any) -> Scores:
    """What a fitted classifier with `predict_proba` answers, in double precision."""

    def scores(features: FeatureMatrix) -> NDArray[np.float64]:
        return np.asarray(classifier.predict_proba(features), dtype=np.float64)

    return scores


def fit_and_score(
    learner: Learner,
    own: Table,
    asked: Table,
    fit: Callable[[TrainingData], Scores],
    precision: Precision = np.float32,
) -> NDArray[np.float64]:
    """Fit an estimator on people and return the score that it gives each class.

    Each person is one row, so that an estimator that draws rows draws people. The order of rows and of features follows
    from cells and names, not from the order in which tables have rows, and policies columns and values.

    Args:
        learner: its `encoding` says how columns become features; empty: numbers as they are, categories one-hot, every
            column that a tree may ask about.
        own: the people to fit it on; those without a class are left out. A class that nobody has gets 0.
        asked: the rows to be scored.
        fit: fits the estimator; it is not asked where all people have one class.
        precision: the type of the features.

    Returns:
        Shape (n_rows of asked, n_classes), in the order of the class's domain; rows sum to 1.

    Raises:
        InconclusiveError: the learner has unknown parameters, nobody of `own` has a class, or the encoding does not fit
            the columns.
    """
    if learner.unknown:
        remedy = (
            f"name `estimator: {learner.estimator}` and its `parameters`; those left out have their defaults, and the "
            f"file does not hold {', '.join(learner.unknown)}"
        )
        name = learner.estimator.rpartition(".")[2]
        why = f"the model's file does not hold all parameters of its {name}"
        raise InconclusiveError(why, place="build.trained_by", remedy=remedy)
    encoding = learner.encoding or default_encoding(own.schema)
    data = _training_data(own, encoding, precision)
    scores = np.zeros((len(asked), len(own.schema.classes)))
    if len(data.positions) == 1:
        scores[:, data.positions] = 1.0
        return scores
    answer = fit(data)
    scores[:, data.positions] = answer(features_of(asked, encoding, precision))
    return scores


def chosen_parameters(
    learner: Learner, trained: Mapping[str, Collection[str]], computed: Collection[str]
) -> dict[str, Any]:
    """The parameters that an estimator is to be fitted with, by name.

    Args:
        learner: the estimator and its parameters.
        trained: the classes that the library's reader fits, by their names without the module, and the parameters of
            each that are part of a model.
        computed: further parameters, which say how a model is computed; they are left out.

    Raises:
        InconclusiveError: the class is none of these, or has a parameter that is none of these.
    """
    kind = learner.estimator.rpartition(".")[2]
    if kind not in trained:
        raise InconclusiveError(
            f"the estimator {kind} is not trained here",
            place="build.trained_by.estimator",
            remedy=f"of its library these are: {', '.join(trained)}",
        )
    unknown = sorted(learner.parameters.keys() - set(trained[kind]) - set(computed))
    if unknown:
        raise InconclusiveError(
            f"{kind} has no parameter {unknown[0]!r}, or none that is set here",
            place="build.trained_by.parameters",
            remedy=f"these are: {', '.join(sorted(trained[kind]))}",
        )
    return {name: value for name, value in learner.parameters.items() if name not in computed}


def cannot_be_fitted(kind: str, error: Exception) -> InconclusiveError:
    """That a class refused its parameters, or the people; of the error only its type, for its text may hold cells."""
    return InconclusiveError(
        f"{kind} cannot be fitted on these people with these parameters ({type(error).__name__})",
        place="build.trained_by.parameters",
        remedy="check the parameters, and whether it takes missing numbers and so few people",
    )


def not_installed(library: str, extra: str) -> InconclusiveError:
    """That a library is missing, and how to install it."""
    return InconclusiveError(f"{library}, which fits such models, is not installed", remedy=install_command(extra))


def default_encoding(schema: Schema) -> dict[str, FeatureEncoding]:
    """Numbers as they are, categories one-hot: of every column that a tree may ask about, in the order of names."""
    features = sorted(schema.features, key=lambda column: column.name)
    return {column.name: "number" if column.numeric else "one_hot" for column in features}


def _training_data(own: Table, encoding: Mapping[str, FeatureEncoding], precision: Precision) -> TrainingData:
    """A row for each person with a class, in the order of their cells' hashes."""
    target = own.schema.target
    order = np.argsort(record_hashes(own), kind="stable")
    codes = own.codes(target.name)[order]
    known = order[codes < len(own.schema.classes)]
    if not len(known):
        raise InconclusiveError("a model cannot be trained on people of whom nobody has a class")
    by_name = np.argsort(_ranks(target))
    places, classes = np.unique(_ranks(target)[own.codes(target.name)[known]], return_inverse=True)
    times = own.persons[known]
    return TrainingData(
        np.repeat(features_of(own, encoding, precision)[known], times, axis=0),
        np.repeat(classes, times),
        by_name[places],
        np.concatenate(
            [np.full(_width(own.schema, name, kind), kind == "category") for name, kind in encoding.items()]
        ),
    )


def features_of(table: Table, encoding: Mapping[str, FeatureEncoding], precision: Precision) -> FeatureMatrix:
    """The features of each row of a table, in the order of `encoding`.

    A `one_hot` column has a feature for each value and one for missing cells where there may be some. Values are in the
    order in which scikit-learn's encoders put them, by number or by text, unless the policy says that theirs means
    something.

    Returns:
        Shape (n_rows, n_features).

    Raises:
        InconclusiveError: `encoding` names a column that the table does not have, or numbers of a column of texts.
    """
    for name in encoding:
        if name not in table.schema:
            raise InconclusiveError(f"a model cannot be trained: the table has no column {name!r}, which it asks about")
    widths = [_width(table.schema, name, kind) for name, kind in encoding.items()]
    starts = np.cumsum([0, *widths])
    if not starts[-1]:
        raise InconclusiveError("a model cannot be trained without a column to ask about")
    matrix = np.zeros((len(table), int(starts[-1])), dtype=precision)
    rows = np.arange(len(table))
    for (name, kind), start in zip(encoding.items(), starts[:-1].tolist(), strict=True):
        column = table.schema[name]
        if kind == "one_hot" and not column.numeric:
            matrix[rows, start + _ranks(column)[table.codes(name)]] = 1
        else:
            matrix[:, start] = table.numbers(name) if column.numeric else _numbers(column, kind)[table.codes(name)]
    return matrix


def _width(schema: Schema, name: str, kind: FeatureEncoding) -> int:
    """How many features a column has."""
    column = schema[name]
    return len(column.domain) if kind == "one_hot" and not column.numeric else 1


def _ranks(column: Column) -> NDArray[np.int64]:
    """The place of each value of a categorical column among its values, and last that of a missing cell."""
    values = column.values or ()
    if column.ordered:
        return np.arange(len(values) + 1)
    numbers = list(map(_number, values))
    by_number = all(map(math.isfinite, numbers)) and len(set(numbers)) == len(numbers)
    order = sorted(range(len(values)), key=numbers.__getitem__ if by_number else values.__getitem__)
    return np.argsort([*order, len(values)])


def _numbers(column: Column, kind: FeatureEncoding) -> NDArray[np.float64]:
    """The number of each value of a categorical column, and last that of a missing cell."""
    if kind != "number":
        codes = _ranks(column).astype(np.float64)
        codes[-1] = np.nan if kind == "category" else codes[-1]
        return codes
    numbers = list(map(_number, column.values or ()))
    if not all(map(math.isfinite, numbers)):
        raise InconclusiveError(
            f"a model cannot be trained: {column.name!r} is encoded as a number, and has other values"
        )
    return np.array([*numbers, np.nan])


def _number(value: str) -> float:
    """The number that a value is spelled as; NaN where it is none."""
    try:
        return float(value)
    except ValueError:
        return TRUTH.get(value.lower(), math.nan)


TRUTH = {"false": 0.0, "true": 1.0}
