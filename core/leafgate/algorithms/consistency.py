"""Are the numbers on a tree's leaves those of this table's people?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.algorithms.routing import NOWHERE, route
from leafgate.types.noise import Noise
from leafgate.types.release import Records, Release, at_level
from leafgate.types.schema import Column, Schema
from leafgate.types.table import Table, make_table, typed_column
from leafgate.types.tree import CategoricalSplit, Leaf, Node, NumericSplit, columns_asked, leaves

# --- How many digits shares are told with ---

MOST = 3
"""Shares of more digits are taken for shares to the last digit."""

CLOSE_SHARES = 1e-7
"""What single precision keeps of a decimal is this near to it."""


def decimal_places(shares: NDArray[np.float64], most: int = MOST) -> int | None:
    """The fewest digits that tell all of the shares; None where they need more than `most`.

    >>> decimal_places(np.array([0.25, 0.7, 1.0])), decimal_places(np.array([1 / 3]))
    (2, None)
    """
    fitting = (n for n in range(1, most + 1) if (abs(shares - np.round(shares, n)) <= CLOSE_SHARES).all())
    return next(fitting, None)


# --- Are published records those of this table's people, and is the noise on them as much as the release says? ---

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]

MAX_PAIRS = 300_000
"""Pairs of a record and a person it could be, up to which it is decided whether the records can be the people."""

CHUNK_CELLS = 4_000_000
"""Pairs of a record and a person that are compared at once."""

MAX_PEOPLE = 2**31
"""A maximum flow is computed in whole numbers of 32 bits."""

STANDARD_DEVIATIONS = 5.0
"""So far below its expectation the variance of shared numbers happens to lie once in three million honest releases."""


def inconsistent_records(release: Release, table: Table) -> str:
    """What is wrong with published records that claim to be the table's people; empty where nothing is.

    `exact` records must be the people, each once; so must those labelled `unknown` if no noise is on them, for
    nothing else can be learned from them. Of a sample somebody must match each record.
    """
    if release.records is None:
        return ""
    if (
        release.count_semantics in {"exact", "unknown"}
        and not release.noise
        and not records_fit(release.records, table)
    ):
        return "the records cannot be this table's people: are they other people's?"
    if release.count_semantics == "sampled" and not records_fit(release.records, table, sample=True):
        return "some records match nobody in this table: are they other people's?"
    if any(_has_less_noise(name, noise, release.records, table) for name, noise in release.noise.items()):
        return "numbers that are said to have noise on them have less than is said"
    return ""


def records_fit(records: Records, table: Table, *, sample: bool = False) -> bool:
    """Can each of the table's people be exactly one of the records, all published cells agreeing?

    Columns in which every value agrees with one cell alone are joined like keys, and the people of each key counted.
    Where cells overlap (`in`, `from` and `to`, withheld), each record must have as many people as it counts among
    those who agree with it, and each person a record; up to MAX_PAIRS pairs a maximum flow decides it. Of a `sample`
    people may be left out.
    """
    names = [name for name in records.columns if name in table.schema]
    people, _ = table.project(names)
    weight = np.array(records.weight, dtype=np.int64)
    if weight.sum() > people.people or (weight.sum() < people.people and not sample):
        return False
    columns = [_column(records, name, people) for name in names]
    keys = [(only, each) for each in columns if (only := each.only_cell) is not None]
    record_block, person_block = _blocks(
        [only for only, _ in keys], [each for _, each in keys], len(weight), len(people)
    )
    counted = np.bincount(record_block, weights=weight)
    there = np.bincount(person_block, weights=people.weight, minlength=len(counted))
    if not sample and len(there) > len(counted):
        return False
    there = there[: len(counted)]
    if (counted > there).any() or (not sample and (counted < there).any()):
        return False
    blurred = [each for each in columns if each.only_cell is None]
    return not blurred or _agree(blurred, weight, record_block, people.weight, person_block, sample=sample)


@dataclass(frozen=True)
class _Published:
    """A column as published: the cell of each record, the value of each person, and which values agree with a cell."""

    cell: Ids
    value: Ids
    agreeing: list[Ids]
    n_values: int

    @cached_property
    def only_cell(self) -> Ids | None:
        """The cell that each value agrees with, -1 where there is none; None where some value agrees with several."""
        values = np.concatenate(self.agreeing)
        if len(np.unique(values)) < len(values):
            return None
        found = np.full(self.n_values, -1, dtype=np.int64)
        found[values] = np.repeat(np.arange(len(self.agreeing)), [len(each) for each in self.agreeing])
        return found

    def agree(self, records: Ids, people: Ids) -> Mask:
        """Which of the records and people agree in this column: a row for each record."""
        cells, which = np.unique(self.cell[records], return_inverse=True)
        fits = np.zeros((len(cells), self.n_values), dtype=bool)
        for row, cell in enumerate(cells.tolist()):
            fits[row, self.agreeing[cell]] = True
        return np.asarray(fits[which.reshape(-1)][:, self.value[people]])


def _column(records: Records, name: str, people: Table) -> _Published:
    column, place = people.schema[name], records.columns.index(name)
    cells = [_hashable(row[place]) for row in records.rows]
    number = {cell: i for i, cell in enumerate(dict.fromkeys(cells))}
    values, value = _values(column, people)
    numbers = np.array([math.nan if one is None else one for one in values], dtype=float) if column.numeric else None
    position = {one: i for i, one in enumerate(values)}
    agreeing = [_agreeing(cell, position, numbers) for cell in number]
    return _Published(np.array([number[cell] for cell in cells]), value, agreeing, len(values))


def _values(column: Column, people: Table) -> tuple[list[Any], Ids]:
    """The different values there are, None for a missing one, and which of them each row has."""
    cells = people.frame[column.name].astype(object).to_numpy()
    plain = [None if isinstance(cell, float) and math.isnan(cell) else cell for cell in cells]
    number = {cell: i for i, cell in enumerate(dict.fromkeys(plain))}
    return list(number), np.array([number[cell] for cell in plain], dtype=np.int64)


def _hashable(cell: Any) -> Any:
    if not isinstance(cell, dict):
        return cell
    return tuple((key, tuple(result) if isinstance(result, list) else result) for key, result in sorted(cell.items()))


def _agreeing(cell: Any, position: Mapping[Any, int], numbers: Floats | None) -> Ids:
    """The values that agree with a published cell: equal to it, in its set or range, or any if it is withheld."""
    parts = dict(cell) if isinstance(cell, tuple) else {"in": (cell,)}
    if "withheld" in parts:
        return np.arange(len(position))
    if "in" in parts:
        return np.array(sorted({position[one] for one in parts["in"] if one in position}), dtype=np.int64)
    inside = np.zeros(0) if numbers is None else (numbers >= parts["from"]) & (numbers <= parts["to"])
    return np.flatnonzero(inside)


def _blocks(keys: list[Ids], columns: list[_Published], n_records: int, n_people: int) -> tuple[Ids, Ids]:
    """The number of each record's key and each person's; those of people with a key that no record has come last."""
    record, person = np.zeros(n_records, dtype=np.int64), np.zeros(n_people, dtype=np.int64)
    for only, column in zip(keys, columns, strict=True):
        both = np.concatenate([record, person]) * (len(column.agreeing) + 1)
        both += np.concatenate([column.cell, only[column.value]]) + 1
        numbers = np.unique(both, return_inverse=True)[1].reshape(-1)
        record, person = numbers[:n_records], numbers[n_records:]
    found = {number: i for i, number in enumerate(dict.fromkeys(record.tolist()))}
    named = [found.setdefault(number, len(found)) for number in [*record.tolist(), *person.tolist()]]
    return np.array(named[:n_records]), np.array(named[n_records:])


def _agree(
    columns: list[_Published], weight: Ids, record_block: Ids, people: Ids, person_block: Ids, *, sample: bool
) -> bool:
    """The same of columns whose cells overlap, among records and people of one key."""
    records_of, people_of = np.zeros(len(people)), np.zeros(len(weight))
    pairs, n_pairs = [np.zeros((2, 0), dtype=np.int64)], 0
    for records, persons in _chunks(record_block, person_block):
        agree = np.ones((len(records), len(persons)), dtype=bool)
        for column in columns:
            agree &= column.agree(records, persons)
        mine, theirs = np.nonzero(agree)
        record, person = records[mine], persons[theirs]
        people_of += np.bincount(record, weights=people[person], minlength=len(weight))
        records_of += np.bincount(person, weights=weight[record], minlength=len(people))
        n_pairs += len(record)
        if n_pairs <= MAX_PAIRS:
            pairs.append(np.stack([record, person]))
    if (people_of < weight).any() or (not sample and (records_of < people).any()):
        return False
    if n_pairs > MAX_PAIRS or max(weight.sum(), people.sum()) >= MAX_PEOPLE:
        return True
    record, person = np.concatenate(pairs, axis=1)
    return bool(_flow(record, person, weight, people) == weight.sum())


def _chunks(record_block: Ids, person_block: Ids) -> Iterator[tuple[Ids, Ids]]:
    """Records and all people of one key, so many records at once that the pairs fit into memory."""
    by_record, by_person = np.argsort(record_block, kind="stable"), np.argsort(person_block, kind="stable")
    blocks = np.arange(int(record_block.max()) + 2)
    first = np.searchsorted(record_block[by_record], blocks)
    first_person = np.searchsorted(person_block[by_person], blocks)
    for block in blocks[:-1].tolist():
        people = by_person[first_person[block] : first_person[block + 1]]
        step = max(1, CHUNK_CELLS // max(1, len(people)))
        for start in range(first[block], first[block + 1], step):
            yield by_record[start : min(start + step, first[block + 1])], people


def _flow(record: Ids, person: Ids, weight: Ids, people: Ids) -> int:
    """How many people can be given a record that agrees with them, no record to more than it counts.

    Source: Ford, Fulkerson, "Maximal Flow Through a Network", Canadian Journal of Mathematics 8, 1956.
    """
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import maximum_flow

    n, m = len(weight), len(people)
    begin = np.concatenate([np.full(n, n + m), record, n + np.arange(m)])
    end = np.concatenate([np.arange(n), n + person, np.full(m, n + m + 1)])
    capacity = np.concatenate([weight, weight[record], people]).astype(np.int32)
    graph = csr_array(coo_array((capacity, (begin, end)), shape=(n + m + 2, n + m + 2)))
    return int(maximum_flow(graph, n + m, n + m + 1).flow_value)


def _has_less_noise(name: str, noise: Noise, records: Records, table: Table) -> bool:
    """Do shared numbers vary by less than the table's numbers under such noise could?

    The variance of x + R is that of x, and 2 cov(x, R) + var(R) more, whatever the numbers x are: of standard
    deviation sqrt(4 var(x) s^2 / n + (kurtosis - 1) s^4 / n) around s^2, s^2 the variance of the noise. Numbers of
    few people, or under little noise, are never said to have less.
    """
    if name not in records.columns or name not in table.schema or not table.schema[name].numeric:
        return False
    place, cells = records.columns.index(name), table.numbers(name)
    items = [(row[place], n) for row, n in zip(records.rows, records.weight, strict=True) if _is_number(row[place])]
    there = ~np.isnan(cells)
    n = int(table.weight[there].sum())
    if not items or sum(weight for _, weight in items) != n:
        return False
    original = np.repeat(cells[there], table.weight[there])
    shared = np.repeat([float(number) for number, _ in items], [weight for _, weight in items])
    if np.array_equal(np.sort(original), np.sort(shared)):
        return True
    kurtosis = 3.0 if noise.law == "gaussian" else 1.8
    spread = math.sqrt((4 * original.var() * noise.variance + (kurtosis - 1) * noise.variance**2) / n)
    return bool(shared.var() - original.var() < noise.variance - STANDARD_DEVIATIONS * spread)


def _is_number(cell: Any) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)


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
    if release.count_semantics == "exact" or excused or (release.count_semantics == "sampled" and records):
        return False
    numbers = bool(release.trees) and release.publish.leaves != "labels"
    asked = {name for tree in (*release.trees, *release.alternatives.values()) for name in columns_asked(tree)}
    if not (numbers or records) or not all(name in table.schema for name in asked):
        return False
    if release.trees and (
        release.target not in table.schema or inconsistent_leaves(replace(release, count_semantics="exact"), table)
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
    if release.count_semantics not in DRAWN or (
        release.count_semantics == "sampled" and release.publish.leaves == "counts"
    ):
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
        log_chance = _log_multinomial_at_mean if release.count_semantics == "bootstrap" else _log_sample_in_proportion
        chances.append(sum(map(log_chance, rows)))
    return math.exp(min(chances) if release.count_semantics == "sampled" else sum(chances))


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
    if release.count_semantics != "unknown" or release.file is not None or release.publish.leaves != "counts":
        return False
    every = (leaf for tree in (*release.trees, *release.alternatives.values()) for leaf in leaves(tree))
    return all(float(count).is_integer() for leaf in every for count in (leaf.counts or {}).values())


def inconsistent_leaves(release: Release, table: Table) -> int:
    """How many leaves tell counts, shares or error rates that are not those of the table's people.

    Of a sample there must be as many people of each class as it counts, of a bootstrap somebody. Whole numbers of a
    release file that says not what they count must be the people. 0 for releases whose numbers claim neither, and for
    trees that ask about columns the table does not have.
    """
    compared = release.count_semantics in {"exact", *DRAWN} or _counts_people(release)
    if not compared or release.model != "trees" or release.target not in table.schema:
        return 0
    strange, close = 0, _close(release)
    for tree in (*release.trees, *release.alternatives.values()):
        if not all(name in table.schema for name in columns_asked(tree)):
            continue
        routed = route(tree, table)
        counts = _counts(table, release.target, routed.leaf, len(routed.leaves))
        items = zip(routed.leaves, counts.tolist(), strict=True)
        for leaf, row in items:
            people = dict(zip(release.classes, row, strict=True))
            drawn = DRAWN.get(release.count_semantics)
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


def counts_missing_cells(release: Release, table: Table) -> bool:
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
            case NumericSplit():
                low = node.missing == "low"
                waiting += [(node.high, missing or not low), (node.low, missing or low)]
            case CategoricalSplit():
                ways = [(branch.node, missing or None in branch.values) for branch in node.branches]
                ways += [] if node.default is None else [(node.default, True)]
                waiting += reversed(ways)
    return found


def _counts(table: Table, target: str, leaf: NDArray[np.int64], n_leaves: int) -> NDArray[np.int64]:
    counts = np.zeros((n_leaves, len(table.schema[target].domain)), dtype=np.int64)
    reached = leaf != NOWHERE
    np.add.at(counts, (leaf[reached], table.codes(target)[reached]), table.weight[reached])
    return counts


def _close(release: Release) -> float:
    """How near to the people's own shares those of the leaves must be."""
    items = [list(leaf.shares.values()) for tree in release.trees for leaf in leaves(tree) if leaf.shares is not None]
    digits = decimal_places(np.array(items)) if release.file is not None and items else None
    return CLOSE if digits is None else 10.0**-digits + CLOSE


def _sampled(leaf: Leaf, counts: dict[str, int]) -> bool:
    """Are at least so many people there as the leaf counts?"""
    return all(count <= counts[name] for name, count in (leaf.counts or {}).items())


def _drawn(leaf: Leaf, counts: dict[str, int]) -> bool:
    """Is somebody of each class there whom the leaf counts, however often?"""
    result = leaf.counts or leaf.shares or {}
    return all(counts[name] > 0 for name, number in result.items() if number > 0)


DRAWN: Mapping[str, Callable[[Leaf, dict[str, int]], bool]] = {"sampled": _sampled, "bootstrap": _drawn}


def _near(share: float, value: float, close: float) -> bool:
    """Is the share told as it is, or rounded, where nobody who is there is said to be missing?"""
    return abs(share - value) <= (close if (share > 0) == (value > 0) else CLOSE)


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
