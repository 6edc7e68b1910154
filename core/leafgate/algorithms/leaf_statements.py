"""What the leaves of a release state of the people who reach them: limits of sums of whole numbers of people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from leafgate.algorithms.consistency import share_units
from leafgate.algorithms.routing import route
from leafgate.errors import InconclusiveError
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.release import ADDED_UP, Release
from leafgate.kernel.table import Table
from leafgate.kernel.tree import Node, leaves, tree_arrays

NO_LIMIT = 2**62
"""A bound of a constraint that has none; larger than any sum of people and coefficients that is used."""

SHARE_ERROR = 1e-9
"""An unrounded share differs from the fraction of whole numbers that it is by less than this."""


@dataclass(frozen=True)
class Statement:
    """What a leaf states of its people: low <= sum of coefficients times the people of each class label <= high.

    Attributes:
        coefficients: one whole number for each class label.
        low: the least that the sum can be; -NO_LIMIT for no limit.
        high: the most; NO_LIMIT for no limit.
        of_people: it holds only where somebody is in the leaf; the sum is then a difference of at least 1.
    """

    coefficients: tuple[int, ...]
    low: int
    high: int
    of_people: bool = False

    def holds(self, people: Sequence[int]) -> bool:
        """Does it hold for these whole numbers of people of each class label?"""
        if self.of_people and not any(people):
            return True
        total = sum(a * n for a, n in zip(self.coefficients, people, strict=True))
        return self.low <= total <= self.high


DRAWN = {"sampled": "of a sample", "bootstrap": "of bootstraps"}
"""Numbers of people who were drawn from the table: so many, or somebody, is in the leaf, and nobody knows who else."""


def partly_used_reason(release: Release) -> str:
    """Why the numbers on the leaves of a release are lower limits alone; empty where they are not."""
    if release.count_semantics not in DRAWN:
        return ""
    return f"its numbers are {DRAWN[release.count_semantics]}, so that they are lower limits of numbers of people"


def unsupported_reason(release: Release) -> str:
    """Why the numbers on the leaves of a release give no constraint on whole people; empty where they do."""
    if release.model != "trees" or not release.trees:
        return "it has no trees"
    if release.predicts_numbers or release.discloses_numbers:
        return "its leaves predict numbers"
    if release.records is not None:
        return "it publishes records"
    if release.count_semantics not in {"exact", *DRAWN}:
        kind = "under noise" if release.count_semantics == "noisy" else release.count_semantics
        return f"its numbers are {kind}, so that they state nothing of whole people"
    if release.combine in ADDED_UP or release.discloses_scores:
        return "its leaves have scores that are added up"
    return ""


def leaf_statements(release: Release, tree: Node, people: int, largest_share: float = 1.0) -> list[list[Statement]]:
    """What each leaf of a tree states of the people who reach it, as constraints on whole numbers.

    Exact counts are equalities. A share that was not rounded is the fraction of whole numbers that it is; one of a
    model's file that was rounded is the interval of numbers that round to it. A label is the class that most people of
    the leaf have; where leafgate made the tree, of two classes with as many people it is the first one. Counts of a
    sample are lower limits; of a bootstrap, and for shares of either, somebody has each class that is counted.

    Args:
        release: one of which `unsupported_reason` has nothing to say.
        tree: one of its trees.
        people: how many people the release was learned from, from 1.
        largest_share: no class has a larger share of the people of a leaf.

    Raises:
        InconclusiveError: a count is no whole number, or an unrounded share is no fraction of so many people.
    """
    units, limit = _share_units(release), Fraction(str(largest_share))
    n = len(release.classes)
    within = [Statement(_minus(k, limit, n), -NO_LIMIT, 0) for k in range(n)] if limit < 1 else []
    return [_statements(leaf, release, people, units) + within for leaf in tree_arrays(tree).leaves]


def _minus(k: int, share: Fraction, n: int) -> tuple[int, ...]:
    """The people of class k less this share of all, times the denominator of the share."""
    return tuple(share.denominator * (i == k) - share.numerator for i in range(n))


def _share_units(release: Release) -> int | None:
    """To how many equal parts of 1 the shares of a model's file are rounded; None where they are not."""
    rows = [[*leaf.shares.values()] for tree in release.trees for leaf in leaves(tree) if leaf.shares is not None]
    return share_units(np.array(rows), release.file.discloses) if release.file is not None and rows else None


def _statements(leaf: Leaf, release: Release, people: int, units: int | None) -> list[Statement]:
    classes = release.classes
    one = [tuple(int(i == k) for i in range(len(classes))) for k in range(len(classes))]
    if release.count_semantics in DRAWN:
        return _of_drawn(leaf, release, one)
    if leaf.counts is not None:
        counts = [leaf.counts.get(name, 0) for name in classes]
        if any(count != int(count) for count in counts):
            raise InconclusiveError("some counts on its leaves are no whole numbers")
        return [Statement(one[k], int(count), int(count)) for k, count in enumerate(counts)]
    if release.is_empty(leaf):
        return [Statement((1,) * len(classes), 0, 0)]
    found: list[Statement] = []
    if leaf.shares is not None:
        found += [Statement((1,) * len(classes), 1, NO_LIMIT)]
        for k, name in enumerate(classes):
            found += _of_share(leaf.shares.get(name, 0.0), one[k], people, units)
    elif leaf.error_rate is not None and leaf.label is not None:
        wrong = tuple(int(name != leaf.label) for name in classes)
        found += [Statement((1,) * len(classes), 1, NO_LIMIT), *_of_share(leaf.error_rate, wrong, people, None)]
    if leaf.label is not None and leaf.label in classes:
        found += _of_label(classes.index(leaf.label), len(classes), first_wins=release.file is None)
    return found


def _of_drawn(leaf: Leaf, release: Release, one: list[tuple[int, ...]]) -> list[Statement]:
    """That the people who were drawn are in the leaf."""
    counts = leaf.counts if release.count_semantics == "sampled" else None
    shown = leaf.shares if leaf.counts is None else leaf.counts
    if shown is None:
        return []
    drawn = [(one[k], shown.get(name, 0), (counts or {}).get(name, 1)) for k, name in enumerate(release.classes)]
    return [Statement(each, math.ceil(people), NO_LIMIT) for each, share, people in drawn if share > 0]


def _of_share(share: float, counted: tuple[int, ...], people: int, units: int | None) -> list[Statement]:
    """That this share of a leaf's people are counted by these coefficients, which are 0 and 1."""
    if units is not None:
        half = 2 * round(share * units)
        above = tuple(2 * units * a - (half - 1) for a in counted)
        below = tuple(2 * units * a - (half + 1) for a in counted)
        return [Statement(above, 0, NO_LIMIT), Statement(below, -NO_LIMIT, 0)]
    exact = Fraction(share).limit_denominator(people)
    if abs(float(exact) - share) > SHARE_ERROR:
        raise InconclusiveError("some shares on its leaves are no fractions of whole people")
    return [Statement(tuple(exact.denominator * a - exact.numerator for a in counted), 0, 0)]


def _of_label(label: int, n_classes: int, *, first_wins: bool) -> list[Statement]:
    """That no other class has more people, nor as many where the first of them is the label."""
    found = []
    for k in range(n_classes):
        if k != label:
            coefficients = tuple((i == label) - (i == k) for i in range(n_classes))
            is_strict = first_wins and k < label
            found.append(Statement(coefficients, int(is_strict), NO_LIMIT, of_people=is_strict))
    return found


def contradicted_leaves(release: Release, table: Table, largest_share: float = 1.0) -> int:
    """How many leaves of a release state something that is not true of the people of a table.

    Args:
        release: one of which `unsupported_reason` has nothing to say.
        table: its people, with every column that its trees test, and the class.
        largest_share: no class has a larger share of the people of a leaf.
    """
    wrong, n_values = 0, len(table.schema[release.target].domain)
    order = [table.schema[release.target].domain.index(name) for name in release.classes]
    for tree in release.trees:
        routed = route(tree, table)
        cells = (routed.leaf + 1) * n_values + table.codes(release.target)
        counts = np.bincount(cells, weights=table.weight, minlength=(routed.n_leaves + 1) * n_values)
        people = counts.astype(np.int64).reshape(-1, n_values)[1:, order].tolist()
        stated = leaf_statements(release, tree, max(table.total_weight, 1), largest_share)
        wrong += sum(not all(each.holds(row) for each in own) for own, row in zip(stated, people, strict=True))
    return wrong
