"""The regions of a forest's leaves as arrays: which parts of each column people in a leaf can have.

The tests of all trees divide each column into parts that no test divides further: values, or intervals of numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leafgate.algorithms.feasible import Domain, Interval, Possible, branch_domains, unrouted_values
from leafgate.api import Column, Floats, Ids, InconclusiveError, Leaf, Mask, Node, Release, Schema, children, leaves
from leafgate.kernel.schema import Value
from leafgate.kernel.training_rows import TrainingRows

NOT_COUNTED = "it does not count the people of each class on all its leaves"
NOT_EVERYBODY = "some values have no branch in it, so that it counts a part of the people"
COUNTS = "publish counts on leaves, or leave this attack out where nobody sees any"
TAKES_SOME = "declare only `values` that the model takes; where it takes no missing cells, say `on_missing: drop`"
OTHER_PEOPLE = "the trees count different numbers of people, so that they are of different tables"
NO_WHOLE_PEOPLE = "the leaves count no whole people, or nobody"
EVERYBODY = ("",)
"""In place of the classes, where leaves count people and not by class."""
BLOCK_PAIRS = 4_000_000
"""Pairs of regions that are compared at once."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnParts:
    """A column, divided into parts by the tests of all trees.

    Attributes:
        column: the column.
        values: the value of each part, in the order of their texts; empty for numbers.
        starts: shape (n_intervals,), the number above which each interval begins, ascending; empty for values.
        ends: shape (n_intervals,), its largest number.
    """

    column: Column
    values: tuple[Value, ...]
    starts: Floats
    ends: Floats

    @property
    def n_intervals(self) -> int:
        """How many intervals of numbers there are."""
        return len(self.starts)

    @property
    def n_parts(self) -> int:
        """How many parts there are; a missing number is the last one."""
        return len(self.values) or self.n_intervals + self.column.missing

    def numbers_or_values(self, part: Ids) -> list[Any]:
        """A cell of each of these parts: the value, the largest number of an interval, None for a missing one."""
        each = [*self.values] if self.values else [*self.ends.tolist(), None]
        return [each[i] for i in part.tolist()]

    @classmethod
    def of(cls, column: Column, domains: Sequence[Domain | None]) -> ColumnParts:
        """The parts into which these domains of leaves divide a column; None for the whole column.

        Where no bounds are declared, numbers end by the mean distance between thresholds beyond the first and the last.
        """
        if column.values is not None:
            values = tuple(sorted(column.domain, key=lambda value: (value is None, str(value))))
            return cls(column=column, values=values, starts=np.zeros(0), ends=np.zeros(0))
        intervals = [each for each in domains if isinstance(each, Interval)]
        inner = sorted({end for each in intervals for end in (each.low, each.high) if np.isfinite(end)})
        gap = (inner[-1] - inner[0]) / (len(inner) - 1) if len(inner) > 1 else 1.0
        low, high = column.bounds or ((inner[0] - gap, inner[-1] + gap) if inner else (0.0, 1.0))
        below = float(np.nextafter(low, -np.inf))
        edges = np.unique([below, *(end for end in inner if below < end < high), high])
        return cls(column=column, values=(), starts=edges[:-1], ends=edges[1:])


@dataclass(frozen=True, kw_only=True, eq=False)
class Spans:
    """Of regions the intervals of a column of numbers: from the first to the last, and whether it may be missing.

    Attributes:
        first: shape (n_regions,).
        last: shape (n_regions,); below the first where no number is in the region.
        missing: shape (n_regions,).
        n_intervals: of the column.
        may_miss: whether the column may have missing cells.
    """

    first: Ids
    last: Ids
    missing: Mask
    n_intervals: int
    may_miss: bool

    def take(self, rows: Ids) -> Spans:
        """Those of some regions."""
        return replace(self, first=self.first[rows], last=self.last[rows], missing=self.missing[rows])

    def meets(self, other: Spans) -> Mask:
        """Which regions have a part in common with which others: shape (n_regions, n_others)."""
        first = np.maximum(self.first[:, None], other.first[None])
        last = np.minimum(self.last[:, None], other.last[None])
        return np.asarray((first <= last) | (self.missing[:, None] & other.missing[None]))

    def common(self, other: Spans) -> Spans:
        """What each region has in common with the other in the same place."""
        return replace(
            self,
            first=np.maximum(self.first, other.first),
            last=np.minimum(self.last, other.last),
            missing=self.missing & other.missing,
        )

    def with_parts(self, parts: Mask) -> tuple[Mask, Mask]:
        """Which regions have one of these parts, and which have no other: both of shape (n_regions,)."""
        before = np.append(0, np.cumsum(parts[: self.n_intervals]))
        n = np.maximum(self.last - self.first + 1, 0)
        inside = np.where(
            n > 0, before[np.maximum(self.last, 0) + 1] - before[np.minimum(self.first, self.last + 1)], 0
        )
        is_missing_inside = self.may_miss and bool(parts[-1])
        may = (inside > 0) | (self.missing & is_missing_inside)
        return np.asarray(may), np.asarray((inside == n) & (~self.missing | is_missing_inside))

    @property
    def reach(self) -> Mask:
        """Which parts are in which regions: shape (n_regions, n_parts); the last part is a missing number."""
        part = np.arange(self.n_intervals)[None]
        inside = (self.first[:, None] <= part) & (part <= self.last[:, None])
        return np.column_stack([inside, self.missing]) if self.may_miss else inside

    @property
    def by_part(self) -> Mask:
        """The same, parts first: shape (n_parts, n_regions)."""
        part = np.arange(self.n_intervals)[:, None]
        inside = (self.first[None] <= part) & (part <= self.last[None])
        return np.vstack([inside, self.missing]) if self.may_miss else inside


@dataclass(frozen=True, kw_only=True, eq=False)
class Subsets:
    """Of regions the values of a column: `reach` has shape (n_regions, n_parts)."""

    reach: Mask

    @property
    def by_part(self) -> Mask:
        """The same, parts first: shape (n_parts, n_regions)."""
        return self.reach.T

    def take(self, rows: Ids) -> Subsets:
        """Those of some regions."""
        return Subsets(reach=self.reach[rows])

    def meets(self, other: Subsets) -> Mask:
        """Which regions have a value in common with which others: shape (n_regions, n_others)."""
        return np.asarray(self.reach.astype(np.float32) @ other.reach.astype(np.float32).T > 0)

    def with_parts(self, parts: Mask) -> tuple[Mask, Mask]:
        """Which regions have one of these parts, and which have no other: both of shape (n_regions,)."""
        may, other = self.reach[:, parts].any(axis=1), self.reach[:, ~parts].any(axis=1)
        return np.asarray(may), np.asarray(~other)

    def common(self, other: Subsets) -> Subsets:
        """What each region has in common with the other in the same place."""
        return Subsets(reach=self.reach & other.reach)


@dataclass(frozen=True, eq=False)
class Regions:
    """Some regions: for each column of the forest, in its order, which parts they have."""

    columns: tuple[Spans | Subsets, ...]
    n: int

    def __len__(self) -> int:
        """How many regions there are."""
        return self.n

    def take(self, rows: Ids) -> Regions:
        """Some of the regions; `rows` are positions."""
        return Regions(tuple(each.take(rows) for each in self.columns), len(rows))

    def meets(self, other: Regions) -> Mask:
        """Which regions have something in common with which others: shape (n_regions, n_others)."""
        found = np.ones((self.n, other.n), dtype=bool)
        for own, others in zip(self.columns, other.columns, strict=True):
            found &= own.meets(others)  # type: ignore[arg-type]  # columns are of the same kind
        return found

    def meeting_pairs(self, other: Regions) -> Iterator[tuple[Ids, Ids]]:
        """The pairs of regions that have something in common, as positions in both, in blocks."""
        rows = max(1, BLOCK_PAIRS // max(other.n, 1))
        for start in range(0, self.n, rows):
            block = np.arange(start, min(start + rows, self.n))
            one, two = np.nonzero(self.take(block).meets(other))
            yield block[one], two

    def common(self, other: Regions) -> Regions:
        """What each region has in common with the other in the same place."""
        both = zip(self.columns, other.columns, strict=True)
        return Regions(tuple(own.common(others) for own, others in both), self.n)  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True, eq=False)
class CountedTree:
    """A tree: the regions of its leaves that some record can reach, and the people of each class there.

    Attributes:
        regions: of its leaves.
        people: shape (n_leaves, n_classes).
        leaf: shape (n_leaves,), their positions among all leaves of the tree.
    """

    regions: Regions
    people: Ids
    leaf: Ids


@dataclass(frozen=True, kw_only=True, eq=False)
class Forest:
    """All trees of a release that count everybody.

    Attributes:
        columns: each column that some tree tests, divided into parts.
        classes: the values of the class, in the order of their texts; EVERYBODY where leaves count not by class.
        trees: those that count everybody.
        numbers: their positions among the trees of the release.
        unused: why other trees are not used, each reason once.
    """

    columns: tuple[ColumnParts, ...]
    classes: tuple[str, ...]
    trees: tuple[CountedTree, ...]
    numbers: tuple[int, ...]
    unused: tuple[str, ...] = ()

    @property
    def people(self) -> Ids:
        """How many people there are of each class: shape (n_classes,)."""
        return np.asarray(self.trees[0].people.sum(axis=0))

    @classmethod
    def of(cls, release: Release, schema: Schema) -> Forest:
        """The forest of a release, whose trees count the same people by class, or each a bootstrap of its own.

        Raises:
            InconclusiveError: no tree counts everybody by class, or the trees count different people.
        """
        classes = tuple(sorted(str(name) for name in schema.target.domain))
        counts = [_counts(tree, classes) for tree in release.trees]
        reached = [_leaves(tree, schema) for tree in release.trees]
        return cls._of(reached, counts, schema, classes, are_draws=release.count_semantics == "bootstrap")

    @classmethod
    def of_rows(cls, release: Release, schema: Schema, rows: TrainingRows, *, drawn: bool = False) -> Forest:
        """The forest of a release whose file counts the rows on its leaves.

        Args:
            release: of the file.
            schema: of the policy.
            rows: what the file states.
            drawn: rows count as often as each tree drew them. Else each counts once, and where trees drew their rows,
                each has one leaf more, of the whole domain, which counts the rows that it did not draw.

        Raises:
            InconclusiveError: the file counts all rows on no tree, or different ones on several.
        """
        counts = [None if each is None else each[:, None] for each in (rows.drawn if drawn else rows.on_leaves)]
        reached = [_leaves(tree, schema) for tree in release.trees]
        if rows.drawn and not drawn:
            if rows.people is None:
                raise InconclusiveError("its file does not say how many rows there were")
            for number, count in enumerate(counts):
                of_tree = reached[number]
                if count is not None and of_tree is not None:
                    reached[number] = [*of_tree, ({}, len(count))]
                    counts[number] = np.append(count, [[rows.people - count.sum()]], axis=0)
        for number, tree in enumerate(release.trees):
            if isinstance(tree, Leaf) and counts[number] is None:
                reached[number] = []  # what boosting starts from, which says nothing of anybody
        return cls._of(reached, counts, schema, EVERYBODY, are_draws=drawn)

    @classmethod
    def _of(
        cls,
        reached: Sequence[Leaves | None],
        counts: Sequence[Floats | None],
        schema: Schema,
        classes: tuple[str, ...],
        *,
        are_draws: bool,
    ) -> Forest:
        """The forest of trees with these leaves; `counts` has a row for each leaf, NaN or None where none is stated."""
        reasons = [_unused_reason(each, count) for each, count in zip(reached, counts, strict=True)]
        numbers = tuple(number for number, reason in enumerate(reasons) if not reason and reached[number])
        used = [reached[number] or [] for number in numbers]
        if not numbers:
            raise InconclusiveError(
                f"no tree of the release can be used: {reasons[0] if reasons else 'there is none'}",
                remedy=TAKES_SOME if NOT_EVERYBODY in reasons else COUNTS,
            )
        names = [c.name for c in schema.columns if any(c.name in possible for each in used for possible, _ in each)]
        columns = [
            ColumnParts.of(schema[name], [possible.get(name) for each in used for possible, _ in each])
            for name in names
        ]
        trees = tuple(_counted(reached[number] or [], columns, counts[number]) for number in numbers)
        totals = {tuple(tree.people.sum(axis=0).tolist()) for tree in trees}
        if len(totals) > 1 and not are_draws:
            raise InconclusiveError(OTHER_PEOPLE, remedy="publish trees that count the same people")
        if not any(map(any, totals)):
            raise InconclusiveError(NO_WHOLE_PEOPLE)
        unused = tuple(dict.fromkeys(reason for reason in reasons if reason))
        return cls(columns=tuple(columns), classes=classes, trees=trees, numbers=numbers, unused=unused)


Leaves = list[tuple[Possible, int]]
"""Each leaf that some record can reach: what the tests on its path leave of the columns they test, and its position."""


def _leaves(tree: Node, schema: Schema) -> Leaves | None:
    """The leaves of a tree; None where some value has no branch."""
    found: Leaves = []
    waiting: list[tuple[Node, Possible | None]] = [(tree, {})]
    number = 0
    while waiting:
        node, possible = waiting.pop()
        if isinstance(node, Leaf):
            if possible is not None:
                found.append((possible, number))
            number += 1
            continue
        if possible is None:
            waiting += [(child, None) for child in reversed(children(node))]
            continue
        if unrouted_values(node, possible, schema):
            return None
        below = branch_domains(node, possible, schema)
        waiting += [(child, {**possible, node.column: rest} if rest else None) for child, rest in reversed(below)]
    return found


def _counts(tree: Node, classes: Sequence[str]) -> Floats:
    """The people of each class on each leaf; a row of NaN where a leaf does not say."""
    silent = [np.nan] * len(classes)
    rows = [silent if leaf.counts is None else [leaf.counts.get(name, 0) for name in classes] for leaf in leaves(tree)]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(classes))


def _unused_reason(reached: Leaves | None, counts: Floats | None) -> str:
    if reached is None:
        return NOT_EVERYBODY
    if not reached:
        return ""
    return NOT_COUNTED if counts is None or np.isnan(counts[[number for _, number in reached]]).any() else ""


def _counted(reached: Leaves, columns: Sequence[ColumnParts], counts: Floats | None) -> CountedTree:
    assert counts is not None
    positions = np.array([number for _, number in reached], dtype=np.int64)
    counts = counts[positions]
    if (counts != counts.round()).any() or (counts < 0).any():
        raise InconclusiveError(NO_WHOLE_PEOPLE)
    found = tuple(_reached(each, [possible.get(each.column.name) for possible, _ in reached]) for each in columns)
    return CountedTree(regions=Regions(found, len(reached)), people=counts.astype(np.int64), leaf=positions)


def positions(own: Ids, leaf: Ids) -> Ids:
    """The position of each leaf among `own`; -1 for a leaf that is not there."""
    position = np.full(int(max(own.max(), leaf.max(initial=0))) + 1, -1)
    position[own] = np.arange(len(own))
    return np.asarray(position[leaf])


def _reached(parts: ColumnParts, domains: Sequence[Domain | None]) -> Spans | Subsets:
    """Which parts of a column each leaf's domain has; None for the whole column."""
    if parts.values:
        whole = frozenset(parts.values)
        named = [each if isinstance(each, frozenset) else whole for each in domains]
        return Subsets(reach=np.array([[value in each for value in parts.values] for each in named], dtype=bool))
    every = Interval(-np.inf, np.inf, parts.column.missing)
    intervals = [each if isinstance(each, Interval) else every for each in domains]
    low, high = (np.array([getattr(each, end) for each in intervals]) for end in ("low", "high"))
    first = np.searchsorted(parts.starts, low, side="left")
    last = np.searchsorted(parts.ends, high, side="right") - 1
    missing = np.array([each.missing for each in intervals], dtype=bool)
    return Spans(
        first=first.astype(np.int64),
        last=np.where(low < high, last, -1).astype(np.int64),
        missing=missing,
        n_intervals=parts.n_intervals,
        may_miss=parts.column.missing,
    )
