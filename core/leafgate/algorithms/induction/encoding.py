"""A table as small whole numbers: for every feature, each record's position among its values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.kernel.arrays import CompactIds, Floats, Mask, Rows
from leafgate.kernel.schema import Column, Value
from leafgate.kernel.table import Table

WIDE = 1024
"""Features with more codes than this are counted apart, by sorting instead of by table."""

EXPAND = 2
"""With fewer people than this a distinct record, everyone gets a row: counting ones is twice as fast."""


@dataclass(frozen=True)
class Feature:
    """One column a tree may ask about.

    Categorical: `values` is the domain, ordered so that every group of every hierarchy level is one
    run; `levels[h][code]` numbers the group of a code on level h, level 0 being the codes
    themselves. Numeric: `numbers` are the distinct numbers of the table in rising order, the first
    being -inf when cells are missing; its one level is the codes themselves.
    """

    column: Column
    levels: tuple[NDArray[np.int64], ...]
    values: tuple[Value, ...] = ()
    numbers: NDArray[np.float64] | None = None

    @property
    def numeric(self) -> bool:
        return self.numbers is not None

    @property
    def size(self) -> int:
        """How many codes there are."""
        return len(self.levels[0])

    @cached_property
    def small_levels(self) -> tuple[CompactIds, ...]:
        """`levels` in the smallest integers, which are sorted faster."""
        return tuple(level.astype(np.min_scalar_type(self.size)) for level in self.levels)

    def threshold(self, code: int) -> float:
        """The number between `code` and the next: records with a code up to `code` are `<=` it.

        Midway between two numbers of the table; below the lowest when only missing cells are low.
        """
        assert self.numbers is not None
        low, high = float(self.numbers[code]), float(self.numbers[code + 1])
        if np.isneginf(low):
            floor = self.column.bounds[0] if self.column.bounds else high
            return min(floor, high) - 1.0
        middle = low + (high - low) / 2
        return middle if low <= middle < high else low


@dataclass(frozen=True)
class EncodedTable:
    """A table ready for counting: `codes` has a row a record (or a person) and a column a feature.

    Of `compact` tables the numbers of cells are not kept, but computed whenever they are counted.
    """

    features: tuple[Feature, ...]
    codes: CompactIds
    classes: CompactIds
    weight: NDArray[np.number[Any]]
    n_classes: int
    compact: bool = False

    @cached_property
    def unit_weights(self) -> bool:
        return bool((self.weight == 1).all())

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many codes each feature has."""
        return np.array([feature.size for feature in self.features], dtype=np.int64)

    @cached_property
    def numeric(self) -> Mask:
        """Which features are numbers."""
        return np.array([feature.numeric for feature in self.features], dtype=bool)

    @cached_property
    def level_groups(self) -> list[tuple[Mask, NDArray[np.int64], NDArray[np.int64]]]:
        """For each level: which categorical features have it, where the codes of each begin, and the codes' groups."""
        found = []
        for level in range(max((len(feature.levels) for feature in self.features), default=0)):
            has = np.array([not f.numeric and len(f.levels) > level for f in self.features], dtype=bool)
            start = np.cumsum([0, *(f.size if h else 0 for f, h in zip(self.features, has, strict=True))])
            groups = [f.levels[level] for f, h in zip(self.features, has, strict=True) if h]
            found.append((has, start, np.concatenate(groups) if groups else start[:0]))
        return found

    @cached_property
    def counted_together(self) -> list[tuple[int, ...]]:
        """Features that are counted together: the narrow ones, and each wide one."""
        narrow = tuple(i for i, f in enumerate(self.features) if f.size <= WIDE)
        wide = [(i,) for i, f in enumerate(self.features) if f.size > WIDE]
        return [chosen for chosen in [narrow, *wide] if chosen]

    def cell_numbers(self, chosen: tuple[int, ...], rows: CompactIds) -> NDArray[np.int64]:
        """For records and features one number: (codes of earlier features + code) x classes + class, a new array."""
        if not self.compact:
            return self._cells[chosen][rows]
        return self._numbered(self.codes[rows][:, list(chosen)], self._starts(chosen), self.classes[rows][:, None])

    def cell_columns(self, chosen: tuple[int, ...], rows: CompactIds) -> Iterator[CompactIds]:
        """The same, feature by feature."""
        if not self.compact:
            yield from (column[rows] for column in self._columns[chosen])
            return
        classes = self.classes[rows]
        for feature, start in zip(chosen, self._starts(chosen), strict=True):
            yield self._numbered(self.codes[:, feature][rows], start, classes)

    def _starts(self, chosen: tuple[int, ...]) -> NDArray[np.int64]:
        """How many codes the features before each of these have."""
        sizes = self.sizes[list(chosen)]
        return np.asarray(np.cumsum(sizes) - sizes)

    def _numbered(
        self, codes: CompactIds, start: np.int64 | NDArray[np.int64], classes: CompactIds
    ) -> NDArray[np.int64]:
        return np.asarray((codes + start) * self.n_classes + classes, dtype=np.int64)

    @cached_property
    def _cells(self) -> dict[tuple[int, ...], NDArray[np.int64]]:
        return {
            chosen: self._numbered(self.codes[:, list(chosen)], self._starts(chosen), self.classes[:, None])
            for chosen in self.counted_together
        }

    @cached_property
    def _columns(self) -> dict[tuple[int, ...], list[CompactIds]]:
        kind = np.int32 if int(self.sizes.sum()) * self.n_classes < 2**31 else np.int64
        return {chosen: [*np.ascontiguousarray(cells.T, dtype=kind)] for chosen, cells in self._cells.items()}


def encode(table: Table, *, hierarchies: bool = True) -> EncodedTable:
    """The table's features and classes as codes; classes keep the policy's order.

    Without `hierarchies` every categorical feature has its values as its one level.
    """
    features, codes = [], []
    for column in table.schema.features:
        if column.numeric:
            feature, code = numeric_feature(column, table.numbers(column.name))
        else:
            feature, rank = categorical_feature(column, hierarchies)
            code = rank[table.codes(column.name)]
        features.append(feature)
        codes.append(code)
    matrix = np.stack(codes, axis=1) if codes else np.zeros((len(table), 0), dtype=np.int64)
    classes, weight = table.codes(table.schema.target.name), table.weight
    if table.total_weight < EXPAND * len(table):
        matrix, classes = np.repeat(matrix, weight, axis=0), np.repeat(classes, weight)
        weight = np.ones(len(classes), dtype=np.int64)
    return EncodedTable(tuple(features), matrix, classes, weight.astype(np.float64), len(table.schema.classes))


def value_counts(coded: EncodedTable) -> list[Floats]:
    """For each feature the people of each code and class, shape (n_codes, n_classes)."""
    counts, n_classes = [], coded.n_classes
    for i, feature in enumerate(coded.features):
        cell = coded.codes[:, i].astype(np.int64) * n_classes + coded.classes
        people = np.bincount(cell, weights=coded.weight, minlength=feature.size * n_classes)
        counts.append(people.astype(np.float64).reshape(feature.size, n_classes))
    return counts


def numeric_feature(column: Column, numbers: Floats) -> tuple[Feature, Rows]:
    """The feature whose numbers these are (NaN: missing), and the code of each."""
    cells = np.nan_to_num(numbers, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    different, code = np.unique(cells, return_inverse=True)
    return Feature(column, (np.arange(len(different)),), numbers=different), code.astype(np.int64)


def categorical_feature(column: Column, hierarchies: bool) -> tuple[Feature, Rows]:
    """The feature of a column, and the code of each position in its domain."""
    order = _hierarchical_order(column)
    values = tuple(column.domain[i] for i in order)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    levels = [np.arange(len(order))]
    if hierarchies and column.hierarchy is not None and column.public:
        names = [column.hierarchy.groups[value] for value in values]
        levels += [_runs([name[h] for name in names]) for h in range(column.hierarchy.depth)]
    return Feature(column, tuple(levels), values), rank


def _hierarchical_order(column: Column) -> list[int]:
    """Positions of the domain, those of one coarse group side by side, else as declared."""
    domain = range(len(column.domain))
    if column.hierarchy is None:
        return list(domain)
    first: dict[tuple[str, ...], int] = {}
    paths = [tuple(reversed(column.hierarchy.groups[value])) for value in column.domain]
    for i, path in enumerate(paths):
        for depth in range(len(path) + 1):
            first.setdefault(path[:depth], i)
    return sorted(domain, key=lambda i: (*(first[paths[i][:d]] for d in range(1, len(paths[i]) + 1)), i))


def _runs(names: Sequence[str]) -> NDArray[np.int64]:
    changes = [0, *(int(a != b) for a, b in pairwise(names))]
    return np.cumsum(changes)
