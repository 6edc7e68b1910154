"""Attacks by likelihood ratios: LiRA, by laws of each candidate's score, and RMIA, beside other people's ratios."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from leafgate.api import InconclusiveError, PeopleCount, Table, lazy
from leafgate_plugins.inference.game import Answers
from leafgate_plugins.inference.membership.planted import Scorer
from leafgate_plugins.inference.membership.score_attacks import ShadowAttack
from leafgate_plugins.inference.membership.shadows import ShadowModels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafgate.api import Floats, Mask
else:
    np = lazy("numpy")

LEAST_FOR_A_DEVIATION = 2
"""So many models are needed to tell how much a candidate's logits differ from model to model."""
Variance = Literal["shared", "per_example", "fixed"]
"""Which of a candidate's logits have one variance."""
LEAST_SHIFT = 0.1
"""By so many deviations at least logits rise with the candidate: with few models the means may be the other way."""
RMIA_FLOOR = 1e-6
"""What RMIA adds to a probability and to what it is divided by, so that a probability of 0 has a ratio."""

LOG_RATIO_DECIMALS = 12
"""Logarithms of ratios that agree to so many decimals are equal: they differ by the order of additions alone."""


class LiRA(ShadowAttack):
    """Compare the candidate's score with those of shadow models trained on the candidate and of those that were not."""

    use: Literal["lira"] = "lira"
    mode: Literal["online", "offline"] = Field(
        "online",
        description="`online`: the likelihood with the candidate compared with that without; `offline`: that without "
        "alone.",
    )
    variance: Variance = Field(
        "shared",
        description="`shared`: one variance for each candidate's logits, with and without the candidate; "
        "`per_example`: two for each, as in the paper; `fixed`: two for all, as in the paper with few "
        "models.",
    )
    clip: float = Field(
        1e-3, gt=0, le=0.1, description="Added to p and to 1 - p in the logit, which bounds it by ln(1 + 1 / clip)."
    )
    least_deviation: float = Field(
        0.1, gt=0, le=10.0, description="Added to each standard deviation of logits: scores of trees hardly differ."
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
            variance=self.variance,
            clip=self.clip,
            least_deviation=self.least_deviation,
        )

    @property
    def states_odds(self) -> bool:
        return self.mode == "online"

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
        short_of_models: candidates with too few models on one side for a law of their own, who have one of all.
    """

    mean_out: Floats
    deviation_out: Floats
    mean_in: Floats | None
    deviation_in: Floats | None
    clip: float
    short_of_models: int = 0

    def scores(self, answers: Answers) -> Floats:
        """The log-likelihood ratio of each candidate, or how many deviations its logit is above the mean without it."""
        phi = logit(answers.of_own_class, self.clip)
        z_out = (phi - self.mean_out) / self.deviation_out
        if self.mean_in is None or self.deviation_in is None:
            return z_out
        z_in = (phi - self.mean_in) / self.deviation_in
        return 0.5 * (z_out**2 - z_in**2) + np.log(self.deviation_out / self.deviation_in)


def logit(p: Floats, clip: float) -> Floats:
    """ln((p + clip) / (1 - p + clip)), between minus and plus ln(1 + 1 / clip).

    Args:
        p: probabilities, of any shape.
        clip: above 0.

    >>> logit(np.array([0.0, 0.5, 1.0]), 1e-3).round(3).tolist()
    [-6.909, 0.0, 6.909]
    """
    result: Floats = np.log((p + clip) / (1 - p + clip))
    return result


def fit_lira(
    shadows: ShadowModels,
    *,
    online: bool = True,
    variance: Variance = "shared",
    clip: float = 1e-3,
    least_deviation: float = 0.1,
) -> LiraLaws:
    """Normal laws of the logits of each candidate's own class in the shadow models.

    Args:
        shadows: any number of models.
        online: whether to use the models that were trained on a candidate too.
        variance: `shared`: the mean squared distance of a candidate's logits, in all models, from the mean of those
            with the candidate or of those without, whichever it belongs to; and the mean with the candidate is above
            the mean without by a tenth of the deviation at least. `per_example`: one of the models with, one of those
            without. `fixed`: the same, of all candidates together.
        clip: added to p and to 1 - p in the logit, above 0.
        least_deviation: added to each standard deviation, above 0.

    A candidate with fewer than two models on a side has the variance of all candidates in place of its own. One with no
    model on a side has the mean of the other side there, moved by as much as the means of the other candidates differ
    on average.

    Raises:
        InconclusiveError: no candidate has a model that was trained on it and one that was not.

    Source: Carlini, Chien, Nasr, Song, Terzis, Tramer, S&P 2022, Algorithm 1. doi:10.1109/SP46214.2022.9833649
    Departure: the paper has no `shared` variance. Two variances, each of about half of the models, make the likelihood
        ratio fall again where scores are higher than those of models trained on the candidate; with one it never falls.
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
    deviation_in, deviation_out = (
        deviation + least_deviation for deviation in _deviations(inside, outside, online, variance)
    )
    if variance == "shared":
        mean_in = np.maximum(mean_in, mean_out + LEAST_SHIFT * deviation_out)
    least = 1 if variance == "fixed" else LEAST_FOR_A_DEVIATION
    short = (outside.models < least) | (online & (inside.models < least))
    return LiraLaws(
        mean_out,
        deviation_out,
        mean_in if online else None,
        deviation_in if online else None,
        clip,
        int(short.sum()),
    )


@dataclass(frozen=True)
class _Moments:
    """Each candidate's logits in some of the models: how many, their mean, the sum of squared distances from it."""

    models: NDArray[np.int64]
    mean: Floats
    squares: Floats


def _moments(phi: Floats, chosen: Mask) -> _Moments:
    models = chosen.sum(axis=0)
    mean = np.einsum("ij,ij->j", phi, chosen) / np.maximum(models, 1)
    distance = (phi - mean) * chosen
    return _Moments(models, mean, np.einsum("ij,ij->j", distance, distance))


def _deviations(inside: _Moments, outside: _Moments, online: bool, variance: Variance) -> tuple[Floats, Floats]:
    """The standard deviations of each candidate's logits, in models with the candidate and in models without."""
    if variance == "shared" and online:
        squares, models = inside.squares + outside.squares, inside.models + outside.models
        enough = np.minimum(inside.models, outside.models) >= LEAST_FOR_A_DEVIATION
        shared = _deviation(squares, models, enough)
        return shared, shared
    own = variance != "fixed"
    with_candidate, without = (
        _deviation(side.squares, side.models, own & (side.models >= LEAST_FOR_A_DEVIATION))
        for side in (inside, outside)
    )
    return with_candidate, without


def _deviation(squares: Floats, models: NDArray[np.int64], enough: Mask) -> Floats:
    """Each candidate's own standard deviation where it has enough models for it, else that of all candidates."""
    common = squares.sum() / max(int(models.sum()), 1)
    return np.sqrt(np.where(enough, squares / np.maximum(models, 1), common))


class RMIA(ShadowAttack):
    """Compare the ratio of the model's score to that of shadow models with the ratios of other candidates."""

    use: Literal["rmia"] = "rmia"
    a: float = Field(
        0.3, ge=0, le=1, description="How far models trained on the candidate are taken to be above those without it."
    )
    gamma: float = Field(
        1.0,
        ge=1,
        le=100,
        description="The factor by which the candidate's ratio must be at least another's to count as above.",
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

    average: Floats
    gamma: float
    short_of_models: int = 0

    def scores(self, answers: Answers) -> Floats:
        """The share of all candidates whose ratio, times gamma, is at most the candidate's: from 0 to 1."""
        ratio = np.log(self.ratios(answers))
        others = np.sort(np.round(ratio, LOG_RATIO_DECIMALS))
        below = np.searchsorted(others, np.round(ratio - np.log(self.gamma), LOG_RATIO_DECIMALS), side="right")
        result: Floats = below / len(ratio)
        return result

    def ratios(self, answers: Answers) -> Floats:
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
