"""Do shares betray how many people they are shares of?"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from leafgate.decimals import digits_of
from leafgate.disclosed import Disclosure
from leafgate.foreign.model import Flags, Floats, Foreign, Ids

PEOPLE = 1000
"""Leaves of so many people and fewer are looked for: shares of more cannot be told from any number."""

FEW = 200
"""So few people are found out from rounded shares where all numbers of them that fit are multiples of one."""

CLOSE = 1e-7
"""Fractions are this near to what single precision keeps of them; of other numbers one in twenty is so by accident."""

EXACT = 1e-12
"""So near they are in double precision."""

OFTEN = 0.1
RARELY = 0.01
"""What happens by accident less often is none."""

BETRAYED = Disclosure(
    "ratios", "high", "shares to the last digit, from which the people of each class at small leaves follow", "counts"
)


def with_betrayed(model: Foreign) -> Foreign:
    """The model, said to tell counts where its leaves' shares are fractions of few people."""
    if model.leaf_level != "shares" or model.level == "counts" or not betrayed(model):
        return model
    rest = tuple(item for item in model.discloses if item.kind != BETRAYED.kind)
    return replace(model, discloses=(BETRAYED, *rest))


def betrayed(model: Foreign) -> bool:
    """Can people be counted from the shares on some leaves with several classes?

    Where all shares are rounded to few digits, from a leaf that only multiples of one number of people fit; else where
    there are more fractions of few people than there would be by accident.
    """
    shares = np.unique(np.concatenate([_shares(tree.says[tree.leaves]) for tree in model.trees]), axis=0)
    mixed = shares[(shares.max(axis=1) < 1 - CLOSE) & (shares.max(axis=1) > CLOSE)]
    if not len(mixed):
        return False
    digits = digits_of(mixed)
    return _fractions(mixed) if digits is None else bool(pinned(mixed, digits).any())


def _shares(says: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.nan_to_num(says / says.sum(axis=1, keepdims=True)))


def pinned(shares: Floats, digits: int) -> Flags:
    """Of which rows, rounded to so many digits, all leaves of few people have a multiple of the same number of them.

    A class has somebody where its share is not 0. A share of two is within half a unit of what it is told as, of more
    within one: then the units that are left over have to go somewhere.
    """
    width = (0.5 if shares.shape[1] == 2 else 1.0) / 10**digits + EXACT
    first = np.zeros(len(shares), dtype=np.int64)
    free = np.zeros(len(shares), dtype=bool)
    there = shares > CLOSE
    for people in range(1, FEW + 1):
        least = np.where(there, np.maximum(np.ceil((shares - width) * people), 1), 0)
        most = np.where(there, np.floor((shares + width) * people), 0)
        fits = (least <= most).all(axis=1) & (least.sum(axis=1) <= people) & (most.sum(axis=1) >= people)
        free |= fits & (first > 0) & (people % np.maximum(first, 1) != 0)
        first[fits & (first == 0)] = people
    return np.asarray((first > 0) & ~free)


def _fractions(shares: Floats) -> bool:
    """Are more leaves fractions of few people, to the last digit, than by accident?"""
    if (_fewest(shares, CLOSE) <= PEOPLE).mean() > OFTEN:
        return True
    return any(
        _is_no_accident(int((fewest <= people).sum()), len(shares) * close * people**2)
        for close in _closeness(shares)
        for fewest in [_fewest(shares, close)]
        for people in (30, FEW, PEOPLE)
    )


def _closeness(shares: Floats) -> tuple[float, ...]:
    """How near fractions are to these shares: to what a computer keeps of them, or to the decimals all of them are."""
    digits = next((n for n in range(4, 10) if (abs(shares - np.round(shares, n)) <= EXACT).all()), None)
    return (CLOSE, EXACT) if digits is None else (0.5 / 10**digits + EXACT,)


def _fewest(shares: Floats, close: float) -> Ids:
    """The fewest people of whom the shares of each row are whole numbers; more than PEOPLE where there are none."""
    found = np.full(len(shares), PEOPLE + 1)
    for people in range(2, PEOPLE + 1):
        waiting = np.flatnonzero(found > PEOPLE)
        if not len(waiting):
            break
        counted = shares[waiting] * people
        found[waiting[(abs(counted - np.rint(counted)) <= close * people).all(axis=1)]] = people
    return found


def _is_no_accident(found: int, expected: float) -> bool:
    """Does chance find so many less often than RARELY? Chernoff's bound for a Poisson number."""
    return found > expected and found - expected + found * math.log(expected / found) < math.log(RARELY)
