"""Power: leaks of known size, planted in models that leak nothing, on which an attack is repeated.

A repetition makes up a model that leaks nothing about the candidates: its answer about each of them is that of a shadow
model that was not trained on this candidate. A share of its members leaks: the odds of their own class become at least
PLANTED_ODDS times what they were, as if the model had learned them by heart. They are people about whom a leak can
show: somebody to whose class models give the score 1, in the table or not, has no membership to disclose. The other
members are drawn from everybody else, so that nothing tells them from people who are no members. So the size of the
leak is known: an adversary who knew every law exactly would find this share of the members at hardly any false
positive, and have an area under the ROC curve of .5 + share / 2. An attack that does not find a leak of the size of a
limit is no reason to say that the limit is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from leafgate.api import PlantedLeak, lazy
from leafgate_plugins.inference.game import Answers, coins
from leafgate_plugins.inference.membership.shadows import ShadowModels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafgate.api import Floats

    Odds = Callable[[Floats], Floats]
else:
    np = lazy("numpy")

PLANTED_ODDS = 100.0
"""By how much a planted leak multiplies the odds of a member's own class; odds below 1 count as 1."""
RANDOM_STREAM = 2
"""The stream of random numbers, among those that the audit's seed allows, that belongs to planted leaks."""
KEPT_TARGETS = 32
"""How many made-up models are kept, because leaks of several shares are planted in each."""


class Scorer(Protocol):
    """Turns what a model answers about candidates into scores; a higher one means more likely in the table."""

    def scores(self, answers: Answers) -> Floats:
        """A finite score for each candidate: shape (n_candidates,)."""
        ...


@dataclass(frozen=True)
class PseudoTarget:
    """A model that leaks nothing, and what an attack knows of it.

    Attributes:
        answers: what it answers about the candidates.
        leaks: shape (n_candidates,), the positions of all candidates, in the order in which their membership leaks.
        members: shape (n_candidates,), the same in the order in which they are taken for further members.
        scorer: the attack, fitted to the shadow models without this one.
        least: shape (n_candidates,), the least score of the own class where a leak is planted.
    """

    answers: Answers
    leaks: NDArray[np.int64]
    members: NDArray[np.int64]
    scorer: Scorer
    least: Floats


@dataclass(frozen=True)
class PlantedLeaks:
    """Plants leaks in made-up models and runs an attack on them: the `planted` of a MembershipBelief.

    Attributes:
        draw: makes up the model of a repetition.
        in_table: how many candidates are its members.
        odds: the posterior odds that follow from scores; None for an attack that states none.
    """

    draw: Callable[[int], PseudoTarget]
    in_table: int
    odds: Odds | None = None

    def __call__(self, share: float, repetition: int) -> PlantedLeak:
        """What the attack concludes from a leak of the membership of this share of the members.

        Args:
            share: from 0 to 1; the number of members whose membership leaks is rounded to the nearest.
            repetition: from 0; leaks of several shares in one repetition are planted in the same made-up model, a
                larger one in a superset of the people.
        """
        if not 0 <= share <= 1:
            raise ValueError("the share of members whose membership leaks is from 0 to 1")
        target = self.draw(repetition)
        leaking = target.leaks[: round(share * self.in_table)]
        member = np.zeros(len(target.leaks), dtype=bool)
        member[leaking] = True
        others = target.members[~member[target.members]]
        member[others[: self.in_table - len(leaking)]] = True
        answers = strengthened(target.answers, leaking, target.least)
        scores = target.scorer.scores(answers)
        return PlantedLeak(scores, member, odds=None if self.odds is None else self.odds(scores))


def planted_in_answers(answers: Answers, in_table: int, seed: int, scorer: Scorer) -> PlantedLeaks:
    """Leaks planted in the audited model's own answers, for an attack without shadow models.

    Candidates are taken for members at random, so that the answers say nothing about it. A planted answer is at least
    as certain as the model is about half of the candidates; where it answers with labels it is a label.

    Args:
        answers: those of the audited model, in an order of the candidates that does not depend on who is a member.
        in_table: how many candidates are members.
        seed: for random numbers, from 0.
        scorer: the attack.
    """
    own = answers.of_own_class
    least = np.full(len(own), np.median(answers.scores.max(axis=1)))
    room = _room(own, own, least, answers)

    def draw(repetition: int) -> PseudoTarget:
        rng = coins(seed, RANDOM_STREAM, repetition)
        return PseudoTarget(answers, _order_of_leaks(rng, room), rng.permutation(len(own)), scorer, least)

    return PlantedLeaks(lru_cache(maxsize=KEPT_TARGETS)(draw), in_table)


def planted_in_shadows(
    shadows: ShadowModels,
    in_table: int,
    seed: int,
    attack: Scorer | Callable[[ShadowModels], Scorer],
    odds: Odds | None = None,
) -> PlantedLeaks:
    """Leaks planted in models that are made up of the shadow models' answers.

    A planted answer gives the own class at least the score that all models trained on the candidate give it.

    Args:
        shadows: the shadow models, two at least, in an order of the candidates that does not depend on who is a member.
        in_table: how many candidates are members.
        seed: for random numbers, from 0.
        attack: fits the attack to the shadow models but the one that is attacked; or an attack that is fitted already.
        odds: the posterior odds that follow from its scores; None where it states none.
    """
    own, out = shadows.of_own_class, ~shadows.trained_on
    n_out = out.sum(axis=0)
    average = np.where(n_out > 0, (own * out).sum(axis=0) / np.maximum(n_out, 1), 1.0)
    highest = np.where(out, own, 0.0).max(axis=0)
    least = np.where(shadows.trained_on.any(axis=0), np.where(out, 1.0, own).min(axis=0), 0.0)
    room = _room(average, highest, least, Answers(shadows.scores[0], shadows.own))

    def draw(repetition: int) -> PseudoTarget:
        rng = coins(seed, RANDOM_STREAM, repetition)
        leaks, members = _order_of_leaks(rng, room), rng.permutation(len(room))
        answers, others = uninformative_target(shadows, rng)
        return PseudoTarget(answers, leaks, members, attack(others) if callable(attack) else attack, least)

    return PlantedLeaks(lru_cache(maxsize=KEPT_TARGETS)(draw), in_table, odds)


def uninformative_target(shadows: ShadowModels, rng: np.random.Generator) -> tuple[Answers, ShadowModels]:
    """The answers of a model that was trained on no candidate, and the shadow models without those answers.

    One shadow model is drawn. Where it was trained on a candidate, its answer about that candidate changes place with
    that of a random model that was not. So the attack's laws of a candidate never contain the answer that they are
    held against. A candidate on whom all models were trained keeps the answer of the one that was drawn; that nobody
    can tell from it who is a member stays true, because members are drawn at random.

    Returns:
        the answers about all candidates; and one shadow model fewer, each with the answers that it then has.
    """
    models, people = shadows.trained_on.shape
    drawn = int(rng.integers(models))
    partner = np.where(shadows.trained_on, -1.0, rng.random((models, people))).argmax(axis=0)
    exchanged = np.flatnonzero(shadows.trained_on[drawn] & ~shadows.trained_on.all(axis=0))
    source = np.full(people, drawn)
    source[exchanged] = partner[exchanged]
    answers = Answers(shadows.scores[source, np.arange(people)], shadows.own)
    others = shadows.without(drawn)
    scores, trained_on = others.scores.copy(), others.trained_on.copy()
    place = partner[exchanged] - (partner[exchanged] > drawn)
    scores[place, exchanged] = shadows.scores[drawn, exchanged]
    trained_on[place, exchanged] = True
    return answers, ShadowModels(scores, trained_on, shadows.own)


def strengthened(answers: Answers, people: NDArray[np.int64], least: Floats) -> Answers:
    """The answers, with the odds of some people's own class multiplied by PLANTED_ODDS, as `planted_score` has it.

    The other classes' scores are scaled to what is left; where they were all 0 it is shared evenly among them. People
    whose class is missing keep their answers.

    Args:
        answers: of all people.
        people: positions of those whose answers are strengthened.
        least: shape (n_people,), the least score of the own class then: what models trained on a person usually give.
    """
    classes = answers.scores.shape[1]
    people = people[answers.own[people] < classes]
    scores = answers.scores.copy()
    rows = scores[people]
    own = rows[np.arange(len(people)), answers.own[people]]
    new = np.maximum(planted_score(own), least[people])
    others = rows.sum(axis=1) - own
    factor = (1 - new) / np.where(others > 0, others, 1.0)
    even = (1 - new) / max(classes - 1, 1)
    scaled = np.where(others[:, None] > 0, rows * factor[:, None], even[:, None])
    scaled[np.arange(len(people)), answers.own[people]] = new
    scores[people] = scaled
    return Answers(scores, answers.own)


def planted_score(own: Floats) -> Floats:
    """The score of a member's own class after a leak was planted: PLANTED_ODDS times its odds, or at least to 1.

    >>> planted_score(np.array([0.0, 0.5, 0.9, 1.0])).round(4).tolist()
    [0.9901, 0.9901, 0.9989, 1.0]
    """
    half = np.maximum(own, 0.5)
    result: Floats = PLANTED_ODDS * half / (PLANTED_ODDS * half + 1 - half)
    return result


def _room(average: Floats, highest: Floats, least: Floats, answers: Answers) -> NDArray[np.int64]:
    """How clearly a leak about each candidate can show: from 0, clearly, to 3, not at all.

    Args:
        average: shape (n_candidates,), the mean score of the own class in models without the candidate.
        highest: shape (n_candidates,), the highest one.
        least: shape (n_candidates,), the least score of the own class where a leak is planted.
        answers: about the candidates, for their classes.
    """
    planted = np.maximum(planted_score(np.zeros(1)), least)
    unlikely, unheard_of = average <= 0.5, highest < planted
    level = np.select([unlikely & unheard_of, unlikely | unheard_of, average < planted], [0, 1, 2], 3)
    return np.where(answers.own < answers.scores.shape[1], level, 3)


def _order_of_leaks(rng: np.random.Generator, room: NDArray[np.int64]) -> NDArray[np.int64]:
    """The positions of all candidates: first those about whom a leak can show, within these at random."""
    positions = rng.permutation(len(room))
    result: NDArray[np.int64] = positions[np.argsort(room[positions], kind="stable")]
    return result
