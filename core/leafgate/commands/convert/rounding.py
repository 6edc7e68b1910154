"""Shares of classes rounded to a few digits, or to multiples of a step; numbers on leaves rounded to a power of ten."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from leafgate.api import FileDisclosure, Floats, Ids, ReleaseError
from leafgate.commands.convert.merging import collapse_equal_leaves
from leafgate.models.exposure.implied import with_implied_disclosures
from leafgate.readers import ModelIR

UNITS = 100
"""Shares are rounded to multiples of 1 / UNITS, two digits, unless somebody chooses otherwise."""

FEWEST_UNITS = 2
MOST_UNITS = 1000
MEETINGS = 1_000_000
"""So many choices of a leaf from every tree are tried one by one."""

NEAR = 1e-9
"""What floating point makes of a whole number of units."""


def with_rounded(model: ModelIR, units: int, place: str, *, merge: bool = True) -> ModelIR:
    """The model with every leaf's shares rounded, siblings that say the same made one unless `merge` is False.

    Args:
        model: A model whose leaves have shares of classes.
        units: Shares become multiples of 1 / units.
        place: The name of the model's file, for errors.
        merge: Whether siblings that say the same become one leaf.

    Raises:
        ReleaseError: A share would change by more than a unit, a class would appear, vanish or lose its first place, or
            people could be counted from what is left.
    """
    trees = []
    for tree in model.trees:
        says = np.array(tree.values)
        before = tree.values[tree.leaves]
        after = says[tree.leaves] = rounded(before, units)
        same_classes = ((before > 0) == (after > 0)).all() and (before.argmax(axis=1) == after.argmax(axis=1)).all()
        if not same_classes or abs(after - before).max() > 1 / units + NEAR:
            raise ReleaseError(
                f"has more classes on a leaf than {precision(units)} can tell apart",
                place=place,
                remedy=finer(units),
            )
        less_precise = replace(tree, values=says)
        trees.append(collapse_equal_leaves(less_precise) if merge else less_precise)
    says_so = f"shares of classes, rounded to {precision(units)}"
    less = replace(model, trees=tuple(trees), discloses=(FileDisclosure("ratios", "medium", says_so),))
    if with_implied_disclosures(less).level == "counts":
        raise ReleaseError(
            f"has leaves whose people follow from shares rounded to {precision(units)}",
            place=place,
            remedy="--digits 2" if units > 100 else "--digits 1",
        )
    return less


def with_rounded_numbers(model: ModelIR) -> ModelIR:
    """The model of numbers with those on its leaves rounded, so that people do not follow from their last digits.

    They become multiples of a power of ten that is no more than a twentieth of the leaves' standard deviation; where
    people can still be counted from these, of one that is no more than half of it. All are then moved by one
    irrational part of the step, so that none is a number that somebody has. Boosting, whose numbers are no means of
    people, stays as it is.

    The step is coarse beside the leaves, not beside the people: where a few leaves lie far from all others, these say
    little any more, which the use of the new file shows.

    >>> round_power(np.array([12_340.0, 38_190.0, 51_020.0]), 20)
    2
    """
    if not has_means(model):
        return model
    numbers = np.concatenate([tree.values[tree.leaves, 0] for tree in model.trees])
    if not np.ptp(numbers) > 0:
        return model
    steps = [10.0 ** round_power(numbers, parts) for parts in PARTS]
    # whoever knows by how much they are moved moves them back, so the multiples themselves must not tell
    step = next((each for each in steps if not _tells_counts(_on_grid(model, each, 0.0))), steps[-1])
    return _on_grid(model, step, MOVED)


def _tells_counts(model: ModelIR) -> bool:
    """Do counts follow from the numbers on its leaves, whatever else its file discloses?"""
    return with_implied_disclosures(replace(model, discloses=())).level == "counts"


def _on_grid(model: ModelIR, step: float, moved: float) -> ModelIR:
    """The model with each number on the nearest multiple of a step, all moved by a part of it."""
    values = (step * (np.round(tree.values / step - moved) + moved) for tree in model.trees)
    trees = (replace(tree, values=each, numbers=()) for tree, each in zip(model.trees, values, strict=True))
    return replace(model, trees=tuple(trees))


def has_means(model: ModelIR) -> bool:
    """Are there numbers on its leaves that may be means of people's?"""
    return not model.classes and model.combine in {"one", "mean_per_tree"}


MOVED = math.sqrt(2) - 1
"""Rounded numbers lie by this part of a step beside its multiples."""

PARTS = (20, 2)
"""Numbers on leaves are rounded to no more than one of so many parts of their standard deviation."""


def round_power(numbers: Floats, parts: int) -> int:
    """The largest power of ten that is no more than one of so many parts of the numbers' standard deviation."""
    return math.floor(math.log10(float(np.std(numbers)) / parts))


def precision(units: int) -> str:
    """What multiples of 1 / units are, in words.

    >>> precision(100), precision(20)
    ('2 digit(s)', 'steps of 0.05')
    """
    return f"{len(str(units)) - 1} digit(s)" if units in {10, 100, 1000} else f"steps of {1 / units}"


def finer(units: int) -> str:
    """The option of `leafgate scrub` that keeps one more digit than multiples of 1 / units have; empty for the last."""
    return f"--digits {len(str(units))}" if units < MOST_UNITS else ""


def rounded(shares: Floats, units: int) -> Floats:
    """Each row as multiples of 1 / units: they sum to 1, the first of the largest stays it, and who is there stays.

    The units left over go to the largest remainders; a class that is there keeps one unit at least, so that nobody is
    said to be missing who is not. Rows with too many classes for so few units are left without one of these properties.

    >>> rounded(np.array([[1 / 3, 2 / 3], [0.498, 0.502], [0.999, 0.001]]), 100).tolist()
    [[0.33, 0.67], [0.49, 0.51], [0.99, 0.01]]
    >>> rounded(np.array([[1 / 3, 2 / 3], [0.498, 0.502], [0.999, 0.001]]), 20).tolist()
    [[0.35, 0.65], [0.45, 0.55], [0.95, 0.05]]
    """
    exact = shares / shares.sum(axis=1, keepdims=True) * units
    parts = np.floor(exact + NEAR).astype(np.int64)
    order = np.argsort(-(exact - parts), axis=1, kind="stable")
    rank = np.argsort(order, axis=1, kind="stable")
    parts += rank < (units - parts.sum(axis=1))[:, None]
    first = shares.argmax(axis=1)
    silent = (shares > 0) & (parts == 0)
    parts += silent
    parts[np.arange(len(parts)), first] -= silent.sum(axis=1)
    for row in np.flatnonzero(parts.argmax(axis=1) != first).tolist():
        _raise(parts[row], exact[row], int(first[row]))
    return np.asarray(parts / units)


def _raise(parts: Ids, exact: Floats, first: int) -> None:
    """Units for the class that is first, from those that have most too many, while somebody has more than one."""
    spare = np.arange(len(parts)) != first
    while parts.argmax() != first and (parts[spare] > 1).any():
        too_many = np.where(spare & (parts > 1), parts - exact, -np.inf)
        parts[too_many.argmax()] -= 1
        parts[first] += 1


def largest_change(model: ModelIR, units: int) -> float:
    """By how much a predicted share differs at most after rounding: exact for one tree, for a mean of trees a bound."""
    leaves = [tree.values[tree.leaves] for tree in model.trees]
    each = [float(abs(rounded(says, units) - says).max()) for says in leaves]
    return float(np.mean(each)) if model.combine == "mean_per_tree" else max(each)


def same_labels(model: ModelIR, units: int) -> bool:
    """Is it certain that no label changes, whichever leaves of its trees meet? False where they are too many to try."""
    if model.combine in {"one", "vote"}:
        return True  # every leaf's own first class stays
    leaves = [tree.values[tree.leaves] for tree in model.trees]
    if model.combine != "mean_per_tree" or math.prod(map(len, leaves)) > MEETINGS:
        return False
    exact, rough = (_sums(each) for each in (leaves, [rounded(says, units) for says in leaves]))
    return bool((exact.argmax(axis=1) == rough.argmax(axis=1)).all())


def _sums(leaves: Sequence[Floats]) -> Floats:
    """What the trees say together, for each choice of a leaf from every tree."""
    total = np.zeros((1, leaves[0].shape[1]))
    for says in leaves:
        total = (total[:, None] + says).reshape(-1, says.shape[1])
    return total
