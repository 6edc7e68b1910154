"""What an attack is worth: how often its best guess is right, against a guess that needs no release."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from leafgate.attacking import Attempt
from leafgate.belief import Belief
from leafgate.errors import InconclusiveError, UnreadableError
from leafgate.scoring import Judged
from leafgate.told_by_release import tells_shares, uses_background_knowledge


@dataclass(frozen=True, repr=False)
class Guess:
    """People whose secret an attack's best guess gets right, of `people`, and those the commonest value gets right.

    Ties of the attack count in part: of two equally likely values each is the guess half of the time.
    `private`: that follows from the data, or from what only the policy grants the attack, and not from the release.
    """

    attack: str
    secret: str
    people: int
    right: float
    commonest: int
    private: bool


def guesses(judged: Judged) -> list[Guess]:
    """One for each attack and secret it has chances of, about everyone or about the people behind hidden cells."""
    found = []
    for attempt, belief in _told(judged):
        with suppress(InconclusiveError, UnreadableError):  # whose the cells are is unknown, or none is secret
            found.append(_guess(judged, attempt, belief))
    return found


def _told(judged: Judged) -> Iterator[tuple[Attempt, Belief]]:
    for attempt in judged.attempts:
        for belief in attempt.beliefs:
            if belief.chances is not None and not belief.unread:
                yield attempt, belief


def _guess(judged: Judged, attempt: Attempt, belief: Belief) -> Guess:
    case = judged.case(belief)
    chances, truth = case.chances.to_numpy(dtype=float), case.table.codes(case.secret.name)
    best = np.isclose(chances, chances.max(axis=1, keepdims=True), rtol=0, atol=1e-9)
    right = best[np.arange(len(truth)), truth] / best.sum(axis=1)
    weight = case.table.persons
    commonest = int(np.bincount(truth, weights=weight).max())
    told = tells_shares(case, alike=True) and not case.table.weighted
    private = uses_background_knowledge(case, attempt) or not told
    return Guess(attempt.attack.called, case.secret.name, int(weight.sum()), float(weight @ right), commonest, private)
