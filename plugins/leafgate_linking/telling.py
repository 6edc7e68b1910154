"""What a tree's leaves say about one secret of the people who can reach them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leafgate.bins import bins_between
from leafgate.possible import Interval, Rest, rest_of
from leafgate.release import Release
from leafgate.schema import Column
from leafgate.tree import Leaf
from leafgate_linking.grouping import Reached

Shares = NDArray[np.float64]


def told_by_leaves(
    reached: Sequence[Reached], secret: Column, release: Release, prior: Shares, class_value: str | None
) -> Shares:
    """The belief about `secret`, over its domain, of people who can reach just these leaves.

    The class: counts pooled over the leaves; shares and error rates averaged (by nothing better
    than equal weights, sizes being unknown); labels alone say nothing that a probability could be
    made of, so the prior stays. Another secret: within a leaf the prior, restricted to what the
    tests on the way allow; leaves by size where counts tell it, else the prior as it is. Numbers that
    are not exact counts of the table's people are never taken for certain.

    `class_value` is the people's own class where that is public.
    Source: Friedman, Schuster, Wolff 2006, Definition 5 (what is linked to a span).
    """
    if secret.name == release.target:
        told = _class(reached, release, prior)
    else:
        told = _other(reached, secret, prior, class_value)
    sizes = [each.leaf.size for each in reached]
    known = 1.0 if None in sizes else sum(size for size in sizes if size is not None)
    return told if release.counted == "exact" else doubted(told, known)


def _class(reached: Sequence[Reached], release: Release, prior: Shares) -> Shares:
    rows = [row for each in reached if (row := _leaf_row(each.leaf, release.classes)) is not None]
    total = np.sum(rows, axis=0) if rows else np.zeros(len(prior))
    return total / total.sum() if total.sum() > 0 else prior


def _leaf_row(leaf: Leaf, classes: Sequence[str]) -> Shares | None:
    """People per class where counts are published, else shares; None for a leaf that tells neither."""
    told = leaf.counts if leaf.counts is not None else leaf.shares
    if told is not None:
        return np.array([float(told[name]) for name in classes])
    if leaf.error_rate is None or leaf.label is None:
        return None
    others = max(len(classes) - 1, 1)
    return np.array([1 - leaf.error_rate if name == leaf.label else leaf.error_rate / others for name in classes])


def _other(reached: Sequence[Reached], secret: Column, prior: Shares, class_value: str | None) -> Shares:
    told = np.zeros(len(prior))
    for each in reached:
        if each.leaf.counts is None:
            return prior
        size = sum(each.leaf.counts.values()) if class_value is None else each.leaf.counts[class_value]
        rest = rest_of(secret, each.possible)
        can_be = _can_be(secret, rest)
        allowed = prior * can_be if (prior * can_be).any() else can_be
        told += size * allowed / allowed.sum()
    return told / told.sum() if told.sum() > 0 else prior


def _can_be(secret: Column, rest: Rest) -> Shares:
    """Which of the secret's values, or a number's bins, the tests leave possible: 1 or 0."""
    if isinstance(rest, Interval):
        return bins_between(secret.bins or (), rest.low, rest.high, open_low=True).astype(np.float64)
    return np.array([float(value in rest) for value in secret.domain])


def doubted(told: Shares, counted: float) -> Shares:
    """Rule of succession: shares among `counted` people (at least 1), with one more of each value."""
    n = max(counted, 1.0)
    return (told * n + 1) / (n + len(told))


def joined(beliefs: Sequence[tuple[Shares, NDArray[np.int64]]], *, exact: bool) -> Shares:
    """One belief from several trees: their mean; with exact numbers what one tree rules out is out.

    Of each tree there are the different beliefs, and for each group which of them is its own; a row for each group
    comes back.
    """
    told, which = beliefs[0]
    total = told[which]
    least = total.copy()
    for told, which in beliefs[1:]:
        mine = told[which]
        total += mine
        np.minimum(least, mine, out=least)
    mean = total / len(beliefs)
    if exact:
        possible = np.where(least > 0, mean, 0)
        mean = np.where(possible.sum(axis=1, keepdims=True) > 0, possible, mean)
    return np.asarray(mean / mean.sum(axis=1, keepdims=True))
