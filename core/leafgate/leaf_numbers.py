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
"""Honest bootstraps are taken for mislabelled exact numbers no more often than this, and only in very small tables."""


def is_mislabelled(release: Release, table: Table) -> bool:
    """Are the numbers the table's own in every leaf and record, though the release says that they count something else?

    Such a label keeps attacks from believing what is so. False for releases with noise or a claim of differential
    privacy, whose checks look at how the numbers were drawn; for model files, whose readers choose the label; for a
    sample with the records it was taken from; and for bootstraps that may agree with the table by chance.
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
    if release.counted == "bootstrap" and not records and _chance_of_agreement(release, table) > MAX_CHANCE:
        return False
    return release.records is None or records_fit(release.records, table)


def _chance_of_agreement(release: Release, table: Table) -> float:
    """The probability that bootstraps of the table, one a tree, have its own numbers of people in all leaves.

    Counts of a tree are one multinomial draw at its mean; shares and error rates are one for each leaf, given how many
    are drawn there.
    """
    log_chance = 0.0
    for tree in (*release.trees, *release.alternatives.values()):
        routed = route(tree, table)
        counts = _counts(table, release.target, routed.leaf, len(routed.leaves))
        if release.publish.leaves == "counts":
            log_chance += _log_multinomial_at_mean(counts.reshape(-1))
        else:
            log_chance += sum(map(_log_multinomial_at_mean, counts))
    return math.exp(log_chance)


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
