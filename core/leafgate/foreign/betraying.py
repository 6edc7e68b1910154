"""Do shares betray how many people they are shares of?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from leafgate.disclosed import RATIOS, Disclosure
from leafgate.foreign.model import Floats, Foreign

PEOPLE = 1000
"""Leaves of so many people and fewer are looked for: shares of more cannot be told from any number."""

DIGITS = 3
"""Shares rounded to so many digits betray nothing but that."""

CLOSE = 1e-7
"""Fractions are this near to what single precision keeps of them; of other numbers one in twenty is so by accident."""

OFTEN = 0.1
BETRAYED = Disclosure(
    "ratios", "high", "shares to the last digit, from which the people of each class at small leaves follow", "counts"
)


def with_betrayed(model: Foreign) -> Foreign:
    """The model, said to tell counts where its leaves' shares are fractions of few people."""
    if model.leaf_level != "shares" or model.level == "counts" or not betrayed(model):
        return model
    rest = tuple(item for item in model.discloses if item != RATIOS)
    return replace(model, discloses=(BETRAYED, *rest))


def betrayed(model: Foreign) -> bool:
    """Is more than a tenth of the leaves with several classes a fraction of few people, to the last digit?"""
    shares = np.unique(np.concatenate([_shares(tree.says[tree.leaves]) for tree in model.trees]), axis=0)
    mixed = shares[(shares.max(axis=1) < 1 - CLOSE) & (shares.max(axis=1) > CLOSE)]
    rounded = abs(mixed - np.round(mixed, DIGITS)).max(axis=1, initial=0) < CLOSE
    if not len(mixed) or rounded.all():
        return False
    return bool(_fractions(mixed).mean() > OFTEN)


def _shares(says: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.nan_to_num(says / says.sum(axis=1, keepdims=True)))


def _fractions(shares: Floats) -> np.ndarray:
    """Whether all shares of a leaf are whole numbers of people over one number of them."""
    fits = np.zeros(len(shares), dtype=bool)
    for people in range(2, PEOPLE + 1):
        waiting = np.flatnonzero(~fits)
        if not len(waiting):
            break
        counted = shares[waiting] * people
        fits[waiting] = (abs(counted - np.rint(counted)) <= CLOSE * people).all(axis=1)
    return fits
