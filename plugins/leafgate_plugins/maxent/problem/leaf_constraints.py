"""Linear constraints: what leaves, labels, distributions and background knowledge imply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse as sp

from leafgate.algorithms.prediction import classes_at_leaves
from leafgate.algorithms.routing import NOWHERE
from leafgate.api import Column, Floats, Ids, Leaf, Mask, Release
from leafgate_plugins.maxent.problem.strata import Strata
from leafgate_plugins.maxent.problem.tree_index import TreeIndex

Kind = Literal["row", "leaf count", "leaf rate", "label", "label accuracy", "distribution", "background"]


@dataclass(frozen=True)
class LinearConstraints:
    """Rows of one kind: `matrix @ people >= bound`, or `==` where `equal`.

    `about` says, for each row, what it is about: the leaf's or the public row's or the fact's
    number, and the class where one is meant (else -1); `tree` which tree a leaf belongs to.
    """

    kind: Kind
    matrix: sp.csr_array
    bound: Floats
    equal: bool
    about: Ids
    tree: int = 0

    def __len__(self) -> int:
        return len(self.bound)

    def violation(self, people: Floats) -> Floats:
        """By how many people each row is missed."""
        short = self.bound - self.matrix @ people.ravel()
        return np.asarray(np.abs(short) if self.equal else np.maximum(short, 0))


def rows_of(entries: Sequence[tuple[Ids, Ids, Floats]], shape: tuple[int, int]) -> sp.csr_array:
    """A matrix from (row, cell, coefficient) triples."""
    row, cell, number = (np.concatenate(part) for part in zip(*entries, strict=True))
    matrix = sp.csr_array((number, (row, cell)), shape=shape)
    matrix.eliminate_zeros()
    return matrix


def row_constraints(row: Ids, weight: Floats, classes: int) -> LinearConstraints:
    """All the people of each public row: row constraints."""
    cells = np.arange(len(row) * classes)
    ones = np.ones(len(cells))
    matrix = rows_of([(np.repeat(row, classes), cells, ones)], (len(weight), len(cells)))
    about = np.stack([np.arange(len(weight)), np.full(len(weight), -1)], axis=1)
    return LinearConstraints("row", matrix, weight.astype(np.float64), True, about)


def class_count_constraints(
    kind: Kind, group: Ids, shares: Floats, size: Floats | None, tree: int = 0
) -> LinearConstraints:
    """In each group the people of each class are a known part of the group's people.

    `group[s]` is a stratum's group or -1; `shares` has a row a group and a column a class (NaN: not
    published). With `size`, the people in each group, `shares` are people; else shares.
    """
    classes = shares.shape[1]
    known = np.argwhere(~np.isnan(shares))
    number = np.full(shares.shape, -1)
    number[known[:, 0], known[:, 1]] = np.arange(len(known))
    inside = np.flatnonzero(group >= 0)
    which = number[group[inside]]
    at, x = np.nonzero(which >= 0)
    entries = [(which[at, x], inside[at] * classes + x, np.ones(len(at)))]
    if size is None:
        part = np.repeat(shares[group[inside][at], x], classes)
        cells = (inside[at][:, None] * classes + np.arange(classes)).ravel()
        entries.append((np.repeat(which[at, x], classes), cells, -part))
    bound = np.zeros(len(known)) if size is None else shares[known[:, 0], known[:, 1]]
    return LinearConstraints(kind, rows_of(entries, (len(known), len(group) * classes)), bound, True, known, tree)


def majority_constraints(label: Ids, group: Ids, classes: int, tree: int = 0) -> LinearConstraints:
    """In each group at least as many people have its label as any other class: label constraints."""
    labelled = np.flatnonzero(label >= 0)
    others = np.array([(g, x) for g in labelled.tolist() for x in range(classes) if x != label[g]], dtype=np.int64)
    about = others.reshape(-1, 2)
    number = np.full((len(label), classes), -1)
    number[about[:, 0], about[:, 1]] = np.arange(len(about))
    inside = np.flatnonzero((group >= 0) & (label[group] >= 0))
    which = number[group[inside]]
    at, x = np.nonzero(which >= 0)
    mine = which[at, x]
    entries = [
        (mine, inside[at] * classes + label[group[inside][at]], np.ones(len(at))),
        (mine, inside[at] * classes + x, -np.ones(len(at))),
    ]
    matrix = rows_of(entries, (len(about), len(group) * classes))
    return LinearConstraints("label", matrix, np.zeros(len(about)), False, about, tree)


def mask_constraints(
    kind: Kind,
    masks: Sequence[Mask],
    bounds: Sequence[float],
    *,
    about: Sequence[int] | None = None,
    equal: bool = False,
) -> LinearConstraints:
    """For each mask of cells: at least (or just) so many people are in it."""
    shape = (len(masks), masks[0].size if masks else 0)
    entries = [
        (np.full(int(mask.sum()), i), np.flatnonzero(mask.ravel()), np.ones(int(mask.sum())))
        for i, mask in enumerate(masks)
    ]
    matrix = rows_of(entries, shape) if entries else sp.csr_array(shape)
    numbers = np.arange(len(masks)) if about is None else np.array(about)
    named = np.stack([numbers, np.full(len(masks), -1)], axis=1)
    return LinearConstraints(kind, matrix, np.array(bounds, dtype=np.float64), equal, named)


WHOLE_NUMBER_TOLERANCE = 1e-6
"""A share of people this close to a whole number of them is that number."""


def leaf_constraints(
    release: Release, trees: Sequence[TreeIndex], strata: Strata, weight: Floats, target: Column
) -> Iterator[LinearConstraints]:
    """Of exact numbers equalities; of others only what is true of the table's people whoever was counted."""
    for number, tree in enumerate(trees):
        group = np.ascontiguousarray(strata.leaf[:, number])
        if release.count_semantics == "exact":
            yield from _exact_constraints(release, tree, number, group, _sizes(strata, group, weight, tree), target)
        elif release.count_semantics in {"sampled", "bootstrap"}:
            yield from _lower_bounds(release, tree, group, target)


def label_constraints(
    release: Release,
    strata: Strata,
    weight: Floats,
    target: Column,
    accuracies: Mapping[str, float] | None,
) -> Iterator[LinearConstraints]:
    """Of the people with each predicted class, as many have it as the label's accuracy says."""
    if accuracies is None:
        return
    classes = [str(value) for value in target.domain]
    found = classes_at_leaves(release, lambda: iter(strata.leaf.T), len(strata))
    position = np.array([*map(classes.index, release.classes), -1])
    group = position[found]
    values = np.full((len(classes), len(classes)), np.nan)
    for x, name in enumerate(classes):
        values[x, x] = accuracies.get(name, np.nan)
        values[x, np.arange(len(classes)) != x] = 0.0 if values[x, x] == 1 else np.nan
    values[np.bincount(group[group >= 0], minlength=len(classes)) == 0] = np.nan
    size = None
    if not (strata.share != 1).any() and strata.member is None:
        inside = group >= 0
        size = np.bincount(group[inside], weights=weight[inside], minlength=len(classes)).astype(np.float64)
        values = _round_to_people(values * size[:, None])
    if not np.isnan(values).all():
        yield class_count_constraints("label accuracy", group, values, size)


def leaf_statistics(trees: Sequence[TreeIndex], strata: Strata, target: Column) -> Floats | None:
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


def _sizes(strata: Strata, group: Ids, weight: Floats, tree: TreeIndex) -> Floats | None:
    """The people in each leaf, where everyone's leaf is known."""
    if (strata.share != 1).any() or strata.member is not None:
        return None
    inside = group != NOWHERE
    return np.bincount(group[inside], weights=weight[inside], minlength=len(tree.leaves)).astype(np.float64)


def _exact_constraints(
    release: Release, tree: TreeIndex, number: int, group: Ids, size: Floats | None, target: Column
) -> Iterator[LinearConstraints]:
    classes = [str(value) for value in target.domain]
    there = np.bincount(group[group != NOWHERE], minlength=len(tree.leaves)) > 0
    counts = np.array([_leaf_counts(leaf, classes) for leaf in tree.leaves]).reshape(-1, len(classes))
    values = np.where(there[:, None] | (counts > 0), counts, np.nan)
    if not np.isnan(values).all():
        yield class_count_constraints("leaf count", group, values, np.ones(len(values)), number)
    shares = np.array([_leaf_shares(leaf, classes, release) for leaf in tree.leaves]).reshape(-1, len(classes))
    kind = "leaf count" if release.publish.leaves == "shares" else "leaf rate"
    shares[~there] = np.nan
    if not np.isnan(shares).all():
        values = shares if size is None else _round_to_people(shares * size[:, None])
        values[np.isnan(values) & (np.nan_to_num(shares).max(axis=1, keepdims=True) == 1)] = 0
        yield class_count_constraints(
            "leaf count" if kind == "leaf count" else "leaf rate", group, values, size, number
        )
    if release.publish.leaves in {"labels", "error_rates"}:
        label = np.array([_label(leaf, classes) if here else -1 for leaf, here in zip(tree.leaves, there, strict=True)])
        yield majority_constraints(label, group, len(classes), number)


def _leaf_counts(leaf: Leaf, classes: Sequence[str]) -> list[float]:
    """The leaf's people in each class; NaN where they are not published."""
    return [np.nan if leaf.counts is None else float(leaf.counts.get(name, 0)) for name in classes]


def _leaf_shares(leaf: Leaf, classes: Sequence[str], release: Release) -> list[float]:
    """The published share of each class, or of the label alone; NaN: not published. In an empty leaf all are 0."""
    if leaf.counts is None and release.is_empty(leaf):
        return [0.0] * len(classes)
    if leaf.counts is None and leaf.shares is not None:
        return [leaf.shares.get(name, 0.0) for name in classes]
    if leaf.counts is None and leaf.error_rate is not None:
        return [1 - leaf.error_rate if name == leaf.label else np.nan for name in classes]
    return [np.nan] * len(classes)


def _round_to_people(people: Floats) -> Floats:
    """Whole people, where rounding of shares alone keeps a number from being whole."""
    near = np.round(people)
    return np.where(np.abs(people - near) <= WHOLE_NUMBER_TOLERANCE * np.maximum(near, 1), near, people)


def _label(leaf: Leaf, classes: Sequence[str]) -> int:
    return classes.index(leaf.label) if leaf.label in classes else -1


def _lower_bounds(release: Release, tree: TreeIndex, group: Ids, target: Column) -> Iterator[LinearConstraints]:
    """Whoever was counted is in the table: a sample's people all, of a bootstrap at least one of each class."""
    masks: list[Mask] = []
    bounds: list[float] = []
    about: list[int] = []
    for leaf, stated in enumerate(tree.leaves):
        counts = stated.counts if stated.counts is not None else stated.shares or {}
        for x, name in enumerate(map(str, target.domain)):
            if counts.get(name, 0) > 0:
                many = release.count_semantics == "sampled" and stated.counts is not None
                masks.append((group == leaf)[:, None] & (np.arange(len(target.domain)) == x))
                bounds.append(float(counts[name]) if many else 1.0)
                about.append(leaf)
    if masks:
        yield mask_constraints("leaf count", masks, bounds, about=about)
