"""Clopper and Pearson's bounds of a probability, which hold for every number of trials."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from leafgate.lazy_loading import lazy

if TYPE_CHECKING:
    from scipy import special
else:
    special = lazy("scipy.special")


def lower_bound(successes: int, trials: int, error: float) -> float:
    """Clopper and Pearson's lower bound of a probability, which is too high with at most the probability `error`.

    Args:
        successes: from 0 to `trials`.
        trials: independent trials, from 0; where there are none the bound is 0.
        error: in (0, 1).

    Source: Clopper, Pearson, Biometrika 26, 1934, doi:10.1093/biomet/26.4.404
    Departure: none; one side alone.

    >>> round(lower_bound(10, 10, 0.05), 6)
    0.741134
    """
    return 0.0 if successes == 0 else float(special.betaincinv(successes, trials - successes + 1, error))


def upper_bound(successes: int, trials: int, error: float) -> float:
    """Clopper and Pearson's upper bound of a probability, which is too low with at most the probability `error`.

    Args, Source and Departure: as `lower_bound`; where there are no trials the bound is 1.

    >>> round(upper_bound(0, 3000, 0.05), 6)
    0.000998
    """
    return 1.0 if successes == trials else float(special.betainccinv(successes + 1, trials - successes, error))


def upper_bound_of_all(count: int, sample: int, people: int, error: float) -> int:
    """The most people of all who can have what `count` of a random sample have, which is too few with at most `error`.

    Args:
        count: from 0 to `sample`.
        sample: people of the sample, from 0.
        people: all of them, from `sample`; where all are in the sample the result is `count`.
        error: in (0, 1).

    Source: Clopper, Pearson, Biometrika 26, 1934, doi:10.1093/biomet/26.4.404
    Departure: of a sample without replacement, where the bound is wrong more rarely.

    >>> upper_bound_of_all(0, 3000, 6000, 0.05)
    6
    """
    return max(count, math.ceil(upper_bound(count, sample, error) * people)) if sample < people else count
