"""Shares of classes rounded to a few digits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from leafgate.api import FileDisclosure, Floats, Ids, ModelIR, ReleaseError
from leafgate.app import with_implied_disclosures
from leafgate_convert.merging import collapse_equal_leaves

DIGITS = 2
MEETINGS = 1_000_000
"""So many choices of a leaf from every tree are tried one by one."""

NEAR = 1e-9
"""What floating point makes of a whole number of units."""


def with_rounded(model: ModelIR, digits: int, place: str, *, merge: bool = True) -> ModelIR:
    """The model with every leaf's shares rounded, siblings that say the same made one unless `merge` is False.

    Raises ReleaseError where a share would change by more than a unit of the last digit, or where people could be
    counted from what is left.
    """
    trees = []
    for tree in model.trees:
        says = np.array(tree.values)
        says[tree.leaves] = rounded(tree.values[tree.leaves], digits)
        if abs(says - tree.values)[tree.leaves].max() > 10.0**-digits + NEAR:
            raise ReleaseError(
                f"has more classes on a leaf than {digits} digit(s) can tell apart",
                place=place,
                remedy=f"--digits {digits + 1}",
            )
        less_precise = replace(tree, values=says)
        trees.append(collapse_equal_leaves(less_precise) if merge else less_precise)
    says_so = f"shares of classes, rounded to {digits} digit(s)"
    less = replace(model, trees=tuple(trees), discloses=(FileDisclosure("ratios", "medium", says_so),))
    if with_implied_disclosures(less).level == "counts":
        raise ReleaseError(
            f"has leaves whose people follow from shares of {digits} digits",
            place=place,
            remedy=f"--digits {digits - 1}",
        )
    return less


def rounded(shares: Floats, digits: int) -> Floats:
    """Each row in units of the last digit: they sum to 1, the first of the largest stays it, and who is there stays.

    The units left over go to the largest remainders; a class that is there keeps one unit at least, so that nobody is
    said to be missing who is not.

    >>> rounded(np.array([[1 / 3, 2 / 3], [0.498, 0.502], [0.999, 0.001]]), 2).tolist()
    [[0.33, 0.67], [0.49, 0.51], [0.99, 0.01]]
    """
    whole = 10**digits
    exact = shares / shares.sum(axis=1, keepdims=True) * whole
    units = np.floor(exact + NEAR).astype(np.int64)
    order = np.argsort(-(exact - units), axis=1, kind="stable")
    rank = np.argsort(order, axis=1, kind="stable")
    units += rank < (whole - units.sum(axis=1))[:, None]
    first = shares.argmax(axis=1)
    silent = (shares > 0) & (units == 0)
    units += silent
    units[np.arange(len(units)), first] -= silent.sum(axis=1)
    for row in np.flatnonzero(units.argmax(axis=1) != first).tolist():
        _raise(units[row], exact[row], int(first[row]))
    return np.asarray(units / whole)


def _raise(units: Ids, exact: Floats, first: int) -> None:
    """Units for the class that is first, from those that have most too many."""
    while units.argmax() != first:
        too_many = np.where(units > 1, units - exact, -np.inf)
        too_many[first] = -np.inf
        units[too_many.argmax()] -= 1
        units[first] += 1


def largest_change(model: ModelIR, digits: int) -> float:
    """By how much a predicted share differs at most after rounding: exact for one tree, for a mean of trees a bound."""
    leaves = [tree.values[tree.leaves] for tree in model.trees]
    each = [float(abs(rounded(says, digits) - says).max()) for says in leaves]
    return float(np.mean(each)) if model.combine == "mean_per_tree" else max(each)


def same_labels(model: ModelIR, digits: int) -> bool:
    """Is it certain that no label changes, whichever leaves of its trees meet? False where they are too many to try."""
    if model.combine in {"one", "vote"}:
        return True  # every leaf's own first class stays
    leaves = [tree.values[tree.leaves] for tree in model.trees]
    if model.combine != "mean_per_tree" or math.prod(map(len, leaves)) > MEETINGS:
        return False
    exact, rough = (_sums(each) for each in (leaves, [rounded(says, digits) for says in leaves]))
    return bool((exact.argmax(axis=1) == rough.argmax(axis=1)).all())


def _sums(leaves: Sequence[Floats]) -> Floats:
    """What the trees say together, for each choice of a leaf from every tree."""
    total = np.zeros((1, leaves[0].shape[1]))
    for says in leaves:
        total = (total[:, None] + says).reshape(-1, says.shape[1])
    return total
