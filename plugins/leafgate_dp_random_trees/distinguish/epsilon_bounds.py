"""Lower bounds on epsilon from the numbers of right and wrong guesses."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats


def clopper_pearson(hits: int, tries: int, confidence: float) -> tuple[float, float]:
    """An interval that holds the chance of a hit with this confidence at least, half of the rest on either side.

    Source: Clopper, Pearson, "The Use of Confidence or Fiducial Limits", Biometrika 26(4), 1934.
    """
    rest = (1 - confidence) / 2
    low = float(stats.beta.ppf(rest, hits, tries - hits + 1)) if hits else 0.0
    high = float(stats.beta.ppf(1 - rest, hits + 1, tries - hits)) if hits < tries else 1.0
    return low, high


def from_errors(caught: tuple[int, int], alarms: tuple[int, int], delta: float, confidence: float) -> float:
    """The epsilon that a test shows: (hits, runs) with the person, (hits, runs) without; 0 where it shows nothing.

    At (epsilon, delta) a test that alarms with chance f without somebody does so with chance e^epsilon f + delta at
    most with them, and the other way round. Both chances are bounded, each with half of what confidence leaves.

    Source: Jagielski, Ullman, Oprea, "Auditing Differentially Private Machine Learning", NeurIPS 2020, section 4.
    """
    each = 1 - (1 - confidence) / 2
    caught_low, caught_high = clopper_pearson(*caught, each)
    alarm_low, alarm_high = clopper_pearson(*alarms, each)
    odds = [(caught_low - delta, alarm_high), (1 - alarm_high - delta, 1 - caught_low)]
    odds += [(alarm_low - delta, caught_high), (1 - caught_high - delta, 1 - alarm_low)]
    return max(0.0, *(math.log(top / bottom) for top, bottom in odds if top > 0 and bottom > 0))


def from_one_run(right: int, guesses: int, canaries: int, delta: float, confidence: float) -> float:
    """The epsilon shown by `right` of `guesses` about which of `canaries` people were there, each with chance 1/2.

    At (epsilon, delta) no more are right than heads of coins with chance e^epsilon / (1 + e^epsilon), but for a part
    that delta allows. The largest epsilon is given at which so many would be rarer than confidence leaves.

    Source: Steinke, Nasr, Jagielski, "Privacy Auditing with One (1) Training Run", NeurIPS 2023, Theorem 5.2.
    """
    low, high = 0.0, 50.0
    if _rarity(right, guesses, canaries, low, delta) > 1 - confidence:
        return 0.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        rare = _rarity(right, guesses, canaries, middle, delta) <= 1 - confidence
        low, high = (middle, high) if rare else (low, middle)
    return low


def _rarity(right: int, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """At most so likely are `right` or more right guesses."""
    heads = 1 / (1 + math.exp(-epsilon))
    tail = stats.binom.sf(np.arange(right - 1, -2, -1), guesses, heads)
    plain = float(tail[0])
    sizes = np.arange(1, right + 1)
    gained = max(0.0, float(np.max((tail[1 : right + 1] - plain) / sizes, initial=0.0)))
    return min(1.0, plain + 2 * canaries * delta * gained)
