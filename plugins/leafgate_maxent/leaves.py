"""What the leaves tell, as constraints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from leafgate.release import Release
from leafgate.routing import NOWHERE, leaf_votes
from leafgate.schema import Column
from leafgate.tree import Leaf
from leafgate_maxent.linear import Linear, at_least, no_class_more_than, shares_of_classes
from leafgate_maxent.strata import Strata
from leafgate_maxent.walk import Floats, Ids, Walked

CLOSE = 1e-6
"""A share of people this close to a whole number of them is that number."""


def leaf_constraints(
    release: Release, trees: Sequence[Walked], strata: Strata, weight: Floats, target: Column
) -> Iterator[Linear]:
    """Of exact numbers equalities; of others only what is true of the table's people whoever was counted."""
    for number, tree in enumerate(trees):
        group = np.ascontiguousarray(strata.leaf[:, number])
        if release.counted == "exact":
            yield from _exact(release, tree, number, group, _sizes(strata, group, weight, tree), target)
        elif release.counted in {"sampled", "bootstrap"}:
            yield from _somebody(release, tree, group, target)


def label_constraints(
    release: Release,
    trees: Sequence[Walked],
    strata: Strata,
    weight: Floats,
    target: Column,
    accuracies: Mapping[str, float] | None,
) -> Iterator[Linear]:
    """Of the people with each predicted class, as many have it as the label's accuracy says."""
    if accuracies is None:
        return
    classes = [str(value) for value in target.domain]
    group = _predicted(release, trees, strata, classes)
    told = np.full((len(classes), len(classes)), np.nan)
    for x, name in enumerate(classes):
        told[x, x] = accuracies.get(name, np.nan)
        told[x, np.arange(len(classes)) != x] = 0.0 if told[x, x] == 1 else np.nan
    told[np.bincount(group[group >= 0], minlength=len(classes)) == 0] = np.nan
    size = None
    if not (strata.share != 1).any() and strata.member is None:
        inside = group >= 0
        size = np.bincount(group[inside], weights=weight[inside], minlength=len(classes)).astype(np.float64)
        told = _whole(told * size[:, None])
    if not np.isnan(told).all():
        yield shares_of_classes("label accuracy", group, told, size)


def _predicted(release: Release, trees: Sequence[Walked], strata: Strata, classes: Sequence[str]) -> Ids:
    """The class that all trees together predict for each stratum, -1 where no leaf speaks.

    By a vote of the labels where what the model adds up is not published.
    """
    votes = _added(release, trees, strata)
    votes = _added(replace(release, combine="vote"), trees, strata) if np.isnan(votes).any() else votes
    position = np.array([classes.index(name) for name in release.classes])
    return np.where(votes.sum(axis=1) > 0, position[votes.argmax(axis=1)], -1)


def _added(release: Release, trees: Sequence[Walked], strata: Strata) -> Floats:
    votes = np.zeros((len(strata), len(release.classes)))
    for number, tree in enumerate(trees):
        votes += leaf_votes(release, tree.leaves)[strata.leaf[:, number]]
    return votes


def leaf_statistics(release: Release, trees: Sequence[Walked], strata: Strata, target: Column) -> Floats | None:
    """For each stratum the mean, over the trees, of what its leaves say of the classes; None where none does.

    A leaf says its counts or shares, or its error rate, spread over the other classes. A stratum none of whose leaves
    does has a row of NaN.
    """
    classes = [str(value) for value in target.domain]
    total, spoken = np.zeros((len(strata), len(classes))), np.zeros((len(strata), 1))
    for number, tree in enumerate(trees):
        rows = np.array([*(_statistic(leaf, classes) for leaf in tree.leaves), [np.nan] * len(classes)])
        rows = rows[strata.leaf[:, number]]
        speaks = ~np.isnan(rows).any(axis=1, keepdims=True)
        total, spoken = total + np.where(speaks, rows, 0), spoken + speaks
    return np.divide(total, spoken, where=spoken > 0, out=np.full_like(total, np.nan)) if spoken.any() else None


def _statistic(leaf: Leaf, classes: Sequence[str]) -> list[float]:
    numbers = leaf.counts if leaf.counts is not None else leaf.shares
    total = 0.0 if numbers is None else sum(numbers.values())
    if numbers is not None and total > 0:
        return [numbers.get(name, 0) / total for name in classes]
    if leaf.error_rate is not None and leaf.label in classes:
        others = leaf.error_rate / max(len(classes) - 1, 1)
        return [1 - leaf.error_rate if name == leaf.label else others for name in classes]
    return [np.nan] * len(classes)


def _sizes(strata: Strata, group: Ids, weight: Floats, tree: Walked) -> Floats | None:
    """The people in each leaf, where everyone's leaf is known."""
    if (strata.share != 1).any() or strata.member is not None:
        return None
    inside = group != NOWHERE
    return np.bincount(group[inside], weights=weight[inside], minlength=len(tree.leaves)).astype(np.float64)


def _exact(
    release: Release, tree: Walked, number: int, group: Ids, size: Floats | None, target: Column
) -> Iterator[Linear]:
    classes = [str(value) for value in target.domain]
    there = np.bincount(group[group != NOWHERE], minlength=len(tree.leaves)) > 0
    counts = np.array([_row(leaf, classes) for leaf in tree.leaves]).reshape(-1, len(classes))
    told = np.where(there[:, None] | (counts > 0), counts, np.nan)
    if not np.isnan(told).all():
        yield shares_of_classes("leaf count", group, told, np.ones(len(told)), number)
    shares = np.array([_shares(leaf, classes, release) for leaf in tree.leaves]).reshape(-1, len(classes))
    kind = "leaf count" if release.publish.leaves == "shares" else "leaf rate"
    shares[~there] = np.nan
    if not np.isnan(shares).all():
        told = shares if size is None else _whole(shares * size[:, None])
        told[np.isnan(told) & (np.nan_to_num(shares).max(axis=1, keepdims=True) == 1)] = 0
        yield shares_of_classes("leaf count" if kind == "leaf count" else "leaf rate", group, told, size, number)
    if release.publish.leaves in {"labels", "error_rates"}:
        label = np.array([_label(leaf, classes) if here else -1 for leaf, here in zip(tree.leaves, there, strict=True)])
        yield no_class_more_than(label, group, len(classes), number)


def _row(leaf: Leaf, classes: Sequence[str]) -> list[float]:
    """The leaf's people in each class; NaN where they are not told."""
    return [np.nan if leaf.counts is None else float(leaf.counts.get(name, 0)) for name in classes]


def _shares(leaf: Leaf, classes: Sequence[str], release: Release) -> list[float]:
    """The shares a leaf tells: of each class, or of its label alone; NaN: not told. In a leaf of nobody all are 0."""
    if leaf.counts is None and release.is_empty(leaf):
        return [0.0] * len(classes)
    if leaf.counts is None and leaf.shares is not None:
        return [leaf.shares.get(name, 0.0) for name in classes]
    if leaf.counts is None and leaf.error_rate is not None:
        return [1 - leaf.error_rate if name == leaf.label else np.nan for name in classes]
    return [np.nan] * len(classes)


def _whole(people: Floats) -> Floats:
    """Whole people, where rounding of shares alone keeps a number from being whole."""
    near = np.round(people)
    return np.where(np.abs(people - near) <= CLOSE * np.maximum(near, 1), near, people)


def _label(leaf: Leaf, classes: Sequence[str]) -> int:
    return classes.index(leaf.label) if leaf.label in classes else -1


def _somebody(release: Release, tree: Walked, group: Ids, target: Column) -> Iterator[Linear]:
    """Whoever was counted is in the table: a sample's people all, of a bootstrap at least one of each class."""
    masks: list[NDArray[np.bool_]] = []
    bounds: list[float] = []
    about: list[int] = []
    for leaf, stated in enumerate(tree.leaves):
        told = stated.counts if stated.counts is not None else stated.shares or {}
        for x, name in enumerate(map(str, target.domain)):
            if told.get(name, 0) > 0:
                many = release.counted == "sampled" and stated.counts is not None
                masks.append((group == leaf)[:, None] & (np.arange(len(target.domain)) == x))
                bounds.append(float(told[name]) if many else 1.0)
                about.append(leaf)
    if masks:
        yield at_least("leaf count", masks, bounds, about=about)
