"""Attacks by likelihood ratios: LiRA, by laws of each candidate's score, and RMIA, beside other people's ratios."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from leafgate.api import InconclusiveError, PeopleCount, Table, lazy
from leafgate_membership.game import Answers
from leafgate_membership.planted import Scorer
from leafgate_membership.score_attacks import ShadowAttack
from leafgate_membership.shadows import ShadowModels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = lazy("numpy")

LEAST_FOR_A_DEVIATION = 2
"""So many models are needed to tell how much a candidate's logits differ from model to model."""
RMIA_FLOOR = 1e-6
"""What RMIA adds to a probability and to what it is divided by, so that a probability of 0 has a ratio."""


class LiRA(ShadowAttack):
    """Compare the candidate's score with those of shadow models trained on the candidate and of those that were not."""

    use: Literal["lira"] = "lira"
    mode: Literal["online", "offline"] = Field(
        "online",
        description="online: the likelihood with the candidate beside that without; offline: that without alone.",
    )
    variance: Literal["per_example", "fixed"] = Field(
        "per_example", description="per_example: a variance of each candidate's logits; fixed: one of all candidates."
    )
    clip: float = Field(
        1e-3, gt=0, le=0.1, description="Added to p and to 1 - p in the logit, which bounds it by ln(1 + 1 / clip)."
    )
    least_deviation: float = Field(
        0.1, gt=0, le=10.0, description="Added to each standard deviation of logits: scores of trees hardly differ."
    )

    monotone: bool = Field(
        default=True,
        description="Whether a higher score of the own class never counts against membership; false: as in the paper.",
    )

    formula = (
        "phi = ln((p + clip) / (1 - p + clip)), p the score of the candidate's class; online: score = ln N(phi; mean "
        "and deviation of the models with the candidate) - ln N(phi; those without); offline: (phi - mean) / deviation "
        "of the models without"
    )
    source = "Carlini, Chien, Nasr, Song, Terzis, Tramer, S&P 2022, Algorithm 1, doi:10.1109/SP46214.2022.9833649"

    def fit(self, shadows: ShadowModels, people: Table, seed: int) -> Scorer:
        return fit_lira(
            shadows,
            online=self.mode == "online",
            fixed=self.variance == "fixed",
            clip=self.clip,
            least_deviation=self.least_deviation,
            monotone=self.monotone,
        )

    def odds(self, scores: NDArray[np.float64], prior: float) -> NDArray[np.float64] | None:
        if self.mode == "offline":
            return None
        with np.errstate(over="ignore"):
            result: NDArray[np.float64] = np.exp(scores + np.log(prior / (1 - prior)))
        return result

    def facts(self, scorer: Scorer) -> dict[str, Any]:
        assert isinstance(scorer, LiraLaws)
        bound = {"largest_logit": round(float(np.log1p(1 / self.clip)), 3)}
        return bound if not scorer.short_of_models else bound | {"short_of_models": PeopleCount(scorer.short_of_models)}


@dataclass(frozen=True)
class LiraLaws:
    """Normal laws of each candidate's logit, in models that were trained on the candidate and in models that were not.

    Attributes:
        mean_in, deviation_in: shape (n_candidates,), with the candidate; None for the offline attack.
        mean_out, deviation_out: shape (n_candidates,), without.
        clip: added to p and to 1 - p in the logit.
        monotone: whether logits beyond the point from which the likelihood ratio falls count as that point.
        short_of_models: candidates with too few models on one side for a law of their own, who have one of all.
    """

    mean_out: NDArray[np.float64]
    deviation_out: NDArray[np.float64]
    mean_in: NDArray[np.float64] | None
    deviation_in: NDArray[np.float64] | None
    clip: float
    monotone: bool = False
    short_of_models: int = 0

    def scores(self, answers: Answers) -> NDArray[np.float64]:
        """The log-likelihood ratio of each candidate, or how many deviations its logit is above the mean without it."""
        phi = logit(answers.of_own_class, self.clip)
        if self.mean_in is None or self.deviation_in is None:
            return (phi - self.mean_out) / self.deviation_out
        if self.monotone:
            phi = rising_part(phi, self.mean_in, self.deviation_in, self.mean_out, self.deviation_out)
        z_out = (phi - self.mean_out) / self.deviation_out
        z_in = (phi - self.mean_in) / self.deviation_in
        return 0.5 * (z_out**2 - z_in**2) + np.log(self.deviation_out / self.deviation_in)


def rising_part(
    phi: NDArray[np.float64],
    mean_in: NDArray[np.float64],
    deviation_in: NDArray[np.float64],
    mean_out: NDArray[np.float64],
    deviation_out: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Each number, or the point nearest to it from which on, or up to which, N(phi; in) / N(phi; out) rises with phi.

    The logarithm of the ratio is a parabola. Where the law with the candidate is the narrower one the ratio falls
    beyond its vertex: a score even higher than those of models trained on the candidate would count against it.

    Args:
        phi: shape (n,), as are the others.
        mean_in: with the candidate; with `deviation_in` above 0.
        deviation_in: as said.
        mean_out: without the candidate; with `deviation_out` above 0.
        deviation_out: as said.

    >>> one = np.ones(3)
    >>> rising_part(np.array([-9.0, 1.0, 9.0]), 2 * one, one, 0 * one, 2 * one).round(3).tolist()
    [-9.0, 1.0, 2.667]
    """
    narrow, wide = deviation_in**2, deviation_out**2
    with np.errstate(divide="ignore", invalid="ignore"):
        vertex = (mean_in * wide - mean_out * narrow) / (wide - narrow)
    result: NDArray[np.float64] = np.where(
        narrow < wide, np.minimum(phi, vertex), np.where(narrow > wide, np.maximum(phi, vertex), phi)
    )
    return result


def logit(p: NDArray[np.float64], clip: float) -> NDArray[np.float64]:
    """ln((p + clip) / (1 - p + clip)), between minus and plus ln(1 + 1 / clip).

    Args:
        p: probabilities, of any shape.
        clip: above 0.

    >>> logit(np.array([0.0, 0.5, 1.0]), 1e-3).round(3).tolist()
    [-6.909, 0.0, 6.909]
    """
    result: NDArray[np.float64] = np.log((p + clip) / (1 - p + clip))
    return result


def fit_lira(
    shadows: ShadowModels,
    *,
    online: bool = True,
    fixed: bool = False,
    clip: float = 1e-3,
    least_deviation: float = 0.1,
    monotone: bool = True,
) -> LiraLaws:
    """Normal laws of the logits of each candidate's own class in the shadow models.

    Args:
        shadows: any number of models.
        online: whether to use the models that were trained on a candidate too.
        fixed: whether all candidates have one variance, the mean squared distance from each candidate's own mean.
        clip: added to p and to 1 - p in the logit, above 0.
        least_deviation: added to each standard deviation, above 0.
        monotone: whether a higher score of the own class never counts against membership.

    A candidate with fewer than two models on a side has the common variance there. One with no model on a side has the
    mean of the other side there, moved by as much as the means of the other candidates differ on average.

    Raises:
        InconclusiveError: no candidate has a model that was trained on it and one that was not.

    Source: Carlini, Chien, Nasr, Song, Terzis, Tramer, S&P 2022, Algorithm 1. doi:10.1109/SP46214.2022.9833649
    Departure: with `monotone` the likelihood ratio stays at its highest value where it would fall as the score rises.
        The paper has logits of unbounded size and no least deviation; trees give the probabilities 0 and 1, and often
        the same one in every model. The authors' program takes medians for means and, for a fixed variance, the
        variance of all logits of all candidates together.
    """
    phi = logit(shadows.of_own_class, clip)
    inside = _moments(phi, shadows.trained_on)
    outside = _moments(phi, ~shadows.trained_on)
    both = (inside.models > 0) & (outside.models > 0)
    if not both.any():
        raise InconclusiveError(
            "no candidate is in the training set of one shadow model and not in that of another",
            remedy="train more of them: `shadows: {models: 32}`",
        )
    shift = float((inside.mean - outside.mean)[both].mean())
    mean_in = np.where(inside.models > 0, inside.mean, outside.mean + shift)
    mean_out = np.where(outside.models > 0, outside.mean, inside.mean - shift)
    least = 1 if fixed else LEAST_FOR_A_DEVIATION
    short = (outside.models < least) | (online & (inside.models < least))
    return LiraLaws(
        mean_out,
        outside.deviation(fixed) + least_deviation,
        mean_in if online else None,
        inside.deviation(fixed) + least_deviation if online else None,
        clip,
        monotone,
        int(short.sum()),
    )


@dataclass(frozen=True)
class _Moments:
    """Each candidate's logits in some of the models: how many, their mean, the sum of squared distances from it."""

    models: NDArray[np.int64]
    mean: NDArray[np.float64]
    squares: NDArray[np.float64]

    def deviation(self, fixed: bool) -> NDArray[np.float64]:
        """Each candidate's standard deviation; where it has fewer than two models, or all are alike, the common one."""
        common = self.squares.sum() / max(int(self.models.sum()), 1)
        own = self.squares / np.maximum(self.models, 1)
        return np.sqrt(np.where(fixed | (self.models < LEAST_FOR_A_DEVIATION), common, own))


def _moments(phi: NDArray[np.float64], chosen: NDArray[np.bool_]) -> _Moments:
    models = chosen.sum(axis=0)
    mean = np.einsum("ij,ij->j", phi, chosen) / np.maximum(models, 1)
    distance = (phi - mean) * chosen
    return _Moments(models, mean, np.einsum("ij,ij->j", distance, distance))


class RMIA(ShadowAttack):
    """Compare how much likelier the model makes the candidate's class than other models do with the same of others."""

    use: Literal["rmia"] = "rmia"
    a: float = Field(
        0.3, ge=0, le=1, description="How far models trained on the candidate are taken to be above those without it."
    )
    gamma: float = Field(
        1.0,
        ge=1,
        le=100,
        description="By what factor the candidate's ratio must be at least that of another person, to count as above.",
    )

    formula = (
        "ratio = (p + 1e-6) / (((1 + a) q + 1 - a) / 2 + 1e-6), p the model's score of the candidate's class, q its "
        "mean in the shadow models without the candidate; score = the share of candidates whose ratio times gamma is "
        "at most the candidate's"
    )
    source = "Zarifzadeh, Liu, Shokri, ICML 2024, arXiv:2312.03262, offline attack"

    def fit(self, shadows: ShadowModels, people: Table, seed: int) -> Scorer:
        return fit_rmia(shadows, a=self.a, gamma=self.gamma)

    def facts(self, scorer: Scorer) -> dict[str, Any]:
        assert isinstance(scorer, RmiaReferences)
        return {"short_of_models": PeopleCount(scorer.short_of_models)} if scorer.short_of_models else {}


@dataclass(frozen=True)
class RmiaReferences:
    """How likely models make each candidate's class on average, whoever they were trained on.

    Attributes:
        average: shape (n_candidates,), from 0 to 1.
        gamma: from 1, the factor by which a ratio must be above another person's.
        short_of_models: candidates whom every shadow model was trained on.
    """

    average: NDArray[np.float64]
    gamma: float
    short_of_models: int = 0

    def scores(self, answers: Answers) -> NDArray[np.float64]:
        """The share of all candidates whose ratio, times gamma, is at most the candidate's: from 0 to 1."""
        ratio = self.ratios(answers)
        below = np.searchsorted(np.sort(ratio), ratio / self.gamma, side="right")
        return below / len(ratio)

    def ratios(self, answers: Answers) -> NDArray[np.float64]:
        """How much likelier the model makes each candidate's class than models do on average: shape (n_candidates,)."""
        return (answers.of_own_class + RMIA_FLOOR) / (self.average + RMIA_FLOOR)


def fit_rmia(shadows: ShadowModels, *, a: float = 0.3, gamma: float = 1.0) -> RmiaReferences:
    """The references of RMIA, from any number of shadow models.

    Args:
        shadows: the models; those that were not trained on a candidate count for it.
        a: from 0 to 1: models with the candidate are taken to give its class a q + 1 - a, those without it q.
        gamma: from 1.

    A candidate whom all models were trained on has the mean of these in place of ((1 + a) q + 1 - a) / 2, which is an
    upper bound in all but chance, so that it ranks too low rather than too high.

    Source: Zarifzadeh, Liu, Shokri, ICML 2024, arXiv:2312.03262, offline attack, section 3 and appendix B.2.2.
    Departure: the people to compare with are the candidates, of whom some are members, and the candidate itself is
        among them; gamma is 1 by default where the paper has 2, because nobody is then tied who has another ratio.
    """
    own = shadows.of_own_class
    out = ~shadows.trained_on
    n_out = out.sum(axis=0)
    without = np.einsum("ij,ij->j", own, out) / np.maximum(n_out, 1)
    average = np.where(n_out > 0, 0.5 * ((1 + a) * without + 1 - a), own.mean(axis=0))
    return RmiaReferences(average, gamma, int((n_out == 0).sum()))
