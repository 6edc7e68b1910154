"""Near-copies: are people of a control too like people of the table to be other people?

A control of people who are in the table, with another rounding or a cent more, makes every model look safe. If table
and control are drawn from one population, who is in which file is as good as chosen by chance. So people are grouped by
their cells, all but one column's, numbers exactly or by intervals, and a permutation test asks whether groups have
people of both files more often than chance explains.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.kernel.table import Table, distinct_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

DRAWS = 999
"""Random divisions of the people that the test draws: so many make a p-value of 0.001 possible."""
LEVEL = 0.001
"""At most this share of controls of other people is refused."""
INTERVALS = (4096, 256, 32, 8)
"""Besides exactly, numbers are compared by so many intervals over the middle 98 % of the people."""
FEWEST_CELLS = 30
"""Ways of grouping with fewer groups are left out: a split that is stratified by several columns looks like copies
there, and so many people are alike that a model cannot tell who of them it was fitted on."""
MAX_MEMBERS = 3_000_000
"""People times ways of grouping them; of more people, so many are drawn at random as this allows."""
DRAWN_AT_ONCE = 37
"""Draws that are held at once; with the file's own division, 27 times as many are all of them."""
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""The shares of copies of which the test states whether it would see them."""
REPETITIONS = 3
"""How often each of these shares is planted."""
MISSED_SHARE_QUANTILE = 1.645
"""Standard deviations by which a planted share exceeds the threshold, so that 95 % of such controls do."""
SMALLEST_THRESHOLD = 3.5
"""The largest of the scores of all draws is rarely below it, where there are groups at all."""

TOLERANCE = 1e-9
"""Scores that differ by no more are equal: floating point adds them up."""

Words = NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class NearCopies:
    """Whether a control seems to have near-copies of people of the table.

    Attributes:
        p_value: in (0, 1], how likely files of different people are as alike as these.
        seen_from: for each column the smallest share of the control, one of `SHARES`, from which copies of people of
            the table with another cell in this column would be seen in 95 of 100 controls; None where they would not be
            seen if everybody were such a copy.
    """

    p_value: float
    seen_from: Mapping[str, float | None]

    @property
    def has_copies(self) -> bool:
        """Does the test reject that these are other people, at `LEVEL`?"""
        return self.p_value <= LEVEL

    @property
    def described(self) -> dict[str, Any]:
        """What a report states: the share from which copies are seen, but for those that differ in some columns."""
        shares = [share for share in self.seen_from.values() if share is not None]
        unseen = [name for name, share in self.seen_from.items() if share is None]
        return {"from_share": max(shares, default=None)} | ({"unless_they_differ_in": unseen} if unseen else {})


def shares_keys(table: Table, control: Table) -> bool:
    """Whether somebody in the control has the key of somebody in the table; False where no column has the role `key`.

    Args:
        table: people.
        control: people with the columns of the same schema.
    """
    return any(control.frame[each.name].isin(table.frame[each.name]).any() for each in table.schema.having("key"))


def near_copies(table: Table, control: Table, rng: np.random.Generator) -> NearCopies:
    """Test whether people of the control are near-copies of people of the table.

    People are grouped by all columns, and by all but each one. For each way of grouping, numbers are compared exactly
    and by the random grids of `INTERVALS`. A score states how much more often two people of a group are of different
    files than two people of different groups are. The largest of all scores is compared with those of random divisions
    of the same people into files of the same sizes, with the same classes. Of many people a random sample is tested.

    The p-value is exact if the people of one class are exchangeable, as after any random split of one file, stratified
    by class or not. Where the control is drawn from another population, scores are smaller: their expectation is
    largest where both are of one. That is not so where files are made free of repeated records, or a sorted file is
    divided by turns.

    Args:
        table: the people whom a release was learned from.
        control: people with the columns of the same schema, without key.
        rng: draws the divisions, the grids and the planted copies.

    Source: Lehmann, Romano, Testing Statistical Hypotheses, 2022, section 17.2 (permutation tests); Schilling, JASA
        81(395), 1986, 799-806 (how often a neighbour is of the same sample). doi:10.1080/01621459.1986.10478337
    Departure: neighbours are all people in the same cell of a grid, because in tables of few values there are many
        nearest; small scores mean that files differ, and large ones that they are too alike.
    """
    people = _Pooled.of(table.without_key, control.without_key)
    people = people.sampled(MAX_MEMBERS // ((1 + len(people.columns)) * (1 + len(INTERVALS))), rng)
    groupings = list(_groupings(people, rng))
    groups = _Groups.of(groupings, people.persons)
    p_value, threshold = 1.0, SMALLEST_THRESHOLD
    if groups is not None:
        largest = np.concatenate([groups.scores(counts).max(axis=0) for counts in _divisions(people, rng)])
        p_value = float((largest >= largest[0] - TOLERANCE).mean())
        threshold = max(threshold, float(largest[1:].max()))
    return NearCopies(p_value=p_value, seen_from=_seen_from(people, groupings, threshold, rng))


@dataclass(frozen=True, kw_only=True)
class _Pooled:
    """The distinct records of both files: shape (n_records,) each, and the columns of `cells`.

    Attributes:
        columns: their names.
        cells: each column as numbers; categorical ones as the positions of their values.
        grids: the columns whose numbers are compared by intervals, too.
        in_table: people of the table with each record.
        in_control: people of the control with each record.
        strata: the class of each record.
        share: of the table's people, who are drawn where these are a sample.
    """

    columns: tuple[str, ...]
    cells: tuple[NDArray[np.float64], ...]
    grids: frozenset[str]
    in_table: NDArray[np.int64]
    in_control: NDArray[np.int64]
    strata: NDArray[np.int64]
    share: float = 1.0

    @property
    def persons(self) -> NDArray[np.int64]:
        return self.in_table + self.in_control

    @staticmethod
    def of(table: Table, control: Table) -> _Pooled:
        schema = table.schema
        frame = pd.concat([table.frame, control.frame], ignore_index=True)
        first, record = distinct_rows(frame, schema)
        counts = [
            np.bincount(rows, weights=each.persons, minlength=len(first)).astype(np.int64)
            for rows, each in ((record[: len(table)], table), (record[len(table) :], control))
        ]
        cells = []
        for column in schema.columns:
            both = [
                each.numbers(column.name) if column.holds_numbers else each.frame[column.name].cat.codes.to_numpy()
                for each in (table, control)
            ]
            cells.append(np.concatenate(both)[first].astype(np.float64))
        strata = np.zeros(len(first), dtype=np.int64)
        for column in schema.having("class"):
            if column.countable:
                strata = np.concatenate([each.codes(column.name) for each in (table, control)])[first]
        return _Pooled(
            columns=tuple(column.name for column in schema.columns),
            cells=tuple(cells),
            grids=frozenset(column.name for column in schema.columns if column.holds_numbers),
            in_table=counts[0],
            in_control=counts[1],
            strata=strata,
        )

    def sampled(self, most: int, rng: np.random.Generator) -> _Pooled:
        """So many random people of both files, everyone equally likely; all where there are no more."""
        files = self.in_table, self.in_control
        inside, outside = (int(each.sum()) for each in files)
        if inside + outside <= most:
            return self
        first = int(rng.hypergeometric(inside, outside, most))
        drawn = [
            rng.multivariate_hypergeometric(each, size, method="marginals")
            for each, size in zip(files, (first, most - first), strict=True)
        ]
        there = drawn[0] + drawn[1] > 0
        return replace(
            self,
            cells=tuple(each[there] for each in self.cells),
            in_table=drawn[0][there],
            in_control=drawn[1][there],
            strata=self.strata[there],
            share=first / inside,
        )


@dataclass(frozen=True)
class _Grouping:
    """One way of grouping: the column that is left out (None for none), and the group of each record."""

    left_out: str | None
    group: NDArray[np.int64]


def _groupings(people: _Pooled, rng: np.random.Generator) -> Iterator[_Grouping]:
    """Every way of grouping the people that has at least `FEWEST_CELLS` groups."""
    ways: Sequence[int | None] = (None, *INTERVALS) if people.grids else (None,)
    for intervals in ways:
        words = [
            _words(cells if intervals is None or name not in people.grids else _intervals(cells, intervals, rng), rng)
            for name, cells in zip(people.columns, people.cells, strict=True)
        ]
        whole = np.sum(words, axis=0, dtype=np.uint64)
        nothing = np.zeros_like(whole)
        for left_out, own in ((None, nothing), *zip(people.columns, words, strict=True)):
            cells, group = np.unique(whole - own, return_inverse=True)
            if len(cells) >= FEWEST_CELLS:
                yield _Grouping(left_out, group)


def _intervals(numbers: NDArray[np.float64], count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """The interval of each number, of a grid with a random origin; missing ones stay NaN."""
    present = numbers[~np.isnan(numbers)]
    low, high = np.quantile(present, [0.01, 0.99]) if len(present) else (0.0, 0.0)
    width = (high - low or np.ptp(present) or 1.0) / count if len(present) else 1.0
    return np.floor((numbers - low) / width + rng.random())


def _words(cells: NDArray[np.float64], rng: np.random.Generator) -> Words:
    """A random word for each different cell, so that sums of words are equal where the cells are."""
    values, position = np.unique(cells, return_inverse=True)
    words: Words = rng.integers(0, 2**64, size=len(values), dtype=np.uint64)[position]
    return words


@dataclass(frozen=True)
class _Groups:
    """The groups of at least two people of all ways of grouping, those of one way beside each other.

    Attributes:
        members: shape (n_groups, n_records), 1 where a record is in a group.
        sizes: shape (n_groups,), the people in each.
        starts: the first group of each way.
    """

    members: csr_array
    sizes: NDArray[np.float64]
    starts: NDArray[np.int64]

    @staticmethod
    def of(groupings: Sequence[_Grouping], persons: NDArray[np.int64]) -> _Groups | None:
        """Those of these ways; None where nobody is in a group with somebody else."""
        from scipy.sparse import vstack

        parts, sizes = [], []
        for grouping in groupings:
            people = np.bincount(grouping.group, weights=persons)
            if people.max() > 1:
                parts.append(_members(grouping.group)[people > 1])
                sizes.append(people[people > 1])
        if not parts:
            return None
        starts = np.cumsum([0, *map(len, sizes[:-1])])
        return _Groups(vstack(parts, format="csr"), np.concatenate(sizes), starts)

    def scores(self, in_table: NDArray[np.int64]) -> NDArray[np.float64]:
        """The score of each way of grouping: shape (n_ways, n_divisions).

        Args:
            in_table: shape (n_records, n_divisions), the people of the table with each record.
        """
        return _scores(self.members @ in_table.astype(np.float64), self.sizes[:, None], self.starts)


def _members(group: NDArray[np.int64]) -> csr_array:
    """Shape (n_groups, n_records), 1 where a record is in a group."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(group)), (group, np.arange(len(group)))))


def _scores(a: NDArray[np.float64], sizes: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """By how many standard deviations people of one group are of different files more often than any two people.

    Of the E people in groups of at least two, A are of the table and B of the control. Two random ones of these are of
    different files with probability 2AB / (E (E - 1)); a person and a random other one of her group, in the mean over
    all E, with 2ab / (s - 1) for a group of a + b = s, summed up and divided by E. With p = A / E, q = B / E the sum
    has the variance 8 p^2 q^2 s / (s - 1), summed over groups, where people are divided by chance.

    Args:
        a: shape (n_groups, n_divisions), or one that broadcasts to it, the people of the table in each group.
        sizes: all people in each group, in the same shape; groups of fewer than two do not count.
        starts: the first group of each way of grouping.

    Returns:
        Shape (n_ways, n_divisions); 0 where all people in groups are of one file.
    """
    several = sizes > 1
    others = np.where(several, sizes - 1, 1)
    parts = 2 * a * (sizes - a) / others, a, sizes, sizes / others
    apart, of_table, people, spread = (np.add.reduceat(np.where(several, each, 0), starts, axis=0) for each in parts)
    people = np.maximum(people, 2)
    p = of_table / people
    expected = 2 * of_table * (people - of_table) / (people - 1)
    deviation = np.sqrt(8 * spread) * p * (1 - p)
    scores: NDArray[np.float64] = np.divide(apart - expected, deviation, out=np.zeros_like(apart), where=deviation > 0)
    return scores


def _divisions(people: _Pooled, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """The people of the table with each record: as the files are, then in random divisions, several at once.

    Each class has as many people in each file as it has in the files.
    """
    yield people.in_table[:, None]
    drawn = 0
    while drawn < DRAWS:
        size = min(DRAWN_AT_ONCE, DRAWS - drawn)
        counts = np.zeros((len(people.persons), size), dtype=np.int64)
        for stratum in np.unique(people.strata):
            there = np.flatnonzero(people.strata == stratum)
            persons, first = people.persons[there], int(people.in_table[there].sum())
            method: Literal["count", "marginals"] = "count" if persons.sum() <= 4 * len(there) else "marginals"
            counts[there] = rng.multivariate_hypergeometric(persons, first, size=size, method=method).T
        yield counts
        drawn += size


def _seen_from(
    people: _Pooled, groupings: Sequence[_Grouping], threshold: float, rng: np.random.Generator
) -> dict[str, float | None]:
    """For each column the smallest share of copies with another cell in this column that would be seen."""
    controls = np.stack([_with_copies(people, share, rng) for share in SHARES for _ in range(REPETITIONS)], axis=1)
    both = np.concatenate([people.in_table[:, None], controls], axis=1).astype(np.float64)
    best: dict[str | None, NDArray[np.float64]] = {}
    for grouping in groupings:
        if grouping.left_out is not None:
            counts = _members(grouping.group) @ both
            scores = _scores(counts[:, :1], counts[:, :1] + counts[:, 1:], np.zeros(1, dtype=np.int64))
            expected = scores.reshape(len(SHARES), REPETITIONS).mean(axis=1)
            best[grouping.left_out] = np.maximum(best.get(grouping.left_out, expected), expected)
    seen: dict[str, float | None] = {}
    for name in people.columns:
        missed = np.flatnonzero(best.get(name, np.zeros(len(SHARES))) - MISSED_SHARE_QUANTILE < threshold)
        rest = SHARES[missed[-1] + 1 :] if len(missed) else SHARES
        seen[name] = rest[0] if rest else None
    return seen


def _with_copies(people: _Pooled, share: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """The people of a control with each record, so many of whom are replaced by copies of people of the table.

    Copies of people of the table who are not in a sample are like other people.
    """
    outside, inside = int(people.in_control.sum()), int(people.in_table.sum())
    copies = int(rng.binomial(round(share * outside), people.share))
    draw = rng.multivariate_hypergeometric
    kept = draw(people.in_control, outside - copies, method="marginals")
    times, rest = divmod(copies, inside)
    return kept + times * people.in_table + draw(people.in_table, rest, method="marginals")
