"""Consistency of what a release publishes with the table: counts, shares and error rates on leaves, and records.

Every audit asks `inconsistent_leaves` and `inconsistent_records`: numbers that do not belong to the table's people
would make every score meaningless.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.algorithms.publication import at_level
from leafgate.algorithms.routing import route
from leafgate.kernel.arrays import Floats, Ids, Mask
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.noise import Noise
from leafgate.kernel.release import FileDisclosure, Records, Release
from leafgate.kernel.schema import Column, Schema
from leafgate.kernel.table import Table, make_table, typed_column
from leafgate.kernel.tree import Node, TreeArrays, columns_asked, leaves, tree_arrays

if TYPE_CHECKING:
    from leafgate.algorithms.node_counts import Contradiction, FileNumbers

MAX_DECIMAL_PLACES = 3
"""Shares with more decimal places are taken to be unrounded."""

STATED_STEP = re.compile(r"shares of classes, rounded to steps of (0\.(?!0+$)[0-9]{1,9})")
"""How a file states the step of which its shares are multiples."""

SINGLE_PRECISION = 1e-7
"""A decimal number differs from its single precision value by at most this."""


def decimal_places(shares: NDArray[np.float64], most: int = MAX_DECIMAL_PLACES) -> int | None:
    """Return the number of decimal places to which the shares are rounded.

    Args:
        shares: any number of shares from 0 to 1, in single or double precision.
        most: the largest number of places to try.

    Returns:
        The smallest number of places, at least 1, that represents all shares; None where more than `most` are needed.

    >>> decimal_places(np.array([0.25, 0.7, 1.0])), decimal_places(np.array([1 / 3]))
    (2, None)
    """
    fitting = (n for n in range(1, most + 1) if (abs(shares - np.round(shares, n)) <= SINGLE_PRECISION).all())
    return next(fitting, None)


def share_units(shares: NDArray[np.float64], disclosures: Iterable[FileDisclosure]) -> int | None:
    """Return to how many equal parts of 1 the shares of a file are rounded: 20 for steps of .05, 100 for two digits.

    Shares that are multiples of .05 by accident look like shares rounded to steps of .05. So a step counts only where
    the file states it.

    Args:
        shares: any number of shares from 0 to 1, in single or double precision.
        disclosures: what the file states.

    Returns:
        The parts that the file states if all shares are multiples of one, otherwise those of the decimal places; None
        where there are more than MAX_DECIMAL_PLACES.

    >>> stated = FileDisclosure("ratios", "medium", "shares of classes, rounded to steps of 0.05")
    >>> share_units(np.array([0.25, 0.7]), [stated]), share_units(np.array([0.25, 0.7]), [])
    (20, 100)
    """
    stated = (STATED_STEP.fullmatch(item.says) for item in disclosures)
    for units in (round(1 / float(match[1])) for match in stated if match is not None):
        if (abs(shares - np.round(shares * units) / units) <= SINGLE_PRECISION).all():
            return units
    digits = decimal_places(shares)
    return None if digits is None else 10**digits


MAX_PAIRS = 300_000
"""Up to so many agreeing pairs of a record and a person, a maximum flow decides whether the records fit the people."""

CHUNK_CELLS = 4_000_000
"""Pairs of a record and a person that are compared in one array."""

MAX_PEOPLE = 2**31
"""The maximum flow is computed in 32-bit integers."""

STANDARD_DEVIATIONS = 5.0
"""The variance of an honest release's noisy numbers lies this far below its expectation once in three million cases."""


def inconsistent_records(release: Release, table: Table) -> str:
    """Return how published records contradict the table.

    Records with `exact` semantics must be the table's people, each once. So must records with `unknown` semantics and
    without noise, because attacks could not use them otherwise. Each record of a sample must match a person.

    Returns:
        A sentence that describes the first contradiction and quotes no cell; empty where there is none.
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
        return "the noise on some published numbers has a smaller variance than the release states"
    return ""


def records_fit(records: Records, table: Table, *, sample: bool = False) -> bool:
    """Return whether the people of the table can be assigned to the records so that all published cells agree.

    Columns in which each value agrees with only one cell are joined like keys, and the people of each key are counted.
    Where cells overlap (`in`, `from` and `to`, withheld), each record must agree with at least as many people as it
    counts, and each person with a record; up to MAX_PAIRS pairs a maximum flow decides it exactly.

    Args:
        records: the published records with their weights.
        table: the table of the audit; only the columns of the records are compared.
        sample: whether people may have no record.
    """
    names = [name for name in records.columns if name in table.schema]
    people, _ = table.project(names)
    weight = np.array(records.weight, dtype=np.int64)
    if weight.sum() > people.total_weight or (weight.sum() < people.total_weight and not sample):
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
    """One published column.

    `cell` has the number of each record's cell, `value` that of each person's value, `agreeing` for each cell the
    values that agree with it.
    """

    cell: Ids
    value: Ids
    agreeing: list[Ids]
    n_values: int

    @cached_property
    def only_cell(self) -> Ids | None:
        """The one cell that each value agrees with, -1 where there is none; None where a value agrees with several."""
        values = np.concatenate(self.agreeing)
        if len(np.unique(values)) < len(values):
            return None
        cell_of = np.full(self.n_values, -1, dtype=np.int64)
        cell_of[values] = np.repeat(np.arange(len(self.agreeing)), [len(each) for each in self.agreeing])
        return cell_of

    def agree(self, records: Ids, people: Ids) -> Mask:
        """Which records (rows) and people (columns) agree in this column."""
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
    """The distinct values, None for a missing one, and the number of each row's value."""
    if column.edges is not None:  # records show the interval
        return list(column.domain), people.codes(column.name)
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
    """The number of each record's key and of each person's key; keys that no record has come last."""
    record, person = np.zeros(n_records, dtype=np.int64), np.zeros(n_people, dtype=np.int64)
    for only, column in zip(keys, columns, strict=True):
        both = np.concatenate([record, person]) * (len(column.agreeing) + 1)
        both += np.concatenate([column.cell, only[column.value]]) + 1
        numbers = np.unique(both, return_inverse=True)[1].reshape(-1)
        record, person = numbers[:n_records], numbers[n_records:]
    position = {number: i for i, number in enumerate(dict.fromkeys(record.tolist()))}
    renumbered = [position.setdefault(number, len(position)) for number in [*record.tolist(), *person.tolist()]]
    return np.array(renumbered[:n_records]), np.array(renumbered[n_records:])


def _agree(
    columns: list[_Published], weight: Ids, record_block: Ids, people: Ids, person_block: Ids, *, sample: bool
) -> bool:
    """Decide the same for columns whose cells overlap, among the records and people of each key."""
    records_of, people_of = np.zeros(len(people)), np.zeros(len(weight))
    pairs, n_pairs = [np.zeros((2, 0), dtype=np.int64)], 0
    for records, persons in _chunks(record_block, person_block):
        agree = np.ones((len(records), len(persons)), dtype=bool)
        for column in columns:
            agree &= column.agree(records, persons)
        row, column_index = np.nonzero(agree)
        record, person = records[row], persons[column_index]
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
    """Yield records and all people of one key, with at most about CHUNK_CELLS pairs at a time."""
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
    """The largest number of people who can be assigned to agreeing records, none to more people than it counts.

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
    """Is the variance of the published numbers too small for the table's numbers with this noise?

    The variance of x + R exceeds that of x by 2 cov(x, R) + var(R), whatever the numbers x are. This difference has
    the expectation s^2, the variance of the noise, and the standard deviation
    sqrt(4 var(x) s^2 / n + (kurtosis - 1) s^4 / n). With few people or little noise the test never rejects.
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


TOLERANCE = 1e-6
"""Shares and error rates may differ by this much, rounded shares of a model file by one unit of the last place."""

MAX_CHANCE = 0.02
"""Largest probability that honestly drawn numbers are taken for exact ones; only very small tables come near it."""

SAMPLE_RATE = 0.9
"""Assumed share of the people in a sample; smaller samples have the table's own numbers less often."""


def is_exact_despite_label(release: Release, table: Table) -> bool:
    """Return whether all published numbers are exact although the release labels them as drawn or unknown.

    Such a label keeps attacks from using the numbers as the exact counts that they are.

    Returns:
        False also for releases with noise or a claim of differential privacy, whose checks look at how the numbers were
        drawn; for model files, whose readers choose the label; for a sample with records; and for bootstraps and
        samples that agree with the table by chance, as shares do on leaves whose people all have one class.
    """
    records = release.records is not None
    excused = bool(release.noise) or release.claims_differential_privacy or release.file is not None
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
    """The probability that numbers drawn as the release states equal the table's own numbers in all leaves.

    Each tree of a bootstrap has its own draw: its counts are one multinomial draw at its mean; its shares and error
    rates are one draw for each leaf, given the number drawn there. A sample of SAMPLE_RATE of the people may be common
    to all trees, so the least probable tree decides. The result is 0 where nothing was drawn, and for counts of a
    sample, which would have to contain everybody.
    """
    if release.count_semantics not in DRAWN or (
        release.count_semantics == "sampled" and release.publish.leaves == "counts"
    ):
        return 0.0
    chances = []
    for tree in (*release.trees, *release.alternatives.values()):
        routed = route(tree, table)
        counts = _counts(table, release.target, routed.leaf, routed.n_leaves)
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
    """The log probability that a sample of SAMPLE_RATE of these people is not empty and keeps their proportions."""
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
    """The log probability of these counts in a multinomial draw of as many people whose mean they are."""
    people = int(counts.sum())
    there = [count for count in counts.tolist() if count]
    log_chance: float = sum(c * math.log(c / people) - math.lgamma(c + 1) for c in there)
    return math.lgamma(people + 1) + log_chance


def _counts_people(release: Release) -> bool:
    """Does a release of leafgate's own format publish whole numbers with unknown semantics?

    Weights, which need not count people, occur only in model files of other libraries.
    """
    if release.count_semantics != "unknown" or release.file is not None or release.publish.leaves != "counts":
        return False
    every = (leaf for tree in (*release.trees, *release.alternatives.values()) for leaf in leaves(tree))
    return all(float(count).is_integer() for leaf in every for count in (leaf.counts or {}).values())


def inconsistent_leaves(release: Release, table: Table) -> int:
    """Return the number of leaves whose counts, shares or error rates contradict the table.

    Exact numbers must be those of the people in the leaf. For a sample the leaf must hold at least as many people of
    each class as it counts; for a bootstrap at least one. Whole numbers with unknown semantics in a release of
    leafgate's own format must be exact.

    Returns:
        0 also for releases whose numbers claim neither, and for trees that test columns the table does not have.
    """
    compared = release.count_semantics in {"exact", *DRAWN} or _counts_people(release)
    if not compared or release.model != "trees" or release.target not in table.schema:
        return 0
    inconsistent, tolerance = 0, share_tolerance(release)
    for tree in (*release.trees, *release.alternatives.values()):
        if not all(name in table.schema for name in columns_asked(tree)):
            continue
        routed = route(tree, table)
        counts = _counts(table, release.target, routed.leaf, routed.n_leaves)
        for i in np.flatnonzero(~_certainly_consistent(release, tree_arrays(tree), counts)).tolist():
            leaf, row = routed.leaves[i], counts[i].tolist()
            people = dict(zip(release.classes, row, strict=True))
            drawn = DRAWN.get(release.count_semantics)
            empty = release.is_empty(leaf) and any(row)
            inconsistent += not (_fits(leaf, people, tolerance) and not empty if drawn is None else drawn(leaf, people))
    return inconsistent


def _certainly_consistent(release: Release, arrays: TreeArrays, people: NDArray[np.int64]) -> Mask:
    """Which leaves of a tree have numbers that these people, shape (n_leaves, n_classes), certainly have.

    It spares all but a few leaves the check by which `inconsistent_leaves` decides.
    """
    counts = arrays.numbers_per_class("counts", release.classes)
    counted = arrays.statistics.publishes("counts")
    if release.count_semantics == "sampled":
        return np.asarray(counted & (counts <= people).all(axis=1))
    shares = counts if counted.all() else arrays.numbers_per_class("shares", release.classes)
    if release.count_semantics == "bootstrap":
        numbers = np.where(counted[:, None], counts, shares)
        return np.asarray(((numbers <= 0) | (people > 0)).all(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = abs(shares - people / people.sum(axis=1, keepdims=True))
    by_shares = ~counted & (apart <= TOLERANCE).all(axis=1)
    return np.asarray((counted & (counts == people).all(axis=1)) | by_shares)


def follows_from_records(tree: Node, release: Release) -> bool:
    """Return whether the tree discloses nothing that the release's records, routed through it, do not give.

    Each leaf must have the statistic of the records that reach it, and the label of most of them. False for a tree with
    a leaf that no record reaches, and where a tested cell is published as a set or a range.
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
    counts = _counts(table, release.target, routed.leaf, routed.n_leaves).tolist()
    leaf_counts = (dict(zip(release.classes, row, strict=True)) for row in counts)
    return all(_has_only(leaf, people) for leaf, people in zip(routed.leaves, leaf_counts, strict=True))


def _has_only(leaf: Leaf, counts: dict[str, int]) -> bool:
    """Does the leaf publish the statistic and the majority of these counts, and nothing else?"""
    most = max(counts.values())
    plain = leaf.value is None and leaf.scores is None
    return (
        most > 0 and plain and leaf.label is not None and counts[leaf.label] == most and _fits(leaf, counts, TOLERANCE)
    )


def _counts(table: Table, target: str, leaf: NDArray[np.int64], n_leaves: int) -> NDArray[np.int64]:
    n_values = len(table.schema[target].domain)
    cell = (leaf + 1) * n_values + table.codes(target)  # those of people who reach no leaf come first
    people = np.bincount(cell, weights=table.unequal_weight, minlength=(n_leaves + 1) * n_values)
    return people.astype(np.int64).reshape(n_leaves + 1, n_values)[1:]


def share_tolerance(release: Release) -> float:
    """Return the largest difference of a published share from the share of the people."""
    items = [list(leaf.shares.values()) for tree in release.trees for leaf in leaves(tree) if leaf.shares is not None]
    units = share_units(np.array(items), release.file.discloses) if release.file is not None and items else None
    return TOLERANCE if units is None else 1 / units + TOLERANCE


def _sampled(leaf: Leaf, counts: dict[str, int]) -> bool:
    """Does the leaf count at most the people of each class who are there?"""
    return all(count <= counts[name] for name, count in (leaf.counts or {}).items())


def _drawn(leaf: Leaf, counts: dict[str, int]) -> bool:
    """Is somebody of each class there that the leaf counts?"""
    numbers = leaf.counts or leaf.shares or {}
    return all(counts[name] > 0 for name, number in numbers.items() if number > 0)


DRAWN: Mapping[str, Callable[[Leaf, dict[str, int]], bool]] = {"sampled": _sampled, "bootstrap": _drawn}
"""For each semantics of drawn numbers: can a leaf have its numbers with these people?"""


def _near(share: float, value: float, tolerance: float) -> bool:
    """Is the published share within the tolerance? Rounding must not turn a positive share into 0 or 0 into one."""
    return abs(share - value) <= (tolerance if (share > 0) == (value > 0) else TOLERANCE)


def _fits(leaf: Leaf, counts: dict[str, int], tolerance: float) -> bool:
    """Does the leaf publish the numbers that a leaf with these people has?"""
    full = Leaf(leaf.label, counts)
    if leaf.counts is not None:
        return dict(leaf.counts) == counts
    if leaf.shares is not None:
        shares = at_level(full, "shares").shares
        return shares is not None and all(_near(shares[name], share, tolerance) for name, share in leaf.shares.items())
    if leaf.error_rate is not None:
        rate = at_level(full, "error_rates").error_rate
        return rate is not None and abs(rate - leaf.error_rate) <= TOLERANCE
    return True


@dataclass(frozen=True)
class Consistency:
    """Do the numbers of a release and of a model's file count this table's people? Computed on first use."""

    table: Table
    release: Release
    node_numbers: FileNumbers | None = None

    @cached_property
    def release_mismatch(self) -> str:
        """Why a release that claims to count this table's people does not; empty where it does."""
        if inconsistent_leaves(self.release, self.table):
            return "some leaves have numbers that are not those of this table: was the tree learned from other people?"
        return inconsistent_records(self.release, self.table)

    @cached_property
    def contradiction(self) -> Contradiction | None:
        """The first node of a model's file whose counts are not those of this table's people."""
        if self.node_numbers is None:
            return None
        from leafgate.algorithms.node_counts import first_contradiction

        return first_contradiction(self.node_numbers, self.release, self.table)
