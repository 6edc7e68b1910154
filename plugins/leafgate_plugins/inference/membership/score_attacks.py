"""What attacks on scores have in common, with shadow models or without; and the attack by the loss.

An attack with shadow models is two pure functions: `fit` turns what the shadow models answer into a `Scorer`, which
turns what the audited model answers into a score for each candidate. The same two are run on planted leaks.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from leafgate import api
from leafgate_plugins.inference import game
from leafgate_plugins.inference.membership.planted import Scorer, planted_in_answers, planted_in_shadows
from leafgate_plugins.inference.membership.shadows import ShadowModels, ShadowOptions, forecast_shadows, train_shadows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

else:
    np = api.lazy("numpy")


class ScoreAttack(api.AttackModel):
    """What the attacks on scores have in common: they need candidates and what the model answers about them."""

    needs = frozenset({"candidates"})
    access_levels = frozenset({"scores", "file"})
    parts = frozenset({"trees"})
    threat_model = (
        "The adversary knows all cells of each candidate, the class too, and has the release file or its answers; of "
        "the table nothing."
    )


class LossThreshold(ScoreAttack):
    """Take candidates for members if the model gives their class a high score; no shadow model is needed."""

    use: Literal["loss_threshold"] = "loss_threshold"

    access_levels = frozenset({"labels", "scores", "file"})
    formula = "score = the model's score of the candidate's class; with labels 1 where the label is right, else 0"
    source = "Yeom, Giacomelli, Fredrikson, Jha, CSF 2018, doi:10.1109/CSF.2018.00027"

    def infer(self, source: api.Release | api.PredictionOracle, known: api.AdversaryKnowledge) -> list[api.Belief]:
        candidates = game.candidates_of(known)
        answers = game.answers_about(source, known)
        arranged = answers.at(game.canonical_order(candidates.table))
        planted = planted_in_answers(arranged, candidates.in_table, known.seed, LossScorer())
        return [api.MembershipBelief(LossScorer().scores(answers), planted=planted)]


@dataclass(frozen=True)
class LossScorer:
    """Scores by the loss, which depend on nothing but the answers."""

    def scores(self, answers: game.Answers) -> api.Floats:
        """Minus the loss up to a monotone map: the score of each person's own class, shape (n_people,)."""
        return answers.of_own_class


class ShadowAttack(ScoreAttack):
    """What the attacks with shadow models have in common: one set of models serves all that ask for the same."""

    shadows: ShadowOptions = Field(
        default_factory=ShadowOptions, description="The shadow models; attacks with equal ones share them."
    )

    needs = frozenset({"candidates", "mechanism"})
    threat_model = (
        "The adversary knows all cells of each candidate, the class too, and how the model was trained, and has the "
        "release file or its answers; of the table nothing. It trains models of the same kind on random candidates."
    )
    fitted_once: ClassVar[bool] = False
    """Whether one fit, on all shadow models, serves all planted leaks, because fitting takes long."""

    @property
    def states_odds(self) -> bool:
        """Whether it states posterior odds, by what its scores are worth on shadow models."""
        return False

    @abstractmethod
    def fit(self, shadows: ShadowModels, people: api.Table, seed: int) -> Scorer:
        """What the shadow models teach about each candidate.

        Args:
            shadows: what they answer about the people, and on whom they were trained.
            people: the candidates, a row for each, in the order of `shadows`.
            seed: for random numbers, from 0.
        """

    def facts(self, scorer: Scorer) -> dict[str, Any]:
        """What the finding states of how the scores were made."""
        return {}

    def forecast(self, release: api.Release, known: api.AdversaryKnowledge) -> str:
        if known.candidates is None or known.retrain is None:
            return ""
        return forecast_shadows(self.shadows, known)

    def infer(self, source: api.Release | api.PredictionOracle, known: api.AdversaryKnowledge) -> list[api.Belief]:
        candidates = game.candidates_of(known)
        order = game.canonical_order(candidates.table)
        answers = game.answers_about(source, known).at(order)
        shadows = rearranged(train_shadows(self.shadows, known), order)
        people = game.rows_of(candidates.table, order)

        def fit(models: ShadowModels) -> Scorer:
            return self.fit(models, people, known.seed)

        scorer = fit(shadows)
        scores = np.empty(len(order))
        scores[order] = scorer.scores(answers)
        odds = posterior_odds(shadows, fit, candidates.prior) if self.states_odds else None
        attack = scorer if self.fitted_once else fit
        planted: Callable[[float, int], api.PlantedLeak]
        planted = planted_in_shadows(shadows, candidates.in_table, known.seed, attack, odds)
        if not game.are_alike(answers, [game.Answers(scores_of, shadows.own) for scores_of in shadows.scores]):
            planted = no_leak_planted
        return [
            api.MembershipBelief(
                scores,
                odds=None if odds is None else odds(scores),
                planted=planted,
                evidence={"shadow_models": len(shadows), **self.facts(scorer)},
            )
        ]


def no_leak_planted(share: float, repetition: int) -> api.PlantedLeak:
    """Stands for planted leaks where the shadow models cannot stand for the audited one; InconclusiveError says so."""
    raise api.InconclusiveError(game.UNLIKE)


def rearranged(shadows: ShadowModels, order: NDArray[np.int64]) -> ShadowModels:
    """What the same models answer about the candidates at these positions, in this order."""
    return replace(
        shadows,
        scores=shadows.scores[:, order],
        trained_on=shadows.trained_on[:, order],
        own=shadows.own[order],
    )


def posterior_odds(
    shadows: ShadowModels, fit: Callable[[ShadowModels], Scorer], prior: float
) -> Callable[[api.Floats], api.Floats]:
    """How likely somebody with a score is a member, by how often those with such scores are on the shadow models.

    Each shadow model is attacked with the help of the others. Of all these scores isotonic regression makes intervals
    in which the share of members rises from one to the next. The likelihood ratio of an interval is the share of all
    members' scores in it over that of all others', with one member and one other added to each.

    Args:
        shadows: the shadow models, two at least.
        fit: fits the attack to some of them.
        prior: in (0, 1), the share of the candidates who are members.

    Returns:
        A function from scores, of shape (n,), to posterior odds of that shape, above 0; it does not fall.

    Source: Zadrozny, Elkan, KDD 2002, doi:10.1145/775047.775151
    """
    targets = range(len(shadows))
    scores = np.concatenate(
        [fit(shadows.without(t)).scores(game.Answers(shadows.scores[t], shadows.own)) for t in targets]
    )
    starts, ratios = _rising_ratios(scores, shadows.trained_on.reshape(-1))

    def odds(of: api.Floats) -> api.Floats:
        result: api.Floats = ratios[np.maximum(np.searchsorted(starts, of, side="right") - 1, 0)]
        return result * prior / (1 - prior)

    return odds


def _rising_ratios(scores: api.Floats, member: api.Mask) -> tuple[api.Floats, api.Floats]:
    """Where each interval of scores begins, and the likelihood ratio in it."""
    from scipy.optimize import isotonic_regression

    values, position = np.unique(scores, return_inverse=True)
    people = np.bincount(position)
    members = np.bincount(position, weights=member)
    blocks = isotonic_regression(members / people, weights=people).blocks[:-1]
    of_members = np.add.reduceat(members, blocks) + 1
    of_others = np.add.reduceat(people - members, blocks) + 1
    ratios = (of_members / of_members.sum()) / (of_others / of_others.sum())
    return values[blocks], np.maximum.accumulate(ratios)
