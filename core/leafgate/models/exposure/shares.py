"""Whether the number of people at a leaf follows from the shares of its classes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from leafgate.algorithms.consistency import decimal_places, share_units
from leafgate.ir.model import LeafValueKind, ModelIR
from leafgate.kernel.arrays import Floats, Ids, Mask
from leafgate.kernel.release import FileDisclosure

PEOPLE = 1000
"""Leaves of so many people and fewer are searched for: shares of more people approximate any number."""

FEW = 200
"""So few people are found out from rounded shares where all numbers of them that fit are multiples of one."""

CLOSE = 1e-7
"""Fractions are this near to what single precision keeps of them; of other numbers one in twenty is so by accident."""

EXACT = 1e-12
"""So near they are in double precision."""

OFTEN = 0.1
RARELY = 0.01
"""What happens by accident less often is none."""

RECOVERABLE_COUNTS = FileDisclosure(
    "ratios", "high", "shares to the last digit, from which the people of each class at small leaves follow", "counts"
)


RECOVERABLE_MEANS = FileDisclosure(
    "ratios", "high", "means to the last digit, from which people at small leaves and their sum follow", "counts"
)


def with_recoverable_counts(model: ModelIR) -> ModelIR:
    """The model with a disclosure of counts where the shares or means of its leaves are fractions of few people."""
    means = model.values == "values" and model.combine in {"one", "mean_per_tree"}
    if (model.leaf_level != "shares" and not means) or model.level == "counts" or not counts_recoverable(model):
        return model
    rest = tuple(item for item in model.discloses if item.kind != RECOVERABLE_COUNTS.kind)
    return replace(model, discloses=(RECOVERABLE_MEANS if means else RECOVERABLE_COUNTS, *rest))


def counts_recoverable(model: ModelIR) -> bool:
    """Can people be counted from the shares on some leaves with several classes, or from means of whole numbers?

    Where all shares are rounded to few digits, from a leaf that only multiples of one number of people fit; else where
    there are more fractions of few people than there would be by accident. That shares are rounded to a step the file
    may state, but nobody can prove. So people must follow neither from the step nor from the digits.
    """
    stated = [_shares(tree.values[tree.leaves], model.values) for tree in model.trees]
    of_classes = [each for each in stated if each.shape[1] > 1]  # a score of one class alone is no share
    if not of_classes:
        return False
    shares = np.unique(np.concatenate(of_classes), axis=0)
    mixed = shares[(shares.max(axis=1) < 1 - CLOSE) & (shares.max(axis=1) > CLOSE)]
    if not len(mixed):
        return False
    digits, units = decimal_places(mixed), share_units(mixed, model.discloses)
    if digits is None or units is None:
        return _fractions(mixed, model.values)
    return any(identifiable_rows(mixed, each).any() for each in {10**digits, units})


def _shares(says: Floats, kind: LeafValueKind) -> Floats:
    if kind == "values":
        beyond = says[:, 0] - np.floor(says[:, 0])
        return np.column_stack([beyond, 1 - beyond])
    says = np.where((says < 0).any(axis=1, keepdims=True), 0.0, says)  # scores below 0 are no shares
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.nan_to_num(says / says.sum(axis=1, keepdims=True)))


def identifiable_rows(shares: Floats, units: int) -> Mask:
    """Of which rows, multiples of 1 / units, all leaves of few people have a multiple of the same number of them.

    A class has somebody where its share is not 0. A share of two is within half a unit of what it is told as, of more
    within one: then the units that are left over have to go somewhere. Whether a share exactly between two multiples is
    rounded to this one depends on the order of classes, so rows count with such shares as well as without.
    """
    width = (0.5 if shares.shape[1] == 2 else 1.0) / units
    return _of_one_number(shares, width + EXACT) | _of_one_number(shares, width - EXACT)


def _of_one_number(shares: Floats, width: float) -> Mask:
    """Of which rows all leaves of few people, their shares so near, have a multiple of the same number of people."""
    first = np.zeros(len(shares), dtype=np.int64)
    left = np.arange(len(shares))
    for people in range(1, FEW + 1):
        result, there = shares[left], shares[left] > CLOSE
        least = np.where(there, np.maximum(np.ceil((result - width) * people), 1), 0)
        most = np.where(there, np.floor((result + width) * people), 0)
        fits = (least <= most).all(axis=1) & (least.sum(axis=1) <= people) & (most.sum(axis=1) >= people)
        free = fits & (first[left] > 0) & (people % np.maximum(first[left], 1) != 0)
        first[left] = np.where(fits & (first[left] == 0), people, first[left])
        left = left[~free]
    found = np.zeros(len(shares), dtype=bool)
    found[left] = first[left] > 0
    return found


def _fractions(shares: Floats, kind: LeafValueKind) -> bool:
    """Are more leaves fractions of few people, to the last digit, than by accident?

    Means may be of any numbers; shares are of people, so it needs less to believe it of them.
    """
    if kind != "values" and (_fewest(shares, CLOSE) <= PEOPLE).mean() > OFTEN:
        return True
    found = [(close, _fewest(shares, close)) for close in _closeness(shares)]
    return any(
        _is_no_accident(int((fewest <= people).sum()), len(shares) * close * people**2)
        for close, fewest in found
        for people in (30, FEW, PEOPLE)
    )


def _closeness(shares: Floats) -> tuple[float, ...]:
    """How near fractions are to these shares: to what a computer keeps of them, or to the decimals all of them are."""
    digits = next((n for n in range(4, 10) if (abs(shares - np.round(shares, n)) <= EXACT).all()), None)
    return (CLOSE, EXACT) if digits is None else (0.5 / 10**digits + EXACT,)


def _fewest(shares: Floats, close: float) -> Ids:
    """The fewest people of whom the shares of each row are whole numbers; more than PEOPLE where there are none."""
    alone = np.column_stack([_simplest(column, close) for column in shares.T]).max(axis=1)
    if shares.shape[1] == 2:
        return np.asarray(alone)
    found = np.full(len(shares), PEOPLE + 1)
    for people in range(2, PEOPLE + 1):
        waiting = np.flatnonzero((found > PEOPLE) & (alone <= people))
        counted = shares[waiting] * people
        found[waiting[(abs(counted - np.rint(counted)) <= close * people).all(axis=1)]] = people
    return found


def _simplest(shares: Floats, close: float) -> Ids:
    """The denominator of the simplest fraction this close to each share; more than PEOPLE where that is larger.

    Of all fractions in an interval the one whose continued fraction is that of all of it, up to where its ends part.
    """
    found = np.full(len(shares), PEOPLE + 1)
    least, most = np.maximum(shares - close, 0), shares + close
    before, now = np.ones(len(shares)), np.zeros(len(shares))
    left = np.arange(len(shares))
    while len(left):
        term = np.ceil(least)
        ends = term <= most
        found[left[ends]] = np.minimum(term * now + before, PEOPLE + 1)[ends]
        whole = np.floor(least)
        before, now = now, whole * now + before
        goes_on = ~ends & (now <= PEOPLE)
        left, before, now = left[goes_on], before[goes_on], now[goes_on]
        least, most = 1 / (most - whole)[goes_on], 1 / (least - whole)[goes_on]
    return found


def _is_no_accident(found: int, expected: float) -> bool:
    """Does chance find so many less often than RARELY? Chernoff's bound for a Poisson number."""
    return found > expected and found - expected + found * math.log(expected / found) < math.log(RARELY)
