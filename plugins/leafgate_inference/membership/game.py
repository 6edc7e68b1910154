"""The membership game: what the adversary knows of each candidate, and what the model answers about them.

The adversary knows every column of a candidate, the class included, and asks the model by the policy's `access`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leafgate.api import AdversaryKnowledge, Candidates, InconclusiveError, PredictionOracle, Release, lazy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafgate.api import Table
else:
    np = lazy("numpy")


@dataclass(frozen=True)
class Answers:
    """What a model answers about some people.

    Attributes:
        scores: shape (n_people, n_classes), from 0 to 1, rows sum to 1: the score of each class. Where the model has no
            score for a row, all are 0.
        own: shape (n_people,), the position of each person's class; n_classes where that is missing.
    """

    scores: NDArray[np.float64]
    own: NDArray[np.int64]

    @property
    def of_own_class(self) -> NDArray[np.float64]:
        """The score of each person's own class: shape (n_people,); 0 where the class is missing."""
        padded = np.pad(self.scores, ((0, 0), (0, 1)))
        result: NDArray[np.float64] = padded[np.arange(len(self.own)), self.own]
        return result

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

    Random numbers that go with this order do not depend on the order of the candidates, of the columns or of the values
    in a domain. People with equal cells stand in the order in which they were.
    """
    from leafgate.algorithms.sampling import record_hashes

    return np.argsort(record_hashes(people), kind="stable")


def own_classes(people: Table) -> NDArray[np.int64]:
    """The position of each row's class in its domain; the number of classes where it is missing."""
    target = people.schema.target
    codes = people.codes(target.name)
    return np.minimum(codes, len(people.schema.classes))


def answers_about(source: Release | PredictionOracle, known: AdversaryKnowledge) -> Answers:
    """What the audited model answers about each candidate: scores, or 1 for the label where it answers labels alone.

    Raises:
        InconclusiveError: there are no candidates, or what is published has no scores and no labels.
    """
    from leafgate.algorithms.prediction import class_scores

    people = candidates_of(known).table
    own = own_classes(people)
    if not isinstance(source, PredictionOracle):
        return Answers(np.nan_to_num(class_scores(source, people)), own)
    if source.access == "labels":
        labels = source.labels(people.frame).cat.codes.to_numpy()
        return Answers(np.where(labels[:, None] == np.arange(len(source.classes)), 1.0, 0.0), own)
    return Answers(np.nan_to_num(source.scores(people.frame).to_numpy(dtype=np.float64)), own)


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
