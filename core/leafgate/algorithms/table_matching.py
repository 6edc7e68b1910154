"""How many cells of reconstructed records are right: the best matching with the true records, and its baseline.

Reconstructed records are nobody's in particular, so each is compared with the person to whom the best matching of all
of them assigns it. Columns of few values are then right by chance, so the number means something only beside the same
number of an adversary who knows how each column is distributed, or its domain alone, and nothing of how columns go
together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from leafgate.errors import InconclusiveError
from leafgate.lazy_loading import lazy

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from scipy import optimize, sparse
    from scipy.sparse import csgraph

    from leafgate.kernel.arrays import Floats, Mask
    from leafgate.kernel.schema import Column, Schema
    from leafgate.kernel.table import Table
else:
    np, optimize, sparse = lazy("numpy"), lazy("scipy.optimize"), lazy("scipy.sparse")
    csgraph = lazy("scipy.sparse.csgraph")

MAX_PAIRS = 25_000_000
"""Pairs of a reconstructed record and a person, of which 5,000 by 5,000 take 200 MB and some seconds to match."""
DRAWS = 7
"""Tables are drawn so often for the baseline: with probability 1 - 2^-6 their extremes enclose the median of all."""
BLOCK = 256
"""Records whose cells are compared with everybody's at once, so that memory is that of the matching."""
NEAR = 0.05
"""Numbers are right within this share of the column's range, unless an option says otherwise."""
ROUNDING = 1e-9
"""Relative error of differences in floating point."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """One column's true cells, and when another cell is as good as a true one.

    Attributes:
        name: the column.
        true: shape (n_people,), numbers, or positions among the column's values; NaN where missing.
        width: cells are right within this distance, from 0.
        share: of numbers that are compared by their ratio: right within this share of the larger one, from 0 to below
            1; such numbers are from 0.
        domain: the lowest and the highest number, or the first and the last position.
        numeric: whether cells are numbers, and not positions among values.
    """

    name: str
    true: Floats
    width: float = 0.0
    share: float = 0.0
    domain: tuple[float, float] = (0.0, 0.0)
    numeric: bool = False

    def right(self, cells: Floats) -> Mask:
        """Which of some cells are right of whom: shape (n_cells, n_people). A missing cell is right where one is."""
        one, other = cells[:, None], self.true[None, :]
        reach = self.width + self.share * np.maximum(one, other)
        near = np.abs(one - other) <= reach * (1 + ROUNDING) + ROUNDING * self.width
        return np.asarray(near | (np.isnan(one) & np.isnan(other)))

    def commonest(self) -> Mask:
        """Of whom the cell is right that is right of most people: shape (n_people,).

        Of numbers it is the middle of the interval, of the width in which numbers count as one, that holds most of
        them. Of several that hold as many it is the one with the smallest numbers.
        """
        present = np.sort(self.true[~np.isnan(self.true)])
        missing = np.isnan(self.true)
        if not len(present):
            return missing
        end = present / (1 - self.share) ** 2 + 2 * self.width
        held = np.searchsorted(present, end * (1 + np.sign(end) * ROUNDING), side="right") - np.arange(len(present))
        first = int(held.argmax())
        if missing.sum() > held[first]:
            return missing
        return np.asarray((self.true >= present[first]) & (self.true <= present[first + held[first] - 1]))

    def drawn(self, records: int, rng: np.random.Generator) -> Floats:
        """So many cells by the distribution of the true ones, in random order: shape (records,).

        They are the true cells themselves where as many are drawn, else those at even distances in their order.
        """
        ordered = np.sort(self.true)
        places = ((np.arange(records) + 0.5) * len(ordered) / records).astype(np.int64)
        return np.asarray(rng.permutation(ordered[places]))

    def drawn_of_domain(self, records: int, rng: np.random.Generator) -> Floats:
        """So many cells of which each value, or number between the bounds, is equally likely: shape (records,)."""
        low, high = self.domain
        drawn = rng.uniform(low, high, records) if self.numeric else rng.integers(int(high) + 1, size=records)
        return np.asarray(drawn, dtype=np.float64)


def true_cells(table: Table, names: Sequence[str], near: float = NEAR) -> tuple[Cells, ...]:
    """The true cells of some columns, an entry for each person of the table.

    Args:
        table: whose `persons` are counted.
        names: columns of its schema.
        near: numbers are right within this share of the column's range, by the policy's `bounds`, or of the true
            numbers where it has none; with `scale: ratio` within this share of the larger number. From 0 to below 1.
            Secret numbers with bins, and binned classes, are right in the same interval.

    Returns:
        In the order of `names`. The order in which the policy declares a column's values changes nothing.
    """
    return tuple(_true_cells(table, table.schema[name], near) for name in names)


def _true_cells(table: Table, column: Column, near: float) -> Cells:
    if column.countable:
        ranks = _ranks(column)
        last = float(np.nanmax(ranks, initial=0.0))
        return Cells(name=column.name, true=_repeated(ranks[table.codes(column.name)], table), domain=(0.0, last))
    numbers = _repeated(table.numbers(column.name), table)
    present = numbers[~np.isnan(numbers)]
    low, high = column.bounds or ((float(present.min()), float(present.max())) if len(present) else (0.0, 0.0))
    width, share = (0.0, near) if column.scale == "ratio" else (near * (high - low), 0.0)
    return Cells(name=column.name, true=numbers, width=width, share=share, domain=(low, high), numeric=True)


def _repeated(cells: Floats, table: Table) -> Floats:
    return np.repeat(cells, table.persons)


def _ranks(column: Column) -> Floats:
    """The place of each value of the domain among their texts; NaN for a missing cell: shape (n_values,)."""
    texts = sorted(str(value) for value in column.domain if value is not None)
    places = {text: place for place, text in enumerate(texts)}
    return np.array([np.nan if value is None else places[str(value)] for value in column.domain], dtype=np.float64)


def coded_cells(records: pd.DataFrame, schema: Schema) -> dict[str, Floats]:
    """The cells of a validated TableBelief's records, coded as `true_cells` codes the true ones.

    Args:
        records: categoricals over each column's values or intervals, and floats.
        schema: with these columns.

    Returns:
        By the names of the columns, each of shape (n_records,); NaN where missing.
    """
    return {name: _coded(records[name], schema[name]) for name in records.columns}


def _coded(cells: pd.Series, column: Column) -> Floats:
    if not column.countable:
        return cells.to_numpy(dtype=np.float64)
    codes = cells.cat.codes.to_numpy()
    ranks = _ranks(column)
    return np.asarray(np.where(codes < 0, np.nan, ranks[np.maximum(codes, 0)]))


Counted = Literal["cells", "records"]
"""What is counted where it is right: each cell by itself, or records all of whose cells are right."""


def most_right(columns: Sequence[Cells], cells: Mapping[str, Floats], counted: Counted = "cells") -> float:
    """The share of cells that are right under the best matching of records with people, each person used once.

    Args:
        columns: the true cells, each of shape (n_people,), at least one column.
        cells: by the names of the columns the cells of the records, each of shape (n_records,), from 1 record to as
            many as people.
        counted: cells, or whole records, for which the matching is the one with the most of these.

    Returns:
        From 0 to 1, of all cells, or of all records. It is exact: no matching has more right.

    Raises:
        InconclusiveError: there are more than MAX_PAIRS pairs. A matching that is not the best would understate what
            is right, so that none is tried.

    Source: the evaluation of Ferry, Fukasawa, Pascal, Vidal, "Trained Random Forests Completely Reveal your Dataset",
    ICML 2024, in their code (`average_error`): a minimum-cost matching of reconstructed and true examples, then the
    mean error over the attributes. The matching is that of Crouse, IEEE Transactions on Aerospace and Electronic
    Systems 52(4), 2016, in `scipy.optimize.linear_sum_assignment`.
    Departure: a number is right or wrong, within a tolerance, where theirs errs by its distance; there may be fewer
    records than people; and whole records can be counted (Hopcroft, Karp, SIAM Journal on Computing 2(4), 1973).

    >>> city = Cells(name="city", true=np.array([0.0, 0.0, 1.0]))
    >>> age = Cells(name="age", true=np.array([30.0, 40.0, 50.0]), width=2.0)
    >>> most_right([city, age], {"city": np.array([1.0, 0.0]), "age": np.array([31.0, 51.0])})
    0.5
    >>> most_right([city, age], {"city": np.array([0.0, 0.0]), "age": np.array([31.0, 51.0])}, "records")
    0.5
    """
    records, people = len(cells[columns[0].name]), len(columns[0].true)
    if records * people > MAX_PAIRS:
        raise InconclusiveError(
            f"records and people make more than {MAX_PAIRS:,} pairs, of which no best matching is computed",
            remedy="audit a model that was learned from fewer people, of the same kind and with the same options",
        )
    agreed = np.zeros((records, people), dtype=np.float64)
    for start in range(0, records, BLOCK):
        for column in columns:
            agreed[start : start + BLOCK] += column.right(cells[column.name][start : start + BLOCK])
    if counted == "records":
        whole = sparse.csr_array(agreed == len(columns))
        return float((csgraph.maximum_bipartite_matching(whole, perm_type="column") >= 0).sum()) / records
    rows, matched = optimize.linear_sum_assignment(agreed, maximize=True)
    return float(agreed[rows, matched].sum()) / (records * len(columns))


def commonest_right(columns: Sequence[Cells], records: int, counted: Counted = "cells") -> float:
    """The share of cells, or of records, right under the best matching of records with all columns' commonest cells.

    In closed form: these records are alike, so the best people for them are those with the most such cells.

    >>> commonest_right([Cells(name="city", true=np.array([0.0, 0.0, 1.0]))], 3)
    0.6666666666666666
    """
    right = np.sum([column.commonest() for column in columns], axis=0)
    if counted == "records":
        return float(min(int((right == len(columns)).sum()), records)) / records
    return float(np.sort(right)[::-1][:records].sum()) / (records * len(columns))


@dataclass(frozen=True)
class Baseline:
    """What an adversary gets right who knows the columns, and nothing of the release.

    Attributes:
        commonest: the share of cells right where each record has every column's commonest cell; 0 where the adversary
            knows the domains alone.
        drawn: the same of each of DRAWS tables whose columns are drawn independently of each other, ascending.
    """

    commonest: float
    drawn: tuple[float, ...]

    @property
    def value(self) -> float:
        """The stronger of both, of the drawn tables their median."""
        return max(self.commonest, self.drawn[len(self.drawn) // 2])

    @property
    def low(self) -> float:
        """The stronger of both, of the drawn tables the worst one."""
        return max(self.commonest, self.drawn[0])

    @property
    def high(self) -> float:
        """The stronger of both, of the drawn tables the best one."""
        return max(self.commonest, self.drawn[-1])


Known = Literal["distributions", "domains"]
"""What the adversary of a baseline knows of each column: how its cells are distributed, or which there can be."""


def baseline(
    columns: Sequence[Cells],
    records: int,
    seed: int,
    known: Known = "distributions",
    counted: Counted = "cells",
) -> Baseline:
    """What so many records get right that follow from what is known of each column alone.

    Args:
        columns: the true cells, at least one column.
        records: how many, from 1 to as many as people.
        seed: from 0; the same seed gives the same numbers, whatever the order of people and columns.
        known: of each column.
        counted: as in `most_right`.

    Returns:
        Shares of the cells of the records, or of the records, each under its own best matching. Of one column whose
        distribution is known it is 1 where as many records as people are drawn: that is all there is to know.

    Raises:
        InconclusiveError: as in `most_right`.

    Source: Ferry and others (see `most_right`) compare with random tables within the columns' domains
    (`generate_random_sols` of their code), which is `domains`.
    Departure: `distributions` are harder to beat.
    """
    by_distribution = known == "distributions"
    drawn = []
    for draw in range(DRAWS):
        coins = {each.name: np.random.default_rng([seed, draw, *each.name.encode()]) for each in columns}
        draws = {
            each.name: (each.drawn if by_distribution else each.drawn_of_domain)(records, coins[each.name])
            for each in columns
        }
        drawn.append(most_right(columns, draws, counted))
    commonest = commonest_right(columns, records, counted) if by_distribution else 0.0
    return Baseline(commonest, tuple(sorted(drawn)))
