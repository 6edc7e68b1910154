"""Membership attacks with a mistake that blunts them: no check of power may let one of them say that all is well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from leafgate.api import Table
from leafgate_plugins.inference.game import Answers
from leafgate_plugins.inference.membership.likelihood_ratios import RMIA, LiRA, Variance
from leafgate_plugins.inference.membership.planted import Scorer
from leafgate_plugins.inference.membership.score_attacks import ShadowAttack
from leafgate_plugins.inference.membership.shadows import ShadowModels

NARROW = 0.01
"""A clip that takes all probabilities above it for equal. It blunts nothing where models answer with 0 and 1 alone."""

Spoil = Callable[[ShadowModels], ShadowModels]


@dataclass(frozen=True)
class Spoilt:
    """A scorer whose answers are spoilt before it, or its scores after it."""

    scorer: Scorer
    before: Callable[[Answers], Answers] = lambda answers: answers
    after: Callable[[NDArray[np.float64]], NDArray[np.float64]] = lambda scores: scores

    def scores(self, answers: Answers) -> NDArray[np.float64]:
        return self.after(self.scorer.scores(self.before(answers)))


def another_class(own: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    return (own + 1) % classes


def clipped(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.minimum(scores, NARROW)


def reordered(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The scores, each given to somebody else."""
    return scores[np.random.default_rng(0).permutation(len(scores))]


class LiraWithFlippedSign(LiRA):
    def fit(self, shadows: ShadowModels, people: Table, seed: int) -> Scorer:
        return Spoilt(super().fit(shadows, people, seed), after=np.negative)


class LiraWithOneScore(LiRA):
    def fit(self, shadows: ShadowModels, people: Table, seed: int) -> Scorer:
        return Spoilt(super().fit(shadows, people, seed), after=np.zeros_like)


class LiraOfOtherCandidates(LiRA):
    def fit(self, shadows: ShadowModels, people: Table, seed: int) -> Scorer:
        return Spoilt(super().fit(shadows, people, seed), after=reordered)


class LiraWithInForOut(LiRA):
    """With a shared variance the ratio rises with the score whichever models are taken for which; with two it falls."""

    variance: Variance = "fixed"

    def fit(self, shadows: ShadowModels, people: Table, seed: int) -> Scorer:
        return super().fit(replace(shadows, trained_on=~shadows.trained_on), people, seed)


class LiraOfAnotherClass(LiRA):
    def fit(self, shadows: ShadowModels, people: Table, seed: int) -> Scorer:
        classes = shadows.scores.shape[2]
        spoilt = replace(shadows, own=another_class(shadows.own, classes))
        return Spoilt(
            super().fit(spoilt, people, seed),
            before=lambda answers: Answers(answers.scores, another_class(answers.own, classes)),
        )


class LiraWithNarrowClip(LiRA):
    def fit(self, shadows: ShadowModels, people: Table, seed: int) -> Scorer:
        return Spoilt(
            super().fit(replace(shadows, scores=clipped(shadows.scores)), people, seed),
            before=lambda answers: Answers(clipped(answers.scores), answers.own),
        )


class RmiaWithFlippedSign(RMIA):
    def fit(self, shadows: ShadowModels, people: Table, seed: int) -> Scorer:
        return Spoilt(super().fit(shadows, people, seed), after=np.negative)


BLUNTED: Mapping[str, Callable[[], ShadowAttack]] = {
    "the sign is flipped": LiraWithFlippedSign,
    "everybody has the same score": LiraWithOneScore,
    "scores are given to other candidates": LiraOfOtherCandidates,
    "models with and without the candidate are exchanged": LiraWithInForOut,
    "another class takes the place of the own one": LiraOfAnotherClass,
    "probabilities are clipped too narrowly": LiraWithNarrowClip,
    "the sign of RMIA is flipped": RmiaWithFlippedSign,
}
"""Attacks by what is wrong with them."""
