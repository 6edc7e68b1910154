"""Random forests over a few people with their counts, and all tables with these counts, found by trying every one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from leafgate.api import Branch, CategoricalSplit, Column, Leaf, Node, NumericSplit, Release, Schema
from leafgate.kernel.training_rows import Bags
from leafgate.kernel.tree import WAYS_OF_MISSING
from oracles import Person, class_counts, filled, leaf_number
from random_tables import categorical, numeric

THRESHOLDS = (1.0, 2.0)
NUMBERS = (0.5, 1.0, 1.5, 2.0, 2.5)
"""One number of each part that a strict or an inclusive test at one of the thresholds leaves."""
TOWNS = ("p", "q", "r")
CLASSES = ("a", "b")

Cell = float | str | None
Record = tuple[Cell, str, str]
"""A number, a town, and the class."""
Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Case:
    """A release with counts of some people, and the people: positions in `records`."""

    schema: Schema
    release: Release
    records: tuple[Record, ...]
    people: tuple[int, ...]

    @cached_property
    def leaf_of(self) -> Ids:
        """For each record and tree the leaf: shape (n_records, n_trees)."""
        trees = self.release.trees
        return np.array([[leaf_of(tree, record) for tree in trees] for record in self.records])

    @cached_property
    def worlds(self) -> Ids:
        """Every table that has the counts of all leaves: positions of records, a row for each table."""
        codes = self.leaf_of * 2 + np.array([CLASSES.index(record[2]) for record in self.records])[:, None]
        found = multisets(len(self.records), len(self.people))
        for code in codes.T:
            truth = np.sort(code[list(self.people)])
            found = found[(np.sort(code[found], axis=1) == truth).all(axis=1)]
        return found

    def extremes(self, having: Ids) -> tuple[int, int]:
        """How many people at least and at most have one of these records, of all tables that agree."""
        n = np.isin(self.worlds, having).sum(axis=1)
        return int(n.min()), int(n.max())


@cache
def multisets(records: int, people: int) -> Ids:
    """Every choice of so many records, in any order, with repetitions."""
    return np.array([*itertools.combinations_with_replacement(range(records), people)], dtype=np.int64)


def random_case(seed: int, *, missing: bool = False) -> Case:
    """Up to four people and up to three trees."""
    rng = np.random.default_rng(seed)
    x: Column = numeric("x", "private", bounds=(0.0, 3.0), missing=missing)
    schema = Schema(
        (x, categorical("z", "private", values=TOWNS), categorical("y", "class", "sensitive", values=CLASSES))
    )
    numbers: tuple[Cell, ...] = (*NUMBERS, None) if missing else NUMBERS
    records: tuple[Record, ...] = tuple(itertools.product(numbers, TOWNS, CLASSES))
    people = tuple(rng.integers(0, len(records), rng.integers(1, 5)).tolist())
    shapes = [_shape(rng, 3, missing=missing) for _ in range(rng.integers(1, 4))]
    trees = tuple(_counted(shape, [records[i] for i in people]) for shape in shapes)
    return Case(schema, Release({}, schema, trees, combine="vote"), records, people)


def drawn_case(seed: int, people: int, trees: int) -> Case:
    """So many people, and so many trees, each of which counts a bootstrap of its own."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, len(random_case(seed).records), people)
    return _drawn(seed, chosen, [rng.choice(chosen, people) for _ in range(trees)], rng)


def bagged_case(seed: int, people: int, trees: int) -> tuple[Case, Bags]:
    """The same, and the seeds of the bootstraps."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, len(random_case(seed).records), people)
    bags = Bags(seeds=tuple(rng.integers(0, 2**31, trees).tolist()), n_rows=people, n_draws=people)
    return _drawn(seed, chosen, [np.repeat(chosen, bags.of_tree(number)) for number in range(trees)], rng), bags


def _drawn(seed: int, chosen: Ids, drawn: Sequence[Ids], rng: np.random.Generator) -> Case:
    """The case of these people, of whom trees of random tests count those that they drew."""
    case = random_case(seed)
    counted = tuple(_counted(_shape(rng, 3, missing=False), [case.records[i] for i in each]) for each in drawn)
    release = Release({}, case.schema, counted, combine="vote", count_semantics="bootstrap")
    return Case(case.schema, release, case.records, tuple(chosen.tolist()))


def _shape(rng: np.random.Generator, depth: int, *, missing: bool) -> Node:
    if depth == 0 or rng.random() < 0.2:
        return Leaf()
    below = [_shape(rng, depth - 1, missing=missing) for _ in range(3)]
    if rng.random() < 0.5:
        side = WAYS_OF_MISSING[rng.integers(3)] if missing else None
        return NumericSplit("x", float(rng.choice(THRESHOLDS)), below[0], below[1], side, bool(rng.integers(2)))
    kind = rng.integers(3)
    if kind == 0:
        return CategoricalSplit("z", tuple(Branch((town,), node) for town, node in zip(TOWNS, below, strict=True)))
    town = str(rng.choice(TOWNS))
    if kind == 1:
        return CategoricalSplit("z", (Branch((town,), below[0]),), below[1])
    others = tuple(each for each in TOWNS if each != town)
    return CategoricalSplit("z", (Branch((town,), below[0]), Branch(others, below[1])))


def _person(record: Record) -> Person:
    return dict(zip("xzy", record, strict=True))


def _counted(tree: Node, people: list[Record]) -> Node:
    """The tree with the people of each class on its leaves."""
    counts = class_counts(tree, [(_person(record), 1) for record in people], "y", CLASSES)
    return filled(tree, (Leaf(None, each) for each in counts))


def leaf_of(tree: Node, record: Record) -> int:
    """The position of the leaf that a record reaches, among all leaves from left to right."""
    return leaf_number(tree, _person(record))
