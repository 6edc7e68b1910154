"""Attacks on the scores that a model gives candidates, with shadow models or without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from leafgate.api import AdversaryKnowledge, AttackModel, Belief, MembershipBelief, PredictionOracle, Release, lazy
from leafgate_membership.game import Answers, answers_about

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = lazy("numpy")


class ScoreAttack(AttackModel):
    """What the attacks on scores have in common: they need candidates and what the model answers about them."""

    needs = frozenset({"candidates"})
    access_levels = frozenset({"scores", "file"})
    parts = frozenset({"trees"})
    threat_model = (
        "The adversary knows all cells of each candidate, the class too, and has the release file or its answers; of "
        "the table nothing."
    )


class LossThreshold(ScoreAttack):
    """Take those for members to whose own class the model gives a high score: needs no shadow model."""

    use: Literal["loss_threshold"] = "loss_threshold"

    access_levels = frozenset({"labels", "scores", "file"})
    formula = "score = the model's score of the candidate's class; with labels 1 where the label is right, else 0"
    source = "Yeom, Giacomelli, Fredrikson, Jha, CSF 2018, doi:10.1109/CSF.2018.00027"

    def infer(self, source: Release | PredictionOracle, known: AdversaryKnowledge) -> list[Belief]:
        return [MembershipBelief(loss_scores(answers_about(source, known)))]


def loss_scores(answers: Answers) -> NDArray[np.float64]:
    """Minus the loss up to a monotone map: the score of each person's own class, shape (n_people,)."""
    return answers.of_own_class
