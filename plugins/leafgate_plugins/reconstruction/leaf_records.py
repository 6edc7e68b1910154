"""The attack that writes down a record for each person whom the leaves of a tree count."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from leafgate import api
from leafgate.kernel.schema import Value, bins_between

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from leafgate.algorithms import feasible
    from leafgate.algorithms.feasible import Domain, Possible
    from leafgate_plugins.reconstruction import marginals
    from leafgate_plugins.reconstruction.marginals import Marginal

    LeafRegions = list[tuple[api.Leaf, Possible]]
    """Each leaf that somebody can reach, and what the tests on its path leave of each column they test."""
else:
    np, pd = api.lazy("numpy"), api.lazy("pandas")
    feasible = api.lazy("leafgate.algorithms.feasible")
    marginals = api.lazy("leafgate_plugins.reconstruction.marginals")
FERRY = 'J. Ferry, R. Fukasawa, T. Pascal, T. Vidal, "Trained Random Forests Completely Reveal your Dataset", ICML 2024'
OF_MARGINALS = (
    "Where the policy grants distributions (`knows.distribution`), it knows how each secret and each public column is "
    "distributed among all people, and not which cells go together."
)
"""What attacks on tables say of the distributions that they may be granted."""
BY_MARGINALS = (
    "A column of known distribution: the cells of all people follow it as nearly as the leaves allow (iterative "
    "proportional fitting, rounded by a maximum flow), numbers at even ranks of those that are in the interval"
)
FITTING = (
    "known distributions: W. E. Deming, F. F. Stephan, Annals of Mathematical Statistics 11(4), 1940, "
    "doi:10.1214/aoms/1177731829"
)
ROUNDS = 30
"""Rounds of EM for the distribution of a column over the parts into which the tree's tests divide it."""
MAX_REGIONS = 30_000_000
"""Leaves times parts of a column: more take too long for an attack this simple."""


class TableReconstruction(api.AttackModel):
    """Write down a record for each person whom the leaves of a tree count, with cells from the region of the leaf.

    The columns are those that the tree tests, and the class.
    """

    use: Literal["table_reconstruction"] = "table_reconstruction"

    reads = frozenset({"exact", "sampled", "bootstrap"})
    parts = frozenset({"trees"})
    needs = frozenset({"distribution"})
    threat_model = (
        "The adversary has the release, whose leaves count the people of each class, and the declared domains. It "
        f"knows nobody's cells, public ones included. {OF_MARGINALS} Of a forest it uses one tree, the one with the "
        "most leaves: an adversary who combines the trees reconstructs more."
    )
    formula = (
        "for each leaf its people by class; each tested column, divided by the tree's tests into values or intervals, "
        "has in these the shares of maximum likelihood (EM over the regions of the leaves); the cells of a leaf follow "
        "these shares within its region, at even distances within an interval (whole numbers where every test lies at "
        f"or between whole ones), in random order. {BY_MARGINALS}"
    )
    source = (
        f"counting the records of one tree; {FERRY}, combine the trees of a forest, which is left out here; {FITTING}"
    )

    def infer(self, release: api.Release, known: api.AdversaryKnowledge) -> list[api.TableBelief]:
        """The reconstructed records, as many as the tree counts people.

        Raises InconclusiveError where no tree counts whole people of each class on all its leaves.
        """
        regions = [leaf_regions(tree, known.schema) for tree in release.trees]
        counted = [each for each in regions if all(leaf.counts is not None for leaf, _ in each)]
        if not counted:
            raise api.InconclusiveError(
                "no tree of the release counts the people of each class on all its leaves",
                remedy="publish counts on leaves, or leave this attack out where nobody sees any",
            )
        chosen = max(counted, key=len)
        classes = sorted(str(name) for name in known.schema.target.domain)
        counts = np.array([[(leaf.counts or {}).get(name, 0) for name in classes] for leaf, _ in chosen], dtype=float)
        if (counts != counts.round()).any() or (counts < 0).any() or not counts.any():
            raise api.InconclusiveError("the leaves of the tree count nobody, or no whole people")
        people = counts.astype(np.int64)
        cells: dict[str, Any] = {}
        for column in known.schema.columns:
            reached = [region.get(column.name) for _, region in chosen]
            if any(rest is not None for rest in reached):
                rng = np.random.default_rng([known.seed, *hashlib.sha256(column.name.encode()).digest()[:8]])
                marginal = marginals.marginal_of(column, known)
                parts = parts_of(column, reached, with_missing=marginal is not None)
                cells[column.name] = spread_cells(parts, people.sum(axis=1), rng, marginal)
        cells[known.schema.target.name] = np.repeat(np.array(classes * len(chosen), dtype=object), people.ravel())
        evidence = {"trees": len(release.trees), "trees_with_counts": len(counted)}
        return [api.TableBelief(pd.DataFrame(cells), evidence=evidence)]


def leaf_regions(tree: api.Node, schema: api.Schema) -> LeafRegions:
    """Each leaf that some record can reach, from left to right, and the remaining domain of each tested column.

    >>> leaf_regions(api.Leaf("good"), api.Schema(()))
    [(Leaf(label='good', counts=None, shares=None, error_rate=None, value=None, scores=None), {})]
    """
    found: LeafRegions = []
    waiting: list[tuple[api.Node, Possible]] = [(tree, {})]
    while waiting:
        node, possible = waiting.pop()
        if isinstance(node, api.Leaf):
            found.append((node, possible))
            continue
        below = [
            (child, {**possible, node.column: rest})
            for child, rest in feasible.branch_domains(node, possible, schema)
            if rest
        ]
        waiting.extend(reversed(below))
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class Parts:
    """A column, divided by a tree's tests into parts that no test divides further.

    Attributes:
        column: the column.
        values: shape (n_parts,), the value of each part, in the order of their texts; empty for numbers.
        starts: shape (n_parts,), the number above which each part begins, ascending; NaN for missing cells; empty for
            values.
        ends: shape (n_parts,), the largest number of each part, likewise.
        reach: shape (n_leaves, n_parts), whether records with a cell in the part can reach the leaf; each leaf has one.
    """

    column: api.Column
    values: tuple[Value, ...] = ()
    starts: api.Floats
    ends: api.Floats
    reach: api.Mask

    @property
    def sizes(self) -> api.Floats:
        """The length of each interval, or 1 for each value: shape (n_parts,), above 0."""
        if self.values:
            return np.ones(len(self.values))
        lengths = np.nan_to_num(self.ends - self.starts)
        return np.asarray(np.maximum(lengths, 1e-9 * max(float(lengths.max()), 1e-300)))


def parts_of(column: api.Column, reached: Sequence[Domain | None], *, with_missing: bool = False) -> Parts:
    """The parts into which the regions of a tree's leaves divide a column.

    Args:
        column: values, or numbers. Where no bounds are declared, numbers end by the mean distance between thresholds
            beyond the first and the last one.
        reached: for each leaf the domain that the tests on its path leave; None for the whole column.
        with_missing: whether missing numbers are in reach wherever they can be, and not only of leaves that leave
            nothing else: for people of whom it is known how many have one.
    """
    if column.values is not None:
        values = tuple(sorted(column.domain, key=lambda value: (value is None, str(value))))
        whole = frozenset(values)
        named = [rest if isinstance(rest, frozenset) else whole for rest in reached]
        reach = np.array([[value in rest for value in values] for rest in named])
        return _checked(Parts(column=column, values=values, starts=np.zeros(0), ends=np.zeros(0), reach=reach))
    intervals = [rest if isinstance(rest, feasible.Interval) else None for rest in reached]
    inner = sorted({end for each in intervals if each for end in (each.low, each.high) if np.isfinite(end)})
    gap = (inner[-1] - inner[0]) / (len(inner) - 1) if len(inner) > 1 else 1.0
    low, high = column.bounds or (inner[0] - gap, inner[-1] + gap)
    below = float(np.nextafter(low, -np.inf))
    edges = np.unique([below, *(end for end in inner if below < end < high), high])
    starts, ends = np.append(edges[:-1], np.nan), np.append(edges[1:], np.nan)  # the last part is a missing cell
    inside = np.array([_within(each, starts, ends) for each in intervals])
    if with_missing:
        inside[:, -1] |= [column.missing if each is None else each.missing for each in intervals]
    return _checked(Parts(column=column, starts=starts, ends=ends, reach=inside))


def _within(interval: feasible.Interval | None, starts: api.Floats, ends: api.Floats) -> api.Mask:
    """Which parts lie in an interval; of one without numbers the missing cell, if that is in it."""
    if interval is None:
        return np.asarray(~np.isnan(starts))
    inside = (starts >= interval.low) & (ends <= interval.high)
    if inside.any():
        return np.asarray(inside)
    return np.asarray(np.isnan(starts) == (interval.missing and not interval.low < interval.high))


def _checked(parts: Parts) -> Parts:
    if parts.reach.size > MAX_REGIONS:
        raise api.InconclusiveError("the tree has too many leaves and tests for its records to be written down")
    return parts


def part_shares(parts: Parts, people: api.Ids) -> api.Floats:
    """How likely each part is for the people of each leaf, as far as the counts of all leaves tell.

    Args:
        parts: of one column.
        people: shape (n_leaves,), how many people each leaf counts, somebody in all.

    Returns:
        Shape (n_leaves, n_parts), rows sum to 1. Where a column has the same distribution in all leaves but for their
        regions, it tends to the one under which the counts are likeliest.

    Source: Dempster, Laird, Rubin, Journal of the Royal Statistical Society B 39(1), 1977, section 4.2 (grouped and
    truncated data).
    Departure: ROUNDS rounds from shares by the size of the parts, so that nothing is taken for certain that the counts
    leave open.

    >>> reach = np.array([[True, False], [True, True]])
    >>> parts = Parts(column=None, values=("a", "b"), starts=np.zeros(0), ends=np.zeros(0), reach=reach)
    >>> part_shares(parts, np.array([2, 2])).round(2).tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    share = parts.sizes / parts.sizes.sum()
    for _ in range(ROUNDS):
        share = people @ marginals.row_shares(parts.reach * share, parts.reach, parts.sizes) / people.sum()
    return marginals.row_shares(parts.reach * share, parts.reach, parts.sizes)


def spread_cells(parts: Parts, people: api.Ids, rng: np.random.Generator, marginal: Marginal | None = None) -> Any:
    """A cell for each person whom the leaves count, leaf by leaf: shape (n_people,).

    What rounding leaves of a leaf's shares is carried to the next leaf, so that many leaves of one person follow the
    shares together.

    Args:
        parts: of one column.
        people: shape (n_leaves,), how many people each leaf counts.
        rng: orders the cells of each leaf.
        marginal: the distribution of the column among all people, which the cells then follow as nearly as the leaves
            allow; None where it is not known.

    Returns:
        Values of the column, floats, or the names of its bins.
    """
    if marginal is not None:
        return _spread_by_marginal(parts, people, rng, marginal)
    carried = np.zeros(parts.reach.shape[1])
    which: list[api.Ids] = []
    places: list[api.Floats] = []
    for share, count in zip(part_shares(parts, people), people.tolist(), strict=True):
        cells = marginals.apportion(share, count, carried)
        part = np.repeat(np.arange(len(cells)), cells)
        place = (np.arange(count) - (np.cumsum(cells) - cells)[part] + 0.5) / cells[part]
        order = rng.permutation(count)
        which.append(part[order])
        places.append(place[order])
    chosen, place = np.concatenate(which), np.concatenate(places)
    if parts.values:
        return np.array(parts.values, dtype=object)[chosen]
    numbers = _numbers_within(parts, chosen, place)
    bins = parts.column.bins
    return numbers if bins is None else np.array(parts.column.domain, dtype=object)[api.bin_of(numbers, bins)]


def _numbers_within(parts: Parts, chosen: api.Ids, place: api.Floats) -> api.Floats:
    """Numbers at these shares of the way through their parts; whole ones where every test lies at or between them."""
    starts, ends = parts.starts[chosen], parts.ends[chosen]
    numbers = np.clip(starts + place * (ends - starts), np.nextafter(starts, np.inf), ends)
    if (2 * parts.ends[np.isfinite(parts.ends)] % 1).any():
        return np.asarray(numbers)
    first = np.floor(starts) + 1
    there = np.floor(ends) - first + 1  # whole numbers in the part
    whole = first + np.minimum(np.floor(place * np.maximum(there, 1)), there - 1)
    return np.asarray(np.where(there >= 1, whole, numbers))


def _spread_by_marginal(parts: Parts, people: api.Ids, rng: np.random.Generator, marginal: Marginal) -> Any:
    """The cells of `spread_cells` by a known distribution: those of all leaves with the same region together."""
    if parts.column.bins is not None:
        parts = _by_bins(parts)
    ends = parts.ends[:-1]  # the last part of a column of numbers is a missing cell
    shares = marginal.of_values(parts.values) if parts.values else marginal.of_intervals(parts.starts[:-1], ends)
    reach, row = marginals.distinct_rows(parts.reach[people > 0])
    row = np.repeat(row, people[people > 0])
    cells = marginals.fitted_cells(reach, np.bincount(row), shares, parts.sizes)
    part = np.repeat(np.tile(np.arange(len(shares)), len(reach)), cells.ravel())  # row by row
    order = marginals.shuffled_within(np.sort(row), rng)
    chosen, place = np.empty_like(part), np.empty(len(part))
    person = np.argsort(row, kind="stable")
    chosen[person], place[person] = part[order], marginals.even_places(part)[order]
    if parts.values:
        return np.array(parts.values, dtype=object)[chosen]
    known = np.where(
        chosen < len(ends), marginal.numbers_within(np.minimum(chosen, len(ends) - 1), place, ends), np.nan
    )
    return np.where(np.isnan(known), _numbers_within(parts, chosen, place), known)


def _by_bins(parts: Parts) -> Parts:
    """A secret number, divided into its bins, whatever the parts into which the tests divide it."""
    bins, intervals = parts.column.bins or (), range(len(parts.starts) - 1)
    inside = np.array([bins_between(bins, parts.starts[i], parts.ends[i], open_low=True) for i in intervals])
    reach = parts.reach[:, :-1].astype(np.int64) @ inside.astype(np.int64) > 0
    return Parts(column=parts.column, values=parts.column.domain, starts=np.zeros(0), ends=np.zeros(0), reach=reach)
