"""What is certain of people in a group: the one definition that metrics judge and builders keep.

A value is certain where everybody in a group has it, or everybody but some members who know their own value. Numbers
are certain where they lie in one narrow window, where a published total belongs nearly to one person alone, and where
a published number is the cell of few people.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from leafgate.algorithms.prediction import linked, predicted_numbers
from leafgate.algorithms.routing import route
from leafgate.kernel.arrays import Floats, Ids, Mask
from leafgate.kernel.release import ADDED_UP, Release
from leafgate.kernel.schema import Column
from leafgate.kernel.table import Table
from leafgate.kernel.tree import columns_asked, tree_arrays

CERTAIN = 1 - 1e-9
"""A posterior probability from which a value counts as certain."""

WINDOW_OF_VALUE = 0.1
"""Numbers with `scale: ratio` are known where they are within this share of the larger one."""

WINDOW_OF_BOUNDS = 0.05
"""Other numbers are known where they are within this share of the declared bounds."""

DOMINANCE = 0.1
"""The p of the p % rule: a total discloses its largest number where the rest is a smaller share of this number."""

SINGLE_PRECISION = 2e-7
"""Relative difference of a number and what a model's file has of it in single precision."""

DOUBLE_PRECISION = 1e-12
"""The same in double precision, after some sums."""

RARELY = 0.01
"""What happens by accident less often is none."""

SMALL_REST = 1e-3
"""Differences that are smaller than this part of the largest one have too few digits to compare factors by."""

LEARNING_RATES = (0.3, 0.1, 0.05, 0.2, 0.01, 0.5, 1.0, 0.03, 0.02, 0.15)
"""The libraries' own first, then what people write."""

ROUNDING = 1e-9
"""Relative error of sums in floating point."""

HALF_A_PERSON = 0.5
"""Errors of floating point never count for a person."""


def certain_values(people: Floats, insiders: int = 0) -> Mask:
    """Which values of a secret are certain in each group of people.

    A value is certain to `insiders` members who pool their own values where at most so many people have another one:
    where these are the insiders, all others must have it. With 0 it is certain to everybody.

    Args:
        people: shape (..., n_values), people of a group by their value.
        insiders: members of the group who know their own values and pool them, from 0.

    Returns:
        Shape (..., n_values): somebody has the value, and it is certain of all who have it.

    Source: Hundepool and others, "Statistical Disclosure Control", Wiley, 2012, chapter 5 (group disclosure in tables
    of counts, to outsiders and to members of the group).

    >>> certain_values(np.array([[9.0, 1.0], [8.0, 2.0]]), insiders=1).tolist()
    [[True, False], [False, False]]
    """
    total = people.sum(axis=-1, keepdims=True)
    return np.asarray((people > 0) & (total - people <= insiders + np.minimum(ROUNDING * total, HALF_A_PERSON)))


@dataclass(frozen=True)
class Window:
    """How near to each other numbers are that count as one: a share of the larger number, or a width in its unit."""

    share: float = 0.0
    width: float = 0.0

    @classmethod
    def of(cls, column: Column) -> Window:
        """The window of a secret number: 10 % of the number for `scale: ratio`, else 5 % of the column's bounds."""
        if column.scale == "ratio":
            return cls(share=WINDOW_OF_VALUE)
        ends = column.edges or column.bins or column.bounds or (0.0, 0.0)
        return cls(width=WINDOW_OF_BOUNDS * (ends[-1] - ends[0]))

    def end(self, start: Floats) -> Floats:
        """The largest number in the window that begins at each number; numbers are from 0 where it is a share."""
        end = start / (1 - self.share) + self.width
        return np.asarray(end + ROUNDING * np.abs(end))


@dataclass(frozen=True, eq=False)
class Windows:
    """For each record, in the order of groups and numbers, the window of its group that begins at its number.

    Attributes:
        order: shape (n_records,), the positions of the records in this order.
        end: shape (n_records,), the position in `order` after the last record of the window.
        people: shape (n_records,), the people in the window.
        group: shape (n_records,), the group of each record of `order`.
        size: shape (n_records,), the people of this group.
    """

    order: Ids
    end: Ids
    people: Floats
    group: Ids
    size: Floats

    @classmethod
    def of(cls, numbers: Floats, people: Ids, group: Ids, window: Window) -> Windows:
        """The windows of some records, each with its number, the people who share it, and its group from 0 up."""
        order = np.lexsort((numbers, group))
        number, persons, own = numbers[order], people[order].astype(np.float64), group[order]
        n = len(order)
        # Each record's end of window is placed among the numbers of its group, behind those equal to it.
        among = np.lexsort((np.repeat([0, 1], n), np.concatenate([number, window.end(number)]), np.tile(own, 2)))
        passed = np.cumsum(among < n)
        end = np.empty(n, dtype=np.int64)
        is_end = among >= n
        end[among[is_end] - n] = passed[is_end]
        cumulated = np.append(0.0, np.cumsum(persons))
        total = np.bincount(own, weights=persons, minlength=int(own.max(initial=-1)) + 1).astype(np.float64)
        return cls(order, end, cumulated[end] - cumulated[:n], own, total[own])

    def largest_share(self, judged: Mask) -> Floats:
        """For each group the largest share of people in one window, one other person being left out; 0 to 1.

        Args:
            judged: shape (n_records,), the records whose people count; those left out are still people of the group.
        """
        kept = judged[self.order]
        shares = np.where(kept, np.minimum(self.people, self.size - 1) / np.maximum(self.size - 1, 1), 0.0)
        shares = np.where(kept & (self.size <= 1), 1.0, shares)
        largest = np.zeros(int(self.group.max(initial=-1)) + 1)
        np.maximum.at(largest, self.group, shares)
        return largest

    def certain(self, insiders: int, judged: Mask) -> Mask:
        """Which judged records are in a window that holds everybody of their group but at most so many insiders.

        Args:
            insiders: from 0.
            judged: shape (n_records,).
        """
        marks = np.zeros(len(self.order) + 1, dtype=np.int64)
        wide = self.people >= self.size - insiders - np.minimum(ROUNDING * self.size, HALF_A_PERSON)
        np.add.at(marks, np.flatnonzero(wide), 1)
        np.add.at(marks, self.end[wide], -1)
        found = np.zeros(len(self.order), dtype=bool)
        found[self.order] = np.cumsum(marks[:-1]) > 0
        return np.asarray(found & judged)


def dominating(numbers: Floats, people: Ids, group: Ids, insiders: int = 0, lowest: float = 0.0) -> Mask:
    """Which records a group's total discloses to within 10 %: the p % rule. Records of the group -1 are in none.

    Whoever knows the total, and the `insiders` largest numbers but one, knows that the largest is at most what is left
    of the total when all others have the lowest number that there is. This is within 10 % of it where all others
    together are beyond that by less.

    Args:
        numbers: shape (n_records,), from 0 up.
        people: shape (n_records,), the people who share each record.
        group: shape (n_records,), from 0 up.
        insiders: how many people pool their own numbers, from 0.
        lowest: no number is below it; from 0.

    Returns:
        Shape (n_records,): the records with the largest number of such a group; none where all numbers are 0.

    Source: Hundepool and others, "Statistical Disclosure Control", Wiley, 2012, chapter 4 (p % rule).
    Departure: any number of insiders (the rule has one, the person with the second largest number), and a lowest
    number that everybody knows.

    >>> dominating(np.array([4787.0, 0.0]), np.array([1, 9]), np.array([0, 0]), insiders=1).tolist()
    [True, False]
    """
    order = np.lexsort((-numbers, group))
    order = order[group[order] >= 0]
    number, persons, own = numbers[order], people[order].astype(np.float64), group[order]
    groups = int(own.max(initial=-1)) + 1
    start = np.flatnonzero(np.diff(own, prepend=-1) != 0)
    before = np.cumsum(persons) - persons
    first = np.zeros(groups)
    first[own[start]] = before[start]
    known = np.clip(insiders + 1 - (before - first[own]), 0, persons)
    rest = np.bincount(own, weights=(persons - known) * (number - lowest), minlength=groups)
    largest = np.zeros(groups)
    largest[own[start]] = number[start]
    exposed = (rest < DOMINANCE * largest) & (largest > 0)
    found = np.zeros(len(numbers), dtype=bool)
    found[order] = exposed[own] & (number == largest[own])
    return found


def printed_cells(numbers: Floats, printed: Floats) -> Mask:
    """Which records have a number that is published, to what the published numbers keep of it.

    Args:
        numbers: shape (n_records,), the cells.
        printed: the published numbers, in any order.

    Returns:
        Shape (n_records,).
    """
    values, which = np.unique(numbers, return_inverse=True)
    published = np.unique(printed)
    near = np.abs(values) * precision(published)
    low = np.searchsorted(published, values - near, side="left")
    high = np.searchsorted(published, values + near, side="right")
    return np.asarray((high > low)[which])


def cells_of_few(numbers: Floats, people_by: Callable[[Ids, int], Ids], smallest_cell: int, step: float | None) -> Mask:
    """Which records have a number that fewer people than `smallest_cell` have, and that is finer than is public.

    Args:
        numbers: shape (n_records,), the cells.
        people_by: counts the people of groups of records, as `Table.people_by`.
        smallest_cell: so many people share a cell that is nobody's.
        step: the public step of the column: its multiples are no more than everybody knows; None for no step.

    Returns:
        Shape (n_records,).
    """
    values, which = np.unique(numbers, return_inverse=True)
    few = people_by(which, len(values)) < smallest_cell
    if step is not None:
        few &= ~is_multiple(values, step)
    return np.asarray(few[which])


def precision(numbers: Floats) -> float:
    """By how much, relatively, published numbers may be off: what single precision keeps, where all are so rounded."""
    with np.errstate(over="ignore"):
        single = numbers.astype(np.float32).astype(np.float64)
    return SINGLE_PRECISION if np.array_equal(single, numbers) else DOUBLE_PRECISION


def published_numbers(release: Release, table: Table) -> Floats:
    """The numbers that a release of regression trees has on its leaves or predicts for the people of a table.

    Returns:
        Each number once, in rising order; none where the release predicts classes.
    """
    if not release.discloses_numbers:
        return np.zeros(0)
    found = [linked(tree_arrays(tree).values, release.combine) for tree in release.fitted_trees]
    if release.predicts_numbers:
        found.append(predicted_numbers(release, table))
    numbers = np.unique(np.concatenate(found))
    return np.asarray(numbers[np.isfinite(numbers)])


def numbers_behind_leaves(release: Release, table: Table) -> Mask:
    """Which records have a number that follows from a leaf by one factor, such as a learning rate.

    A tree of boosting has `rate * (number - prediction before)` on its leaves, one of several that are added up a part
    of the number. Where that number is a median or another quantile, it is somebody's. Whoever has the file has the
    predictions, and guesses the factor.

    Returns:
        Shape (n_records,): records whose own number is behind their leaf by a factor that is as good for other leaves
        of the tree, or is a usual one; none where the release predicts no numbers.
    """
    found = np.zeros(len(table), dtype=bool)
    if not release.predicts_numbers:
        return found
    numbers = table.numbers(table.schema.target.name)
    values = [tree_arrays(tree).values for tree in release.trees]
    added_up = release.combine in ADDED_UP
    is_log = release.combine == "exp_sum"
    precisions = sorted({precision(np.concatenate(values)), SINGLE_PRECISION})  # labels may be single, and sums double
    usual = LEARNING_RATES if added_up else tuple(1 / part for part in range(2, len(values) + 1))
    before, is_first = np.zeros(len(table)), all(len(each) > 1 for each in values)
    for tree, of_leaves in zip(release.trees, values, strict=True):
        leaf = route(tree, table).leaf.astype(np.int64)
        own = np.append(of_leaves, np.nan)[leaf]
        starts: list[tuple[Floats | float, float]] = [(before, 0.0)]
        if is_first and added_up:  # what boosting starts from may be worked into its first tree
            averages = _averages(numbers, table.weight)
            starts += [(log, log) for log in map(_log, averages)] if is_log else [(each, each) for each in averages]
        for (start, worked_in), off in itertools.product(starts, precisions):
            for rest in _rests(numbers, start) if is_log else (numbers - start,):
                found |= _shares_factor(rest, own - worked_in, leaf, off, usual, any_factor=added_up)
        before, is_first = (before + own if added_up else before), False
        usual = usual if len(of_leaves) == 1 or not added_up else ()  # of the first tree that is grown
    return found


def _rests(numbers: Floats, start: Floats | float) -> tuple[Floats, Floats]:
    """What the leaf of one person is a multiple of where sums are logarithms, by the losses of Poisson and of gamma."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = linked(np.asarray(start, dtype=np.float64), "exp_sum")
        return numbers / mean - 1, 1 - mean / numbers


def _log(number: float) -> float:
    return math.log(number) if number > 0 else 0.0


def _averages(numbers: Floats, weight: Ids) -> tuple[float, float]:
    """The mean and the median of everybody."""
    return float(np.average(numbers, weights=weight)), float(np.quantile(np.repeat(numbers, weight), 0.5))


def _shares_factor(
    rest: Floats, own: Floats, leaf: Ids, off: float, usual: Sequence[float], *, any_factor: bool
) -> Mask:
    """Which records' rest becomes the number of their leaf by a factor from 0 to 1 that is no accident.

    Args:
        rest: shape (n_records,), each record's number without what was predicted before.
        own: shape (n_records,), the number of each record's leaf.
        leaf: shape (n_records,), the leaf.
        off: by how much numbers are off, relatively.
        usual: factors that one leaf is enough for, the likeliest first: as many as seldom fit anybody by accident.
        any_factor: is another factor good enough that fits a quarter of the leaves, and two or three at least?
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = own / rest
    found = np.zeros(len(rest), dtype=bool)
    rows = np.flatnonzero(
        (factor > 0) & (factor <= 1 + off) & (np.abs(rest) > SMALL_REST * np.abs(rest).max(initial=0))
    )
    rows = rows[np.argsort(factor[rows], kind="stable")]
    if not len(rows):
        return found
    factors, near = factor[rows], off / SMALL_REST if off == DOUBLE_PRECISION else off
    if any_factor:
        cluster = np.cumsum(np.append(0, np.diff(factors) > near * factors[1:]))
        leaves = np.bincount(np.unique(np.column_stack([cluster, leaf[rows]]), axis=0)[:, 0])
        needed = max(2 if off == DOUBLE_PRECISION else 3, math.ceil(len(np.unique(leaf)) / 4))
        found[rows] = (leaves >= needed)[cluster]
    for rate in usual[: int(RARELY / (len(rows) * near))]:
        first, last = np.searchsorted(factors, [rate * (1 - near), rate * (1 + near)])
        found[rows[first:last]] = True
    return found


def disclosed_totals(release: Release, table: Table, equivalence_class: Ids) -> list[Ids]:
    """The groups of people whose totals of a numeric class follow from a release of regression trees.

    A mean times the people at its leaf is a total, and the people of a leaf are known where its tests are public. Where
    several trees are added up, totals of the equivalence classes of all trees together are taken to follow: if each of
    these keeps the p % rule, so does every sum of them. A leaf whose number times its people is not their total, such
    as a median, discloses none; that is only seen where the release is a single tree that is not shrunk.

    Args:
        release: what is published.
        table: the people.
        equivalence_class: shape (n_records,), whole numbers.

    Returns:
        Groupings of the records, each of shape (n_records,): the group of each record from 0 up, -1 in none.
    """
    if not release.discloses_numbers:
        return []
    classes = np.unique(equivalence_class, return_inverse=True)[1].reshape(-1).astype(np.int64)
    public = {column.name for column in table.schema.public}
    found = [classes]
    for tree in release.fitted_trees:
        leaf = route(tree, table).leaf.astype(np.int64)
        if len(release.fitted_trees) == 1 and release.combine not in ADDED_UP:
            without = ~_states_total(tree_arrays(tree).values, leaf, table)
            found[0] = np.where(np.isin(classes, classes[~without]), classes, -1)
            leaf = np.where(without, -1, leaf)
        if not columns_asked(tree) <= public:
            found.append(leaf)
    return found


def _states_total(values: Floats, leaf: Ids, table: Table) -> Mask:
    """For each record whether the number at its leaf, times the people there, is the total to within 10 % of one."""
    numbers, there = table.numbers(table.schema.target.name), leaf >= 0
    size = len(values) + 1
    at = np.where(there, leaf, size - 1)
    people = np.bincount(at, weights=table.weight, minlength=size)
    total = np.bincount(at, weights=table.weight * numbers, minlength=size)
    largest = np.zeros(size)
    np.maximum.at(largest, at, np.abs(numbers))
    stated = np.append(np.where(np.isfinite(values), values, 0), 0.0) * people
    return np.asarray((np.abs(stated - total) <= DOMINANCE * largest)[at] & there)


def is_multiple(numbers: Floats, step: float) -> Mask:
    """Which numbers are multiples of a step, to what floating point keeps of them."""
    quotient = numbers / step
    error = np.maximum(ROUNDING, 4 * np.finfo(np.float64).eps * np.abs(quotient))
    return np.asarray(np.abs(quotient - np.round(quotient)) <= error)


def rounded_median(numbers: Floats, people: Ids) -> float:
    """The median of everybody's numbers, rounded to two digits, so that it is nobody's."""
    order = np.argsort(numbers, kind="stable")
    middle = np.searchsorted(np.cumsum(people[order]), people.sum() / 2)
    median = float(numbers[order][min(int(middle), len(order) - 1)])
    return 0.0 if median == 0 else round(median, 1 - math.floor(math.log10(abs(median))))
