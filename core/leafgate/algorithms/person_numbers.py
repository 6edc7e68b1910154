"""What is certain of numbers in a group of persons with several rows: narrow windows, and totals of few.

All rows of a person are left out or known together, and what a total has of her is the sum of her rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from leafgate.algorithms.certainty import DOMINANCE, Window
from leafgate.errors import InconclusiveError
from leafgate.kernel.arrays import Floats, Ids, Mask
from leafgate.kernel.persons import PersonRows

MAX_STEPS = 200_000_000
"""Windows times persons of their group, of which more take minutes."""

MAX_PAIRS = 20_000_000
"""Pairs of groups in which a person has the same total, of which more take too much memory."""

MAX_DIFFERENT = 50
"""In a difference of two groups with more persons than this, nobody is looked for who dominates it."""


@dataclass(frozen=True, eq=False)
class PersonWindows:
    """For each number of each group the window of the group that begins at it, and whose rows are in it.

    Attributes:
        numbers: shape (n_records,).
        persons: whose rows the records are.
        group: shape (n_records,), from 0 up.
        window: how near to each other numbers are that count as one.
    """

    numbers: Floats
    persons: PersonRows
    group: Ids
    window: Window

    def largest_share(self, judged: Mask) -> Floats:
        """For each group the largest share of rows or of persons in one window, one other person being left out.

        Args:
            judged: shape (n_records,), the records at which windows begin.

        Returns:
            From 0 to 1; 1 where there is one person alone.
        """
        largest = np.zeros(int(self.group.max(initial=-1)) + 1)
        for each in self._windows():
            numbers = self.numbers[each.records]
            if not judged[each.records[numbers == numbers[0]]].any():
                continue
            rows, inside, persons = each.of_person, each.inside, len(each.of_person)
            if persons == 1:
                largest[each.group] = 1.0
                continue
            by_rows = float(((inside.sum() - inside) / (rows.sum() - rows)).max())
            by_persons = min(int((inside > 0).sum()), persons - 1) / (persons - 1)
            largest[each.group] = max(largest[each.group], by_rows, by_persons)
        return largest

    def certain(self, insiders: int, judged: Mask) -> Mask:
        """Which judged records are in a window with all rows of everybody in their group but so many insiders.

        Args:
            insiders: from 0.
            judged: shape (n_records,).
        """
        found = np.zeros(len(self.numbers), dtype=bool)
        for each in self._windows():
            if (each.inside < each.of_person).sum() <= insiders:
                found[each.records] = True
        return found & judged

    def _windows(self) -> Iterator[_WindowOfPersons]:
        """The windows of each group that begin at its numbers; InconclusiveError where these are too many."""
        persons, group = self.persons, self.group[self.persons.record]
        number = self.numbers[persons.record]
        order = np.lexsort((number, group))
        starts = np.flatnonzero(np.diff(group[order], prepend=-1))
        parts = np.split(order, starts[1:])
        local = [np.unique(persons.person[part], return_inverse=True)[1].reshape(-1) for part in parts]
        if sum(len(part) * (int(own.max(initial=-1)) + 1) for part, own in zip(parts, local, strict=True)) > MAX_STEPS:
            raise InconclusiveError("groups have too many rows and persons to compare their numbers")
        for part, own in zip(parts, local, strict=True):
            sorted_numbers, rows = number[part], persons.rows[part]
            of_person = np.bincount(own, weights=rows).astype(np.int64)
            end = np.searchsorted(sorted_numbers, self.window.end(sorted_numbers), side="right")
            inside, last = np.zeros_like(of_person), 0
            for first in range(len(part)):
                np.add.at(inside, own[last : end[first]], rows[last : end[first]])
                last = max(last, int(end[first]))
                if first == 0 or sorted_numbers[first] > sorted_numbers[first - 1]:
                    records = persons.record[part[first:last]]
                    yield _WindowOfPersons(int(group[part[0]]), records, inside, of_person)
                inside[own[first]] -= rows[first]


@dataclass(frozen=True, eq=False)
class _WindowOfPersons:
    """A window: its group, the records in it, and the rows of each person of the group in it and altogether."""

    group: int
    records: Ids
    inside: Ids
    of_person: Ids


def dominating_persons(
    numbers: Floats, persons: PersonRows, group: Ids, insiders: int = 0, lowest: float = 0.0
) -> Mask:
    """Which records a group's total discloses to within 10 %, by the p % rule for persons with several rows.

    Args:
        numbers: shape (n_records,), from 0 up.
        persons: whose rows the records are.
        group: shape (n_records,), from 0 up; -1 in none.
        insiders: how many people pool their own numbers, from 0.
        lowest: no number is below it; from 0.

    Returns:
        Shape (n_records,): those of the person with the largest total of such a group.

    Source: `leafgate.algorithms.certainty.dominating`.
    """
    there = group[persons.record] >= 0
    record, rows = persons.record[there], persons.rows[there]
    size = max(persons.size, 1)
    pair, entry = np.unique(group[record] * size + persons.person[there], return_inverse=True)
    total = np.bincount(entry, weights=rows * numbers[record], minlength=len(pair))
    beyond = np.bincount(entry, weights=rows * (numbers[record] - lowest), minlength=len(pair))
    own = pair // size
    groups = int(own.max(initial=-1)) + 1
    largest = np.zeros(groups)
    np.maximum.at(largest, own, total)
    order = np.lexsort((-beyond, total < largest[own], own))  # the person with the largest total is the first
    start = np.flatnonzero(np.diff(own[order], prepend=-1) != 0)
    rank = np.arange(len(order)) - np.repeat(start, np.diff(np.append(start, len(order))))
    rest = np.bincount(own[order], weights=beyond[order] * (rank > insiders), minlength=groups)
    exposed = (rest < DOMINANCE * largest) & (largest > 0)
    found = np.zeros(len(numbers), dtype=bool)
    found[record[(exposed[own] & (total == largest[own]))[entry]]] = True
    return found


def dominating_differences(
    numbers: Floats, persons: PersonRows, group: Ids, insiders: int = 0, lowest: float = 0.0
) -> Mask:
    """Which records the difference of two groups' totals discloses to within 10 %, by the p % rule.

    Persons who have as much in both groups cancel out: what is left is a total of the others, that of few where nearly
    the same persons are in both. Sums of more than two groups are not looked at.

    Args:
        numbers: shape (n_records,), from 0 up.
        persons: whose rows the records are.
        group: shape (n_records,), from 0 up; -1 in none.
        insiders: how many people pool their own numbers, from 0.
        lowest: no number is below it; from 0.

    Returns:
        Shape (n_records,): those of the person with most of such a difference, in its two groups.

    Raises:
        InconclusiveError: too many persons have as much in several groups.

    Source: `leafgate.algorithms.certainty.dominating`.
    """
    entries = pd.DataFrame(
        {
            "group": group[persons.record],
            "person": persons.person,
            "total": persons.rows * numbers[persons.record],
            "beyond": persons.rows * (numbers[persons.record] - lowest),
        }
    )
    entries = entries[entries["group"] >= 0].groupby(["group", "person"]).sum().reset_index()
    alike = entries.groupby(["person", "total"])["group"].transform("size").to_numpy()
    if float((alike - 1).sum()) > MAX_PAIRS:
        raise InconclusiveError("too many persons have as much in several groups to compare the totals of these")
    equal = entries[alike > 1].merge(entries[alike > 1], on=["person", "total"])
    equal = equal[equal["group_x"] < equal["group_y"]]
    pairs, cancelled = np.unique(equal[["group_x", "group_y"]].to_numpy(), axis=0, return_counts=True)
    size = entries["group"].value_counts()
    of_group = {each: own.set_index("person")[["total", "beyond"]] for each, own in entries.groupby("group")}
    found = np.zeros(len(numbers), dtype=bool)
    for pair, of_both in zip(pairs.tolist(), cancelled.tolist(), strict=True):
        one, other = pair
        if size[one] + size[other] - 2 * of_both > MAX_DIFFERENT:
            continue
        left = of_group[one].sub(of_group[other], fill_value=0.0).abs()
        left = left[left["total"] > 0].sort_values(["total", "beyond"], ascending=False)
        rest = left.min(axis=1).iloc[1:].sort_values(ascending=False).iloc[insiders:]
        if len(left) and rest.sum() < DOMINANCE * left["total"].iloc[0]:
            hers = persons.record[persons.person == left.index[0]]
            found[hers[np.isin(group[hers], pair)]] = True
    return found
