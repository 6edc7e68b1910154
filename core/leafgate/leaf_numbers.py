"""Are the numbers on a tree's leaves those of this table's people?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.decimals import digits_of
from leafgate.record_matching import records_fit
from leafgate.release import Release, at_level
from leafgate.routing import NOWHERE, route
from leafgate.schema import Schema
from leafgate.table import Table, make_table, typed_column
from leafgate.tree import Cut, Fan, Leaf, Node, columns_asked, leaves

CLOSE = 1e-6
"""Shares and error rates may differ by this much, rounded shares of a model's file by a unit; counts not at all."""


MAX_CHANCE = 0.02
"""Honest draws are taken for mislabelled exact numbers no more often than this, and only in very small tables."""

SAMPLE_RATE = 0.9
"""Of how many of the table's people a sample is taken to be; smaller ones have its own numbers less often."""


def is_mislabelled(release: Release, table: Table) -> bool:
    """Are the numbers the table's own in every leaf and record, though the release says that they count something else?

    Such a label keeps attacks from believing what is so. False for releases with noise or a claim of differential
    privacy, whose checks look at how the numbers were drawn; for model files, whose readers choose the label; for a
    sample with the records it was taken from; and for bootstraps and samples that may agree with the table by chance,
    as the shares of leaves do whose people all have one class.
    """
    records = release.records is not None
    excused = bool(release.noise) or "epsilon" in release.guarantee or release.file is not None
    if release.counted == "exact" or excused or (release.counted == "sampled" and records):
        return False
    numbers = bool(release.trees) and release.publish.leaves != "labels"
    asked = {name for tree in (*release.trees, *release.alternatives.values()) for name in columns_asked(tree)}
    if not (numbers or records) or not all(name in table.schema for name in asked):
        return False
    if release.trees and (
        release.target not in table.schema or strange_leaves(replace(release, counted="exact"), table)
    ):
        return False
    if not records and _chance_of_agreement(release, table) > MAX_CHANCE:
        return False
    return release.records is None or records_fit(release.records, table)


def _chance_of_agreement(release: Release, table: Table) -> float:
    """The probability that draws from the table, as the release says that they are, have its own numbers in all leaves.

    Of bootstraps, one a tree: counts of a tree are one multinomial draw at its mean; shares and error rates are one for
    each leaf, given how many are drawn there. Of samples of `SAMPLE_RATE` of the people, which trees may have in
    common: the shares or error rates of the tree that agrees most seldom. 0 where nothing was drawn, and for counts of
    a sample, which would have left nobody out.
    """
    if release.counted not in DRAWN or (release.counted == "sampled" and release.publish.leaves == "counts"):
        return 0.0
    chances = []
    for tree in (*release.trees, *release.alternatives.values()):
        routed = route(tree, table)
        counts = _counts(table, release.target, routed.leaf, len(routed.leaves))
        if release.publish.leaves == "counts":
            chances.append(_log_multinomial_at_mean(counts.reshape(-1)))
            continue
        rows = counts
        if release.publish.leaves == "error_rates":
            right = [
                row[release.classes.index(str(leaf.label))] for leaf, row in zip(routed.leaves, counts, strict=True)
            ]
            rows = np.column_stack([right, counts.sum(axis=1) - right])
        log_chance = _log_multinomial_at_mean if release.counted == "bootstrap" else _log_sample_in_proportion
        chances.append(sum(map(log_chance, rows)))
    return math.exp(min(chances) if release.counted == "sampled" else sum(chances))


def _log_sample_in_proportion(counts: NDArray[np.int64]) -> float:
    """The log probability that a sample of `SAMPLE_RATE` of these people has somebody, in the same proportions."""
    there = counts[counts > 0]
    if not len(there):
        return 0.0
    parts = np.arange(1, math.gcd(*there.tolist()) + 1)
    log_chances = np.zeros(len(parts))
    log_factorials = np.append(0.0, np.cumsum(np.log(np.arange(1, there.max() + 1))))
    for count in there.tolist():
        drawn = parts * (count // len(parts))
        ways = log_factorials[count] - log_factorials[drawn] - log_factorials[count - drawn]
        log_chances += ways + drawn * math.log(SAMPLE_RATE) + (count - drawn) * math.log1p(-SAMPLE_RATE)
    return math.log(np.exp(log_chances).sum())


def _log_multinomial_at_mean(counts: NDArray[np.int64]) -> float:
    """The log probability that as many draws as there are people have just these counts, if these are the mean."""
    people = int(counts.sum())
    there = [count for count in counts.tolist() if count]
    log_chance: float = sum(c * math.log(c / people) - math.lgamma(c + 1) for c in there)
    return math.lgamma(people + 1) + log_chance


def _counts_people(release: Release) -> bool:
    """Does a release file of leafgate's own publish whole numbers, though it says not what they count?

    Weights, which need not be people, come from models of others.
    """
    if release.counted != "unknown" or release.file is not None or release.publish.leaves != "counts":
        return False
    every = (leaf for tree in (*release.trees, *release.alternatives.values()) for leaf in leaves(tree))
    return all(float(count).is_integer() for leaf in every for count in (leaf.counts or {}).values())


def strange_leaves(release: Release, table: Table) -> int:
    """How many leaves tell counts, shares or error rates that are not those of the table's people.

    Of a sample there must be as many people of each class as it counts, of a bootstrap somebody. Whole numbers of a
    release file that says not what they count must be the people. 0 for releases whose numbers claim neither, and for
    trees that ask about columns the table does not have.
    """
    compared = release.counted in {"exact", *DRAWN} or _counts_people(release)
    if not compared or release.model != "trees" or release.target not in table.schema:
        return 0
    strange, close = 0, _close(release)
    for tree in (*release.trees, *release.alternatives.values()):
        if not all(name in table.schema for name in columns_asked(tree)):
            continue
        routed = route(tree, table)
        counts = _counts(table, release.target, routed.leaf, len(routed.leaves))
        told = zip(routed.leaves, counts.tolist(), strict=True)
        for leaf, row in told:
            people = dict(zip(release.classes, row, strict=True))
            drawn = DRAWN.get(release.counted)
            empty = release.is_empty(leaf) and any(row)
            strange += not (_fits(leaf, people, close) and not empty if drawn is None else drawn(leaf, people))
    return strange


def follows_from_records(tree: Node, release: Release) -> bool:
    """Does the tree tell no more than the release's records, sent down it, count on its leaves?

    Each leaf must have the statistic of the records that reach it, and the label of most of them; a leaf that no record
    reaches tells something else. Cells that the tree asks for must be published as values.
    """
    records, names = release.records, sorted({*columns_asked(tree), release.target})
    if records is None or not set(names) <= set(records.columns):
        return False
    cells = {name: [row[records.columns.index(name)] for row in records.rows] for name in names}
    if any(isinstance(cell, Mapping) for column in cells.values() for cell in column):
        return False
    columns = tuple(replace(release.schema[name], bounds=None, bins=None) for name in names)
    frame = pd.DataFrame({column.name: typed_column(column, cells[column.name]) for column in columns})
    table = make_table(Schema(columns), frame, np.array(records.weight, dtype=np.int64))
    routed = route(tree, table)
    counts = _counts(table, release.target, routed.leaf, len(routed.leaves)).tolist()
    leaf_counts = (dict(zip(release.classes, row, strict=True)) for row in counts)
    return all(_tells_only(leaf, people) for leaf, people in zip(routed.leaves, leaf_counts, strict=True))


def _tells_only(leaf: Leaf, counts: dict[str, int]) -> bool:
    """Does the leaf tell the statistic and the majority of these counts, and nothing else?"""
    most = max(counts.values())
    plain = leaf.value is None and leaf.scores is None
    return most > 0 and plain and leaf.label is not None and counts[leaf.label] == most and _fits(leaf, counts, CLOSE)


def tells_of_missing_cells(release: Release, table: Table) -> bool:
    """Does a leaf with numbers, where nobody of the table ends, take people with a missing cell?

    If people were left out of the table for missing cells, such numbers may be theirs.
    """
    for tree in (*release.trees, *release.alternatives.values()):
        if not all(name in table.schema for name in columns_asked(tree)):
            continue
        routed = route(tree, table)
        reached = np.zeros(len(routed.leaves), dtype=bool)
        reached[routed.leaf[routed.leaf != NOWHERE]] = True
        takers = zip(routed.leaves, _take_missing(tree), reached.tolist(), strict=True)
        if any(missing and not people and _has_numbers(leaf, release) for leaf, missing, people in takers):
            return True
    return False


def _has_numbers(leaf: Leaf, release: Release) -> bool:
    statistics = (leaf.counts, leaf.shares, leaf.error_rate, leaf.value, leaf.scores)
    return not release.is_empty(leaf) and any(each is not None for each in statistics)


def _take_missing(tree: Node) -> list[bool]:
    """For each leaf from left to right: does a missing cell take one of the ways that lead there?"""
    found: list[bool] = []
    waiting: list[tuple[Node, bool]] = [(tree, False)]
    while waiting:
        node, missing = waiting.pop()
        match node:
            case Leaf():
                found.append(missing)
            case Cut():
                low = node.missing == "low"
                waiting += [(node.high, missing or not low), (node.low, missing or low)]
            case Fan():
                ways = [(branch.node, missing or None in branch.values) for branch in node.branches]
                ways += [] if node.other is None else [(node.other, True)]
                waiting += reversed(ways)
    return found


def _counts(table: Table, target: str, leaf: NDArray[np.int64], n_leaves: int) -> NDArray[np.int64]:
    counts = np.zeros((n_leaves, len(table.schema[target].domain)), dtype=np.int64)
    reached = leaf != NOWHERE
    np.add.at(counts, (leaf[reached], table.codes(target)[reached]), table.weight[reached])
    return counts


def _close(release: Release) -> float:
    """How near to the people's own shares those of the leaves must be."""
    told = [list(leaf.shares.values()) for tree in release.trees for leaf in leaves(tree) if leaf.shares is not None]
    digits = digits_of(np.array(told)) if release.file is not None and told else None
    return CLOSE if digits is None else 10.0**-digits + CLOSE


def _sampled(leaf: Leaf, counts: dict[str, int]) -> bool:
    """Are at least so many people there as the leaf counts?"""
    return all(count <= counts[name] for name, count in (leaf.counts or {}).items())


def _drawn(leaf: Leaf, counts: dict[str, int]) -> bool:
    """Is somebody of each class there whom the leaf counts, however often?"""
    told = leaf.counts or leaf.shares or {}
    return all(counts[name] > 0 for name, number in told.items() if number > 0)


DRAWN: Mapping[str, Callable[[Leaf, dict[str, int]], bool]] = {"sampled": _sampled, "bootstrap": _drawn}


def _near(share: float, told: float, close: float) -> bool:
    """Is the share told as it is, or rounded, where nobody who is there is said to be missing?"""
    return abs(share - told) <= (close if (share > 0) == (told > 0) else CLOSE)


def _fits(leaf: Leaf, counts: dict[str, int], close: float) -> bool:
    """Does the leaf tell what it would tell if these were its people?"""
    full = Leaf(leaf.label, counts)
    if leaf.counts is not None:
        return dict(leaf.counts) == counts
    if leaf.shares is not None:
        shares = at_level(full, "shares").shares
        return shares is not None and all(_near(shares[name], share, close) for name, share in leaf.shares.items())
    if leaf.error_rate is not None:
        rate = at_level(full, "error_rates").error_rate
        return rate is not None and abs(rate - leaf.error_rate) <= CLOSE
    return True
