"""How many people have each part of each column, and are in each pair of leaves, at least and at most: all of it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from leafgate.api import Ids, Mask
from leafgate_plugins.reconstruction.forest import cell_bounds
from leafgate_plugins.reconstruction.forest.assignment import regions_of
from leafgate_plugins.reconstruction.forest.column_bounds import ColumnBounds, column_bounds
from leafgate_plugins.reconstruction.forest.regions import Forest

MAX_WHOLE_PAIRS = 50
"""So many pairs of leaves are searched for by whole numbers of people, those of the first trees."""
MAX_PAIR_CELLS = 500
"""And where there are so many cells: the solver takes long for each pair where there are more."""
MAX_PAIRS = 1_000_000
"""Pairs of leaves are kept of so many trees that these are about as many: each takes 36 bytes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Limits:
    """How many people have some things, by class.

    Attributes:
        low: shape (n_things, n_classes), at least so many.
        high: shape (n_things, n_classes), at most so many.
        is_best: shape (n_things, n_classes), whether tables were found that have so few and so many.
        is_possible: shape (n_things, n_classes), whether a table was found in which somebody of the class has it.
    """

    low: Ids
    high: Ids
    is_best: Mask
    is_possible: Mask

    @classmethod
    def of(cls, column: ColumnBounds) -> Limits:
        """Those of a column by itself."""
        unknown = np.zeros(column.low.shape, dtype=bool)
        return cls(low=column.low, high=column.high, is_best=unknown, is_possible=unknown)

    def counted(self) -> dict[str, int]:
        """How many things of a class are proved, of these exactly, excluded, possible, and open."""
        proved, excluded = self.low > 0, self.high == 0
        possible = self.is_possible & ~proved & ~excluded
        return {
            "proved": int(proved.sum()),
            "exactly": int((proved & (self.low == self.high)).sum()),
            "excluded": int(excluded.sum()),
            "possible": int(possible.sum()),
            "open": int((~proved & ~excluded & ~possible).sum()),
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class ForestBounds:
    """Everything that is proved.

    Attributes:
        columns: of each column, by all trees on it alone.
        limits: of each column, the same with what the trees state together.
        pairs: for two trees the pairs of their leaves that have something in common, and how many people are in them.
        trees_together: shape (n_classes,), how many trees were looked at together.
    """

    columns: tuple[ColumnBounds, ...]
    limits: tuple[Limits, ...]
    pairs: Mapping[tuple[int, int], Limits] = field(default_factory=dict)
    trees_together: tuple[int, ...] = ()

    @property
    def proved_cells(self) -> int:
        """How many cells of any table that agrees are certainly one of the values or short intervals."""
        return sum(self._proved_cells(i) for i in range(len(self.columns)))

    def proved_most(self, forest: Forest, *, all_used: bool) -> int | None:
        """How many such cells might be proved at most by all that the adversary has; None where no more can be.

        Args:
            forest: of which these limits are.
            all_used: whether they follow from everything that the adversary has.
        """
        complete = [all_used and self._is_complete(i, len(forest.trees)) for i in range(len(self.columns))]
        people = int(forest.people.sum())
        most = sum(self._proved_cells(i) if is_complete else people for i, is_complete in enumerate(complete))
        return None if all_used and all(complete) else most

    def _is_complete(self, column: int, trees: int) -> bool:
        """Can no more cells of a column be proved? Of one tree its own limits say so, of values the tables found."""
        bounds, limits = self.columns[column], self.limits[column]
        if trees == 1:
            is_split = len(bounds.low) == bounds.parts.n_parts  # into single parts, not into neighbourhoods
            return is_split and (bool(bounds.parts.values) or not bounds.parts.column.missing)
        return bool(bounds.parts.values) and bool((limits.is_best | (limits.low == limits.high)).all())

    def _proved_cells(self, column: int) -> int:
        bounds, limits = self.columns[column], self.limits[column]
        return int(np.maximum(bounds.proved_near, limits.low[bounds.is_near].sum(axis=0)).sum())


def bounds_of_columns(
    forest: Forest, near: Sequence[float], deadline: float = float("inf")
) -> tuple[ColumnBounds, ...]:
    """The limits of each column by itself.

    Args:
        forest: what is published.
        near: for each column the length up to which an interval counts as one cell.
        deadline: by `time.monotonic`, after which no further tree is looked at.
    """
    return tuple(column_bounds(each, i, forest.trees, near[i], deadline) for i, each in enumerate(forest.columns))


def bounds_by_columns(columns: tuple[ColumnBounds, ...]) -> ForestBounds:
    """What follows from each column by itself, nothing looked at together."""
    return ForestBounds(columns=columns, limits=tuple(Limits.of(each) for each in columns))


def forest_bounds(
    forest: Forest, columns: tuple[ColumnBounds, ...], deadline: float, found: Sequence[Ids | None] = ()
) -> ForestBounds:
    """The limits of all columns and pairs of leaves, the trees looked at together.

    Args:
        forest: what is published.
        columns: the limits of each column by itself.
        deadline: by `time.monotonic`, after which nothing more is looked at: what is not has wider limits.
        found: for each class a leaf of each tree for each person, in a table that agrees with all trees; None where
            there is none.
    """
    low, high = ([each.low.copy() for each in columns], [each.high.copy() for each in columns])
    best, possible = ([np.zeros(each.low.shape, dtype=bool) for each in columns] for _ in range(2))
    used, searches = list[int](), list[tuple[cell_bounds.Cells, cell_bounds.CellSearch] | None]()
    for label in range(len(forest.classes)):
        assigned = found[label] if found else None
        searches.append(_search(forest, label, deadline, assigned))
        used.append(0 if searches[-1] is None else len(searches[-1][0].numbers))
        if assigned is not None:
            _see(forest, columns, label, assigned, possible)
    for label, each_search in enumerate(searches):
        if each_search is None:
            continue
        cells, search = each_search
        for i, each in enumerate(columns):
            for block in range(len(each.low)):
                if search.seconds <= 0 and not search.shown:
                    break
                question = cell_bounds.touched(cells.regions, i, each.block == block)
                answer = search.answer(question, int(low[i][block, label]), int(high[i][block, label]))
                low[i][block, label], high[i][block, label] = answer.low, answer.high
                best[i][block, label] = answer.is_best
                possible[i][block, label] |= answer.is_possible
    limits = tuple(
        Limits(low=low[i], high=high[i], is_best=best[i], is_possible=possible[i]) for i in range(len(columns))
    )
    pairs = _pairs(forest, searches, deadline, found)
    return ForestBounds(columns=columns, limits=limits, pairs=pairs, trees_together=tuple(used))


def _search(
    forest: Forest, label: int, deadline: float, assigned: Ids | None
) -> tuple[cell_bounds.Cells, cell_bounds.CellSearch] | None:
    """The cells of the people of a class; None where nobody is in it, one tree has too many, or the time is over."""
    if not forest.people[label] or time.monotonic() > deadline:
        return None
    cells = cell_bounds.largest_cells(forest.trees, label, cell_bounds.MAX_CELLS)
    if cells is None:
        return None
    is_whole = len(cells.numbers) == len(forest.trees)
    search = cell_bounds.CellSearch(cell_bounds.cell_system(forest.trees, cells, label), is_whole, deadline)
    if assigned is not None and is_whole:
        position = {row.tobytes(): i for i, row in enumerate(cells.leaf)}
        places = [position[row.tobytes()] for row in np.ascontiguousarray(assigned[:, list(cells.numbers)])]
        search.add(np.bincount(places, minlength=len(cells.leaf)))
    return cells, search


def _see(forest: Forest, columns: Sequence[ColumnBounds], label: int, leaf: Ids, possible: list[Mask]) -> None:
    """Mark what somebody has in a table in which each person can have any part that all her leaves have."""
    regions = regions_of(forest.trees, leaf, range(len(forest.trees)))
    for i, each in enumerate(columns):
        parts = np.asarray(regions.columns[i].reach.any(axis=0))
        possible[i][np.unique(each.block[parts[: len(each.block)]]), label] = True


def _pairs(
    forest: Forest,
    searches: Sequence[tuple[cell_bounds.Cells, cell_bounds.CellSearch] | None],
    deadline: float,
    found: Sequence[Ids | None],
) -> dict[tuple[int, int], Limits]:
    """The pairs of leaves of each two trees, both of which have somebody of the class."""
    pairs, kept, asked = dict[tuple[int, int], Limits](), 0, 0
    for one, two in itertools.combinations(range(len(forest.trees)), 2):
        if pairs and (time.monotonic() > deadline or kept > MAX_PAIRS):
            break
        first, second = forest.trees[one], forest.trees[two]
        meets = first.regions.meets(second.regions)
        at = np.flatnonzero(meets)
        kept += len(at)
        low, high = (np.zeros((len(at), len(forest.classes)), dtype=np.int64) for _ in range(2))
        best, possible = (np.zeros(low.shape, dtype=bool) for _ in range(2))
        for label in range(len(forest.classes)):
            both = cell_bounds.pair_bounds(first.people[:, label], second.people[:, label], meets)
            low[:, label], high[:, label] = (each.reshape(-1)[at] for each in both)
            assigned = found[label] if found else None
            if assigned is not None:
                numbers = assigned[:, one] * len(second.people) + assigned[:, two]
                possible[:, label] = np.isin(at, numbers)
            search = searches[label]
            is_asked = search is not None and search[1].is_whole and asked + len(at) <= MAX_WHOLE_PAIRS
            if search is not None and is_asked and len(search[0].leaf) <= MAX_PAIR_CELLS:
                asked += len(at)
                numbers = _pair_of_cells(search[0], one, two, len(second.people))
                answers = _answers(search[1], numbers, at, low[:, label], high[:, label])
                for row, answer in enumerate(answers):
                    low[row, label], high[row, label] = answer.low, answer.high
                    best[row, label] = answer.is_best
                    possible[row, label] |= answer.is_possible
        pairs[one, two] = Limits(low=low, high=high, is_best=best, is_possible=possible)
    return pairs


def _pair_of_cells(cells: cell_bounds.Cells, one: int, two: int, leaves: int) -> Ids:
    """For each cell the number of its pair of leaves of two trees, the second of which has so many leaves."""
    first, second = (cells.leaf[:, cells.numbers.index(number)] for number in (one, two))
    return np.asarray(first * leaves + second)


def _answers(
    search: cell_bounds.CellSearch, numbers: Ids, pairs: Ids, low: Ids, high: Ids
) -> Iterator[cell_bounds.Answer]:
    """The limits of each pair of leaves, until the time is over and no table is known that answers."""
    for row, pair in enumerate(pairs.tolist()):
        if search.seconds <= 0 and not search.shown:
            return
        inside = numbers == pair
        yield search.answer(cell_bounds.Question(may=inside, must=inside), int(low[row]), int(high[row]))
