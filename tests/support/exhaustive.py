"""The best downgrading of a tiny table, by trying every set of cells."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leafgate.api import Column, Mask
from leafgate_plugins.downgrading.grid import HIDDEN, Cells, encode_cells
from leafgate_plugins.downgrading.naive_bayes import pair_counts
from leafgate_plugins.downgrading.search import Objective, restoration_limits


@dataclass(frozen=True)
class Tiny:
    """A table of a few records, and which of its cells are protected."""

    cells: Cells
    protected: Mask

    @property
    def free(self) -> list[tuple[int, int]]:
        """The cells that may be withheld: those visible in records with a protected one."""
        rows, columns = np.nonzero(self.protected.any(axis=1, keepdims=True) & ~self.protected)
        return list(zip(rows.tolist(), columns.tolist(), strict=True))


def tiny(seed: int, cells: int) -> Tiny:
    """A random table of related columns in which no more than `cells` may be withheld."""
    rng = np.random.default_rng(seed)
    columns = int(rng.integers(3, 5))
    rows = int(rng.integers(6, 12))
    base = rng.integers(0, 2, rows)
    codes = np.stack([np.where(rng.random(rows) < 0.3, rng.integers(0, 2, rows), base) for _ in range(columns)], axis=1)
    protected = np.zeros(codes.shape, dtype=np.bool_)
    for row in rng.permutation(rows)[: cells // (columns - 1)].tolist():
        protected[row, int(rng.integers(0, columns)) if rng.random() < 0.4 else 0] = True
    items = tuple(Column(f"c{i}", frozenset({"private"}), values=("a", "b")) for i in range(columns))
    return Tiny(Cells(items, tuple(codes.T.astype(np.int64)), np.ones(rows)), protected)


def holds(table: Tiny, hidden: Mask, aim: Objective) -> bool:
    """Does every adversary, starting from nothing, stay within the limits?"""
    grid, _ = encode_cells(table.cells, hidden)
    limits = np.where(table.protected, aim.tau, restoration_limits(pair_counts(grid), grid, aim.rho))
    every = np.arange(len(grid.codes))
    for options in aim.against:
        for column, (rows, chances) in options.fit(grid).posterior(grid.codes, every).items():
            if (chances.max(axis=1) > limits[rows, column] + 1e-9).any():
                return False
    return True


def fewest(table: Tiny, aim: Objective) -> int | None:
    """The least number of cells that will do; None where no set does."""
    for size in range(len(table.free) + 1):
        if any(holds(table, with_hidden(table, some), aim) for some in itertools.combinations(table.free, size)):
            return size
    return None


def with_hidden(table: Tiny, some: Sequence[tuple[int, int]]) -> Mask:
    hidden = table.protected.copy()
    for row, column in some:
        hidden[row, column] = True
    return hidden


def visible(table: Tiny, hidden: Mask) -> bool:
    """Do all cells that are not hidden show what they are?"""
    grid, truth = encode_cells(table.cells, hidden)
    return bool((np.where(hidden, HIDDEN, truth) == grid.codes).all())
