"""The known distribution of a column, and how many people have which part of it, by that and by what leaves allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leafgate.api import AdversaryKnowledge, Column, Floats, Ids, Mask
    from leafgate.kernel.schema import Value

ROUNDS = 100
"""Rounds of iterative proportional fitting; where these do not end it, people are moved afterwards."""
MAX_EDGES = 5_000_000
"""Rows times parts up to which people are moved to meet the distribution: more take minutes."""
GOLDEN = (5**0.5 - 1) / 2
"""The multiples of this number, less their whole part, are spread evenly, however many follow each other."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Marginal:
    """How the cells of one column are distributed among all people.

    Attributes:
        shares: the share or the number of people with each value, or with each bin of a secret number by its name;
            empty for other numbers.
        numbers: shape (n_numbers,), the cells of all people, ascending; empty for values.
        weight: shape (n_numbers,), how many people have each of them.
        missing: how many people have a missing number.
    """

    shares: Mapping[Value, float]
    numbers: Floats
    weight: Floats
    missing: float = 0.0

    def of_values(self, values: Sequence[Value]) -> Floats:
        """The share or the number of people with each of these values: shape (n_values,)."""
        return np.array([self.shares[value] for value in values])

    def of_intervals(self, starts: Floats, ends: Floats) -> Floats:
        """How many people have a number in each interval, and last a missing one: shape (n_intervals + 1,).

        Args:
            starts: shape (n_intervals,), the number above which each interval begins, ascending.
            ends: shape (n_intervals,), the largest number of each. Numbers outside count to the first or the last one.
        """
        inside = np.bincount(self._interval(ends), weights=self.weight, minlength=len(starts))
        return np.append(inside, self.missing)

    def numbers_within(self, interval: Ids, place: Floats, ends: Floats) -> Floats:
        """The numbers at these shares of the way, in (0, 1), through the people of intervals: shape of `interval`.

        NaN where nobody has a number in the interval.
        """
        edges = np.searchsorted(self._interval(ends), np.arange(len(ends) + 1))
        below = np.append(0.0, np.cumsum(self.weight))
        first, last = edges[interval], edges[interval + 1]
        wanted = below[first] + place * (below[last] - below[first])
        found = np.clip(np.searchsorted(below, wanted, side="right") - 1, first, np.maximum(last - 1, first))
        return np.asarray(np.where(first < last, np.append(self.numbers, np.nan)[found], np.nan))

    def _interval(self, ends: Floats) -> Ids:
        """The interval of each number."""
        return np.minimum(np.searchsorted(ends, self.numbers), len(ends) - 1).astype(np.int64)


def marginal_of(column: Column, known: AdversaryKnowledge) -> Marginal | None:
    """The distribution of a column where the policy grants distributions; None where it is not known.

    That of a secret is granted by itself, that of a public column follows from the public records. Of these each column
    is used alone, as if nobody knew which cells go together.
    """
    if not known.distribution:
        return None
    if column.name in known.distribution:
        granted = known.distribution[column.name]
        shares: dict[Value, float] = {value: granted[str(value)] for value in column.domain}
        return Marginal(shares=shares, numbers=np.zeros(0), weight=np.zeros(0))
    if not column.public or not len(known.public):
        return None
    weight = known.weight.astype(np.float64)
    if column.values is not None:
        codes, size = known.public.codes(column.name), len(column.domain)
        people = np.bincount(codes, weights=weight, minlength=size)[:size]  # of nobody who is set apart
        return Marginal(
            shares=dict(zip(column.domain, people.tolist(), strict=True)), numbers=np.zeros(0), weight=np.zeros(0)
        )
    cells = known.public.numbers(column.name)
    numbers, which = np.unique(cells[~np.isnan(cells)], return_inverse=True)
    people = np.bincount(which, weights=weight[~np.isnan(cells)], minlength=len(numbers))
    return Marginal(
        shares={}, numbers=numbers, weight=people.astype(np.float64), missing=float(weight[np.isnan(cells)].sum())
    )


def fitted_cells(reach: Mask, people: Ids, shares: Floats, sizes: Floats) -> Ids:
    """How many people of each row have a cell in each part, by known shares as nearly as the rows allow.

    Args:
        reach: shape (n_rows, n_parts), which parts the cells of a row can be in; each row has one.
        people: shape (n_rows,), how many people each row counts, somebody in all.
        shares: shape (n_parts,), the known distribution over the parts, from 0, somewhere above; scaled to the people.
        sizes: shape (n_parts,), above 0: people whose parts all have the share 0 are divided by these.

    Returns:
        Shape (n_rows, n_parts), whole numbers; rows sum to `people`, and are 0 outside `reach`. Columns sum to the
        rounded shares of all people where such rows exist, else as many people as possible have a part that these
        leave room for (with at most MAX_EDGES rows times parts).

    Source: W. E. Deming, F. F. Stephan, Annals of Mathematical Statistics 11(4), 1940 (iterative proportional fitting).
    Departure: it ends after ROUNDS rounds; its numbers are rounded, and what is then missing in one part and too much
    in another is moved by a maximum flow.

    >>> reach = np.array([[True, False], [True, True]])
    >>> fitted_cells(reach, np.array([2, 2]), np.array([0.75, 0.25]), np.ones(2)).tolist()
    [[2, 0], [1, 1]]
    """
    wanted = shares / shares.sum() * people.sum()
    spread = row_shares(reach * shares, reach, sizes)
    for _ in range(ROUNDS):
        total = people @ spread
        if np.abs(total - wanted).sum() < 0.5:
            break
        spread = row_shares(spread * np.divide(wanted, total, out=np.zeros_like(total), where=total > 0), reach, sizes)
    carried = np.zeros(len(shares))
    cells = np.array([apportion(row, count, carried) for row, count in zip(spread, people.tolist(), strict=True)])
    return _moved(cells, reach, apportion(shares / shares.sum(), int(people.sum()), np.zeros(len(shares))))


def row_shares(weights: Floats, reach: Mask, sizes: Floats) -> Floats:
    """The weights with rows that sum to 1; where a row has none, by the size of its parts."""
    empty = ~(weights.sum(axis=1) > 0)
    weights[empty] = reach[empty] * sizes
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _moved(cells: Ids, reach: Mask, wanted: Ids) -> Ids:
    """The cells, with people moved within their rows from parts that have too many to parts that lack some."""
    beyond = cells.sum(axis=0) - wanted
    if not beyond.any() or reach.size > MAX_EDGES:
        return cells
    n_rows, n_parts = cells.shape
    rows, parts = np.nonzero(reach)
    too_many, too_few = np.flatnonzero(beyond > 0), np.flatnonzero(beyond < 0)
    source, sink = n_rows + n_parts, n_rows + n_parts + 1
    tails = [rows, n_rows + parts, np.full(len(too_many), source), n_rows + too_few]
    heads = [n_rows + parts, rows, n_rows + too_many, np.full(len(too_few), sink)]
    limits = [cells.sum(axis=1)[rows], cells[rows, parts], beyond[too_many], -beyond[too_few]]
    edges = (np.concatenate(limits).astype(np.int32), (np.concatenate(tails), np.concatenate(heads)))
    flow = csgraph.maximum_flow(sparse.csr_array(edges, shape=(sink + 1, sink + 1)), source, sink).flow
    return np.asarray(cells + flow[:n_rows, n_rows : n_rows + n_parts].toarray())


def apportion(share: Floats, count: int, carried: Floats) -> Ids:
    """How many of so many cells each part gets: shape (n_parts,); `carried` is changed by what rounding leaves."""
    cells = np.floor(share * count).astype(np.int64)
    carried += share * count - cells
    for _ in range(count - int(cells.sum())):
        part = int(np.where(share > 0, carried, -np.inf).argmax())
        cells[part] += 1
        carried[part] -= 1
    return cells


def even_places(part: Ids) -> Floats:
    """Shares of the way through their part, in (0, 1), at even distances for all who have it.

    Args:
        part: shape (n_people,). Those who follow each other are far from each other in the order of the places, so that
            few people of one row too are spread over their part.

    >>> even_places(np.array([0, 0, 0, 0, 1])).tolist()
    [0.125, 0.625, 0.375, 0.875, 0.5]
    """
    count = np.bincount(part)
    first = np.append(0, np.cumsum(count))[part]
    by_part = np.argsort(part, kind="stable")
    number = np.empty(len(part), dtype=np.int64)
    number[by_part] = np.arange(len(part)) - first[by_part]
    by_place = np.lexsort((number * GOLDEN % 1, part))
    rank = np.empty(len(part), dtype=np.int64)
    rank[by_place] = np.arange(len(part)) - first[by_place]
    return np.asarray((rank + 0.5) / count[part])


def distinct_rows(reach: Mask) -> tuple[Mask, Ids]:
    """The different rows of `reach`, in an order of their own, and the number of each row's among them."""
    packed, which = np.unique(np.packbits(reach, axis=1), axis=0, return_inverse=True)
    return np.unpackbits(packed, axis=1, count=reach.shape[1]).astype(bool), which.ravel().astype(np.int64)


def shuffled_within(rows: Ids, rng: np.random.Generator) -> Ids:
    """Positions in the order of rows, those of one row in random order: shape (n_people,)."""
    return np.lexsort((rng.random(len(rows)), rows))
