"""The game of inference: people of whom the adversary does not know who is in the table, and what the model answers.

Some of the people are in the table and the others are not. Who infers membership knows every column of a candidate, the
class included, and asks the model once about each. Who infers a column knows others of a target, and asks the model
once for each value that the column may have. How it may be asked is the policy's `access`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leafgate.api import AdversaryKnowledge, Candidates, InconclusiveError, PredictionOracle, Release, Table, lazy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafgate.api import Floats, Schema
else:
    np = lazy("numpy")


@dataclass(frozen=True)
class Answers:
    """What a model answers about some people, once about each, or once for each value that a secret may have.

    Attributes:
        scores: shape (n_people, n_classes) or (n_people, n_values, n_classes), from 0 to 1: the score of each class.
            They sum to 1 over the classes; where the model has no score, all are 0. Labels are scores of 1.
        own: shape (n_people,), the position of each person's class; n_classes where it is missing or not known.
    """

    scores: Floats
    own: NDArray[np.int64]

    @property
    def of_own_class(self) -> Floats:
        """The scores of each person's own class: the shape of `scores` but its last axis; 0 without a known class."""
        padded = np.pad(self.scores, [(0, 0)] * (self.scores.ndim - 1) + [(0, 1)])
        result: Floats = padded[np.arange(len(self.own)), ..., self.own]
        return result

    @property
    def labels(self) -> NDArray[np.int64]:
        """The position of the class with the highest score, in the shape of `of_own_class`; -1 where there is none."""
        return np.where(self.scores.any(axis=-1), self.scores.argmax(axis=-1), -1)

    def at(self, people: NDArray[np.int64]) -> Answers:
        """What the model answers about the people at these positions, in this order."""
        return Answers(self.scores[people], self.own[people])


def candidates_of(known: AdversaryKnowledge) -> Candidates:
    """The candidates that the policy grants; InconclusiveError where there are none."""
    if known.candidates is None:
        raise InconclusiveError("there are no candidates", remedy="name people who are not in the table, data.control")
    return known.candidates


def canonical_order(people: Table) -> NDArray[np.int64]:
    """The positions of the people in an order that follows from their cells alone.

    Random numbers that go with this order do not depend on the order of the people, of the columns or of the values in
    a domain. People with equal cells stand in the order in which they were.
    """
    from leafgate.algorithms.sampling import record_hashes

    return np.argsort(record_hashes(people), kind="stable")


def rows_of(table: Table, rows: NDArray[np.int64]) -> Table:
    """The records of these rows, each one person."""
    return Table(table.schema, table.frame.iloc[rows].reset_index(drop=True), np.ones(len(rows), dtype=np.int64))


def own_classes(people: Table, schema: Schema | None = None) -> NDArray[np.int64]:
    """The position of each person's class in its domain; the number of classes where it is missing or not known.

    Args:
        people: with the class among the columns, or without it where the adversary does not know it.
        schema: has the class; that of the people when left out.
    """
    target, classes = (schema or people.schema).target.name, len((schema or people.schema).classes)
    if target not in people.schema:
        return np.full(len(people), classes, dtype=np.int64)
    return np.minimum(people.codes(target), classes)


def coins(seed: int, *stream: int) -> np.random.Generator:
    """Random numbers that follow from the audit's seed, in a stream of their own.

    Args:
        seed: of the audit, from 0.
        stream: what the random numbers are for, as a constant of the module says, and the number of the repetition or
            of the model where there are several.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=stream))


def scores_about(source: Release | PredictionOracle, people: Table) -> Floats:
    """The score of each class for each of the people: shape (n_people, n_classes); 0 where the model has none.

    An oracle that answers labels alone has the score 1 for the label.

    Raises:
        InconclusiveError: what is published has no scores.
    """
    from leafgate.algorithms.prediction import class_scores

    if isinstance(source, PredictionOracle) and source.access == "labels":
        return one_hot(source.labels(people.frame).cat.codes.to_numpy(), len(source.classes))
    scores: Floats
    if isinstance(source, PredictionOracle):
        scores = source.scores(people.frame).to_numpy(dtype=np.float64)
    else:
        scores = class_scores(source, people)
    return np.asarray(np.nan_to_num(scores))


def one_hot(classes: NDArray[np.integer], n_classes: int) -> Floats:
    """A column of 0 and 1 for each class: shape (n_people, n_classes); no 1 for a position that is no class."""
    result: Floats = (classes[:, None] == np.arange(n_classes)).astype(np.float64)
    return result


def answers_about(source: Release | PredictionOracle, known: AdversaryKnowledge) -> Answers:
    """What the audited model answers about each candidate: scores, or 1 for the label where it answers labels alone.

    Raises:
        InconclusiveError: there are no candidates, or what is published has no scores and no labels.
    """
    people = candidates_of(known).table
    return Answers(scores_about(source, people), own_classes(people))


UNLIKE = (
    "the models that were trained for this audit answer unlike the audited one, so they cannot stand for it: check the "
    "estimator and the parameters in `build: {trained_by: ...}`"
)
TOLERANCE = 0.05
"""Mean scores of models of one kind may differ by so much, because they are trained on other shares of the people."""


def are_alike(audited: Answers, trained: Sequence[Answers]) -> bool:
    """Whether models that were trained anew answer about the same people as the audited model does.

    Two means over the people are compared: of the score of the own class, and of the highest score. They may differ by
    TOLERANCE, five deviations from model to model, and two of a mean over so few people. It tells other kinds of models
    and other parameters that matter from those that were used; not every wrong one.

    Args:
        audited: what the audited model answers, about one person at least.
        trained: what the others answer about the same people, from one model.
    """
    means = np.array([[each.of_own_class.mean(), each.scores.max(axis=1).mean()] for each in (audited, *trained)])
    deviation = means[1:].std(axis=0, ddof=1) if len(trained) > 1 else np.zeros(2)
    allowed = TOLERANCE + 5 * deviation + 2 * 0.5 / np.sqrt(len(audited.own))
    return bool((np.abs(means[0] - means[1:].mean(axis=0)) <= allowed).all())
