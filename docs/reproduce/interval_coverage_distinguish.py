"""Laws of what tells two neighbouring tables apart, and how often `distinguish` states too large an epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import stats

from interval_coverage_cells import ERROR, ROUNDING, Miss
from leafgate_plugins.dp_random_trees.distinguish.attack import from_errors, from_one_run

SIZES: Sequence[int] = (30, 300, 3_000)
"""Runs with the person and as many without; or people about whom one run is asked."""
_from_errors, _from_one_run = cache(from_errors), cache(from_one_run)


# --- Many runs ---


@dataclass(frozen=True)
class Alarms:
    """The probabilities that a test alarms with the person and without, at a delta."""

    caught: float
    alarmed: float
    delta: float = 0.0

    @property
    def epsilon(self) -> float:
        """The smallest epsilon at which both probabilities, and those of no alarm, differ no more."""
        caught, alarmed, delta = self.caught, self.alarmed, self.delta
        odds = [(caught - delta, alarmed), (1 - alarmed - delta, 1 - caught)]
        odds += [(alarmed - delta, caught), (1 - caught - delta, 1 - alarmed)]
        return max(0.0, *(math.log(top / bottom) for top, bottom in odds if top > 0))


E = math.e
ALARMS: Mapping[str, Alarms] = {
    "no difference": Alarms(0.3, 0.3),
    "randomised response of epsilon 1": Alarms(E / (1 + E), 1 / (1 + E)),
    "a rare alarm": Alarms(0.01 * E, 0.01),
    "delta alone": Alarms(0.01, 0.0, 0.01),
    "fewer alarms with the person": Alarms(0.2, 0.6, 0.001),
    "normal noise": Alarms(0.5, float(stats.norm.sf(1)), 0.001),
    "nearly always right": Alarms(0.999, 0.001),
}


def alarm_misses(law: Alarms, runs: int, rng: np.random.Generator) -> Iterator[Miss]:
    """Draw how often the test alarms; whether the lower bound of epsilon is too high."""
    caught, alarmed = (int(rng.binomial(runs, share)) for share in (law.caught, law.alarmed))
    shown = _from_errors((caught, runs), (alarmed, runs), law.delta, 1 - ERROR)
    yield "distinguish by many runs", shown > law.epsilon + ROUNDING


# --- One run ---


@dataclass(frozen=True)
class Canaries:
    """Randomised response about each person's presence, with a leak that `delta` allows.

    Attributes:
        epsilon: of the response.
        delta: with this probability presence is disclosed outright.
        together: of all people at once; else of each one alone.
    """

    epsilon: float
    delta: float = 0.0
    together: bool = False


CANARIES: Mapping[str, Canaries] = {
    "no difference": Canaries(0),
    "epsilon 0.1": Canaries(0.1),
    "epsilon 1": Canaries(1),
    "epsilon 4": Canaries(4),
    "epsilon 1, each disclosed at delta .01": Canaries(1, 0.01),
    "epsilon 1, all disclosed at delta .001": Canaries(1, 0.001, together=True),
    "epsilon 1, all disclosed at delta .04": Canaries(1, 0.04, together=True),
}


def canary_misses(law: Canaries, people: int, rng: np.random.Generator) -> Iterator[Miss]:
    """Draw how many guesses are right, those about disclosed people first; whether the epsilon shown is too high."""
    guesses = 2 * max(people // 4, 1)
    disclosed = people * (rng.random() < law.delta) if law.together else rng.binomial(people, law.delta)
    disclosed = min(int(disclosed), guesses)
    right = disclosed + int(rng.binomial(guesses - disclosed, 1 / (1 + math.exp(-law.epsilon))))
    shown = _from_one_run(right, guesses, people, law.delta, 1 - ERROR)
    yield "distinguish by one run", shown > law.epsilon + ROUNDING
